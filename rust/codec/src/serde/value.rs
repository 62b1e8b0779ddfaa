//! `Serialize` and `Deserialize` for [`Value`] itself.

use std::any::type_name;
use std::cell::Cell;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};

use super::buffer::{self, is_own_error};
use super::form::{self, form_named};
use super::handover;
use super::ser::ValueSerializer;
use crate::format::VariantType;
use crate::lanes::widen;
use crate::value::{Array, Dictionary, OwnedElementType, Value};

/// The elements for which a Vec first allocates memory.
const LEAST_CAPACITY: usize = 4;
/// A Vec that grows doubles its capacity.
const GROWTH: usize = 2;

/// Whether a serializer is this crate's own, without a wrapper. serde wraps it to flatten fields and write tags.
pub(super) fn is_own_serializer<S>() -> bool {
    type_name::<S>() == type_name::<ValueSerializer>()
}

/// The content of a form, for other formats only. This crate's own serializer would write it as a Dictionary
/// that no reader recognises as a form.
struct Content(VariantType, Value);

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if is_own_serializer::<S>() {
            return Err(S::Error::custom(format!(
                "only untyped Dictionaries can be flattened or used as a variant of an internally tagged enum, not {}",
                self.0
            )));
        }
        self.1.serialize(serializer)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ty = self.ty();
        if is_own_serializer::<S>() {
            let write = || serializer.serialize_newtype_variant(form::NAME, ty.id().into(), ty.name(), &());
            return handover::hand(self.clone(), write).unwrap_or_else(|| {
                Err(S::Error::custom("this Value is of another version of variant_codec"))
            });
        }
        // A wrapper forwards everything to this crate's own serializer, which writes no forms.
        let is_own = is_own_error::<S::Error>();
        match self {
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Int(value) => serializer.serialize_i64(*value),
            Self::Float(value) if value.is_finite() || is_own || !serializer.is_human_readable() => {
                serializer.serialize_f64(*value)
            }
            Self::String(text) => serializer.serialize_str(text),
            Self::Nil => serializer.serialize_unit(),
            Self::Array(array) if array.element == OwnedElementType::Untyped => serializer.collect_seq(array),
            Self::Dictionary(dictionary)
                if form::is_plain(dictionary) || is_own && form::is_untyped(dictionary) =>
            {
                let mut map = serializer.serialize_map(Some(dictionary.len()))?;
                let mut entries = dictionary.iter();
                if let Some(first) = form::first_map_key(dictionary).filter(|_| !is_own)
                    && let Some((_, value)) = entries.next()
                {
                    map.serialize_entry(&first, value)?;
                }
                entries.try_for_each(|(key, value)| map.serialize_entry(key, value))?;
                map.end()
            }
            other => serializer.serialize_newtype_variant(
                form::NAME,
                ty.id().into(),
                ty.name(),
                &Content(ty, form::content(other.clone())),
            ),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_field(deserializer).map(|(value, _)| value)
    }
}

/// The source that a value is read from.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// A whole [`Value`].
    Value,
    /// serde's buffer of a [`Value`].
    Buffer,
    /// Another format.
    Foreign,
}

/// Reads a value, and returns its source. In another format, the value may be the bare content of a form.
pub(super) fn read_field<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(Value, Source), D::Error> {
    let source = Cell::new(Source::Value);
    let value = ValueVisitor { source: &source, memory: None }.deserialize(deserializer)?;
    Ok((value, source.get()))
}

/// Reads a [`Value`] from another format, and fails if it takes too much memory.
pub struct MemoryBound(Cell<usize>);

impl MemoryBound {
    /// A bound of this many bytes, which containers count with the room that they grow by.
    pub fn new(bytes: usize) -> Self {
        Self(bytes.into())
    }

    /// Reads one value.
    ///
    /// # Errors
    /// Fails as the deserializer does, or if the bound is exceeded.
    pub fn read<'de, D: Deserializer<'de>>(&self, deserializer: D) -> Result<Value, D::Error> {
        ValueVisitor { source: &Cell::new(Source::Value), memory: Some(self) }.deserialize(deserializer)
    }

    /// Whether reading has failed because of the bound.
    pub fn is_exceeded(&self) -> bool {
        self.0.get() == 0
    }

    fn charge<E: serde::de::Error>(&self, values: usize) -> Result<(), E> {
        self.0.set(self.0.get().saturating_sub(values * size_of::<Value>()));
        if self.is_exceeded() { Err(E::custom("too much memory")) } else { Ok(()) }
    }
}

#[derive(Clone, Copy)]
struct ValueVisitor<'a> {
    source: &'a Cell<Source>,
    memory: Option<&'a MemoryBound>,
}

impl ValueVisitor<'_> {
    fn charge<E: serde::de::Error>(self, values: usize) -> Result<(), E> {
        self.memory.map_or(Ok(()), |memory| memory.charge(values))
    }
}

impl<'de> DeserializeSeed<'de> for ValueVisitor<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_newtype_struct(form::NAME, self)
    }
}

impl<'de> Visitor<'de> for ValueVisitor<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    /// Called by every deserializer except this crate's own.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        if is_own_error::<D::Error>() {
            self.source.set(Source::Buffer);
            return buffer::read(deserializer);
        }
        self.source.set(Source::Foreign);
        deserializer.deserialize_any(self)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Nil)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(handover::take().unwrap_or_default())
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        Value::try_from(value).map_err(E::custom)
    }

    fn visit_f32<E>(self, value: f32) -> Result<Value, E> {
        Ok(Value::Float(widen(value)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Value, E> {
        Ok(bytes.into())
    }

    fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Value, E> {
        Ok(bytes.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut array = Array::new();
        self.charge(LEAST_CAPACITY)?;
        while let Some(element) = elements.next_element_seed(self)? {
            self.charge(GROWTH)?;
            array.push(element);
        }
        Ok(array.into())
    }

    /// In another format, a map with one entry is a form if the key is the name of a form.
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut dictionary = Dictionary::new();
        self.charge(2 * LEAST_CAPACITY)?;
        while let Some(entry) = entries.next_entry_seed(self, self)? {
            self.charge(2 * GROWTH)?;
            dictionary.entries.push(entry);
        }
        if !is_own_error::<A::Error>() {
            match &mut dictionary.entries[..] {
                [(Value::String(name), payload)] if form_named(name).is_some() => {
                    return form::named(name, std::mem::take(payload)).map_err(A::Error::custom);
                }
                [(key @ Value::String(_), _), ..] => {
                    if let Value::String(text) = std::mem::take(key) {
                        *key = form::of_first_map_key(text);
                    }
                }
                _ => {}
            }
        }
        Ok(dictionary.into())
    }
}
