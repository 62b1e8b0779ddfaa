//! Packs reproducible zip files, unpacks zip files and copies folders.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

/// A file to pack: its name in the archive, with forward slashes, and its bytes.
pub struct Entry {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// Writes `entries`, sorted by name, with the same fixed time and mode for all.
pub fn pack(mut entries: Vec<Entry>, to: &Path) -> Result<()> {
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644);
    let mut zip = ZipWriter::new(File::create(to).with_context(|| format!("cannot write {}", to.display()))?);
    for entry in &entries {
        zip.start_file(entry.name.as_str(), options)?;
        zip.write_all(&entry.bytes)?;
    }
    zip.finish()?;
    Ok(())
}

/// Unpacks into `folder`, and refuses names that point outside it.
pub fn unpack(zip: &Path, folder: &Path) -> Result<()> {
    let file = File::open(zip).with_context(|| format!("cannot open {}", zip.display()))?;
    ZipArchive::new(file)?.extract(folder).with_context(|| format!("cannot unpack {}", zip.display()))
}

/// The sizes of a file in an archive, in bytes.
pub struct Size {
    pub name: String,
    pub bytes: u64,
    pub packed: u64,
}

pub fn sizes(zip: &Path) -> Result<Vec<Size>> {
    let file = File::open(zip).with_context(|| format!("cannot open {}", zip.display()))?;
    let mut archive = ZipArchive::new(file)?;
    let count = archive.len();
    let size = |index| {
        let entry = archive.by_index(index)?;
        Ok(Size { name: entry.name()?.into_owned(), bytes: entry.size(), packed: entry.compressed_size() })
    };
    (0..count).map(size).collect()
}

/// Every file under `folder`, sorted, as paths relative to it.
pub fn files_under(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(inner) = open.pop() {
        let path = folder.join(&inner);
        for entry in fs::read_dir(&path).with_context(|| format!("cannot read {}", path.display()))? {
            let entry = entry?;
            let list = if entry.file_type()?.is_dir() { &mut open } else { &mut found };
            list.push(inner.join(entry.file_name()));
        }
    }
    found.sort();
    Ok(found)
}

pub fn copy(from: &Path, to: &Path) -> Result<()> {
    for file in files_under(from)? {
        let target = to.join(&file);
        fs::create_dir_all(target.parent().expect("it was just joined"))?;
        fs::copy(from.join(&file), target)
            .with_context(|| format!("cannot copy {}", from.join(&file).display()))?;
    }
    Ok(())
}
