//! Reads records from bytes, and skips groups.

use variant_codec::limits::Budget;
use variant_codec::{Error as CodecError, ErrorKind, Result};

use crate::charged::Charged;
use crate::error::{Error, Oddity};
use crate::kind::Class;
use crate::varint::{LONGEST_TAG, LONGEST_VARINT, short_varint};
use crate::wire::{MAX_NESTING, Wire};

/// Reads a range of the input, such as one message. Offsets count from the start of the whole input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    /// The input from its start to the end of the range.
    bytes: &'a [u8],
    pub at: usize,
    wire: Wire,
    strict: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub number: u32,
    pub class: Class,
    /// The number; for bytes, their [`packed_range`].
    pub value: u64,
}

/// The contents of a group. The end of a group is known only after everything in it has been read. Skipping a
/// group therefore records all groups in it. Otherwise, each group would be skipped again for every enclosing
/// group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub start: u32,
    pub end: u32,
    /// The index of the first group after this group and its nested groups.
    pub next: u32,
}

/// The records of skipped groups, and the budget to which they are charged.
pub(crate) struct Notes<'n, 'l> {
    pub groups: &'n mut Charged<Group>,
    pub budget: &'n mut Budget<'l>,
}

/// Packs a range of bytes into one number.
#[inline(always)]
pub(crate) fn packed_range(start: usize, len: usize) -> u64 {
    start as u64 | (len as u64) << 32
}

/// Unpacks a [`packed_range`].
#[inline(always)]
pub(crate) fn range(packed: u64) -> std::ops::Range<usize> {
    let start = packed as u32 as usize;
    start..start + (packed >> 32) as usize
}

impl<'a> Reader<'a> {
    /// A reader of `bytes[at..]`.
    #[inline(always)]
    pub fn new(bytes: &'a [u8], at: usize, wire: Wire, strict: bool) -> Self {
        Self { bytes, at, wire, strict }
    }

    #[inline(always)]
    pub fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    #[inline(always)]
    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    #[cold]
    #[inline(never)]
    fn ends(&self, needed: usize) -> CodecError {
        CodecError::new(ErrorKind::UnexpectedEnd { needed, left: self.left() }).at(self.at)
    }

    /// Reads a varint of at most `longest` bytes. Drops excess bits, as all implementations do.
    #[inline(always)]
    pub fn varint(&mut self, longest: usize) -> Result<u64> {
        match self.bytes.get(self.at) {
            Some(&byte) if byte < 0x80 => {
                self.at += 1;
                Ok(byte.into())
            }
            _ => {
                let start = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk());
                match start.and_then(|bytes| short_varint(*bytes)) {
                    Some((value, len)) if len <= longest && !self.strict => {
                        self.at += len;
                        Ok(value)
                    }
                    _ => self.long_varint(longest),
                }
            }
        }
    }

    #[inline(never)]
    fn long_varint(&mut self, longest: usize) -> Result<u64> {
        let mut value = 0;
        for (index, &byte) in self.bytes[self.at..].iter().take(longest).enumerate() {
            value |= u64::from(byte & 0x7F) << (7 * index);
            if byte < 0x80 {
                // Nine bytes hold 63 bits, so the tenth byte holds one bit.
                if self.strict && (byte == 0 || (index == LONGEST_VARINT - 1 && byte > 1)) {
                    return Err(odd(Oddity::LongVarint, self.at));
                }
                self.at += index + 1;
                return Ok(value);
            }
        }
        if self.left() < longest {
            return Err(self.ends(self.left() + 1));
        }
        Err(CodecError::other(Error::LongVarint(longest)).at(self.at))
    }

    /// Reads a tag or a length of at most `most`.
    #[inline(always)]
    fn small(&mut self, what: &'static str, most: u32) -> Result<u32> {
        let at = self.at;
        let value = self.varint(LONGEST_TAG)?;
        if value > most.into() {
            return Err(CodecError::other(Error::BadNumber { what, value }).at(at));
        }
        Ok(value as u32)
    }

    #[inline(always)]
    fn fixed<const N: usize>(&mut self) -> Result<u64> {
        let Some(found) = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>()) else {
            return Err(self.ends(N));
        };
        self.at += N;
        let mut value = [0; 8];
        value[..N].copy_from_slice(found);
        Ok(u64::from_le_bytes(value))
    }

    /// Reads the next record, without the contents of a group.
    #[inline(always)]
    pub fn record(&mut self) -> Result<Record> {
        let at = self.at;
        let tag = self.small("tag", u32::MAX)?;
        let (number, wire_type) = (tag >> 3, (tag & 7) as u8);
        if number == 0 {
            return Err(CodecError::other(Error::BadNumber { what: "field number", value: 0 }).at(at));
        }
        let class = self.wire.classes()[usize::from(wire_type)];
        let value = match class {
            Class::Varint => self.varint(LONGEST_VARINT)?,
            Class::Negative => {
                let number_at = self.at;
                let magnitude = self.varint(LONGEST_VARINT)?;
                if self.strict && (magnitude == 0 || magnitude > 1 << 63) {
                    return Err(odd(Oddity::Form, number_at));
                }
                magnitude.wrapping_neg()
            }
            Class::True => 1,
            Class::False | Class::StartGroup => 0,
            Class::Fixed32 => self.fixed::<4>()?,
            Class::Fixed64 => self.fixed::<8>()?,
            Class::Bytes => {
                let len = self.small("length", i32::MAX as u32)? as usize;
                if len > self.left() {
                    return Err(self.ends(len));
                }
                let start = self.at;
                self.at += len;
                packed_range(start, len)
            }
            Class::EndGroup => return Err(CodecError::other(Error::StrayEndGroup(number)).at(at)),
            Class::None => return Err(CodecError::other(Error::BadWireType { number, wire_type }).at(at)),
        };
        Ok(Record { number, class, value })
    }

    /// Skips the contents and the end-group tag of a group at this nesting level. Records this group and its
    /// nested groups in `notes`.
    pub fn skip_group(
        &mut self,
        number: u32,
        level: u32,
        mut notes: Option<&mut Notes<'_, '_>>,
    ) -> Result<()> {
        let start = self.at;
        if level > MAX_NESTING {
            return Err(CodecError::other(Error::TooDeep).at(start));
        }
        let mut group = Group { start: start as u32, end: 0, next: 0 };
        let index = notes.as_ref().map_or(0, |notes| notes.groups.len());
        if let Some(Notes { groups, budget }) = notes.as_deref_mut() {
            groups.push(group, budget).map_err(|error| error.at(start))?;
        }
        loop {
            let end_at = self.at;
            if let Some(end) = self.end_group()? {
                if end != number {
                    return Err(CodecError::other(Error::StrayEndGroup(end)).at(end_at));
                }
                if let Some(Notes { groups, .. }) = notes {
                    (group.end, group.next) = (end_at as u32, groups.len() as u32);
                    groups[index] = group;
                }
                return Ok(());
            }
            if self.is_at_end() {
                return Err(self.ends(1));
            }
            let record = self.record()?;
            if record.class == Class::StartGroup {
                self.skip_group(record.number, level + 1, notes.as_deref_mut())?;
            }
        }
    }

    /// Reads an end-group tag, if one follows, and returns the field number.
    pub fn end_group(&mut self) -> Result<Option<u32>> {
        let mut ahead = *self;
        if ahead.is_at_end() {
            return Ok(None);
        }
        let tag = ahead.small("tag", u32::MAX)?;
        if self.wire.classes()[(tag & 7) as usize] != Class::EndGroup || tag >> 3 == 0 {
            return Ok(None);
        }
        self.at = ahead.at;
        Ok(Some(tag >> 3))
    }

    /// Skips whole records up to the end.
    pub fn skip_all(&mut self, level: u32) -> Result<()> {
        while !self.is_at_end() {
            let record = self.record()?;
            if record.class == Class::StartGroup {
                self.skip_group(record.number, level + 1, None)?;
            }
        }
        Ok(())
    }
}

/// The error for a non-canonical encoding.
#[cold]
pub(crate) fn odd(oddity: Oddity, at: usize) -> CodecError {
    CodecError::other(Error::NotCanonical(oddity)).at(at)
}
