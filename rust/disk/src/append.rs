//! Appends to files of records.

use std::collections::HashMap;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use variant_codec::Limits;
use variant_codec::frames;
use variant_codec::saves;
use variant_codec::sync::lock;

use crate::access;
use crate::failure::Failure;
use crate::locks::{TRIES, lock_exclusively};
use crate::stamp::{Stamp, id};

/// Appends these chunks, in order, to a file of records. Creates the file if it does not exist.
///
/// # Errors
/// Fails if the file cannot be written or is in another format, if one of its first records is not a value of
/// Godot 4, or if a record is empty or truncated. The file is then unchanged.
pub fn append(place: &Path, chunks: &[Vec<u8>]) -> Result<(), Failure> {
    let (file, is_new) = open_to_append(place)?;
    let before = file.metadata()?;
    let written = append_to(&file, place, &before, chunks);
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
        match lock_exclusively(place, |place| access::hold_pinned(place, &options)) {
            Err(Failure::System(error)) if error.kind() == io::ErrorKind::NotFound => {}
            file => return Ok((file?, false)),
        }
        if !place.parent().is_some_and(Path::is_dir) {
            return Err(Failure::NoFolder);
        }
        let mut new = options.clone();
        new.create_new(true);
        match lock_exclusively(place, |place| access::hold_pinned(place, &new)) {
            // Another call or process was faster.
            Err(Failure::System(error)) if error.kind() == io::ErrorKind::AlreadyExists => {}
            file => return Ok((file?, true)),
        }
    }
    options.create(true);
    Ok((lock_exclusively(place, |place| access::hold_pinned(place, &options))?, false))
}

fn append_to(mut file: &File, place: &Path, before: &Metadata, chunks: &[Vec<u8>]) -> Result<(), Failure> {
    let stamp = Stamp::of(before)?;
    let last = known(place, before).filter(|known| known.stamp == stamp).map(|known| known.last);
    // The metadata do not prove that nothing has changed, so the last record must also end where the file ends.
    if last.is_none_or(|last| !ends_with_record(file, last, before.len()).unwrap_or(false)) {
        // Refuses files that cannot be synced to disk, such as files in /proc.
        access::sync(file)?;
        let source = Mutex::new(file.try_clone()?);
        let contents = frames::recognise(&source, |_| true).map_err(io::Error::other)?;
        if let Some(format) = contents.refusal() {
            return Err(Failure::Foreign(format));
        }
        if saves::is_save(&source).map_err(io::Error::other)? {
            return Err(Failure::Save);
        }
        file.rewind()?;
        if let Some(torn) = frames::find_torn(&mut BufReader::new(file), before.len())? {
            return Err(Failure::Truncated(torn));
        }
    }
    file.seek(SeekFrom::End(0))?;
    let written = chunks.iter().try_for_each(|chunk| file.write_all(chunk)).and_then(|()| access::sync(file));
    if written.is_err() {
        // A failed write, for example to a full disk, must leave no truncated record.
        file.set_len(before.len())?;
    }
    if written.is_ok()
        && let Some(last) = last_record(chunks, before.len())
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

/// The file offset of the last record in `chunks`, which start at `start`.
fn last_record(chunks: &[Vec<u8>], start: u64) -> Option<u64> {
    let (last, before) = chunks.split_last()?;
    let start = before.iter().fold(start, |at, chunk| at + chunk.len() as u64);
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

/// The state of a file after this process last appended to it, if the file is still in [`APPENDED`].
fn known(place: &Path, metadata: &Metadata) -> Option<Appended> {
    lock(&APPENDED).get(place).filter(|known| known.stamp.id == id(metadata)).cloned()
}

/// The length of a file after this process's last append, if the last appended record still ends there.
pub(crate) fn own_length(place: &Path, file: &File) -> io::Result<Option<u64>> {
    let Some(known) = known(place, &file.metadata()?) else { return Ok(None) };
    let length = known.stamp.length;
    // Reading fails if others have truncated the file.
    Ok(ends_with_record(file, known.last, length).unwrap_or(false).then_some(length))
}
