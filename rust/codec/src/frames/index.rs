//! [`Index`]: the positions of records in a file larger than memory.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard};

use super::blocks::{BLOCK_BYTES, Block, Decompress, Unpacked};
use super::read_at::ReadAt;
use super::records::{record_length, size};
use crate::error::{Error, ErrorKind, Limit, Result, Step};
use crate::format::FRAME_BYTES;
use crate::limits::Limits;
use crate::sync::lock;

/// The minimum distance between two marks, in bytes. The lengths of records between marks are read again.
const STRIDE: u64 = 4 << 10;
/// Read sizes: when scanning many short records, when searching for one of them, and when records are long.
const BLOCK: usize = 64 << 10;
const NEAR_BLOCK: usize = STRIDE as usize;
const LONG_BLOCK: usize = 512;

/// The positions of a batch's records, as far as the batch has been walked. Any thread may use the index.
///
/// The index finds records that are appended later, and walks the file again if the file has become shorter.
/// Bytes that have been walked must not change. The index takes 16 bytes per 4 KiB walked.
///
/// ```
/// use variant_codec::frames::{Index, append};
///
/// let mut batch = Vec::new();
/// for record in [&b"one"[..], b"three"] {
///     append(&mut batch, record);
/// }
/// let index = Index::default();
/// assert_eq!(index.find(&batch[..], 1)?, Some(11..16));
/// assert_eq!(index.count(&batch[..])?, 2);
/// # Ok::<(), variant_codec::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Index {
    marks: Mutex<Marks>,
    pub(super) ignores_torn: bool,
    /// Set if the records in a [`Block`] count, and not the block itself.
    pub(super) decompress: Option<Decompress>,
}

/// Where a record is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The byte range of the record, or of its block, without the length prefix.
    pub bytes: Range<u64>,
    /// The block that holds the record, and the index of the first record in it.
    pub block: Option<(u64, Block)>,
}

/// The indexes of some records, and the starts of their length prefixes, in order.
#[derive(Debug, Default)]
struct Marks {
    marks: Vec<(u64, u64)>,
    /// The index and the start of the first record that has not been walked.
    next: (u64, u64),
}

impl Index {
    /// An index of a file that others append to. It treats a truncated last record as not yet written.
    pub fn ignoring_torn() -> Self {
        Self { ignores_torn: true, ..Self::default() }
    }

    /// This index for the records inside of blocks, which `decompress` decompresses.
    #[must_use]
    pub fn reading_blocks(self, decompress: Decompress) -> Self {
        Self { decompress: Some(decompress), ..self }
    }

    /// The byte range of the record at `index`, or of its block, without the length prefix; `None` beyond the last
    /// record.
    ///
    /// # Errors
    /// As [`Index::locate`].
    pub fn find<S: ReadAt + ?Sized>(&self, source: &S, index: u64) -> Result<Option<Range<u64>>> {
        Ok(self.locate(source, index)?.map(|located| located.bytes))
    }

    /// The place of the record at `index`; `None` beyond the last record. Decompresses nothing.
    ///
    /// # Errors
    /// Fails if the last record is truncated (unless [`Index::ignoring_torn`]), a record is empty, the head of a block is
    /// damaged, or reading fails.
    pub fn locate<S: ReadAt + ?Sized>(&self, source: &S, index: u64) -> Result<Option<Located>> {
        let mut marks = self.marks(source)?;
        let is_passed = index < marks.next.0;
        let from = if is_passed { marks.before(index) } else { marks.next };
        let mut walk = self.walk(source, from, if is_passed { NEAR_BLOCK } else { BLOCK })?;
        while let Some(located) = walk.skip_record()? {
            if index < walk.index {
                return Ok(Some(located));
            }
            marks.note(walk.index, walk.at);
        }
        Ok(None)
    }

    /// The number of records now. The first call walks over all of them.
    ///
    /// # Errors
    /// As [`Index::find`].
    pub fn count<S: ReadAt + ?Sized>(&self, source: &S) -> Result<u64> {
        let mut marks = self.marks(source)?;
        let mut walk = self.walk(source, marks.next, BLOCK)?;
        while walk.skip_record()?.is_some() {
            marks.note(walk.index, walk.at);
        }
        Ok(walk.index)
    }

    /// Whether any record is a block. Reads no further than the first one.
    ///
    /// # Errors
    /// As [`Index::locate`].
    pub fn has_blocks<S: ReadAt + ?Sized>(&self, source: &S) -> Result<bool> {
        let mut walk = self.walk(source, (0, 0), BLOCK)?;
        while let Some(located) = walk.skip_record()? {
            if located.block.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The maximum length of a record that may be a block within the limits.
    pub fn longest(&self, limits: &Limits) -> usize {
        let around = if self.decompress.is_some() { 2 * BLOCK_BYTES } else { 0 };
        limits.max_bytes.saturating_add(around)
    }

    /// The records in a block; `None` for another record.
    ///
    /// # Errors
    /// As [`Block::unpack`]; also fails if another record exceeds [`Limits::max_bytes`].
    pub fn unpack(&self, record: &[u8], limits: &Limits) -> Result<Option<Unpacked>> {
        if let Some(decompress) = self.decompress
            && let Some(block) = Block::of(record, record.len() as u64)?
        {
            return block.unpack(record, limits, decompress).map(Some);
        }
        if record.len() > limits.max_bytes {
            return Err(Error::new(limits.exceeded(Limit::Bytes)));
        }
        Ok(None)
    }

    fn walk<'s, S: ReadAt + ?Sized>(
        &self,
        source: &'s S,
        (index, at): (u64, u64),
        short_block: usize,
    ) -> Result<Walk<'s, S>> {
        let size = source.size().map_err(Error::other)?;
        let (has_blocks, ignores_torn) = (self.decompress.is_some(), self.ignores_torn);
        let (block, block_at) = (Vec::new(), None);
        Ok(Walk { source, size, ignores_torn, has_blocks, index, at, block, block_at, short_block })
    }

    /// The marks, reset if the file has become shorter.
    fn marks<S: ReadAt + ?Sized>(&self, source: &S) -> Result<MutexGuard<'_, Marks>> {
        let mut marks = lock(&self.marks);
        if source.size().map_err(Error::other)? < marks.next.1 {
            *marks = Marks::default();
        }
        Ok(marks)
    }

    /// Bytes of memory that the index takes.
    pub fn memory(&self) -> usize {
        lock(&self.marks).marks.capacity() * size_of::<(u64, u64)>()
    }
}

impl Marks {
    /// The last mark at or before the record at `index`.
    fn before(&self, index: u64) -> (u64, u64) {
        let behind = self.marks.partition_point(|(marked, _)| *marked <= index);
        behind.checked_sub(1).and_then(|last| self.marks.get(last)).copied().unwrap_or_default()
    }

    /// Notes that the record at `index` starts at `at`, or would start there if it existed.
    fn note(&mut self, index: u64, at: u64) {
        if index <= self.next.0 {
            return;
        }
        self.next = (index, at);
        let last = self.marks.last().map_or(0, |(_, at)| *at);
        if at - last >= STRIDE && self.marks.try_reserve(1).is_ok() {
            self.marks.push((index, at));
        }
    }
}

struct Walk<'s, S: ?Sized> {
    source: &'s S,
    size: u64,
    ignores_torn: bool,
    has_blocks: bool,
    index: u64,
    at: u64,
    block: Vec<u8>,
    /// The offset of the block; `None` before the first one.
    block_at: Option<u64>,
    /// The read size while records are short.
    short_block: usize,
}

impl<S: ReadAt + ?Sized> Walk<'_, S> {
    /// Skips the next record, or the records of the next block, and returns their place.
    fn skip_record(&mut self) -> Result<Option<Located>> {
        let left = self.size.saturating_sub(self.at);
        if left == 0 {
            return Ok(None);
        }
        let failed =
            |walk: &Self, kind, at| Error::new(kind).at(size(at)).inside(Step::Index(size(walk.index)));
        let length = match record_length(self.peek(FRAME_BYTES)?.first_chunk(), left) {
            Ok(length) => length,
            Err(ErrorKind::UnexpectedEnd { .. }) if self.ignores_torn => return Ok(None),
            Err(kind) => return Err(failed(self, kind, self.at)),
        };
        let (first, start) = (self.index, self.at + FRAME_BYTES as u64);
        let block = if self.has_blocks && length >= Block::HEAD as u64 {
            let head = self.peek(FRAME_BYTES + Block::HEAD)?.get(FRAME_BYTES..).unwrap_or_default();
            Block::of(head, length).map_err(|error| failed(self, error.kind().clone(), start))?
        } else {
            None
        };
        (self.index, self.at) = (first + block.map_or(1, |block| block.count()), start + length);
        Ok(Some(Located { bytes: start..self.at, block: block.map(|block| (first, block)) }))
    }

    /// The next `count` bytes, or as many as there are.
    fn peek(&mut self, count: usize) -> Result<&[u8]> {
        let held = |walk: &Self| {
            let offset = usize::try_from(walk.at.checked_sub(walk.block_at?)?).ok()?;
            Some(offset..walk.block.len().min(offset.checked_add(count)?))
        };
        let has_all = |range: &Range<usize>| range.len() == count;
        if let Some(range) = held(self).filter(has_all) {
            return Ok(&self.block[range]);
        }
        // If the next record is far from the last block, records are long. A large block would then hold only
        // one length prefix.
        let is_near = self.block_at.is_some_and(|last| self.at - last <= 2 * BLOCK as u64);
        self.block.resize(if is_near { self.short_block } else { LONG_BLOCK }, 0);
        let read = self.source.read_at(self.at, &mut self.block).map_err(Error::other)?;
        self.block.truncate(read);
        self.block_at = Some(self.at);
        Ok(held(self).and_then(|range| self.block.get(range)).unwrap_or_default())
    }
}
