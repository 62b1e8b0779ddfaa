//! Every vector that the engine wrote, read and written again: the engine is right.

use std::collections::BTreeMap;

use conformance::{
    Row, any_inside, has_equal_keys, has_instance_ids, has_misfits, is_refusal, rows, transcode,
};
use variant_codec::stream::{Decoder, Precision, ValueBuilder};
use variant_codec::value::OwnedElementType;
use variant_codec::{Limits, Object, Strictness, Value, format};

/// Where a reader without an engine cannot, or does not want to, do what the engine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Exception {
    /// Refused: values of another type in a typed Dictionary, which the engine reads.
    TypedDictionaryValue,
    /// Read: objects and containers whose class or script does not exist, which the engine refuses.
    UnknownClass,
    /// The engine converts or leaves out what a typed container does not take; the bytes keep it.
    Misfit,
    /// The engine merges equal keys; the bytes keep both.
    EqualKeys,
    /// The engine writes the properties that its new object has, not the ones that were read.
    LiveObject,
}
use Exception::*;

/// How many rows each exception explains, so that none grows unseen. After a change of the vectors: look at the rows,
/// then correct the number.
const EXPECTED: [(Exception, usize); 3] = [(TypedDictionaryValue, 10), (Misfit, 7), (EqualKeys, 5)];

/// How many rows the strict strictness reads and writes with another class of elements.
const RENAMED: usize = 4;

fn has_live_objects(value: &Value) -> bool {
    let is_script = |element: &OwnedElementType| matches!(element, OwnedElementType::Script(_));
    any_inside(value, |inner| match inner {
        Value::Object(Object::Full { .. }) => true,
        Value::Array(array) => is_script(&array.element),
        Value::Dictionary(dictionary) => is_script(&dictionary.key) || is_script(&dictionary.value),
        _ => false,
    })
}

/// What explains that the engine writes a value in other bytes.
fn explanation(row: &Row, value: &Value) -> Option<Exception> {
    if row.objects && (has_live_objects(value) || has_instance_ids(value)) {
        Some(LiveObject)
    } else if has_misfits(value) {
        Some(Misfit)
    } else {
        has_equal_keys(value).then_some(EqualKeys)
    }
}

/// Compares one row; says which exception it needed, or what is wrong.
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
fn lenient_decoding_is_the_engines() {
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

/// Whether a container's elements are objects for a reader without objects, whatever class was declared: as in the
/// engine they become wrappers, and the container is written as one of those.
fn holds_wrappers(value: &Value) -> bool {
    let is_wrapper = |element: &OwnedElementType| *element == wrapper();
    any_inside(value, |inner| match inner {
        Value::Array(array) => is_wrapper(&array.element),
        Value::Dictionary(dictionary) => is_wrapper(&dictionary.key) || is_wrapper(&dictionary.value),
        _ => false,
    })
}

fn wrapper() -> OwnedElementType {
    OwnedElementType::Class(format::ENCODED_OBJECT_AS_ID.to_owned())
}

#[test]
fn what_strict_reads_is_written_the_same() {
    let mut renamed = Vec::new();
    for row in rows() {
        let limits = Limits { allow_objects: row.objects, ..Limits::for_save_files() };
        let Ok(value) = Value::decode(&row.bytes, &limits) else { continue };
        let same = [Precision::Single, Precision::Double].into_iter().any(|precision| {
            transcode(&row.bytes, Strictness::Strict, &limits, precision).as_ref() == Ok(&row.bytes)
        });
        if !same {
            assert!(!row.objects && holds_wrappers(&value), "{}: {}", row.label, hex::encode(row.bytes));
            renamed.push(row.label);
        }
    }
    assert_eq!(renamed.len(), RENAMED, "{renamed:#?}");
}

#[test]
fn strict_reads_what_the_engine_writes() {
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
