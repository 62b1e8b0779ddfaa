//! Paths as scripts pass them.

use godot::builtin::{AnyArray, Variant};
use variant_codec::view::Key;
use variant_codec::{Error, Limits, Result, Value, VariantType};
use variant_engine::{Reader, text_of};

use variant_live::encode::walker::Objects;
use variant_live::value;

/// One step of a path.
#[derive(Clone, Debug)]
pub enum Step {
    /// A text key or property.
    Text(String),
    /// An int key or index.
    Int(i64),
    /// A key of another type.
    Value(Value),
    /// A segment of a path that was passed as text.
    Segment(String),
}

impl Step {
    /// The step as a key of a view.
    pub fn key(&self) -> Key<'_> {
        match self {
            Self::Text(text) => Key::Text(text),
            Self::Int(int) => Key::Int(*int),
            Self::Value(value) => Key::Value(value),
            Self::Segment(text) => Key::Segment(text),
        }
    }

    /// The index, if the step can be one.
    pub fn index(&self) -> Option<i64> {
        match self {
            Self::Int(_) | Self::Segment(_) => self.key().index(),
            Self::Text(_) | Self::Value(_) => None,
        }
    }

    fn to_key(key: &Variant) -> Result<Self> {
        match Reader::new().ty(key) {
            Some(VariantType::String | VariantType::StringName) => text(key).map(Self::Text),
            Some(VariantType::Int) => Ok(Self::Int(key.to())),
            _ => {
                let bytes = value::encode(key, Objects::AsIds { warns: false }, false)?;
                Ok(Self::Value(Value::decode(bytes.as_slice(), &Limits::unlimited())?))
            }
        }
    }
}

/// Adds a path to an error in the value at its end.
pub fn inside(path: &[Step], error: Error) -> Error {
    path.iter().rev().fold(error, |error, step| error.inside(step.key().step()))
}

/// The path as it is written in errors.
pub fn words(path: &[Step]) -> String {
    inside(path, Error::argument("")).path()
}

/// The text of a String, StringName or NodePath.
fn text(value: &Variant) -> Result<String> {
    let text = text_of(&value.stringify());
    // A replacement character may stand for an invalid code unit, and the text would then find a different
    // key. Strict encoding refuses invalid units.
    if text.contains(char::REPLACEMENT_CHARACTER) {
        value::encode(value, Objects::AsIds { warns: false }, true)?;
    }
    Ok(text)
}

/// The steps of a path: an Array of keys and indexes, text like `players/3/hp`, or one index.
///
/// # Errors
/// Fails for values of other types.
pub fn steps(path: &Variant) -> Result<Vec<Step>> {
    match Reader::new().ty(path) {
        Some(VariantType::Array) => {
            path.to::<AnyArray>().iter_shared().map(|key| Step::to_key(&key)).collect()
        }
        Some(VariantType::String | VariantType::StringName | VariantType::NodePath) => {
            let text = text(path)?;
            let parts = text.split('/').map(|part| Step::Segment(part.to_owned()));
            Ok(if text.is_empty() { Vec::new() } else { parts.collect() })
        }
        Some(VariantType::Int) => Ok(vec![Step::Int(path.to())]),
        ty => {
            let found = ty.map_or("a newer type", VariantType::name);
            Err(Error::argument(format!("path: expected an Array, String or int, found {found}")))
        }
    }
}
