//! [`Journal`]: a file of records that others may append to while it is read.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use variant_codec::frames::ReadAt;
use variant_codec::sync::lock;

use crate::access;
use crate::append::own_length;
use crate::failure::Failure;
use crate::locks::{LONGEST_WAIT, PAUSE, locked_by_another, open};

/// The maximum duration of each wait for a writer except the first, and the minimum time between two waits. A
/// process that appends in a loop rarely pauses, so longer or more frequent waits would not help.
const SHORT_WAIT: Duration = Duration::from_millis(10);
const BETWEEN_WAITS: Duration = Duration::from_millis(100);

/// A file for reading. It hides the bytes of an unfinished append, which may be removed again.
///
/// The journal keeps reading this file even if another file replaces it.
pub struct Journal {
    file: Mutex<File>,
    place: PathBuf,
    settled: Mutex<Settled>,
}

/// The last length without an unfinished append, if known, and the time of the last wait that timed out.
#[derive(Clone, Copy, Default)]
struct Settled {
    length: Option<u64>,
    waited: Option<Instant>,
}

impl Journal {
    /// Opens a regular file.
    ///
    /// # Errors
    /// Fails if the file cannot be opened.
    pub fn open(place: &Path) -> Result<Self, Failure> {
        let file = Mutex::new(open(place)?);
        Ok(Self { file, place: place.to_owned(), settled: Mutex::default() })
    }

    /// Waits until no one appends to the file. Returns its length, or `None` if the wait times out.
    fn length_at_rest(&self, deadline: Instant) -> io::Result<Option<u64>> {
        loop {
            // The lock belongs to the open file, not to the path, which may lead to another file now.
            let length = access::length_at_rest(&self.place, &lock(&self.file))?;
            if length.is_some() || Instant::now() >= deadline {
                return Ok(length);
            }
            std::thread::sleep(PAUSE);
        }
    }
}

impl ReadAt for Journal {
    /// The length after the last finished append. Waits for a writer only if the length has changed: briefly, or up
    /// to [`LONGEST_WAIT`] the first time.
    fn size(&self) -> io::Result<u64> {
        let mut settled = lock(&self.settled);
        let now = self.file.size()?;
        if settled.length == Some(now) {
            return Ok(now);
        }
        let longest_wait = match *settled {
            Settled { waited: Some(last), .. } if last.elapsed() < BETWEEN_WAITS => Duration::ZERO,
            Settled { length: None, waited: None } => LONGEST_WAIT,
            _ => SHORT_WAIT,
        };
        if let Some(length) = self.length_at_rest(Instant::now() + longest_wait)? {
            *settled = Settled { length: Some(length), waited: None };
            return Ok(length);
        }
        if longest_wait > Duration::ZERO {
            settled.waited = Some(Instant::now());
        }
        match settled.length {
            Some(known) => {
                // This process's own appends are complete.
                let length = own_length(&self.place, &lock(&self.file))?.map_or(known, |own| known.max(own));
                settled.length = Some(length);
                Ok(length.min(now))
            }
            // Others may have finished appends after this process's own.
            None => {
                let message = format!(
                    "{}: {}, which has been writing for more than 5 seconds",
                    self.place.display(),
                    locked_by_another(&self.place)
                );
                Err(io::Error::new(io::ErrorKind::ResourceBusy, message))
            }
        }
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(at, into)
    }
}
