//! Batches: an index and a scan of records. The fuzz target `frames` reads damaged batches.

use std::io::{self, Cursor, Write};
use std::sync::Mutex;

use conformance::{godot3, rows};
use variant_codec::frames::{Block, Contents, Index, Layout, ReadAt};
use variant_codec::limits::Limit;
use variant_codec::value::Reals;
use variant_codec::{Error, ErrorKind, Limits, Strictness, Value, frames};

/// The layouts that recognition gives, the likeliest first.
fn layouts(bytes: &[u8]) -> (Layout, Option<Layout>) {
    match frames::recognise(bytes, |_| true).expect("readable") {
        Contents::Values { layout, other } => (layout, other),
        foreign => panic!("{foreign:?}: {bytes:02x?}"),
    }
}

/// Every value that an engine wrote, as one value and as a record: it is recognised, or at least named as the other
/// layout.
#[test]
fn values_of_both_engines_are_recognised() {
    let limits = Limits::for_save_files();
    let of_godot4 = rows().into_iter().filter_map(|row| {
        let is_same = row.accepted.is_some_and(|accepted| accepted.reencoded == hex::encode(&row.bytes));
        let limits = Limits { allow_objects: true, ..Limits::for_save_files() };
        (is_same && Value::decode(&row.bytes, &limits).is_ok()).then_some((row.bytes, false))
    });
    let of_godot3 = godot3::rows().into_iter().filter(|row| row.origin == godot3::Origin::Engine);
    let of_godot3 = of_godot3.map(|row| (row.bytes, true));
    let (mut counted, mut wrong) = (0, Vec::new());
    for (value, is_godot3) in of_godot4.chain(of_godot3) {
        // Many values are the same in both formats.
        let in_godot4 = |read: variant_codec::Result<Value>| read.ok().and_then(|value| value.encode().ok());
        let of_godot3 = in_godot4(godot3::read(&value, Strictness::Strict, &limits, false));
        let is_same =
            is_godot3 && of_godot3.is_some() && of_godot3 == in_godot4(Value::decode(&value, &limits));
        let mut record = Vec::new();
        frames::append(&mut record, &value);
        for (bytes, has_records) in [(value, false), (record, true)] {
            let expected = Layout { has_records, is_godot3: is_godot3 && !is_same };
            let (layout, other) = layouts(&bytes);
            counted += 1;
            if layout != expected {
                assert_eq!(other, Some(expected), "{}", hex::encode(&bytes));
                wrong.push(hex::encode(bytes));
            }
        }
    }
    assert!(counted > 1000, "{counted}");
    // Numbers that fill the same bytes in both formats, such as a Plane and a Color.
    assert!(wrong.len() < counted / 50, "{} of {counted}: {wrong:#?}", wrong.len());
}

/// Whole records before damage are more than a value that the same bytes can be.
#[test]
fn records_before_damage_are_recognised() {
    let records = Layout { has_records: true, is_godot3: false };
    let vector = |at: i32| Value::Vector3(Reals::Single([at as f32; 3]));
    // The first array reads as an Array whose second element is the text "A".
    let mut of_numbers = Vec::new();
    frames::append(&mut of_numbers, &Value::PackedInt32Array(vec![10, 20, 4, 1, 65]).encode().unwrap());
    for at in 0..1000 {
        let row = Value::from(vec![Value::Int(at.into()), vector(at), Value::Float(0.5)]);
        frames::append(&mut of_numbers, &row.encode().unwrap());
    }
    for left_out in 0..60 {
        assert_eq!(layouts(&of_numbers[..of_numbers.len() - left_out]).0, records, "{left_out}");
    }
    // Rows of two ints, cut off anywhere.
    let mut rows = Vec::new();
    for at in 0..12 {
        frames::append(&mut rows, &Value::from(vec![Value::Int(at), Value::Int(7)]).encode().unwrap());
    }
    for end in 2 * 28..rows.len() {
        assert_eq!(layouts(&rows[..end]).0, records, "{end}");
    }
    // The last text is damaged in Godot 4's format, but text in Godot 3's.
    let mut damaged = Vec::new();
    for value in [Value::Nil, Value::from(vec![Value::Int(1)]), Value::from_iter([("a", 1)])] {
        frames::append(&mut damaged, &value.encode().unwrap());
    }
    frames::append(&mut damaged, b"\x04\0\0\0\x06\0\0\0\xED\xA0\xBD\xED\xB8\x80\0\0");
    assert_eq!(layouts(&damaged).0, records);
    // So does one whole record at the start, which is none of Godot 3's.
    let mut second_damaged = Vec::new();
    frames::append(
        &mut second_damaged,
        &Value::from_iter([(Value::PackedFloat64Array(vec![0.1]), 33)]).encode().unwrap(),
    );
    frames::append(&mut second_damaged, b"\x1C\0\0\0\x01\0\0\0\0\0\x02\0");
    frames::append(&mut second_damaged, b"\x04\0\0\0\x04\0\0\0a\xED\xA0\x80");
    assert_eq!(layouts(&second_damaged).0, records);
}

#[test]
fn an_index_finds_all_records() {
    let mut rng = fastrand::Rng::with_seed(3);
    for count in [0, 1, 7, 3000] {
        let mut batch = Vec::new();
        let mut starts = Vec::new();
        for _ in 0..count {
            starts.push(batch.len());
            let size = if rng.u8(..) < 3 { rng.usize(1..200_000) } else { rng.usize(1..40) };
            frames::append(&mut batch, &vec![7; size]);
        }
        let (records, _) = frames::records(&batch, &Limits::unlimited());
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&batch).unwrap();
        let file = Mutex::new(file);
        let (index, of_file) = (Index::default(), Index::default());
        for _ in 0..300 {
            let wanted = rng.usize(0..=records.len());
            let expected = records.get(wanted).map(|record| record.start as u64..record.end as u64);
            assert_eq!(index.find(&batch[..], wanted as u64).unwrap(), expected);
            assert_eq!(of_file.find(&file, wanted as u64).unwrap(), expected);
        }
        assert_eq!(index.count(&batch[..]).unwrap(), records.len() as u64);
        assert_eq!(of_file.count(&file).unwrap(), records.len() as u64);
        assert!(index.memory() <= 64 + batch.len() / 64);
    }
}

#[test]
fn an_index_reports_a_truncated_record_and_continues_after_appends() {
    let mut batch = Vec::new();
    frames::append(&mut batch, b"first");
    let whole = batch.len();
    frames::append(&mut batch, b"second");
    let index = Index::default();
    let torn = &batch[..batch.len() - 1];
    assert_eq!(index.find(torn, 0).unwrap(), Some(4..9));
    let error = index.find(torn, 1).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::UnexpectedEnd { needed: 6, left: 5 });
    assert_eq!(error.offset(), Some(whole));
    assert!(index.count(torn).is_err());
    let of_growing = Index::ignoring_torn();
    assert_eq!((of_growing.count(torn).unwrap(), of_growing.find(torn, 1).unwrap()), (1, None));
    frames::scan(torn, &of_growing, 0..u64::MAX, &Limits::unlimited(), |_, _, _| Ok(())).unwrap();
    assert_eq!(of_growing.count(&batch[..]).unwrap(), 2);
    assert_eq!(index.find(&batch[..], 1).unwrap(), Some(13..19));
    assert_eq!(index.count(&batch[..]).unwrap(), 2);
    // The file has shrunk since the index was built.
    assert_eq!(index.find(&batch[..whole], 1).unwrap(), None);
    assert_eq!(index.count(&batch[..whole]).unwrap(), 1);
    assert!(index.find(&batch[..3], 2).is_err());
}

#[test]
fn a_scan_finds_all_records() {
    let mut rng = fastrand::Rng::with_seed(5);
    for sizes in [40, 4000, 3 << 20] {
        let mut batch = Vec::new();
        for _ in 0..if sizes > 10_000 { 5 } else { 2000 } {
            frames::append(&mut batch, &vec![rng.u8(..); rng.usize(1..sizes)]);
        }
        let (records, _) = frames::records(&batch, &Limits::unlimited());
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&batch).unwrap();
        let file = Mutex::new(file);
        let mut next = 0;
        let mut compare = |index: u64, offset: u64, record: &[u8]| {
            let expected = records[next].clone();
            assert_eq!((index, offset), (next as u64, expected.start as u64));
            assert_eq!(record, &batch[expected]);
            next += 1;
            Ok(())
        };
        frames::scan(&file, &Index::default(), 0..u64::MAX, &Limits::unlimited(), &mut compare).unwrap();
        assert_eq!(next, records.len());
        let (index, last) = (Index::default(), records.len() as u64);
        for range in [0..1, 3..5, last - 1..last, last..last + 2, 2..2] {
            let mut found = Vec::new();
            let scanned =
                frames::scan(&file, &index, range.clone(), &Limits::unlimited(), |index, offset, _| {
                    found.push((index, offset));
                    Ok(())
                });
            scanned.unwrap();
            let expected: Vec<_> = range
                .filter(|index| *index < last)
                .map(|index| (index, records[index as usize].start as u64))
                .collect();
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn a_scan_ends_at_a_refused_record() {
    let mut bytes = Vec::new();
    [3, 40, 7].iter().for_each(|&size| frames::try_append(&mut bytes, &vec![7; size]).expect("memory"));
    let limits = Limits { max_bytes: 39, ..Limits::unlimited() };
    let error =
        frames::scan(&bytes[..], &Index::default(), 0..u64::MAX, &limits, |_, _, _| Ok(())).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::LimitExceeded(Limit::Bytes, 39)), "{error}");
    let first_error =
        frames::scan(&bytes[..], &Index::default(), 0..u64::MAX, &Limits::unlimited(), |_, _, _| {
            Err(ErrorKind::TooDeep.into())
        });
    assert_eq!(first_error.unwrap_err().kind(), &ErrorKind::TooDeep);
}

/// Stands for zstd in tests of positions.
fn not_compressed(frame: &[u8], size: usize) -> Option<Vec<u8>> {
    (frame.len() == size).then(|| frame.to_vec())
}

/// The records in blocks have the indexes of a file without blocks.
#[test]
fn records_in_blocks_are_found_at_their_indexes() {
    let mut rng = fastrand::Rng::with_seed(6);
    for sizes in [40, 400, 40_000] {
        // Each record with the range of the record or block in the file.
        let (mut batch, mut expected) = (Vec::new(), Vec::new());
        while expected.len() < 500 {
            let records: Vec<Vec<u8>> =
                (0..rng.usize(1..20)).map(|_| vec![rng.u8(..); rng.usize(4..sizes)]).collect();
            let start = batch.len() + frames::FRAME_BYTES;
            if rng.bool() {
                let mut block = Vec::new();
                records.iter().for_each(|record| frames::append(&mut block, record));
                Block::append(&mut batch, records.len(), block.len(), &block);
                let place = start as u64..batch.len() as u64;
                expected.extend(records.into_iter().map(|record| (place.clone(), record)));
            } else {
                frames::append(&mut batch, &records[0]);
                expected.push((start as u64..batch.len() as u64, records[0].clone()));
            }
        }
        let index = Index::default().reading_blocks(not_compressed);
        let last = expected.len() as u64;
        for at in [0, 499, 250, 10, last - 1] {
            assert_eq!(index.find(&batch[..], at).unwrap(), Some(expected[at as usize].0.clone()));
        }
        assert_eq!((index.count(&batch[..]).unwrap(), index.find(&batch[..], last).unwrap()), (last, None));
        for range in [0..u64::MAX, 7..300, last - 1..last, last..last + 1] {
            let mut next = range.start;
            frames::scan(&batch[..], &index, range.clone(), &Limits::unlimited(), |at, offset, record| {
                let (place, expected) = &expected[next as usize];
                assert_eq!((at, offset, record), (next, place.start, &expected[..]));
                next += 1;
                Ok(())
            })
            .unwrap();
            assert_eq!(next, range.end.min(last).max(range.start));
        }
        // Blocks that are not yet complete do not count.
        let growing = Index::ignoring_torn().reading_blocks(not_compressed);
        let before = expected.iter().filter(|(place, _)| place.end < batch.len() as u64).count();
        assert_eq!(growing.count(&batch[..batch.len() - 1]).unwrap(), before as u64);
        assert_eq!(growing.count(&batch[..]).unwrap(), last);
    }
}

/// The block in `file_suite.gd`: its frame is right, and its second record has no type of Godot 4.
#[test]
fn a_block_is_a_dictionary() {
    let mut records = Vec::new();
    frames::append(&mut records, &Value::from(7).encode().unwrap());
    frames::append(&mut records, &[99, 0, 0, 0]);
    let size = records.len() as u8;
    let frame = [&[0x28, 0xB5, 0x2F, 0xFD, 0x20, size, size << 3 | 1, 0, 0][..], &records].concat();
    let (mut block, mut expected) = (Vec::new(), Vec::new());
    Block::append(&mut block, 2, records.len(), &frame);
    let name = |text: &str| Value::StringName(text.into());
    let sum = (xxhash_rust::xxh3::xxh3_64(&frame) as u32).cast_signed();
    let value = Value::from_iter([
        (name("records"), Value::from(2)),
        (name("size"), Value::from(records.len() as i64)),
        (name("sum"), Value::from(sum)),
        (name("@zstd"), Value::PackedByteArray(frame)),
    ]);
    frames::append(&mut expected, &value.encode().unwrap());
    assert_eq!(hex::encode(&block), hex::encode(&expected));
    // A flipped bit in the head makes it no other record.
    let record = &block[frames::FRAME_BYTES..];
    let whole = Block::of(record, record.len() as u64).unwrap().unwrap();
    for bit in 0..96 * 8 {
        let mut flipped = record.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let read = Block::of(&flipped, flipped.len() as u64);
        assert!(!matches!(read, Ok(None)) && read != Ok(Some(whole)), "bit {bit}");
    }
    let suite = std::fs::read_to_string("../godot-project/suites/file_suite.gd").unwrap();
    assert!(suite.contains(&hex::encode(&block)), "{}", hex::encode(&block));
}

/// No value has 0 bytes, but a file may end with zeros after a power failure.
#[test]
fn trailing_zeros_are_not_taken_for_records() {
    let mut bytes = Vec::new();
    frames::append(&mut bytes, b"whole");
    let whole = bytes.len();
    bytes.resize(whole + (3 << 20), 0);
    let (records, damage) = frames::records(&bytes, &Limits::unlimited());
    assert_eq!((records.len(), damage.as_ref().and_then(Error::offset)), (1, Some(whole)));
    assert_eq!(damage.unwrap().kind(), &ErrorKind::EmptyRecord);
    let torn = frames::find_torn(&mut Cursor::new(&bytes), bytes.len() as u64).unwrap();
    assert_eq!(torn, Some(whole as u64));
    for index in [Index::default(), Index::ignoring_torn()] {
        let scanned = frames::scan(&bytes[..], &index, 0..u64::MAX, &Limits::unlimited(), |_, _, _| Ok(()));
        assert_eq!(scanned.unwrap_err().kind(), &ErrorKind::EmptyRecord);
        assert_eq!(index.count(&bytes[..]).unwrap_err().kind(), &ErrorKind::EmptyRecord);
        assert_eq!(index.find(&bytes[..], 0).unwrap(), Some(4..whole as u64));
    }
}

/// A file that other programs truncate: each query of its size takes the next entry of `sizes`.
struct Shrinking {
    bytes: Vec<u8>,
    sizes: Mutex<Vec<usize>>,
}

impl ReadAt for Shrinking {
    fn size(&self) -> io::Result<u64> {
        let mut sizes = self.sizes.lock().unwrap();
        let size = if sizes.len() > 1 { sizes.remove(0) } else { sizes[0] };
        Ok(size as u64)
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        self.bytes.as_slice().read_at(at, into)
    }
}

#[test]
fn a_file_that_shrinks_is_truncated() {
    // The first block ends within the second record. Then the file is truncated before the second record.
    let mut bytes = Vec::new();
    frames::append(&mut bytes, &vec![7; (1 << 20) - 10]);
    let second = bytes.len();
    frames::append(&mut bytes, &[8; 100]);
    let file = Shrinking { sizes: Mutex::new(vec![bytes.len(), bytes.len(), second]), bytes };
    let mut found = 0;
    let scanned = frames::scan(&file, &Index::default(), 0..u64::MAX, &Limits::unlimited(), |_, _, _| {
        found += 1;
        Ok(())
    });
    assert_eq!(found, 1);
    assert!(matches!(scanned.unwrap_err().kind(), ErrorKind::UnexpectedEnd { .. }));
}
