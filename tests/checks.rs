//! `quick_check` accepts ordinary values. The fuzz targets `strict` and `values` check the values that
//! `quick_check` accepts.

use conformance::Values;
use proptest::prelude::*;
use variant_codec::value::OwnedElementType;
use variant_codec::{Array, Dictionary, Limits, Object, QuickCheck, Value, VariantType, format, quick_check};

/// Returns whether `value` contains only kinds that `quick_check` accepts.
fn is_ordinary(value: &Value) -> bool {
    let is_plain = |ty: &OwnedElementType| match ty {
        OwnedElementType::Untyped => true,
        OwnedElementType::Builtin(ty) => *ty != VariantType::Object,
        _ => false,
    };
    match value {
        Value::Array(Array { element, values }) => is_plain(element) && values.iter().all(is_ordinary),
        Value::Dictionary(Dictionary { key, value, entries }) => {
            let is_key = |key: &Value| matches!(key, Value::String(_) | Value::StringName(_) | Value::Int(_));
            let is_twin = |(index, (key, _)): (usize, &(Value, Value))| {
                let same_text = |other: &Value| key.as_str().is_some_and(|text| other.as_str() == Some(text));
                entries[..index].iter().any(|(other, _)| other == key || same_text(other))
            };
            is_plain(key)
                && is_plain(value)
                && !entries.iter().enumerate().any(is_twin)
                && entries.iter().all(|(key, value)| is_key(key) && is_ordinary(value))
        }
        Value::Object(Object::Full { .. }) => false,
        _ => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_quick_check_accepts_ordinary_values(value in Values::default().any()) {
        let bytes = value.encode().unwrap();
        let found = quick_check(&bytes, &Limits::for_save_files());
        if is_ordinary(&value) {
            prop_assert_eq!(found, Some(bytes.len()), "{:?}", value);
        }
    }
}

#[test]
fn the_quick_check_finds_equal_keys_among_any_number() {
    for count in [2, 12, 13, 64, 65, 1000] {
        let entry = |index: usize| (format!("key {index}"), Value::from(index as i64));
        let rows: Vec<Value> = (0..3).map(|_| (0..count).map(entry).collect()).collect();
        let bytes = Value::from(rows.clone()).encode().unwrap();
        assert_eq!(quick_check(&bytes, &Limits::for_save_files()), Some(bytes.len()), "{count} keys");
        // Each row in turn gets a last key that repeats its first key, because the check compares later rows
        // with the keys of earlier rows.
        for twin in 0..rows.len() {
            let mut rows = rows.clone();
            let Value::Dictionary(row) = &mut rows[twin] else { unreachable!() };
            row.entries[count - 1].0 = Value::from("key 0");
            let mut check = QuickCheck::default();
            for (index, row) in rows.iter().enumerate() {
                let bytes = row.encode().unwrap();
                let found = check.check(&bytes, &Limits::for_save_files());
                assert_eq!(found, (index != twin).then_some(bytes.len()), "{count} keys");
            }
            let bytes = Value::from(rows).encode().unwrap();
            assert_eq!(quick_check(&bytes, &Limits::for_save_files()), None, "{count} keys");
        }
    }
}

#[test]
fn the_quick_check_keeps_the_depth_limit() {
    let nested = |levels: u32| (0..levels).fold(Value::from(1), |value, _| Value::from(vec![value]));
    for depth in [0, 1, 5] {
        let limits = Limits { max_depth: depth, ..Limits::for_save_files() };
        let [good, deep] = [depth, depth + 1].map(|levels| nested(levels).encode().unwrap());
        assert_eq!(quick_check(&good, &limits), Some(good.len()));
        assert_eq!(quick_check(&deep, &limits), None);
    }
    let bytes = nested(format::MAX_DEPTH).encode().unwrap();
    assert_eq!(quick_check(&bytes, &Limits::for_save_files()), Some(bytes.len()));
}
