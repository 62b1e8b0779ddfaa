//! Code units → UTF-8.

use variant_codec::{ErrorKind, Result};

/// Bytes of UTF-8 that these code units take.
///
/// # Errors
/// [`ErrorKind::InvalidCodeUnit`] for code units that are not characters.
#[inline(always)]
pub fn utf8_len(units: &[u32]) -> Result<usize> {
    // The common case takes one pass, which the compiler vectorises.
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

/// Writes code units to a buffer of exactly their size in UTF-8.
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

/// Whether two names are equal. Comparing slices would be a function call, slow for a few characters.
#[inline(always)]
pub fn same_units(a: &[u32], b: &[u32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
}

/// The same for UTF-8.
#[inline(always)]
pub fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    // Two overlapping words.
    match (a.first_chunk::<8>(), a.first_chunk::<4>()) {
        (Some(_), _) if a.len() > 16 => a == b,
        (Some(start), _) => b.first_chunk() == Some(start) && a.last_chunk::<8>() == b.last_chunk(),
        (_, Some(start)) => b.first_chunk() == Some(start) && a.last_chunk::<4>() == b.last_chunk(),
        _ => a.iter().zip(b).all(|(a, b)| a == b),
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
        for len in 0..40 {
            let name: Vec<u8> = (0..len).collect();
            let units = |name: &[u8]| name.iter().map(|&byte| byte.into()).collect::<Vec<u32>>();
            assert!(same_bytes(&name, &name.clone()) && same_units(&units(&name), &units(&name)));
            for at in 0..name.len() {
                let mut other = name.clone();
                other[at] ^= 0x40;
                assert!(
                    !same_bytes(&name, &other) && !same_units(&units(&name), &units(&other)),
                    "{len} {at}"
                );
            }
            assert!(!same_bytes(&name, &[&name[..], b"_"].concat()));
        }
        for unit in [0xD800, 0xDFFF, 0x11_0000, u32::MAX] {
            assert_eq!(utf8_len(&[0x61, unit]), Err(ErrorKind::InvalidCodeUnit(unit).into()));
        }
    }
}
