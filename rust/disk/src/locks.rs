//! Opens files, and waits for the locks of other writers.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::access::{self, Held};
use crate::failure::Failure;
#[cfg(target_os = "linux")]
use crate::linux::holder;
use crate::paths::refuse_names;
use crate::stamp::Stamp;

/// The maximum wait for a lock that another process holds while it writes.
pub const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// The polling interval while waiting. It is short, because a process that writes in a loop frees the lock
/// only for microseconds.
pub(crate) const PAUSE: Duration = Duration::from_micros(50);

/// The number of attempts if others create the file at the same time. The number is limited because
/// more attempts do not help with a dangling link, which exists but cannot be opened.
pub(crate) const TRIES: u32 = 3;

/// Opens a regular file for reading.
///
/// # Errors
/// Fails if the file cannot be opened.
pub fn open(place: &Path) -> Result<File, Failure> {
    // This is checked before opening, because opening a pipe blocks.
    refuse_irregular(place)?;
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
            return Err(locked_by_another(place));
        }
        // The next attempt opens the path again, because another file may have taken it.
        std::thread::sleep(PAUSE);
    }
}

fn refuse_irregular(place: &Path) -> Result<(), Failure> {
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
    wait_for_lock(place, access::hold_for_reading, deadline)?.ok_or_else(|| locked_by_another(place))
}

/// Locks a file with `hold`, so that no one else who respects the lock writes to it.
pub(crate) fn lock_exclusively(
    place: &Path,
    hold: impl Fn(&Path) -> io::Result<Held>,
) -> Result<File, Failure> {
    refuse_names(place)?;
    wait_for_lock(place, hold, Instant::now() + LONGEST_WAIT)?.ok_or_else(|| locked_by_another(place))
}

/// Returns `None`: the system does not report who has locked a file.
#[cfg(not(target_os = "linux"))]
fn holder(_place: &Path) -> Option<String> {
    None
}

/// The failure that names the process with the lock, if the system reports it.
pub(crate) fn locked_by_another(place: &Path) -> Failure {
    Failure::Locked(holder(place).unwrap_or_else(|| "another process".into()))
}

/// Waits until `hold` has locked the file. Returns `None` if others still hold the lock at the deadline.
fn wait_for_lock(
    place: &Path,
    hold: impl Fn(&Path) -> io::Result<Held>,
    deadline: Instant,
) -> Result<Option<File>, Failure> {
    loop {
        refuse_irregular(place)?;
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
    use std::fs;

    use super::*;

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
        let held = wait_for_lock(&place, hold, Instant::now() + LONGEST_WAIT).map_err(io::Error::other)?;
        assert_eq!(held.map(io::read_to_string).transpose()?.as_deref(), Some("new"));
        Ok(())
    }
}
