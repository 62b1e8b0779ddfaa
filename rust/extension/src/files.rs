//! Files of values, each behind its length, as `FileAccess.store_var` writes them.
//!
//! Reading goes through the engine, which finds what is packed into the game. Writing goes around it: the engine cannot
//! replace a file at once.

use std::collections::{HashMap, VecDeque};
use std::fs::{Metadata, OpenOptions};
use std::io::{self, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, LazyLock, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use godot::builtin::{GString, PackedByteArray};
use godot::classes::file_access::ModeFlags;
use godot::classes::{FileAccess, ProjectSettings};
use godot::global::Error as Code;
use godot::obj::Singleton;
use variant_codec::format::MAX_BYTES;
use variant_codec::{Limits, check_room, frames};

use crate::pool::lock;

/// Why a file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct FileError {
    path: String,
    reason: String,
    /// The engine's number for it.
    pub code: Code,
}

/// A path as the user wrote it, and the place in the file system.
pub struct Target {
    name: String,
    place: PathBuf,
}

impl Target {
    /// Where a file with this path is written.
    ///
    /// # Errors
    /// Paths inside of an exported game, which is one file itself.
    pub fn of(path: &GString) -> Result<Self, FileError> {
        let name = path.to_string();
        let place = PathBuf::from(ProjectSettings::singleton().globalize_path(path).to_string());
        let error = |reason: &str| {
            Err(FileError { path: name.clone(), reason: reason.into(), code: Code::ERR_FILE_BAD_PATH })
        };
        if name.starts_with("res://") && !place.is_absolute() {
            return error("an exported game cannot write to res://; use user://");
        }
        if place.as_os_str().is_empty() || place.to_string_lossy().contains("://") {
            return error("not a path of a file; user://, res:// and absolute paths are");
        }
        Ok(Self { name, place: resolved(place) })
    }

    fn error(&self, error: &io::Error) -> FileError {
        use io::ErrorKind as K;
        let (reason, code) = match error.kind() {
            K::NotFound => ("the folder does not exist".into(), Code::ERR_FILE_BAD_PATH),
            K::IsADirectory => ("this is a folder".into(), Code::ERR_FILE_BAD_PATH),
            K::PermissionDenied | K::ReadOnlyFilesystem => (error.to_string(), Code::ERR_FILE_NO_PERMISSION),
            K::InvalidData => (error.to_string(), Code::ERR_FILE_CORRUPT),
            _ => (error.to_string(), Code::ERR_FILE_CANT_WRITE),
        };
        FileError { path: self.name.clone(), reason, code }
    }
}

/// The one name of a file: its folder without detours, and if the file is a link, what that leads to, which is replaced then.
fn resolved(place: PathBuf) -> PathBuf {
    if let Ok(found) = place.canonicalize() {
        return found;
    }
    match (place.parent().map(Path::canonicalize), place.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => place,
    }
}

/// All bytes of a file; of one that is larger than the limits allow, one byte more than they do.
///
/// # Errors
/// Why it cannot be read.
pub fn read(path: &GString, limits: &Limits) -> Result<PackedByteArray, FileError> {
    let error = |reason: &str, code| FileError { path: path.to_string(), reason: reason.into(), code };
    let Some(mut file) = FileAccess::open(path, ModeFlags::READ) else {
        let (reason, code) = match FileAccess::get_open_error() {
            Code::ERR_FILE_NOT_FOUND => ("there is no such file", Code::ERR_FILE_NOT_FOUND),
            code => ("the file cannot be opened", code),
        };
        return Err(error(reason, code));
    };
    let length = usize::try_from(file.get_length()).unwrap_or(usize::MAX);
    // With one byte too many, the others are as little use as all of them.
    let wanted = if limits.max_bytes < MAX_BYTES { length.min(limits.max_bytes + 1) } else { length };
    if check_room(wanted).is_err() {
        return Err(error("there is no memory for it", Code::ERR_OUT_OF_MEMORY));
    }
    let bytes = file.get_buffer(wanted as i64);
    if bytes.len() == wanted {
        Ok(bytes)
    } else {
        Err(error("the file cannot be read to its end", Code::ERR_FILE_CANT_READ))
    }
}

/// Makes these parts, in order, the whole content of a file: at once, so that whoever looks, also after a crash, finds the
/// old content or the new.
///
/// # Errors
/// Why the file cannot be written; it is as it was then.
pub fn replace(target: &Target, parts: &[Vec<u8>]) -> Result<(), FileError> {
    replace_at(&target.place, parts).map_err(|error| target.error(&error))
}

#[cfg(not(target_family = "wasm"))]
fn replace_at(place: &Path, parts: &[Vec<u8>]) -> io::Result<()> {
    let mut file = atomic_write_file::AtomicWriteFile::open(place)?;
    parts.iter().try_for_each(|part| file.write_all(part))?;
    file.commit()?;
    remove_remains(place);
    Ok(())
}

/// A file this old that was to take a place does so no more: who wrote it was killed.
#[cfg(not(target_family = "wasm"))]
const REMAINS_AGE: Duration = Duration::from_secs(600);

/// Removes what saves to this place have left that did not come to their end: `.name.` and six letters.
#[cfg(not(target_family = "wasm"))]
fn remove_remains(place: &Path) {
    let (Some(folder), Some(name)) = (place.parent(), place.file_name()) else { return };
    let prefix = [b".", name.as_encoded_bytes(), b"."].concat();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let found = entry.file_name();
        let is_remains = found
            .as_encoded_bytes()
            .strip_prefix(&*prefix)
            .is_some_and(|rest| rest.len() == 6 && rest.iter().all(u8::is_ascii_alphanumeric));
        let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
        if is_remains && age().is_some_and(|age| age > REMAINS_AGE) {
            // Whoever holds it back will be asked again next time.
            drop(std::fs::remove_file(entry.path()));
        }
    }
}

/// A browser has no such files; what it keeps is taken from here when the game yields to it.
#[cfg(target_family = "wasm")]
fn replace_at(place: &Path, parts: &[Vec<u8>]) -> io::Result<()> {
    let beside = place.with_added_extension("new");
    let mut file = File::create(&beside)?;
    parts.iter().try_for_each(|part| file.write_all(part))?;
    drop(file);
    std::fs::rename(&beside, place)
}

/// Adds these parts, in order, behind the records of a file, which is made if there is none.
///
/// # Errors
/// Why the file cannot be written, or where its last record is cut off; it is as it was then.
pub fn append(target: &Target, parts: &[Vec<u8>]) -> Result<(), FileError> {
    append_at(&target.place, parts).map_err(|error| target.error(&error))
}

fn append_at(place: &Path, parts: &[Vec<u8>]) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(place)?;
    let before = file.metadata()?;
    if lock(&APPENDED).as_ref() != Some(&State::of(place, &before)?)
        && let Some(torn) = frames::find_torn(&mut BufReader::new(&file), before.len())?
    {
        let reason = format!(
            "the record at byte {torn} is cut off; load_batch gives those before it, save_batch writes them anew"
        );
        return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    }
    file.seek(SeekFrom::End(0))?;
    let written = parts.iter().try_for_each(|part| file.write_all(part)).and_then(|()| file.sync_all());
    if written.is_err() {
        // A record that has no room is better not there than torn.
        file.set_len(before.len())?;
    }
    *lock(&APPENDED) = Some(State::of(place, &file.metadata()?)?);
    written
}

/// The file that was appended to last: as long as it looks so, its records need not be gone through.
static APPENDED: Mutex<Option<State>> = Mutex::new(None);

/// What a file looks like from outside.
#[derive(PartialEq)]
struct State {
    place: PathBuf,
    length: u64,
    modified: SystemTime,
}

impl State {
    fn of(place: &Path, metadata: &Metadata) -> io::Result<Self> {
        Ok(Self { place: place.to_owned(), length: metadata.len(), modified: metadata.modified()? })
    }
}

/// Who uses which file, and who waits for it, in the order in which they asked.
static TURNS: LazyLock<Mutex<HashMap<PathBuf, VecDeque<u64>>>> = LazyLock::new(Mutex::default);
static TURN_ENDED: Condvar = Condvar::new();

/// A place in the queue for a file, as long as it lives. Jobs take theirs when they are asked for, so that what comes later
/// finds what they leave.
pub struct Turn {
    place: PathBuf,
    number: u64,
}

impl Turn {
    /// The last place in the queue.
    pub fn of(target: &Target) -> Self {
        let mut turns = lock(&TURNS);
        let queue = turns.entry(target.place.clone()).or_default();
        let number = queue.back().map_or(0, |last| last + 1);
        queue.push_back(number);
        Self { place: target.place.clone(), number }
    }

    /// Returns when those before are done.
    pub fn wait(&self) {
        let mut turns = lock(&TURNS);
        while turns.get(&self.place).and_then(VecDeque::front) != Some(&self.number) {
            turns = TURN_ENDED.wait(turns).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut turns = lock(&TURNS);
        if let Some(queue) = turns.get_mut(&self.place) {
            queue.retain(|number| *number != self.number);
            if queue.is_empty() {
                turns.remove(&self.place);
            }
        }
        TURN_ENDED.notify_all();
    }
}
