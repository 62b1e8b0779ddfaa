//! Varints and zigzag.

/// The maximum length of a varint, in bytes.
pub(crate) const LONGEST_VARINT: usize = 10;
/// The maximum length of a tag or a length prefix, in bytes.
pub(crate) const LONGEST_TAG: usize = 5;

#[inline(always)]
pub(crate) const fn varint_len(value: u64) -> usize {
    // This divides the number of bits by 7 and rounds up; 9/64 is a little less than 1/7.
    ((value | 1).ilog2() as usize * 9 + 73) / 64
}

/// The mask of the data bits in a varint's first eight bytes. `MARKS` is the mask of the continuation bits.
const SEVENS: u64 = 0x7F7F_7F7F_7F7F_7F7F;
const MARKS: u64 = !SEVENS;

/// Writes a varint to the start of `target`, and returns its length.
#[inline(always)]
pub(crate) fn put_varint(target: &mut [u8; LONGEST_VARINT], value: u64) -> usize {
    if value < 0x80 {
        target[0] = value as u8;
        return 1;
    }
    if value >= 1 << 56 {
        return put_long_varint(target, value);
    }
    // Spreads all groups of seven bits to one byte each, in parallel.
    let value = value & 0x0FFF_FFFF | (value & 0x00FF_FFFF_F000_0000) << 4;
    let value = value & 0x0000_3FFF_0000_3FFF | (value & 0x0FFF_C000_0FFF_C000) << 2;
    let value = value & 0x007F_007F_007F_007F | (value & 0x3F80_3F80_3F80_3F80) << 1;
    let last = value.ilog2() / 8;
    let marked = value | MARKS & ((1 << (8 * last)) - 1);
    target[..8].copy_from_slice(&marked.to_le_bytes());
    last as usize + 1
}

#[inline(never)]
fn put_long_varint(target: &mut [u8; LONGEST_VARINT], mut value: u64) -> usize {
    let mut at = 0;
    while value >= 0x80 && at < LONGEST_VARINT - 1 {
        target[at] = value as u8 | 0x80;
        value >>= 7;
        at += 1;
    }
    target[at] = value as u8;
    at + 1
}

/// The value and the length of the varint at the start of these bytes; `None` if the varint is longer than
/// eight bytes.
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

/// Maps 0, −1, 1, −2, … to 0, 1, 2, 3, …
#[inline(always)]
pub(crate) const fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// Reverses [`zigzag`].
#[inline(always)]
pub(crate) const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
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
                let (mut target, mut by_loop) = ([0xFF; LONGEST_VARINT], [0; LONGEST_VARINT]);
                assert_eq!(put_varint(&mut target, value), expected, "{value}");
                assert_eq!(put_long_varint(&mut by_loop, value), expected, "{value}");
                assert_eq!(target[..expected], by_loop[..expected], "{value}");
                let read = target.first_chunk().and_then(|bytes| short_varint(*bytes));
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
}
