//! Comparison of names.

/// Whether two names are equal. Comparing slices would call a function, which is slow for a few characters.
#[inline(always)]
pub fn same_units(a: &[u32], b: &[u32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
}

#[inline(always)]
pub fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    // Names of 4 to 16 bytes are compared as two overlapping words.
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
    fn names_are_equal_only_if_every_byte_is() {
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
    }
}
