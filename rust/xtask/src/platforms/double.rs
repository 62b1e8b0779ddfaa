//! An engine with 64-bit vector components, compiled from Debian's source.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::toolchain::Toolchain;
use crate::debian::TESTING;
use crate::godot::{self, Godot};
use crate::judge::Tally;
use crate::library::Build;
use crate::progress::Progress;
use crate::project;
use crate::room::{self, Room};
use crate::run::{self, Echo};
use crate::suites::{self, Conformance};

/// The engine's build system and compilers, and the libraries that Debian took out of the source.
const PACKAGES: [&str; 11] = [
    "dpkg-dev",
    "g++",
    "libfreetype-dev",
    "libmbedtls-dev",
    "libpng-dev",
    "libzstd-dev",
    "patch",
    "pkgconf",
    "scons",
    "xz-utils",
    "zlib1g-dev",
];
/// An editor build is the only one that describes its API; all modules but these are left out.
const OPTIONS: [&str; 29] = [
    "platform=linuxbsd",
    "target=editor",
    "precision=double",
    "arch=x86_64",
    "scu_build=yes",
    "optimize=none",
    "debug_symbols=no",
    "modules_enabled_by_default=no",
    "module_gdscript_enabled=yes",
    "module_regex_enabled=yes",
    "module_text_server_fb_enabled=yes",
    "module_freetype_enabled=yes",
    "builtin_freetype=no",
    "builtin_libpng=no",
    "builtin_mbedtls=no",
    "builtin_zlib=no",
    "builtin_zstd=no",
    "alsa=no",
    "dbus=no",
    "fontconfig=no",
    "libdecor=no",
    "opengl3=no",
    "pulseaudio=no",
    "speechd=no",
    "udev=no",
    "vulkan=no",
    "wayland=no",
    "x11=no",
    "accesskit=no",
];
const LIMIT: Duration = Duration::from_secs(2 * 3600);

/// All suites in such an engine, with a library for it; and the engine's version.
pub fn conformance(toolchain: &Toolchain<'_>) -> Result<(String, Tally)> {
    let godot = engine(toolchain)?;
    let build = Build { double: Some(description(toolchain, &godot)?), ..Build::default() };
    let folder = project::copied(toolchain.workspace, &build)?;
    let project = suites::bundled(toolchain.workspace, &godot, folder.path())?;
    let tally = suites::in_project(&project, &Conformance::default(), LIMIT)?;
    Ok((godot.version, tally))
}

/// The engine, compiled unless it is there.
fn engine(toolchain: &Toolchain<'_>) -> Result<Godot> {
    let room = Room::open(&toolchain.machine, &toolchain.workspace.tools(), &toolchain.folder("double"))?;
    room.add(&toolchain.machine, TESTING, "what compiles Godot", &PACKAGES)?;
    let folder = toolchain.folder("godot-double");
    let source = folder.join("source");
    if !source.is_dir() {
        unpack(toolchain, &room, &folder, &source)?;
    }
    let program = source.join("bin/godot.linuxbsd.editor.double.x86_64");
    if !program.is_file() {
        let step = Progress::spinner("compiling Godot with precision=double");
        let mut scons = room.command("scons", &[&folder]);
        scons.current_dir(&source).args(OPTIONS).args(["--jobs", "2"]);
        let outcome = run::watch(&mut scons, Echo::Nothing, LIMIT)?;
        ensure!(outcome.bad_end().is_none(), "Godot does not compile:\n{}", tail(&outcome.log));
        step.done();
    }
    let editor = toolchain.folder("godot-double.sh");
    room::starter(
        &room.command(
            &program.display().to_string(),
            &[&toolchain.workspace.root, &toolchain.workspace.target],
        ),
        &editor,
    )?;
    Ok(Godot { version: godot::version(&editor)?, editor, template_release: None, template_debug: None })
}

/// Downloads Debian's source and applies Debian's patches.
fn unpack(toolchain: &Toolchain<'_>, room: &Room, folder: &Path, source: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let description = toolchain.machine.source(TESTING, "godot", folder)?;
    let mut unpack = room.command("dpkg-source", &[folder]);
    unpack.args(["--extract", "--no-check"]).arg(&description).arg(source);
    run::read(unpack.current_dir(folder)).map(drop)
}

/// The engine's description of itself.
fn description(toolchain: &Toolchain<'_>, godot: &Godot) -> Result<PathBuf> {
    let folder = toolchain.folder("double-api");
    fs::create_dir_all(&folder)?;
    let mut command = std::process::Command::new(&godot.editor);
    command.args(["--headless", "--dump-extension-api"]).current_dir(&folder);
    run::read(&mut command)?;
    let file = folder.join("extension_api.json");
    ensure!(file.is_file(), "the engine wrote no extension_api.json");
    fs::canonicalize(&file).context("cannot find the engine's description")
}

fn tail(log: &str) -> String {
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}
