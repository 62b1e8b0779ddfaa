//! Locks and renaming on Windows, where who opens a file says what others may do with it meanwhile. A lock on its bytes would
//! keep out readers, too, the engine's among them.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;

/// `FILE_SHARE_READ` and `FILE_SHARE_DELETE`: others may read, replace and remove the file, but not write to it.
const NO_WRITERS: u32 = 1 | 4;
/// `ERROR_SHARING_VIOLATION`
const IN_USE: i32 = 32;

/// What became of the wish to have a file alone.
pub enum Held {
    /// It is locked as long as it is open.
    Locked(File),
    /// The file system knows no locks, which does not happen here.
    #[expect(dead_code, reason = "for other systems")]
    Unlockable(File),
    /// Somebody else has locked it.
    ByOthers,
}

/// Opens a file and locks it against other writers.
pub fn hold(place: &Path, options: &OpenOptions) -> io::Result<Held> {
    match options.clone().share_mode(NO_WRITERS).open(place) {
        Ok(file) => Ok(Held::Locked(file)),
        Err(error) if error.raw_os_error() == Some(IN_USE) => Ok(Held::ByOthers),
        Err(error) => Err(error),
    }
}

/// There is nothing to be locked that was not opened here.
pub fn lock(file: File) -> io::Result<Held> {
    Ok(Held::Locked(file))
}

/// Opens a file and locks it against writers.
pub fn hold_for_reading(place: &Path) -> io::Result<Held> {
    hold(place, OpenOptions::new().read(true))
}

/// Opening and locking are one step, between which nobody replaces the file.
pub fn leads_to(_place: &Path, _file: &File) -> io::Result<bool> {
    Ok(true)
}

/// The folder says who may do what with a file.
pub fn make_alike(_file: &File, _other: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Puts a file in the place of an old one, which some file systems replace only when nobody has it open.
pub fn rename(from: &Path, to: &Path, old: Option<File>) -> io::Result<()> {
    drop(old);
    fs::rename(from, to)
}

/// The system brings names to the disk by itself.
pub fn sync_folder(_folder: &Path) {}
