//! `json`, `get`, `from-json`: values as JSON, in the forms that docs/gdvar.md describes.

use std::io::Write;
use std::path::Path;

use variant_codec::{Value, frames};

use crate::failure::{Failure, Outcome};
use crate::input::{self, Input, Place};
use crate::output;

/// Prints all values: one, or an array of records, or a record on each line.
pub fn json(input: &Input, lines: bool) -> Outcome<()> {
    let limits = input::limits();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let is_list = input.has_records && !lines;
    let mut count = 0_u64;
    input.each(0..u64::MAX, |index, offset, bytes| {
        let value = Value::decode(bytes, &limits);
        let value = value.map_err(|error| Failure::data_at(&input.name_of(index), error, bytes, offset))?;
        let before = match (is_list, index) {
            (false, _) => "",
            (true, 0) => "[\n",
            (true, _) => ",\n",
        };
        count += 1;
        out.write_all(before.as_bytes()).map_err(Failure::output)?;
        written(&mut out, &value)?;
        if is_list { Ok(()) } else { out.write_all(b"\n").map_err(Failure::output) }
    })?;
    let end = match (is_list, count) {
        (true, 0) => "[]\n",
        (true, _) => "\n]\n",
        (false, _) => "",
    };
    out.write_all(end.as_bytes()).and_then(|()| out.flush()).map_err(Failure::output)
}

fn written(out: &mut impl Write, value: &Value) -> Outcome<()> {
    serde_json::to_writer(out, value).map_err(|error| Failure::output(error.into()))
}

/// Prints the part at a path, as JSON or encoded.
pub fn get(input: &Input, path: &str, bytes: bool) -> Outcome<()> {
    let place = Place::of(input, path)?;
    let mut encoded = Vec::new();
    place.each(input, |index, _, view| {
        let failed = |error| Failure::data(&input.name_of(index), &error);
        let value = view.value().map_err(failed)?;
        if bytes {
            encoded.push(value.encode().map_err(failed)?);
            return Ok(());
        }
        let mut out = std::io::stdout().lock();
        written(&mut out, &value)?;
        out.write_all(b"\n").map_err(Failure::output)
    })?;
    if bytes { output::write(None, &encoded, false) } else { Ok(()) }
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
