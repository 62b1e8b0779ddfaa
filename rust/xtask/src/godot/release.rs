//! The engine's official release, for machines without a suitable package.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha512};

use super::program::Godot;
use crate::archive;
use crate::progress::Progress;
use crate::run;

/// The release that is downloaded.
const VERSION: &str = "4.6.3-stable";
const RELEASES: &str = "https://github.com/godotengine/godot-builds/releases/download";
const CHECKSUMS: &str = "SHA512-SUMS.txt";

/// The archive for this platform and the program inside it.
fn artifact() -> Result<(String, &'static str)> {
    let (archive, program) = match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => ("linux.x86_64.zip", "Godot_v{}_linux.x86_64"),
        ("linux", "aarch64") => ("linux.arm64.zip", "Godot_v{}_linux.arm64"),
        ("macos", _) => ("macos.universal.zip", "Godot.app/Contents/MacOS/Godot"),
        // The console program forwards output and exit code; the other program detaches.
        ("windows", "x86_64") => ("win64.exe.zip", "Godot_v{}_win64_console.exe"),
        ("windows", "aarch64") => ("windows_arm64.exe.zip", "Godot_v{}_windows_arm64_console.exe"),
        (os, architecture) => bail!("there is no official Godot release for {os} on {architecture}"),
    };
    Ok((format!("Godot_v{VERSION}_{archive}"), program))
}

pub fn install(folder: &Path) -> Result<()> {
    let (name, _) = artifact()?;
    fetch(VERSION, &name, folder)
}

/// Downloads one archive of a version into `folder`, checks it and unpacks it.
pub fn fetch(version: &str, name: &str, folder: &Path) -> Result<()> {
    let sums = folder.join(CHECKSUMS);
    download(&format!("{RELEASES}/{version}/{CHECKSUMS}"), &sums)?;
    let zip = folder.join(name);
    download(&format!("{RELEASES}/{version}/{name}"), &zip)?;
    verify(&zip, name, &fs::read_to_string(&sums)?)?;

    let step = Progress::spinner(format!("unpacking {name}"));
    archive::unpack(&zip, folder)?;
    fs::remove_file(&zip)?;
    step.done();
    Ok(())
}

/// The programs unpacked in `home`; the export templates are a separate download that nothing here needs.
pub fn programs(home: &Path) -> Result<Godot> {
    let (_, program) = artifact()?;
    let editor = home.join(program.replace("{}", VERSION));
    ensure!(editor.is_file(), "{} is missing", editor.display());
    Ok(Godot { editor, template_release: None, version: String::new() })
}

/// Downloads with `curl`, which every system in the list above has, and which uses the system's proxies and
/// certificates.
fn download(address: &str, to: &Path) -> Result<()> {
    eprintln!("   downloading {address}");
    let mut curl = Command::new("curl");
    curl.args(["--fail", "--location", "--retry", "3", "--progress-bar", "--output"]).arg(to).arg(address);
    run::through(&mut curl)
        .with_context(|| format!("cannot download {address}; is `curl` installed and the network up?"))
}

fn verify(file: &Path, name: &str, sums: &str) -> Result<()> {
    let expected = checksum_of(name, sums).with_context(|| format!("{CHECKSUMS} does not list {name}"))?;
    let found = sha512(file)?;
    ensure!(
        found.eq_ignore_ascii_case(expected),
        "{name} has the checksum {found}, not {expected} as published: the download is damaged"
    );
    Ok(())
}

fn checksum_of<'a>(name: &str, sums: &'a str) -> Option<&'a str> {
    sums.lines()
        .filter_map(|line| line.split_once(char::is_whitespace))
        .find(|(_, listed)| listed.trim().trim_start_matches('*') == name)
        .map(|(sum, _)| sum)
}

fn sha512(file: &Path) -> Result<String> {
    let mut hash = Sha512::new();
    let mut input = File::open(file)?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        let length = input.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        hash.update(&buffer[..length]);
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce\
                         47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e";

    #[test]
    fn checksums_are_found_by_name() {
        let sums = "aa  Godot_a.zip\nbb *Godot_b.zip\n";
        assert_eq!(checksum_of("Godot_a.zip", sums), Some("aa"));
        assert_eq!(checksum_of("Godot_b.zip", sums), Some("bb"));
        assert_eq!(checksum_of("Godot", sums), None);
    }

    #[test]
    fn a_damaged_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.zip");
        fs::write(&file, "").unwrap();
        verify(&file, "x.zip", &format!("{EMPTY}  x.zip\n")).unwrap();
        fs::write(&file, "changed").unwrap();
        let error = verify(&file, "x.zip", &format!("{EMPTY}  x.zip\n")).unwrap_err();
        assert!(error.to_string().contains("damaged"));
        assert!(verify(&file, "y.zip", "").unwrap_err().to_string().contains("does not list"));
    }
}
