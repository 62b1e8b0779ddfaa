//! Text in one pass is the text that several careful passes find.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use variant_codec::{
    EncodeOptions, Encoder, Limits, Measure, Room, Sink, Text, Value, VariantType, is_ascii_without_nul,
    to_utf32, utf8_len,
};

/// What [`to_utf32`] has to say, the plain way.
fn characters(bytes: &[u8]) -> Option<Vec<u32>> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))?;
    Some(text.chars().map(u32::from).collect())
}

fn check_reading(bytes: &[u8]) {
    let expected = characters(bytes);
    assert_eq!(is_ascii_without_nul(bytes), bytes.iter().all(|byte| (1..0x80).contains(byte)));
    // Room for the bytes, for exactly the characters, and for one too few.
    let mut rooms = vec![bytes.len()];
    rooms.extend(expected.iter().map(Vec::len));
    for room in rooms {
        let mut units = vec![0xDEAD_BEEF; room];
        let found = to_utf32(bytes, &mut units).map(|count| units[..count].to_vec());
        assert_eq!(found, expected, "{bytes:x?}");
    }
    if let Some(few) = expected.and_then(|units| units.len().checked_sub(1)) {
        assert_eq!(to_utf32(bytes, &mut vec![0; few]), None);
    }
}

/// Every way to write these code units, held against one after the other.
fn check_writing(units: &[u32]) {
    let text: String = units.iter().filter_map(|unit| char::from_u32(*unit)).collect();
    let is_text = text.chars().count() == units.len();
    let options = EncodeOptions::default();
    let mut one_by_one = Vec::new();
    for unit in units {
        let mut alone = Encoder::new(Vec::new(), options);
        alone.text(VariantType::String, Text::Utf32(&[*unit])).expect("a unit that some form holds");
        let alone = alone.into_output();
        let count = u32::from_le_bytes([alone[4], alone[5], alone[6], alone[7]]) as usize;
        one_by_one.extend(&alone[8..8 + count]);
    }
    if is_text {
        assert_eq!(one_by_one, text.as_bytes());
    }
    assert_eq!(utf8_len(units, false).expect("units that some form holds"), one_by_one.len());

    let mut expected = vec![VariantType::String.id(), 0, 0, 0];
    expected.extend((one_by_one.len() as u32).to_le_bytes());
    expected.extend(&one_by_one);
    expected.resize(expected.len().next_multiple_of(4), 0);
    let write = |sink: &mut dyn FnMut(Text<'_>)| sink(Text::Utf32(units));
    // Something stands behind what is written, which must stay.
    for slack in [0, 1, 7, 31, 32, 100] {
        let mut memory = vec![0xAA; expected.len() + slack];
        let mut encoder = Encoder::new(Room::new(memory.as_mut_slice()), options);
        write(&mut |text| encoder.text(VariantType::String, text).expect("the room is large enough"));
        assert_eq!(encoder.into_output().written(), expected, "{units:x?}");
    }
    let mut encoder = Encoder::new(Vec::new(), options);
    write(&mut |text| encoder.text(VariantType::String, text).expect("memory"));
    assert_eq!(encoder.into_output(), expected, "{units:x?}");
    let mut measure = Measure::counting(options);
    write(&mut |text| measure.text(VariantType::String, text).expect("nothing is written"));
    assert_eq!(measure.bytes(), expected.len());
    if is_text && !text.contains('\0') && !text.starts_with('\u{FEFF}') {
        let read = Value::decode(&expected, &Limits::for_save_files()).expect("canonical bytes");
        assert_eq!(read, Value::from(text));
    }
}

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
            assert!(utf8_len(&units, false).is_err());
        }
    }
}

fn unit() -> impl Strategy<Value = u32> {
    prop_oneof![
        8 => 0x20..0x7F_u32,
        3 => 0x80..0x800_u32,
        2 => 0x800..0xD800_u32,
        1 => 0x1_0000..0x11_0000_u32,
        1 => select(EDGES.to_vec()),
    ]
}

proptest! {
    #[test]
    fn random_text(units in vec(unit(), 0..300)) {
        check_writing(&units);
        let text: String = units.iter().filter_map(|unit| char::from_u32(*unit)).collect();
        check_reading(text.as_bytes());
    }

    #[test]
    fn random_units(units in vec(0..0x8000_0000_u32, 0..60)) {
        check_writing(&units);
    }

    #[test]
    fn random_bytes(bytes in vec(any::<u8>(), 0..60)) {
        check_reading(&bytes);
    }

    #[test]
    fn damaged_text(units in vec(unit(), 1..60), place: prop::sample::Index, byte: u8) {
        let text: String = units.iter().filter_map(|unit| char::from_u32(*unit)).collect();
        let mut bytes = text.into_bytes();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        check_reading(&bytes);
        check_reading(&bytes[..place]);
        check_reading(&bytes[place..]);
    }
}
