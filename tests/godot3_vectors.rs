//! Reads and rewrites every vector that Godot 3 wrote. The engine defines the result.

use conformance::godot3::{Answer, Origin, judge, read, rows, transcode};
use variant_codec::godot3::Loss;
use variant_codec::{Limits, Strictness};

/// The number of rows that are written differently by design: invalid code units, equal keys, objects. After
/// the vectors change, look at the rows, then correct the number.
const WRITTEN_OTHERWISE: usize = 30;

#[test]
fn lenient_reading_matches_the_engine() {
    let (mut wrong, mut otherwise) = (Vec::new(), Vec::new());
    for row in rows() {
        match judge(&row.bytes, &row.answer) {
            Ok(true) => {}
            Ok(false) => otherwise.push(row.label),
            Err(problem) => {
                wrong.push(format!("{}: {}: {}: {problem}", row.engines, row.label, hex::encode(row.bytes)));
            }
        }
    }
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(otherwise.len(), WRITTEN_OTHERWISE, "{otherwise:#?}");
}

#[test]
fn vectors_of_the_engine_round_trip() {
    let limits = Limits::for_save_files();
    let mut same = 0;
    for row in rows().into_iter().filter(|row| row.origin == Origin::Engine) {
        let streamed = transcode(&row.bytes, Strictness::Strict, &limits, false);
        let streamed = streamed.unwrap_or_else(|error| panic!("{}: {error}", row.label));
        assert_eq!(hex::encode(streamed), hex::encode(&row.bytes), "{}", row.label);
        let value = read(&row.bytes, Strictness::Strict, &limits, false).expect("it was read before");
        assert_eq!(value.encode_godot3(Loss::Refused).as_ref(), Ok(&row.bytes), "{}", row.label);
        same += 1;
    }
    assert!(same > 390, "only {same} rows");
}

#[test]
fn strict_reading_refuses_what_the_engine_refuses() {
    for row in rows().into_iter().filter(|row| row.answer == Answer::Refused) {
        let read = read(&row.bytes, Strictness::Strict, &Limits::for_save_files(), false);
        assert!(read.is_err(), "{}: {}: {read:?}", row.label, hex::encode(row.bytes));
    }
}

/// Objects with class and properties are refused, unless they may become Dictionaries.
#[test]
fn objects_are_read_if_allowed() {
    let limits = Limits { allow_objects: true, ..Limits::for_save_files() };
    let mut seen = 0;
    for row in rows().into_iter().filter(|row| row.origin == Origin::Objects) {
        assert!(read(&row.bytes, Strictness::Strict, &limits, false).is_err(), "{}", row.label);
        let read = read(&row.bytes, Strictness::Strict, &limits, true);
        assert!(read.is_ok(), "{}: {read:?}", row.label);
        seen += 1;
    }
    assert!(seen >= 6, "only {seen} rows");
}
