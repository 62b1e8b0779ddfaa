//! `json`, `get`, `from-json`: values as JSON, in the forms that docs/gdvar.md describes.

mod plain;

use std::fmt;
use std::path::Path;

use serde::Deserializer as _;
use serde::de::{Error as _, SeqAccess, Visitor};
use variant_codec::{Error, Limits, Result, Value};

use crate::check::Checker;
use crate::exact;
use crate::failure::{Failure, Outcome};
use crate::input::{self, Input, ValuePath};
use crate::output::{self, Output, Target};
use plain::Plain;

/// The form of values whose types JSON lacks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// An object that names the type, from which the same bytes can be restored.
    Lossless,
    /// The nearest JSON value.
    Plain,
}

/// Appends a value as JSON.
///
/// # Errors
/// Fails if a key cannot be written.
pub fn write(value: &Value, notation: Notation, out: &mut Vec<u8>) -> Result<()> {
    let written = match notation {
        Notation::Lossless => serde_json::to_writer(out, value),
        Notation::Plain => serde_json::to_writer(out, &Plain(value)),
    };
    written.map_err(Error::other)
}

/// Appends an encoded value as JSON. Fails if strict decoding refuses it.
pub fn append(bytes: &[u8], limits: &Limits, notation: Notation, out: &mut Vec<u8>) -> Result<()> {
    write(&Value::decode(bytes, limits)?, notation, out)
}

/// Prints one value, an array of records, or one record per line.
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
        // An empty list takes two lines, because `from-json` would read `[]` on one line as one record.
        (true, true) => "[\n]\n",
        (true, false) => "\n]\n",
        (false, _) => "",
    };
    out.write_all(end.as_bytes()).map_err(Failure::output)
}

/// Prints the part at a path, as JSON or encoded.
pub fn get(input: &Input, path: &str, notation: Notation, as_bytes: bool, out: &mut Output) -> Outcome<()> {
    let selected = ValuePath::of(input, path)?;
    let mut encoded = Vec::new();
    let are_records = input.has_records && selected.record.is_none();
    selected.each(input, |index, offset, view| {
        let failed = |error| Failure::data_in(&input.name_of(index), error, offset);
        // Decode every part, even to print its bytes: damage must be found before anything is printed.
        let value = view.value().map_err(failed)?;
        if as_bytes {
            let bytes = exact::encoded(&view).map_err(failed)?;
            if are_records {
                return exact::append(&mut encoded, &bytes).map_err(failed);
            }
            encoded.extend_from_slice(&bytes);
            return Ok(());
        }
        let mut text = Vec::new();
        write(&value, notation, &mut text).map_err(failed)?;
        text.push(b'\n');
        out.bytes().write_all(&text).map_err(Failure::output)
    })?;
    if as_bytes { output::write(None, encoded, false, out) } else { Ok(()) }
}

/// The form in which JSON is encoded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum As {
    /// One value.
    Value,
    /// One record for each value; usually, each line is a value. If the first line of the text is only `[`,
    /// as in the output of `json` for records, each element of this array becomes a record.
    Records,
    /// A record for each element of the outermost array.
    Elements,
}

/// Encodes a JSON file as one value or as records, and writes the result.
pub fn from_json(file: &Path, how: As, target: &Target, out: &mut Output) -> Outcome<()> {
    let (name, text) = input::read(file)?;
    let contents = encode(&text, how).map_err(|error| Failure::Data(format!("{name}: {error}")))?;
    target.write(contents, false, out)
}

/// Encodes JSON.
///
/// # Errors
/// Fails if the JSON is invalid, or if strict decoding refuses a value.
pub fn encode(text: &[u8], how: As) -> std::result::Result<Vec<u8>, String> {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let limits = Limits { allow_non_canonical: false, ..input::limits() };
    let encoded = |value: &Value| -> Result<Vec<u8>> {
        let bytes = exact::encode(value)?;
        // The offset is in the encoded bytes, which the user does not see.
        Checker::default().check(&bytes, &limits).map_err(Error::without_offset)?;
        Ok(bytes)
    };
    let mut json = serde_json::Deserializer::from_slice(text);
    if how == As::Value {
        let values = json.into_iter().collect::<serde_json::Result<Vec<Value>>>();
        return match &values.map_err(|error| error.to_string())?[..] {
            [value] => encoded(value).map_err(|error| error.to_string()),
            values => Err(format!("{} values; --records writes each as a record", values.len())),
        };
    }
    let (mut batch, mut count) = (Vec::new(), 0);
    let mut append = |value: &Value| {
        let appended = encoded(value).and_then(|bytes| exact::append(&mut batch, &bytes));
        count += 1;
        appended.map_err(|error| format!("record {}: {error}", count - 1))
    };
    if how == As::Elements || opens_on_its_own_line(text) {
        let read = json.deserialize_seq(Each(&mut append)).and_then(|()| json.end());
        read.map_err(|error| error.to_string())?;
    } else {
        json.into_iter::<Value>().try_for_each(|value| append(&value.map_err(|error| error.to_string())?))?;
    }
    Ok(batch)
}

/// Whether the first line that is not empty contains only `[`.
fn opens_on_its_own_line(text: &[u8]) -> bool {
    let Some(rest) = text.trim_ascii_start().strip_prefix(b"[") else { return false };
    let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.len() < rest.len() && line.trim_ascii().is_empty()
}

/// Calls the function with each element of a list. Keeps one element in memory at a time.
struct Each<F>(F);

impl<'de, F: FnMut(&Value) -> std::result::Result<(), String>> Visitor<'de> for Each<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> std::result::Result<(), A::Error> {
        while let Some(value) = elements.next_element()? {
            (self.0)(&value).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}
