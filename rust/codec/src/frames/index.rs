//! [`Index`]: the positions of records in a file larger than memory.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard};

use super::read_at::ReadAt;
use super::records::{record_length, size};
use crate::error::{Error, ErrorKind, Result, Step};
use crate::format::FRAME_BYTES;
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

    /// The byte range of the record at `index`, without its length prefix; `None` beyond the last record.
    ///
    /// # Errors
    /// Fails if the last record is truncated (unless [`Index::ignoring_torn`]), a record is empty, or reading
    /// fails.
    pub fn find<S: ReadAt + ?Sized>(&self, source: &S, index: u64) -> Result<Option<Range<u64>>> {
        let mut marks = self.marks(source)?;
        let is_passed = index < marks.next.0;
        let from = if is_passed { marks.before(index) } else { marks.next };
        let mut walk = self.walk(source, from, if is_passed { NEAR_BLOCK } else { BLOCK })?;
        while walk.index < index {
            if walk.skip_record()?.is_none() {
                return Ok(None);
            }
            marks.note(walk.index, walk.at);
        }
        drop(marks);
        walk.skip_record()
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

    fn walk<'s, S: ReadAt + ?Sized>(
        &self,
        source: &'s S,
        (index, at): (u64, u64),
        short_block: usize,
    ) -> Result<Walk<'s, S>> {
        let size = source.size().map_err(Error::other)?;
        let ignores_torn = self.ignores_torn;
        Ok(Walk { source, size, ignores_torn, index, at, block: Vec::new(), block_at: None, short_block })
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
    index: u64,
    at: u64,
    block: Vec<u8>,
    /// The offset of the block; `None` before the first one.
    block_at: Option<u64>,
    /// The read size while records are short.
    short_block: usize,
}

impl<S: ReadAt + ?Sized> Walk<'_, S> {
    /// Skips the next record and returns its byte range.
    fn skip_record(&mut self) -> Result<Option<Range<u64>>> {
        let left = self.size.saturating_sub(self.at);
        if left == 0 {
            return Ok(None);
        }
        match record_length(self.frame()?.as_ref(), left) {
            Ok(length) => {
                let start = self.at + FRAME_BYTES as u64;
                (self.index, self.at) = (self.index + 1, start + length);
                Ok(Some(start..self.at))
            }
            Err(ErrorKind::UnexpectedEnd { .. }) if self.ignores_torn => Ok(None),
            Err(kind) => Err(Error::new(kind).at(size(self.at)).inside(Step::Index(size(self.index)))),
        }
    }

    /// Reads the length prefix of the next record.
    fn frame(&mut self) -> Result<Option<[u8; FRAME_BYTES]>> {
        let in_block = |walk: &Self| {
            let offset = usize::try_from(walk.at.checked_sub(walk.block_at?)?).ok()?;
            walk.block.get(offset..)?.first_chunk().copied()
        };
        if let Some(frame) = in_block(self) {
            return Ok(Some(frame));
        }
        // If the next record is far from the last block, records are long. A large block would then hold only
        // one length prefix.
        let is_near = self.block_at.is_some_and(|last| self.at - last <= 2 * BLOCK as u64);
        self.block.resize(if is_near { self.short_block } else { LONG_BLOCK }, 0);
        let count = self.source.read_at(self.at, &mut self.block).map_err(Error::other)?;
        self.block.truncate(count);
        self.block_at = Some(self.at);
        Ok(in_block(self))
    }
}
