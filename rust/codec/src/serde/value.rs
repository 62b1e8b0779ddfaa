//! [`Value`] itself in other formats.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::form::{self, Form, form_named};
use crate::value::{Array, Dictionary, Value};

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Int(value) => serializer.serialize_i64(*value),
            Self::Float(value) => serializer.serialize_f64(*value),
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
        deserializer.deserialize_newtype_struct(form::NAME, ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Nil)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nil)
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
        while let Some(element) = elements.next_element::<Value>()? {
            array.push(element);
        }
        Ok(array.into())
    }

    /// A map with one entry is a form, if it has the name of one.
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut dictionary = Dictionary::new();
        while let Some(entry) = entries.next_entry::<Value, Value>()? {
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
