//! Checks that a library is whole and for its platform. Some engines crash on one that is not.

use anyhow::{Context, Result, ensure};
use object::read::macho::{FatArch as _, MachOFatFile32};
use object::{Architecture, BinaryFormat, File, Object as _, ObjectSection as _};

/// Checks a file of the addon, by its name in the addon's folder. Other files than libraries pass.
pub fn check(file: &str, bytes: &[u8]) -> Result<()> {
    let Some((folder, _)) = file.strip_prefix("bin/").and_then(|name| name.split_once('/')) else {
        return Ok(());
    };
    let (system, processor) = folder.split_once('.').unwrap_or((folder, ""));
    let format = match system {
        "linux" | "android" => BinaryFormat::Elf,
        "windows" => BinaryFormat::Pe,
        "macos" => return check_macos(bytes),
        // Browsers, and Xcode for the many files of an xcframework, report what they cannot read.
        _ => return Ok(()),
    };
    let architecture = match processor {
        "arm64" => Architecture::Aarch64,
        _ => Architecture::X86_64,
    };
    check_part(bytes, format, architecture)
}

/// Checks a library for both kinds of Mac.
fn check_macos(bytes: &[u8]) -> Result<()> {
    let parts =
        MachOFatFile32::parse(bytes).context("expected a library for arm64 and x86_64 in one file")?;
    for architecture in [Architecture::Aarch64, Architecture::X86_64] {
        let part = parts.arches().iter().find(|part| part.architecture() == architecture);
        let part = part.with_context(|| format!("it has no part for {architecture:?}"))?;
        check_part(part.data(bytes)?, BinaryFormat::MachO, architecture)?;
    }
    Ok(())
}

fn check_part(bytes: &[u8], format: BinaryFormat, architecture: Architecture) -> Result<()> {
    let library = File::parse(bytes).context("it is no library, or a part of one")?;
    let found = (library.format(), library.architecture());
    ensure!(found == (format, architecture), "expected {:?}, found {found:?}", (format, architecture));
    for section in library.sections() {
        section.data().context("it ends too early")?;
    }
    Ok(())
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn only_whole_libraries_for_the_platform_ship() -> Result<()> {
        let own = std::fs::read(std::env::current_exe()?)?;
        check("bin/linux.x86_64/own.so", &own)?;
        check("plugin.gd", b"")?;
        for wrong in ["linux.arm64", "windows.x86_64", "macos", "android.arm64"] {
            assert!(check(&format!("bin/{wrong}/own.so"), &own).is_err(), "{wrong}");
        }
        for len in [0, 100, own.len() / 2, own.len() - 1] {
            assert!(check("bin/linux.x86_64/own.so", &own[..len]).is_err(), "{len} bytes");
        }
        Ok(())
    }
}
