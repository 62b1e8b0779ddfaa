//! Building the addon's library and putting it where the addon looks for it.

use std::env::consts::{ARCH, OS};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::run;
use crate::workspace::{EXTENSION, Workspace};

/// The name that stands for both Mac targets in one file.
pub const MAC_UNIVERSAL: &str = "universal-apple-darwin";
const WEB: &str = "wasm32-unknown-emscripten";
const MAC_TARGETS: [&str; 2] = ["aarch64-apple-darwin", "x86_64-apple-darwin"];

/// How the code is compiled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Profile {
    /// As games ship it.
    #[default]
    Release,
    /// Unoptimised and hot-reloadable in the editor.
    Debug,
    /// Optimised, and with the names of places in the source.
    Memcheck,
}

impl Profile {
    /// What Cargo calls it, and the folder of its output.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Release => ("release", "release"),
            Self::Debug => ("dev", "debug"),
            Self::Memcheck => ("memcheck", "memcheck"),
        }
    }
}

/// How the library is built.
#[derive(Debug, Clone, Default)]
pub struct Build {
    /// How the code is compiled.
    pub profile: Profile,
    /// A target triple of Rust's, or [`MAC_UNIVERSAL`]; this machine's own when absent.
    pub target: Option<String>,
    /// Without threads, for games exported to the web without thread support.
    pub no_threads: bool,
}

/// A platform as the `.gdextension` file names it.
#[derive(Debug, PartialEq, Eq)]
struct Platform {
    /// The folder in `bin/`.
    folder: &'static str,
    /// The library's file name.
    file: String,
}

/// Builds the library, copies it into the addon and returns where it is.
pub fn build(workspace: &Workspace, build: &Build) -> Result<PathBuf> {
    build_into(workspace, build, &workspace.addon())
}

/// The same for a copy of the addon.
pub fn build_into(workspace: &Workspace, build: &Build, addon: &Path) -> Result<PathBuf> {
    let mut platform = match &build.target {
        Some(triple) => platform(triple)?,
        None => host()?,
    };
    let built = match build.target.as_deref() {
        Some(MAC_UNIVERSAL) => mac_universal(workspace, build, &platform.file)?,
        target => compile(workspace, build, target, &platform.file)?,
    };
    if build.no_threads && build.target.as_deref() == Some(WEB) {
        platform.file = format!("{EXTENSION}.nothreads.wasm");
    }
    let folder = addon.join("bin").join(platform.folder);
    fs::create_dir_all(&folder)?;
    let library = folder.join(&platform.file);
    replace(&built, &library)?;
    Ok(library)
}

fn compile(workspace: &Workspace, build: &Build, target: Option<&str>, file: &str) -> Result<PathBuf> {
    let mut cargo = workspace.cargo();
    let (profile, folder) = build.profile.names();
    cargo.args(["build", "--profile", profile]);
    match (build.profile, target) {
        // With the features that `cargo test --workspace` selects, so that no dependency is compiled twice.
        (Profile::Debug, None) => cargo.args(["--workspace", "--lib"]),
        _ => cargo.args(["--package", EXTENSION]),
    };
    if target == Some(WEB) {
        // There is no standard library with atomics to download, so it is compiled along.
        cargo.args(["-Zbuild-std", "--features", "godot/experimental-wasm"]);
    }
    if build.no_threads {
        cargo.arg("--features").arg(format!("{EXTENSION}/no-threads"));
        if target == Some(WEB) {
            cargo.args(["--features", "godot/experimental-wasm-nothreads"]);
        }
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

/// Both Mac targets, joined by the system's `lipo`.
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

/// Renames a finished copy into place, so a running editor keeps the old file and no one sees a partial one.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_platform_is_known_to_the_gdextension_file() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../addons/fast_variant_codec/fast_variant_codec.gdextension");
        let listed = fs::read_to_string(file).unwrap();
        for triple in [
            "x86_64-unknown-linux-gnu",
            "aarch64-unknown-linux-gnu",
            "x86_64-pc-windows-msvc",
            "aarch64-pc-windows-msvc",
            "aarch64-apple-darwin",
            MAC_UNIVERSAL,
            "aarch64-linux-android",
            "x86_64-linux-android",
            WEB,
        ] {
            let platform = platform(triple).unwrap();
            let path = format!("\"bin/{}/{}\"", platform.folder, platform.file);
            assert!(listed.contains(&path), "{path}");
        }
    }

    #[test]
    fn other_platforms_are_refused() {
        assert!(platform("riscv64gc-unknown-linux-gnu").is_err());
        assert!(platform("x86_64-unknown-freebsd").is_err());
    }

    #[test]
    fn a_library_is_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("a"), folder.path().join("lib.so"));
        fs::write(&from, "new").unwrap();
        fs::write(&to, "old").unwrap();
        replace(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), "new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
