//! Conversion to JSON and back.

mod support;

use support::{Folder, batch, encoded};
use variant_codec::Value;

#[test]
fn json_lists_and_lines_become_records() {
    let folder = Folder::new();
    let saves = [
        &[][..],
        &["[]"],
        &["[1,2]"],
        &["[[1,2]]"],
        &["[1,2]", "[3]"],
        &["[]", "[]"],
        &[r#"{"a":[1]}"#],
        &["7"],
        &[r#"["[",{"b":"\n[\n"}]"#],
    ];
    for records in saves {
        let save = batch(&records.iter().map(|json| folder.encoded(json)).collect::<Vec<_>>());
        folder.write("save.dat", &save);
        let printings: [&[&str]; 5] = [
            &["json", "save.dat"],
            &["json", "save.dat", "--lines"],
            &["query", "save.dat", "--compact-output", "."],
            // Arrays in layouts that differ from the output of `json`.
            &["query", "save.dat", "--slurp", "."],
            &["query", "save.dat", "--slurp", "--compact-output", "."],
        ];
        for (index, printing) in printings.into_iter().enumerate() {
            let printing = [printing, &["--as", "records"]].concat();
            let json = folder.gdvar(&printing).good();
            if index == 3 && records.is_empty() {
                continue;
            }
            let how = if index == 4 { "--elements" } else { "--records" };
            let back = folder.gdvar_of(&["from-json", how], &json).good();
            assert!(back == save, "{printing:?} of {records:?}: {}", String::from_utf8_lossy(&json));
        }
    }
    // With a byte-order mark, as some editors write it.
    assert_eq!(folder.gdvar_of(&["from-json"], b"\xEF\xBB\xBF1").good(), folder.encoded("1"));
}

#[test]
fn from_json_writes_only_valid_values() {
    let folder = Folder::new();
    let values = [
        r#"{"a":1,"a":2}"#,
        r#"{"Dictionary":{"key":null,"value":null,"entries":[[1,1],[1,2]]}}"#,
        r#""a\u0000b""#,
        "\"\u{FEFF}a\"",
        r#"{"Array":{"element":{"builtin":"int"},"values":["text"]}}"#,
        r#"{"Vector2":[1e39,0]}"#,
        r#"{"PackedFloat32Array":[1.0,-1e39]}"#,
        r#"{"Color":[1e300,0,0,0]}"#,
    ];
    for json in values {
        let printed = folder.gdvar_of(&["from-json"], json.as_bytes());
        assert_eq!((printed.code, printed.stdout.len()), (Some(1), 0), "{json}");
        assert!(printed.stderr.starts_with("error: standard input: "), "{json}: {}", printed.stderr);
        for list in [format!("1\n{json}\n"), format!("[\n1,\n{json}\n]\n")] {
            let printed = folder.gdvar_of(&["from-json", "--records"], list.as_bytes());
            assert_eq!((printed.code, printed.stdout.len()), (Some(1), 0), "{json}");
        }
    }
    // Infinity itself is a valid component.
    folder.encoded(r#"{"Vector2":[{"float":"inf"},{"float":"nan"}]}"#);
    folder.encoded(r#"{"Vector2":{"f64":[1e39,0]}}"#);
}

/// Escaping nested Dictionary keys at each level would double the size at each level.
#[test]
fn keys_in_keys_take_linear_space() {
    let folder = Folder::new();
    let text = Value::from("z\"\\");
    let both = |value: Value| Value::from_iter([(Value::from("a"), Value::from(1)), (value, Value::from(1))]);
    let alone = |value: Value| Value::from_iter([(value, Value::from(1))]);
    for level in [&both as &dyn Fn(Value) -> Value, &alone] {
        let value = encoded((0..49).fold(text.clone(), |value, _| level(value)));
        folder.write("keys.dat", &value);
        let commands: [&[&str]; 5] = [
            &["json", "--plain", "keys.dat"],
            &["get", "keys.dat", ""],
            &["get", "--plain", "keys.dat", ""],
            &["query", "--compact-output", "keys.dat", "."],
            &["textconv", "keys.dat"],
        ];
        for command in commands {
            let printed = folder.gdvar(&[command, &["--as", "value"]].concat()).good();
            assert!(printed.len() < 100 * value.len(), "{command:?}: {} of {}", printed.len(), value.len());
        }
    }
    // In plain JSON, a container as a key keeps its lossless form.
    folder.write("short.dat", encoded(alone(Value::from(vec![Value::from(2), Value::from("a")]))));
    let printed = folder.gdvar(&["json", "--plain", "short.dat", "--as", "value"]).good();
    assert_eq!(String::from_utf8(printed).expect("UTF-8"), "{\"[2,\\\"a\\\"]\":1}\n");
}

#[test]
fn integers_stay_integers() {
    let folder = Folder::new();
    for json in ["9223372036854775808", "[18446744073709551615]"] {
        let printed = folder.gdvar_of(&["from-json"], json.as_bytes());
        assert!(
            printed.code == Some(1) && printed.stderr.contains("does not fit into"),
            "{}",
            printed.stderr
        );
    }
    let printed = folder.gdvar_of(&["from-json"], b"{\"a\":-}");
    assert!(printed.code == Some(1) && printed.stderr.contains("invalid number"), "{}", printed.stderr);
    for (json, value) in
        [("[-9223372036854775808]", Value::from(vec![i64::MIN])), ("1e19", Value::from(1e19))]
    {
        assert_eq!(folder.encoded(json), encoded(value));
    }
}

#[test]
fn halt_ends_a_query_after_its_results() {
    let folder = Folder::new();
    folder.write("save.dat", batch(&(1..5).map(encoded).collect::<Vec<_>>()));
    let printed = folder.gdvar(&["query", "save.dat", "if . == 3 then \"end\" | halt_error(7) else . end"]);
    assert_eq!((printed.stdout.as_slice(), printed.stderr.as_str()), (&b"1\n2\n"[..], "end\n"));
    assert_eq!(printed.code, Some(7));
}

/// The file has several batches of records, which are processed at once.
#[test]
fn output_ends_at_the_first_damaged_record() {
    let folder = Folder::new();
    let mut save = batch(&(0..400_000).map(|id| encoded(1_000_000 + id)).collect::<Vec<_>>());
    for record in [100, 200_000] {
        save[record * 12 + 4] = 99;
    }
    folder.write("save.dat", &save);
    let printed = folder.gdvar(&["json", "save.dat", "--lines"]);
    assert_eq!(printed.text(), (0..100).map(|id| format!("{}\n", 1_000_000 + id)).collect::<String>());
    assert!(printed.stderr.contains("record 100:"), "{}", printed.stderr);
    assert!(folder.gdvar(&["check", "save.dat"]).stderr.contains("record 100:"));
}

#[test]
fn fields_of_forms_are_kept() {
    let folder = Folder::new();
    let forms = [
        (r#"{"Array":{"element":null,"values":[1],"values":[2,3]}}"#, "values is given twice"),
        (r#"{"Dictionary":{"key":null,"value":null,"entries":[],"gold":5}}"#, "unknown field \"gold\""),
        (r#"{"Signal":{"name":"hit","object":7,"gold":5}}"#, "unknown field \"gold\""),
        (r#"{"NodePath":{"absolute":true,"names":[],"subnames":[],"gold":5}}"#, "unknown field \"gold\""),
        (r#"{"Object":{"class":"Node","properties":[],"gold":5}}"#, "unknown field \"gold\""),
        (r#"{"Array":{"element":{"builtin":"int","class":"Node"},"values":[]}}"#, "invalid element"),
        (r#"{"Dictionary":{"key":{"gold":5},"value":null,"entries":[]}}"#, "invalid key"),
        (r#"{"Callable":5}"#, "Callable"),
    ];
    for (json, message) in forms {
        let printed = folder.gdvar_of(&["from-json"], json.as_bytes());
        assert_eq!((printed.code, printed.stdout.len()), (Some(1), 0), "{json}");
        assert!(printed.stderr.contains(message), "{json}: {}", printed.stderr);
    }
}

#[test]
fn filters_of_all_records_have_no_result_if_a_record_is_damaged() {
    let folder = Folder::new();
    let save = batch(&(1..5).map(encoded).collect::<Vec<_>>());
    folder.write("torn.dat", &save[..save.len() - 3]);
    for filter in [&["--slurp", "add"][..], &["--null-input", "reduce inputs as $hp (0; . + $hp)"]] {
        let printed = folder.gdvar(&[&["query", "torn.dat"], filter].concat());
        assert_eq!((printed.code, printed.text()), (Some(1), ""), "{filter:?}");
        assert!(printed.stderr.contains("unexpected end of data"), "{}", printed.stderr);
    }
}

/// An object that refers to an item, whose `owner` is the object, as `FastVariantClasses` encodes them. The object has
/// typed containers of items at `any` and `by_name`, and a Dictionary `{"@ref": 1, "x": 2}` at `own`.
const SHARED: &str = "\
    1b000000020000001500000008000000406f626a656374731c000000020000001b0000000600000015000000060000004063 \
    6c617373000004000000040000004865726f040000000200000068700000020000004d00000004000000050000006974656d \
    730000001c000000010000001b0000000100000015000000040000004072656602000000010000000400000003000000616e \
    79001b000000020000001500000006000000406172726179000004000000040000004974656d040000000600000076616c75 \
    657300001c000000010000001b00000001000000150000000400000040726566020000000100000004000000070000006279 \
    5f6e616d65001b00000002000000150000000b0000004064696374696f6e617279001c000000020000000400000006000000 \
    537472696e67000004000000040000004974656d040000000600000076616c75657300001b00000001000000150000000600 \
    000040706c61696e00001b0001000400000002000000040000000500000066697273740000001b0000000100000015000000 \
    040000004072656602000000010000000400000004000000407265661b000000010000001500000004000000407265660200 \
    00000100000004000000030000006f776e001b00000001000000150000000600000040706c61696e00001b00000002000000 \
    040000000400000040726566020000000100000004000000010000007800000002000000020000001b000000030000001500 \
    00000600000040636c617373000004000000040000004974656d0400000002000000696400000400000004000000726f7065 \
    04000000050000006f776e65720000001b000000010000001500000004000000407265660200000000000000040000000500 \
    000076616c75650000001b000000010000001500000004000000407265660200000000000000";

#[test]
fn objects_of_classes_are_objects() {
    let folder = Folder::new();
    let name = |text: &str| Value::StringName(text.into());
    let text = |text: &str| Value::from(text);
    let keys = [
        (name("@class"), Some("@class")),
        // As serde writes tags, and as JSON has them.
        (text("@class"), Some("@@class")),
        (text("@@class"), Some("@@@class")),
        (text("@other"), Some("@other")),
        (text("@"), Some("@")),
        (name("@other"), None),
        (name("@@class"), None),
        (name("mp"), None),
    ];
    for (tag, key) in keys {
        for count in 0..3 {
            let others = [(text("hp"), 7.into()), (name("@ref"), Value::from(1))].into_iter().take(count);
            let value: Value = [(tag.clone(), text("Hero"))].into_iter().chain(others).collect();
            folder.write("save.dat", encoded(value.clone()));
            let json = folder.gdvar(&["json", "save.dat", "--as", "value"]).good();
            assert_eq!(folder.gdvar_of(&["from-json"], &json).good(), encoded(value), "{tag:?} {count}");
            if let (Some(key), 1) = (key, count) {
                let filter = "[keys_unsorted[0], .hp]";
                let found = folder.gdvar(&["query", "save.dat", filter, "--as", "value", "--compact-output"]);
                assert_eq!(found.text(), format!("[\"{key}\",7]\n"), "{tag:?}");
            }
        }
    }
    folder.write("shared.dat", SHARED);
    let paths = [
        ("hp", "77"),
        ("items/0/id", "\"rope\""),
        ("any/-1/owner/hp", "77"),
        ("by_name/@ref/owner/items/0/id", "\"rope\""),
        ("own/@ref", "1"),
        ("own", "{\"@@ref\":1,\"x\":2}"),
    ];
    for (path, json) in paths {
        let found = folder.gdvar(&["get", "shared.dat", path]).good();
        assert_eq!(String::from_utf8_lossy(&found), format!("{json}\n"), "{path}");
        let shown = folder.gdvar(&["show", "shared.dat", path]);
        assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    }
    let json = folder.gdvar(&["json", "shared.dat"]).good();
    folder.write("again.dat", folder.gdvar_of(&["from-json"], &json).good());
    assert_eq!(folder.gdvar(&["diff", "shared.dat", "again.dat"]).text(), "");
    // The whole value is written as it is encoded.
    assert_eq!(folder.gdvar(&["get", "shared.dat", ""]).good(), json);
    assert_eq!(folder.gdvar(&["get", "shared.dat", "", "--bytes"]).good(), folder.read("again.dat"));
}
