//! Events → bytes: [`Encoder`] writes them, [`Measure`] only counts them.

use std::marker::PhantomData;

use crate::dialect::{Dialect, Godot3, Godot4};
use crate::error::{ErrorKind, Result};
use crate::format::{self, ContainerKind, Lane, Shape, VariantType};
use crate::lanes;
use crate::stream::{ElementType, Lanes, NodePathParts, Precision, Sink, Text};

/// How values are written.
#[derive(Clone, Copy, Debug, Default)]
pub struct EncodeOptions {
    /// The width of `real_t` on the wire, which is the engine's own; components of the other width are converted.
    pub precision: Precision,
    /// Whether text that does not come back as it is, is an error: lone surrogates, a leading byte-order mark, NULs.
    /// Otherwise it is written as the engine writes it.
    pub strict_text: bool,
}

/// Where encoded bytes go.
pub trait Output {
    /// Bytes so far.
    fn len(&self) -> usize;
    /// Announces that exactly so many bytes come next.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`] if there is no room for them.
    fn reserve(&mut self, bytes: usize) -> Result<()>;
    /// Appends bytes.
    fn put(&mut self, bytes: &[u8]);
    /// Appends one byte `count` times.
    fn put_zeros(&mut self, count: usize);
    /// Appends the engine's code units as UTF-8; `bytes` is what [`utf8_len`] says of them.
    fn put_utf32(&mut self, units: &[u32], bytes: usize);
    /// Appends a count, code units below 0x20_0000 as so many bytes of UTF-8, `tail` NULs that are counted, at most one,
    /// and the padding: all in one pass. Says whether it has; it may leave it to the other functions.
    fn put_text(&mut self, units: &[u32], tail: usize) -> bool {
        let _ = (units, tail);
        false
    }
    /// Appends what `write` puts at the start of a block of `N` bytes; it returns how many bytes that are.
    ///
    /// Nothing is called, and the answer is no, where there is no memory for the whole block: less may still fit.
    fn put_block<const N: usize>(&mut self, write: impl FnOnce(&mut [u8; N]) -> usize) -> bool;
    /// Whether nothing has been appended.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Output for Vec<u8> {
    #[inline(always)]
    fn len(&self) -> usize {
        Vec::len(self)
    }

    #[inline(always)]
    fn reserve(&mut self, bytes: usize) -> Result<()> {
        self.try_reserve(bytes).map_err(|_| ErrorKind::OutOfMemory(bytes).into())
    }

    #[inline(always)]
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    #[inline(always)]
    fn put_zeros(&mut self, count: usize) {
        self.extend_from_slice(&[0; 3][..count]);
    }

    #[inline(always)]
    fn put_block<const N: usize>(&mut self, write: impl FnOnce(&mut [u8; N]) -> usize) -> bool {
        let start = Vec::len(self);
        if self.try_reserve(N).is_err() {
            return false;
        }
        self.resize(start + N, 0);
        let written = self[start..].first_chunk_mut::<N>().map_or(0, write);
        self.truncate(start + written);
        true
    }

    #[inline]
    fn put_utf32(&mut self, units: &[u32], bytes: usize) {
        if bytes == units.len() {
            self.extend(units.iter().map(|&unit| unit as u8));
        } else {
            let start = Vec::len(self);
            self.resize(start + bytes, 0);
            put_mixed(&mut self[start..], units);
        }
    }
}

/// Memory that is written from its start on: of a fixed size, or growing. Faster than appending to a [`Vec`].
#[derive(Debug)]
pub struct Room<B> {
    bytes: B,
    used: usize,
}

/// Memory that a [`Room`] is made of.
pub trait Memory: AsMut<[u8]> + AsRef<[u8]> {
    /// Makes it at least so long, and says whether that was possible.
    fn grow(&mut self, bytes: usize) -> bool;
}

impl Memory for &mut [u8] {
    #[cold]
    fn grow(&mut self, _bytes: usize) -> bool {
        false
    }
}

impl Memory for &mut Vec<u8> {
    #[cold]
    fn grow(&mut self, bytes: usize) -> bool {
        let wanted = bytes.max(self.len().saturating_mul(2));
        if self.try_reserve(wanted - self.len()).is_err() {
            return false;
        }
        self.resize(wanted, 0);
        true
    }
}

impl<B: Memory> Room<B> {
    /// Nothing written yet.
    pub fn new(bytes: B) -> Self {
        Self { bytes, used: 0 }
    }

    /// What has been written.
    pub fn written(&self) -> &[u8] {
        &self.bytes.as_ref()[..self.used]
    }

    /// The next `count` bytes, which `reserve` has made sure of.
    #[inline(always)]
    fn take(&mut self, count: usize) -> &mut [u8] {
        let start = self.used;
        self.used += count;
        &mut self.bytes.as_mut()[start..self.used]
    }
}

impl<B: Memory> Output for Room<B> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.used
    }

    #[inline(always)]
    fn reserve(&mut self, bytes: usize) -> Result<()> {
        if bytes > self.bytes.as_ref().len() - self.used && !self.bytes.grow(self.used.saturating_add(bytes))
        {
            return Err(ErrorKind::OutOfMemory(bytes).into());
        }
        Ok(())
    }

    #[inline(always)]
    fn put(&mut self, bytes: &[u8]) {
        self.take(bytes.len()).copy_from_slice(bytes);
    }

    #[inline(always)]
    fn put_zeros(&mut self, count: usize) {
        self.take(count).fill(0);
    }

    #[inline(always)]
    fn put_block<const N: usize>(&mut self, write: impl FnOnce(&mut [u8; N]) -> usize) -> bool {
        if self.reserve(N).is_err() {
            return false;
        }
        let block = self.bytes.as_mut().get_mut(self.used..).and_then(|rest| rest.first_chunk_mut::<N>());
        self.used += block.map_or(0, write);
        true
    }

    #[inline]
    fn put_utf32(&mut self, units: &[u32], bytes: usize) {
        let room = self.take(bytes);
        if bytes == units.len() {
            room.iter_mut().zip(units).for_each(|(byte, unit)| *byte = *unit as u8);
        } else {
            put_mixed(room, units);
        }
    }

    #[inline]
    fn put_text(&mut self, units: &[u32], tail: usize) -> bool {
        /// Longer text is measured first: the most that it may take is much more than it is likely to.
        const LONGEST: usize = 1 << 12;
        const COUNT: usize = size_of::<u32>();

        debug_assert!(tail <= 1, "at most one NUL");
        // A count, blocks of which the last one may be written whole, and four zeros.
        let most = COUNT + units.len().next_multiple_of(UNITS) * 4 + COUNT;
        if units.len() > LONGEST || self.reserve(most).is_err() {
            return false;
        }
        let room = &mut self.bytes.as_mut()[self.used..];
        let Some((count, text)) = room.split_first_chunk_mut::<COUNT>() else { return false };
        let bytes = if units.iter().fold(0, |all, unit| all | unit) < 0x80 {
            text.iter_mut().zip(units).for_each(|(byte, unit)| *byte = *unit as u8);
            units.len()
        } else {
            match put_units(text, units) {
                Some(bytes) => bytes,
                None => return false,
            }
        };
        let counted = bytes + tail;
        *count = (counted as u32).to_le_bytes();
        // Tail and padding, and perhaps more.
        text[bytes..bytes + 4].fill(0);
        self.used += COUNT + padded(counted);
        true
    }
}

/// An [`Output`] that only counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count(usize);

impl Output for Count {
    #[inline(always)]
    fn len(&self) -> usize {
        self.0
    }

    #[inline(always)]
    fn reserve(&mut self, _bytes: usize) -> Result<()> {
        Ok(())
    }

    #[inline(always)]
    fn put(&mut self, bytes: &[u8]) {
        self.0 += bytes.len();
    }

    #[inline(always)]
    fn put_zeros(&mut self, count: usize) {
        self.0 += count;
    }

    #[inline(always)]
    fn put_block<const N: usize>(&mut self, write: impl FnOnce(&mut [u8; N]) -> usize) -> bool {
        self.0 += write(&mut [0; N]);
        true
    }

    #[inline(always)]
    fn put_utf32(&mut self, _units: &[u32], bytes: usize) {
        self.0 += bytes;
    }
}

/// Bytes of UTF-8 that the engine writes for these code units.
///
/// # Errors
/// [`ErrorKind::InvalidCodeUnit`] for units from 0x8000_0000 on, which no form holds, and, where `strict`, for what does
/// not come back: lone surrogates and units above U+10FFFF, a leading byte-order mark, and NULs.
#[inline]
pub fn utf8_len(units: &[u32], strict: bool) -> Result<usize> {
    // One pass that the compiler vectorises settles the common case.
    let all = units.iter().fold(0, |all, unit| all | unit);
    if strict && (units.first() == Some(&BOM) || units.contains(&0)) {
        let unit = if units.first() == Some(&BOM) { BOM } else { 0 };
        return Err(ErrorKind::InvalidCodeUnit(unit).into());
    }
    if all < 0x80 {
        Ok(units.len())
    } else if all < 0x20_0000 && !strict {
        Ok(utf8_len_to_4(units))
    } else {
        utf8_len_mixed(units, strict)
    }
}

/// The byte-order mark.
const BOM: u32 = 0xFEFF;

/// The text, unless it is to be `strict` and would not come back.
#[inline]
fn utf8_checked(text: &str, strict: bool) -> Result<&str> {
    if strict && text.starts_with(format::BOM) {
        return Err(ErrorKind::InvalidCodeUnit(BOM).into());
    }
    if strict && memchr::memchr(0, text.as_bytes()).is_some() {
        return Err(ErrorKind::InvalidCodeUnit(0).into());
    }
    Ok(text)
}

/// For units of at most four bytes each; without branches, so that the compiler vectorises it.
fn utf8_len_to_4(units: &[u32]) -> usize {
    // The sums of a part fit in 32 bits, which are as wide as the units.
    let part = |units: &[u32]| {
        let beyond = |unit: u32, limit: u32| u32::from(unit >= limit);
        units.iter().map(|&u| 1 + beyond(u, 0x80) + beyond(u, 0x800) + beyond(u, 0x1_0000)).sum::<u32>()
    };
    units.chunks(1 << 16).map(|units| part(units) as usize).sum()
}

fn utf8_len_mixed(units: &[u32], strict: bool) -> Result<usize> {
    let mut bytes = 0;
    for &unit in units {
        bytes += match unit {
            0..0x80 => 1,
            0x80..0x800 => 2,
            0xD800..0xE000 if strict => return Err(ErrorKind::InvalidCodeUnit(unit).into()),
            0x800..0x1_0000 => 3,
            0x1_0000..0x11_0000 => 4,
            _ if strict || unit >= 0x8000_0000 => return Err(ErrorKind::InvalidCodeUnit(unit).into()),
            0x11_0000..0x20_0000 => 4,
            0x20_0000..0x400_0000 => 5,
            _ => 6,
        };
    }
    Ok(bytes)
}

/// Writes code units where they take more bytes than there are units, into exactly the room that they take.
fn put_mixed(room: &mut [u8], units: &[u32]) {
    let mut at = 0;
    for block in units.chunks(UNITS) {
        at += match put_units(&mut room[at..], block) {
            Some(bytes) => bytes,
            // Near the end, or longer than usual.
            None => block.iter().fold(0, |bytes, unit| bytes + put_code_unit(&mut room[at + bytes..], *unit)),
        };
    }
}

/// Code units that are written at once: few enough to be often alike, enough for the compiler to work on several at once.
const UNITS: usize = 16;

/// Writes code units to the start of `room`, and returns how many bytes they take; `None` if there are units that take
/// five or six. `room` must go on behind them, since more is written than is counted.
#[inline]
fn put_units(room: &mut [u8], units: &[u32]) -> Option<usize> {
    let mut at = 0;
    for block in units.chunks(UNITS) {
        let to = room.get_mut(at..)?.first_chunk_mut()?;
        let all = block.iter().fold(0, |all, unit| all | unit);
        at += match all {
            0..0x80 => put_ascii(to, block),
            0x80..0x1_0000 => put_block(to, block, up_to_3_bytes),
            0x1_0000..0x20_0000 => put_block(to, block, up_to_4_bytes),
            _ => return None,
        };
    }
    Some(at)
}

#[inline(always)]
fn put_ascii(room: &mut [u8; 4 * UNITS], block: &[u32]) -> usize {
    match block.first_chunk::<UNITS>() {
        Some(block) => room.iter_mut().zip(block).for_each(|(byte, unit)| *byte = *unit as u8),
        None => room.iter_mut().zip(block).for_each(|(byte, unit)| *byte = *unit as u8),
    }
    block.len()
}

/// Writes four bytes for each code unit, as `bytes` makes them, of which the next one overwrites what is too much.
///
/// No branch depends on the text, and the compiler makes the bytes of several units at once.
#[inline(always)]
fn put_block(room: &mut [u8; 4 * UNITS], block: &[u32], bytes: impl Fn(u32) -> u32) -> usize {
    let (mut made, mut lens) = ([0; UNITS], [0; UNITS]);
    made.iter_mut().zip(block).for_each(|(made, unit)| *made = bytes(*unit));
    for (len, &unit) in lens.iter_mut().zip(block) {
        let beyond = |limit: u32| u32::from(unit >= limit);
        *len = 1 + beyond(0x80) + beyond(0x800) + beyond(0x1_0000);
    }
    let mut at = 0;
    for (made, len) in made.iter().zip(lens).take(block.len()) {
        // Always there, since none is longer than four bytes.
        if let Some(to) = room.get_mut(at..at + 4) {
            to.copy_from_slice(&made.to_le_bytes());
        }
        at += len as usize;
    }
    at
}

/// The bytes of a code unit below 0x1_0000, the first in the lowest bits.
#[inline(always)]
fn up_to_3_bytes(unit: u32) -> u32 {
    let two = 0xC0 | unit >> 6 | tail(unit, 0) << 8;
    let three = 0xE0 | unit >> 12 | tail(unit, 6) << 8 | tail(unit, 0) << 16;
    either(unit < 0x800, either(unit < 0x80, unit, two), three)
}

/// The bytes of a code unit below 0x20_0000, the first in the lowest bits.
#[inline(always)]
fn up_to_4_bytes(unit: u32) -> u32 {
    let four = 0xF0 | unit >> 18 | tail(unit, 12) << 8 | tail(unit, 6) << 16 | tail(unit, 0) << 24;
    either(unit < 0x1_0000, up_to_3_bytes(unit), four)
}

/// A byte behind the first one: six bits from `shift` on.
#[inline(always)]
fn tail(unit: u32, shift: u32) -> u32 {
    0x80 | (unit >> shift & 0x3F)
}

/// A choice without a branch.
#[inline(always)]
fn either(first: bool, a: u32, b: u32) -> u32 {
    let mask = u32::from(first).wrapping_neg();
    (a & mask) | (b & !mask)
}

/// Writes one code unit below 0x8000_0000 in the engine's generalised UTF-8, and returns its length of one to six bytes.
#[inline]
fn put_code_unit(room: &mut [u8], unit: u32) -> usize {
    let tail = |shift: u32| 0x80 | (unit >> shift & 0x3F) as u8;
    let mut put = |bytes: &[u8]| {
        room[..bytes.len()].copy_from_slice(bytes);
        bytes.len()
    };
    match unit {
        0..0x80 => put(&[unit as u8]),
        0x80..0x800 => put(&[0xC0 | (unit >> 6) as u8, tail(0)]),
        0x800..0x1_0000 => put(&[0xE0 | (unit >> 12) as u8, tail(6), tail(0)]),
        0x1_0000..0x20_0000 => put(&[0xF0 | (unit >> 18) as u8, tail(12), tail(6), tail(0)]),
        0x20_0000..0x400_0000 => put(&[0xF8 | (unit >> 24) as u8, tail(18), tail(12), tail(6), tail(0)]),
        _ => put(&[0xFC | (unit >> 30) as u8, tail(24), tail(18), tail(12), tail(6), tail(0)]),
    }
}

/// Writes a header and a payload of 4 bytes where that is enough, otherwise of 8; the same stores for both.
#[inline(always)]
fn put_number(room: &mut [u8; LONGEST], header: u32, payload: u64, narrow: bool) -> usize {
    room[..8].copy_from_slice(&(u64::from(header) | payload << 32).to_le_bytes());
    room[8..12].copy_from_slice(&((payload >> 32) as u32).to_le_bytes());
    if narrow { 8 } else { 12 }
}

/// Writes values in the format of Godot 4, or of another [`Dialect`], one after the other.
#[derive(Debug, Default)]
pub struct Encoder<O, D = Godot4> {
    out: O,
    options: EncodeOptions,
    dialect: PhantomData<D>,
}

/// Counts what an [`Encoder`] would write, by the same code.
pub type Measure = Encoder<Count>;

impl Measure {
    /// A counter at zero.
    pub fn counting(options: EncodeOptions) -> Self {
        Self::new(Count(0), options)
    }

    /// Bytes counted so far.
    pub fn bytes(&self) -> usize {
        self.out.0
    }
}

impl<O: Output> Encoder<O> {
    /// An encoder that appends to `out`.
    pub fn new(out: O, options: EncodeOptions) -> Self {
        Self { out, options, dialect: PhantomData }
    }
}

impl<O: Output> Encoder<O, Godot3> {
    /// An encoder that appends to `out` in Godot 3's format. It only takes what Godot 3 has.
    pub(crate) fn for_godot_3(out: O, strict_text: bool) -> Self {
        let options = EncodeOptions { precision: Precision::Single, strict_text };
        Self { out, options, dialect: PhantomData }
    }
}

impl<O: Output, D: Dialect> Encoder<O, D> {
    /// The header of a type without flags.
    #[inline(always)]
    fn header(ty: VariantType) -> Result<u32> {
        match D::id_of(ty) {
            Some(id) => Ok(id.into()),
            None => Err(ErrorKind::NoCounterpart(format!("Godot 3 has no {ty}").into()).into()),
        }
    }

    /// The output so far.
    pub fn output(&self) -> &O {
        &self.out
    }

    /// The output with everything written.
    pub fn into_output(self) -> O {
        self.out
    }

    /// Makes sure that exactly `bytes` more still give a value that the engine can read.
    #[inline(always)]
    fn reserve(&mut self, bytes: usize) -> Result<()> {
        if bytes > format::MAX_BYTES - self.out.len().min(format::MAX_BYTES) {
            return Err(ErrorKind::TooLarge.into());
        }
        self.out.reserve(bytes)
    }

    #[inline(always)]
    fn put_u32(&mut self, value: u32) {
        self.out.put(&value.to_le_bytes());
    }

    /// A header and a 4-byte payload, as one store.
    #[inline(always)]
    fn put_header_and_u32(&mut self, header: u32, payload: u32) -> Result<()> {
        self.reserve(8)?;
        self.out.put(&(u64::from(header) | u64::from(payload) << 32).to_le_bytes());
        Ok(())
    }

    #[inline(always)]
    fn put_header_and_u64(&mut self, header: u32, payload: u64) -> Result<()> {
        self.reserve(12)?;
        self.out.put(&(u128::from(header) | u128::from(payload) << 32).to_le_bytes()[..12]);
        Ok(())
    }

    /// Writes a run in blocks, each reserved at once.
    ///
    /// `put` writes one value to the start of [`LONGEST`] bytes and returns how many they are; `put_exactly` writes one
    /// where there is no room for a block.
    #[inline(always)]
    fn put_run<T>(
        &mut self,
        values: &mut impl Iterator<Item = T>,
        put: impl Fn(&mut [u8; LONGEST], T) -> usize,
        put_exactly: impl Fn(&mut Self, T) -> Result<()>,
    ) -> Result<()> {
        loop {
            let mut more = true;
            let write = |block: &mut [u8; BLOCK]| {
                let mut at = 0;
                while let Some(room) = block.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
                    match values.next() {
                        Some(value) => at += put(room, value),
                        None => {
                            more = false;
                            break;
                        }
                    }
                }
                at
            };
            let allowed = self.out.len() <= format::MAX_BYTES - BLOCK;
            if !(allowed && self.out.put_block(write)) {
                match values.next() {
                    Some(value) => put_exactly(self, value)?,
                    None => more = false,
                }
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// Counted and padded text.
    #[inline(always)]
    fn put_text(&mut self, text: Text<'_>) -> Result<()> {
        self.put_text_and_tail(text, 0)
    }

    /// Counted and padded text with `tail` counted NULs behind it.
    #[inline(always)]
    fn put_text_and_tail(&mut self, text: Text<'_>, tail: usize) -> Result<()> {
        if let Text::Utf32(units) = text
            && !self.options.strict_text
            && units.len() < (format::MAX_BYTES - self.out.len().min(format::MAX_BYTES)) / 8
            && self.out.put_text(units, tail)
        {
            return Ok(());
        }
        let bytes = match text {
            Text::Utf8(text) => utf8_checked(text, self.options.strict_text)?.len(),
            Text::Utf32(units) => utf8_len(units, self.options.strict_text)?,
        };
        let counted = bytes.saturating_add(tail);
        self.reserve(padded(counted).saturating_add(4))?;
        self.put_u32(counted as u32);
        match text {
            Text::Utf8(text) => self.out.put(text.as_bytes()),
            Text::Utf32(units) => self.out.put_utf32(units, bytes),
        }
        self.out.put_zeros(tail);
        self.out.put_zeros(format::padding(counted));
        Ok(())
    }

    /// The header of a type with components, which says their width.
    #[inline(always)]
    fn lanes_header(&self, ty: VariantType, lane: Lane) -> Result<u32> {
        let wide = lane == Lane::Real && self.options.precision == Precision::Double;
        Ok(Self::header(ty)? | if wide { format::FLAG_64 } else { 0 })
    }

    /// Components, converted where source and wire differ; space has been reserved.
    #[inline(always)]
    fn put_lanes(&mut self, lane: Lane, lanes: Lanes<'_>) {
        if lane != Lane::Real || lanes.precision == self.options.precision {
            self.out.put(lanes.le);
        } else {
            lanes::convert(lanes.le, lanes.precision, |bytes| self.out.put(bytes));
        }
    }

    /// Bytes that these components take on the wire.
    #[inline(always)]
    fn lanes_len(&self, lane: Lane, lanes: Lanes<'_>) -> usize {
        if lane != Lane::Real || lanes.precision == self.options.precision {
            lanes.le.len()
        } else {
            let wide = |precision| precision == Precision::Double;
            lanes.le.len() / lane.width(wide(lanes.precision)) * lane.width(wide(self.options.precision))
        }
    }

    #[inline]
    fn put_element_type(&mut self, element: ElementType<'_>) -> Result<()> {
        match element {
            ElementType::Untyped => Ok(()),
            ElementType::Builtin(ty) => {
                self.reserve(4)?;
                self.put_u32(u32::from(ty.id()));
                Ok(())
            }
            ElementType::Class(text) | ElementType::Script(text) => self.put_text(text),
        }
    }

    /// A count; the format's are signed.
    #[inline(always)]
    fn put_count(&mut self, count: usize) -> Result<()> {
        if count > format::MAX_BYTES {
            return Err(ErrorKind::TooLarge.into());
        }
        self.reserve(4)?;
        self.put_u32(count as u32);
        Ok(())
    }
}

/// Bytes of a run that are written at once: many elements, but little to go without at the end of a fixed room.
const BLOCK: usize = 512;
/// The longest element of a run: a header and the components of four `real_t` of 64 bits.
const LONGEST: usize = 36;

/// So many bytes with their padding.
#[inline(always)]
fn padded(bytes: usize) -> usize {
    bytes.saturating_add(format::padding(bytes))
}

/// The kind bits that announce this element type.
#[inline(always)]
fn kind_bits(element: &ElementType<'_>, shift: u32) -> u32 {
    let kind = match element {
        ElementType::Untyped => ContainerKind::Untyped,
        ElementType::Builtin(_) => ContainerKind::Builtin,
        ElementType::Class(_) => ContainerKind::Class,
        ElementType::Script(_) => ContainerKind::Script,
    };
    (kind as u32) << shift
}

impl<O: Output, D: Dialect> Sink for Encoder<O, D> {
    type Array = ();
    type Dictionary = ();
    type Object = ();
    type Strings = ();

    #[inline(always)]
    fn written(&self) -> usize {
        self.out.len()
    }

    #[inline(always)]
    fn nil(&mut self) -> Result<()> {
        self.reserve(4)?;
        self.put_u32(Self::header(VariantType::Nil)?);
        Ok(())
    }

    #[inline(always)]
    fn bool(&mut self, value: bool) -> Result<()> {
        self.put_header_and_u32(Self::header(VariantType::Bool)?, u32::from(value))
    }

    #[inline(always)]
    fn int(&mut self, value: i64) -> Result<()> {
        match i32::try_from(value) {
            Ok(small) => self.put_header_and_u32(Self::header(VariantType::Int)?, small as u32),
            Err(_) => {
                self.put_header_and_u64(Self::header(VariantType::Int)? | format::FLAG_64, value as u64)
            }
        }
    }

    #[inline(always)]
    fn float(&mut self, value: f64) -> Result<()> {
        let small = value as f32;
        // False for every NaN, which therefore keeps all its bits.
        if f64::from(small) == value {
            self.put_header_and_u32(Self::header(VariantType::Float)?, small.to_bits())
        } else {
            self.put_header_and_u64(Self::header(VariantType::Float)? | format::FLAG_64, value.to_bits())
        }
    }

    #[inline(always)]
    fn text(&mut self, ty: VariantType, text: Text<'_>) -> Result<()> {
        self.reserve(4)?;
        self.put_u32(Self::header(ty)?);
        self.put_text(text)
    }

    #[inline(always)]
    fn fixed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        let Shape::Fixed(lane, _) = ty.shape() else { unreachable!("{ty} has no fixed components") };
        self.reserve(4 + self.lanes_len(lane, lanes))?;
        self.put_u32(self.lanes_header(ty, lane)?);
        self.put_lanes(lane, lanes);
        Ok(())
    }

    #[inline(always)]
    fn packed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        let Shape::Packed(lane, per_element) = ty.shape() else { unreachable!("{ty} is no packed array") };
        let bytes = self.lanes_len(lane, lanes);
        let element = lane.width(lane == Lane::Real && lanes.precision == Precision::Double) * per_element;
        self.reserve(padded(bytes).saturating_add(8))?;
        self.put_u32(self.lanes_header(ty, lane)?);
        self.put_u32((lanes.le.len() / element) as u32);
        self.put_lanes(lane, lanes);
        self.out.put_zeros(format::padding(bytes));
        Ok(())
    }

    fn node_path(&mut self, path: NodePathParts<'_>) -> Result<()> {
        self.reserve(16)?;
        self.put_u32(Self::header(VariantType::NodePath)?);
        self.put_u32(path.names.len() as u32 | format::NODE_PATH_NEW_FORMAT);
        self.put_u32(path.subnames.len() as u32);
        self.put_u32(if path.absolute { format::NODE_PATH_ABSOLUTE } else { 0 });
        path.names.iter().chain(path.subnames).try_for_each(|part| self.put_text(*part))
    }

    #[inline(always)]
    fn rid(&mut self, id: u64) -> Result<()> {
        if !D::HAS_FLAGS {
            self.reserve(4)?;
            self.put_u32(Self::header(VariantType::Rid)?);
            return Ok(());
        }
        self.put_header_and_u64(Self::header(VariantType::Rid)?, id)
    }

    #[inline(always)]
    fn callable(&mut self) -> Result<()> {
        self.reserve(4)?;
        self.put_u32(Self::header(VariantType::Callable)?);
        Ok(())
    }

    fn signal(&mut self, name: Text<'_>, object: u64) -> Result<()> {
        self.reserve(4)?;
        self.put_u32(Self::header(VariantType::Signal)?);
        self.put_text(name)?;
        self.reserve(8)?;
        self.out.put(&object.to_le_bytes());
        Ok(())
    }

    #[inline(always)]
    fn object_id(&mut self, id: u64) -> Result<()> {
        if id == 0 {
            return self.nil();
        }
        self.put_header_and_u64(Self::header(VariantType::Object)? | format::FLAG_OBJECT_AS_ID, id)
    }

    #[inline(always)]
    fn begin_array(&mut self, len: usize, element: ElementType<'_>) -> Result<()> {
        self.reserve(4)?;
        self.put_u32(Self::header(VariantType::Array)? | kind_bits(&element, format::KIND_SHIFT));
        self.put_element_type(element)?;
        self.put_count(len)
    }

    #[inline(always)]
    fn begin_element(&mut self, (): &mut ()) -> Result<()> {
        Ok(())
    }

    #[inline(always)]
    fn end_element(&mut self, (): &mut ()) -> Result<()> {
        Ok(())
    }

    #[inline(always)]
    fn end_array(&mut self, (): ()) -> Result<()> {
        Ok(())
    }

    #[inline(always)]
    fn ints(&mut self, (): &mut (), ints: &mut impl Iterator<Item = i64>) -> Result<()> {
        let int_header = Self::header(VariantType::Int)?;
        let put = |room: &mut [u8; LONGEST], int: i64| {
            let narrow = i64::from(int as i32) == int;
            let header = int_header | if narrow { 0 } else { format::FLAG_64 };
            put_number(room, header, int as u64, narrow)
        };
        self.put_run(ints, put, Self::int)
    }

    #[inline(always)]
    fn floats(&mut self, (): &mut (), floats: &mut impl Iterator<Item = f64>) -> Result<()> {
        let float_header = Self::header(VariantType::Float)?;
        let put = |room: &mut [u8; LONGEST], float: f64| {
            let small = float as f32;
            let narrow = f64::from(small) == float;
            let header = float_header | if narrow { 0 } else { format::FLAG_64 };
            let payload = if narrow { u64::from(small.to_bits()) } else { float.to_bits() };
            put_number(room, header, payload, narrow)
        };
        self.put_run(floats, put, Self::float)
    }

    #[inline(always)]
    fn fixed_run<const N: usize>(
        &mut self,
        (): &mut (),
        ty: VariantType,
        precision: Precision,
        values: &mut impl Iterator<Item = [u8; N]>,
    ) -> Result<()> {
        let Shape::Fixed(lane, _) = ty.shape() else { unreachable!("{ty} has no fixed components") };
        let put_exactly = |encoder: &mut Self, le: [u8; N]| encoder.fixed(ty, Lanes { precision, le: &le });
        if 4 + N > LONGEST || (lane == Lane::Real && precision != self.options.precision) {
            return values.try_for_each(|le| put_exactly(self, le));
        }
        let header = self.lanes_header(ty, lane)?.to_le_bytes();
        let put = |room: &mut [u8; LONGEST], le: [u8; N]| {
            room[..4].copy_from_slice(&header);
            room[4..4 + N].copy_from_slice(&le);
            4 + N
        };
        self.put_run(values, put, put_exactly)
    }

    #[inline(always)]
    fn begin_dictionary(&mut self, len: usize, key: ElementType<'_>, value: ElementType<'_>) -> Result<()> {
        self.reserve(4)?;
        let kinds = kind_bits(&key, format::KIND_SHIFT) | kind_bits(&value, format::VALUE_KIND_SHIFT);
        self.put_u32(Self::header(VariantType::Dictionary)? | kinds);
        self.put_element_type(key)?;
        self.put_element_type(value)?;
        self.put_count(len)
    }

    #[inline(always)]
    fn begin_key(&mut self, (): &mut ()) -> Result<()> {
        Ok(())
    }

    #[inline(always)]
    fn begin_value(&mut self, (): &mut ()) -> Result<()> {
        Ok(())
    }

    #[inline(always)]
    fn end_entry(&mut self, (): &mut ()) -> Result<()> {
        Ok(())
    }

    #[inline(always)]
    fn end_dictionary(&mut self, (): ()) -> Result<()> {
        Ok(())
    }

    fn begin_object(&mut self, class: Text<'_>, properties: usize) -> Result<()> {
        self.reserve(4)?;
        self.put_u32(Self::header(VariantType::Object)?);
        self.put_text(class)?;
        self.put_count(properties)
    }

    fn begin_property(&mut self, (): &mut (), name: Text<'_>) -> Result<()> {
        self.put_text(name)
    }

    fn end_property(&mut self, (): &mut ()) -> Result<()> {
        Ok(())
    }

    fn end_object(&mut self, (): ()) -> Result<()> {
        Ok(())
    }

    #[inline(always)]
    fn begin_strings(&mut self, len: usize) -> Result<()> {
        self.reserve(4)?;
        self.put_u32(Self::header(VariantType::PackedStringArray)?);
        self.put_count(len)
    }

    #[inline(always)]
    fn string(&mut self, (): &mut (), text: Text<'_>) -> Result<()> {
        self.put_text_and_tail(text, 1)
    }

    #[inline(always)]
    fn end_strings(&mut self, (): ()) -> Result<()> {
        Ok(())
    }
}
