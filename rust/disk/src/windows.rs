//! Locks and renaming on Windows, where opening a file restricts how others may open it. A byte-range lock
//! would also exclude readers, including the engine.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// `FILE_SHARE_READ`: others may read the file.
const READERS: u32 = 1;
/// `FILE_SHARE_DELETE` as well: others may also replace and remove the file, but not write to it.
const NO_WRITERS: u32 = READERS | 4;
/// `ERROR_SHARING_VIOLATION`
const IN_USE: i32 = 32;
/// `ERROR_ACCESS_DENIED`: returned by renaming while the old file is open.
const DENIED: i32 = 5;

/// The result of locking a file.
pub enum Held {
    /// The file is locked while it is open.
    Locked(File),
    /// The file system has no locks; does not happen here.
    #[expect(dead_code, reason = "for other systems")]
    Unlockable(File),
    /// The file is locked by another process.
    ByOthers,
}

/// Opens a file that will be replaced. Opening the file for writing locks it.
pub fn open_to_replace(place: &Path) -> io::Result<Held> {
    hold(place, OpenOptions::new().write(true))
}

/// Opens a file and locks it against other writers. Others may still replace it.
pub fn hold(place: &Path, options: &OpenOptions) -> io::Result<Held> {
    opened(place, options, NO_WRITERS)
}

/// Opens a file and locks it against other writers and replacement: writes to a replaced file would be lost.
pub fn hold_pinned(place: &Path, options: &OpenOptions) -> io::Result<Held> {
    opened(place, options, READERS)
}

fn opened(place: &Path, options: &OpenOptions, shared: u32) -> io::Result<Held> {
    match options.clone().share_mode(shared).open(place) {
        Ok(file) => Ok(Held::Locked(file)),
        Err(error) if error.raw_os_error() == Some(IN_USE) => Ok(Held::ByOthers),
        Err(error) => Err(error),
    }
}

/// Opens a file and locks it against writers.
pub fn hold_for_reading(place: &Path) -> io::Result<Held> {
    hold(place, OpenOptions::new().read(true))
}

/// The creation time, because stable Rust does not expose the index of a file.
pub type Id = u64;

pub fn id(metadata: &Metadata) -> Id {
    metadata.creation_time()
}

/// Always true: opening and locking are one step, so nothing can replace the file in between.
pub fn leads_to(_place: &Path, _file: &File) -> io::Result<bool> {
    Ok(true)
}

/// The length of the file if no one has locked the file at this path for writing. If the file has been removed or
/// replaced, the lock fails with an error, and no one appends to the file.
pub fn length_at_rest(place: &Path, file: &File) -> io::Result<Option<u64>> {
    let held = hold_for_reading(place);
    if matches!(held, Ok(Held::ByOthers)) {
        return Ok(None);
    }
    // The lock is held until the length is known.
    Ok(Some(file.metadata()?.len()))
}

/// Does nothing: on Windows, permissions come from the folder.
pub fn copy_permissions(_file: &File, _other: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Renames a file over an old one. If the file system can replace an open file, the old one stays locked until it is
/// replaced. Returns the system's refusal if another process may have the old file open; the caller may then retry.
pub fn rename(from: &Path, to: &Path, old: &mut Option<File>) -> io::Result<Option<io::Error>> {
    let mut renamed = fs::rename(from, to);
    if renamed.is_err() && old.take().is_some() {
        renamed = fs::rename(from, to);
    }
    match renamed {
        Ok(()) => Ok(None),
        Err(error) if matches!(error.raw_os_error(), Some(DENIED | IN_USE)) => Ok(Some(error)),
        Err(error) => Err(error),
    }
}

pub fn sync(file: &File) -> io::Result<()> {
    file.sync_all()
}

/// Does nothing: the system syncs names to disk by itself.
pub fn sync_folder(_folder: &Path) {}

/// Whether Windows may open a different file from the one that the folder lists under this name. A colon starts a
/// stream or a path on another drive. Windows drops dots and spaces at the end if the file exists.
pub fn is_ambiguous(place: &str) -> bool {
    // Splits the text, because `Path::file_name` would drop the `C:` of the path `C:name`.
    let name = place.rsplit(['/', '\\']).next().unwrap_or(place);
    let is_bare_drive = place.len() == 2;
    (name.contains(':') && !is_bare_drive) || (name.ends_with(['.', ' ']) && !matches!(name, "." | ".."))
}

/// Whether most programs treat this name as a device, whatever follows the first dot or colon. Canonical paths
/// allow files with such names, but most programs cannot delete them.
pub fn is_device(name: &str) -> bool {
    let stem = name.split(['.', ':']).next().unwrap_or(name).trim_end().to_ascii_lowercase();
    match stem.as_str() {
        "aux" | "clock$" | "con" | "conin$" | "conout$" | "nul" | "prn" => true,
        stem => ["com", "lpt"].iter().any(|port| {
            let number = stem.strip_prefix(port).unwrap_or_default();
            number.chars().count() == 1 && "0123456789¹²³".contains(number)
        }),
    }
}
