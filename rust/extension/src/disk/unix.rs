//! Locks, rights and renaming on Unix, of which the web's file system is one as far as Rust is concerned: one without locks.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::Path;

/// What became of the wish to have a file alone.
pub enum Held {
    /// It is locked as long as it is open.
    Locked(File),
    /// The file system knows no locks.
    Unlockable(File),
    /// Somebody else has locked it.
    ByOthers,
}

/// Opens a file and locks it against all others.
pub fn hold(place: &Path, options: &OpenOptions) -> io::Result<Held> {
    lock(options.open(place)?)
}

/// Locks an open file against all others.
pub fn lock(file: File) -> io::Result<Held> {
    let locked = try_lock(&file, false);
    Ok(held(file, locked))
}

/// Opens a file and locks it against writers.
pub fn hold_for_reading(place: &Path) -> io::Result<Held> {
    let file = File::open(place)?;
    let locked = try_lock(&file, true);
    Ok(held(file, locked))
}

fn held(file: File, locked: Result<(), TryLockError>) -> Held {
    match locked {
        Ok(()) => Held::Locked(file),
        Err(TryLockError::WouldBlock) => Held::ByOthers,
        Err(TryLockError::Error(_)) => Held::Unlockable(file),
    }
}

#[cfg(not(target_os = "android"))]
fn try_lock(file: &File, shared: bool) -> Result<(), TryLockError> {
    if shared { file.try_lock_shared() } else { file.try_lock() }
}

/// The standard library does not know that Android has these locks, too.
#[cfg(target_os = "android")]
fn try_lock(file: &File, shared: bool) -> Result<(), TryLockError> {
    use rustix::fs::{FlockOperation as Lock, flock};
    let lock = if shared { Lock::NonBlockingLockShared } else { Lock::NonBlockingLockExclusive };
    flock(file, lock).map_err(|error| match error {
        rustix::io::Errno::WOULDBLOCK => TryLockError::WouldBlock,
        error => TryLockError::Error(error.into()),
    })
}

/// Whether a path leads to this open file.
pub fn leads_to(place: &Path, file: &File) -> io::Result<bool> {
    let open = file.metadata()?;
    match fs::metadata(place) {
        Ok(found) => Ok((found.dev(), found.ino()) == (open.dev(), open.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Gives a file the rights of another, and its owner where that is allowed.
pub fn make_alike(file: &File, other: &Metadata) -> io::Result<()> {
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (other.uid(), other.gid()) {
        // Only root may give files away; the group alone can be one's own, too.
        drop(
            fchown(file, Some(other.uid()), Some(other.gid()))
                .or_else(|_| fchown(file, None, Some(other.gid()))),
        );
    }
    file.set_permissions(other.permissions())
}

/// Puts a file in the place of an old one, which is held until that is done.
pub fn rename(from: &Path, to: &Path, _old: Option<File>) -> io::Result<()> {
    fs::rename(from, to)
}

/// Brings the names in a folder to the disk.
pub fn sync_folder(folder: &Path) {
    // The new file is there already; no error could take that back.
    drop(File::open(folder).and_then(|folder| folder.sync_all()));
}
