//! [`ReadAt`]: bytes in memory or in a file, read at any offset.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Mutex;

use crate::error::{Error, ErrorKind, Result};
use crate::sync::lock;

/// Bytes that can be read at any offset, such as those of a file.
pub trait ReadAt {
    /// The number of bytes now.
    ///
    /// # Errors
    /// The errors of the file.
    fn size(&self) -> io::Result<u64>;
    /// Reads from `at` on and returns the number of bytes read. Fills `into` unless the data ends first.
    ///
    /// # Errors
    /// The errors of the file.
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize>;
}

impl ReadAt for [u8] {
    fn size(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(at).ok().and_then(|at| self.get(at..)).unwrap_or_default();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

impl ReadAt for Mutex<File> {
    fn size(&self) -> io::Result<u64> {
        Ok(lock(self).metadata()?.len())
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut file = lock(self);
        file.seek(SeekFrom::Start(at))?;
        let mut done = 0;
        while done < into.len() {
            match file.read(&mut into[done..]) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }
}

/// Reads `wanted` bytes from `at` on, or as many as there are.
pub(super) fn read_block<S: ReadAt + ?Sized>(
    source: &S,
    at: u64,
    wanted: usize,
    block: &mut Vec<u8>,
) -> Result<()> {
    let left = source.size().map_err(Error::other)?.saturating_sub(at);
    let count = wanted.min(usize::try_from(left).unwrap_or(usize::MAX));
    block.clear();
    block.try_reserve_exact(count).map_err(|_| ErrorKind::OutOfMemory(count))?;
    block.resize(count, 0);
    let read = source.read_at(at, block).map_err(Error::other)?;
    block.truncate(read);
    Ok(())
}
