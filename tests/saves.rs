//! Saves: each change is found, and a record that lies is refused.

use variant_codec::error::{Limit, SaveDamage};
use variant_codec::frames::ReadAt;
use variant_codec::saves::{self, Content};
use variant_codec::{ErrorKind, Limits, Value};

fn file(content: &[u8]) -> Vec<u8> {
    let summary = Value::from_iter([("day", 3)]).encode().unwrap();
    let [head, tail] = saves::around(&summary, content).unwrap();
    [&head, content, &tail].concat()
}

fn name(text: &str) -> Value {
    Value::StringName(text.into())
}

#[test]
fn each_flipped_bit_and_each_cut_is_found() {
    let value =
        Value::from_iter([("gold", Value::from(99)), ("items", vec![1, 2, 3].into())]).encode().unwrap();
    let limits = Limits::for_save_files();
    for content in [value.clone(), saves::compressed(vec![7; 40], value.len()).unwrap()] {
        let whole = file(&content);
        let save = saves::read(&whole, &limits).unwrap().unwrap();
        assert_eq!(save.summary, Value::from_iter([("day", 3)]).encode().unwrap());
        assert_eq!(&whole[save.at..][..content.len()], content);
        let summary = saves::read_summary(&whole[..], &limits).unwrap().unwrap();
        assert_eq!(summary, save.summary);
        for length in 28..whole.len() {
            let cut = saves::read(&whole[..length], &limits).unwrap_err();
            assert_eq!(cut.kind(), &ErrorKind::Save(SaveDamage::CutOff), "{length}");
            assert!(saves::read_summary(&whole[..length], &limits).is_err(), "{length}");
        }
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut flipped = whole.clone();
                flipped[at] ^= 1 << bit;
                let found = saves::read(&flipped, &limits);
                assert!(matches!(found.unwrap_err().kind(), ErrorKind::Save(_)), "byte {at}, bit {bit}");
            }
        }
    }
}

#[test]
fn other_files_are_no_saves() {
    let limits = Limits::for_save_files();
    for other in [&b""[..], b"abc", &[0; 4], &[4, 0, 0, 0, 0, 0, 0, 0], &[255; 100]] {
        assert_eq!(saves::read(other, &limits).unwrap(), None);
        assert_eq!(saves::read_summary(other, &limits).unwrap(), None);
    }
}

#[test]
fn records_that_lie_are_refused() {
    let limits = Limits { max_bytes: 1000, ..Limits::for_save_files() };
    let zstd = Value::PackedByteArray(vec![1, 2, 3]);
    let good =
        Value::from_iter([(name("@zstd"), zstd.clone()), (name("size"), 100.into())]).encode().unwrap();
    let whole = file(&good);
    let save = saves::read(&whole, &limits).unwrap().unwrap();
    assert_eq!(save.content, Content::Zstd { compressed: &[1, 2, 3], size: 100 });
    // `NO_ZSTD` in godot-project/suites/save_suite.gd.
    assert_eq!(hex::encode(&whole), HEX);
    for size in [1001, -1, i64::MAX] {
        let lie = Value::from_iter([(name("@zstd"), zstd.clone()), (name("size"), size.into())]);
        let error = saves::read(&file(&lie.encode().unwrap()), &limits).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::LimitExceeded(Limit::Bytes, 1000));
    }
    for lie in [
        Value::from_iter([(name("@zstd"), zstd.clone())]),
        Value::from_iter([(name("@zstd"), Value::from(7)), (name("size"), 7.into())]),
        Value::from_iter([(name("@zstd"), zstd), (name("size"), "7".into())]),
    ] {
        assert!(saves::read(&file(&lie.encode().unwrap()), &limits).is_err());
    }
    // Lengths that lead out of the file, or into each other.
    for length in [0_u32, 4, 23, 24, u32::MAX] {
        let mut whole = whole.clone();
        whole[..4].copy_from_slice(&length.to_le_bytes());
        assert!(saves::read(&whole, &limits).is_err());
        assert!(saves::read_summary(&whole[..], &limits).is_err());
    }
    assert_eq!(whole.size().unwrap(), whole.len() as u64);
}

const HEX: &str = "340000001b00000001000000150000000500000040736176650000001b000000010000000400000003000000646179000200000003000000380000001b000000020000001500000005000000407a7374640000001d0000000300000001020300150000000400000073697a650200000064000000200000001b0000000100000015000000040000004073756d020001000ae16fccb459b544";
