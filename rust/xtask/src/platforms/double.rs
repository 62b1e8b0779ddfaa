//! An engine with 64-bit vector components.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};

use super::compile;
use super::engine;
use super::table::Platform;
use super::toolchain::Toolchain;
use crate::build::Build;
use crate::godot::{self, Godot};
use crate::judge::Tally;
use crate::project;
use crate::run::{self, Echo};
use crate::suite::{self, Conformance, LIMIT};

/// The build options of the engine. Only an editor build can dump its extension API, whose method hashes
/// differ from those of a single-precision engine.
const OPTIONS: [&str; 20] = [
    "target=editor",
    "optimize=none",
    "module_freetype_enabled=yes",
    "module_regex_enabled=yes",
    "module_svg_enabled=yes",
    "builtin_freetype=no",
    "builtin_libpng=no",
    "builtin_pcre2=no",
    "builtin_zlib=no",
    "platform=linuxbsd",
    "arch=x86_64",
    "precision=double",
    "alsa=no",
    "dbus=no",
    "fontconfig=no",
    "pulseaudio=no",
    "speechd=no",
    "udev=no",
    "wayland=no",
    "x11=no",
];
/// The stack limit: an unoptimised engine uses 100 KiB of stack for each call of a script function.
const STACK: &str = "-s 262144";
const PROGRAM: &str = "godot.linuxbsd.editor.double.x86_64";

/// Runs all suites in an engine with 64-bit vector components, with a library for this engine. Returns the
/// engine's version and the tally.
pub fn conformance(toolchain: &Toolchain<'_>, platform: &Platform) -> Result<(String, Tally)> {
    let [program] = compile::engine(toolchain, platform.name, &OPTIONS, [PROGRAM])?;
    let command = run::limited(&toolchain.command(&program.display().to_string()), STACK);
    let godot = engine::started(toolchain, "godot-double.sh", &command)?;
    let description = godot::api_description(toolchain.workspace, &godot)?;
    let folder =
        project::copied(toolchain.workspace, &Build { double: Some(description), ..Build::default() })?;
    engine::for_small_engine(folder.path())?;
    let project = suite::bundled(toolchain.workspace, &godot, folder.path())?;
    let tally = suite::in_project(&project, &Conformance::default(), LIMIT)?;

    let own = godot::find_or_install(toolchain.workspace)?;
    is_refused(toolchain, &own, folder.path(), "double")?;
    let folder = project::copied(toolchain.workspace, &Build::default())?;
    engine::for_small_engine(folder.path())?;
    is_refused(toolchain, &godot, folder.path(), "single")?;
    let refused = Tally { passed: 2, failed: 0 };
    Ok((godot.version, tally + refused))
}

/// Checks that the library for the other precision does not start, prints a message, and lets the engine
/// continue.
fn is_refused(toolchain: &Toolchain<'_>, godot: &Godot, folder: &Path, precision: &str) -> Result<()> {
    fs::write(folder.join("quit.gd"), "extends SceneTree\n\n\nfunc _init() -> void:\n\tquit()\n")?;
    let project = suite::bundled(toolchain.workspace, godot, folder)?;
    let outcome = run::watch(&mut project.script("res://quit.gd", &[]), Echo::Nothing, LIMIT)?;
    let message = format!("this library is for engines with {precision} precision");
    let said = outcome.log.matches(&message).count();
    ensure!(
        said == 1 && outcome.bad_end().is_none(),
        "the library for {precision} precision is not refused:\n{}",
        outcome.log
    );
    Ok(())
}
