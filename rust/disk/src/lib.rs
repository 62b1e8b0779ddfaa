//! Replaces files atomically and appends to them, with one writer at a time across all processes. The crate
//! is independent of the engine, and is tested without the engine on each platform.
//!
//! **The lock is on the file itself**, so there are no lock files, and the system releases the lock however a
//! process ends. A save replaces the file, so a lock on the old file then excludes no one. After locking, a writer
//! therefore checks that the path still leads to the locked file, and retries if not.
//!
//! A save does not lock the old file before the new content is on disk. Until then, readers and appends need
//! not wait.
//!
//! On a file system without locks, files are written without one, so that a game can still save.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant, SystemTime};

use tempfile::{Builder, PathPersistError, TempPath};
use variant_codec::Limits;
use variant_codec::frames::{self, Foreign};
use variant_codec::sync::lock;

#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "unix.rs")]
mod access;
mod journal;
#[cfg(target_os = "linux")]
mod linux;

use access::Held;
pub use journal::Journal;
#[cfg(target_os = "linux")]
use linux::holder;

/// The maximum wait for a lock that another process holds while it writes.
pub const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// The polling interval while waiting. It is short, because a process that writes in a loop frees the lock
/// only for microseconds.
const PAUSE: Duration = Duration::from_micros(50);

/// The name of a temporary file: prefix, random letters and digits, suffix. It does not contain the name of the final
/// file, which may already have the maximum length.
const PREFIX: &str = ".fast-variant-codec-";
const RANDOM: usize = 16;
const SUFFIX: &str = ".tmp";

/// The maximum number of links followed, as on Linux.
const MAX_LINKS: usize = 40;

/// The reason why a file is not read or written.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The path leads to a folder.
    #[error("is a folder, not a file")]
    IsFolder,
    /// The path leads to neither a file nor a folder.
    #[error("not a regular file")]
    NotRegular,
    /// The folder of the file does not exist.
    #[error("folder does not exist")]
    NoFolder,
    /// The name is reserved for temporary files.
    #[error("name is reserved for temporary files, which are deleted automatically")]
    ReservedName,
    /// On Windows, the name is reserved for a device, as `nul` and `nul.txt` are.
    #[error("name is reserved for a device on Windows")]
    DeviceName,
    /// On Windows, the name means another file: a stream, a file on another drive, or a file without the
    /// trailing dots and spaces.
    #[error("name has a colon, or ends in a dot or space; on Windows, such a name means another file")]
    AmbiguousName,
    /// The record that starts at this byte is truncated or empty.
    #[error(
        "truncated or empty record at byte {0}; load_batch returns the records before it, and `gdvar repair` finds those after it"
    )]
    Truncated(u64),
    /// The file is in another format than records.
    #[error("{0}")]
    Foreign(Foreign),
    /// Another writer keeps the file locked.
    #[error("file locked by {0}")]
    Locked(String),
    /// The file has changed since it was read.
    #[error("file has changed meanwhile; read it again")]
    Changed,
    /// The temporary file of a save cannot be created.
    #[error("cannot create a temporary file in the same folder: {0}")]
    NoTemporaryFile(io::Error),
    /// The new file of a save cannot take the name of the old one.
    #[error("cannot replace the file by a new one: {0}")]
    NotReplaced(io::Error),
    /// An error of the system.
    #[error("{0}")]
    System(#[from] io::Error),
}

/// The canonical path of a file, with links resolved; the file need not exist.
///
/// # Errors
/// Fails if there are too many links, as in a loop, or the system cannot resolve the path.
pub fn resolved(mut place: PathBuf) -> io::Result<PathBuf> {
    for _ in 0..MAX_LINKS {
        // On Windows, resolving the name of a device would access the device.
        if !is_named_as_device(&place) && !is_ambiguous(&place) {
            match place.canonicalize() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                // Paths on some Windows drives cannot be canonicalized, nor can long paths in wine.
                Err(_) if cfg!(windows) && place.metadata().is_ok() => return std::path::absolute(place),
                found => return found,
            }
            // A pipe or a deleted file that is reached through /proc exists without a path.
            if place.metadata().is_ok() {
                return Ok(place);
            }
        }
        let (Some(Ok(folder)), Some(name)) = (place.parent().map(in_full), place.file_name()) else {
            return Ok(place);
        };
        if is_ambiguous(&place) {
            return Ok(place);
        }
        place = folder.join(name);
        let Ok(next) = place.read_link() else { return Ok(place) };
        place = folder.join(next);
    }
    Err(io::Error::other("too many levels of symbolic links"))
}

/// Whether the system may open a different file from the one that the folder lists under this name.
fn is_ambiguous(place: &Path) -> bool {
    access::is_ambiguous(&place.as_os_str().to_string_lossy())
}

fn is_named_as_device(place: &Path) -> bool {
    place.file_name().is_some_and(|name| access::is_device(&name.to_string_lossy()))
}

fn in_full(folder: &Path) -> io::Result<PathBuf> {
    // The parent of a bare name is the empty path, which means the current folder.
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }.canonicalize()
}

/// Atomically replaces a file with these parts, in order. Readers find the old or the new content, even after a
/// crash. A new file gets default permissions; an existing one keeps its own.
///
/// # Errors
/// Fails if the file cannot be written. It is then unchanged, and no temporary file is left.
pub fn replace(place: &Path, parts: &[Vec<u8>]) -> Result<(), Failure> {
    replace_if(place, |_| Ok(()), parts)
}

/// Creates a file with these parts, in order, like [`replace`]. If several programs create the file at the
/// same time, only one succeeds, provided that the file system can rename without replacing.
///
/// # Errors
/// [`Failure::System`] with [`io::ErrorKind::AlreadyExists`] if the file exists; otherwise fails as
/// [`replace`] does.
pub fn create(place: &Path, parts: &[Vec<u8>]) -> Result<(), Failure> {
    let is_new = |old: Option<&Metadata>| match old {
        None => Ok(()),
        Some(_) => Err(io::Error::from(io::ErrorKind::AlreadyExists).into()),
    };
    replace_now(place, is_new, parts, false)
}

/// The identity, length and modification time of a file before it is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Stamp {
    id: Id,
    length: u64,
    modified: SystemTime,
}

impl Stamp {
    /// The stamp of the file as it is now.
    ///
    /// # Errors
    /// Fails if the system cannot read the metadata.
    pub fn at(place: &Path) -> io::Result<Self> {
        Self::of(&place.metadata()?)
    }

    fn of(metadata: &Metadata) -> io::Result<Self> {
        Ok(Self { id: id(metadata), length: metadata.len(), modified: metadata.modified()? })
    }

    /// The stamp of an open file.
    ///
    /// # Errors
    /// Fails if the system cannot read the metadata.
    pub fn of_file(file: &File) -> io::Result<Self> {
        Self::of(&file.metadata()?)
    }

    /// The length of the file in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Compares everything except the creation time: Linux copies a file in the lower layer of an overlay
    /// when it is opened for writing, which changes this time.
    fn is_unchanged_since(&self, other: &Self) -> bool {
        self.id.0 == other.id.0 && (self.length, self.modified) == (other.length, other.modified)
    }

    /// Whether the path still leads to the file, changed or not.
    pub fn is_of(&self, place: &Path) -> bool {
        place.metadata().is_ok_and(|found| id(&found) == self.id)
    }
}

/// Replaces a file like [`replace`], but only if the file has not changed since the stamp `read` was taken.
/// Thus, no writes by others are lost.
///
/// # Errors
/// Fails as [`replace`] does, or with [`Failure::Changed`].
pub fn replace_read(place: &Path, read: &Stamp, parts: &[Vec<u8>]) -> Result<(), Failure> {
    let is_as_read = |old: Option<&Metadata>| match old.map(Stamp::of).transpose()? {
        Some(old) if old.is_unchanged_since(read) => Ok(()),
        _ => Err(Failure::Changed),
    };
    replace_if(place, is_as_read, parts)
}

/// The number of attempts if others create the file at the same time. The number is limited because
/// more attempts do not help with a dangling link, which exists but cannot be opened.
const TRIES: u32 = 3;

fn replace_if(
    place: &Path,
    check: impl Fn(Option<&Metadata>) -> Result<(), Failure>,
    parts: &[Vec<u8>],
) -> Result<(), Failure> {
    // If others create the file before the new file gets its name, the next attempt locks their file and
    // replaces it.
    for _ in 1..TRIES {
        match replace_now(place, &check, parts, false) {
            Err(Failure::System(error)) if error.kind() == io::ErrorKind::AlreadyExists => {}
            replaced => return replaced,
        }
    }
    replace_now(place, &check, parts, true)
}

fn replace_now(
    place: &Path,
    check: impl Fn(Option<&Metadata>) -> Result<(), Failure>,
    parts: &[Vec<u8>],
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
        parts.iter().try_for_each(|part| file.write_all(part))?;
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

/// Creates a locked file in a folder and fills it with `fill`. Returns the file and its temporary name.
fn beside(folder: &Path, fill: impl Fn(&File) -> io::Result<()>) -> Result<(File, TempPath), Failure> {
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

fn is_temporary_name(name: &str) -> bool {
    name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX)).is_some_and(|random| {
        random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Appends these parts, in order, to a file of records. Creates the file if it does not exist.
///
/// # Errors
/// Fails if the file cannot be written or is in another format, if one of its first records is not a value of
/// Godot 4, or if a record is empty or truncated. The file is then unchanged.
pub fn append(place: &Path, parts: &[Vec<u8>]) -> Result<(), Failure> {
    let (file, is_new) = open_to_append(place)?;
    let before = file.metadata()?;
    let written = append_to(&file, place, &before, parts);
    match (&written, place.parent()) {
        (Ok(()), Some(folder)) if is_new => access::sync_folder(folder),
        // This call created the file, and no one replaces it while it is locked.
        (Err(_), _) if is_new && before.len() == 0 && access::leads_to(place, &file)? => {
            drop(fs::remove_file(place));
        }
        _ => {}
    }
    written
}

/// Opens and locks a file. Also returns whether this call created it.
fn open_to_append(place: &Path) -> Result<(File, bool), Failure> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    for _ in 0..TRIES {
        match alone(place, |place| access::hold_in_place(place, &options)) {
            Err(Failure::System(error)) if error.kind() == io::ErrorKind::NotFound => {}
            file => return Ok((file?, false)),
        }
        if !place.parent().is_some_and(Path::is_dir) {
            return Err(Failure::NoFolder);
        }
        let mut new = options.clone();
        new.create_new(true);
        match alone(place, |place| access::hold_in_place(place, &new)) {
            // Another call or process was faster.
            Err(Failure::System(error)) if error.kind() == io::ErrorKind::AlreadyExists => {}
            file => return Ok((file?, true)),
        }
    }
    options.create(true);
    Ok((alone(place, |place| access::hold_in_place(place, &options))?, false))
}

fn append_to(mut file: &File, place: &Path, before: &Metadata, parts: &[Vec<u8>]) -> Result<(), Failure> {
    let stamp = Stamp::of(before)?;
    let last = known(place, before).filter(|known| known.stamp == stamp).map(|known| known.last);
    // The metadata do not prove that nothing has changed, so the last record must also end where the file ends.
    if last.is_none_or(|last| !ends_with_record(file, last, before.len()).unwrap_or(false)) {
        // Refuses files that cannot be synced to disk, such as files in /proc.
        access::sync(file)?;
        let contents = Mutex::new(file.try_clone()?);
        let contents = frames::recognise(&contents, |_| true).map_err(io::Error::other)?;
        if let Some(format) = contents.refusal() {
            return Err(Failure::Foreign(format));
        }
        file.rewind()?;
        if let Some(torn) = frames::find_torn(&mut BufReader::new(file), before.len())? {
            return Err(Failure::Truncated(torn));
        }
    }
    file.seek(SeekFrom::End(0))?;
    let written = parts.iter().try_for_each(|part| file.write_all(part)).and_then(|()| access::sync(file));
    if written.is_err() {
        // A failed write, for example to a full disk, must leave no truncated record.
        file.set_len(before.len())?;
    }
    if written.is_ok()
        && let Some(last) = last_record(parts, before.len())
    {
        let appended = Appended { stamp: Stamp::of(&file.metadata()?)?, last };
        let mut all = lock(&APPENDED);
        if all.len() >= MOST_APPENDED {
            all.clear();
        }
        all.insert(place.to_owned(), appended);
    }
    Ok(written?)
}

/// Whether the record that starts at `last` ends at `length`.
fn ends_with_record(mut file: &File, last: u64, length: u64) -> io::Result<bool> {
    file.seek(SeekFrom::Start(last))?;
    Ok(frames::find_torn(&mut BufReader::new(file), length - last)?.is_none())
}

/// The file offset of the last record in `parts`, which start at `start`.
fn last_record(parts: &[Vec<u8>], start: u64) -> Option<u64> {
    let (last, before) = parts.split_last()?;
    let start = before.iter().fold(start, |at, part| at + part.len() as u64);
    let (records, _) = frames::records(last, &Limits::unlimited());
    Some(start + (records.last()?.start - frames::FRAME_BYTES) as u64)
}

/// The files that this process appended to, by their path. Their records need not be checked again.
static APPENDED: LazyLock<Mutex<HashMap<PathBuf, Appended>>> = LazyLock::new(Mutex::default);
const MOST_APPENDED: usize = 1024;

/// The state of a file after this process appended to it.
#[derive(Clone)]
struct Appended {
    stamp: Stamp,
    /// The offset of the file's last record.
    last: u64,
}

/// The identity of a file. The creation time, if known, distinguishes the file from a later one with the same
/// inode number.
type Id = (access::Id, Option<SystemTime>);

fn id(metadata: &Metadata) -> Id {
    (access::id(metadata), metadata.created().ok())
}

/// The state of a file after this process last appended to it, if the file is still in [`APPENDED`].
fn known(place: &Path, metadata: &Metadata) -> Option<Appended> {
    lock(&APPENDED).get(place).filter(|known| known.stamp.id == id(metadata)).cloned()
}

/// The length of a file after this process's last append, if the last appended record still ends there.
fn own_length(place: &Path, file: &File) -> io::Result<Option<u64>> {
    let Some(known) = known(place, &file.metadata()?) else { return Ok(None) };
    let length = known.stamp.length;
    // Reading fails if others have truncated the file.
    Ok(ends_with_record(file, known.last, length).unwrap_or(false).then_some(length))
}

/// Opens a regular file for reading.
///
/// # Errors
/// Fails if the file cannot be opened.
pub fn open(place: &Path) -> Result<File, Failure> {
    // This is checked before opening, because opening a pipe blocks.
    refuse_others(place)?;
    Ok(File::open(place)?)
}

/// Opens a file to read it as a whole, and takes its stamp while no one writes to it. Waits for a writer until the
/// deadline. Bytes after the stamp's length may be removed again.
///
/// # Errors
/// Fails if the file cannot be opened, or is still locked at the deadline.
pub fn open_at_rest(place: &Path, deadline: Instant) -> Result<(File, Stamp), Failure> {
    loop {
        let file = open(place)?;
        if let Some(length) = access::length_at_rest(place, &file)? {
            let stamp = Stamp { length, ..Stamp::of_file(&file)? };
            return Ok((file, stamp));
        }
        if Instant::now() >= deadline {
            return Err(locked(place));
        }
        // The next attempt opens the path again, because another file may have taken it.
        std::thread::sleep(PAUSE);
    }
}

fn refuse_others(place: &Path) -> Result<(), Failure> {
    match place.metadata() {
        Ok(found) if found.is_dir() => Err(Failure::IsFolder),
        Ok(found) if !found.is_file() => Err(Failure::NotRegular),
        _ => Ok(()),
    }
}

/// Waits until no one writes to a file, and excludes writers while the result lives.
///
/// # Errors
/// Fails if the file cannot be opened, or is still locked at the deadline.
pub fn at_rest(place: &Path, deadline: Instant) -> Result<File, Failure> {
    waited_for(place, access::hold_for_reading, deadline)?.ok_or_else(|| locked(place))
}

/// Locks a file with `hold`, so that no one else who respects the lock writes to it.
fn alone(place: &Path, hold: impl Fn(&Path) -> io::Result<Held>) -> Result<File, Failure> {
    refuse_names(place)?;
    waited_for(place, hold, Instant::now() + LONGEST_WAIT)?.ok_or_else(|| locked(place))
}

/// Returns `None`: the system does not report who has locked a file.
#[cfg(not(target_os = "linux"))]
fn holder(_place: &Path) -> Option<String> {
    None
}

/// The failure that names the process with the lock, if the system reports it.
fn locked(place: &Path) -> Failure {
    Failure::Locked(holder(place).unwrap_or_else(|| "another process".into()))
}

/// Fails for names that must not be written to.
fn refuse_names(place: &Path) -> Result<(), Failure> {
    if place.file_name().is_some_and(|name| is_temporary_name(&name.to_string_lossy())) {
        return Err(Failure::ReservedName);
    }
    if is_named_as_device(place) {
        return Err(Failure::DeviceName);
    }
    if is_ambiguous(place) {
        return Err(Failure::AmbiguousName);
    }
    Ok(())
}

/// Waits until `hold` has locked the file. Returns `None` if others still hold the lock at the deadline.
fn waited_for(
    place: &Path,
    hold: impl Fn(&Path) -> io::Result<Held>,
    deadline: Instant,
) -> Result<Option<File>, Failure> {
    loop {
        refuse_others(place)?;
        match hold(place)? {
            Held::Unlockable(file) => return Ok(Some(file)),
            Held::Locked(file) if access::leads_to(place, &file)? => return Ok(Some(file)),
            // The file was replaced before it was locked.
            Held::Locked(_) => {}
            Held::ByOthers => std::thread::sleep(PAUSE),
        }
        if Instant::now() > deadline {
            return Ok(None);
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::cell::Cell;

    use super::*;

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

    /// A write to the old file would be lost.
    #[test]
    fn a_file_that_is_replaced_before_it_is_locked_is_opened_again() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let (place, newer) = (folder.path().join("save.dat"), folder.path().join("newer.dat"));
        fs::write(&place, "old")?;
        fs::write(&newer, "new")?;
        let is_replaced = Cell::new(false);
        let hold = |place: &Path| {
            let held = access::hold_for_reading(place)?;
            if !is_replaced.replace(true) {
                fs::rename(&newer, place)?;
            }
            Ok(held)
        };
        let held = waited_for(&place, hold, Instant::now() + LONGEST_WAIT).map_err(io::Error::other)?;
        assert_eq!(held.map(io::read_to_string).transpose()?.as_deref(), Some("new"));
        Ok(())
    }
}
