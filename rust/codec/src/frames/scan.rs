//! Scans records in order, in constant memory.

use std::ops::Range;

use super::index::Index;
use super::read_at::{ReadAt, read_block};
use super::records::{record_length, size};
use crate::error::{Error, ErrorKind, Limit, Result, Step};
use crate::format::FRAME_BYTES;
use crate::limits::Limits;
use crate::wire;

/// Read size; a longer record is read whole.
const BLOCK: usize = 1 << 20;

/// Calls `each` with the index, file offset and bytes of each record in the range `records`. Holds at most 1
/// MiB of the file, or one longer record. `index` finds the first record.
///
/// # Errors
/// Fails if the last record is truncated, unless the index is [`Index::ignoring_torn`]. Also fails if a
/// record is empty or exceeds the limits, if the file cannot be read, or if `each` fails.
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
    // Records that others append meanwhile do not count: `each` itself may append.
    let end = source.size().map_err(Error::other)?;
    let (mut index, mut at) = (records.start, first);
    let (mut block, mut block_at) = (Vec::new(), first);
    while index < records.end {
        let rest =
            usize::try_from(at - block_at).ok().and_then(|start| block.get(start..)).unwrap_or_default();
        let length = rest.first_chunk().map_or(0, |frame| wire::record_length(*frame) as usize);
        if length > limits.max_bytes {
            let left = end.saturating_sub(at);
            let error = match record_length(rest.first_chunk(), left) {
                Err(ErrorKind::UnexpectedEnd { .. }) if ignores_torn => return Ok(()),
                Err(kind) => Error::new(kind).at(size(at)),
                Ok(_) => Error::new(limits.exceeded(Limit::Bytes)).at(size(at + FRAME_BYTES as u64)),
            };
            return Err(error.inside(Step::Index(size(index))));
        }
        if let Ok(length) = record_length(rest.first_chunk(), rest.len() as u64) {
            let (offset, length) = (at + FRAME_BYTES as u64, length as usize);
            each(index, offset, &rest[FRAME_BYTES..FRAME_BYTES + length])?;
            (index, at) = (index + 1, offset + length as u64);
            continue;
        }
        let held = rest.len();
        let is_begun = held > 0;
        let left = usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX);
        read_block(source, at, length.saturating_add(FRAME_BYTES).max(BLOCK).min(left), &mut block)?;
        block_at = at;
        if block.is_empty() && !is_begun {
            return Ok(());
        }
        // No more bytes have arrived.
        if block.len() <= held {
            return match record_length(block.first_chunk(), block.len() as u64) {
                Ok(_) => Ok(()),
                Err(ErrorKind::UnexpectedEnd { .. }) if ignores_torn => Ok(()),
                Err(kind) => Err(Error::new(kind).at(size(at)).inside(Step::Index(size(index)))),
            };
        }
    }
    Ok(())
}
