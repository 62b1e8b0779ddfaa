//! `textconv`: different values have different lines, and the output stays small.

mod support;

use support::{Folder, encoded};
use variant_codec::{Dictionary, Value};

fn lines(folder: &Folder, value: &[u8]) -> String {
    folder.write("value.dat", value);
    let printed = folder.gdvar(&["textconv", "value.dat", "--as", "value"]).good();
    String::from_utf8(printed).expect("UTF-8")
}

#[test]
fn different_values_have_different_lines() {
    let folder = Folder::new();
    let long = |end: &str| format!("{}{end}", "long ".repeat(1000));
    let with = |key: Value| encoded(Value::from(Dictionary::from_iter([(key, Value::from(1))])));
    let typed = |kind: &str, name: String| {
        folder.encoded(&format!(r#"{{"Array":{{"element":{{"{kind}":"{name}"}},"values":[null]}}}}"#))
    };
    let object = |name: String| {
        folder.encoded(&format!(r#"{{"Object":{{"class":"{name}","properties":[["a",1]]}}}}"#))
    };
    let values = [
        with(Value::StringName(long("a"))),
        with(Value::StringName(long("b"))),
        with(Value::from(long("a"))),
        with(Value::from(long("b"))),
        with(Value::StringName("a".repeat(60) + "a")),
        with(Value::StringName("a".repeat(60) + "b")),
        object("A".repeat(60) + "a"),
        object("A".repeat(60) + "b"),
        typed("class", "A".repeat(60) + "a"),
        typed("class", "A".repeat(60) + "b"),
        typed("script", format!("res://{}a", "A".repeat(60))),
        typed("script", format!("res://{}b", "A".repeat(60))),
        folder.encoded("[1,2]"),
        encoded(Value::from(Dictionary::from_iter([(0, 1), (1, 2)]))),
        with(Value::from(vec![Value::from(1)])),
    ];
    let mut seen = std::collections::HashSet::new();
    for value in values {
        assert!(seen.insert(lines(&folder, &value)), "{value:02x?}");
    }
}

#[test]
fn control_characters_are_not_printed() {
    let text = "\u{1b}]0;x\u{9b}2J\u{202e}";
    let value =
        Value::from_iter([(text, Value::from(text)), ("array", Value::from(vec![Value::from(text)]))]);
    let printed = lines(&Folder::new(), &encoded(value));
    assert!(!printed.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{printed:?}");
}

#[test]
fn a_long_key_is_not_repeated() {
    let folder = Folder::new();
    let nils = |count| (0..count).map(|_| Value::Nil).collect::<Value>();
    for levels in [1, 20, 500] {
        let key = "k".repeat(50_000 / levels);
        let value = (0..levels).fold(nils(6_000), |value, _| Value::from_iter([(key.as_str(), value)]));
        let value = encoded(value);
        let text = lines(&folder, &value);
        assert!(text.len() < 100 * value.len(), "{} of {}", text.len(), value.len());
        assert!(text.lines().collect::<std::collections::HashSet<_>>().len() == 6_000);
    }
}

/// git passes temporary files, whose names change each time.
#[test]
fn the_file_name_is_not_printed() {
    let folder = Folder::new();
    for contents in ["{}", "GDEC", "some text in it", "\u{5}\0\0\0\u{4}\0\0\0x"] {
        folder.write("name.dat", contents);
        let printed = folder.gdvar(&["textconv", "name.dat"]).good();
        let text = String::from_utf8(printed).expect("UTF-8");
        assert!(!text.is_empty() && !text.contains("name.dat"), "{text}");
    }
}

/// git compares only the text.
#[test]
fn unreadable_files_that_differ_have_different_output() {
    let folder = Folder::new();
    let text = |contents: &[u8]| {
        folder.write("save.dat", contents);
        String::from_utf8(folder.gdvar(&["textconv", "save.dat"]).good()).expect("UTF-8")
    };
    let torn = |last: u8| [support::batch(&[encoded(1)]), vec![9, 0, 0, 0, 2, last]].concat();
    let damaged = |last: u8| support::batch(&[vec![99, 0, 0, 0, last], encoded(1), encoded(2)]);
    let pairs = [
        (b"GDEC 1".to_vec(), b"GDEC 2".to_vec()),
        (b"{\"a\": 1}".to_vec(), b"{\"a\": 2}".to_vec()),
        (b"some text".to_vec(), b"more text".to_vec()),
        (torn(1), torn(2)),
        (damaged(1), damaged(2)),
    ];
    for (old, new) in pairs {
        let (old, new) = (text(&old), text(&new));
        assert!(old != new && old.contains(" bytes, MD5 "), "{old}{new}");
    }
}
