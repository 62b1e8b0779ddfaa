//! Links the library for systems whose programs cannot run here, with LLVM's linkers.
//!
//! Instead of the systems' own kits, the linkers use what is free of them: Zig's description of the Mac's library, Zig's start code,
//! import libraries and unwinder, and the names that Android's libraries export.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::table::{Platform, System};
use super::toolchain::Toolchain;
use crate::build;
use crate::python;
use crate::run::{self, Echo};
use crate::workspace::EXTENSION;

/// The names that Android's libraries export, by library.
const BIONIC: &str = include_str!("../../platforms/bionic.txt");
/// The Mac's libraries that Rust names. All are parts of libSystem.
const MAC_LIBRARIES: [&str; 4] = ["libSystem", "libc", "libiconv", "libm"];
/// The page size of newer Android devices.
pub const ANDROID_PAGE: u64 = 16 * 1024;
const LIMIT: Duration = Duration::from_secs(600);

/// Links the release library, and returns its path.
pub fn library(toolchain: &Toolchain<'_>, platform: &Platform, system: System) -> Result<PathBuf> {
    let mut cargo = toolchain.release(platform, &["build", "--release"]);
    let flags = match system {
        System::Mac => {
            // Rust strips Mac libraries with this program.
            toolchain.sandbox.alternative("rust-objcopy", "llvm-objcopy")?;
            cargo.env("SDKROOT", mac_kit(toolchain)?);
            Vec::new()
        }
        System::Windows => windows_flags(toolchain)?,
        System::Android => android_flags(toolchain, platform)?,
    };
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    run::through(&mut cargo)?;
    let file = build::file_name(platform.triple)?;
    let slices: Vec<PathBuf> =
        platform.triples().iter().map(|triple| toolchain.built(triple, &file)).collect();
    match slices.as_slice() {
        [one] => Ok(one.clone()),
        _ => joined(toolchain, &slices, &file),
    }
}

/// Compiles a static library, and returns its path.
pub fn archive(toolchain: &Toolchain<'_>, platform: &Platform) -> Result<PathBuf> {
    run::through(&mut toolchain.release(platform, &["rustc", "--release", "--crate-type=staticlib"]))?;
    Ok(toolchain.built(platform.triple, &format!("lib{EXTENSION}.a")))
}

/// Joins libraries for several processors into one.
fn joined(toolchain: &Toolchain<'_>, slices: &[PathBuf], file: &str) -> Result<PathBuf> {
    let to = toolchain.folder(file);
    let mut lipo = toolchain.command("llvm-lipo");
    run::read(lipo.args(slices).args(["-create", "-output"]).arg(&to))?;
    Ok(to)
}

/// A folder that serves as Apple's kit.
fn mac_kit(toolchain: &Toolchain<'_>) -> Result<PathBuf> {
    let kit = toolchain.folder("mac");
    let folder = kit.join("usr/lib");
    fs::create_dir_all(&folder)?;
    let description = zig(toolchain)?.join("lib/libc/darwin/libSystem.tbd");
    for name in MAC_LIBRARIES {
        fs::copy(&description, folder.join(name).with_extension("tbd"))?;
    }
    Ok(kit)
}

fn windows_flags(toolchain: &Toolchain<'_>) -> Result<Vec<String>> {
    let mut flags = vec!["-Clink-arg=-marm64pe".to_owned()];
    let folder = parts_folder(toolchain, "aarch64-windows-gnu")?;
    for file in crate::archive::files_under(&folder)? {
        // Rust names the unwinder itself.
        if !file.starts_with(UNWINDER) {
            flags.push(format!("-Clink-arg={}", folder.join(file).display()));
        }
    }
    flags.push(format!("-Lnative={}", folder.display()));
    Ok(flags)
}

fn android_flags(toolchain: &Toolchain<'_>, platform: &Platform) -> Result<Vec<String>> {
    let architecture = platform.triple.split('-').next().unwrap_or_default();
    // The unwinder of the Android kit is the same one. Only its names are resolved here: nothing of this runs.
    let folder = parts_folder(toolchain, &format!("{architecture}-linux-musl"))?;
    let emulation = if architecture == "aarch64" { "aarch64linux" } else { "elf_x86_64" };
    for section in BIONIC.split("\nlib").skip(1) {
        let (name, names) = section.split_once('\n').context("names follow the name of a library")?;
        let name = format!("lib{name}");
        let script = folder.join(&name).with_extension("ld");
        fs::write(
            &script,
            names.split_whitespace().map(|name| format!("{name} = .;\n")).collect::<String>(),
        )?;
        let mut linker = toolchain.command("ld.lld");
        linker.args(["-m", emulation, "-shared", "-soname", &name, "-o"]).arg(folder.join(&name)).arg(script);
        run::read(&mut linker)?;
    }
    Ok(vec![
        format!("-Lnative={}", folder.display()),
        // Fails if Android's libraries lack a name that the library needs.
        "-Clink-arg=-zdefs".to_owned(),
        format!("-Clink-arg=-zmax-page-size={ANDROID_PAGE}"),
    ])
}

/// The unwinder's name, under which Rust searches for it.
const UNWINDER: &str = "libunwind.a";

/// A folder with the files that Zig links every library for `target` with.
fn parts_folder(toolchain: &Toolchain<'_>, target: &str) -> Result<PathBuf> {
    let (cache, folder) = (toolchain.folder("zig"), toolchain.folder(target));
    fs::create_dir_all(&cache)?;
    fs::create_dir_all(&folder)?;
    fs::write(cache.join("empty.c"), "")?;
    let mut zig = Command::new(zig(toolchain)?.join("zig"));
    zig.current_dir(&cache).envs([("ZIG_GLOBAL_CACHE_DIR", &cache), ("ZIG_LOCAL_CACHE_DIR", &cache)]);
    zig.args(["build-lib", "empty.c", "-dynamic", "-target", target, "-lc", "-lunwind", "--verbose-link"]);
    // Rust brings its own.
    zig.args(["-fno-compiler-rt", "-fno-ubsan-rt"]);
    let outcome = run::watch(&mut zig, Echo::Nothing, LIMIT)?;
    ensure!(outcome.bad_end().is_none(), "Zig says:\n{}", outcome.log);
    for part in outcome.log.split_whitespace().map(Path::new) {
        let name = part.file_name().unwrap_or_default().to_string_lossy();
        let is_part = part.is_absolute() && [".obj", ".lib", ".a"].iter().any(|end| name.ends_with(end));
        if is_part && name != "empty.obj" {
            let name = if name == "unwind.lib" { UNWINDER } else { &*name };
            fs::copy(part, folder.join(name))?;
        }
    }
    ensure!(folder.join(UNWINDER).is_file(), "Zig named no unwinder:\n{}", outcome.log);
    Ok(folder)
}

/// The folder of Zig's package.
fn zig(toolchain: &Toolchain<'_>) -> Result<PathBuf> {
    Ok(python::find_or_install(toolchain.workspace, &python::ZIG)?.packages.join("ziglang"))
}
