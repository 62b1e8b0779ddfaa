//! Error messages: the cause and the path.

use variant_codec::error::{Step, quoted};
use variant_codec::stream::{ElementType, Text};
use variant_codec::{Error, ErrorKind, Value, VariantType};

fn error() -> Error {
    Error::new(ErrorKind::InvalidUtf8)
}

#[test]
fn messages_name_the_known_place() {
    let text = "invalid UTF-8";
    assert_eq!(error().to_string(), text);
    assert_eq!(error().at(5).to_string(), format!("{text} (at byte 5)"));
    assert_eq!(error().inside(Step::Index(3)).to_string(), format!("{text} (at [3])"));
    let both = error().at(5).inside(Step::text_key("hp")).inside(Step::Index(3));
    assert_eq!(both.to_string(), format!("{text} (at byte 5) (at [3].\"hp\")"));
    assert_eq!(both.offset(), Some(5));
    assert_eq!(Error::argument("no").to_string(), "no");
    assert_eq!(Error::object("not here").kind(), &ErrorKind::Object("not here".into()));
}

#[test]
fn the_innermost_offset_stays() {
    assert_eq!(error().at(5).at(9).offset(), Some(5));
    assert_eq!(error().at(5).shifted(100).offset(), Some(105));
    assert_eq!(error().at(5).shifted(usize::MAX).offset(), Some(usize::MAX));
    assert_eq!(error().shifted(100).offset(), None);
}

#[test]
fn every_step_has_a_form() {
    let steps = [
        (Step::Index(7), "[7]"),
        (Step::text_key("a\"b"), ".\"a\\\"b\""),
        (Step::int_key(-5), ".-5"),
        (Step::KeyAt(2), ".<key 2>"),
        (Step::property("name"), ".\"name\""),
    ];
    for (step, path) in steps {
        assert_eq!(error().inside(step).path(), path);
    }
}

/// Errors collect steps from the inside out; paths show them from the outside in.
#[test]
fn long_paths_are_shortened_in_the_middle() {
    let path = |steps: usize| (0..steps).fold(error(), |error, step| error.inside(Step::Index(step))).path();
    let shown = |indexes: std::ops::Range<usize>| -> String {
        indexes.rev().map(|index| format!("[{index}]")).collect()
    };
    assert_eq!(path(0), "");
    for steps in [1, 31, 32] {
        assert_eq!(path(steps), shown(0..steps));
    }
    for steps in [33, 34, 100, 1025] {
        let expected = format!("{}…({} more)…{}", shown(steps - 16..steps), steps - 32, shown(0..16));
        assert_eq!(path(steps), expected);
    }
}

#[test]
fn text_from_data_is_shortened_and_escaped() {
    assert_eq!(quoted(""), "\"\"");
    assert_eq!(quoted("a\n\"é"), "\"a\\n\\\"é\"");
    for letter in ["a", "é", "🐎"] {
        assert_eq!(quoted(&letter.repeat(48)), format!("\"{}\"", letter.repeat(48)));
        assert_eq!(quoted(&letter.repeat(49)), format!("\"{}\"…", letter.repeat(48)));
        assert_eq!(quoted(&letter.repeat(5000)), format!("\"{}\"…", letter.repeat(48)));
    }
}

#[test]
fn types_have_names() {
    assert_eq!(ElementType::Untyped.to_string(), "Variant");
    assert_eq!(ElementType::Builtin(VariantType::Aabb).to_string(), "AABB");
    assert_eq!(ElementType::Class("Node".into()).to_string(), "\"Node\"");
    let path = [0x72, 0xD800, 0x11_0000, 0x1_F40E];
    assert_eq!(ElementType::Script(Text::Utf32(&path)).to_string(), "\"r\u{FFFD}\u{FFFD}🐎\"");
}

/// The path in a writer's error contains keys, as in a reader's error.
#[test]
fn paths_name_keys() {
    let deep = (0..1024).fold(Value::Nil, |inside, _| vec![inside].into());
    for (key, path) in [
        (Value::from("hp"), ".\"hp\""),
        (Value::StringName("mp".into()), ".\"mp\""),
        (Value::from(-7_i64), ".-7"),
        (Value::from(true), ".<key 1>"),
        (Value::from(0.5), ".<key 1>"),
    ] {
        let value = Value::from(vec![(Value::Nil, Value::Nil), (key, deep.clone())]);
        let error = value.encode().expect_err("too deep");
        assert!(error.path().starts_with(&format!("{path}[0][0]")), "{error}");
    }
    let value = Value::from(vec![(Value::Nil, Value::Nil), (deep, Value::Nil)]);
    assert!(value.encode().expect_err("too deep").path().starts_with(".<key 1>[0]"));
}
