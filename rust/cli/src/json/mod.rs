//! `json`, `get`, `from-json`: values as JSON, in the forms that docs/gdvar.md describes.

mod writer;

use std::path::Path;

use variant_codec::stream::Decoder;
use variant_codec::{Limits, Result, Strictness, Value, frames, quick_check};

use crate::failure::{Failure, Outcome};
use crate::input::{self, Input, Place};
use crate::output::{self, Output, Target};
pub use writer::{Notation, write};

/// Appends a value as JSON, if it is one that strict decoding accepts.
pub fn append(bytes: &[u8], limits: &Limits, notation: Notation, out: &mut Vec<u8>) -> Result<()> {
    if quick_check(bytes, limits) != Some(bytes.len()) {
        Value::decode(bytes, limits)?;
    }
    write(|| Decoder::new(bytes, Strictness::Strict, limits), notation, out)
}

/// Prints all values: one, or an array of records, or a record on each line.
pub fn json(input: &Input, lines: bool, notation: Notation, out: &mut Output) -> Outcome<()> {
    let limits = input::limits();
    let out = out.bytes();
    let is_list = input.has_records && !lines;
    let mut is_empty = true;
    input.each_in_parallel(
        |text: &mut Vec<u8>, index, offset, bytes| {
            if is_list {
                text.extend_from_slice(if index == 0 { b"[\n" } else { b",\n" });
            }
            append(bytes, &limits, notation, text)
                .map_err(|error| Failure::data_at(&input.name_of(index), error, bytes, offset))?;
            if !is_list {
                text.push(b'\n');
            }
            Ok(())
        },
        |text| {
            is_empty &= text.is_empty();
            out.write_all(&text).map_err(Failure::output)
        },
    )?;
    let end = match (is_list, is_empty) {
        (true, true) => "[]\n",
        (true, false) => "\n]\n",
        (false, _) => "",
    };
    out.write_all(end.as_bytes()).map_err(Failure::output)
}

/// Prints the part at a path, as JSON or encoded.
pub fn get(input: &Input, path: &str, notation: Notation, as_bytes: bool, out: &mut Output) -> Outcome<()> {
    let place = Place::of(input, path)?;
    let mut encoded = Vec::new();
    place.each(input, |index, _, view| {
        let failed = |error| Failure::data(&input.name_of(index), &error);
        // Elements of packed arrays have no bytes of their own.
        let value = view.value().map_err(failed)?;
        if as_bytes {
            encoded.extend(value.encode().map_err(failed)?);
            return Ok(());
        }
        let mut text = Vec::new();
        write(|| &value, notation, &mut text).map_err(failed)?;
        text.push(b'\n');
        out.bytes().write_all(&text).map_err(Failure::output)
    })?;
    if as_bytes { output::write(None, encoded, false, out) } else { Ok(()) }
}

/// Writes JSON as one value, or as records.
pub fn from_json(file: &Path, records: bool, target: &Target, out: &mut Output) -> Outcome<()> {
    let (name, text) = input::read(file)?;
    let contents = encode(&text, records).map_err(|error| Failure::Data(format!("{name}: {error}")))?;
    target.write(contents, out)
}

/// Encodes JSON.
///
/// # Errors
/// Says what is not valid and where.
pub fn encode(text: &[u8], records: bool) -> std::result::Result<Vec<u8>, String> {
    if depth(text) > MOST_LEVELS {
        return Err(format!("nested deeper than {MOST_LEVELS} levels, which no value is"));
    }
    let mut json = serde_json::Deserializer::from_slice(text);
    json.disable_recursion_limit();
    let values = json.into_iter().collect::<serde_json::Result<Vec<Value>>>();
    let encoded = match (&values.map_err(|error| error.to_string())?[..], records) {
        ([value], false) => value.encode(),
        (values, false) => {
            return Err(format!("{} values; --records writes each as a record", values.len()));
        }
        ([Value::Array(array)], true) => batch(array.iter()),
        (values, true) => batch(values.iter()),
    };
    encoded.map_err(|error| error.to_string())
}

/// A save of these values.
pub fn batch<'v>(values: impl Iterator<Item = &'v Value>) -> Result<Vec<u8>> {
    let mut batch = Vec::new();
    for value in values {
        frames::try_append(&mut batch, &value.encode()?)?;
    }
    Ok(batch)
}

/// Levels of JSON for a value of 1024 levels: a typed Dictionary takes five.
const MOST_LEVELS: usize = 5 * 1025;

/// How deeply JSON is nested.
fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_text, mut is_escaped) = (0_usize, 0, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_text,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
