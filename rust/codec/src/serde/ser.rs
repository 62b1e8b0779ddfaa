//! Serializes types into a [`Value`].

use std::fmt::Display;
use std::hash::RandomState;

use serde::ser::{self, Serialize, Serializer};

use super::{form, handover};
use crate::error::{Error, ErrorKind, Result, Step};
use crate::format;
use crate::value::same::{hash_of_key, repeated_key};
use crate::value::{Array, Dictionary, Value};

impl ser::Error for Error {
    fn custom<T: Display>(message: T) -> Self {
        ErrorKind::Message(message.to_string().into()).into()
    }
}

/// A serializer of values at one level of nesting.
#[derive(Clone, Copy, Default)]
pub(super) struct ValueSerializer {
    depth: u32,
}

impl ValueSerializer {
    /// The serializer for the content of a container at this level.
    fn inside(self) -> Self {
        Self { depth: self.depth + 1 }
    }

    fn serialize<T: Serialize + ?Sized>(self, value: &T) -> Result<Value> {
        if self.depth > format::MAX_DEPTH {
            return Err(ErrorKind::TooDeep.into());
        }
        value.serialize(self)
    }

    fn items(self, len: Option<usize>) -> Items {
        let values = Vec::with_capacity(len.unwrap_or_default().min(MOST_AT_ONCE));
        Items { values, inside: self.inside(), variant: None }
    }

    fn entries(self) -> Entries {
        Entries { dictionary: Dictionary::default(), inside: self.inside(), key: Value::Nil, variant: None }
    }
}

/// The maximum number of elements to reserve, because the announced length is untrusted.
const MOST_AT_ONCE: usize = 1 << 10;

/// An Array being built.
pub(super) struct Items {
    values: Vec<Value>,
    inside: ValueSerializer,
    /// The enum variant that holds the Array.
    variant: Option<&'static str>,
}

/// A Dictionary being built.
pub(super) struct Entries {
    dictionary: Dictionary,
    inside: ValueSerializer,
    key: Value,
    variant: Option<&'static str>,
}

/// Wraps the content of a variant in a Dictionary with the variant's name as key.
fn in_variant(variant: Option<&'static str>, value: Value) -> Value {
    match variant {
        Some(name) => Value::from_iter([(name, value)]),
        None => value,
    }
}

impl Items {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        let index = self.values.len();
        let value = self.inside.serialize(value).map_err(|error| error.inside(Step::Index(index)));
        self.values.push(value.map_err(|error| in_variant_step(self.variant, error))?);
        Ok(())
    }

    fn finish(self) -> Result<Value> {
        Ok(in_variant(self.variant, Value::Array(Array { values: self.values, ..Array::default() })))
    }
}

fn in_variant_step(variant: Option<&'static str>, error: Error) -> Error {
    match variant {
        Some(name) => error.inside(Step::text_key(name)),
        None => error,
    }
}

/// Refuses keys that the engine considers equal, for example if a field has the same name as an enum's tag
/// or as a key of a flattened map.
fn check_keys(dictionary: &Dictionary) -> Result<()> {
    let hasher = RandomState::new();
    let entries = &dictionary.entries;
    let hashes: Vec<u64> = entries.iter().map(|(key, _)| hash_of_key(key, &hasher)).collect();
    match repeated_key(entries, &hashes)? {
        Some(index) => {
            let error = Error::new(ErrorKind::Message("duplicate key".into()));
            Err(error.inside(entries[index].0.as_step(index)))
        }
        None => Ok(()),
    }
}

impl Entries {
    fn push<T: Serialize + ?Sized>(&mut self, key: Value, value: &T) -> Result<()> {
        let index = self.dictionary.len();
        let value = self.inside.serialize(value).map_err(|error| error.inside(key.as_step(index)));
        let value = value.map_err(|error| in_variant_step(self.variant, error))?;
        self.dictionary.entries.push((key, value));
        Ok(())
    }

    fn finish(self) -> Result<Value> {
        check_keys(&self.dictionary).map_err(|error| in_variant_step(self.variant, error))?;
        Ok(in_variant(self.variant, Value::Dictionary(self.dictionary)))
    }
}

macro_rules! into_value {
    ($($method:ident: $ty:ty),*) => {
        $(fn $method(self, value: $ty) -> Result<Value> {
            Ok(value.into())
        })*
    };
}

macro_rules! try_into_value {
    ($($method:ident: $ty:ty),*) => {
        $(fn $method(self, value: $ty) -> Result<Value> {
            value.try_into()
        })*
    };
}

impl Serializer for ValueSerializer {
    type Ok = Value;
    type Error = Error;
    type SerializeSeq = Items;
    type SerializeTuple = Items;
    type SerializeTupleStruct = Items;
    type SerializeTupleVariant = Items;
    type SerializeMap = Entries;
    type SerializeStruct = Entries;
    type SerializeStructVariant = Entries;

    into_value! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_f32: f32, serialize_f64: f64, serialize_char: char, serialize_str: &str,
        serialize_bytes: &[u8]
    }

    try_into_value! { serialize_u64: u64, serialize_i128: i128, serialize_u128: u128 }

    fn serialize_none(self) -> Result<Value> {
        Ok(Value::Nil)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value> {
        Ok(Value::Nil)
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<Value> {
        Ok(Value::Nil)
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<Value> {
        Ok(variant.into())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<Value> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value> {
        if name == form::NAME {
            return match handover::take() {
                Some(handed) => Ok(handed),
                None => form::of_field(variant, value.serialize(self)?),
            };
        }
        let value = self.inside().serialize(value).map_err(|error| in_variant_step(Some(variant), error))?;
        Ok(in_variant(Some(variant), value))
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Items> {
        Ok(self.items(len))
    }

    fn serialize_tuple(self, len: usize) -> Result<Items> {
        Ok(self.items(Some(len)))
    }

    fn serialize_tuple_struct(self, _name: &'static str, len: usize) -> Result<Items> {
        Ok(self.items(Some(len)))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Items> {
        Ok(Items { variant: Some(variant), ..self.inside().items(Some(len)) })
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<Entries> {
        Ok(self.entries())
    }

    fn serialize_struct(self, _name: &'static str, _len: usize) -> Result<Entries> {
        Ok(self.entries())
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Entries> {
        Ok(Entries { variant: Some(variant), ..self.inside().entries() })
    }
}

macro_rules! items {
    ($($trait:ident: $push:ident),*) => {
        $(impl ser::$trait for Items {
            type Ok = Value;
            type Error = Error;

            fn $push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
                self.push(value)
            }

            fn end(self) -> Result<Value> {
                self.finish()
            }
        })*
    };
}

items! {
    SerializeSeq: serialize_element, SerializeTuple: serialize_element, SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field
}

impl ser::SerializeMap for Entries {
    type Ok = Value;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        let index = self.dictionary.len();
        self.key = self.inside.serialize(key).map_err(|error| error.inside(Step::KeyAt(index)))?;
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        let key = std::mem::take(&mut self.key);
        self.push(key, value)
    }

    fn end(self) -> Result<Value> {
        self.finish()
    }
}

macro_rules! fields {
    ($($trait:ident),*) => {
        $(impl ser::$trait for Entries {
            type Ok = Value;
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<()> {
                self.push(name.into(), value)
            }

            fn end(self) -> Result<Value> {
                self.finish()
            }
        })*
    };
}

fields!(SerializeStruct, SerializeStructVariant);
