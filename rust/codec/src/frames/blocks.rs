//! [`Block`]: records that are compressed together, as one record.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use super::records::records;
use crate::error::{Error, ErrorKind, Limit, Result, SaveDamage};
use crate::format::{FRAME_BYTES, VariantType};
use crate::limits::Limits;

/// The maximum size of the records in a block, with their lengths, unless there is only one record: a reader of one
/// record decompresses its whole block.
pub const BLOCK_BYTES: usize = 1 << 20;

/// The size of a block's record up to the compressed bytes.
const HEAD: usize = 96;
/// The size of the smallest record, null.
const LEAST_RECORD: u32 = 2 * FRAME_BYTES as u32;

/// No byte of a frame stands for more bytes: 4 bytes are enough for a run of 128 KiB.
const MOST_PER_BYTE: u64 = 1 << 15;

/// A record that differs from the head of a block in at most so many bytes is a damaged block: no game has such a record.
const MOST_CHANGED: usize = 2;

/// The offsets of the numbers in the head.
const RECORDS: usize = 28;
const SIZE: usize = 48;
const SUM: usize = 68;
const LENGTH: usize = 92;

/// The head of `{&"records": 0, &"size": 0, &"sum": 0, &"@zstd": PackedByteArray()}`.
const EMPTY: [u8; HEAD] = {
    const fn put(head: &mut [u8; HEAD], at: usize, bytes: &[u8]) {
        let mut index = 0;
        while index < bytes.len() {
            head[at + index] = bytes[index];
            index += 1;
        }
    }
    const fn put_key(head: &mut [u8; HEAD], at: usize, key: &[u8], ty: VariantType, value: usize) {
        (head[at], head[at + 4]) = (VariantType::StringName as u8, key.len() as u8);
        put(head, at + 8, key);
        head[value - 4] = ty as u8;
    }
    let mut head = [0; HEAD];
    (head[0], head[4]) = (VariantType::Dictionary as u8, 4);
    put_key(&mut head, 8, b"records", VariantType::Int, RECORDS);
    put_key(&mut head, 32, b"size", VariantType::Int, SIZE);
    put_key(&mut head, 52, b"sum", VariantType::Int, SUM);
    put_key(&mut head, 72, b"@zstd", VariantType::PackedByteArray, LENGTH);
    head
};

/// Decompresses a frame of zstd to this many bytes; `None` if it is damaged or has another size.
pub type Decompress = fn(frame: &[u8], size: usize) -> Option<Vec<u8>>;

/// The records of a block, with their lengths, and the range of each.
pub type Unpacked = (Vec<u8>, Vec<Range<usize>>);

/// The head of a block: a record that holds other records, compressed as one frame of zstd.
///
/// The record is `{&"records": count, &"size": n, &"sum": sum, &"@zstd": bytes}`, with the keys in this order, so that a
/// reader can pass a block after its first bytes. The repository's `docs/saves.md` specifies it. Records inside a block
/// are never blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    records: u32,
    size: u32,
    sum: i32,
    compressed: u32,
}

impl Block {
    /// The number of bytes of a record that show whether it is a block.
    pub(super) const HEAD: usize = HEAD;

    /// The block in a record; `None` if it is another record. The head of the record is enough.
    ///
    /// # Errors
    /// Fails with [`ErrorKind::Save`] if the record has the keys of a block, and numbers that no block has, or almost the
    /// keys of one.
    pub fn of(record: &[u8], length: u64) -> Result<Option<Self>> {
        let Some(head) = record.first_chunk::<HEAD>() else { return Ok(None) };
        // Most records differ in more bytes.
        let differs = |at: &usize| head[*at] != EMPTY[*at];
        if (0..RECORDS).filter(differs).count() > MOST_CHANGED {
            return Ok(None);
        }
        let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let block = Self {
            records: number(RECORDS),
            size: number(SIZE),
            sum: number(SUM).cast_signed(),
            compressed: number(LENGTH),
        };
        match block.head().iter().zip(head).filter(|(expected, found)| expected != found).count() {
            0 => {}
            1..=MOST_CHANGED => return Err(damaged()),
            _ => return Ok(None),
        }
        let padded = HEAD as u64 + u64::from(block.compressed).next_multiple_of(4);
        let fits = block.size as usize <= BLOCK_BYTES || block.records == 1 && block.size <= i32::MAX as u32;
        let can_expand = u64::from(block.size) <= u64::from(block.compressed) * MOST_PER_BYTE;
        let counts = 1..=block.size / LEAST_RECORD;
        if !fits || !can_expand || !counts.contains(&block.records) || length != padded {
            return Err(damaged());
        }
        Ok(Some(block))
    }

    /// Appends the block of `count` records of `size` bytes, with their lengths, that are compressed as `frame`.
    pub fn append(batch: &mut Vec<u8>, count: usize, size: usize, frame: &[u8]) {
        let block = Self {
            records: count as u32,
            size: size as u32,
            sum: sum(frame),
            compressed: frame.len() as u32,
        };
        let padding = frame.len().next_multiple_of(4) - frame.len();
        batch.extend_from_slice(&((HEAD + frame.len() + padding) as u32).to_le_bytes());
        batch.extend_from_slice(&block.head());
        batch.extend_from_slice(frame);
        batch.extend_from_slice(&[0; 4][..padding]);
    }

    fn head(&self) -> [u8; HEAD] {
        let mut head = EMPTY;
        let numbers = [self.records, self.size, self.sum.cast_unsigned(), self.compressed];
        for (at, number) in [RECORDS, SIZE, SUM, LENGTH].into_iter().zip(numbers) {
            head[at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        head
    }

    /// The number of records.
    pub fn count(&self) -> u64 {
        self.records.into()
    }

    /// The size of the records, with their lengths.
    pub fn size(&self) -> usize {
        self.size as usize
    }

    /// Decompresses the whole `record` of this block.
    ///
    /// # Errors
    /// Fails with [`ErrorKind::Save`] if the block is damaged. Fails before it decompresses if its only record exceeds
    /// [`Limits::max_bytes`], and afterwards if another record does.
    pub fn unpack(&self, record: &[u8], limits: &Limits, decompress: Decompress) -> Result<Unpacked> {
        let too_long = || Error::new(limits.exceeded(Limit::Bytes));
        if self.records == 1 && self.size() - FRAME_BYTES > limits.max_bytes {
            return Err(too_long());
        }
        let frame = record.get(HEAD..).and_then(|rest| rest.get(..self.compressed as usize));
        let frame = frame.filter(|frame| sum(frame) == self.sum).ok_or_else(damaged)?;
        let bytes = decompress(frame, self.size()).ok_or_else(damaged)?;
        let (ranges, torn) = records(&bytes, &Limits::unlimited());
        if torn.is_some() || bytes.len() != self.size() || ranges.len() as u64 != self.count() {
            return Err(damaged());
        }
        if ranges.iter().any(|range| range.len() > limits.max_bytes) {
            return Err(too_long());
        }
        Ok((bytes, ranges))
    }
}

/// The low half of the frame's XXH3-64: frames of the engine have no sum of their own.
fn sum(frame: &[u8]) -> i32 {
    (xxh3_64(frame) as u32).cast_signed()
}

#[cold]
fn damaged() -> Error {
    ErrorKind::Save(SaveDamage::Block).into()
}
