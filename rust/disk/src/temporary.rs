//! Temporary files beside the files that they will replace.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tempfile::{Builder, TempPath};
use variant_codec::sync::lock;

use crate::access::{self, Held};
use crate::failure::Failure;

/// The name of a temporary file: prefix, random letters and digits, suffix. It does not contain the name of the final
/// file, which may already have the maximum length.
const PREFIX: &str = ".fast-variant-codec-";
const RANDOM: usize = 16;
const SUFFIX: &str = ".tmp";

/// Creates a locked file in a folder and fills it with `fill`. Returns the file and its temporary name.
pub(crate) fn beside(
    folder: &Path,
    fill: impl Fn(&File) -> io::Result<()>,
) -> Result<(File, TempPath), Failure> {
    let make = |path: &Path| match access::hold(path, OpenOptions::new().write(true).create_new(true))? {
        // Another process may have removed the file as a leftover before it was locked.
        Held::Locked(file) | Held::Unlockable(file) if fs::symlink_metadata(path).is_ok() => Ok(file),
        _ => Err(io::ErrorKind::AlreadyExists.into()),
    };
    let (file, path) = builder().make_in(folder, make).map_err(Failure::NoTemporaryFile)?.into_parts();
    fill(&file)?;
    Ok((file, path))
}

fn builder() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(PREFIX).rand_bytes(RANDOM).suffix(SUFFIX);
    builder
}

/// Folders that this process has cleared of leftover temporary files. Once is enough: only killed processes leave such
/// files, and listing a large folder is slow.
static CLEARED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes temporary files of killed saves from a folder: regular files with the name pattern of temporary
/// files, if locking them proves that no one is writing to them.
pub(crate) fn remove_leftovers(folder: &Path) {
    if !lock(&CLEARED).insert(folder.to_owned()) {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_file = || entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_temporary_name(&entry.file_name().to_string_lossy())
            && is_file()
            && let Ok(Held::Locked(_file)) = access::hold(&entry.path(), OpenOptions::new().write(true))
        {
            // If the file cannot be removed now, the next process tries again.
            drop(fs::remove_file(entry.path()));
        }
    }
}

pub(crate) fn is_temporary_name(name: &str) -> bool {
    name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX)).is_some_and(|random| {
        random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}
