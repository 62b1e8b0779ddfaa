//! Code units → UTF-8.

use variant_codec::{ErrorKind, Result};

/// Bytes of UTF-8 that these code units take.
///
/// # Errors
/// [`ErrorKind::InvalidCodeUnit`] for what is no character.
#[inline(always)]
pub fn utf8_len(units: &[u32]) -> Result<usize> {
    // One pass that the compiler vectorises settles the common case.
    if is_ascii(units) { Ok(units.len()) } else { mixed_len(units) }
}

#[inline(always)]
fn is_ascii(units: &[u32]) -> bool {
    units.iter().fold(0, |all, unit| all | unit) < 0x80
}

#[inline(never)]
fn mixed_len(units: &[u32]) -> Result<usize> {
    units.iter().try_fold(0, |bytes, &unit| {
        let character = char::from_u32(unit).ok_or(ErrorKind::InvalidCodeUnit(unit))?;
        Ok(bytes + character.len_utf8())
    })
}

/// Writes code units into exactly the room that they take.
#[inline(always)]
pub fn put_utf8(room: &mut [u8], units: &[u32]) {
    if room.len() == units.len() {
        room.iter_mut().zip(units).for_each(|(byte, unit)| *byte = *unit as u8);
    } else {
        put_mixed(room, units);
    }
}

#[inline(never)]
fn put_mixed(mut room: &mut [u8], units: &[u32]) {
    for character in units.iter().filter_map(|unit| char::from_u32(*unit)) {
        let len = character.encode_utf8(room).len();
        room = &mut room[len..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_standard_library_does() {
        for text in ["", "plain", "größer", "日本語 and more", "👾", "a\\0b"] {
            let units: Vec<u32> = text.chars().map(u32::from).collect();
            let mut room = vec![0; utf8_len(&units).unwrap()];
            put_utf8(&mut room, &units);
            assert_eq!(room, text.as_bytes());
        }
        for unit in [0xD800, 0xDFFF, 0x11_0000, u32::MAX] {
            assert_eq!(utf8_len(&[0x61, unit]), Err(ErrorKind::InvalidCodeUnit(unit).into()));
        }
    }
}
