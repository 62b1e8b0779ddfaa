//! [`Key`]: one step of a path.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::ops::Deref;

use crate::decoder::Decoder;
use crate::error::{ErrorKind, Result, Step, quoted};
use crate::events::Source;
use crate::format::{Shape, VariantType};
use crate::limits::{Limits, Names};
use crate::utf8::is_ascii_without_nul;
use crate::value::Value;
use crate::value::builder::ValueBuilder;
use crate::value::same::{has_dictionary, hash_of_key, is_same_key, may_be_same_key};
use crate::wire::cursor::Cursor;
use crate::wire::dialect::Dialect;
use crate::wire::header::Header;

/// No limits, because keys are only compared. The caller's limits apply to the values that are read.
static ANY: Limits = {
    let mut limits = Limits::unlimited();
    limits.allow_objects = true;
    limits
};

/// One step of a path: a key of a Dictionary, an index, the name of a property.
///
/// ```
/// use variant_codec::view::Key;
/// use variant_codec::{Value, View};
///
/// let bytes = Value::from_iter([(7, Value::from(vec!["a", "b"]))]).encode()?;
/// let view = View::new(&bytes)?;
/// assert_eq!(view.at(&[Key::from(7), Key::from(-1)])?.as_str()?, "b");
/// assert_eq!(view.at(&Key::path("7/0"))?.as_str()?, "a");
/// # Ok::<(), variant_codec::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Key<'k> {
    /// A String or StringName key of a Dictionary, or a property.
    Text(&'k str),
    /// An int key of a Dictionary, or an index; negative indexes count from the end.
    Int(i64),
    /// Any key of a Dictionary. Prefer the variants above for text and ints.
    Value(&'k Value),
    /// A segment of a text path. A Dictionary looks it up as text first, then as the int that the text
    /// spells. In an Array, it is the index that the text spells; in an Object, it is the name of a property.
    Segment(&'k str),
}

impl<'k> Key<'k> {
    /// The steps of a text path, separated by `/`. The empty path leads to the value itself.
    pub fn path(path: &'k str) -> Vec<Self> {
        if path.is_empty() { Vec::new() } else { path.split('/').map(Self::Segment).collect() }
    }

    /// The int of this key, or the int that a path segment spells without a plus sign or leading zeros.
    pub fn index(&self) -> Option<i64> {
        match self {
            Self::Int(index) => Some(*index),
            Self::Segment(text) => text.parse().ok().filter(|int: &i64| int.to_string() == *text),
            Self::Value(value) => value.as_i64(),
            Self::Text(_) => None,
        }
    }

    /// Whether both keys match the same entry of a Dictionary.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self.text(), other.text()) {
            (None, None) => self == other || self.index().is_some() && self.index() == other.index(),
            (one, other) => one == other,
        }
    }

    pub(super) fn text(&self) -> Option<&'k str> {
        match self {
            Self::Text(text) | Self::Segment(text) => Some(text),
            Self::Value(value) => value.as_str(),
            Self::Int(_) => None,
        }
    }

    /// The types of the Dictionary keys that this key can match, as bits.
    pub(super) fn types(&self) -> u64 {
        let types: &[VariantType] = match (self.text(), self) {
            (Some(_), _) => &[VariantType::String, VariantType::StringName],
            (None, Self::Value(value)) => &[value.ty()],
            (None, _) => &[VariantType::Int],
        };
        types.iter().fold(0, |types, ty| types | 1 << ty.id())
    }

    /// The hash of this key, equal to the hash of its [`KeyContent`].
    pub(super) fn hash(&self, hasher: &RandomState) -> u64 {
        match (self.text(), self) {
            (Some(text), _) => hasher.hash_one(text),
            (None, Self::Int(int) | Self::Value(Value::Int(int))) => hasher.hash_one(int),
            (None, Self::Value(value)) => hash_of_key(value, hasher),
            (None, _) => 0,
        }
    }

    /// The step for this key in the path of an error.
    pub fn step(&self) -> Step {
        match (self.text(), self.index()) {
            (Some(text), _) => Step::text_key(text),
            (None, Some(int)) => Step::int_key(int),
            (None, None) => Step::Key(self.to_string()),
        }
    }

    /// Whether the key at `at` equals this one. Dictionaries inside the keys must have their entries in the
    /// same order.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`].
    pub(super) fn is_at<D: Dialect>(&self, bytes: &[u8], at: usize) -> Result<bool> {
        if let (Some(wanted), Some(found)) = (self.text(), ascii_at::<D>(bytes, at)) {
            return Ok(wanted.as_bytes() == found);
        }
        let mut decoder = reader::<D>(bytes, at);
        let Ok(header) = decoder.header_here() else { return Ok(false) };
        match (header.ty, self.text(), self) {
            (VariantType::String | VariantType::StringName, Some(text), _) => {
                Ok(readable(decoder.text_here())?.is_some_and(|found| *found == *text))
            }
            (VariantType::Int, _, Self::Int(int)) => {
                Ok(decoder.int(header.is_wide()).is_ok_and(|found| found == *int))
            }
            (_, _, Self::Value(value)) if value.ty() == header.ty => {
                Ok(read::<D>(bytes, at)?.is_some_and(|key| is_same_key(value, &key)))
            }
            _ => Ok(false),
        }
    }
}

impl Key<'_> {
    /// Whether the engine may treat another key of a Dictionary as this one. Walks the whole key, so lookups
    /// call this only for a key that has been found.
    pub(super) fn may_be_another(&self) -> bool {
        matches!(self, Self::Value(value) if has_dictionary(value))
    }
}

/// The text of the String or StringName at `at` if it is ASCII without NULs; every reader reads such text
/// unchanged.
#[inline]
fn ascii_at<D: Dialect>(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let mut cursor = Cursor::new(bytes, at);
    let header = Header::of::<D>(cursor.u32()?)?;
    let text = cursor.text()?.text;
    (header.ty.shape() == Shape::Text && is_ascii_without_nul(text)).then_some(text)
}

/// A decoder of keys that is as lenient as the engine, so that it finds every key that the engine reads as
/// the wanted one.
pub(super) fn reader<D: Dialect>(bytes: &[u8], at: usize) -> Decoder<'_, D> {
    Decoder::starting_at(bytes, at, 0, &ANY).lenient()
}

fn read<D: Dialect>(bytes: &[u8], at: usize) -> Result<Option<Value>> {
    let mut builder = ValueBuilder::default();
    let read = readable(reader::<D>(bytes, at).write_into(&mut builder))?;
    Ok(read.map(|()| builder.into_value()))
}

/// Turns an unreadable key into `None`. Only a lack of memory is an error: with more memory, the key may be
/// found.
fn readable<T>(key: Result<T>) -> Result<Option<T>> {
    match key {
        Err(error) if matches!(error.kind(), ErrorKind::OutOfMemory(_)) => Err(error),
        key => Ok(key.ok()),
    }
}

/// Reads a key strictly at nesting level `depth`. Objects are only inspected, and therefore allowed.
///
/// # Errors
/// Fails if the engine would read the key as another one, or if the limits forbid it.
pub(super) fn check<D: Dialect>(bytes: &[u8], at: usize, depth: u32, limits: &Limits) -> Result<()> {
    let with_objects;
    let limits = if limits.allow_objects {
        limits
    } else {
        // The lists of classes and scripts apply only to objects that are allowed.
        with_objects = Limits {
            allow_objects: true,
            allowed_classes: Names::NONE,
            allowed_scripts: Names::NONE,
            ..limits.clone()
        };
        &with_objects
    };
    let mut decoder = Decoder::<D>::starting_at(bytes, at, depth, limits).in_key();
    decoder.write_into(&mut ValueBuilder::strict())
}

/// The content that distinguishes a key of a Dictionary from the others.
pub(super) enum KeyContent<T> {
    Text(T),
    Int(i64),
    Other(Value),
}

impl<T: Deref<Target = str>> KeyContent<T> {
    /// The content of the key at `at`; `None` if it cannot be read.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`].
    pub fn read<'a, D: Dialect<Text<'a> = T>>(bytes: &'a [u8], at: usize) -> Result<Option<Self>> {
        let mut decoder = reader::<D>(bytes, at);
        let Ok(header) = decoder.header_here() else { return Ok(None) };
        Ok(match header.ty {
            VariantType::String | VariantType::StringName => readable(decoder.text_here())?.map(Self::Text),
            VariantType::Int => decoder.int(header.is_wide()).ok().map(Self::Int),
            _ => read::<D>(bytes, at)?.map(Self::Other),
        })
    }

    pub fn hash(&self, hasher: &RandomState) -> u64 {
        match self {
            Self::Text(text) => hasher.hash_one(&**text),
            Self::Int(int) => hasher.hash_one(int),
            Self::Other(value) => hash_of_key(value, hasher),
        }
    }

    /// Whether the engine may treat the two as one key.
    pub fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(text), Self::Text(other)) => **text == **other,
            (Self::Int(int), Self::Int(other)) => int == other,
            (Self::Other(value), Self::Other(other)) => may_be_same_key(value, other),
            _ => false,
        }
    }
}

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.text(), self) {
            (Some(text), _) => f.write_str(&quoted(text)),
            (None, Self::Int(int)) => int.fmt(f),
            (None, Self::Value(value)) => write!(f, "of type {}", value.ty()),
            (None, _) => Ok(()),
        }
    }
}

impl<'k> From<&'k str> for Key<'k> {
    fn from(text: &'k str) -> Self {
        Self::Text(text)
    }
}

impl<'k> From<&'k String> for Key<'k> {
    fn from(text: &'k String) -> Self {
        Self::Text(text)
    }
}

macro_rules! from_ints {
    ($($ty:ty)*) => {
        $(impl From<$ty> for Key<'_> {
            fn from(int: $ty) -> Self {
                Self::Int(int.into())
            }
        })*
    };
}

from_ints! { i64 i32 u32 u8 }

impl<'k> From<&'k Value> for Key<'k> {
    fn from(value: &'k Value) -> Self {
        match (value.as_str(), value) {
            (Some(text), _) => Self::Text(text),
            (None, Value::Int(int)) => Self::Int(*int),
            (None, _) => Self::Value(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{Array, Dictionary, OwnedElementType};
    use crate::view::{Fields, View};

    /// A key that declares a script is read as `Value::decode` reads it: without objects, no script is loaded.
    #[test]
    fn scripts_of_keys_are_ignored_without_objects() {
        let typed =
            Dictionary { value: OwnedElementType::Script("res://a.gd".into()), ..Dictionary::default() };
        let bytes = Value::from_iter([(typed, 7)]).encode().unwrap();
        let limits = Limits {
            allowed_scripts: ["res://b.gd".to_owned()].into_iter().collect(),
            ..Limits::for_save_files()
        };
        assert!(Value::decode(&bytes, &limits).is_ok());
        assert_eq!(View::within(&bytes, &limits).unwrap().len(), Ok(1));
    }

    /// The engine would read other keys: it converts elements of a typed Array, and keeps the last value of a
    /// repeated key.
    #[test]
    fn a_key_that_decodes_to_another_key_is_refused() {
        let typed = Array { element: OwnedElementType::Builtin(VariantType::Int), values: vec![1.5.into()] };
        let twice = Dictionary {
            entries: vec![("a".into(), 1.into()), ("a".into(), 2.into())],
            ..Dictionary::default()
        };
        for (key, read_as) in
            [(Value::from(typed), Value::from([1])), (Value::from(twice), Value::from_iter([("a", 2)]))]
        {
            let bytes = Value::from_iter([(key, "admin")]).encode().unwrap();
            assert!(Value::decode(&bytes, &Limits::for_save_files()).is_err());
            let view = View::new(&bytes).unwrap();
            assert!(view.get(&read_as).unwrap_err().offset().is_some_and(|at| at > 0));
            assert!(view.len().is_err());
            assert!(Fields::new(vec![Key::from(&read_as)]).read(&view, &mut Vec::new()).is_err());
        }
    }
}
