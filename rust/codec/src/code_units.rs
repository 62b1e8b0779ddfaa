//! Converts the engine's code units to UTF-8.

use crate::error::{ErrorKind, Result};

/// A rule for which code units may be written as UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Utf8Rule {
    /// All units below 0x8000_0000, in one to six bytes, as the engine writes them.
    Generalized,
    /// Unicode scalar values only, as in standard UTF-8.
    Scalars,
    /// Scalar values that survive a round trip: no byte-order mark at the start, no NULs.
    RoundTrip,
}

/// The number of UTF-8 bytes that these code units take.
///
/// # Errors
/// [`ErrorKind::InvalidCodeUnit`] if the rule forbids a unit.
#[inline]
pub fn utf8_len(units: &[u32], rule: Utf8Rule) -> Result<usize> {
    // One pass that the compiler vectorises settles the common case.
    let all = units.iter().fold(0, |all, unit| all | unit);
    if rule == Utf8Rule::RoundTrip && (units.first() == Some(&BOM) || units.contains(&0)) {
        let unit = if units.first() == Some(&BOM) { BOM } else { 0 };
        return Err(ErrorKind::InvalidCodeUnit(unit).into());
    }
    if all < 0x80 {
        Ok(units.len())
    } else if all < 0x20_0000 && rule == Utf8Rule::Generalized {
        Ok(utf8_len_to_4(units))
    } else {
        utf8_len_mixed(units, rule != Utf8Rule::Generalized)
    }
}

pub(crate) const BOM: u32 = 0xFEFF;

/// The UTF-8 length of units that take at most four bytes each. Branch-free, so that the compiler vectorises
/// it.
fn utf8_len_to_4(units: &[u32]) -> usize {
    // The sum of a chunk fits in a u32, so the vectorised additions are as wide as the units.
    let chunk_len = |units: &[u32]| {
        let beyond = |unit: u32, limit: u32| u32::from(unit >= limit);
        units.iter().map(|&u| 1 + beyond(u, 0x80) + beyond(u, 0x800) + beyond(u, 0x1_0000)).sum::<u32>()
    };
    units.chunks(1 << 16).map(|units| chunk_len(units) as usize).sum()
}

#[inline(never)]
fn utf8_len_mixed(units: &[u32], scalars: bool) -> Result<usize> {
    let mut bytes = 0;
    for &unit in units {
        bytes += match unit {
            0..0x80 => 1,
            0x80..0x800 => 2,
            0xD800..0xE000 if scalars => return Err(ErrorKind::InvalidCodeUnit(unit).into()),
            0x800..0x1_0000 => 3,
            0x1_0000..0x11_0000 => 4,
            _ if scalars || unit >= 0x8000_0000 => return Err(ErrorKind::InvalidCodeUnit(unit).into()),
            0x11_0000..0x20_0000 => 4,
            0x20_0000..0x400_0000 => 5,
            _ => 6,
        };
    }
    Ok(bytes)
}

/// Writes code units as UTF-8. `target` must have the length that [`utf8_len`] gives.
#[inline]
pub fn put_utf8(target: &mut [u8], units: &[u32]) {
    if target.len() == units.len() {
        target.iter_mut().zip(units).for_each(|(byte, unit)| *byte = *unit as u8);
    } else {
        put_mixed(target, units);
    }
}

#[inline(never)]
fn put_mixed(target: &mut [u8], units: &[u32]) {
    let mut at = 0;
    for block in units.chunks(UNITS) {
        at += match put_units(&mut target[at..], block) {
            Some(bytes) => bytes,
            None => {
                block.iter().fold(0, |bytes, unit| bytes + put_code_unit(&mut target[at + bytes..], *unit))
            }
        };
    }
}

/// The number of code units per block. It is small, so that all units of a block often take the same number
/// of bytes, but large enough for the compiler to vectorise. A Czech String takes 37 ns in blocks of 8, 34 ns
/// in blocks of 16, and more in blocks of 32.
pub(crate) const UNITS: usize = 16;

/// Writes code units to the start of `target` and returns their length in bytes. Returns `None` if a unit
/// takes five or six bytes or `target` is too short. `target` needs spare bytes, since whole blocks are
/// written.
#[inline]
pub(crate) fn put_units(target: &mut [u8], units: &[u32]) -> Option<usize> {
    let mut at = 0;
    for block in units.chunks(UNITS) {
        let to = target.get_mut(at..)?.first_chunk_mut()?;
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
fn put_ascii(target: &mut [u8; 4 * UNITS], block: &[u32]) -> usize {
    match block.first_chunk::<UNITS>() {
        Some(block) => target.iter_mut().zip(block).for_each(|(byte, unit)| *byte = *unit as u8),
        None => target.iter_mut().zip(block).for_each(|(byte, unit)| *byte = *unit as u8),
    }
    block.len()
}

/// Writes the four bytes that `bytes` returns for each code unit; the next unit overwrites the unused ones.
///
/// No branch depends on the text, so the compiler converts several units at once.
#[inline(always)]
fn put_block(target: &mut [u8; 4 * UNITS], block: &[u32], bytes: impl Fn(u32) -> u32) -> usize {
    let (mut made, mut lens) = ([0; UNITS], [0; UNITS]);
    made.iter_mut().zip(block).for_each(|(made, unit)| *made = bytes(*unit));
    for (len, &unit) in lens.iter_mut().zip(block) {
        let beyond = |limit: u32| u32::from(unit >= limit);
        *len = 1 + beyond(0x80) + beyond(0x800) + beyond(0x1_0000);
    }
    let mut at = 0;
    for (made, len) in made.iter().zip(lens).take(block.len()) {
        // Always in range: no unit is longer than four bytes.
        if let Some(to) = target.get_mut(at..at + 4) {
            to.copy_from_slice(&made.to_le_bytes());
        }
        at += len as usize;
    }
    at
}

/// The bytes of a code unit below 0x1_0000, with the first byte in the lowest bits.
#[inline(always)]
fn up_to_3_bytes(unit: u32) -> u32 {
    let two = 0xC0 | unit >> 6 | tail(unit, 0) << 8;
    let three = 0xE0 | unit >> 12 | tail(unit, 6) << 8 | tail(unit, 0) << 16;
    either(unit < 0x800, either(unit < 0x80, unit, two), three)
}

/// The bytes of a code unit below 0x20_0000, with the first byte in the lowest bits.
#[inline(always)]
fn up_to_4_bytes(unit: u32) -> u32 {
    let four = 0xF0 | unit >> 18 | tail(unit, 12) << 8 | tail(unit, 6) << 16 | tail(unit, 0) << 24;
    either(unit < 0x1_0000, up_to_3_bytes(unit), four)
}

/// A UTF-8 continuation byte that holds six bits of `unit`, from bit `shift` on.
#[inline(always)]
fn tail(unit: u32, shift: u32) -> u32 {
    0x80 | (unit >> shift & 0x3F)
}

/// Returns `a` if `first`, otherwise `b`, without a branch.
#[inline(always)]
fn either(first: bool, a: u32, b: u32) -> u32 {
    let mask = u32::from(first).wrapping_neg();
    (a & mask) | (b & !mask)
}

/// Writes one code unit below 0x8000_0000 in the engine's generalised UTF-8, and returns its length, one to
/// six bytes.
#[inline]
fn put_code_unit(target: &mut [u8], unit: u32) -> usize {
    let tail = |shift: u32| 0x80 | (unit >> shift & 0x3F) as u8;
    let mut put = |bytes: &[u8]| {
        target[..bytes.len()].copy_from_slice(bytes);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_units_match_the_standard_library() {
        for text in ["", "plain", "größer", "日本語 and more", "👾", "a\0b"] {
            let units: Vec<u32> = text.chars().map(u32::from).collect();
            let mut target = vec![0; utf8_len(&units, Utf8Rule::Scalars).unwrap()];
            put_utf8(&mut target, &units);
            assert_eq!(target, text.as_bytes());
        }
        for unit in [0xD800, 0xDFFF, 0x11_0000, u32::MAX] {
            assert_eq!(
                utf8_len(&[0x61, unit], Utf8Rule::Scalars),
                Err(ErrorKind::InvalidCodeUnit(unit).into())
            );
        }
    }
}
