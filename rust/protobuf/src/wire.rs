//! The two wires: how numbers and the wire types of records are spelled.

use crate::schema::{Kind, Tag};

/// How messages are spelled in bytes. Both come of the same schema, and neither can be read as the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wire {
    /// Protocol Buffers.
    #[default]
    Protobuf,
    /// The compact wire types: a bool takes no bytes beside its tag, and a negative number as many as a positive one.
    Compact,
}

/// What follows a tag, whatever number the wire gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Class {
    Varint,
    /// Compact: a varint of the magnitude of a negative number.
    Negative,
    /// Compact.
    True,
    /// Compact.
    False,
    Fixed32,
    Fixed64,
    Bytes,
    StartGroup,
    EndGroup,
    None,
}

impl Class {
    /// A set of classes with only this one.
    pub const fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl Wire {
    /// What each wire type means.
    pub(crate) const fn classes(self) -> &'static [Class; 8] {
        use Class as C;
        match self {
            Self::Protobuf => {
                &[C::Varint, C::Fixed64, C::Bytes, C::StartGroup, C::EndGroup, C::Fixed32, C::None, C::None]
            }
            Self::Compact => {
                &[C::Varint, C::Negative, C::True, C::False, C::Fixed32, C::Fixed64, C::Bytes, C::None]
            }
        }
    }

    /// The wire type of a class, which the wire has.
    #[inline(always)]
    pub(crate) const fn wire_type(self, class: Class) -> u8 {
        match (self, class) {
            (Self::Protobuf, Class::Fixed64) => 1,
            (Self::Protobuf, Class::Bytes) => 2,
            (Self::Protobuf, Class::Fixed32) => 5,
            (Self::Protobuf, _) => 0,
            // Its classes are in the order of its wire types.
            (Self::Compact, class) => class as u8,
        }
    }

    /// The tag of a record.
    #[inline(always)]
    pub(crate) fn tag(self, tag: Tag, class: Class) -> u64 {
        tag.bytes | u64::from(self.wire_type(class))
    }

    /// Whether numbers of this kind take their sign from the wire type.
    #[inline(always)]
    pub(crate) fn has_signs(self, kind: Kind) -> bool {
        self == Self::Compact && kind.is_signed_varint()
    }

    /// Whether elements of packed lists are in zigzag.
    #[inline(always)]
    pub(crate) fn packs_in_zigzag(self, kind: Kind) -> bool {
        match kind {
            Kind::Sint32 | Kind::Sint64 => true,
            kind => self.has_signs(kind),
        }
    }
}

/// The most bytes of a varint.
pub(crate) const LONGEST_VARINT: usize = 10;
/// The most bytes of a tag or a length.
pub(crate) const LONGEST_TAG: usize = 5;

/// Bytes of a varint.
#[inline(always)]
pub(crate) const fn varint_len(value: u64) -> usize {
    // 9/64 is a little more than 1/7.
    ((value | 1).ilog2() as usize * 9 + 73) / 64
}

/// The lowest bits of each byte of a varint's first eight, and what marks them as not the last one.
const SEVENS: u64 = 0x7F7F_7F7F_7F7F_7F7F;
const MARKS: u64 = !SEVENS;

/// Writes a varint to the start of `room`, and returns how many bytes it takes.
#[inline(always)]
pub(crate) fn put_varint(room: &mut [u8; LONGEST_VARINT], value: u64) -> usize {
    if value < 0x80 {
        room[0] = value as u8;
        return 1;
    }
    if value >= 1 << 56 {
        return put_long_varint(room, value);
    }
    // All groups of seven bits are moved apart at once.
    let value = value & 0x0FFF_FFFF | (value & 0x00FF_FFFF_F000_0000) << 4;
    let value = value & 0x0000_3FFF_0000_3FFF | (value & 0x0FFF_C000_0FFF_C000) << 2;
    let value = value & 0x007F_007F_007F_007F | (value & 0x3F80_3F80_3F80_3F80) << 1;
    let last = value.ilog2() / 8;
    let marked = value | MARKS & ((1 << (8 * last)) - 1);
    room[..8].copy_from_slice(&marked.to_le_bytes());
    last as usize + 1
}

#[inline(never)]
fn put_long_varint(room: &mut [u8; LONGEST_VARINT], mut value: u64) -> usize {
    let mut at = 0;
    while value >= 0x80 && at < LONGEST_VARINT - 1 {
        room[at] = value as u8 | 0x80;
        value >>= 7;
        at += 1;
    }
    room[at] = value as u8;
    at + 1
}

/// The varint that starts with these bytes, and how many it takes; `None` if it takes more.
#[inline(always)]
pub(crate) fn short_varint(bytes: [u8; 8]) -> Option<(u64, usize)> {
    let word = u64::from_le_bytes(bytes);
    let ends = !word & MARKS;
    if ends == 0 {
        return None;
    }
    let value = word & SEVENS & (ends ^ (ends - 1));
    let value = value & 0x007F_007F_007F_007F | (value & 0x7F00_7F00_7F00_7F00) >> 1;
    let value = value & 0x0000_3FFF_0000_3FFF | (value & 0x3FFF_0000_3FFF_0000) >> 2;
    let value = value & 0x0FFF_FFFF | (value & 0x0FFF_FFFF_0000_0000) >> 4;
    Some((value, ends.trailing_zeros() as usize / 8 + 1))
}

/// Signed numbers in the order 0, −1, 1, −2, …
#[inline(always)]
pub(crate) const fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// The reverse.
#[inline(always)]
pub(crate) const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// The start of a text as a number, in the order of texts.
#[inline(always)]
pub(crate) fn start_of(text: &[u8]) -> u64 {
    let mut start = [0; 8];
    let len = text.len().min(8);
    start[..len].copy_from_slice(&text[..len]);
    u64::from_be_bytes(start)
}

/// An int of this kind as a number, in the order of ints.
#[inline(always)]
pub(crate) fn order_of(kind: Kind, int: i64) -> u64 {
    let signed = !matches!(kind, Kind::Uint32 | Kind::Uint64 | Kind::Fixed32 | Kind::Fixed64);
    int as u64 ^ u64::from(signed) << 63
}

/// Widens a float; every bit of a NaN counts.
#[inline(always)]
pub(crate) fn widen(bits: u32) -> f64 {
    let value = f32::from_bits(bits);
    if value.is_nan() {
        let sign = u64::from(bits >> 31) << 63;
        f64::from_bits(sign | 0x7FF0_0000_0000_0000 | u64::from(bits & 0x007F_FFFF) << 29)
    } else {
        f64::from(value)
    }
}

/// Narrows a float to the nearest one, and gives its bits; a NaN keeps those that there is room for.
#[inline(always)]
pub(crate) fn narrow(value: f64) -> u32 {
    if value.is_nan() {
        let bits = value.to_bits();
        let payload = (bits >> 29) as u32 & 0x007F_FFFF;
        // Without any bit it would be an infinity.
        let payload = if payload == 0 { 1 << 22 } else { payload };
        ((bits >> 63) as u32) << 31 | 0x7F80_0000 | payload
    } else {
        (value as f32).to_bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_take_as_many_bytes_as_counted() {
        for bits in 0..64 {
            for value in [(1_u64 << bits) - 1, 1 << bits, u64::MAX >> bits] {
                let expected = (64 - value.leading_zeros() as usize).div_ceil(7).max(1);
                assert_eq!(varint_len(value), expected, "{value}");
                let (mut room, mut by_loop) = ([0xFF; LONGEST_VARINT], [0; LONGEST_VARINT]);
                assert_eq!(put_varint(&mut room, value), expected, "{value}");
                assert_eq!(put_long_varint(&mut by_loop, value), expected, "{value}");
                assert_eq!(room[..expected], by_loop[..expected], "{value}");
                let read = room.first_chunk().and_then(|bytes| short_varint(*bytes));
                assert_eq!(read, (expected <= 8).then_some((value, expected)), "{value}");
            }
        }
    }

    #[test]
    fn zigzag_and_back() {
        // From the table on https://protobuf.dev/programming-guides/encoding/#signed-ints.
        for (signed, unsigned) in
            [(0, 0), (-1, 1), (1, 2), (-2, 3), (0x7FFF_FFFF, 0xFFFF_FFFE), (-0x8000_0000, 0xFFFF_FFFF)]
        {
            assert_eq!(zigzag(signed), unsigned);
            assert_eq!(unzigzag(unsigned), signed);
        }
        assert_eq!((zigzag(i64::MIN), zigzag(i64::MAX)), (u64::MAX, u64::MAX - 1));
        assert_eq!((unzigzag(u64::MAX), unzigzag(u64::MAX - 1)), (i64::MIN, i64::MAX));
    }

    #[test]
    fn nans_keep_their_bits() {
        for bits in
            [0x7FC0_0000, 0xFFC0_0000, 0x7F80_0001, 0xFFFF_FFFF, 0x7FA0_1234, 0x3F80_0000, 0x8000_0000]
        {
            assert_eq!(narrow(widen(bits)), bits);
        }
        assert_eq!(narrow(f64::from_bits(0x7FF0_0000_0000_0001)), 0x7FC0_0000);
    }
}
