//! Views of parts of encoded values. The fuzz targets `views` and `values` compare them with full decoding.

use variant_codec::error::{Limit, Oddity};
use variant_codec::stream::{Precision, ValueBuilder};
use variant_codec::value::OwnedElementType;
use variant_codec::view::{Fields, Key, KnownOffsets};
use variant_codec::{
    Array, Dictionary, EncodeOptions, ErrorKind, Limits, PackedReals, Reals, Strictness, Value, VariantType,
    View, fingerprint, patch,
};

fn saves() -> Vec<u8> {
    let player = Value::from_iter([("name", Value::from("Ada")), ("hp", Value::from(87))]);
    let save = [("players", Value::from(vec![player.clone(), player])), ("7", Value::from("text key"))];
    Value::from_iter(save).encode().unwrap()
}

#[test]
fn a_path_in_text_takes_text_keys_first_and_then_ints() {
    let bytes = saves();
    let view = View::new(&bytes).unwrap();
    let at = |path: &str| view.at(&Key::path(path)).and_then(|view| view.value());
    assert_eq!(at("players/1/hp").unwrap(), Value::from(87));
    assert_eq!(at("players/-1/name").unwrap(), Value::from("Ada"));
    assert_eq!(at("7").unwrap(), Value::from("text key"));
    assert_eq!(at("").unwrap().ty(), view.ty());
    let ints = Value::from_iter([(7, "int key")]).encode().unwrap();
    assert_eq!(View::new(&ints).unwrap().at(&Key::path("7")).unwrap().as_str().unwrap(), "int key");
}

#[test]
fn missing_values_are_reported_with_their_path() {
    let bytes = saves();
    let view = View::new(&bytes).unwrap();
    let error = |path: &str| view.at(&Key::path(path)).unwrap_err().to_string();
    assert_eq!(error("players/2/hp"), r#"Array has no element 2: it has 2 (at byte 24) (at ."players")"#);
    assert_eq!(error("players/0/mp"), r#"Dictionary has no key "mp" (at byte 32) (at ."players"[0])"#);
    assert_eq!(error("players/0/hp/x"), r#"int has no key "x" (at byte 76) (at ."players"[0]."hp")"#);
    assert_eq!(error("players/x"), r#"Array has no key "x" (at byte 24) (at ."players")"#);
}

#[test]
fn only_requested_values_are_checked() {
    // Text that is invalid UTF-8, and a number.
    let mut bytes =
        Value::from_iter([("bad", Value::from("text")), ("good", Value::from(7))]).encode().unwrap();
    let bad = bytes.windows(4).position(|window| window == b"text").unwrap();
    bytes[bad] = 0xFF;
    let view = View::new(&bytes).unwrap();
    assert_eq!(view.get("good").unwrap().as_i64().unwrap(), 7);
    let error = view.get("bad").unwrap().value().unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::InvalidUtf8);
    assert_eq!(error.offset(), Value::decode(&bytes, &Limits::unlimited()).unwrap_err().offset());
}

#[test]
fn limits_apply_to_what_is_read() {
    let bytes = saves();
    let depth = Limits { max_depth: 2, ..Limits::for_save_files() };
    let view = View::within(&bytes, &depth).unwrap();
    let error = view.at(&Key::path("players/0/hp")).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::LimitExceeded(Limit::Depth, 2));
    // A limit of zero gives the same error as decoding. This also holds for truncated bytes, and for unknown
    // types and flags.
    let nothing = |set: fn(&mut Limits)| {
        let mut limits = Limits::for_save_files();
        set(&mut limits);
        limits
    };
    for limits in [
        nothing(|limits| limits.max_bytes = 0),
        nothing(|limits| limits.max_depth = 0),
        nothing(|limits| limits.max_elements = 0),
        nothing(|limits| limits.max_memory = 0),
        nothing(|limits| limits.allowed_types = 0),
    ] {
        for bytes in [&bytes[..], &[2, 0, 2, 0, 7, 0, 0, 0], &[99, 0, 0, 0], &[2, 0], &[]] {
            let viewed = View::within(bytes, &limits).and_then(|view| view.value());
            assert_eq!(viewed, Value::decode(bytes, &limits), "{bytes:?} {limits:?}");
        }
    }
    let size = Limits { max_bytes: 16, ..Limits::for_save_files() };
    let error = View::within(&bytes, &size).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::LimitExceeded(Limit::Bytes, 16));
}

#[test]
fn deep_values_are_skipped_without_recursion() {
    // Nested Arrays, far deeper than any reader follows.
    let mut bytes = [[28, 0, 0, 0], [2, 0, 0, 0]].concat();
    for _ in 0..1_000_000 {
        bytes.extend_from_slice(&[28, 0, 0, 0, 1, 0, 0, 0]);
    }
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&[2, 0, 0, 0, 7, 0, 0, 0]);
    let view = View::new(&bytes).unwrap();
    assert_eq!(view.index(1).unwrap().as_i64().unwrap(), 7);
    assert_eq!(view.index(0).unwrap().value().unwrap_err().kind(), &ErrorKind::TooDeep);
}

fn list_of(elements: &[&[u8]]) -> Vec<u8> {
    let mut bytes = [[28, 0, 0, 0], (elements.len() as u32).to_le_bytes()].concat();
    elements.iter().for_each(|element| bytes.extend_from_slice(element));
    bytes
}

/// If keys are equal, the engine takes the last value. Strict reading refuses a Dictionary with equal keys. A
/// view of the Dictionary finds only its other keys.
#[test]
fn a_repeated_key_is_refused_by_every_reader() {
    let twice = |key: Value| {
        let entry = |key: &Value, value: i64, precision: Precision| {
            let key = key.encode_as(EncodeOptions { precision: Some(precision), strict_text: true }).unwrap();
            [key, Value::from(value).encode().unwrap()].concat()
        };
        // The engine rounds 64-bit components, so both keys are equal.
        let (narrow, wide) = (Precision::Single, Precision::Double);
        let entries = [entry(&key, 1, narrow), entry(&"b".into(), 2, narrow), entry(&key, 3, wide)].concat();
        [[27, 0, 0, 0, 3, 0, 0, 0].as_slice(), &entries].concat()
    };
    let limits = Limits::for_save_files();
    let keys = [
        0.5.into(),
        Value::Vector2(Reals::Single([-0.0, f32::NAN])),
        Value::Vector2(Reals::Double([0.1, 1e300])),
        Value::PackedVector3Array(PackedReals::Double(vec![[0.1, 0.2, 0.3]])),
        Value::from([Value::Aabb(Reals::Double([0.1; 6]))]),
        7.into(),
        "a".into(),
        Value::from([1, 2]),
        Value::from_iter([("x", 1), ("y", 2)]),
    ];
    for key in keys {
        let (bytes, other) = (twice(key.clone()), Value::from_iter([("b", 2)]).encode().unwrap());
        let repeated = Value::decode(&bytes, &limits).unwrap_err();
        assert_eq!(repeated.kind(), &ErrorKind::NotCanonical(Oddity::DuplicateKey));
        let engine = Value::decode_as(&bytes, Strictness::Lenient, &limits).unwrap();
        assert_eq!(engine.get(&key).and_then(Value::as_i64), Some(3));
        let known = KnownOffsets::default();
        let view = View::new(&bytes).unwrap();
        for view in [view, view.remembering(&known)] {
            assert_eq!(view.get("b").unwrap().as_i64(), Ok(2));
            assert_eq!(view.get(&key).unwrap_err(), repeated);
            assert_eq!(view.len().unwrap_err(), repeated);
            assert_eq!(view.entries().unwrap_err(), repeated);
            assert_eq!(view.value().unwrap_err(), repeated);
            assert_eq!(view.decode_keys(&mut ValueBuilder::default()).unwrap_err(), repeated);
            let fields = Fields::new(vec![Key::from(&key)]).read(&view, &mut Vec::new());
            assert_eq!(fields.unwrap_err(), repeated);
        }
        for (old, new) in [(&bytes, &other), (&other, &bytes)] {
            assert_eq!(patch::diff(old, new, &limits).unwrap_err(), repeated);
            assert_eq!(patch::differences(old, new, 9, &limits).unwrap_err(), repeated);
        }
        assert_eq!(
            patch::apply(&bytes, &patch::diff(&other, &other, &limits).unwrap(), &limits).unwrap_err(),
            repeated
        );
        assert_eq!(fingerprint(&bytes, Some(Precision::Single), &limits).unwrap_err(), repeated);
    }
}

/// The engine compares Dictionaries in any order, but hashes their entries in order. Two Dictionaries with
/// the same entries in different orders are one key for the engine if their hashes happen to be equal. The
/// last value then wins. Therefore no reader returns the first value, and a lookup requires the same order.
#[test]
fn keys_that_are_dictionaries_may_have_any_order() {
    let limits = Limits::for_save_files();
    let ordered =
        |keys: [i64; 3]| Value::from([Value::from_iter(keys.map(|key| (key, Value::from_iter([(key, 0)]))))]);
    let (one, other) = (ordered([1, 2, 3]), ordered([3, 1, 2]));
    for count in [0, 40] {
        let more = (0..count).map(|index| (Value::from(index), index));
        let keys = [(one.clone(), 1), (other.clone(), 2)];
        let both: Value = more.clone().chain(keys.clone()).collect();
        let bytes = both.encode().unwrap();
        let repeated = Value::decode(&bytes, &limits).unwrap_err();
        assert_eq!(repeated.kind(), &ErrorKind::NotCanonical(Oddity::DuplicateKey));
        let known = KnownOffsets::default();
        let view = View::new(&bytes).unwrap();
        for view in [view, view.remembering(&known)] {
            assert_eq!(view.get(&one).unwrap_err().kind(), repeated.kind());
            assert_eq!(view.len().unwrap_err().kind(), repeated.kind());
            let mut fields = Fields::new(vec![Key::from(&other)]);
            assert_eq!(fields.read(&view, &mut Vec::new()).unwrap_err().kind(), repeated.kind());
        }
        assert_eq!(
            fingerprint(&bytes, Some(Precision::Single), &limits).unwrap_err().kind(),
            repeated.kind()
        );
        let single: Value = more.chain(keys[..1].iter().cloned()).collect();
        let bytes = single.encode().unwrap();
        let view = View::new(&bytes).unwrap();
        for view in [view, view.remembering(&KnownOffsets::default())] {
            assert_eq!(view.get(&one).unwrap().as_i64(), Ok(1));
            assert!(view.find(&Key::from(&other)).unwrap().is_none());
            let mut found = Vec::new();
            Fields::new(vec![Key::from(&other), Key::from(&one)]).read(&view, &mut found).unwrap();
            assert!(matches!(&found[..], [None, Some(value)] if value.as_i64() == Ok(1)));
        }
    }
}

/// A view refuses containers as keys where decoding does.
#[test]
fn containers_as_keys_are_refused() {
    let limits = Limits::for_network();
    let row = Value::from_iter([(Value::from("a"), Value::from(1)), (Value::from(vec![1]), Value::from(2))]);
    let bytes = row.encode().unwrap();
    let refused = Value::decode(&bytes, &limits).unwrap_err();
    assert_eq!(refused.kind(), &ErrorKind::ContainerKey);
    let view = View::within(&bytes, &limits).unwrap();
    assert_eq!(view.len().unwrap_err().kind(), refused.kind());
    assert_eq!(view.find(&"x".into()).unwrap_err().kind(), refused.kind());
    let rows = Value::from(vec![row; 3]).encode().unwrap();
    for keys in [vec!["a".into()], vec!["a".into(), "b".into()]] {
        let view = View::within(&rows, &limits).unwrap();
        let error = view.rows(&mut Fields::new(keys), |_, _| Ok(())).unwrap_err();
        assert_eq!(error.kind(), refused.kind());
    }
    // A patch is refused as well.
    let nil = Value::Nil.encode().unwrap();
    let fingerprint = fingerprint(&nil, None, &limits).unwrap().to_le_bytes();
    let patch = [b"FVP\x01", &fingerprint[..], &bytes].concat();
    assert_eq!(patch::apply(&nil, &patch, &limits).unwrap_err().kind(), refused.kind());
}

/// The limit on nesting is lower for keys than for other values.
#[test]
fn a_key_that_is_too_deep_is_refused() {
    let deep = |levels: u32| (0..levels).fold(Value::from([1]), |inner, _| Value::from(vec![inner]));
    for (levels, is_good) in [(48, true), (49, true), (50, false), (500, false)] {
        let key = deep(levels);
        let bytes = Value::from_iter([(key.clone(), 1), (Value::from("a"), 2)]).encode().unwrap();
        let decoded = Value::decode(&bytes, &Limits::for_save_files()).map(drop);
        assert_eq!(decoded.is_ok(), is_good, "{levels} levels");
        let view = View::new(&bytes).unwrap();
        for found in
            [view.find(&Key::from(&key)).map(drop), view.find(&"a".into()).map(drop), view.len().map(drop)]
        {
            assert_eq!(
                found.map_err(|error| error.kind().clone()),
                decoded.clone().map_err(|error| error.kind().clone())
            );
        }
    }
}

/// The engine converts or drops elements of another type.
#[test]
fn an_element_of_another_type_than_declared_is_refused() {
    let limits = Limits::for_save_files();
    let int = OwnedElementType::Builtin(VariantType::Int);
    let array = Array { element: int.clone(), values: vec!["7".into()] };
    let dictionary = Dictionary { key: int.clone(), value: int, entries: vec![("7".into(), "7".into())] };
    for value in [Value::from(array), Value::from(dictionary)] {
        let bytes = value.encode().unwrap();
        let refused = Value::decode(&bytes, &limits).unwrap_err();
        assert!(matches!(refused.kind(), ErrorKind::WrongElementType { .. }));
        let view = View::new(&bytes).unwrap();
        let found = if value.as_array().is_some() { view.index(0) } else { view.get("7") };
        assert_eq!(found.unwrap_err().kind(), refused.kind());
    }
}

#[test]
fn fields_may_repeat_and_be_numbers() {
    let row = Value::from_iter([(Value::from("hp"), 1), (Value::from(7), 2)]);
    let bytes = row.encode().unwrap();
    let view = View::new(&bytes).unwrap();
    let mut fields = Fields::new(vec!["hp".into(), Key::Segment("7"), "hp".into(), "mp".into()]);
    let mut found = Vec::new();
    for _ in 0..2 {
        assert_eq!(fields.read(&view, &mut found).unwrap(), bytes.len());
        let ints: Vec<_> =
            found.iter().map(|field| field.as_ref().map(|field| field.as_i64().unwrap())).collect();
        assert_eq!(ints, [Some(1), Some(2), Some(1), None]);
    }
    // Two forms of each key.
    let (hp, seven) = (Value::from("hp"), Value::from(7));
    for keys in [
        [Key::Text("hp"), Key::Segment("hp")],
        [Key::Text("hp"), Key::Value(&hp)],
        [Key::Int(7), Key::Value(&seven)],
    ] {
        Fields::new(keys.to_vec()).read(&view, &mut found).unwrap();
        assert!(found.iter().all(Option::is_some), "{keys:?}");
    }
}

#[test]
fn fields_may_be_paths() {
    let row = Value::from_iter([("list", Value::from(vec![1, 2])), ("7", 3.into()), ("a/b", 4.into())]);
    let rows = Value::from(vec![row.clone(), Value::Nil, row]).encode().unwrap();
    let paths = ["list/1", "", "list", "7", "list/-2", "list/2", "a/b", "list/1/x"];
    let mut fields = Fields::at(paths.map(Key::path).to_vec());
    let view = View::new(&rows).unwrap();
    let each = |index: usize, found: &[Option<View<'_>>]| {
        let row = view.index(index)?;
        let expected = paths.map(|path| row.at(&Key::path(path)).ok().map(|found| found.range()));
        assert_eq!(found.iter().map(|found| found.map(|found| found.range())).collect::<Vec<_>>(), expected);
        Ok(())
    };
    view.rows(&mut fields, each).unwrap();
}

/// Each row is reached in constant time, however long the table is and however large the objects are.
#[test]
fn references_are_followed_without_a_walk_for_each() {
    const COUNT: i64 = 50_000;

    let tagged = |tag: &str, value: Value| (Value::StringName(tag.into()), value);
    let object = |hp: i64| {
        let pad = if hp == 0 { vec![Value::Nil; 500_000] } else { Vec::new() };
        Value::from_iter([
            tagged("@class", "Hero".into()),
            ("pad".into(), pad.into()),
            ("hp".into(), hp.into()),
        ])
    };
    let table: Value = (0..COUNT).map(object).collect();
    for (step, sum) in [(0, 0), (1, COUNT * (COUNT - 1) / 2)] {
        let reference = |index: i64| Value::from_iter([tagged("@ref", (index * step).into())]);
        let references: Value = (0..COUNT).rev().map(reference).collect();
        let all = [tagged("@objects", table.clone()), ("value".into(), references)];
        let bytes = Value::from_iter(all).encode().unwrap();
        let known = KnownOffsets::default();
        let rows = View::new(&bytes).unwrap().remembering(&known).following_tags().unwrap();
        let mut found_sum = 0;
        let each = |_, found: &[Option<View<'_>>]| {
            found_sum += found[0].unwrap().as_i64()?;
            Ok(())
        };
        rows.rows(&mut Fields::new(vec!["hp".into()]), each).unwrap();
        assert_eq!(found_sum, sum);
    }
}

#[test]
fn final_padding_may_be_missing_if_allowed() {
    // A PackedByteArray of one byte.
    let bytes = [29, 0, 0, 0, 1, 0, 0, 0, 5];
    let limits = Limits { allow_non_canonical: true, ..Limits::for_save_files() };
    assert_eq!(View::within(&bytes, &limits).unwrap().bytes().unwrap(), bytes);
    let in_list = list_of(&[&bytes]);
    let list = View::within(&in_list, &limits).unwrap();
    assert_eq!(list.index(0).unwrap().bytes().unwrap(), bytes);
}

#[test]
fn non_canonical_keys_are_found_if_accepted() {
    // {"a": 7}, with bits set in the key's padding.
    let mut bytes = Value::from_iter([("a", 7)]).encode().unwrap();
    bytes[17] = 1;
    let limits = Limits { allow_non_canonical: true, ..Limits::for_save_files() };
    let decoded = Value::decode(&bytes, &limits).unwrap();
    assert_eq!(decoded.get("a").and_then(Value::as_i64), Some(7));
    assert_eq!(View::within(&bytes, &limits).unwrap().get("a").unwrap().as_i64().unwrap(), 7);
}

#[test]
fn errors_match_decoding() {
    let limits = Limits::for_save_files();
    let strings = [34, 0, 0, 0, 255, 255, 255, 255];
    let decoded = Value::decode(&strings, &limits).unwrap_err();
    assert_eq!(View::within(&strings, &limits).unwrap().len().unwrap_err(), decoded);

    let flagged = [4, 1, 0, 0, 1, 0, 0, 0, b'a', 0, 0, 0];
    let decoded = Value::decode(&flagged, &limits).unwrap_err();
    assert_eq!(View::within(&flagged, &limits).unwrap().as_str().unwrap_err(), decoded);

    // The engine ignores these bits. In an array of colors, the bit is the flag of 64-bit components.
    let colors = Value::PackedColorArray(vec![[1.0, 2.0, 3.0, 4.0]]);
    for (container, byte) in [(Value::from([1, 2]), 3), (Value::from_iter([("a", 1)]), 3), (colors, 2)] {
        let mut flagged = container.encode().unwrap();
        flagged[byte] = 1;
        let decoded = Value::decode(&flagged, &limits).unwrap_err();
        assert_eq!(View::within(&flagged, &limits).unwrap().len().unwrap_err(), decoded);
    }

    // A bool with the value 2 as an entry's value, in an Array.
    let mut bytes = Value::from(vec![Value::from_iter([("hp", true)])]).encode().unwrap();
    let last = bytes.len() - 4;
    bytes[last] = 2;
    let decoded = Value::decode(&bytes, &limits).unwrap_err();
    let view = View::new(&bytes).unwrap();
    let path = [0.into(), "hp".into()];
    assert_eq!(view.look_at(&path, |view| view.value()).unwrap_err(), decoded);
}

#[test]
fn parts_are_serialized_as_encoded() {
    let typed =
        Array { element: OwnedElementType::Builtin(VariantType::Int), values: vec![1.into(), 2.into()] };
    let bytes =
        Value::from_iter([("list", Value::from(typed)), ("color", Value::Color([1.0; 4]))]).encode().unwrap();
    let few = Limits { max_elements: 2, ..Limits::for_network() };
    let view = View::new(&bytes).unwrap();
    assert!(view.value().is_ok() && view.with_limits(&few).value().is_err());
    let list = view.get("list").unwrap();
    assert_eq!(view.get("color").unwrap().as_lanes().unwrap().le, &bytes[bytes.len() - 16..]);
    assert!(list.as_lanes().is_err());
    let mut builder = ValueBuilder::default();
    list.decode_slice(1..9, &mut builder).unwrap();
    let element = OwnedElementType::Builtin(VariantType::Int);
    assert_eq!(builder.into_value(), Value::from(Array { element, values: vec![2.into()] }));
    let mut builder = ValueBuilder::default();
    view.decode_keys(&mut builder).unwrap();
    assert_eq!(builder.into_value(), Value::from(["list", "color"]));
    for (text, index) in
        [("-1", Some(-1)), ("0", Some(0)), ("01", None), ("+1", None), ("-0", None), ("a", None)]
    {
        assert_eq!(Key::Segment(text).index(), index, "{text}");
    }
    let rows = Value::from(vec![Value::from_iter([("hp", 7)]), Value::Nil]).encode().unwrap();
    let mut found = Vec::new();
    let each = |row, fields: &[Option<View<'_>>]| {
        found.push((row, fields[0].as_ref().and_then(|hp| hp.as_i64().ok())));
        Ok(())
    };
    View::new(&rows).unwrap().rows(&mut Fields::new(vec!["hp".into()]), each).unwrap();
    assert_eq!(found, [(0, Some(7)), (1, None)]);
}
