//! Text in one pass is the text that several careful passes find. The fuzz target `text` tries random text.

use conformance::fuzzing::text::{check_reading, check_writing};
use variant_codec::text::{Utf8Rule, utf8_len};

/// The first and last character of each length, and others around every boundary.
const EDGES: [u32; 14] =
    [1, 0x41, 0x7F, 0x80, 0x159, 0x7FF, 0x800, 0x65E5, 0xD7FF, 0xE000, 0xFFFD, 0xFFFF, 0x1_0000, 0x10_FFFF];

#[test]
fn other_characters_at_every_place() {
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
fn bad_bytes_at_every_place() {
    let bad: [&[u8]; 20] = [
        b"\0",
        b"\x80",
        b"\xBF",
        b"\xC0\x80",
        b"\xC1\xBF",
        b"\xC2",
        b"\xE0\x80\x80",
        b"\xE0\x9F\xBF",
        b"\xE2\x82",
        b"\xED\xA0\x80",
        b"\xED\xBF\xBF",
        b"\xF0\x80\x80\x80",
        b"\xF0\x8F\xBF\xBF",
        b"\xF4\x90\x80\x80",
        b"\xF5\x80\x80\x80",
        b"\xF0\x9F\x90",
        b"\xFF",
        b"\xFE",
        b"\xF8\x88\x80\x80\x80",
        b"\xC3\xC3\xA9",
    ];
    for len in 0..24 {
        for place in 0..=len {
            for bad in bad {
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
fn units_beyond_unicode() {
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
