//! Writing files: anew, at once, or at their end; one writer at a time, in whatever process. Knows nothing of the engine.
//!
//! **The lock is on the file itself**, so that nothing is left beside it, and the system takes it back from a process that
//! ends, in whatever way. A save replaces the file, and the lock on what was there before then keeps nobody out: who gets a
//! lock looks whether the path still leads to what is locked, and else starts anew.
//!
//! Where a file system knows no locks, writing goes on without: a game alone with its files must be able to save there.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use tempfile::{Builder, TempPath};
use variant_codec::frames;

use crate::threads::lock;

#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "unix.rs")]
mod access;
#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod system;
#[cfg(not(target_os = "linux"))]
#[path = "elsewhere.rs"]
mod system;

use access::Held;

/// For how long the lock of somebody else is waited for. They hold it for as long as writing takes.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// How long somebody who waits does not look.
const PAUSE: Duration = Duration::from_micros(500);
/// Whoever writes over and over for so long leaves the others a tenth of that: nobody is told that the file is free, and
/// between two calls in a loop it is so only for microseconds.
const STREAK: Duration = Duration::from_millis(50);
const SHARE: u32 = 10;

/// The name of a file that is to take a place: this, as many random letters and digits, and that. It is independent of the
/// name of the place, which may already be as long as names can be.
const PREFIX: &str = ".fast-variant-codec-";
const RANDOM: usize = 16;
const SUFFIX: &str = ".tmp";

/// Links on links that are followed, as many as Linux follows.
const MAX_LINKS: usize = 40;

/// Why a file is not written.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A folder has this path.
    #[error("is a folder, not a file")]
    IsFolder,
    /// Something has this path that is neither file nor folder.
    #[error("not a regular file")]
    NotRegular,
    /// The folder that the file is to be in.
    #[error("folder does not exist")]
    NoFolder,
    /// Files with this name are removed.
    #[error("name is reserved for the temporary files of saves, which are removed")]
    ReservedName,
    /// The last record is not whole; it starts at this byte.
    #[error(
        "truncated record at byte {0}; recover the records before it with load_batch and rewrite the file with save_batch"
    )]
    Truncated(u64),
    /// Another writer is at work, and does not come to an end.
    #[error("file locked by {0}")]
    Locked(String),
    /// A save writes to a new file first.
    #[error("cannot create the temporary file beside it that saving needs: {0}")]
    NoTemporaryFile(io::Error),
    /// The system's own reason.
    #[error("{0}")]
    System(#[from] io::Error),
}

/// The one name of a file: its folder without detours, and what it leads to if it is a link, which need not exist.
///
/// # Errors
/// A link that leads nowhere in the end.
pub fn resolved(mut place: PathBuf) -> io::Result<PathBuf> {
    for _ in 0..MAX_LINKS {
        match place.canonicalize() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => return found,
        }
        // What is found without a path to it: a pipe or a deleted file, by way of /proc.
        if place.metadata().is_ok() {
            return Ok(place);
        }
        let (Some(Ok(folder)), Some(name)) = (place.parent().map(in_full), place.file_name()) else {
            return Ok(place);
        };
        place = folder.join(name);
        let Ok(next) = place.read_link() else { return Ok(place) };
        place = folder.join(next);
    }
    Err(io::Error::other("too many levels of symbolic links"))
}

fn in_full(folder: &Path) -> io::Result<PathBuf> {
    // The parent of a bare name is nothing, which stands for the current folder.
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }.canonicalize()
}

/// Makes these parts, in order, the whole content of a file: at once, so that whoever looks, also after a crash, finds the
/// old content or the new. A new file gets the rights that the system gives new ones, an old one keeps its own.
///
/// # Errors
/// Why the file cannot be written; it is as it was then, and nothing is beside it.
pub fn replace(place: &Path, parts: &[Vec<u8>]) -> Result<(), Failure> {
    give_way();
    let written = replace_now(place, parts);
    has_written();
    written
}

fn replace_now(place: &Path, parts: &[Vec<u8>]) -> Result<(), Failure> {
    // Not cut off by this: it is opened to see whether it may be written to.
    let old = match alone(place, OpenOptions::new().write(true)) {
        Err(Failure::System(error)) if error.kind() == io::ErrorKind::NotFound => None,
        old => Some(old?),
    };
    let like = old.as_ref().map(File::metadata).transpose()?;
    let folder = place.parent().filter(|folder| folder.is_dir()).ok_or(Failure::NoFolder)?;
    remove_leftovers(folder);
    let fill = |mut file: &File| {
        // First, so that nobody reads what the old file keeps from them.
        if let Some(like) = &like {
            access::make_alike(file, like)?;
        }
        parts.iter().try_for_each(|part| file.write_all(part))?;
        file.sync_all()
    };
    let (_file, mut beside) = beside(folder, fill)?;
    access::rename(&beside, place, old)?;
    beside.disable_cleanup(true);
    access::sync_folder(folder);
    Ok(())
}

/// A new file in a folder with this content, locked, and the name that it has until it gets a better one.
fn beside(folder: &Path, fill: impl Fn(&File) -> io::Result<()>) -> Result<(File, TempPath), Failure> {
    // One without a name goes with its process, and gets a name only when it is whole. Not all file systems have such.
    if let Some(file) = system::unnamed(folder)
        && let Ok(()) = fill(&file)
        && let Held::Locked(file) | Held::Unlockable(file) = access::lock(file)?
        && let Ok(named) = builder().make_in(folder, |path| system::name(&file, path))
    {
        return Ok((file, named.into_temp_path()));
    }
    let make = |path: &Path| match access::hold(path, OpenOptions::new().write(true).create_new(true))? {
        // Before it was locked, somebody may have taken it for remains.
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

/// Folders that this process has cleared of remains: once is enough, as only killed processes leave any, and looking through
/// a folder takes the longer the more files there are.
static CLEARED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes what saves have left in a folder that were killed: regular files with such a name as nobody else gives, of which
/// a lock proves that nobody writes to them.
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
            // Whoever holds it back will be asked again next time.
            drop(fs::remove_file(entry.path()));
        }
    }
}

fn is_temporary_name(name: &str) -> bool {
    name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX)).is_some_and(|random| {
        random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Adds these parts, in order, behind the records of a file, which is made if there is none.
///
/// # Errors
/// Why the file cannot be written, or where its last record is cut off; it is as it was then.
pub fn append(place: &Path, parts: &[Vec<u8>]) -> Result<(), Failure> {
    give_way();
    let written = append_now(place, parts);
    has_written();
    written
}

fn append_now(place: &Path, parts: &[Vec<u8>]) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    let (file, is_new) = match alone(place, &options) {
        Err(Failure::System(error)) if error.kind() == io::ErrorKind::NotFound => {
            if !place.parent().is_some_and(Path::is_dir) {
                return Err(Failure::NoFolder);
            }
            (alone(place, options.create(true))?, true)
        }
        file => (file?, false),
    };
    let before = file.metadata()?;
    let written = append_to(&file, place, &before, parts);
    match (&written, place.parent()) {
        (Ok(()), Some(folder)) if is_new => access::sync_folder(folder),
        // It was made for this.
        (Err(_), _) if is_new && before.len() == 0 => drop(fs::remove_file(place)),
        _ => {}
    }
    written
}

fn append_to(mut file: &File, place: &Path, before: &Metadata, parts: &[Vec<u8>]) -> Result<(), Failure> {
    let state = State::of(place, before)?;
    let is_known = *lock(&APPENDED) == Some(state);
    if !is_known {
        // What cannot be brought to the disk, such as the files of /proc, is no place for records.
        file.sync_all()?;
        if let Some(torn) = frames::find_torn(&mut BufReader::new(file), before.len())? {
            return Err(Failure::Truncated(torn));
        }
    }
    file.seek(SeekFrom::End(0))?;
    let written = parts.iter().try_for_each(|part| file.write_all(part)).and_then(|()| file.sync_all());
    if written.is_err() {
        // A record that has no room is better not there than torn.
        file.set_len(before.len())?;
    }
    *lock(&APPENDED) = Some(State::of(place, &file.metadata()?)?);
    Ok(written?)
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

/// Opens a regular file for reading.
///
/// # Errors
/// Why there is none.
pub fn open(place: &Path) -> Result<File, Failure> {
    // Before it is opened, which does not return for some.
    refuse_others(place)?;
    Ok(File::open(place)?)
}

fn refuse_others(place: &Path) -> Result<(), Failure> {
    match place.metadata() {
        Ok(found) if found.is_dir() => Err(Failure::IsFolder),
        Ok(found) if !found.is_file() => Err(Failure::NotRegular),
        _ => Ok(()),
    }
}

/// Waits until nobody writes to a file, which then stays so as long as what this gives lives; `None` where that cannot be
/// had.
pub fn at_rest(place: &Path) -> Option<File> {
    waited_for(place, access::hold_for_reading).ok()
}

/// When this process last wrote to a file, and since when it has done so without leaving time to others.
static STREAK_OF_WRITES: Mutex<Option<(Instant, Instant)>> = Mutex::new(None);

/// Lets others write who wait for it.
fn give_way() {
    let started = *lock(&STREAK_OF_WRITES);
    let now = Instant::now();
    let Some((last, since)) = started.filter(|(last, _)| now - *last < STREAK / SHARE) else {
        return *lock(&STREAK_OF_WRITES) = Some((now, now));
    };
    if last - since >= STREAK {
        std::thread::sleep((last - since).min(LONGEST_WAIT / SHARE) / SHARE);
        let now = Instant::now();
        *lock(&STREAK_OF_WRITES) = Some((now, now));
    }
}

/// Has written to a file, and closed it.
fn has_written() {
    if let Some((last, _)) = &mut *lock(&STREAK_OF_WRITES) {
        *last = Instant::now();
    }
}

/// A file to which nobody else writes who goes by the lock, as long as it lives.
fn alone(place: &Path, options: &OpenOptions) -> Result<File, Failure> {
    if place.file_name().is_some_and(|name| is_temporary_name(&name.to_string_lossy())) {
        return Err(Failure::ReservedName);
    }
    waited_for(place, |place| access::hold(place, options))
}

fn waited_for(place: &Path, hold: impl Fn(&Path) -> io::Result<Held>) -> Result<File, Failure> {
    let deadline = Instant::now() + LONGEST_WAIT;
    loop {
        refuse_others(place)?;
        match hold(place)? {
            Held::Unlockable(file) => return Ok(file),
            Held::Locked(file) if access::leads_to(place, &file)? => return Ok(file),
            // Replaced before it was locked.
            Held::Locked(_) => {}
            Held::ByOthers => std::thread::sleep(PAUSE),
        }
        if Instant::now() > deadline {
            let holder = system::holder(place).unwrap_or_else(|| "somebody else".into());
            return Err(Failure::Locked(holder));
        }
    }
}
