//! Blocks of compressed records: written, and read into one buffer.

use std::ops::Range;

use godot::builtin::PackedByteArray;
use godot::classes::file_access::CompressionMode;
use variant_codec::format::{FRAME_BYTES, MAX_BYTES};
use variant_codec::frames::{self, BLOCK_BYTES, Block};
use variant_codec::limits::Limit;
use variant_codec::{Error, ErrorKind, Limits, Result, saves};
use variant_engine::{self as engine, OwnedBytes};

/// Puts all records of these parts into blocks, in order. Unless `compresses`, only those that a reader could confuse
/// with a block.
///
/// # Errors
/// Fails if there is no memory.
pub fn blocks(parts: Vec<Vec<u8>>, compresses: bool) -> Result<Vec<Vec<u8>>> {
    if !compresses && !parts.iter().any(|part| saves::names_zstd(part)) {
        return Ok(parts);
    }
    let mut written = Written::default();
    for part in &parts {
        for range in frames::records(part, &Limits::unlimited()).0 {
            let is_in_block = compresses || saves::looks_compressed(&part[range.clone()]);
            written.add(&part[range.start - FRAME_BYTES..range.end], is_in_block)?;
        }
    }
    written.end_block()?;
    Ok(vec![written.bytes])
}

/// Records and blocks, and the records of the next block.
#[derive(Default)]
struct Written {
    bytes: Vec<u8>,
    block: Vec<u8>,
    count: usize,
}

impl Written {
    /// Adds a record with its length.
    fn add(&mut self, record: &[u8], is_in_block: bool) -> Result<()> {
        if !is_in_block || self.block.len() + record.len() > BLOCK_BYTES {
            self.end_block()?;
        }
        let to = if is_in_block { &mut self.block } else { &mut self.bytes };
        reserve(to, record.len())?;
        to.extend_from_slice(record);
        self.count += usize::from(is_in_block);
        Ok(())
    }

    fn end_block(&mut self) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let size = self.block.len();
        let frame = PackedByteArray::from(&self.block[..]).compress(CompressionMode::ZSTD);
        let frame = frame.map_err(|()| ErrorKind::OutOfMemory(size))?;
        if size.max(frame.len() + AROUND) > MAX_BYTES {
            return Err(ErrorKind::TooLarge.into());
        }
        reserve(&mut self.bytes, frame.len() + AROUND)?;
        Block::append(&mut self.bytes, self.count, size, engine::bytes(&frame));
        self.block.clear();
        self.count = 0;
        Ok(())
    }
}

/// No block has more bytes around its frame.
const AROUND: usize = 128;

fn reserve(bytes: &mut Vec<u8>, more: usize) -> Result<()> {
    bytes.try_reserve(more).map_err(|_| ErrorKind::OutOfMemory(more).into())
}

/// Decompresses a frame of zstd to `size` bytes.
pub fn decompress(frame: &[u8], size: usize) -> Option<Vec<u8>> {
    let found = PackedByteArray::from(frame).decompress(size, CompressionMode::ZSTD).ok()?;
    (found.len() == size).then(|| found.to_vec())
}

/// The records of a buffer, also those in blocks.
pub struct Opened {
    /// The buffer, followed by the records of its blocks.
    pub bytes: OwnedBytes,
    /// The ranges of the records, in order.
    pub records: Vec<Range<usize>>,
    /// The error after the last valid record, if any.
    pub broken: Option<Error>,
    /// The length of the buffer.
    pub len: usize,
    blocks: Vec<OpenedBlock>,
}

struct OpenedBlock {
    /// The range of the records in [`Opened::bytes`].
    records: Range<usize>,
    /// The range of the block in the buffer.
    block: Range<usize>,
}

impl Opened {
    /// Opens the records of a buffer. The limits hold for all of them together.
    pub fn of(mut bytes: PackedByteArray, limits: &Limits) -> Self {
        let (mut records, mut broken) = frames::records(engine::bytes(&bytes), limits);
        let (len, mut blocks) = (bytes.len(), Vec::new());
        if let Err(error) = open_blocks(&mut bytes, &mut records, &mut blocks, limits) {
            broken = Some(error);
        }
        Self { bytes: OwnedBytes::new(bytes), records, broken, len, blocks }
    }

    /// This error in a record. An offset in a block is that of the block.
    pub fn located(&self, error: Error) -> Error {
        match error.offset().and_then(|at| self.block_at(at)) {
            Some(found) => error.without_offset().at(found.block.start),
            None => error,
        }
    }

    /// The offset in the buffer up to which the first `count` records are whole: a block is whole with its last one.
    pub fn end(&self, count: usize) -> usize {
        let end = count.checked_sub(1).map_or(0, |last| self.records[last].end);
        match end.checked_sub(1).and_then(|last| self.block_at(last)) {
            Some(found) if found.records.end == end => found.block.end,
            Some(found) => found.block.start - FRAME_BYTES,
            None => end,
        }
    }

    /// The block whose records are at this offset of [`Opened::bytes`].
    fn block_at(&self, at: usize) -> Option<&OpenedBlock> {
        let behind = self.blocks.partition_point(|found| found.records.start <= at);
        behind.checked_sub(1).map(|last| &self.blocks[last])
    }
}

/// Appends the records of blocks to `bytes`, and replaces the blocks in `records` with them, up to the first error.
fn open_blocks(
    bytes: &mut PackedByteArray,
    records: &mut Vec<Range<usize>>,
    blocks: &mut Vec<OpenedBlock>,
    limits: &Limits,
) -> Result<()> {
    let block_of = |bytes: &PackedByteArray, record: &Range<usize>| {
        Block::of(&engine::bytes(bytes)[record.clone()], record.len() as u64)
    };
    let is_plain = |record: &Range<usize>| matches!(block_of(bytes, record), Ok(None));
    let Some(first) = records.iter().position(|record| !is_plain(record)) else { return Ok(()) };
    let mut total = records[first].start - FRAME_BYTES;
    for record in records.split_off(first) {
        let at = |error: Error| error.at(record.start);
        let block = block_of(bytes, &record).map_err(at)?;
        let (size, count) =
            block.map_or((record.len() + FRAME_BYTES, 1), |block| (block.size(), block.count()));
        total += size;
        if total > limits.max_bytes {
            return Err(at(limits.exceeded(Limit::Bytes).into()));
        }
        if records.len() as u64 + count > limits.max_elements {
            return Err(at(limits.exceeded(Limit::Elements).into()));
        }
        let Some(block) = block else {
            records.push(record);
            continue;
        };
        let (found, ranges) =
            block.unpack(&engine::bytes(bytes)[record.clone()], limits, decompress).map_err(at)?;
        let start = bytes.len();
        bytes.resize(start + found.len());
        match bytes.as_mut_slice().get_mut(start..) {
            Some(into) if into.len() == found.len() => into.copy_from_slice(&found),
            _ => return Err(at(ErrorKind::OutOfMemory(start + found.len()).into())),
        }
        records.extend(ranges.into_iter().map(|range| start + range.start..start + range.end));
        blocks.push(OpenedBlock { records: start..start + found.len(), block: record });
    }
    Ok(())
}
