//! `json`, `get`, `from-json`: values as JSON, in the forms that docs/gdvar.md describes.

mod writer;

use std::io::Write;
use std::path::Path;

use variant_codec::stream::Decoder;
use variant_codec::{Limits, Result, Strictness, Value, frames, quick_check};

use crate::failure::{Failure, Outcome};
use crate::input::{self, Input, Place};
use crate::output;
pub use writer::{Notation, write};

/// Appends a value as JSON, if it is one that strict decoding accepts.
pub fn append(bytes: &[u8], limits: &Limits, notation: Notation, out: &mut Vec<u8>) -> Result<()> {
    if quick_check(bytes, limits) != Some(bytes.len()) {
        Value::decode(bytes, limits)?;
    }
    write(|| Decoder::new(bytes, Strictness::Strict, limits), notation, out)
}

/// Prints all values: one, or an array of records, or a record on each line.
pub fn json(input: &Input, lines: bool, notation: Notation) -> Outcome<()> {
    let limits = input::limits();
    let mut out = std::io::stdout().lock();
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
    out.write_all(end.as_bytes()).and_then(|()| out.flush()).map_err(Failure::output)
}

/// Prints the part at a path, as JSON or encoded.
pub fn get(input: &Input, path: &str, notation: Notation, as_bytes: bool) -> Outcome<()> {
    let place = Place::of(input, path)?;
    let mut encoded = Vec::new();
    place.each(input, |index, _, view| {
        let failed = |error| Failure::data(&input.name_of(index), &error);
        // Elements of packed arrays have no bytes of their own.
        let value = view.value().map_err(failed)?;
        if as_bytes {
            encoded.push(value.encode().map_err(failed)?);
            return Ok(());
        }
        let mut text = Vec::new();
        write(|| &value, notation, &mut text).map_err(failed)?;
        text.push(b'\n');
        output::text(&text)
    })?;
    if as_bytes { output::write(None, &encoded, false) } else { Ok(()) }
}

/// Encodes JSON: one value, or records.
pub fn from_json(file: &Path, to: Option<&Path>, records: bool, force: bool) -> Outcome<()> {
    let (name, text) = input::read(file)?;
    let failed = |error: &dyn std::fmt::Display| Failure::Data(format!("{name}: {error}"));
    let encoded = |value: &Value| value.encode().map_err(|error| failed(&error));
    if depth(&text) > MOST_LEVELS {
        return Err(failed(&format_args!("nested deeper than {MOST_LEVELS} levels, which no value is")));
    }
    let mut json = serde_json::Deserializer::from_slice(&text);
    json.disable_recursion_limit();
    let mut values = Vec::new();
    for value in json.into_iter::<Value>() {
        values.push(value.map_err(|error| failed(&error))?);
    }
    let parts = match (&values[..], records) {
        ([value], false) => vec![encoded(value)?],
        (_, false) => {
            return Err(failed(&format_args!("{} values; --records writes each as a record", values.len())));
        }
        (values, true) => {
            let elements: Vec<&Value> = match values {
                [Value::Array(array)] => array.iter().collect(),
                values => values.iter().collect(),
            };
            let mut batch = Vec::new();
            for element in elements {
                frames::try_append(&mut batch, &encoded(element)?).map_err(|error| failed(&error))?;
            }
            vec![batch]
        }
    };
    output::write(to, &parts, force)
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
