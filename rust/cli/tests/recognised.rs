//! Recognition of the contents of files.

mod support;

use support::{Folder, batch, encoded};
use variant_codec::{Reals, Value};

/// A single value is recognised, unless its bytes are also valid records or look like a record and a
/// truncated record.
#[test]
fn a_value_is_not_taken_for_a_record() {
    let folder = Folder::new();
    let list = |count: i64, element: &dyn Fn(i64) -> Value| (0..count).map(element).collect::<Value>();
    let vector = |int: i64| Value::Vector2(Reals::Single([int as f32, 0.5]));
    let mut values = vec![
        Value::from("a text of 25 characters..."),
        Value::from("x".repeat(25)),
        Value::Rect2i([1, 2, 3, 4]),
        Value::from_iter([("hp", 87)]),
    ];
    for count in 0..64 {
        values.push(list(count, &Value::from));
        values.push(list(count, &|_| Value::Nil));
        values.push(list(count, &|_| Value::from(true)));
        values.push(list(count, &|int| Value::from(format!("text {int}"))));
        values.push(list(count, &vector));
        values.push(list(count, &|int| Value::from_iter([("id", int)])));
        values.push(Value::from(vec![7_u8; count as usize]));
    }
    let mut ambiguous = Vec::new();
    for value in values {
        let value = encoded(value);
        folder.write("value.dat", &value);
        if folder.gdvar(&["convert", "value.dat", "--to", "value"]).good() == value {
            continue;
        }
        // The bytes are valid as records, too.
        folder.gdvar(&["check", "value.dat", "--as", "records"]).good();
        ambiguous.push(value);
    }
    assert!(ambiguous.len() <= 6, "{ambiguous:02x?}");
}

/// The length of a record without padding is also the header of a Dictionary.
#[test]
fn a_record_without_padding_is_not_taken_for_a_dictionary() {
    let folder = Folder::new();
    let mut record = encoded(vec![7_u8; 19]);
    record.truncate(27);
    folder.write("save.dat", batch(&[record, encoded(1)]));
    let printed = folder.gdvar(&["check", "save.dat", "--allow-non-canonical"]).good();
    assert!(String::from_utf8_lossy(&printed).contains("2 records"));
}

#[test]
fn a_truncated_dictionary_is_not_taken_for_a_record() {
    let folder = Folder::new();
    let item = |id: i64| Value::from_iter([("id", id), ("count", 3)]);
    let value = Value::from_iter([("hp", 87.into()), ("items", (0..4).map(item).collect::<Value>())]);
    let (value, record) = (encoded(value.clone()), batch(&[encoded(value)]));
    // The shortest ends have no key yet.
    for end in 40..value.len() {
        let said = |bytes| {
            folder.write("truncated.dat", bytes);
            folder.gdvar(&["repair", "truncated.dat", "-o", "repaired.dat"]).stderr
        };
        assert!(said(&value[..end]).contains("one value"), "{end}");
        assert!(!said(&record[..end]).contains("one value"), "{end}: {:02x?}", &record[..end]);
    }
}

#[test]
fn records_are_not_taken_for_a_value() {
    let folder = Folder::new();
    let values = [
        encoded(Value::Transform2D(Reals::Single([1.0; 6]))),
        encoded(Value::Aabb(Reals::Single([0.0; 6]))),
        encoded(1),
        encoded("a text"),
        encoded(true),
        encoded(Value::Nil),
        encoded(Value::from_iter([("hp", 87)])),
    ];
    for first in &values {
        for second in &values {
            for records in [&[first][..], &[first, second], &[first, second, second, second, second]] {
                let save = batch(records.iter().copied());
                folder.write("save.dat", &save);
                let printed = folder.gdvar(&["check", "save.dat"]).good();
                let expected = format!("{} record", records.len());
                assert!(String::from_utf8_lossy(&printed).contains(&expected), "{save:02x?}");
            }
        }
    }
}

fn old(values: &[Value]) -> Vec<Vec<u8>> {
    let loss = variant_codec::godot3::Loss::Refused;
    values.iter().map(|value| value.encode_godot3(loss).expect("encoded")).collect()
}

#[test]
fn godot3_must_fill_the_bytes() {
    let folder = Folder::new();
    let cases = [
        [encoded("A"), b"junk".to_vec()].concat(),
        vec![0; 4096],
        batch(&[[encoded(Value::Nil), vec![0; 12]].concat()]),
        [old(&[Value::from_iter([("hp", 87)])]).concat(), vec![0; 4]].concat(),
    ];
    for bytes in cases {
        folder.write("value.dat", &bytes);
        let printed = folder.gdvar(&["check", "value.dat"]);
        assert_eq!(printed.code, Some(1), "{}", printed.text());
        assert!(folder.gdvar(&["convert", "value.dat", "--godot3"]).stdout.is_empty());
    }
}

#[test]
fn damage_does_not_look_like_godot3() {
    let folder = Folder::new();
    let save = batch(&(0..8).map(encoded).collect::<Vec<_>>());
    // The type id of record 3.
    let at = 3 * 12 + 4;
    for id in 6..40 {
        let mut damaged = save.clone();
        damaged[at] = id;
        folder.write("save.dat", &damaged);
        let printed = folder.gdvar(&["check", "save.dat"]);
        assert!(!String::from_utf8_lossy(&printed.stdout).contains("Godot 3"), "{id}");
    }
    let mut padded = batch(&[encoded("a")]);
    padded[14] = 1;
    folder.write("save.dat", &padded);
    assert_eq!(folder.gdvar(&["check", "save.dat"]).code, Some(1));
}

#[test]
fn godot3_is_recognised_after_ambiguous_records() {
    let folder = Folder::new();
    let mut values = vec![Value::from(1); 40];
    values.push(Value::from_iter([("hp", 87)]));
    let save = batch(&old(&values));
    folder.write("old.dat", &save);
    let printed = folder.gdvar(&["check", "old.dat"]).good();
    let size = save.len() - 4 * values.len();
    let expected = format!("old.dat: 41 records of {size} bytes, good, in Godot 3's format\n");
    assert_eq!(String::from_utf8(printed).expect("UTF-8"), expected);
    folder.gdvar(&["repair", "old.dat", "--output", "repaired.dat"]).good();
    assert_eq!(folder.read("repaired.dat"), save);
}

#[test]
fn stats_and_get_fail_if_check_fails() {
    let folder = Folder::new();
    let one = encoded(Value::from_iter([("a", 1), ("a", 2)]));
    let trailing = [encoded("text"), vec![0; 4]].concat();
    for value in [one, trailing] {
        folder.write("value.dat", value);
        let printed = folder.gdvar(&["stats", "value.dat", "--as", "value"]);
        assert_eq!(printed.code, Some(1), "{}", printed.stderr);
        assert!(printed.text().contains("path"), "{}", printed.text());
        for command in
            [&["get", "value.dat", ""][..], &["get", "value.dat", "", "--bytes"], &["show", "value.dat"]]
        {
            let printed = folder.gdvar(&[command, &["--as", "value"]].concat());
            let is_shown = command[0] == "show" && printed.text().contains("Dictionary");
            assert!(printed.code == Some(1) || is_shown, "{command:?}: {}", printed.stderr);
            // Messages do not name options of the addon.
            assert!(!printed.text().contains("allow_") && !printed.stderr.contains("allow_"));
        }
    }
}
