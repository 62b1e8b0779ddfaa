//! Values of all kinds, derived from bytes.

use arbitrary::Unstructured;
use variant_codec::stream::Precision;
use variant_codec::{EncodeOptions, Object, Strictness, Value, View, format};

use super::{Tail, encoded, everything, one_value, parts, read, strict, views};
use crate::{Values, measure};

/// A random value survives writing and reading: whole, in parts and through a view. Truncated bytes are
/// refused.
pub fn check(data: &[u8]) {
    let mut tail = Tail::of(data);
    let precision = if tail.below(2) == 0 { Precision::Single } else { Precision::Double };
    let value = Values { precision, full_objects: true }.draw(&mut Unstructured::new(data));
    let options = EncodeOptions { precision: Some(precision), strict_text: true };
    let written = value.encode_as(options).expect("a value that the format holds");
    assert_eq!(measure(&value, precision), Ok(written.len()));
    assert_eq!(written.len() % 4, 0);
    let expected = encoded(&value);
    let part_bytes = 1 << tail.below(9);
    for strictness in [Strictness::Strict, Strictness::Lenient] {
        let again = read(&written, strictness, &one_value()).expect("what was written");
        assert_eq!(encoded(&again), expected);
        // A NaN does not equal itself.
        if value == value.clone() {
            assert_eq!(again, value);
        }
        if precision == Precision::Single {
            let in_parts = parts::in_parts(&written, strictness, part_bytes).map(|(bytes, _)| bytes);
            assert_eq!(in_parts.as_ref(), Ok(&written), "parts of {part_bytes} bytes");
        }
    }
    strict::check_at_once(&written, &one_value());
    views::compare_all(&written, &View::within(&written, &one_value()).expect("what was written"), &value);

    let needed = written.len() - dispensable_padding(&value);
    let cut = tail.below(written.len() as u64) as usize;
    for end in cut..written.len().min(cut + 8) {
        let bytes = &written[..end];
        assert!(read(bytes, Strictness::Strict, &one_value()).is_err(), "strict reads {end} bytes");
        assert_eq!(read(bytes, Strictness::Lenient, &everything()).is_ok(), end >= needed, "{end} bytes");
    }
}

/// The number of trailing padding bytes that the engine does not need: the padding of a final
/// PackedByteArray.
fn dispensable_padding(value: &Value) -> usize {
    let last = match value {
        Value::PackedByteArray(bytes) => return format::padding(bytes.len()),
        Value::Array(array) => array.values.last(),
        Value::Dictionary(dictionary) => dictionary.entries.last().map(|(_, value)| value),
        Value::Object(Object::Full { properties, .. }) => properties.last().map(|(_, value)| value),
        _ => None,
    };
    last.map_or(0, dispensable_padding)
}
