//! Records in memory, and the rules for their length prefixes.

use std::io::{self, Read, Seek};
use std::ops::Range;

use crate::error::{Error, ErrorKind, Limit, Result};
use crate::format::{self, FRAME_BYTES};
use crate::limits::Limits;
use crate::wire;

/// The byte ranges of a batch's records, and the error after the last valid record. More than
/// [`Limits::max_elements`] records are an error. A batch of more than [`Limits::max_bytes`] bytes is an
/// error too, unless this limit is [`format::MAX_BYTES`], which only limits each record.
pub fn records(bytes: &[u8], limits: &Limits) -> (Vec<Range<usize>>, Option<Error>) {
    let mut records = Vec::new();
    if limits.max_bytes < format::MAX_BYTES && bytes.len() > limits.max_bytes {
        return (records, Some(Error::new(limits.exceeded(Limit::Bytes)).at(0)));
    }
    let mut at = 0;
    while at < bytes.len() {
        if records.len() as u64 >= limits.max_elements {
            return (records, Some(Error::new(limits.exceeded(Limit::Elements)).at(at)));
        }
        let rest = &bytes[at..];
        let length = match record_length(rest.first_chunk(), rest.len() as u64) {
            Ok(length) => length as usize,
            Err(kind) => return (records, Some(Error::new(kind).at(at))),
        };
        let start = at + FRAME_BYTES;
        at = start + length;
        if records.try_reserve(1).is_err() {
            let bytes = (records.len() + 1) * size_of::<Range<usize>>();
            return (records, Some(Error::new(ErrorKind::OutOfMemory(bytes)).at(start)));
        }
        records.push(start..at);
    }
    (records, None)
}

/// The length of the record after this prefix. `left` is the number of bytes from the prefix to the end of
/// the batch. Fails if the record is truncated or empty. No value is empty, but a file may end in zeros after
/// a power failure.
pub(super) fn record_length(
    frame: Option<&[u8; FRAME_BYTES]>,
    left: u64,
) -> std::result::Result<u64, ErrorKind> {
    let behind = left.saturating_sub(FRAME_BYTES as u64);
    let (needed, left) = match frame.map(|frame| u64::from(wire::record_length(*frame))) {
        None => (FRAME_BYTES as u64, left),
        Some(0) => return Err(ErrorKind::EmptyRecord),
        Some(length) if length <= behind => return Ok(length),
        Some(length) => (length, behind),
    };
    Err(ErrorKind::UnexpectedEnd { needed: size(needed), left: size(left) })
}

pub(super) fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Appends an encoded value with its length prefix.
pub fn append(batch: &mut Vec<u8>, value: &[u8]) {
    batch.extend_from_slice(&(value.len() as u32).to_le_bytes());
    batch.extend_from_slice(value);
}

/// Like [`append`], but fails if there is no memory.
///
/// # Errors
/// [`ErrorKind::OutOfMemory`]; the batch is then unchanged.
pub fn try_append(batch: &mut Vec<u8>, value: &[u8]) -> Result<()> {
    let needed = value.len() + FRAME_BYTES;
    batch.try_reserve(needed).map_err(|_| ErrorKind::OutOfMemory(needed))?;
    append(batch, value);
    Ok(())
}

/// The offset of the first empty or truncated record in a file of `length` bytes, as in [`records`]. `None`
/// if all records are whole. The file's position must be its start.
///
/// # Errors
/// The errors of the file.
pub fn find_torn(file: &mut (impl Read + Seek), length: u64) -> io::Result<Option<u64>> {
    let mut at = 0;
    while at < length {
        let mut frame = [0; FRAME_BYTES];
        let is_there = length - at >= FRAME_BYTES as u64;
        if is_there {
            file.read_exact(&mut frame)?;
        }
        let Ok(record) = record_length(is_there.then_some(&frame), length - at) else { return Ok(Some(at)) };
        file.seek_relative(record as i64)?;
        at += FRAME_BYTES as u64 + record;
    }
    Ok(None)
}
