//! Text conversion between UTF-8 and code units.

use variant_codec::stream::{Buffer, Encoder, Measure, Sink, Text};
use variant_codec::text::{Utf8Rule, is_ascii_without_nul, to_utf32, utf8_len};
use variant_codec::{EncodeOptions, Limits, Value, VariantType};

/// Conversion in one pass gives the same result as a simple conversion in several passes, in both directions.
pub fn check(data: &[u8]) {
    check_reading(data);
    let units: Vec<u32> = data.as_chunks::<4>().0.iter().copied().map(unit).collect();
    check_writing(&units);
}

/// A code unit whose length in bits is uniformly distributed.
fn unit(bytes: [u8; 4]) -> u32 {
    let word = u32::from_le_bytes(bytes);
    word & (0x7FFF_FFFF >> (word >> 27).min(30))
}

/// The expected result of [`to_utf32`], computed in a simple way.
fn characters(bytes: &[u8]) -> Option<Vec<u32>> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))?;
    Some(text.chars().map(u32::from).collect())
}

/// Reads bytes that may be text.
pub fn check_reading(bytes: &[u8]) {
    let expected = characters(bytes);
    assert_eq!(is_ascii_without_nul(bytes), bytes.iter().all(|byte| (1..0x80).contains(byte)));
    // Sizes of the buffer: the number of bytes, and the number of characters.
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

/// Checks that every way to write these code units, all below 0x8000_0000, gives the same bytes as
/// writing them one by one.
pub fn check_writing(units: &[u32]) {
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
    assert_eq!(utf8_len(units, Utf8Rule::Generalized).expect("units that some form holds"), one_by_one.len());

    let mut expected = vec![VariantType::String.id(), 0, 0, 0];
    expected.extend((one_by_one.len() as u32).to_le_bytes());
    expected.extend(&one_by_one);
    expected.resize(expected.len().next_multiple_of(4), 0);
    let write = |sink: &mut dyn FnMut(Text<'_>)| sink(Text::Utf32(units));
    // Bytes after the output must stay unchanged.
    for slack in [0, 1, 7, 31, 32, 100] {
        let mut memory = vec![0xAA; expected.len() + slack];
        let mut encoder = Encoder::new(Buffer::new(memory.as_mut_slice()), options);
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
