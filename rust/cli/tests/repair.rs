//! `repair` keeps every record that is still whole.

mod support;

use std::ops::Range;

use fastrand::Rng;
use support::{Folder, batch, encoded};
use variant_codec::godot3::Loss;
use variant_codec::{Limits, Reals, Value, frames};

fn record(random: &mut Rng, levels: u8) -> Value {
    let name = "n".repeat(random.usize(..20));
    match random.u8(..if levels == 0 { 4 } else { 8 }) {
        0 => Value::from(random.i64(..)),
        1 => Value::from(name),
        2 => Value::PackedByteArray((0..random.usize(..200)).map(|_| random.u8(..)).collect()),
        3 => Value::from((0..random.usize(..20)).map(|_| random.i32(..100)).collect::<Vec<_>>()),
        _ => Value::from_iter([
            ("name", Value::from(name)),
            ("hp", Value::from(random.i32(..100))),
            ("items", (0..random.usize(..5)).map(|_| record(random, levels - 1)).collect()),
        ]),
    }
}

/// Damages bytes in a realistic way. Returns the range of old bytes that are lost or changed, and the number
/// of bytes that replace them.
fn damage(bytes: &mut Vec<u8>, random: &mut Rng) -> (Range<usize>, usize) {
    let at = random.usize(..bytes.len());
    let end = (at + random.usize(1..60)).min(bytes.len());
    let put: Vec<u8> = match random.u8(..6) {
        // A block of zeros, as after a power failure.
        0 => vec![0; end - at],
        1 => (at..end).map(|_| random.u8(..)).collect(),
        2 => {
            bytes[at] ^= 1 << random.u8(..8);
            return (at..at + 1, 1);
        }
        3 => Vec::new(),
        4 => (0..random.usize(1..60)).map(|_| random.u8(..)).collect(),
        _ => {
            let gone = at..bytes.len();
            bytes.truncate(at);
            return (gone, 0);
        }
    };
    let gone = if put.len() == end - at { at..end } else { at..at + random.usize(..end - at) };
    let count = put.len();
    bytes.splice(gone.clone(), put);
    (gone, count)
}

/// No whole record that is followed by another one is lost, and no part of a damaged record is taken for a record.
#[test]
fn whole_records_are_kept() {
    for seed in 0..1000 {
        let mut random = Rng::with_seed(seed);
        let is_godot3 = seed % 4 == 0;
        let encode = |value: Value| match is_godot3 {
            true => value.encode_godot3(Loss::Refused).expect("encoded"),
            false => encoded(value),
        };
        let values: Vec<Vec<u8>> = (0..random.usize(1..40)).map(|_| encode(record(&mut random, 3))).collect();
        let (mut bytes, mut framed) = (Vec::new(), Vec::new());
        for value in &values {
            let start = bytes.len();
            frames::append(&mut bytes, value);
            framed.push(start..bytes.len());
        }
        let (gone, put) = damage(&mut bytes, &mut random);
        // A record that lacks bytes consumes as many bytes of the next record, and may then be valid.
        let missing = gone.len().saturating_sub(put);
        let taken = framed.iter().find(|place| place.end > gone.start).map_or(0, |place| place.end + missing);
        let is_whole = |place: &Range<usize>| place.end <= gone.start || place.start >= gone.end.max(taken);
        let (records, said) = repaired(&bytes, is_godot3);
        let mut found = records.iter().peekable();
        for (index, (value, place)) in values.iter().zip(&framed).enumerate() {
            let is_followed = framed.get(index + 1).is_none_or(is_whole);
            if is_whole(place) && is_followed {
                let is_kept = found.by_ref().any(|record| record == value);
                assert!(is_kept, "{seed}: record {index} at {place:?} is lost; damaged: {gone:?}; {said}");
            }
        }
        for record in records.iter().filter(|record| !values.contains(record)) {
            let is_part = |value: &Vec<u8>| value.windows(record.len()).any(|part| part == record);
            assert!(
                !values.iter().any(is_part),
                "{seed}: a part is taken for a record: {record:02x?}; {said}"
            );
        }
    }
}

/// The records that `repair` finds in these bytes, and its output.
fn repaired(bytes: &[u8], is_godot3: bool) -> (Vec<Vec<u8>>, String) {
    let folder = Folder::new();
    folder.write("damaged.dat", bytes);
    let format = if is_godot3 { "--godot3" } else { "--godot4" };
    let printed =
        folder.gdvar(&["repair", "damaged.dat", "--as", "records", format, "--output", "repaired.dat"]);
    if printed.code != Some(0) {
        assert!(printed.stderr.contains("no record is whole"), "{}", printed.stderr);
        assert!(!folder.path("repaired.dat").exists());
        return (Vec::new(), printed.stderr);
    }
    let written = folder.read("repaired.dat");
    let (records, torn) = frames::records(&written, &Limits::for_save_files());
    assert_eq!(torn, None);
    (records.into_iter().map(|record| written[record].to_vec()).collect(), printed.text().to_owned())
}

#[test]
fn damage_that_looks_like_records_hides_no_records() {
    // Each int looks like the length of a record that covers most of the remaining bytes.
    for (ints, records) in [(600, 20), (600, 200), (300, 1000)] {
        let mut bytes = batch(&[encoded(Value::from_iter(vec![1400; ints]))]);
        bytes.drain(40..44);
        let record = encoded(Value::from_iter([("name", "Ada")]));
        let others = batch(&vec![record; records]);
        bytes.extend(others);
        assert_eq!(repaired(&bytes, false).0.len(), records);
    }
}

#[test]
fn a_length_that_leads_past_a_record_does_not_hide_it() {
    // The damaged length leads to the start of the record after the next.
    let records: Vec<_> = (0..5).map(|at| encoded(f64::from(at) + 0.1)).collect();
    let mut bytes = batch(&records);
    bytes[16] = 28;
    let (found, said) = repaired(&bytes, false);
    assert_eq!(found, [&records[..1], &records[2..]].concat());
    assert!(said.starts_with("lost: 16 bytes at byte 16\n"), "{said}");
}

#[test]
fn zeros_are_not_taken_for_records() {
    let record = encoded(Value::from_iter([("name", "Ada"), ("class", "Mage")]));
    for zeros in [4, 8, 12, 512] {
        let bytes = [batch([&record]), vec![0; zeros], batch([&record])].concat();
        let (found, said) = repaired(&bytes, false);
        assert_eq!(found, [record.clone(), record.clone()]);
        assert!(said.starts_with(&format!("lost: {zeros} bytes at byte {}\n", record.len() + 4)), "{said}");
    }
}

#[test]
fn repair_writes_no_file_without_records() {
    let folder = Folder::new();
    folder.write("damaged.dat", [5, 0, 0, 0, 255, 255, 255, 255]);
    let printed = folder.gdvar(&["repair", "damaged.dat", "--as", "records", "--output", "repaired.dat"]);
    assert_eq!(printed.code, Some(1));
    assert!(!folder.path("repaired.dat").exists());
}

#[test]
fn the_report_goes_to_stderr() {
    let folder = Folder::new();
    let save = batch(&[encoded(1), encoded(2)]);
    folder.write("save.dat", &save);
    let printed = folder.gdvar(&["repair", "save.dat", "--output", "-"]);
    assert_eq!(printed.stdout, save);
    assert_eq!(printed.stderr, "standard output: 2 records are whole\n");
}

/// The length of the torn record leads to the end of the 33rd record after it.
#[test]
fn a_torn_record_does_not_hide_many_records() {
    let map = Value::PackedByteArray((0..1000).map(|byte| byte as u8).collect());
    let torn =
        batch(&[encoded(Value::from_iter([("name", Value::from("Ada")), ("map", map), ("hp", 7.into())]))]);
    let rest = (0..100).map(|x| encoded(Value::Vector2(Reals::Single([x as f32, 0.5])))).collect::<Vec<_>>();
    for torn in [torn[..532].to_vec(), [&torn[..300], &torn[812..]].concat()] {
        let (found, said) = repaired(&[torn, batch(&rest)].concat(), false);
        assert_eq!(found, rest, "{said}");
    }
}

/// The ints look like lengths, and the texts after them like records.
#[test]
fn a_part_of_a_torn_record_is_not_taken_for_a_record() {
    let item = || Value::from_iter([("hp", Value::Int(16)), ("items", Value::Nil)]);
    let last = batch(&[encoded([item(), item(), Value::Int(3)].into_iter().collect::<Value>())]);
    let first = encoded(Value::from_iter([("gold", 1)]));
    let bytes = [&batch(std::slice::from_ref(&first))[..], &last[..last.len() - 4]].concat();
    assert_eq!(repaired(&bytes, false).0, [first]);
}

/// The int before the key is the length of the key.
#[test]
fn a_key_in_a_damaged_record_is_not_taken_for_a_record() {
    let players = ["Mia", "Ada", "Bob"]
        .map(|name| encoded(Value::from_iter([("hp", Value::Int(12)), ("name", name.into())])));
    let bytes = batch(&players);
    let key = encoded("name");
    let check = |damaged: &[u8], at: usize| {
        let (found, said) = repaired(damaged, false);
        assert!(!found.is_empty() && !found.contains(&key), "damaged at {at}: {said}");
    };
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x7F;
        check(&changed, at);
        // Without the header before it, the int is a length.
        let lacks_header = (17..28).contains(&(at % (bytes.len() / players.len())));
        if !lacks_header {
            check(&[&bytes[..at], &bytes[(at + 4).min(bytes.len())..]].concat(), at);
        }
    }
}

/// The values contain records, and the file ends within the last one.
#[test]
fn a_whole_record_is_not_split_before_a_torn_one() {
    let hit = |time: f64, id: i64| {
        encoded([Value::from(time), "hit".into(), id.into()].into_iter().collect::<Value>())
    };
    let log = Value::PackedByteArray(batch(&[hit(0.1, 1), hit(0.2, 2), hit(0.3, 3)]));
    let records: Vec<_> = (0..3)
        .map(|id| encoded(Value::from_iter([("id", id.into()), ("log", log.clone()), ("crc", 777.into())])))
        .collect();
    let bytes = batch(&records);
    for missing in (1..records[2].len()).step_by(7) {
        let (found, said) = repaired(&bytes[..bytes.len() - missing], false);
        assert!(found.starts_with(&records[..2]), "{missing} missing: {said}");
    }
    assert_eq!(repaired(&bytes[..bytes.len() - 10], false).0, records[..2]);
}

/// Each of the values contains bytes that look like records.
#[test]
fn a_whole_record_is_not_split() {
    let hero = |name: &str, hp: i64| Value::from_iter([("name", Value::from(name)), ("hp", hp.into())]);
    let inner = batch(&[encoded(hero("Ada", 777)), encoded(hero("Mia", 888))]);
    let packets = (0..4).map(|hp| Value::PackedByteArray(encoded(hero("Bob", hp))));
    // The last word of the key "child" is 100, the size of the Dictionary.
    let child = Value::from_iter([("text", Value::from("x".repeat(72)))]);
    let children = (0..3).map(|_| Value::from_iter([("child", child.clone())]));
    let values = [
        Value::PackedByteArray(inner),
        Value::from_iter([("packets", packets.collect::<Value>())]),
        children.collect(),
    ];
    for value in values {
        let records = [hero("Eva", 1), value.clone(), Value::Nil, value, hero("Tom", 2)].map(encoded);
        let mut bytes = batch(&records);
        assert_eq!(repaired(&bytes, false).0, records);
        // Damages the name in the first record.
        bytes[32] ^= 0x80;
        assert_eq!(repaired(&bytes, false).0, records[1..]);
    }
}

/// `store_var` writes a text with a byte-order mark, and `get_var` reads it.
#[test]
fn records_that_the_engine_reads_are_kept() {
    let folder = Folder::new();
    let odd = {
        let mut odd = encoded(Value::from_iter([("name", "xxxabc")]));
        let at = odd.windows(3).position(|bytes| bytes == b"xxx").expect("the text");
        odd[at..at + 3].copy_from_slice("\u{FEFF}".as_bytes());
        odd
    };
    let save = batch(&[odd, encoded(1)]);
    let (found, _) = repaired(&[&save[..], &[9, 0]].concat(), false);
    folder.write("save.dat", &save);
    folder.gdvar(&["check", "save.dat", "--allow-non-canonical"]).good();
    let printed = folder.gdvar(&["check", "save.dat"]);
    assert_eq!(printed.code, Some(1));
    assert!(printed.stderr.contains("--allow-non-canonical"), "{}", printed.stderr);
    for command in [&["json", "save.dat"][..], &["query", "save.dat", "."], &["get", "save.dat", "0/name"]] {
        assert!(String::from_utf8_lossy(&folder.gdvar(command).good()).contains("abc"), "{command:?}");
    }
    folder.gdvar(&["convert", "save.dat", "--output", "canonical.dat"]).good();
    folder.gdvar(&["check", "canonical.dat"]).good();
    assert_eq!(batch(&found), folder.read("canonical.dat"));
}
