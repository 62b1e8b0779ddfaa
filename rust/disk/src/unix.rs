//! Locks, permissions and renaming on Unix. To Rust, the web's file system is Unix too, but without locks.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

/// The result of locking a file.
pub enum Held {
    /// The file is locked while it is open.
    Locked(File),
    /// The file system has no locks.
    Unlockable(File),
    /// The file is locked by another process.
    ByOthers,
}

/// Opens a file that will be replaced. Does not lock the file.
pub fn open_to_replace(place: &Path) -> io::Result<Held> {
    OpenOptions::new().write(true).open(place).map(Held::Unlockable)
}

/// Opens a file and locks it exclusively.
pub fn hold(place: &Path, options: &OpenOptions) -> io::Result<Held> {
    let file = options.open(place)?;
    let locked = try_lock(&file, false);
    Ok(held(file, locked))
}

/// Opens a file and locks it exclusively. [`leads_to`] detects whether the file has been replaced.
pub fn hold_pinned(place: &Path, options: &OpenOptions) -> io::Result<Held> {
    hold(place, options)
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

/// Android has these locks too, but the standard library does not support them there.
#[cfg(target_os = "android")]
fn try_lock(file: &File, shared: bool) -> Result<(), TryLockError> {
    use rustix::fs::{FlockOperation as Lock, flock};
    let lock = if shared { Lock::NonBlockingLockShared } else { Lock::NonBlockingLockExclusive };
    flock(file, lock).map_err(|error| match error {
        rustix::io::Errno::WOULDBLOCK => TryLockError::WouldBlock,
        error => TryLockError::Error(error.into()),
    })
}

#[cfg(not(target_os = "android"))]
fn unlock(file: &File) -> io::Result<()> {
    file.unlock()
}

#[cfg(target_os = "android")]
fn unlock(file: &File) -> io::Result<()> {
    Ok(rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingUnlock)?)
}

/// The device and the inode number of a file, unique at any one time.
pub type Id = (u64, u64);

pub fn id(metadata: &Metadata) -> Id {
    (metadata.dev(), metadata.ino())
}

/// Whether a path leads to this open file.
pub fn leads_to(place: &Path, file: &File) -> io::Result<bool> {
    let open = file.metadata()?;
    match fs::metadata(place) {
        Ok(found) => Ok(id(&found) == id(&open)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The length of the file if no one has locked it for writing, or the file system has no locks.
pub fn length_at_rest(_place: &Path, file: &File) -> io::Result<Option<u64>> {
    let locked = try_lock(file, true);
    if matches!(locked, Err(TryLockError::WouldBlock)) {
        return Ok(None);
    }
    let metadata = file.metadata();
    if locked.is_ok() {
        drop(unlock(file));
    }
    Ok(Some(metadata?.len()))
}

/// Copies permissions to a file, and the owner if allowed. Leaves out group permissions if the group could
/// not be kept.
pub fn copy_permissions(file: &File, other: &Metadata) -> io::Result<()> {
    const GROUP: u32 = 0o070;
    const ACCESS: u32 = 0o777;

    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (other.uid(), other.gid()) {
        // Only root may change the owner; the group may still be one of the user's own.
        drop(
            fchown(file, Some(other.uid()), Some(other.gid()))
                .or_else(|_| fchown(file, None, Some(other.gid()))),
        );
    }
    let own = file.metadata()?;
    let mut permissions = other.permissions();
    if own.gid() != other.gid() {
        permissions.set_mode(permissions.mode() & !GROUP);
    }
    match file.set_permissions(permissions.clone()) {
        // Some file systems have one fixed mode for all files.
        Err(error)
            if error.kind() == io::ErrorKind::PermissionDenied
                && own.mode() & ACCESS & !permissions.mode() == 0 =>
        {
            Ok(())
        }
        set => set,
    }
}

/// Renames a file over an old one, which stays locked until it is replaced. Never asks the caller to retry.
pub fn rename(from: &Path, to: &Path, _old: &mut Option<File>) -> io::Result<Option<io::Error>> {
    fs::rename(from, to).map(|()| None)
}

/// Syncs a file to disk. Does nothing on the web, where files are in memory and the engine's main thread
/// stores them: a sync would never end while the main thread waits for the calling thread.
pub fn sync(file: &File) -> io::Result<()> {
    if cfg!(target_family = "wasm") { Ok(()) } else { file.sync_all() }
}

/// Syncs the names in a folder to disk.
pub fn sync_folder(folder: &Path) {
    // The new file already has its name, so an error would be misleading.
    drop(File::open(folder).and_then(|folder| sync(&folder)));
}

/// Always false: Unix has no reserved device names.
pub fn is_device(_name: &str) -> bool {
    false
}

/// Always false: on Unix, each name means one file.
pub fn is_ambiguous(_place: &str) -> bool {
    false
}
