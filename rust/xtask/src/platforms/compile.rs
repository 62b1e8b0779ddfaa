//! Compiles Godot from Debian's source, for machines without a Debian binary.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::toolchain::Toolchain;
use crate::archive;
use crate::debian::{OLD_STABLE, STABLE, TESTING, files_with_extension};
use crate::document;
use crate::progress::Progress;
use crate::run::{self, Echo};

const GODOT: &str = "godot";
/// A library that Debian removed from the engine's source.
struct Library {
    /// Debian's source package.
    package: &'static str,
    /// The folder in `thirdparty/`.
    folder: &'static str,
    /// The files to copy from the package, and their destinations. `*` means a folder's C files and headers.
    files: &'static [(&'static str, &'static str)],
}
const LIBRARIES: [Library; 4] = [
    Library {
        package: "libpng1.6",
        folder: "libpng",
        files: &[("*", ""), ("intel", "intel"), ("scripts/pnglibconf.h.prebuilt", "pnglibconf.h")],
    },
    Library { package: "libzstd", folder: "zstd", files: &[("lib", "")] },
    Library {
        package: "mbedtls",
        folder: "mbedtls",
        files: &[("include", "include"), ("library/*", "library")],
    },
    Library { package: "zlib", folder: "zlib", files: &[("*", "")] },
];
/// Godot's own files in the folders of these libraries. Debian removed them as well.
const OWN: [(&str, &str); 3] = [
    (
        "mbedtls/include/godot_core_mbedtls_config.h",
        include_str!("../../platforms/mbedtls/godot_core_mbedtls_config.h"),
    ),
    (
        "mbedtls/library/godot_core_mbedtls_platform.c",
        include_str!("../../platforms/mbedtls/godot_core_mbedtls_platform.c"),
    ),
    ("certs/ca-bundle.crt", ""),
];
/// The options of an engine that only runs scripts: few modules and no drivers.
const OPTIONS: [&str; 14] = [
    // One compilation unit for each folder: headers are read less often, at the cost of memory.
    "scu_build=yes",
    "scu_limit=1024",
    "debug_symbols=no",
    "modules_enabled_by_default=no",
    "module_gdscript_enabled=yes",
    "module_text_server_fb_enabled=yes",
    // Needed for `--script`.
    "disable_path_overrides=no",
    "accesskit=no",
    "brotli=no",
    "builtin_certs=no",
    "opengl3=no",
    "sdl=no",
    "vulkan=no",
    "--jobs=2",
];
const LIMIT: Duration = Duration::from_secs(2 * 3600);

/// Fixes of bugs in this version of the engine's source: the file, the original text, and its replacement.
const PATCHES: [(&str, &str, &str); 1] = [
    // When the game quits, the engine frees this object with `memdelete`. In debug builds, `memdelete`
    // expects a header that only `memnew` allocates; for an object made with `new`, it frees the wrong
    // address.
    ("platform/web/web_main.cpp", "os = new OS_Web();", "os = memnew(OS_Web);"),
];
/// Builds share the source folder, so only one may run at a time.
static BUILD_LOCK: Mutex<()> = Mutex::new(());

/// Compiles the engine for a platform with these build options, unless it is compiled already. `made` names
/// the engine's files in `bin`. Returns their paths.
pub fn engine<const N: usize>(
    toolchain: &Toolchain<'_>,
    platform: &str,
    options: &[&str],
    made: [&str; N],
) -> Result<[PathBuf; N]> {
    let only_build = BUILD_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let source = source(toolchain)?;
    add_own(&source)?;
    apply_patches(&source)?;
    let made = made.map(|name| source.join("bin").join(name));
    // The options and patches of the last complete build.
    let stamp = source.join("bin").join(format!("{platform}.txt"));
    let recipe = format!("{OPTIONS:?}\n{options:?}\n{PATCHES:?}\n");
    if fs::read_to_string(&stamp).ok().as_ref() != Some(&recipe) || !made.iter().all(|file| file.is_file()) {
        let step = Progress::spinner(format!("compiling Godot for {platform}"));
        let mut scons = toolchain.command("scons");
        scons.current_dir(&source).args(OPTIONS).args(options);
        if stamp.is_file() {
            fs::remove_file(&stamp)?;
        }
        let outcome = run::watch(&mut scons, Echo::Nothing, LIMIT)?;
        ensure!(outcome.bad_end().is_none(), "Godot does not compile:\n{}", tail(&outcome.log));
        step.done();
        for file in &made {
            ensure!(file.is_file(), "compiling Godot made no {}", file.display());
        }
        fs::write(&stamp, recipe)?;
    }
    drop(only_build);
    Ok(made)
}

/// Unpacks Debian's source, restores the removed libraries, and returns the path of the source.
pub fn source(toolchain: &Toolchain<'_>) -> Result<PathBuf> {
    let folder = toolchain.folder("godot-source");
    let source = folder.join(GODOT);
    if source.is_dir() {
        return Ok(source);
    }
    // Removes the remains of an interrupted install.
    if folder.is_dir() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    for Library { package, .. } in LIBRARIES {
        toolchain.machine.source(&[TESTING, STABLE, OLD_STABLE], package, &folder)?;
    }
    toolchain.machine.source(&[TESTING], GODOT, &folder)?;
    let unfinished = unpacked(toolchain, &folder, GODOT)?;
    for Library { package, folder: name, files } in LIBRARIES {
        let from = unpacked(toolchain, &folder, package)?;
        let to = unfinished.join("thirdparty").join(name);
        for (what, place) in files {
            copy(&from, what, &to.join(place)).with_context(|| format!("{package}: {what}"))?;
        }
    }
    fs::rename(unfinished, &source)?;
    Ok(source)
}

/// Adds the files of [`OWN`]. The build system compares contents, so a rewritten file causes no rebuild.
fn add_own(source: &Path) -> Result<()> {
    for (name, text) in OWN {
        let file = source.join("thirdparty").join(name);
        fs::create_dir_all(file.parent().context("a file lies in a folder")?)?;
        fs::write(file, text)?;
    }
    Ok(())
}

fn apply_patches(source: &Path) -> Result<()> {
    for (name, from, to) in PATCHES {
        let file = source.join(name);
        if !fs::read_to_string(&file)?.contains(to) {
            document::replace_once(&file, from, to)?;
        }
    }
    Ok(())
}

/// Unpacks a package's source with Debian's patches into its own folder.
fn unpacked(toolchain: &Toolchain<'_>, folder: &Path, package: &str) -> Result<PathBuf> {
    let start = format!("{package}_");
    let is_it =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&start));
    let description = files_with_extension(folder, "dsc")?;
    let description =
        description.into_iter().find(is_it).with_context(|| format!("no source of {package}"))?;
    let to = folder.join(format!("{package}.unpacked"));
    let mut unpack = toolchain.command("dpkg-source");
    unpack.args(["--extract", "--no-check"]).arg(&description).arg(&to);
    run::read(unpack.current_dir(folder))?;
    Ok(to)
}

/// Copies one file, one whole folder, or a folder's C files and headers.
fn copy(from: &Path, what: &str, to: &Path) -> Result<()> {
    if let Some(folder) = what.strip_suffix('*') {
        fs::create_dir_all(to)?;
        for extension in ["c", "h"] {
            for file in files_with_extension(&from.join(folder), extension)? {
                fs::copy(&file, to.join(file.file_name().expect("files have names")))?;
            }
        }
        return Ok(());
    }
    let from = from.join(what);
    if from.is_dir() { archive::copy(&from, to) } else { Ok(fs::copy(&from, to).map(drop)?) }
}

fn tail(log: &str) -> String {
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}
