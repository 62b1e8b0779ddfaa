//! [`Value`] itself in other formats.

use std::any::type_name;
use std::cell::Cell;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::form::{self, Form, form_named};
use super::handover;
use crate::error::Error;
use crate::value::{Array, Dictionary, Value};

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if is_own_error::<S::Error>() && type_name::<S::Ok>() == type_name::<Self>() {
            handover::give(self.clone());
            return serializer.serialize_newtype_variant(
                form::NAME,
                self.ty().id().into(),
                self.ty().name(),
                &(),
            );
        }
        match self {
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Int(value) => serializer.serialize_i64(*value),
            Self::Float(value) if value.is_finite() || !serializer.is_human_readable() => {
                serializer.serialize_f64(*value)
            }
            Self::String(text) => serializer.serialize_str(text),
            Self::Nil => serializer.serialize_unit(),
            other => match Form::of(other.clone()) {
                Form::Named(ty, payload) => {
                    serializer.serialize_newtype_variant(form::NAME, ty.id().into(), ty.name(), &payload)
                }
                Form::Plain(Self::Dictionary(dictionary)) => {
                    let mut map = serializer.serialize_map(Some(dictionary.len()))?;
                    dictionary.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
                    map.end()
                }
                Form::Plain(Self::Array(array)) => serializer.collect_seq(&array),
                Form::Plain(_) => serializer.serialize_unit(),
            },
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ValueVisitor { is_foreign: &Cell::new(false), is_buffered: false, has_type: false }
            .deserialize(deserializer)
    }
}

/// Reads a value for a field whose type is known. The bool says whether it comes from another format or from serde's
/// buffer: then it may be the content of a form alone.
pub(super) fn read_field<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(Value, bool), D::Error> {
    let is_foreign = Cell::new(false);
    let visitor = ValueVisitor { is_foreign: &is_foreign, is_buffered: false, has_type: true };
    let value = visitor.deserialize(deserializer)?;
    Ok((value, is_foreign.get()))
}

/// Whether an error type is that of this crate's own serializer and deserializer. Where serde buffers, as for flattened
/// fields, it keeps the error type.
pub(super) fn is_own_error<E>() -> bool {
    type_name::<E>() == type_name::<Error>()
}

const LOST_TYPE: &str = "a vector, a packed array or another value made of numbers has lost its type, because serde \
     buffers flattened fields, untagged enums and internally tagged enums; instead of Value, use a type of your own \
     there, with a module of variant_codec::serde";

#[derive(Clone, Copy)]
struct ValueVisitor<'a> {
    /// Set once it is known that the value is not read from a [`Value`].
    is_foreign: &'a Cell<bool>,
    /// Whether it is read from serde's buffer of a [`Value`].
    is_buffered: bool,
    /// Whether the caller knows the type, so that components do not need it.
    has_type: bool,
}

impl<'de> DeserializeSeed<'de> for ValueVisitor<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_newtype_struct(form::NAME, self)
    }
}

impl ValueVisitor<'_> {
    /// A component, which is an error if its type is lost.
    fn component<E: serde::de::Error>(self, value: Value) -> Result<Value, E> {
        if self.is_buffered && !self.has_type { Err(E::custom(LOST_TYPE)) } else { Ok(value) }
    }
}

impl<'de> Visitor<'de> for ValueVisitor<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    /// Only other deserializers call this.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.is_foreign.set(true);
        deserializer.deserialize_any(Self { is_buffered: is_own_error::<D::Error>(), ..self })
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

    fn visit_i32<E: serde::de::Error>(self, value: i32) -> Result<Value, E> {
        self.component(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        Value::try_from(value).map_err(E::custom)
    }

    fn visit_f32<E: serde::de::Error>(self, value: f32) -> Result<Value, E> {
        self.component(Value::Float(form::widen(value)))
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
        while let Some(element) = elements.next_element_seed(self)? {
            array.push(element);
        }
        Ok(array.into())
    }

    /// A map with one entry is a form, if it has the name of one.
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut dictionary = Dictionary::new();
        while let Some(entry) = entries.next_entry_seed(self, self)? {
            dictionary.entries.push(entry);
        }
        if dictionary.len() == 1
            && let [(Value::String(name), payload)] = &mut dictionary.entries[..]
            && form_named(name).is_some()
        {
            return Form::read(name, std::mem::take(payload)).map_err(A::Error::custom);
        }
        Ok(dictionary.into())
    }
}
