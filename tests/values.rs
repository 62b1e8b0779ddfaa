//! Values as Rust programs make and inspect them.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use conformance::{Values, rows};
use proptest::prelude::*;
use variant_codec::stream::Precision;
use variant_codec::{
    Array, Dictionary, Error, ErrorKind, Limits, NodePath, Object, Strictness, Value, VariantType,
};

/// Reinserts all entries of all Dictionaries, as the engine does when it reads.
fn inserted_anew(value: Value) -> Value {
    match value {
        Value::Dictionary(dictionary) => {
            let mut anew = Dictionary { entries: Vec::new(), ..dictionary.clone() };
            anew.extend(
                dictionary.into_iter().map(|(key, value)| (inserted_anew(key), inserted_anew(value))),
            );
            anew.into()
        }
        Value::Array(array) => {
            let values = array.values.into_iter().map(inserted_anew).collect();
            Array { values, ..array }.into()
        }
        other => other,
    }
}

/// `insert` treats equal keys as the engine does.
#[test]
fn insert_treats_equal_keys_as_the_engine_does() {
    let mut merged = 0;
    for row in rows().iter().filter(|row| row.label.contains("keys") && !row.objects) {
        let (Some(engine), Ok(value)) =
            (&row.accepted, Value::decode_as(&row.bytes, Strictness::Lenient, &row.limits()))
        else {
            continue;
        };
        let written = inserted_anew(value.clone()).encode().unwrap();
        assert!(engine.is_reencoded(&written), "{}: {}", row.label, hex::encode(&written));
        merged += usize::from(written != value.encode().unwrap());
    }
    assert!(merged >= 5, "only {merged} rows had equal keys");
}

#[test]
fn rust_types_become_values() {
    let int = Value::Int(7);
    for made in [
        Value::from(7_i8),
        Value::from(7_i16),
        Value::from(7_i32),
        Value::from(7_i64),
        Value::from(7_u8),
        Value::from(7_u16),
        Value::from(7_u32),
        Value::try_from(7_u64).unwrap(),
        Value::try_from(7_usize).unwrap(),
        Value::try_from(7_isize).unwrap(),
        Value::try_from(7_i128).unwrap(),
        Value::try_from(7_u128).unwrap(),
        Value::from(Some(7)),
    ] {
        assert_eq!(made, int);
    }
    assert_eq!(Value::from(true), Value::Bool(true));
    assert_eq!(Value::from(0.5_f32), Value::Float(0.5));
    assert_eq!(Value::from(0.1_f32), Value::Float(f64::from(0.1_f32)));
    assert_eq!(Value::from(None::<i32>), Value::Nil);
    assert_eq!(Value::from(()), Value::Nil);
    let text = Value::String("a".into());
    for made in [
        Value::from("a"),
        Value::from('a'),
        Value::from(&"a".to_owned()),
        Value::from("a".to_owned()),
        Value::from(Box::<str>::from("a")),
        Value::from(Cow::from("a")),
    ] {
        assert_eq!(made, text);
    }
    let array = Value::Array(Array { values: vec![Value::Int(1), Value::Int(2)], ..Array::default() });
    for made in [
        Value::from(vec![1, 2]),
        Value::from([1_u16, 2]),
        Value::from(&[1_i8, 2][..]),
        Value::from(&[1_i64, 2]),
        Value::from_iter([1, 2]),
        [Value::Int(1), Value::Int(2)].into_iter().collect(),
        Value::from(Array::from(vec![1, 2])),
    ] {
        assert_eq!(made, array);
    }
    let bytes = Value::PackedByteArray(vec![1, 2]);
    for made in [Value::from(vec![1_u8, 2]), Value::from([1_u8, 2]), Value::from(b"\x01\x02")] {
        assert_eq!(made, bytes);
    }
    assert_eq!(Value::from(vec![b"\x01".to_vec()])[0], Value::PackedByteArray(vec![1]));
    let dictionary = Value::from(vec![("hp".into(), 7.into())]);
    for made in [
        Value::from(HashMap::from([("hp", 7)])),
        Value::from(BTreeMap::from([("hp".to_owned(), 7_u8)])),
        Value::from_iter([("hp", 7)]),
        Value::from(Dictionary::from_iter([("hp", 7)])),
    ] {
        assert_eq!(made, dictionary);
    }
}

#[test]
fn conversions_refuse_values_out_of_range() {
    let out_of_range = |value: &str, expected| -> Result<(), ErrorKind> {
        Err(ErrorKind::OutOfRange { value: value.into(), expected })
    };
    let kind = |error: Error| error.kind().clone();
    let too_large = u64::MAX.to_string();
    assert_eq!(Value::try_from(u64::MAX).map(drop).map_err(kind), out_of_range(&too_large, "int"));
    assert_eq!(u8::try_from(Value::Int(256)).map(drop).map_err(kind), out_of_range("256", "u8"));
    assert_eq!(u64::try_from(Value::Int(-1)).map(drop).map_err(kind), out_of_range("-1", "u64"));
    assert_eq!(f32::try_from(Value::Float(0.1)).map(drop).map_err(kind), out_of_range("0.1", "f32"));
    let odd = (1 << 53) + 1;
    assert_eq!(
        f64::try_from(Value::Int(odd)).map(drop).map_err(kind),
        out_of_range("9007199254740993", "f64")
    );
    assert_eq!(Value::Int(i64::MAX).as_f64(), None);
    assert_eq!(Value::Int(i64::MIN).as_f64(), Some(-9_223_372_036_854_775_808.0));
    assert!(f32::try_from(Value::Float(f64::NAN)).unwrap().is_nan());
    let unexpected = ErrorKind::UnexpectedType { expected: "int", found: VariantType::String };
    assert_eq!(i32::try_from(&Value::from("7")).map_err(kind), Err(unexpected));
    assert_eq!(<&str>::try_from(&Value::StringName("a".into())), Ok("a"));
    assert_eq!(Vec::<u8>::try_from(Value::from(b"ab")), Ok(b"ab".to_vec()));
    let path = NodePath { names: vec!["a".into()], ..NodePath::default() };
    assert_eq!(NodePath::try_from(Value::from(path.clone())), Ok(path));
    assert_eq!(Object::try_from(Value::Object(Object::Id(7))), Ok(Object::Id(7)));
    assert_eq!(Value::from("7").as_i64(), None);
}

#[test]
fn values_are_found_by_key_and_index() {
    let hero = Object::Full { class: "Node".into(), properties: vec![("hp".into(), 7.into())] };
    let value = Value::from_iter([
        (Value::StringName("name".into()), Value::from("Ada")),
        (Value::Int(3), Value::from([10, 11])),
        (Value::Float(f64::NAN), Value::Bool(true)),
        (Value::from("hero"), Value::from(hero)),
    ]);
    assert_eq!(value["name"].as_str(), Some("Ada"));
    assert_eq!(value[3][1].as_i64(), Some(11));
    assert_eq!(value["hero"]["hp"].as_i64(), Some(7));
    assert_eq!(value.get(Value::Float(f64::NAN)), Some(&Value::Bool(true)));
    assert_eq!(value.get(String::from("name")), value.get("name"));
    // An int does not equal a float, and a missing value is nil.
    assert_eq!(value.get(Value::Float(3.0)), None);
    assert!(value["name"]["first"].is_nil() && value[3][2].is_nil() && value[4].is_nil());
    assert_eq!(Value::from_iter([(-3, "a")]).get(3), None);
}

#[test]
fn accessors_return_only_their_type() {
    let path = NodePath { names: vec!["a".into()], ..NodePath::default() };
    let mut values = [
        Value::from(true),
        Value::from(-7),
        Value::from(0.5),
        Value::from("a"),
        Value::from(b"ab"),
        Value::from([1, 2]),
        Value::from_iter([("a", 1)]),
        Value::from(path.clone()),
        Value::Object(Object::Id(7)),
    ];
    let only = |is: fn(&Value) -> bool| values.iter().map(is).collect::<Vec<_>>();
    let accessors: [fn(&Value) -> bool; 9] = [
        |value| value.as_bool() == Some(true),
        |value| value.as_i64() == Some(-7),
        |value| value.as_f64() == Some(0.5),
        |value| value.as_str() == Some("a"),
        |value| value.as_bytes() == Some(b"ab"),
        |value| value.as_array().is_some_and(|array| array.len() == 2),
        |value| value.as_dictionary().is_some_and(|dictionary| dictionary.contains_key("a")),
        |value| value.as_node_path().is_some_and(|path| path.names == ["a"]),
        |value| value.as_object() == Some(&Object::Id(7)),
    ];
    for (index, accessor) in accessors.into_iter().enumerate() {
        let expected: Vec<bool> = (0..values.len()).map(|at| at == index).collect();
        assert_eq!(only(accessor), expected, "accessor {index}");
    }
    assert_eq!((Value::from(7).as_u64(), Value::from(-7).as_u64()), (Some(7), None));
    assert!(Value::Object(Object::Null).is_nil() && !values[0].is_nil());
    for value in &mut values {
        let is_container = [value.as_array_mut().is_some(), value.as_dictionary_mut().is_some()];
        assert_eq!(is_container, [value.as_array().is_some(), value.as_dictionary().is_some()]);
        *value.get_mut(0).unwrap_or(&mut Value::Nil) = 5.into();
        *value.get_mut("a").unwrap_or(&mut Value::Nil) = 6.into();
    }
    assert_eq!((&values[5][0], &values[6]["a"]), (&Value::Int(5), &Value::Int(6)));
}

#[test]
fn dictionaries_can_be_changed() {
    let mut empty = (Array::new(), Dictionary::new());
    assert!(empty.0.is_empty() && empty.1.is_empty() && empty.1.insert("a", 1).is_none());
    *empty.1.get_mut("a").unwrap() = 2.into();
    assert_eq!((empty.0.get(0), empty.1.get("a"), empty.1.len()), (None, Some(&Value::Int(2)), 1));
    let mut dictionary = Dictionary::from_iter([("a", 1), ("b", 2), ("c", 3)]);
    assert_eq!(dictionary.insert(Value::StringName("a".into()), 4), Some(Value::Int(1)));
    assert_eq!(dictionary.remove("b"), Some(Value::Int(2)));
    assert_eq!(dictionary.remove("b"), None);
    dictionary.extend([("c", 5), ("d", 6)]);
    let texts: Vec<_> = dictionary.keys().filter_map(Value::as_str).collect();
    let ints: Vec<_> = dictionary.values().filter_map(Value::as_i64).collect();
    assert_eq!((texts, ints), (vec!["a", "c", "d"], vec![4, 5, 6]));
    assert_eq!((&dictionary).into_iter().rev().map(|(key, _)| key).next(), Some(&Value::from("d")));
    let mut array = Array::from_iter([1]);
    array.extend([2, 3]);
    array.push("four");
    (&mut array).into_iter().take(1).for_each(|value| *value = Value::Nil);
    assert_eq!(array.into_iter().collect::<Vec<_>>(), [Value::Nil, 2.into(), 3.into(), "four".into()]);
}

/// The fingerprint computed step by step from its definition; only the hash function comes from a library.
fn fingerprint_by_definition(value: &Value) -> u64 {
    xxhash_rust::xxh3::xxh3_64(&form(value))
}

/// The encoded value, with sums in place of the entries of Dictionaries.
fn form(value: &Value) -> Vec<u8> {
    let list = |head: &Value, parts: &[&Value]| {
        let mut form = head.encode().unwrap();
        let count = form.len() - 4;
        form[count..].copy_from_slice(&(parts.len() as u32).to_le_bytes());
        parts.iter().for_each(|part| form.extend(self::form(part)));
        form
    };
    match value {
        Value::Array(array) => {
            let empty = Value::Array(Array { element: array.element.clone(), values: Vec::new() });
            list(&empty, &array.iter().collect::<Vec<_>>())
        }
        Value::Dictionary(dictionary) => {
            let Dictionary { key, value, .. } = dictionary.clone();
            let mut form =
                Value::Dictionary(Dictionary { key, value, entries: Vec::new() }).encode().unwrap();
            let count = form.len() - 4;
            form[count..].copy_from_slice(&(dictionary.len() as u32).to_le_bytes());
            let hashes = dictionary.iter().map(|(key, value)| {
                xxhash_rust::xxh3::xxh3_64(&[self::form(key), self::form(value)].concat())
            });
            form.extend(hashes.fold(0_u64, u64::wrapping_add).to_le_bytes());
            form
        }
        leaf => leaf.encode().unwrap(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fingerprints_match_their_definition(value in Values::default().any()) {
        let found = value.fingerprint().unwrap();
        prop_assert_eq!(found, fingerprint_by_definition(&value));
        let bytes = value.encode().unwrap();
        let limits = Limits { allow_objects: true, ..Limits::for_save_files() };
        prop_assert_eq!(variant_codec::fingerprint(&bytes, Some(Precision::Single), &limits).unwrap(), found);
        if let Value::Dictionary(mut dictionary) = value {
            dictionary.entries.reverse();
            prop_assert_eq!(Value::Dictionary(dictionary).fingerprint().unwrap(), found);
        }
    }
}
