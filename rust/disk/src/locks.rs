//! Opens files, and waits for the locks of other writers.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::access::{self, Held};
use crate::failure::Failure;
#[cfg(target_os = "linux")]
use crate::linux::holder;
use crate::paths::{is_ambiguous, is_named_as_device};
use crate::stamp::Stamp;
use crate::temporary::is_temporary_name;

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
pub(crate) fn alone(place: &Path, hold: impl Fn(&Path) -> io::Result<Held>) -> Result<File, Failure> {
    refuse_names(place)?;
    waited_for(place, hold, Instant::now() + LONGEST_WAIT)?.ok_or_else(|| locked(place))
}

/// Returns `None`: the system does not report who has locked a file.
#[cfg(not(target_os = "linux"))]
fn holder(_place: &Path) -> Option<String> {
    None
}

/// The failure that names the process with the lock, if the system reports it.
pub(crate) fn locked(place: &Path) -> Failure {
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
        let held = waited_for(&place, hold, Instant::now() + LONGEST_WAIT).map_err(io::Error::other)?;
        assert_eq!(held.map(io::read_to_string).transpose()?.as_deref(), Some("new"));
        Ok(())
    }
}
