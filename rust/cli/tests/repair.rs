//! `repair` keeps every record that is still whole.

mod support;

use std::fs;
use std::ops::Range;
use std::process::Command;

use fastrand::Rng;
use support::{Folder, batch, encoded};
use variant_codec::{Array, Limits, Reals, Value, frames};

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

#[test]
fn whole_records_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let (damaged, repaired) = (folder.path().join("damaged.dat"), folder.path().join("repaired.dat"));
    let limits = Limits::for_save_files();
    for seed in 0..1000 {
        let mut random = Rng::with_seed(seed);
        let values: Vec<Vec<u8>> =
            (0..random.usize(1..40)).map(|_| record(&mut random, 3).encode().expect("encoded")).collect();
        let mut batch = Vec::new();
        let mut framed = Vec::new();
        for value in &values {
            let start = batch.len();
            frames::append(&mut batch, value);
            framed.push(start..batch.len());
        }
        let (gone, put) = damage(&mut batch, &mut random);
        // A record that lacks bytes consumes as many bytes of the next record, and may then be valid.
        let missing = gone.len().saturating_sub(put);
        let taken = framed.iter().find(|place| place.end > gone.start).map_or(0, |place| place.end + missing);
        fs::write(&damaged, &batch).expect("written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_gdvar"));
        command
            .arg("repair")
            .arg(&damaged)
            .args(["--as", "records", "--godot4", "--force", "--output"])
            .arg(&repaired);
        let output = command.output().expect("gdvar runs");
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(said.contains("no record is whole"), "{seed}: {said}");
            let is_hit = |place: &Range<usize>| place.end > gone.start && place.start < gone.end.max(taken);
            assert!(framed.iter().all(is_hit), "{seed}: {said}");
            continue;
        }
        let written = fs::read(&repaired).expect("a file");
        let (records, torn) = frames::records(&written, &limits);
        assert_eq!(torn, None, "{seed}");
        let mut found = records.into_iter().map(|record| &written[record]);
        for (index, (value, place)) in values.iter().zip(framed).enumerate() {
            if place.end <= gone.start || place.start >= gone.end.max(taken) {
                let is_kept = found.by_ref().any(|record| record == value);
                assert!(is_kept, "{seed}: record {index} at {place:?} is lost; damaged: {gone:?}");
            }
        }
    }
}

/// The records that `repair` finds in these bytes, and its output.
fn repaired(bytes: &[u8]) -> (Vec<Vec<u8>>, String) {
    let folder = Folder::new();
    folder.write("damaged.dat", bytes);
    let arguments = ["repair", "damaged.dat", "--as", "records", "--godot4", "--output", "repaired.dat"];
    let said = String::from_utf8(folder.gdvar(&arguments).good()).expect("UTF-8");
    let written = folder.read("repaired.dat");
    let (records, torn) = frames::records(&written, &Limits::for_save_files());
    assert_eq!(torn, None);
    (records.into_iter().map(|record| written[record].to_vec()).collect(), said)
}

#[test]
fn intact_lengths_lead_to_whole_records() {
    for seed in 0..300 {
        let mut random = Rng::with_seed(seed);
        let values: Vec<Vec<u8>> =
            (0..random.usize(2..30)).map(|_| encoded(record(&mut random, 2))).collect();
        let mut damaged = values.clone();
        let mut is_damaged: Vec<bool> = values.iter().map(|_| random.u8(..3) == 0).collect();
        is_damaged[random.usize(..values.len())] = false;
        for (value, _) in damaged.iter_mut().zip(&is_damaged).filter(|(_, is_damaged)| **is_damaged) {
            let at = if random.bool() { random.usize(..4) } else { random.usize(..value.len()) };
            value[at] ^= random.u8(1..);
        }
        let mut bytes = batch(&damaged);
        if random.bool() {
            bytes.extend(&batch(&[encoded("the last record")])[..17]);
        }
        let (found, _) = repaired(&bytes);
        let mut found = found.iter();
        for (index, (value, is_damaged)) in values.iter().zip(is_damaged).enumerate() {
            assert!(is_damaged || found.any(|record| record == value), "{seed}: record {index} is lost");
        }
    }
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
        assert_eq!(repaired(&bytes).0.len(), records);
    }
}

#[test]
fn zeros_are_not_taken_for_records() {
    let record = encoded(Value::from_iter([("name", "Ada"), ("class", "Mage")]));
    for zeros in [4, 8, 12, 512] {
        let bytes = [batch([&record]), vec![0; zeros], batch([&record])].concat();
        let (found, said) = repaired(&bytes);
        assert_eq!(found, [record.clone(), record.clone()]);
        assert!(said.starts_with(&format!("lost: {zeros} bytes at byte {}\n", record.len() + 4)), "{said}");
    }
}

#[test]
fn records_with_truncated_lengths_are_kept() {
    let record = encoded(Value::from_iter([("name", "Ada"), ("class", "Mage")]));
    for missing in 1..=4 {
        let mut bytes = batch(&vec![record.clone(); 3]);
        bytes.drain(record.len() + 4..record.len() + 4 + missing);
        assert_eq!(repaired(&bytes).0, vec![record.clone(); 3], "{missing} bytes are missing");
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

/// The length of an int's record is also the header of a Rect2i. In the damaged files, it is the header of a Color.
#[test]
fn numbers_do_not_hide_records() {
    let ints: Vec<Vec<u8>> = (100..108).map(encoded).collect();
    let mut lacking = batch(&ints);
    lacking.drain(28..32);
    let whole = [&ints[..2], &ints[3..]].concat();
    let (found, said) = repaired(&lacking);
    assert_eq!(found, whole, "{said}");
    assert!(said.contains("lost: "), "{said}");

    let empty = encoded(Value::from_iter::<[(&str, Value); 0]>([]));
    let mut changed = batch(&[encoded(Value::Nil), empty.clone()]);
    changed[0] = 20;
    assert_eq!(repaired(&changed).0, [empty]);
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

/// A record of ints that look like lengths and headers.
fn noise(random: &mut Rng, count: usize) -> Vec<u8> {
    const WORDS: [i32; 7] = [4, 8, 0, 2, 16, 28, 27];

    encoded(Value::PackedInt32Array((0..count).map(|_| WORDS[random.usize(..WORDS.len())]).collect()))
}

fn player(name: &str, scores: Vec<i32>) -> Vec<u8> {
    let scores = scores.into_iter().map(Value::from).collect();
    encoded(Value::from_iter([("name", Value::from(name)), ("scores", scores)]))
}

/// The words 28 and 16 look like the length and the header of an AABB, which reaches into the next record.
#[test]
fn records_do_not_overlap() {
    let (next, last) = (player("Mia", vec![12]), player("Bob", vec![]));
    let ints = Value::PackedInt32Array(vec![8, 2, 7, 28, 16, 1, 1, 1, 1]);
    let mut bytes = batch(&[encoded(ints), next.clone(), last.clone()]);
    bytes[4] = 0x63;
    assert!(repaired(&bytes).0.ends_with(&[next, last]));

    for seed in 0..20 {
        let mut random = Rng::with_seed(seed);
        let values: Vec<Vec<u8>> = (0..100).map(|_| noise(&mut random, 30)).collect();
        let mut damaged = values.clone();
        let is_damaged: Vec<bool> = values.iter().map(|_| random.u8(..3) == 0).collect();
        for (value, _) in damaged.iter_mut().zip(&is_damaged).filter(|(_, is_damaged)| **is_damaged) {
            let at = random.usize(..value.len());
            value[at] ^= 0xFF;
        }
        let (found, _) = repaired(&batch(&damaged));
        let mut found = found.iter();
        for (index, (value, is_damaged)) in values.iter().zip(is_damaged).enumerate() {
            assert!(is_damaged || found.any(|record| record == value), "{seed}: record {index} is lost");
        }
    }
}

/// The length of each damaged record leads past the next record to another damaged one.
#[test]
fn wrong_lengths_hide_no_records() {
    let record = player("Ada", vec![87]);
    let mut pair = batch(&[[27, 2, 2, 1, 99_u32].map(u32::to_le_bytes).concat()]);
    pair.extend(batch([&record]));
    let length = pair.len() as u32 - 4;
    pair[..4].copy_from_slice(&length.to_le_bytes());
    for count in [400, 6400] {
        assert_eq!(repaired(&pair.repeat(count)).0, vec![record.clone(); count]);
    }
}

/// The length of the first torn record leads into the middle of the next one, where an int 8 looks like a record. The
/// second one is a packed array, and any bytes are valid elements of it.
#[test]
fn a_torn_record_does_not_hide_the_next() {
    let ints = encoded(Value::PackedInt32Array(vec![100; 40]));
    let rest = [player("Mia", vec![8; 20]), player("Bob", vec![])];
    for (torn, least) in [(player("Ada", (0..20).collect()), 5), (ints, 24)] {
        let torn = batch(&[torn]);
        for end in least..torn.len() {
            let (found, said) = repaired(&[&torn[..end], &batch(&rest)].concat());
            assert!(found.ends_with(&rest), "torn at {end}: {said}");
        }
    }
}

/// Each torn value, together with the next record or its first bytes, would be valid.
#[test]
fn a_torn_value_does_not_contain_the_next_record() {
    let texts = Value::PackedByteArray(vec![7; 100]);
    let cases: [(Value, usize, [Value; 2]); 4] = [
        (Value::from_iter([("speed", 2)]), 12, [Value::from_iter([("name", "Ada")]), 4.into()]),
        (Value::Int(200), 4, [300.into(), 400.into()]),
        (Value::Vector2(Reals::Single([3.0, 4.0])), 8, [Value::Vector2(Reals::Single([5.0, 6.0])), 7.into()]),
        (texts, 96, [Value::from_iter([("name", "x".repeat(60))]), Value::Array(Array::default())]),
    ];
    for (torn, missing, rest) in cases {
        let rest = [Value::from_iter([("gold", 1)])].into_iter().chain(rest).map(encoded).collect::<Vec<_>>();
        let torn = batch(&[encoded(torn)]);
        let bytes = [batch(&rest[..1]), torn[..torn.len() - missing].to_vec(), batch(&rest[1..])].concat();
        let (found, said) = repaired(&bytes);
        assert_eq!(found, rest, "{said}");
        assert!(said.contains("lost: "), "{said}");
    }
}

/// The length of the torn record leads to the end of the 33rd record after it.
#[test]
fn a_torn_record_does_not_hide_many_records() {
    let map = Value::PackedByteArray((0..1000).map(|byte| byte as u8).collect());
    let torn =
        batch(&[encoded(Value::from_iter([("name", Value::from("Ada")), ("map", map), ("hp", 7.into())]))]);
    let rest = (0..100).map(|x| encoded(Value::Vector2(Reals::Single([x as f32, 0.5])))).collect::<Vec<_>>();
    for torn in [torn[..532].to_vec(), [&torn[..300], &torn[812..]].concat()] {
        let (found, said) = repaired(&[torn, batch(&rest)].concat());
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
    assert_eq!(repaired(&bytes).0, [first]);
}

/// The int before the key is the length of the key.
#[test]
fn a_key_in_a_damaged_record_is_not_taken_for_a_record() {
    let players = ["Mia", "Ada", "Bob"]
        .map(|name| encoded(Value::from_iter([("hp", Value::Int(12)), ("name", name.into())])));
    let bytes = batch(&players);
    let key = encoded("name");
    let check = |damaged: &[u8], at: usize| {
        let (found, said) = repaired(damaged);
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

/// The records before and after the intact one are damaged, and so is the end.
#[test]
fn a_record_between_two_damaged_ones_is_kept() {
    let values: [fn(i64) -> Value; 4] = [
        |index| format!("the text of record {index}").into(),
        Value::Int,
        |index| Value::Vector3(Reals::Single([index as f32, 2.0, 3.0])),
        |index| Value::from_iter([("id", index)]),
    ];
    for value in values {
        let records: Vec<Vec<u8>> = (0..6).map(|index| encoded(value(1000 + index))).collect();
        let mut bytes = batch(&records);
        let size = bytes.len() / records.len();
        for index in [1, 3] {
            bytes[index * size..][..8].fill(0xA5);
        }
        for end in [&[0; 64][..], &[9, 0, 0, 0]] {
            let (found, said) = repaired(&[&bytes, end].concat());
            assert_eq!(found, [0, 2, 4, 5].map(|index| records[index].clone()), "{said}");
        }
    }
}

/// In the next record, the count of bytes leads to the same offset as the record's length.
#[test]
fn a_torn_packed_array_does_not_hide_the_next_header() {
    let records: Vec<Vec<u8>> = (0..5).map(|byte| encoded(vec![byte + 100_u8; 60])).collect();
    for missing in (4..=40).step_by(4) {
        let mut bytes = batch(&records);
        bytes.drain(100..100 + missing);
        let (found, said) = repaired(&bytes);
        assert_eq!(found, [0, 2, 3, 4].map(|index| records[index].clone()), "{missing}: {said}");
    }
}

/// The length of the torn record leads to a whole record, with a damaged one before that.
#[test]
fn a_damaged_record_after_a_torn_one_hides_no_records() {
    let map = Value::PackedByteArray(vec![7; 9000]);
    let torn = batch(&[encoded(Value::from_iter([("id", 1.into()), ("map", map), ("speed", 7.5.into())]))]);
    let rest = (0..600).map(|x| encoded(Value::Vector2(Reals::Single([x as f32, 0.5])))).collect::<Vec<_>>();
    let mut bytes = [&torn[..2000], &torn[6096..], &batch(&rest)].concat();
    let start = torn.len() - 4096;
    bytes[start + 200 * 16 + 1] ^= 0x80;
    let (found, said) = repaired(&bytes);
    let lost = rest.iter().filter(|record| !found.contains(record)).count();
    assert!(lost <= 1, "{lost} lost; {said}");
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
        let (found, said) = repaired(&bytes[..bytes.len() - missing]);
        assert!(found.starts_with(&records[..2]), "{missing} missing: {said}");
    }
    assert_eq!(repaired(&bytes[..bytes.len() - 10]).0, records[..2]);
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
        assert_eq!(repaired(&bytes).0, records);
        // Damages the name in the first record.
        bytes[32] ^= 0x80;
        assert_eq!(repaired(&bytes).0, records[1..]);
    }
}

/// The end of the record looks like a record of Nil.
#[test]
fn a_value_is_kept_after_any_bit_flip_in_its_length() {
    let note = |name: &str| encoded(Value::from_iter([("name", name), ("note", "")]));
    let records = ["Ada", "Mia", "Bob"].map(note);
    let start = records[0].len() + 4;
    for bit in 0..32 {
        let mut bytes = batch(&records);
        bytes[start + bit / 8] ^= 1 << (bit % 8);
        assert_eq!(repaired(&bytes).0, records, "bit {bit}");
    }
}

/// The elements look like a record that continues with the next record.
#[test]
fn a_changed_length_hides_no_packed_array() {
    let ints = Value::PackedInt32Array(vec![28, 16, 12, 8, 8]);
    let values = ["first".into(), ints, Value::Int(13), Value::Int(14)].map(encoded);
    let mut bytes = batch(&values);
    bytes[20] = 29;
    assert_eq!(repaired(&bytes).0, values);
}

/// The last word of each record looks like a header, and the next length like the value after it.
#[test]
fn records_that_end_like_headers_are_kept() {
    for value in [Value::from("Help!"), Value::Vector2i([7, 28])] {
        let records = vec![encoded(value); 100];
        let size = records[0].len() + 4;
        let mut bytes = batch(&records);
        bytes.pop();
        assert_eq!(repaired(&bytes).0.len(), 99);
        bytes = batch(&records);
        bytes[50 * size + 1] ^= 1;
        assert!(repaired(&bytes).0.len() >= 99);
    }
}

/// The last number of each record looks like a header, and each of the others like a length or a header.
#[test]
fn whole_records_far_from_damage_are_kept() {
    let entry = |id: i64| encoded(Value::from_iter([("id", id)]));
    let tiles = (0..20).map(|y| encoded(Value::Rect2i([2, y, 8, 2])));
    let records: Vec<_> = (0..50).map(entry).chain(tiles).chain((50..100).map(entry)).collect();
    let mut bytes = batch(&records);
    bytes.pop();
    assert_eq!(repaired(&bytes).0, records[..119]);
    bytes[1] ^= 1;
    let (found, said) = repaired(&bytes);
    assert!(found.ends_with(&records[1..119]), "{said}");
}

/// Its header looks like the length of an int.
#[test]
fn a_vector_with_a_damaged_length_is_kept() {
    let tiles: Vec<_> = (0..20).map(|y| encoded(Value::Rect2i([2, y, 16, 16]))).collect();
    let lists: Vec<_> = (0..20).map(|y| encoded(Value::from_iter([Value::Rect2i([2, y, 16, 16])]))).collect();
    for records in [tiles, lists] {
        let size = records[0].len() as u32;
        for length in [0, size + 4] {
            let mut bytes = batch(&records);
            bytes[..4].copy_from_slice(&length.to_le_bytes());
            assert_eq!(repaired(&bytes).0, records, "length {length}");
        }
    }
}

/// The PackedByteArray at its end holds records.
#[test]
fn a_value_that_ends_with_a_batch_is_kept() {
    let inner: Vec<_> = (0..6).map(|id| encoded(Value::from_iter([("id", id), ("hp", 9)]))).collect();
    let log = Value::PackedByteArray(batch(&inner));
    let records = vec![encoded(Value::from_iter([("id", Value::from(7)), ("log", log)])); 5];
    let mut bytes = batch(&records);
    bytes[..4].fill(0);
    assert_eq!(repaired(&bytes).0, records);
}

/// The records after a PackedByteArray in a damaged record are not a part of it.
#[test]
fn a_packed_byte_array_contains_no_records_after_it() {
    let entry =
        |id: i64| Value::from_iter([("id", Value::from(id)), ("thumb", Value::PackedByteArray(vec![]))]);
    let records: Vec<_> = (0..100).map(|id| encoded(entry(id))).collect();
    let mut bytes = batch(&records);
    bytes.splice(60..60, [0xee; 4]);
    assert!(repaired(&bytes).0.ends_with(&records[2..]));
    for (torn, end) in
        [(Value::PackedByteArray(vec![0; 20]), 12), (Value::from("a text of twenty-nine bytes!!"), 16)]
    {
        let torn = [&batch(&[encoded(torn)])[..end], &batch(&records)].concat();
        assert_eq!(repaired(&torn).0, records);
    }
}

/// The torn record is valid with bytes of the two records after it, which end before and after its end.
#[test]
fn a_torn_number_hides_no_short_records() {
    let matrix = Value::Transform3D(Reals::Single([1.0; 12]));
    let vector = Value::Vector2(Reals::Single([0.5; 2]));
    let records = [encoded(vector.clone()), encoded(vector), encoded(matrix.clone())];
    let torn = [&batch(&[encoded(matrix)])[..28], &batch(&records)].concat();
    assert_eq!(repaired(&torn).0, records);
}

/// The header of the text looks like a length, and the text like a vector.
#[test]
fn a_text_without_its_length_is_not_taken_for_a_vector() {
    for text in ["hello", "helloworld"] {
        let records = vec![encoded(text); 10];
        let mut bytes = batch(&records);
        let start = 5 * bytes.len() / 10;
        bytes.drain(start..start + 4);
        assert!(repaired(&bytes).0.iter().all(|found| *found == records[0]), "{text}");
    }
}

/// An id in the Array is the size of the next element, so that both look like a record.
#[test]
fn an_array_with_a_damaged_length_is_kept() {
    let name = "a name of some length";
    let entry = Value::from_iter([("name", Value::from(name)), ("scores", vec![1, 2, 3].into())]);
    let size = encoded(entry.clone()).len() as i64;
    let record = encoded((0..40).flat_map(|_| [entry.clone(), Value::Int(size)]).collect::<Value>());
    let mut bytes = batch(std::slice::from_ref(&record));
    bytes[..4].copy_from_slice(&[4, 0, 0, 0]);
    assert_eq!(repaired(&bytes).0, [record]);
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
    let (found, said) = repaired(&[&save[..], &[9, 0]].concat());
    assert_eq!(batch(&found), save);
    assert!(said.contains("1 record is not canonical"), "{said}");
    folder.write("save.dat", &save);
    folder.gdvar(&["check", "save.dat", "--allow-non-canonical"]).good();
    for command in [&["check", "save.dat"][..], &["json", "save.dat"], &["query", "save.dat", "."]] {
        let printed = folder.gdvar(command);
        assert_eq!(printed.code, Some(1));
        assert!(printed.stderr.contains("--allow-non-canonical"), "{}", printed.stderr);
    }
}

#[test]
fn an_incomplete_search_is_reported() {
    // Each unit looks like a length of 64 KiB and an Array, whose elements are the units that follow.
    let unit = [24 | 1 << 16, 28, 16_000_u32].map(u32::to_le_bytes).concat();
    let good = batch(&[player("Ada", vec![87])]);
    let folder = Folder::new();
    folder.write("save.dat", [&good[..], &[255; 4], &unit.repeat(20_000), &good].concat());
    let printed = folder.gdvar(&["repair", "save.dat", "--as", "records", "--godot4", "--output", "new.dat"]);
    assert_eq!(printed.code, Some(1));
    assert!(printed.text().contains("lost: "), "{}", printed.text());
    assert!(printed.stderr.contains("the search gave up"), "{}", printed.stderr);
    assert_eq!(folder.read("new.dat"), good);
}
