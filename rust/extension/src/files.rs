//! Files of length-prefixed values, as `FileAccess.store_var` writes them.
//!
//! Only the engine finds files packed into an exported game. Other files are read and written without the
//! engine. The engine cannot replace a file atomically, and the errors that it prints can run scripts while a
//! file is locked.

use std::io::{self, Read, Seek};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use godot::builtin::{GString, PackedByteArray};
use godot::classes::file_access::ModeFlags;
use godot::classes::{Engine, FileAccess};
use godot::global::Error as Code;
use godot::meta::ToGodot;
use godot::obj::Singleton;
use variant_codec::Limits;
use variant_codec::format::{FRAME_BYTES, MAX_BYTES};
use variant_disk::{self as disk, Failure, Journal, Stamp};
use variant_engine::text_of;

use crate::file_queue::Turn;
use variant_live::settings;

/// The reason why a file cannot be read or written.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct FileError {
    path: String,
    reason: String,
}

impl From<&FileError> for io::Error {
    fn from(error: &FileError) -> Self {
        Self::other(error.to_string())
    }
}

/// The contents of a file that is written.
#[derive(Clone, Copy)]
pub enum Holds {
    /// This many records.
    Records(usize),
    /// One value, with its summary.
    Value,
}

/// A file that a call wrote.
#[derive(Clone)]
pub struct Saved {
    pub holds: Holds,
    /// The size of what was written.
    pub bytes: usize,
    /// The path as the script passed it.
    pub path: String,
}

/// A path as the script passed it, and the path in the file system.
pub struct Target {
    name: String,
    place: PathBuf,
}

impl Target {
    /// Resolves the path of a file to be written.
    ///
    /// # Errors
    /// Fails if the path is not a file path, leads into an exported game, or has links that form a loop.
    pub fn of(path: &GString) -> Result<Self, FileError> {
        let name = text_of(path);
        let path = &GString::from(&name);
        // UIDs are not resolved: for an unknown one, the engine would print an error.
        let is_uid = name.starts_with("uid://");
        // The engine accepts both kinds of slashes on every system.
        let place = if is_uid { name.clone() } else { globalize_path(path).replace('\\', "/") };
        let error = |reason: &str| Err(FileError::new(name.clone(), reason));
        if name.starts_with("res://") && !PathBuf::from(&place).is_absolute() {
            return error("an exported game cannot write to res://; use user://");
        }
        if place.is_empty() || place.contains("://") {
            return error("not a file path; use user://, res:// or an absolute path");
        }
        if matches!(place.rsplit('/').next(), Some("" | "." | "..")) {
            return error("path of a folder, not of a file");
        }
        match disk::resolved(place.into()) {
            Ok(place) => Ok(Self { name, place }),
            Err(error) => Err(FileError::new(name, Failure::System(error))),
        }
    }

    /// Whether both targets have the same path.
    pub fn is_at(&self, other: &Self) -> bool {
        self.place == other.place
    }

    /// The report of `bytes` bytes written to this file.
    pub fn saved(&self, holds: Holds, bytes: usize) -> Saved {
        Saved { holds, bytes, path: self.name.clone() }
    }

    /// The current stamp of the file; `None` if there is no file.
    pub fn stamp(&self) -> Option<Stamp> {
        Stamp::at(&self.place).ok()
    }

    /// Whether the path leads to the file with this stamp, changed or not.
    pub fn is(&self, stamp: &Stamp) -> bool {
        stamp.is_of(&self.place)
    }

    /// A turn for this file, after all earlier ones.
    pub fn turn(&self) -> Turn {
        Turn::at(&self.place)
    }

    fn error(&self, failure: &Failure) -> FileError {
        FileError::new(self.name.clone(), failure)
    }
}

impl FileError {
    fn new(path: String, reason: impl ToString) -> Self {
        Self { path, reason: reason.to_string() }
    }
}

/// The minimum wait for another process that has locked a file.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);

/// The bytes of a file, and its stamp before they were read, if known.
pub struct ReadFile {
    pub bytes: PackedByteArray,
    pub stamp: Option<Stamp>,
}

/// Reads a file of records, but at most one byte more than the limits allow. Waits for a writer that is still
/// appending until [`disk::LONGEST_WAIT`] after `asked`, when the caller asked for the file.
///
/// # Errors
/// Fails if the file cannot be read, or the writer takes longer.
pub fn read_records(
    path: &GString,
    target: Option<(&Target, Turn)>,
    limits: &Limits,
    asked: Instant,
) -> Result<ReadFile, FileError> {
    let by_engine = |stamp| {
        let bytes = read_with(path, |length, prefix| wanted(length, prefix, limits))?;
        Ok(ReadFile { bytes, stamp })
    };
    let Some((target, turn)) = target else { return by_engine(None) };
    // A load may have waited in this process. Even then, it waits for a writer that is about to finish.
    let deadline = || (asked + disk::LONGEST_WAIT).max(Instant::now() + SHORTEST_WAIT);
    if text_of(path).starts_with("res://") {
        // Only the engine reads packed files. It may print, which can run scripts, so the turn ends first.
        return match turn.take(|| disk::at_rest(&target.place, deadline())) {
            Err(failure @ Failure::Locked(_)) => Err(target.error(&failure)),
            // The lock is held while the engine reads. A script that an error runs can read the file, but not write
            // to it.
            _held => by_engine(target.stamp()),
        };
    }
    match turn.take(|| contents(target, limits, deadline())) {
        Ok(Some(file)) => Ok(file),
        Err(failure @ Failure::Locked(_)) => Err(target.error(&failure)),
        // The engine may have another way to read the file, or know the reason.
        Ok(None) | Err(_) => by_engine(target.stamp()),
    }
}

/// Reads a file without an unfinished append, but at most one byte more than the limits allow. Returns `None` if
/// memory is short.
fn contents(target: &Target, limits: &Limits, deadline: Instant) -> Result<Option<ReadFile>, Failure> {
    let (mut file, stamp) = disk::open_at_rest(&target.place, deadline)?;
    let mut prefix = [0; FRAME_BYTES];
    if stamp.length() >= FRAME_BYTES as u64 {
        file.rewind()?;
        file.read_exact(&mut prefix)?;
    }
    let wanted = wanted(stamp.length(), prefix, limits);
    let mut bytes = PackedByteArray::new();
    bytes.resize(wanted);
    if bytes.len() < wanted {
        return Ok(None);
    }
    file.rewind()?;
    file.read_exact(bytes.as_mut_slice())?;
    Ok(Some(ReadFile { bytes, stamp: Some(stamp) }))
}

/// Opens a file for reading in parts, after all earlier saves. Returns `None` if the file cannot be opened,
/// or if it is in `res://`, because only the engine can read packed files.
pub fn open(path: &GString) -> Option<Journal> {
    if text_of(path).starts_with("res://") {
        return None;
    }
    let target = Target::of(path).ok()?;
    target.turn().take(|| Journal::open(&target.place)).ok()
}

/// The number of bytes to read from a file of this length. One byte more than allowed is enough to find that the file
/// is too large. If the first record is empty, its length prefix is enough, and one byte to show that the file is not
/// the value null.
fn wanted(length: u64, prefix: [u8; FRAME_BYTES], limits: &Limits) -> usize {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if prefix == [0; FRAME_BYTES] {
        return length.min(FRAME_BYTES + 1);
    }
    if limits.max_bytes < MAX_BYTES { length.min(limits.max_bytes + 1) } else { length }
}

/// Reads at most `most` bytes of a file with the engine.
///
/// # Errors
/// Fails if the file cannot be read.
pub fn read(path: &GString, most: usize) -> Result<PackedByteArray, FileError> {
    read_with(path, |length, _| usize::try_from(length).map_or(most, |length| length.min(most)))
}

/// Reads as much of a file with the engine as `wanted` returns for the file's length and its first bytes.
fn read_with(
    path: &GString,
    wanted: impl FnOnce(u64, [u8; FRAME_BYTES]) -> usize,
) -> Result<PackedByteArray, FileError> {
    let name = text_of(path);
    let error = |reason: &str| FileError::new(name.clone(), reason);
    let Some(mut file) = FileAccess::open(&name, ModeFlags::READ) else {
        let is_missing = FileAccess::get_open_error() == Code::ERR_FILE_NOT_FOUND;
        return Err(error(if is_missing { "file not found" } else { "cannot open the file" }));
    };
    let prefix = file.get_32().to_le_bytes();
    file.seek(0);
    let wanted = wanted(file.get_length(), prefix);
    let bytes = file.get_buffer(wanted as i64);
    if bytes.len() == wanted { Ok(bytes) } else { Err(error("cannot read the whole file")) }
}

/// Replaces a file with these parts, in order; see [`disk::replace`].
///
/// # Errors
/// Fails if the file cannot be written. It is then unchanged.
pub fn replace(target: &Target, turn: Turn, parts: &[impl AsRef<[u8]>]) -> Result<(), FileError> {
    turn.take(|| disk::replace(&target.place, parts)).map_err(|failure| target.error(&failure))?;
    keep();
    Ok(())
}

/// Replaces a file as [`replace`] does, but only if the file has not changed since `read`.
///
/// # Errors
/// Fails as [`replace`] does, or if the file has changed.
pub fn replace_read(target: &Target, turn: Turn, read: &Stamp, parts: &[Vec<u8>]) -> Result<(), FileError> {
    let replaced = turn.take(|| disk::replace_read(&target.place, read, parts));
    replaced.map_err(|failure| target.error(&failure))?;
    keep();
    Ok(())
}

/// Appends these parts, in order, to a file of records; see [`disk::append`].
///
/// # Errors
/// Fails as [`disk::append`] does. The file is then unchanged.
pub fn append(target: &Target, turn: Turn, parts: &[Vec<u8>]) -> Result<(), FileError> {
    turn.take(|| disk::append(&target.place, parts)).map_err(|failure| target.error(&failure))?;
    keep();
    Ok(())
}

/// Asks the engine to store the files of `user://` in the browser. On the web, files are in memory. Unless
/// asked, the engine stores them only after it has written a file itself.
fn keep() {
    if cfg!(target_family = "wasm")
        && let Some(mut bridge) = Engine::singleton().get_singleton("JavaScriptBridge")
    {
        bridge.call("force_fs_sync", &[]);
    }
}

/// The file system path for a path that begins with `user://` or `res://`.
fn globalize_path(path: &GString) -> String {
    settings::project("globalize_path", &[path.to_variant()]).stringify().to_string()
}
