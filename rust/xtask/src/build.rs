//! Builds the addon's library and copies it to the path where the engine looks for it.

use std::env::consts::{ARCH, OS};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::run;
use crate::workspace::{EXTENSION, Workspace};

/// The target name for both Mac targets in one file.
pub const MAC_UNIVERSAL: &str = "universal-apple-darwin";
pub const WEB: &str = "wasm32-unknown-emscripten";
const NO_THREADS: &str = "no-threads";
const FAULTS: &str = "fault-injection";
pub const MAC_TARGETS: [&str; 2] = ["aarch64-apple-darwin", "x86_64-apple-darwin"];

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Profile {
    /// The build that games ship.
    #[default]
    Release,
    /// Unoptimised and hot-reloadable in the editor.
    Debug,
    /// Optimised, with line tables.
    Memcheck,
}

impl Profile {
    /// Cargo's name of the profile, and the name of its output folder.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Release => ("release", "release"),
            Self::Debug => ("dev", "debug"),
            Self::Memcheck => ("memcheck", "memcheck"),
        }
    }
}

#[derive(Debug, Clone, Default)]
pub struct Build {
    pub profile: Profile,
    /// A Rust target triple, or [`MAC_UNIVERSAL`]; `None` for this machine.
    pub target: Option<String>,
    /// Builds without threads, for games exported to the web without thread support.
    pub no_threads: bool,
    /// The API description of an engine with `precision=double`, written by `--dump-extension-api`.
    pub double: Option<PathBuf>,
    /// Builds with the feature that lets tests inject faults. Never shipped.
    pub faults: bool,
}

pub fn with_faults() -> Build {
    Build { profile: Profile::Debug, faults: true, ..Build::default() }
}

/// A platform, as the `.gdextension` file names it.
#[derive(Debug, PartialEq, Eq)]
struct Platform {
    /// The folder in `bin/`.
    folder: &'static str,
    file: String,
}

/// Builds the library, copies it into the addon, and returns its path.
pub fn build(workspace: &Workspace, build: &Build) -> Result<PathBuf> {
    build_into(workspace, build, &workspace.addon())
}

/// Like [`build`], for a copy of the addon.
pub fn build_into(workspace: &Workspace, build: &Build, addon: &Path) -> Result<PathBuf> {
    let file = match &build.target {
        Some(triple) => platform(triple)?,
        None => host()?,
    }
    .file;
    let built = match build.target.as_deref() {
        Some(MAC_UNIVERSAL) => mac_universal(workspace, build, &file)?,
        target => compile(workspace, build, target, &file)?,
    };
    put(&built, build, addon)
}

fn compile(workspace: &Workspace, build: &Build, target: Option<&str>, file: &str) -> Result<PathBuf> {
    let mut cargo = workspace.cargo();
    let (profile, folder) = build.profile.names();
    cargo.args(["build", "--profile", profile]);
    match (build.profile, target, &build.double) {
        (Profile::Debug, None, None) => choose_among_tests(&mut cargo, build),
        _ => choose(&mut cargo, build),
    }
    let mut output = workspace.target.clone();
    if let Some(triple) = target {
        cargo.args(["--target", triple]);
        output.push(triple);
    }
    run::through(&mut cargo)?;
    output.push(folder);
    Ok(output.join(file))
}

/// Selects the features of `cargo test --workspace`, so that no dependency is compiled twice.
pub fn choose_among_tests(cargo: &mut Command, build: &Build) {
    cargo.args(["--workspace", "--lib"]);
    for (is_chosen, feature) in [(build.no_threads, NO_THREADS), (build.faults, FAULTS)] {
        if is_chosen {
            cargo.args(["--features", &format!("{EXTENSION}/{feature}")]);
        }
    }
}

/// Passes the package, features and flags to Cargo, but not the profile or the target.
pub fn choose(cargo: &mut Command, build: &Build) {
    cargo.args(["--package", EXTENSION]);
    if let Some(features) = features(build) {
        cargo.args(["--no-default-features", "--features", &features.join(",")]);
    }
    if build.faults {
        cargo.args(["--features", FAULTS]);
    }
    if let Some(api) = &build.double {
        cargo.env("GODOT4_GDEXTENSION_JSON", api);
    }
    if build.target.as_deref().is_some_and(|triple| triple.ends_with("-apple-darwin")) {
        // The oldest system that Godot 4.6 runs on; for arm64, the compiler raises it to 11.0.
        cargo.env("MACOSX_DEPLOYMENT_TARGET", "10.13");
        // Otherwise, the library would contain the path of this machine's target folder as its name.
        cargo.env("CARGO_PROFILE_RELEASE_RPATH", "true");
    }
    if build.target.as_deref() == Some(WEB) {
        // No prebuilt standard library has atomics or supports side modules, so Cargo also compiles the
        // standard library.
        cargo.arg("-Zbuild-std").env("CARGO_TARGET_WASM32_UNKNOWN_EMSCRIPTEN_RUSTFLAGS", web_flags(build));
    }
}

/// The features, or `None` if they are the default features.
fn features(build: &Build) -> Option<Vec<&'static str>> {
    let is_web = build.target.as_deref() == Some(WEB);
    let mut features = vec![if build.double.is_some() { "double" } else { "single" }];
    if build.no_threads {
        features.push(NO_THREADS);
    }
    // On the web, the engine of a game without thread support has no threads.
    if !(is_web && build.no_threads) {
        features.push("threads");
    }
    if is_web {
        features.push("godot/experimental-wasm");
        if build.no_threads {
            features.push("godot/experimental-wasm-nothreads");
        }
    }
    (features != ["single", "threads"]).then_some(features)
}

/// The flags for a library that a web export loads beside the engine.
fn web_flags(build: &Build) -> String {
    let mut flags = vec![
        "-Clink-args=-sSIDE_MODULE=2",
        "-Zlink-native-libraries=no",
        // Uses emscripten's linker, because Rust distributions override it in different ways.
        "-Zunstable-options",
        "-Clink-self-contained=-linker",
    ];
    if !build.no_threads {
        flags.extend(["-Clink-args=-pthread", "-Ctarget-feature=+atomics"]);
    }
    flags.join(" ")
}

fn mac_universal(workspace: &Workspace, build: &Build, file: &str) -> Result<PathBuf> {
    let joined = workspace.target.join(MAC_UNIVERSAL).join(file);
    fs::create_dir_all(joined.parent().expect("it was just joined"))?;
    let mut lipo = Command::new("lipo");
    lipo.args(["-create", "-output"]).arg(&joined);
    for target in MAC_TARGETS {
        lipo.arg(compile(workspace, build, Some(target), file)?);
    }
    run::through(&mut lipo)?;
    Ok(joined)
}

/// Copies a finished library for a target into a copy of the addon, and returns the path of the
/// copied library.
pub fn put(library: &Path, build: &Build, addon: &Path) -> Result<PathBuf> {
    let mut platform = match &build.target {
        Some(triple) => platform(triple)?,
        None => host()?,
    };
    if build.no_threads && build.target.as_deref() == Some(WEB) {
        platform.file = format!("{EXTENSION}.nothreads.wasm");
    }
    let folder = addon.join("bin").join(platform.folder);
    fs::create_dir_all(&folder)?;
    let place = folder.join(&platform.file);
    replace(library, &place)?;
    Ok(place)
}

/// The file that Cargo writes for a target.
pub fn file_name(triple: &str) -> Result<String> {
    Ok(platform(triple)?.file)
}

/// The path of this machine's library in the addon's folder.
///
/// # Errors
/// Fails if the addon does not support this machine.
pub fn host_library_path() -> Result<String> {
    let platform = host()?;
    Ok(format!("bin/{}/{}", platform.folder, platform.file))
}

/// Renames a finished copy into place, so that a running editor keeps the old file and no program sees a
/// partial file.
fn replace(from: &Path, to: &Path) -> Result<()> {
    let copy = to.with_extension("new");
    fs::copy(from, &copy).with_context(|| format!("cannot copy {} to {}", from.display(), copy.display()))?;
    fs::rename(&copy, to).with_context(|| {
        format!("cannot replace {}; if Godot runs with this addon, close it and try again", to.display())
    })
}

fn host() -> Result<Platform> {
    let system = match OS {
        "linux" => "unknown-linux-gnu",
        "windows" => "pc-windows-msvc",
        "macos" => "apple-darwin",
        other => bail!("the addon is not built on {other}; use --target"),
    };
    platform(&format!("{ARCH}-{system}"))
}

fn platform(triple: &str) -> Result<Platform> {
    if triple == WEB {
        return Ok(Platform { folder: "web.wasm32", file: format!("{EXTENSION}.wasm") });
    }
    let architecture = triple.split('-').next().unwrap_or_default();
    let is_arm = architecture == "aarch64";
    if !is_arm && !matches!(architecture, "x86_64" | "universal") {
        bail!("the addon is not built for the architecture of {triple}");
    }
    let pick = |arm, intel| if is_arm { arm } else { intel };
    let (folder, file) = if triple.contains("-linux-android") {
        (pick("android.arm64", "android.x86_64"), format!("lib{EXTENSION}.so"))
    } else if triple.contains("-linux-") {
        (pick("linux.arm64", "linux.x86_64"), format!("lib{EXTENSION}.so"))
    } else if triple.contains("-windows-") {
        (pick("windows.arm64", "windows.x86_64"), format!("{EXTENSION}.dll"))
    } else if triple.ends_with("-apple-darwin") {
        ("macos", format!("lib{EXTENSION}.dylib"))
    } else {
        bail!(
            "this tool does not build for {triple}; it knows Linux, Windows, macOS, Android and web targets"
        );
    };
    Ok(Platform { folder, file })
}
