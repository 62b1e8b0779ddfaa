//! `repair` loses nothing that is still whole.

use std::fs;
use std::ops::Range;
use std::process::Command;

use fastrand::Rng;
use variant_codec::{Limits, Value, frames};

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

/// Damages bytes in one of the ways that files are damaged. Returns which of the old bytes are gone or changed, and how many are put
/// there instead.
fn damage(bytes: &mut Vec<u8>, random: &mut Rng) -> (Range<usize>, usize) {
    let at = random.usize(..bytes.len());
    let end = (at + random.usize(1..60)).min(bytes.len());
    let put: Vec<u8> = match random.u8(..6) {
        // A block of zeros, as after a power failure.
        0 => vec![0; end - at],
        1 => (at..end).map(|_| random.u8(..)).collect(),
        // One bit.
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
fn what_is_whole_is_kept() {
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
        // A record that lacks bytes takes as many of those behind it, and may be one again.
        let missing = gone.len().saturating_sub(put);
        let taken = framed.iter().find(|place| place.end > gone.start).map_or(0, |place| place.end + missing);
        fs::write(&damaged, &batch).expect("written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_gdvar"));
        command.arg("repair").arg(&damaged).args(["--as", "records", "--force", "--output"]).arg(&repaired);
        let output = command.output().expect("gdvar runs");
        assert!(output.status.success(), "{seed}: {}", String::from_utf8_lossy(&output.stderr));
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
