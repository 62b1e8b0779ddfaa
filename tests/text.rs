//! Text conversion in one pass gives the same result as conversion in several passes. The fuzz target `text`
//! tries random text.

use conformance::fuzzing::text::{check_reading, check_writing};
use variant_codec::text::{Utf8Rule, utf8_len};

/// The first and last character of each UTF-8 length, and characters around every boundary.
const EDGES: [u32; 14] =
    [1, 0x41, 0x7F, 0x80, 0x159, 0x7FF, 0x800, 0x65E5, 0xD7FF, 0xE000, 0xFFFD, 0xFFFF, 0x1_0000, 0x10_FFFF];

#[test]
fn non_ascii_characters_at_every_offset() {
    for len in 0..40 {
        for edge in EDGES {
            for place in 0..len {
                for more in 0..4 {
                    let mut units = vec![0x61; len];
                    units[place..(place + 1 + more).min(len)].fill(edge);
                    check_writing(&units);
                    let text: String = units.iter().filter_map(|unit| char::from_u32(*unit)).collect();
                    check_reading(text.as_bytes());
                }
            }
            check_writing(&vec![edge; len]);
        }
    }
}

#[test]
fn invalid_bytes_at_every_offset() {
    let bad = "00 80 bf c080 c1bf c2 e08080 e09fbf e282 eda080 edbfbf \
        f0808080 f08fbfbf f4908080 f5808080 f09f90 ff fe f888808080 c3c3a9";
    let bad: Vec<_> = bad.split(' ').map(|hex| hex::decode(hex).expect("hexadecimal bytes")).collect();
    for len in 0..24 {
        for place in 0..=len {
            for bad in &bad {
                for filler in ["a", "\u{159}", "\u{65E5}", "\u{1F40E}"] {
                    let mut bytes = filler.repeat(place).into_bytes();
                    bytes.extend(bad);
                    bytes.extend(filler.repeat(len - place).bytes());
                    check_reading(&bytes);
                }
            }
        }
    }
}

#[test]
fn code_units_beyond_unicode() {
    let odd = [0, 0xD800, 0xDFFF, 0x11_0000, 0x1F_FFFF, 0x20_0000, 0x3FF_FFFF, 0x400_0000, 0x7FFF_FFFF];
    for len in 1..20 {
        for place in 0..len {
            for unit in odd {
                for filler in [0x61, 0x159, 0x65E5, 0x1_F40E] {
                    let mut units = vec![filler; len];
                    units[place] = unit;
                    check_writing(&units);
                }
            }
            let mut units = vec![0x61; len];
            units[place] = 0x8000_0000;
            assert!(utf8_len(&units, Utf8Rule::Generalized).is_err());
        }
    }
}
