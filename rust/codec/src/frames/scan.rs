//! Records in order, in constant memory.

use std::ops::Range;

use super::index::{Index, ReadAt};
use crate::error::{Error, ErrorKind, Limit, Result, Step};
use crate::format::FRAME_BYTES;
use crate::limits::Limits;
use crate::memory::check_memory;

/// So much is read at once, or as much as a longer record takes.
const BLOCK: usize = 1 << 20;

/// Calls `each` with the index of each of these records, its offset in the file, and its bytes. No more than 1 MiB is held, or one
/// record if it is longer. `index` finds the first one.
///
/// ```
/// use variant_codec::Limits;
/// use variant_codec::frames::{Index, append, scan};
///
/// let mut batch = Vec::new();
/// append(&mut batch, b"one");
/// append(&mut batch, b"three");
/// let mut found = Vec::new();
/// scan(&batch[..], &Index::default(), 0..u64::MAX, &Limits::for_network(), |index, offset, record| {
///     found.push((index, offset, record.len()));
///     Ok(())
/// })?;
/// assert_eq!(found, [(0, 4, 3), (1, 11, 5)]);
/// # Ok::<(), variant_codec::Error>(())
/// ```
///
/// # Errors
/// A record that the end cuts off, unless the index is [`Index::ignoring_torn`]; a record of more bytes than the limits allow; errors of
/// the file; what `each` returns.
pub fn scan<S: ReadAt + ?Sized>(
    source: &S,
    index: &Index,
    records: Range<u64>,
    limits: &Limits,
    mut each: impl FnMut(u64, u64, &[u8]) -> Result<()>,
) -> Result<()> {
    let first = match records.start {
        0 => 0,
        first => match index.find(source, first)? {
            Some(record) => record.start - FRAME_BYTES as u64,
            None => return Ok(()),
        },
    };
    let ignores_torn = index.ignores_torn;
    let (mut index, mut at) = (records.start, first);
    let (mut block, mut block_at) = (Vec::new(), first);
    while index < records.end {
        let rest =
            usize::try_from(at - block_at).ok().and_then(|start| block.get(start..)).unwrap_or_default();
        let length = rest.first_chunk().map_or(0, |frame| u32::from_le_bytes(*frame) as usize);
        if length > limits.max_bytes {
            let kind = ErrorKind::LimitExceeded(Limit::Bytes, limits.max_bytes as u64);
            return Err(Error::new(kind)
                .at(place(at + FRAME_BYTES as u64))
                .inside(Step::Index(place(index))));
        }
        if let Some(record) = whole_record(rest) {
            let offset = at + FRAME_BYTES as u64;
            each(index, offset, record)?;
            (index, at) = (index + 1, offset + record.len() as u64);
            continue;
        }
        let held = rest.len();
        let is_begun = held > 0;
        read_block(source, at, length.saturating_add(FRAME_BYTES).max(BLOCK), &mut block)?;
        block_at = at;
        if block.is_empty() && !is_begun {
            return Ok(());
        }
        // Nothing more has come.
        if block.len() <= held {
            return if ignores_torn { Ok(()) } else { Err(cut_off(index, at, &block)) };
        }
    }
    Ok(())
}

fn whole_record(bytes: &[u8]) -> Option<&[u8]> {
    let (frame, rest) = bytes.split_first_chunk::<FRAME_BYTES>()?;
    rest.get(..u32::from_le_bytes(*frame) as usize)
}

/// Reads as much of so many bytes as there is.
pub(super) fn read_block<S: ReadAt + ?Sized>(
    source: &S,
    at: u64,
    wanted: usize,
    block: &mut Vec<u8>,
) -> Result<()> {
    let left = source.size().map_err(Error::other)?.saturating_sub(at);
    let count = wanted.min(usize::try_from(left).unwrap_or(usize::MAX));
    block.clear();
    check_memory(count)?;
    block.try_reserve_exact(count).map_err(|_| ErrorKind::OutOfMemory(count))?;
    block.resize(count, 0);
    let read = source.read_at(at, block).map_err(Error::other)?;
    block.truncate(read);
    Ok(())
}

/// The error for the record at `index`, which ends after these bytes.
#[cold]
fn cut_off(index: u64, at: u64, bytes: &[u8]) -> Error {
    let (needed, left) = match bytes.split_first_chunk::<FRAME_BYTES>() {
        Some((frame, rest)) => (u32::from_le_bytes(*frame) as usize, rest.len()),
        None => (FRAME_BYTES, bytes.len()),
    };
    Error::new(ErrorKind::UnexpectedEnd { needed, left }).at(place(at)).inside(Step::Index(place(index)))
}

fn place(at: u64) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}
