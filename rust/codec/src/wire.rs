//! Bytes as the format has them: numbers, counts, texts, padding, declared types.

use crate::format::{self, ContainerKind, FLAG_64, VariantType};

/// A position in bytes, or past their end. Its methods return `None` if the bytes end too early, or a count is larger than what they can hold.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// The type that a container declares for its elements.
pub enum Declared {
    Untyped,
    /// A type id.
    Builtin(u32),
    /// A class or a script, by a text.
    Named,
}

impl<'a> Cursor<'a> {
    #[inline(always)]
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// All bytes.
    #[inline(always)]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    #[inline(always)]
    pub fn position(&self) -> usize {
        self.at
    }

    /// How many bytes are left. Not past the end: something has been read before.
    #[inline(always)]
    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The bytes that are left.
    #[inline(always)]
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// The next number, without going on.
    #[inline(always)]
    pub fn peek(&self) -> Option<u32> {
        Some(u32::from_le_bytes(*self.bytes.get(self.at..)?.first_chunk()?))
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
    pub fn skip(&mut self, count: usize) -> Option<()> {
        (count <= self.left()).then(|| self.at += count)
    }

    /// Goes on behind these bytes; returns whether they are next.
    #[inline(always)]
    pub fn passes(&mut self, expected: &[u8]) -> bool {
        let is_next = self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(expected));
        self.at += if is_next { expected.len() } else { 0 };
        is_next
    }

    /// A count of things that take at least `smallest` bytes each. Negative ones are for the reader to judge.
    #[inline(always)]
    pub fn count(&mut self, smallest: usize) -> Option<usize> {
        let count = usize::try_from(self.u32()? as i32).ok()?;
        (count <= self.left() / smallest).then_some(count)
    }

    /// The count of a container, without its top bit, which the engine ignores.
    #[inline(always)]
    pub fn container_count(&mut self, smallest: usize) -> Option<usize> {
        let count = (self.u32()? & format::COUNT_MASK) as usize;
        (count <= self.left() / smallest).then_some(count)
    }

    /// A counted text, and its padding.
    #[inline(always)]
    pub fn text(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        let count = self.u32()? as usize;
        Some((self.take(count)?, self.take(format::padding(count))?))
    }

    /// Goes on behind a counted text.
    #[inline(always)]
    pub fn skip_text(&mut self) -> Option<()> {
        let count = self.u32()? as usize;
        self.skip(count.checked_add(format::padding(count))?)
    }

    /// The declared type whose kind is at `shift` of a container's header.
    #[inline(always)]
    pub fn declared(&mut self, header: u32, shift: u32) -> Option<Declared> {
        Some(match ContainerKind::of(header, shift) {
            ContainerKind::Untyped => Declared::Untyped,
            ContainerKind::Builtin => Declared::Builtin(self.u32()?),
            ContainerKind::Class | ContainerKind::Script => {
                self.skip_text()?;
                Declared::Named
            }
        })
    }
}

/// A bool, an int or a float.
///
/// ```
/// use variant_codec::Value;
/// use variant_codec::stream::{Number, number};
///
/// assert_eq!(number(&Value::from(7).encode()?), Some(Number::Int(7)));
/// assert_eq!(number(&Value::from("7").encode()?), None);
/// # Ok::<(), variant_codec::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A bool.
    Bool(bool),
    /// An int.
    Int(i64),
    /// A float.
    Float(f64),
}

/// The number that is all of `bytes`, as the engine reads it. `None` for other values, for bools other than 0 and 1, and for 4-byte
/// NaNs: decode those.
#[inline(always)]
pub fn number(bytes: &[u8]) -> Option<Number> {
    const BOOL: u32 = VariantType::Bool.id() as u32;
    const INT: u32 = VariantType::Int.id() as u32;
    const WIDE_INT: u32 = INT | FLAG_64;
    const FLOAT: u32 = VariantType::Float.id() as u32;
    const WIDE_FLOAT: u32 = FLOAT | FLAG_64;

    let (header, payload) = bytes.split_first_chunk()?;
    let header = u32::from_le_bytes(*header);
    if let Ok(narrow) = payload.try_into() {
        let bits = u32::from_le_bytes(narrow);
        let float = f32::from_bits(bits);
        return match header {
            INT => Some(Number::Int((bits as i32).into())),
            BOOL if bits <= 1 => Some(Number::Bool(bits == 1)),
            // A conversion may change the bits of a NaN.
            FLOAT if !float.is_nan() => Some(Number::Float(float.into())),
            _ => None,
        };
    }
    let wide = u64::from_le_bytes(payload.try_into().ok()?);
    match header {
        WIDE_INT => Some(Number::Int(wide as i64)),
        WIDE_FLOAT => Some(Number::Float(f64::from_bits(wide))),
        _ => None,
    }
}
