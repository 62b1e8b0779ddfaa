//! `textconv`: values as lines of text, for git to compare.

use std::io::{self, Write};
use std::path::Path;

use md5::{Digest as _, Md5};
use variant_codec::value::OwnedElementType;
use variant_codec::{Object, Value};

use crate::failure::{Failure, Outcome, in_words};
use crate::input::{self, Format, Input};
use crate::output::Output;
use crate::terminal::ForTerminal;

/// The maximum length of a path in bytes. A longer path is truncated, so that many values do not each repeat
/// a long key.
const LONGEST_PATH: usize = 1024;
/// The number of bytes that a truncated path keeps before its hash.
const START: usize = 256;

/// Prints each value of a file after its path. If the file is damaged or in an unknown format, prints the
/// error and a hash of the bytes: git always needs text, and compares nothing else.
pub fn of_file(file: &Path, format: &Format, out: &mut Output) -> Outcome<()> {
    let is_read = textconv(&input::name_of(file), Input::open(file, format), out)?;
    if !is_read {
        // If `file` is standard input, nothing is left to read, but git never passes standard input.
        let (_, bytes) = input::read(file)?;
        writeln!(out.bytes(), "{}", hash(&bytes)).map_err(Failure::output)?;
    }
    Ok(())
}

/// Prints each value after its path, or the error. Returns whether the file could be read.
pub fn textconv(name: &str, input: Outcome<Input>, out: &mut Output) -> Outcome<bool> {
    // git may pass the text on to a terminal.
    let out = &mut ForTerminal::of(out.bytes());
    let written = input.and_then(|input| lines(&input, out));
    if let Err(Failure::Data(damage)) = written {
        // git passes temporary files, whose names change each time.
        let name = format!("{name}: ");
        let damage = damage.strip_prefix(&name).unwrap_or(&damage);
        writeln!(out, "{damage}").map_err(Failure::output)?;
        return Ok(false);
    }
    written.map(|()| true)
}

fn hash(bytes: &[u8]) -> String {
    let md5 = u128::from_be_bytes(Md5::digest(bytes).into());
    format!("{} bytes, MD5 {md5:032x}", bytes.len())
}

fn lines(input: &Input, out: &mut dyn Write) -> Outcome<()> {
    let limits = input::limits();
    input.each(0..u64::MAX, |index, offset, bytes| {
        let mut path = if input.has_records { format!("[{index}]") } else { String::new() };
        let written = match Value::decode(bytes, &limits) {
            Ok(value) => Lines { out, path: &mut path }.value(&value),
            Err(error) => {
                let error = error.shifted(usize::try_from(offset).unwrap_or(usize::MAX));
                writeln!(out, "{path}: damaged: {}; {}", in_words(error), hash(bytes))
            }
        };
        written.map_err(Failure::output)
    })
}

struct Lines<'o> {
    out: &'o mut dyn Write,
    path: &'o mut String,
}

impl Lines<'_> {
    fn value(&mut self, value: &Value) -> io::Result<()> {
        match value {
            Value::Array(array) if !array.is_empty() => {
                self.declared("Array", &[&array.element])?;
                array
                    .iter()
                    .enumerate()
                    .try_for_each(|(index, element)| self.at(&format!("[{index}]"), element))
            }
            Value::Dictionary(dictionary) if !dictionary.is_empty() => {
                self.declared("Dictionary", &[&dictionary.key, &dictionary.value])?;
                dictionary.iter().try_for_each(|(key, value)| match key {
                    Value::String(text) => self.at(&format!(".{}", text_key(text)), value),
                    Value::StringName(text) => self.at(&format!("{{&{text:?}}}"), value),
                    key => {
                        // Square brackets are for elements of Arrays.
                        let key = json(key)?;
                        self.at(&format!("{{{key}}}"), value)
                    }
                })
            }
            Value::Object(Object::Full { class, properties }) => {
                writeln!(self.out, "{}: {class:?}", self.path)?;
                properties
                    .iter()
                    .try_for_each(|(name, value)| self.at(&format!(".{}", text_key(name)), value))
            }
            leaf => {
                let leaf = json(leaf)?;
                writeln!(self.out, "{} = {leaf}", self.path)
            }
        }
    }

    /// Prints the value with this step appended to the path.
    fn at(&mut self, step: &str, value: &Value) -> io::Result<()> {
        let before = self.path.len();
        if before + step.len() > LONGEST_PATH {
            let short = cut(&format!("{}{step}", self.path));
            return Lines { out: self.out, path: &mut { short } }.value(value);
        }
        self.path.push_str(step);
        self.value(value)?;
        self.path.truncate(before);
        Ok(())
    }

    /// Prints a line with the types of a typed container.
    fn declared(&mut self, container: &str, types: &[&OwnedElementType]) -> io::Result<()> {
        if types.iter().all(|ty| **ty == OwnedElementType::Untyped) {
            return Ok(());
        }
        let names: Vec<String> = types.iter().map(|ty| name(ty)).collect();
        writeln!(self.out, "{}: {container}[{}]", self.path, names.join(", "))
    }
}

fn name(ty: &OwnedElementType) -> String {
    match ty {
        OwnedElementType::Untyped => "Variant".to_owned(),
        OwnedElementType::Builtin(ty) => ty.name().to_owned(),
        OwnedElementType::Class(name) => format!("{name:?}"),
        OwnedElementType::Script(path) => format!("script {path:?}"),
    }
}

/// Shortens a long path to its start and a hash of the whole path.
fn cut(path: &str) -> String {
    let hash = Value::from(path).fingerprint().unwrap_or_default();
    let start = path.get(..path.floor_char_boundary(START)).unwrap_or_default();
    format!("{start}…#{hash:016x}")
}

/// A key in a path, in quotes unless it is a name.
fn text_key(text: &str) -> String {
    let is_name = !text.is_empty() && text.chars().all(|char| char.is_alphanumeric() || char == '_');
    if is_name { text.to_owned() } else { format!("{text:?}") }
}

fn json(value: &Value) -> io::Result<String> {
    serde_json::to_string(value).map_err(io::Error::other)
}
