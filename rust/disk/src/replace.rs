//! Replaces files atomically: a temporary file in the same folder takes the name of the old one.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use tempfile::{PathPersistError, TempPath};
use variant_codec::sync::lock;

use crate::access::{self, Held};
use crate::failure::Failure;
use crate::locks::{LONGEST_WAIT, PAUSE, TRIES, lock_exclusively};
use crate::paths::{is_temporary_name, temporary_files};
use crate::stamp::{Stamp, id};

/// Atomically replaces a file with these chunks, in order. Readers find the old or the new content, even after a
/// crash. A new file gets default permissions; an existing one keeps its own.
///
/// # Errors
/// Fails if the file cannot be written. It is then unchanged, and no temporary file is left.
pub fn replace(place: &Path, chunks: &[impl AsRef<[u8]>]) -> Result<(), Failure> {
    replace_if(place, |_| Ok(()), chunks)
}

/// Creates a file with these chunks, in order, like [`replace`]. If several programs create the file at the
/// same time, only one succeeds, provided that the file system can rename without replacing.
///
/// # Errors
/// [`Failure::System`] with [`io::ErrorKind::AlreadyExists`] if the file exists; otherwise fails as
/// [`replace`] does.
pub fn create(place: &Path, chunks: &[impl AsRef<[u8]>]) -> Result<(), Failure> {
    let is_new = |old: Option<&Metadata>| match old {
        None => Ok(()),
        Some(_) => Err(io::Error::from(io::ErrorKind::AlreadyExists).into()),
    };
    replace_now(place, is_new, chunks, false)
}

/// Replaces a file like [`replace`], but only if the file has not changed since the stamp `read` was taken.
/// Thus, no writes by others are lost.
///
/// # Errors
/// Fails as [`replace`] does, or with [`Failure::Changed`].
pub fn replace_read(place: &Path, read: &Stamp, chunks: &[impl AsRef<[u8]>]) -> Result<(), Failure> {
    let is_as_read = |old: Option<&Metadata>| match old.map(Stamp::of).transpose()? {
        Some(old) if old.is_unchanged_since(read) => Ok(()),
        _ => Err(Failure::Changed),
    };
    replace_if(place, is_as_read, chunks)
}

fn replace_if(
    place: &Path,
    check: impl Fn(Option<&Metadata>) -> Result<(), Failure>,
    chunks: &[impl AsRef<[u8]>],
) -> Result<(), Failure> {
    // If others create the file before the new file gets its name, the next attempt locks their file and
    // replaces it.
    for _ in 1..TRIES {
        match replace_now(place, &check, chunks, false) {
            Err(Failure::System(error)) if error.kind() == io::ErrorKind::AlreadyExists => {}
            replaced => return replaced,
        }
    }
    replace_now(place, &check, chunks, true)
}

fn replace_now(
    place: &Path,
    check: impl Fn(Option<&Metadata>) -> Result<(), Failure>,
    chunks: &[impl AsRef<[u8]>],
    replaces_any: bool,
) -> Result<(), Failure> {
    // The old file is opened without truncating it, to check write permission.
    let before = match lock_exclusively(place, access::open_to_replace) {
        Err(Failure::System(error)) if error.kind() == io::ErrorKind::NotFound => None,
        before => Some(before?),
    };
    let like = before.as_ref().map(File::metadata).transpose()?;
    let folder = place.parent().filter(|folder| folder.is_dir()).ok_or(Failure::NoFolder)?;
    remove_leftovers(folder);
    let fill = |mut file: &File| {
        // Access rights come first, so that users who cannot read the old file never read the new content.
        if let Some(like) = &like {
            access::copy_permissions(file, like)?;
        }
        chunks.iter().try_for_each(|chunk| file.write_all(chunk.as_ref()))?;
        access::sync(file)
    };
    let (_file, beside) = create_temporary(folder, fill)?;
    drop(before);
    // The old file is locked only now, so that others may read it and append to it while the new file is
    // written.
    let mut old = match lock_exclusively(place, |place| access::hold(place, OpenOptions::new().write(true))) {
        Err(Failure::System(error)) if error.kind() == io::ErrorKind::NotFound => None,
        old => Some(old?),
    };
    let found = old.as_ref().map(File::metadata).transpose()?;
    check(found.as_ref())?;
    if found.as_ref().is_some_and(|found| like.as_ref().map(id) != Some(id(found))) && !replaces_any {
        // Others have created or replaced the file at this path. The new file does not have the access rights
        // of that file.
        return Err(io::Error::from(io::ErrorKind::AlreadyExists).into());
    }
    let mut beside = match old {
        _ if replaces_any => beside,
        Some(_) => beside,
        None => match beside.persist_noclobber(place) {
            Ok(()) => {
                access::sync_folder(folder);
                return Ok(());
            }
            Err(PathPersistError { error, .. }) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(error.into());
            }
            // Not all file systems can rename without replacing. A plain rename then suffices, because no file was
            // at `place` a moment ago.
            Err(PathPersistError { path, .. }) => path,
        },
    };
    let deadline = Instant::now() + LONGEST_WAIT;
    while let Some(refusal) = access::rename(&beside, place, &mut old).map_err(Failure::NotReplaced)? {
        if Instant::now() > deadline {
            return Err(Failure::Locked(format!(
                "another program, or replacing it is not permitted ({refusal})"
            )));
        }
        std::thread::sleep(PAUSE);
    }
    beside.disable_cleanup(true);
    access::sync_folder(folder);
    Ok(())
}

/// Creates a locked file in a folder and fills it with `fill`. Returns the file and its temporary name.
fn create_temporary(
    folder: &Path,
    fill: impl Fn(&File) -> io::Result<()>,
) -> Result<(File, TempPath), Failure> {
    let make = |path: &Path| match access::hold(path, OpenOptions::new().write(true).create_new(true))? {
        // Another process may have removed the file as a leftover before it was locked.
        Held::Locked(file) | Held::Unlockable(file) if fs::symlink_metadata(path).is_ok() => Ok(file),
        _ => Err(io::ErrorKind::AlreadyExists.into()),
    };
    let (file, path) =
        temporary_files().make_in(folder, make).map_err(Failure::NoTemporaryFile)?.into_parts();
    fill(&file)?;
    Ok((file, path))
}

/// Folders that this process has cleared of leftover temporary files. Once is enough: only killed processes leave such
/// files, and listing a large folder is slow.
static CLEARED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes temporary files of killed saves from a folder: regular files with the name pattern of temporary
/// files, if locking them proves that no one is writing to them.
fn remove_leftovers(folder: &Path) {
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

#[cfg(all(test, unix))]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::append::append;

    /// A file that an append has just created is locked before it is replaced, because the append may remove
    /// it again.
    #[test]
    fn a_file_created_by_an_append_is_locked_and_replaced() -> Result<(), Failure> {
        let folder = tempfile::tempdir()?;
        let place = folder.path().join("save.dat");
        let checks = Cell::new(0);
        let check = |old: Option<&Metadata>| {
            assert_eq!(old.is_some(), checks.get() > 0);
            checks.set(checks.get() + 1);
            if checks.get() == 1 { append(&place, &[vec![1, 0, 0, 0, 7]]) } else { Ok(()) }
        };
        replace_if(&place, check, &[b"new".to_vec()])?;
        assert_eq!(checks.get(), 2);
        assert_eq!(fs::read(&place)?, b"new");
        assert_eq!(fs::read_dir(folder.path())?.count(), 1);
        Ok(())
    }
}
