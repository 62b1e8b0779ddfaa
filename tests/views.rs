//! Parts of values, found in the bytes: the same as decoding all and looking for them.

use conformance::fuzzing::views::{check, compare_all};
use conformance::{Values, damaged_bytes};
use proptest::prelude::*;
use variant_codec::error::Limit;
use variant_codec::stream::Precision;
use variant_codec::view::{Key, Places};
use variant_codec::{EncodeOptions, ErrorKind, Limits, Value, View};

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 20_000, ..ProptestConfig::default() }
}

fn values() -> impl Strategy<Value = (EncodeOptions, Value)> {
    prop_oneof![Just(Precision::Single), Just(Precision::Double)].prop_flat_map(|precision| {
        let options = EncodeOptions { precision, strict_text: true };
        (Just(options), Values { precision, full_objects: true }.any())
    })
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn all_that_a_value_holds_is_found((options, value) in values()) {
        let bytes = value.encode_as(options).unwrap();
        let limits = Limits { allow_objects: true, ..Limits::for_save_files() };
        let value = Value::decode(&bytes, &limits).unwrap();
        compare_all(&bytes, &View::within(&bytes, &limits).unwrap(), &value);
    }

    #[test]
    fn damaged_bytes_are_no_other_value(
        bytes in damaged_bytes(Values { full_objects: true, ..Values::default() }),
    ) {
        check(&bytes);
    }
}

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
fn what_is_not_there_is_said_with_the_path_to_it() {
    let bytes = saves();
    let view = View::new(&bytes).unwrap();
    let error = |path: &str| view.at(&Key::path(path)).unwrap_err().to_string();
    assert_eq!(error("players/2/hp"), r#"Array has no element 2: it has 2 (at byte 24) (at ."players")"#);
    assert_eq!(error("players/0/mp"), r#"Dictionary has no key "mp" (at byte 32) (at ."players"[0])"#);
    assert_eq!(error("players/0/hp/x"), r#"int has no key "x" (at byte 76) (at ."players"[0]."hp")"#);
    assert_eq!(error("players/x"), r#"Array has no key "x" (at byte 24) (at ."players")"#);
}

#[test]
fn only_what_is_asked_for_is_judged() {
    // A text that is not UTF-8, and a number.
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
fn limits_hold_for_what_is_read() {
    let bytes = saves();
    let depth = Limits { max_depth: 2, ..Limits::for_save_files() };
    let view = View::within(&bytes, &depth).unwrap();
    let error = view.at(&Key::path("players/0/hp")).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::LimitExceeded(Limit::Depth, 2));
    let size = Limits { max_bytes: 16, ..Limits::for_save_files() };
    let error = View::within(&bytes, &size).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::LimitExceeded(Limit::Bytes, 16));
}

#[test]
fn a_deep_value_is_passed_over_without_a_stack_of_its_own() {
    // Arrays in arrays, far deeper than any reader follows.
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

#[test]
fn elements_are_read_from_any_index_on() {
    let texts: Vec<Value> = (0..400).map(|index| Value::from("x".repeat(index % 7))).collect();
    let list = Value::from(texts).encode().unwrap();
    let ints = Value::PackedInt32Array((0..400).collect()).encode().unwrap();
    for bytes in [&list, &ints] {
        let places = Places::default();
        let view = View::new(bytes).unwrap();
        let all: Vec<_> = view.elements().unwrap().map(|element| element.unwrap().spot()).collect();
        for index in [0, 1, 399, 400, 401, 200, usize::MAX] {
            for view in [view, view.remembering(&places)] {
                let rest = view.elements_from(index).unwrap().map(|element| element.unwrap().spot());
                assert_eq!(rest.collect::<Vec<_>>(), all.get(index..).unwrap_or_default());
            }
        }
    }
    assert_eq!(View::new(&Value::from(7).encode().unwrap()).unwrap().elements_from(0).unwrap().count(), 0);
}
