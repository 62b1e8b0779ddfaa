//! [`Journal`]: a file of records that others may append to while it is read.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use variant_codec::frames::ReadAt;

use crate::{Failure, LONGEST_WAIT, at_rest, lock, open, own_length};

/// The wait for a writer if a length is known, and the time between waits: a loop of appends rarely frees the lock.
const SHORT_WAIT: Duration = Duration::from_millis(10);
const BETWEEN_WAITS: Duration = Duration::from_millis(100);

/// A file for reading. It hides the bytes of an unfinished append, which may be removed again.
///
/// The journal stays on this file even if another one replaces it.
pub struct Journal {
    file: Mutex<File>,
    place: PathBuf,
    settled: Mutex<Option<Settled>>,
}

/// The length when no one was appending, and the time of the last wait that timed out.
#[derive(Clone, Copy)]
struct Settled {
    length: u64,
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
}

impl ReadAt for Journal {
    /// The length after the last finished append. Waits for a writer only if the length has changed: briefly, or up
    /// to [`LONGEST_WAIT`] the first time.
    fn size(&self) -> io::Result<u64> {
        let mut settled = lock(&self.settled);
        let now = self.file.size()?;
        let longest_wait = match *settled {
            Some(Settled { length, .. }) if length == now => return Ok(length),
            Some(Settled { waited: Some(last), .. }) if last.elapsed() < BETWEEN_WAITS => Duration::ZERO,
            Some(_) => SHORT_WAIT,
            None => LONGEST_WAIT,
        };
        // Nobody appends to a file that has been removed or replaced, so errors count as rest.
        let rest = at_rest(&self.place, longest_wait);
        if let (Ok(None), Some(settled)) = (&rest, &mut *settled) {
            if longest_wait == SHORT_WAIT {
                settled.waited = Some(Instant::now());
            }
            // This process's own appends are complete.
            if let Some(own) = own_length(&self.place, &lock(&self.file))? {
                settled.length = settled.length.max(own);
            }
            return Ok(settled.length.min(now));
        }
        if let (Ok(None), None) = (&rest, *settled) {
            let message = "another process has been writing to the file for more than 5 seconds";
            let own = own_length(&self.place, &lock(&self.file))?;
            let length = own.ok_or_else(|| io::Error::new(io::ErrorKind::ResourceBusy, message))?;
            *settled = Some(Settled { length, waited: Some(Instant::now()) });
            return Ok(length);
        }
        let length = self.file.size()?;
        *settled = Some(Settled { length, waited: None });
        Ok(length)
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(at, into)
    }
}
