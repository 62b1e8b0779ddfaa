//! The zip that users install.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use indicatif::DecimalBytes;
use sha2::{Digest, Sha256};

use crate::archive::{self, Entry};
use crate::notices;
use crate::progress::Progress;
use crate::workspace::{EXTENSION, Workspace};

const NOTICES: &str = "THIRD-PARTY-NOTICES.txt";

/// Writes the zip to `out` or to the default path, and returns its path.
pub fn write(workspace: &Workspace, out: Option<PathBuf>) -> Result<PathBuf> {
    let out = match out {
        Some(out) => std::path::absolute(out)?,
        None => workspace.target.join("package").join(format!("{EXTENSION}-{}.zip", workspace.version)),
    };
    let step = Progress::spinner("packing the addon");
    let addon = workspace.addon();
    let manifest = fs::read_to_string(addon.join(format!("{EXTENSION}.gdextension")))
        .context("the addon has no .gdextension file")?;
    let files: Vec<String> = archive::files_under(&addon)?
        .iter()
        .map(|file| slashes(file))
        .filter(|file| ships(file, &manifest))
        .collect();
    ensure!(
        files.iter().any(|file| file.starts_with("bin/")),
        "no library has been built for any platform: run `cargo xtask build` first"
    );

    let name = |file: &str| format!("addons/{EXTENSION}/{file}");
    let mut entries = vec![Entry { name: name(NOTICES), bytes: notices::write(workspace)?.into_bytes() }];
    for file in &files {
        let bytes = fs::read(addon.join(file)).with_context(|| format!("cannot read {file}"))?;
        entries.push(Entry { name: name(file), bytes });
    }
    fs::create_dir_all(out.parent().context("the zip needs a folder")?)?;
    archive::pack(entries, &out)?;
    write_checksum(&out)?;
    step.done();
    Ok(out)
}

/// Writes the checksum beside a file, in the format of `sha256sum --check`.
fn write_checksum(file: &Path) -> Result<()> {
    let name = file.file_name().context("a file has a name")?.to_string_lossy();
    let sum = hex::encode(Sha256::digest(fs::read(file)?));
    let beside = file.with_file_name(format!("{name}.sha256"));
    Ok(fs::write(beside, format!("{sum}  {name}\n"))?)
}

/// Describes the zip: its size, each library's size before and after packing, and the missing libraries.
///
/// # Errors
/// Fails if the zip cannot be read.
pub fn contents(workspace: &Workspace, zip: &Path) -> Result<String> {
    let manifest = fs::read_to_string(workspace.addon().join(format!("{EXTENSION}.gdextension")))?;
    let held = archive::sizes(zip)?;
    let mut lines = vec![format!("{}: {}", zip.display(), DecimalBytes(fs::metadata(zip)?.len()))];
    for library in libraries(&manifest) {
        let sizes = held.iter().find(|size| size.name.ends_with(&library));
        lines.push(match sizes {
            Some(size) => {
                format!("  {library}: {}, {} packed", DecimalBytes(size.bytes), DecimalBytes(size.packed))
            }
            None => format!("  {library}: missing"),
        });
    }
    Ok(lines.join("\n"))
}

/// Returns whether the zip contains this file, given by its path in the addon's folder.
///
/// # Errors
/// Fails if the zip cannot be read.
pub fn contains_file(zip: &Path, file: &str) -> Result<bool> {
    Ok(archive::sizes(zip)?.iter().any(|held| held.name.ends_with(file)))
}

/// The distinct libraries that the `.gdextension` file names.
fn libraries(manifest: &str) -> BTreeSet<String> {
    let named = manifest.split('"').skip(1).step_by(2).filter(|name| name.starts_with("bin/"));
    named.map(str::to_owned).collect()
}

/// Returns whether an addon file ships. In `bin/`, only files that `manifest` names ship.
fn ships(file: &str, manifest: &str) -> bool {
    if file.starts_with("bin/") {
        return manifest.contains(&format!("\"{file}\""));
    }
    let name = file.rsplit('/').next().unwrap_or(file);
    !name.starts_with('.') && !name.ends_with('~') && !name.ends_with(".tmp") && name != NOTICES
}

fn slashes(path: &Path) -> String {
    path.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}
