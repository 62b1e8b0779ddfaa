//! Large and unusual values in parts. The fuzz targets `parts` and `values` compare parts with the whole.

use conformance::fuzzing::parts::in_parts;
use variant_codec::{Strictness, Value};

#[test]
fn large_values_come_in_parts() {
    let texts: Vec<Value> = (0..1000).map(|i| Value::from(format!("text {i}").as_str())).collect();
    let bytes =
        Value::from(vec![Value::from(texts.clone()), Value::from(7), Value::from(texts)]).encode().unwrap();
    let (again, count) = in_parts(&bytes, Strictness::Strict, 1000).unwrap();
    assert_eq!(again, bytes);
    assert!(count > 20, "only {count} parts");
}

/// The engine reads a negative count of strings as 0, so skimming must not read it as a large count.
#[test]
fn negative_counts_hide_nothing() {
    let bytes = |count| {
        let hex = format!("1c000000 03000000 22000000 {count} 04000000 00000000 00000000");
        hex::decode(hex.replace(' ', "")).unwrap()
    };
    let (again, _) = in_parts(&bytes("01000080"), Strictness::Lenient, 16).unwrap();
    assert_eq!(again, bytes("00000000"));
}
