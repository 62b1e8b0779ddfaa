//! Reads and rewrites every vector that the engine wrote. The engine defines the result.

use std::collections::BTreeMap;

use conformance::{
    Row, any_inside, has_equal_keys, has_instance_ids, has_misfits, is_refusal, rows, transcode,
};
use variant_codec::stream::{Decoder, Encoder, Precision, Source as _, ValueBuilder};
use variant_codec::value::OwnedElementType;
use variant_codec::{EncodeOptions, Limits, Object, Strictness, Value};

/// A reason to differ from the engine, by necessity or by design.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Exception {
    /// Refused: values of another type in a typed Dictionary, which the engine reads.
    TypedDictionaryValue,
    /// Read: objects and containers with an unknown class or script, which the engine refuses.
    UnknownClass,
    /// The engine converts or drops values that a typed container does not accept; the bytes keep them.
    Misfit,
    /// The engine merges equal keys; the bytes keep both.
    EqualKeys,
    /// The engine writes the properties of its new object, not the properties that were read.
    LiveObject,
}
use Exception::*;

/// The number of rows that each exception explains. After the vectors change, look at the rows, then correct
/// the numbers.
const EXPECTED: [(Exception, usize); 3] = [(TypedDictionaryValue, 10), (Misfit, 7), (EqualKeys, 8)];

fn has_live_objects(value: &Value) -> bool {
    let is_script = |element: &OwnedElementType| matches!(element, OwnedElementType::Script(_));
    any_inside(value, |inner| match inner {
        Value::Object(Object::Full { .. }) => true,
        Value::Array(array) => is_script(&array.element),
        Value::Dictionary(dictionary) => is_script(&dictionary.key) || is_script(&dictionary.value),
        _ => false,
    })
}

/// The reason why the engine writes a value as other bytes.
fn explanation(row: &Row, value: &Value) -> Option<Exception> {
    if row.objects && (has_live_objects(value) || has_instance_ids(value)) {
        Some(LiveObject)
    } else if has_misfits(value) {
        Some(Misfit)
    } else {
        has_equal_keys(value).then_some(EqualKeys)
    }
}

/// Compares one row. Returns the exception that it needs, or the error.
fn check(row: &Row) -> Result<Option<Exception>, String> {
    let limits = row.limits();
    let mut builder = ValueBuilder::default();
    let read = Decoder::new(&row.bytes, Strictness::Lenient, &limits).decode_only(&mut builder);
    let value = builder.into_value();
    let (consumed, engine) = match (read, &row.accepted) {
        (Err(_), None) => return Ok(None),
        (Err(error), Some(_)) if is_refusal(&error) => return Ok(Some(TypedDictionaryValue)),
        (Err(error), Some(_)) => return Err(format!("refused: {error}")),
        (Ok(_), None) if row.objects && has_live_objects(&value) => return Ok(Some(UnknownClass)),
        (Ok(_), None) => return Err("read, but the engine refuses it".into()),
        (Ok(consumed), Some(engine)) => (consumed, engine),
    };
    if consumed != engine.consumed {
        return Err(format!("{consumed} bytes read, by the engine {}", engine.consumed));
    }
    let built = value.encode().map_err(|error| error.to_string())?;
    let streamed = transcode(&row.bytes, Strictness::Lenient, &limits, Precision::Single);
    let streamed = streamed.map_err(|error| error.to_string())?;
    if built != streamed {
        return Err(format!("a Value writes {}, the bytes {}", hex::encode(built), hex::encode(streamed)));
    }
    if engine.is_reencoded(&built) {
        return Ok(None);
    }
    match explanation(row, &value) {
        None => Err(format!("written as {}, by the engine {}", hex::encode(built), engine.reencoded)),
        explained => Ok(explained),
    }
}

#[test]
fn lenient_decoding_matches_the_engine() {
    let mut needed = BTreeMap::new();
    let mut wrong = Vec::new();
    for row in rows() {
        match check(&row) {
            Ok(None) => {}
            Ok(Some(exception)) => needed.entry(exception).or_insert_with(Vec::new).push(row.label),
            Err(problem) => wrong.push(format!("{}: {}: {problem}", row.label, hex::encode(row.bytes))),
        }
    }
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
    let counts: Vec<_> = needed.iter().map(|(exception, labels)| (*exception, labels.len())).collect();
    assert_eq!(counts, EXPECTED, "{needed:#?}");
}

#[test]
fn strict_decoding_accepts_what_the_engine_writes() {
    let mut canonical = 0;
    for row in rows().into_iter().filter(Row::is_canonical) {
        let limits = Limits { allow_objects: row.objects, ..Limits::for_save_files() };
        match transcode(&row.bytes, Strictness::Strict, &limits, Precision::Single) {
            Ok(bytes) => {
                assert_eq!(hex::encode(bytes), hex::encode(&row.bytes), "{}", row.label);
                canonical += 1;
            }
            Err(error) => assert!(is_refusal(&error), "{}: {error}", row.label),
        }
    }
    assert!(canonical > 300, "only {canonical} rows are canonical");
}

#[test]
fn consecutive_values_are_read() {
    let rows: Vec<Row> = rows()
        .into_iter()
        .filter(|row| {
            row.is_canonical()
                && transcode(&row.bytes, Strictness::Strict, &row.limits(), Precision::Single).is_ok()
        })
        .collect();
    let bytes: Vec<u8> = rows.iter().flat_map(|row| row.bytes.clone()).collect();
    let limits = Limits { allow_objects: true, ..Limits::for_save_files() };
    let mut decoder = Decoder::new(&bytes, Strictness::Strict, &limits);
    let mut encoder = Encoder::new(Vec::new(), EncodeOptions::default());
    let mut end = 0;
    for row in &rows {
        decoder.write_into(&mut encoder).unwrap();
        end += row.bytes.len();
        assert_eq!(decoder.position(), end, "{}", row.label);
    }
    assert_eq!(encoder.into_output(), bytes);
}

/// Engines before 4.6.3 leave the padding of a NodePath's parts uninitialised; the codec writes zeros.
#[test]
fn paths_of_older_engines_are_canonical() {
    let parts = |padding: [&str; 3]| {
        let [a, b, c] = padding;
        let hex =
            format!("16000000 02000080 01000000 00000000 01000000 61{a} 03000000 626364{b} 02000000 6566{c}");
        hex::decode(hex.replace(' ', "")).expect("hexadecimal bytes")
    };
    let limits = Limits { allow_objects: true, ..Limits::for_save_files() };
    let written = transcode(&parts(["303036", "34", "ff01"]), Strictness::Strict, &limits, Precision::Single);
    assert_eq!(written, Ok(parts(["000000", "00", "0000"])));
}
