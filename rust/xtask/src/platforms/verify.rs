//! Checks what the system's loader checks in a linked library, with LLVM's tools.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::link::ANDROID_PAGE;
use super::table::System;
use super::toolchain::Toolchain;
use crate::run;
use crate::workspace::EXTENSION;

/// The function that the engine calls first, as the `.gdextension` file names it.
const ENTRY: &str = "gdext_rust_init";
/// The entry that godot-rust generates. [`ENTRY`] calls it.
const INNER_ENTRY: &str = "godot_rust_init";
/// The Mac's processors, and the oldest system that Godot 4.6 runs on: platform/macos/detect.py.
const MACS: [(&str, &str); 2] = [("arm64", "11.0"), ("x86_64", "10.13")];
/// The libraries that the system has.
const MAC_LIBRARIES: [&str; 1] = ["/usr/lib/libSystem.B.dylib"];
const ANDROID_LIBRARIES: [&str; 4] = ["libc.so", "libdl.so", "liblog.so", "libm.so"];
const WINDOWS_LIBRARIES: [&str; 6] =
    ["advapi32.dll", "bcryptprimitives.dll", "kernel32.dll", "ntdll.dll", "userenv.dll", "ws2_32.dll"];
/// Windows resolves names that start so to its own libraries.
const WINDOWS_SETS: &str = "api-ms-win-";

/// Checks a library's exported names, the libraries that it needs, and what else its system asks for.
pub fn library(toolchain: &Toolchain<'_>, system: System, library: &Path) -> Result<()> {
    let ask = |tool: &str, arguments: &[&str]| {
        let mut command: Command = toolchain.command(tool);
        run::read(command.args(arguments).arg(library))
    };
    let check = || match system {
        System::Mac => MACS.iter().try_for_each(|(processor, oldest)| {
            mac(&ask, processor, oldest).with_context(|| format!("the part for {processor}"))
        }),
        System::Windows => windows(&ask),
        System::Android => android(&ask),
    };
    check().with_context(|| format!("the check of {} failed", library.display()))
}

/// Checks that a static library has the entry.
pub fn archive(toolchain: &Toolchain<'_>, library: &Path) -> Result<()> {
    let mut nm = toolchain.command("llvm-nm");
    let names = run::read(nm.args(NAMES).arg("--quiet").arg(library))?;
    let entry = format!("_{ENTRY}");
    ensure!(names.lines().any(|name| name == entry), "{} does not define {entry}", library.display());
    println!("{}: defines {entry}", file_name(library));
    Ok(())
}

/// Runs a tool with arguments and the library's path, and returns what it printed.
type Ask<'a> = &'a dyn Fn(&str, &[&str]) -> Result<String>;

/// The arguments for a list of exported names.
const NAMES: [&str; 3] = ["--extern-only", "--defined-only", "--format=just-symbols"];

fn mac(ask: Ask<'_>, processor: &str, oldest: &str) -> Result<()> {
    let processor_option = format!("--arch={processor}");
    let names = ask("llvm-nm", &[&NAMES[..], &[&processor_option]].concat())?;
    // Names of C start with an underscore.
    expect_entries(names.lines().map(|name| name.strip_prefix('_').unwrap_or(name)))?;

    let commands = ask("llvm-objdump", &["--macho", &processor_option, "--private-headers"])?;
    let commands: Vec<&str> = commands.split("Load command").collect();
    let values = |command: &str, key: &str| -> Vec<&str> {
        let named = commands.iter().filter(|text| text.contains(&format!("cmd {command}\n")));
        named.filter_map(|text| value(text, &format!("{key} "))).collect()
    };
    expect_within("needs", &values("LC_LOAD_DYLIB", "name"), |name| MAC_LIBRARIES.contains(&name))?;
    expect("is named", &values("LC_ID_DYLIB", "name"), &[&format!("@rpath/lib{EXTENSION}.dylib")])?;
    let versions = [values("LC_BUILD_VERSION", "minos"), values("LC_VERSION_MIN_MACOSX", "version")].concat();
    expect("runs since macOS", &versions, &[oldest])?;
    // Macs with arm64 load no library without a signature, which may be anybody's.
    let is_signed = !values("LC_CODE_SIGNATURE", "datasize").is_empty();
    ensure!(is_signed || processor != "arm64", "it has no signature");
    println!("  signed: {is_signed}");
    Ok(())
}

fn windows(ask: Ask<'_>) -> Result<()> {
    let names = |listed: &str| -> Vec<String> {
        listed.lines().filter_map(|line| line.strip_prefix("  Name: ")).map(str::to_owned).collect()
    };
    let exports = names(&ask("llvm-readobj", &["--coff-exports"])?);
    expect_entries(exports.iter().map(String::as_str))?;
    let imports = names(&ask("llvm-readobj", &["--coff-imports"])?);
    expect_within("needs", &imports.iter().map(String::as_str).collect::<Vec<_>>(), |name| {
        let name = name.to_lowercase();
        name.starts_with(WINDOWS_SETS) || WINDOWS_LIBRARIES.contains(&&*name)
    })
}

fn android(ask: Ask<'_>) -> Result<()> {
    let names = ask("llvm-nm", &[&NAMES[..], &["--dynamic"]].concat())?;
    expect_entries(names.lines())?;
    let dynamic = ask("llvm-readelf", &["--dynamic-table"])?;
    let needed: Vec<&str> = dynamic.lines().filter_map(|line| value(line, "Shared library: [")).collect();
    expect_within("needs", &needed, |name| ANDROID_LIBRARIES.contains(&name))?;
    let headers = ask("llvm-readelf", &["--program-headers", "--wide"])?;
    let segments = headers.lines().filter(|line| line.trim_start().starts_with("LOAD "));
    let pages: Vec<&str> = segments.filter_map(|line| line.split_whitespace().last()).collect();
    let are_wide = pages.iter().all(|page| {
        u64::from_str_radix(page.trim_start_matches("0x"), 16).is_ok_and(|page| page % ANDROID_PAGE == 0)
    });
    ensure!(are_wide && !pages.is_empty(), "its segments are aligned to {pages:?}, not to {ANDROID_PAGE:#x}");
    println!("  pages: {ANDROID_PAGE:#x}");
    Ok(())
}

/// The word after `key` in a text, without a closing bracket.
fn value<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let word = text.split_once(key)?.1.split_whitespace().next()?;
    Some(word.trim_end_matches(']'))
}

fn expect_entries<'n>(found: impl Iterator<Item = &'n str>) -> Result<()> {
    let mut found: Vec<_> = found.filter(|name| !name.is_empty()).collect();
    found.sort_unstable();
    expect("exports", &found, &[ENTRY, INNER_ENTRY])
}

fn expect(what: &str, found: &[&str], expected: &[&str]) -> Result<()> {
    ensure!(found == expected, "it {what} {}; expected {}", listed(found), listed(expected));
    println!("  {what} {}", listed(found));
    Ok(())
}

fn expect_within(what: &str, found: &[&str], is_expected: impl Fn(&str) -> bool) -> Result<()> {
    let others: Vec<&str> = found.iter().copied().filter(|name| !is_expected(name)).collect();
    ensure!(others.is_empty(), "it {what} {}, which the system may lack", listed(&others));
    println!("  {what} {}", listed(found));
    Ok(())
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_entries_are_exported() {
        let verdict =
            |names: &[&str]| expect_entries(names.iter().copied()).map_err(|error| error.to_string());
        assert_eq!(verdict(&["godot_rust_init", "gdext_rust_init"]), Ok(()));
        let hidden = "it exports godot_rust_init; expected gdext_rust_init, godot_rust_init";
        assert_eq!(verdict(&["godot_rust_init"]), Err(hidden.to_owned()));
        assert!(verdict(&["gdext_rust_init", "godot_rust_init", "malloc"]).is_err());
    }
}
