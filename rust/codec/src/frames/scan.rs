//! Scans records in order, in constant memory.

use std::ops::Range;

use super::index::{Index, Located};
use super::read_at::{ReadAt, read_block};
use super::records::{record_length, size};
use crate::error::{Error, ErrorKind, Limit, Result, Step};
use crate::format::FRAME_BYTES;
use crate::limits::Limits;
use crate::wire;

/// Read size; a longer record is read whole.
const BLOCK: usize = 1 << 20;

/// Calls `each` with the index, file offset and bytes of each record in the range `records`. Holds at most 1
/// MiB of the file, or one longer record, and the records of one block. `index` finds the first record. The offset of a
/// record in a block is that of the block.
///
/// # Errors
/// Fails if the last record is truncated, unless the index is [`Index::ignoring_torn`]. Also fails if a
/// record is empty or exceeds the limits, if the records in blocks exceed [`Limits::max_memory`] together, if the file cannot be read, or if `each` fails. The record's index and offset
/// are added to an error of `each`.
pub fn scan<S: ReadAt + ?Sized>(
    source: &S,
    index: &Index,
    records: Range<u64>,
    limits: &Limits,
    mut each: impl FnMut(u64, u64, &[u8]) -> Result<()>,
) -> Result<()> {
    let (first, start) = match records.start {
        0 => (0, 0),
        first => match index.locate(source, first)? {
            Some(Located { bytes, block }) => {
                (block.map_or(first, |(first, _)| first), bytes.start - FRAME_BYTES as u64)
            }
            None => return Ok(()),
        },
    };
    let (of, ignores_torn) = (index, index.ignores_torn);
    let mut decompressed = 0;
    // Records that others append meanwhile do not count: `each` itself may append.
    let end = source.size().map_err(Error::other)?;
    let (mut index, mut at) = (first, start);
    let (mut block, mut block_at) = (Vec::new(), start);
    while index < records.end {
        let rest =
            usize::try_from(at - block_at).ok().and_then(|start| block.get(start..)).unwrap_or_default();
        let length = rest.first_chunk().map_or(0, |frame| wire::record_length(*frame) as usize);
        if length > of.longest(limits) {
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
            let record = &rest[FRAME_BYTES..FRAME_BYTES + length];
            at = offset + length as u64;
            let inside = |error: Error, index| error.inside(Step::Index(size(index)));
            let unpacked = of.unpack(record, limits);
            let Some((bytes, ranges)) = unpacked.map_err(|error| inside(error.at(size(offset)), index))?
            else {
                each(index, offset, record).map_err(|error| inside(error.shifted(size(offset)), index))?;
                index += 1;
                continue;
            };
            // A small file may hold many blocks that expand a thousandfold.
            decompressed += bytes.len() as u64;
            if decompressed > limits.max_memory {
                let error = Error::new(limits.exceeded(Limit::Memory)).at(size(offset));
                return Err(inside(error, index));
            }
            for range in ranges {
                if records.contains(&index) {
                    let located = |error: Error| inside(error.without_offset().at(size(offset)), index);
                    each(index, offset, &bytes[range]).map_err(located)?;
                }
                index += 1;
            }
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
