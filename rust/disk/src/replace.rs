//! Replaces files atomically.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Instant;

use tempfile::PathPersistError;

use crate::access;
use crate::failure::Failure;
use crate::locks::{LONGEST_WAIT, PAUSE, TRIES, alone};
use crate::stamp::{Stamp, id};
use crate::temporary::{beside, remove_leftovers};

/// Atomically replaces a file with these chunks, in order. Readers find the old or the new content, even after a
/// crash. A new file gets default permissions; an existing one keeps its own.
///
/// # Errors
/// Fails if the file cannot be written. It is then unchanged, and no temporary file is left.
pub fn replace(place: &Path, chunks: &[Vec<u8>]) -> Result<(), Failure> {
    replace_if(place, |_| Ok(()), chunks)
}

/// Creates a file with these chunks, in order, like [`replace`]. If several programs create the file at the
/// same time, only one succeeds, provided that the file system can rename without replacing.
///
/// # Errors
/// [`Failure::System`] with [`io::ErrorKind::AlreadyExists`] if the file exists; otherwise fails as
/// [`replace`] does.
pub fn create(place: &Path, chunks: &[Vec<u8>]) -> Result<(), Failure> {
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
pub fn replace_read(place: &Path, read: &Stamp, chunks: &[Vec<u8>]) -> Result<(), Failure> {
    let is_as_read = |old: Option<&Metadata>| match old.map(Stamp::of).transpose()? {
        Some(old) if old.is_unchanged_since(read) => Ok(()),
        _ => Err(Failure::Changed),
    };
    replace_if(place, is_as_read, chunks)
}

fn replace_if(
    place: &Path,
    check: impl Fn(Option<&Metadata>) -> Result<(), Failure>,
    chunks: &[Vec<u8>],
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
    chunks: &[Vec<u8>],
    replaces_any: bool,
) -> Result<(), Failure> {
    // The old file is opened without truncating it, to check write permission.
    let before = match alone(place, access::open_to_replace) {
        Err(Failure::System(error)) if error.kind() == io::ErrorKind::NotFound => None,
        before => Some(before?),
    };
    let like = before.as_ref().map(File::metadata).transpose()?;
    let folder = place.parent().filter(|folder| folder.is_dir()).ok_or(Failure::NoFolder)?;
    remove_leftovers(folder);
    let fill = |mut file: &File| {
        // Access rights come first, so that users who cannot read the old file never read the new content.
        if let Some(like) = &like {
            access::make_alike(file, like)?;
        }
        chunks.iter().try_for_each(|chunk| file.write_all(chunk))?;
        access::sync(file)
    };
    let (_file, beside) = beside(folder, fill)?;
    drop(before);
    // The old file is locked only now, so that others may read it and append to it while the new file is
    // written.
    let mut old = match alone(place, |place| access::hold(place, OpenOptions::new().write(true))) {
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

#[cfg(all(test, unix))]
mod tests {
    use std::cell::Cell;
    use std::fs;

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
