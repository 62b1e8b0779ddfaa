//! [`Cursor`]: reads the elements of the format from bytes.

use super::dialect::Dialect;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{self, ContainerKind, VariantType};

/// A position in a byte buffer, or past its end.
///
/// A method returns `None` if the bytes end too early or cannot hold as many items as a count says. To get the error
/// with its offset, call the `…_fault` method on a copy of the cursor made before the failed call.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// A length-prefixed text and its padding.
#[derive(Clone, Copy, Debug)]
pub struct Padded<'a> {
    pub text: &'a [u8],
    pub padding: &'a [u8],
}

/// The type that a container declares for its elements.
#[derive(Clone, Copy, Debug)]
pub enum RawElementType<'a> {
    Untyped,
    /// A type id.
    Builtin(u32),
    /// The name of a class.
    Class(Padded<'a>),
    /// The path of a script.
    Script(Padded<'a>),
}

/// The counters before the names of a NodePath.
#[derive(Clone, Copy, Debug)]
pub struct NodePathCounters {
    /// The number of node names.
    pub names: u32,
    /// The number of names and subnames together. The sum wraps around, as in the engine.
    pub total: u32,
    /// Whether the path starts at the root.
    pub is_absolute: bool,
    /// Whether an encoder would write these counters and flags.
    pub are_canonical: bool,
}

impl<'a> Cursor<'a> {
    #[inline(always)]
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    #[inline(always)]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    #[inline(always)]
    pub fn position(&self) -> usize {
        self.at
    }

    /// Moves to `position`, which may be past the end.
    #[inline(always)]
    pub fn jump(&mut self, position: usize) {
        self.at = position;
    }

    /// The number of bytes left. The cursor must not be past the end.
    #[inline(always)]
    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    #[inline(always)]
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// The next number, without moving the cursor.
    #[inline(always)]
    pub fn peek(&self) -> Option<u32> {
        Some(u32::from_le_bytes(*self.bytes.get(self.at..)?.first_chunk()?))
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    #[inline(always)]
    pub fn u32(&mut self) -> Option<u32> {
        let value = self.peek()?;
        self.at += 4;
        Some(value)
    }

    #[inline(always)]
    pub fn u64(&mut self) -> Option<u64> {
        let value = u64::from_le_bytes(*self.bytes.get(self.at..)?.first_chunk()?);
        self.at += 8;
        Some(value)
    }

    #[inline(always)]
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..)?.get(..count)?;
        self.at += count;
        Some(taken)
    }

    #[inline(always)]
    pub fn try_take(&mut self, count: usize) -> Result<&'a [u8]> {
        self.take(count).ok_or_else(|| self.end_fault(count))
    }

    #[inline(always)]
    pub fn skip(&mut self, count: usize) -> Option<()> {
        (count <= self.left()).then(|| self.at += count)
    }

    /// Skips `expected` if it is next, and returns whether it was.
    #[inline(always)]
    pub fn skip_if_next(&mut self, expected: &[u8]) -> bool {
        let Some(next) = self.bytes.get(self.at..).and_then(|rest| rest.get(..expected.len())) else {
            return false;
        };
        // Most keys take 8 to 16 bytes. For these, comparing two overlapping words is faster than a call of
        // memcmp.
        let words = |bytes: &[u8]| Some((*bytes.first_chunk::<8>()?, *bytes.last_chunk::<8>()?));
        let is_next = match (words(next), words(expected)) {
            (Some(next), Some(expected_words)) if expected.len() <= 16 => next == expected_words,
            _ => next == expected,
        };
        self.at += if is_next { expected.len() } else { 0 };
        is_next
    }

    /// Reads a count of items that take at least `smallest` bytes each.
    #[inline(always)]
    pub fn count(&mut self, smallest: usize) -> Option<usize> {
        let count = usize::try_from(self.u32()? as i32).ok()?;
        (count <= self.left() / smallest).then_some(count)
    }

    /// Like [`Cursor::count`], but reads a negative count as zero, as the engine does.
    #[inline(always)]
    pub fn signed_count(&mut self, smallest: usize) -> Option<usize> {
        let count = (self.u32()? as i32).max(0) as usize;
        (count <= self.left() / smallest).then_some(count)
    }

    /// Whether a negative count is next.
    #[inline(always)]
    pub fn is_at_negative(&self) -> bool {
        self.peek().is_some_and(|count| (count as i32) < 0)
    }

    /// Reads the count of a container without its top bit, which the engine ignores.
    #[inline(always)]
    pub fn container_count(&mut self, smallest: usize) -> Option<usize> {
        let count = (self.u32()? & format::COUNT_MASK) as usize;
        (count <= self.left() / smallest).then_some(count)
    }

    #[inline(always)]
    pub fn text(&mut self) -> Option<Padded<'a>> {
        let count = self.u32()? as usize;
        Some(Padded { text: self.take(count)?, padding: self.take(format::padding(count))? })
    }

    #[inline(always)]
    pub fn skip_text(&mut self) -> Option<()> {
        let count = self.u32()? as usize;
        self.skip(count.checked_add(format::padding(count))?)
    }

    /// Reads the declared type of a container; `kind` comes from its header.
    #[inline(always)]
    pub fn declared(&mut self, kind: ContainerKind) -> Option<RawElementType<'a>> {
        Some(match kind {
            ContainerKind::Untyped => RawElementType::Untyped,
            ContainerKind::Builtin => RawElementType::Builtin(self.u32()?),
            ContainerKind::Class => RawElementType::Class(self.text()?),
            ContainerKind::Script => RawElementType::Script(self.text()?),
        })
    }

    #[inline(always)]
    pub fn skip_declared(&mut self, kind: ContainerKind) -> Option<()> {
        match kind {
            ContainerKind::Untyped => Some(()),
            ContainerKind::Builtin => self.skip(4),
            ContainerKind::Class | ContainerKind::Script => self.skip_text(),
        }
    }

    pub fn node_path(&mut self) -> Option<NodePathCounters> {
        let (first, subnames, flags) = (self.u32()?, self.u32()?, self.u32()?);
        let names = first & !format::NODE_PATH_NEW_FORMAT;
        let extra = u32::from(flags & format::NODE_PATH_EXTRA_SUBNAME != 0);
        let total = names.wrapping_add(subnames).wrapping_add(extra);
        Some(NodePathCounters {
            names,
            total,
            is_absolute: flags & format::NODE_PATH_ABSOLUTE != 0,
            are_canonical: names <= total && flags & !format::NODE_PATH_ABSOLUTE == 0,
        })
    }

    /// Whether the next NodePath is in a format that Godot 4 does not read.
    pub fn is_at_old_node_path(&self) -> bool {
        self.peek().is_some_and(|first| first & format::NODE_PATH_NEW_FORMAT == 0)
    }
}

/// Whether the untyped Dictionary at `at` has a first key that is text and starts with this byte.
#[inline(always)]
pub fn first_key_starts_with<D: Dialect>(bytes: &[u8], at: usize, start: u8) -> bool {
    /// The offset of the text of the first key.
    const TEXT: usize = 16;

    // Few Dictionaries pass this check.
    if at.checked_add(TEXT).and_then(|text| bytes.get(text)) != Some(&start) {
        return false;
    }
    let mut cursor = Cursor::new(bytes, at);
    let (dictionary, count) = (cursor.u32(), cursor.u32());
    let (key, length) = (cursor.u32(), cursor.u32());
    let is = |header: Option<u32>, ty| header.is_some() && header == D::id_of(ty).map(u32::from);
    is(dictionary, VariantType::Dictionary)
        && count > Some(0)
        && (is(key, VariantType::String) || is(key, VariantType::StringName))
        && length > Some(0)
}

/// Errors for failed reads at this offset.
impl Cursor<'_> {
    /// The error if fewer than `needed` bytes are left.
    #[cold]
    #[inline(never)]
    pub fn end_fault(self, needed: usize) -> Error {
        let at = self.at.min(self.bytes.len());
        Error::new(ErrorKind::UnexpectedEnd { needed, left: self.bytes.len() - at }).at(at)
    }

    /// The error for a count that is negative or larger than the bytes can hold.
    #[cold]
    #[inline(never)]
    pub fn count_fault(mut self) -> Error {
        let start = self;
        match self.u32() {
            Some(count) => self.room_fault(start.at, (count as i32).into()),
            None => start.end_fault(4),
        }
    }

    /// The error for a container's count that is larger than the bytes can hold.
    #[cold]
    #[inline(never)]
    pub fn container_count_fault(mut self) -> Error {
        let start = self;
        match self.u32() {
            Some(count) => self.room_fault(start.at, (count & format::COUNT_MASK).into()),
            None => start.end_fault(4),
        }
    }

    /// The error for a count at `at` that has been read and is larger than the bytes can hold.
    #[cold]
    #[inline(never)]
    pub fn room_fault(self, at: usize, count: i64) -> Error {
        Error::new(ErrorKind::BadCount { count, left: self.rest().len() }).at(at)
    }

    /// The error for truncated counters of a NodePath.
    #[cold]
    pub fn node_path_fault(mut self) -> Error {
        while self.u32().is_some() {}
        self.end_fault(4)
    }

    /// The error for a truncated declared type of a container.
    #[cold]
    pub fn declared_fault(self, kind: ContainerKind) -> Error {
        if kind == ContainerKind::Builtin { self.end_fault(4) } else { self.text_fault() }
    }

    /// The error for a truncated text or padding.
    #[cold]
    #[inline(never)]
    pub fn text_fault(mut self) -> Error {
        let start = self;
        match self.count(1) {
            Some(count) => {
                self.at += count;
                self.end_fault(format::padding(count))
            }
            None => start.count_fault(),
        }
    }
}
