//! Links the library for systems whose programs cannot run here, with LLVM's linkers.
//!
//! Instead of the systems' own kits, the linkers use what is free of them: Zig's description of the Mac's library, Zig's start code,
//! import libraries and unwinder, and the names that Android's libraries export.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::table::{Platform, System};
use super::toolchain::Toolchain;
use crate::build;
use crate::python;
use crate::run::{self, Echo};
use crate::sandbox::executable;
use crate::workspace::EXTENSION;

/// The names that Android's libraries export, by library.
const BIONIC: &str = include_str!("../../platforms/bionic.txt");
/// The Mac's libraries that Rust names. All are parts of libSystem.
const MAC_LIBRARIES: [&str; 4] = ["libSystem", "libc", "libiconv", "libm"];
/// Starts the linker for Windows, without arguments that clang or the linker does not know there. Debian's compiler gives every
/// library a name.
const NAMELESS: &str = r#"#!/usr/bin/dash
for argument do
    shift
    case "$argument" in
        -Wl,-soname=* | --unwindlib=none) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec clang "$@"
"#;
/// The page size of newer Android devices.
pub const ANDROID_PAGE: u64 = 16 * 1024;
const LIMIT: Duration = Duration::from_secs(600);

/// Links the library, and returns its path.
pub fn library(toolchain: &Toolchain<'_>, platform: &Platform, system: System) -> Result<PathBuf> {
    let slice = |triple| slice(toolchain, &Platform { triple, ..*platform }, system);
    let slices: Vec<PathBuf> = platform.triples().iter().copied().map(slice).collect::<Result<_>>()?;
    match slices.as_slice() {
        [one] => Ok(one.clone()),
        _ => joined(toolchain, &slices, &build::file_name(platform.triple)?),
    }
}

/// Links the library for one processor.
fn slice(toolchain: &Toolchain<'_>, platform: &Platform, system: System) -> Result<PathBuf> {
    let mut cargo = toolchain.release(platform, &["rustc", "--release"]);
    let flags = match system {
        System::Mac => {
            // Rust strips Mac libraries with this program.
            toolchain.sandbox.alternative("rust-objcopy", "llvm-objcopy")?;
            cargo.env("SDKROOT", mac_kit(toolchain)?);
            vec!["-Clink-arg=--target=arm64-apple-macosx".to_owned()]
        }
        System::Windows => windows_flags(toolchain)?,
        System::Android => android_flags(toolchain, platform)?,
    };
    // clang starts the linker, because the compiler describes dynamic libraries only to C compilers.
    cargo.args(["--", "-Clinker=clang", "-Clink-arg=-fuse-ld=lld"]).args(flags);
    run::through(&mut cargo)?;
    Ok(toolchain.built(platform.triple, &build::file_name(platform.triple)?))
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
    let description = fs::read_to_string(zig(toolchain)?.join("lib/libc/darwin/libSystem.tbd"))?;
    // LLVM 21 does not know this processor. Its libraries export what those for arm64 do.
    let description = description.replace("arm64e.x1-", "arm64-");
    for name in MAC_LIBRARIES {
        fs::write(folder.join(name).with_extension("tbd"), &description)?;
    }
    Ok(kit)
}

fn windows_flags(toolchain: &Toolchain<'_>) -> Result<Vec<String>> {
    let mut flags = vec!["-Clink-args=--target=aarch64-w64-mingw32 -nostdlib".to_owned()];
    let starter = toolchain.folder("linker.sh");
    executable(&starter, NAMELESS)?;
    flags.push(format!("-Clinker={}", starter.display()));
    let folder = parts_folder(toolchain, "aarch64-windows-gnu")?;
    // Rust names these libraries. Zig has their contents in others.
    for name in ["mingw32", "mingwex", "msvcrt"] {
        fs::write(folder.join(format!("lib{name}.a")), "!<arch>\n")?;
    }
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
    // The unwinder of the Android kit is the same one. Zig compiles it for another C library on Linux, in which one function that it
    // calls has another name.
    let folder = parts_folder(toolchain, &format!("{architecture}-linux-musl"))?;
    let mut objcopy = toolchain.command("llvm-objcopy");
    run::read(objcopy.args(["--redefine-sym", "__errno_location=__errno"]).arg(folder.join(UNWINDER)))?;
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
        format!("-Clink-args=--target={architecture}-linux-android24 -nostartfiles"),
        // Fails if Android's libraries lack a name that the library needs.
        "-Clink-arg=-Wl,-zdefs".to_owned(),
        format!("-Clink-arg=-Wl,-zmax-page-size={ANDROID_PAGE}"),
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
    zig.arg("-fno-ubsan-rt");
    if target.contains("windows") {
        // The libraries that Rust names and Zig does not.
        zig.args(["-ldbghelp", "-luserenv", "-lws2_32"]);
    } else {
        // Rust brings its own. It lacks only the check of the stack that Windows needs.
        zig.arg("-fno-compiler-rt");
    }
    let outcome = run::watch(&mut zig, Echo::Nothing, LIMIT)?;
    ensure!(outcome.bad_end().is_none(), "Zig says:\n{}", outcome.log);
    // The last line is the command that links the library. Its paths are relative to the folder.
    for part in outcome.log.lines().last().unwrap_or_default().split_whitespace() {
        let name = part.rsplit('/').next().unwrap_or(part);
        let is_file = !part.starts_with('-') && [".obj", ".lib", ".a"].iter().any(|end| name.ends_with(end));
        if is_file && name != "empty.obj" {
            let name = if name == "unwind.lib" { UNWINDER } else { name };
            fs::copy(cache.join(part), folder.join(name))?;
        }
    }
    ensure!(folder.join(UNWINDER).is_file(), "Zig named no unwinder:\n{}", outcome.log);
    Ok(folder)
}

/// The folder of Zig's package.
fn zig(toolchain: &Toolchain<'_>) -> Result<PathBuf> {
    Ok(python::find_or_install(toolchain.workspace, &python::ZIG)?.packages.join("ziglang"))
}
