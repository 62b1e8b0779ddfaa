//! Values keep every bit, including the width of their components.

mod support;

use support::{Folder, batch};

/// 64-bit components, as an engine with double precision writes them.
const WIDE: [&str; 4] = [
    r#"{"Vector2":{"f64":[0.1,1e+300]}}"#,
    r#"{"PackedVector3Array":{"f64":[[0.1,0.2,0.3],[1.0,2.0,3.0]]}}"#,
    r#"[{"Vector2":[0.5,1.0]},{"Vector2":{"f64":[0.5,1.0]}},{"Transform2D":{"f64":[1.0,0.0,0.0,1.0,0.1,0.2]}}]"#,
    r#"{"Dictionary":{"key":null,"value":null,"entries":[[{"Vector2":{"f64":[0.1,0.2]}},1]]}}"#,
];

#[test]
fn the_width_of_components_is_kept() {
    let folder = Folder::new();
    let mut all = Vec::new();
    for json in WIDE {
        let value = folder.encoded(json);
        folder.write("value.dat", &value);
        let printed = folder.gdvar(&["json", "value.dat", "--as", "value"]).good();
        assert_eq!(String::from_utf8(printed).expect("UTF-8").trim_end(), json);
        let kept: [&[&str]; 2] = [&["convert", "value.dat"], &["get", "value.dat", "", "--bytes"]];
        for arguments in kept {
            let arguments = [arguments, &["--as", "value"]].concat();
            assert!(folder.gdvar(&arguments).good() == value, "{arguments:?} changes {json}");
        }
        all.push(value);
    }
    let records = batch(&all);
    folder.write("save.dat", &records);
    folder.write("one.dat", batch(&all[..1]));
    assert!(folder.gdvar(&["convert", "save.dat"]).good() == records);
    folder.gdvar(&["convert", "save.dat", "--to", "value", "--output", "array.dat"]).good();
    assert!(folder.gdvar(&["convert", "array.dat", "--to", "records"]).good() == records);
    folder.gdvar(&["diff", "one.dat", "save.dat", "--patch", "change.dat"]).good();
    assert!(folder.gdvar(&["patch", "one.dat", "change.dat"]).good() == records);
    // An element of a packed array keeps its width as well.
    let element = folder.gdvar(&["get", "save.dat", "1/1", "--bytes"]).good();
    assert!(element == folder.encoded(r#"{"Vector3":{"f64":[1.0,2.0,3.0]}}"#));
}

#[test]
fn the_width_of_components_is_in_the_fingerprint() {
    let folder = Folder::new();
    let of = |json: &str| {
        folder.write("value.dat", folder.encoded(json));
        folder.gdvar(&["fingerprint", "value.dat", "--as", "value"]).good()
    };
    let narrow = of(r#"{"Vector2":[0.5,1.0]}"#);
    let wide = of(r#"{"Vector2":{"f64":[0.5,1.0]}}"#);
    let wider = of(r#"{"Vector2":{"f64":[0.1,1.0]}}"#);
    let rounded = of(r#"{"Vector2":[0.1,1.0]}"#);
    assert!(narrow != wide && wide != wider && wider != rounded);
}

#[test]
fn elements_of_packed_arrays_are_shown_exactly() {
    let folder = Folder::new();
    let files = [
        ("a", r#"{"PackedStringArray":["a","b"]}"#),
        ("b", r#"{"PackedStringArray":["a","c","d"]}"#),
        ("c", r#"{"PackedInt32Array":[1,2,3]}"#),
        ("d", r#"{"PackedInt32Array":[1,2,4]}"#),
        ("e", r#"{"PackedVector2Array":{"f64":[[0.5,1.0]]}}"#),
        ("f", r#"{"PackedVector2Array":{"f64":[[0.5,2.0]]}}"#),
    ];
    for (name, json) in files {
        folder.write(name, folder.encoded(json));
    }
    let show = |name: &str, path: &str| {
        String::from_utf8(folder.gdvar(&["show", name, path, "--as", "value"]).good()).expect("UTF-8")
    };
    assert_eq!(show("a", "1"), "String \"b\"\n");
    assert_eq!(show("c", "2"), "int 3\n");
    assert_eq!(show("e", "0"), "Vector2 (0.5, 1.0)\n");
    let diff = |old: &str, new: &str| {
        let printed = folder.gdvar(&["diff", old, new, "--as", "value"]);
        assert_eq!(printed.code, Some(1), "{}", printed.stderr);
        printed.text().to_owned()
    };
    assert_eq!(diff("c", "d"), "[2]: int 3 → int 4\n");
    assert_eq!(diff("e", "f"), "[0]: Vector2 (0.5, 1.0) → Vector2 (0.5, 2.0)\n");
    assert_eq!(diff("a", "b"), "[1]: String \"b\" → String \"c\"\n[2]: added String \"d\"\n");
}

#[test]
fn diff_ignores_the_order_of_keys() {
    let folder = Folder::new();
    folder.write("a", folder.encoded(r#"[{"a":1,"b":{"c":2,"d":3}}]"#));
    folder.write("b", folder.encoded(r#"[{"b":{"d":3,"c":2},"a":1}]"#));
    assert_eq!(folder.gdvar(&["fingerprint", "a"]).good(), folder.gdvar(&["fingerprint", "b"]).good());
    assert!(folder.gdvar(&["diff", "a", "b"]).good().is_empty());
}

#[test]
fn diff_fails_even_if_it_prints_no_differences() {
    let folder = Folder::new();
    folder.write("a", batch(&[folder.encoded("1"), folder.encoded("2"), folder.encoded("3")]));
    folder.write("b", batch(&[folder.encoded("1"), folder.encoded("4"), folder.encoded("5")]));
    let diff = |most: &str| {
        let printed = folder.gdvar(&["diff", "a", "b", "--most", most]);
        (printed.code, printed.text().to_owned())
    };
    let (first, second) = ("[1]: int 2 → int 4\n", "[2]: int 3 → int 5\n");
    let more = "… there are more; --most prints them\n";
    assert_eq!(diff("0"), (Some(1), more.to_owned()));
    assert_eq!(diff("1"), (Some(1), format!("{first}{more}")));
    assert_eq!(diff("2"), (Some(1), format!("{first}{second}")));
    folder.write("c", batch(&[folder.encoded("1")]));
    for (old, new) in [("a", "c"), ("c", "a")] {
        let printed = folder.gdvar(&["diff", old, new]);
        assert_eq!((printed.code, printed.text().lines().count()), (Some(1), 2), "{}", printed.text());
    }
    folder.write("d", [batch(&[folder.encoded("1")]), vec![9, 0, 0]].concat());
    for (old, new) in [("a", "d"), ("d", "a")] {
        assert!(folder.gdvar(&["diff", old, new]).stderr.contains("error: d: "));
    }
}

#[test]
fn diff_finds_every_difference() {
    let folder = Folder::new();
    let long = "x".repeat(300);
    let (long_a, long_b) = (format!(r#"{{"t":"{long}a{long}"}}"#), format!(r#"{{"t":"{long}b{long}"}}"#));
    let pairs = [
        (r#"{"a":{"Array":{"element":{"builtin":"int"},"values":[1]}}}"#, r#"{"a":[1]}"#),
        (r#"{"float":"nan"}"#, r#"{"float":"nan:fff8000000000000"}"#),
        (r#"{"Vector2":[0.5,1.0]}"#, r#"{"Vector2":{"f64":[0.5,1.0]}}"#),
        (&long_a, &long_b),
        (
            r#"{"a":1,"b":2}"#,
            r#"{"Dictionary":{"key":null,"value":null,"entries":[[{"StringName":"a"},1],["b",2]]}}"#,
        ),
    ];
    for (old, new) in pairs {
        folder.write("a", folder.encoded(old));
        folder.write("b", folder.encoded(new));
        let printed = folder.gdvar(&["diff", "a", "b", "--as", "value"]);
        assert_eq!(printed.code, Some(1), "{}", printed.stderr);
        for line in printed.text().lines() {
            let (path, change) = line.split_once(": ").expect("a path");
            if let Some((old, new)) = change.split_once(" → ") {
                assert_ne!(old, new, "{line}");
            }
            assert!(line.len() < 400, "{line}");
            assert!(!path.is_empty());
        }
        let lines: Vec<&str> =
            printed.text().lines().map(|line| line.split(':').next().unwrap_or(line)).collect();
        assert!(lines.windows(2).all(|pair| pair[0] != pair[1]), "{}", printed.text());
    }
}

#[test]
fn changes_for_godot_3_are_listed() {
    let folder = Folder::new();
    let records = [
        r#"{"Vector2i":[1,2]}"#,
        r#"[{"Vector2i":[1,2]},{"StringName":"idle"}]"#,
        r#"{"Array":{"element":{"builtin":"int"},"values":[1]}}"#,
        "7",
    ];
    folder.write("save.dat", batch(&records.map(|json| folder.encoded(json))));
    let printed = folder.gdvar(&["convert", "save.dat", "--to-godot3", "--output", "old.dat"]);
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    assert_eq!(
        printed.stderr,
        "changed: Vector2i to Vector2, 2 values\nchanged: StringName to String, 1 value\n\
         changed: typed Array to Array, 1 value\n"
    );
}
