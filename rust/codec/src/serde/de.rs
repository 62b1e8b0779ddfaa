//! [`Value`] → anything.

use std::fmt::Display;

use serde::de::value::U64Deserializer;
use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::form::{self, Form};
use crate::error::{Error, ErrorKind, Result, Step};
use crate::format::Shape;
use crate::value::{Object, PackedReals, Reals, Value};

impl de::Error for Error {
    fn custom<T: Display>(message: T) -> Self {
        ErrorKind::Message(message.to_string().into()).into()
    }
}

impl<'de> Deserializer<'de> for Value {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self {
            Self::Nil | Self::Callable | Self::Object(Object::Null) => visitor.visit_unit(),
            Self::Bool(value) => visitor.visit_bool(value),
            Self::Int(value) => visitor.visit_i64(value),
            Self::Float(value) => visitor.visit_f64(value),
            Self::String(text) | Self::StringName(text) => visitor.visit_string(text),
            Self::NodePath(path) => visitor.visit_string(path.to_string()),
            Self::Rid(id) | Self::Object(Object::Id(id)) => {
                Deserializer::deserialize_any(U64Deserializer::<Error>::new(id), visitor)
            }
            Self::Object(Object::Full { properties, .. }) => {
                visit_map(visitor, properties.into_iter().map(|(name, value)| (name.into(), value)))
            }
            Self::Signal { name, object } => {
                let object = Self::Rid(object);
                visit_map(visitor, [("name".into(), name.into()), ("object".into(), object)].into_iter())
            }
            Self::Dictionary(dictionary) => visit_map(visitor, dictionary.into_iter()),
            Self::Array(array) => visit_seq(visitor, array.into_iter()),
            Self::PackedByteArray(bytes) => visitor.visit_byte_buf(bytes),
            Self::PackedInt32Array(ints) => visit_seq(visitor, ints.into_iter()),
            Self::PackedInt64Array(ints) => visit_seq(visitor, ints.into_iter()),
            Self::PackedFloat32Array(floats) => visit_seq(visitor, floats.into_iter()),
            Self::PackedFloat64Array(floats) => visit_seq(visitor, floats.into_iter()),
            Self::PackedStringArray(texts) => visit_seq(visitor, texts.into_iter()),
            Self::PackedColorArray(colors) => visit_seq(visitor, colors.into_iter()),
            Self::PackedVector2Array(reals) => visit_packed_reals(visitor, reals),
            Self::PackedVector3Array(reals) => visit_packed_reals(visitor, reals),
            Self::PackedVector4Array(reals) => visit_packed_reals(visitor, reals),
            Self::Vector2i(ints) => visit_seq(visitor, ints.into_iter()),
            Self::Vector3i(ints) => visit_seq(visitor, ints.into_iter()),
            Self::Rect2i(ints) | Self::Vector4i(ints) => visit_seq(visitor, ints.into_iter()),
            Self::Color(components) => visit_seq(visitor, components.into_iter()),
            Self::Vector2(reals) => visit_reals(visitor, reals),
            Self::Vector3(reals) => visit_reals(visitor, reals),
            Self::Rect2(reals) | Self::Vector4(reals) | Self::Plane(reals) | Self::Quaternion(reals) => {
                visit_reals(visitor, reals)
            }
            Self::Transform2D(reals) | Self::Aabb(reals) => visit_reals(visitor, reals),
            Self::Basis(reals) => visit_reals(visitor, reals),
            Self::Transform3D(reals) => visit_reals(visitor, reals),
            Self::Projection(reals) => visit_reals(visitor, reals),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.is_nil() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        if name != form::NAME {
            return visitor.visit_newtype_struct(self);
        }
        match Form::of(self) {
            Form::Plain(value) => value.deserialize_any(visitor),
            Form::Named(ty, payload) => visit_map(visitor, [(ty.name().into(), payload)].into_iter()),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self {
            Self::PackedByteArray(bytes) => visit_seq(visitor, bytes.into_iter()),
            other => other.deserialize_any(visitor),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value> {
        grouped(self, len).deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value> {
        grouped(self, len).deserialize_seq(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        grouped(self, fields.len()).deserialize_any(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self {
            Self::String(name) | Self::StringName(name) => visitor.visit_enum(Variant { name, value: None }),
            Self::Dictionary(dictionary) if dictionary.len() == 1 => {
                let entry = dictionary.into_iter().next();
                match entry {
                    Some((Self::String(name) | Self::StringName(name), value)) => {
                        visitor.visit_enum(Variant { name, value: Some(value) })
                    }
                    _ => Err(de::Error::custom("expected the name of a variant as key")),
                }
            }
            other => Err(ErrorKind::UnexpectedType {
                expected: "String or Dictionary with one entry",
                found: other.ty(),
            }
            .into()),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct map
        identifier
    }
}

impl<'de> IntoDeserializer<'de, Error> for Value {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Components in so many groups of the same size, where there are more of them: the columns of a matrix, a position and a
/// size.
fn grouped(value: Value, groups: usize) -> Value {
    let Shape::Fixed(_, count) = value.ty().shape() else { return value };
    if groups == 0 || groups >= count || !count.is_multiple_of(groups) {
        return value;
    }
    let Ok(components) = Vec::<Value>::deserialize(value.clone()) else { return value };
    components.chunks(count / groups).map(|group| Value::from_iter(group.iter().cloned())).collect()
}

/// What an element of a sequence is, and its index.
struct Elements<I> {
    left: I,
    index: usize,
}

fn visit_seq<'de, V: Visitor<'de>, T: Into<Value>>(
    visitor: V,
    left: impl ExactSizeIterator<Item = T>,
) -> Result<V::Value> {
    let mut elements = Elements { left, index: 0 };
    let value = visitor.visit_seq(&mut elements)?;
    match elements.left.len() {
        0 => Ok(value),
        more => Err(de::Error::custom(format!("{more} elements more than expected"))),
    }
}

fn visit_reals<'de, V: Visitor<'de>, const N: usize>(visitor: V, reals: Reals<N>) -> Result<V::Value> {
    match reals {
        Reals::Single(components) => visit_seq(visitor, components.into_iter()),
        Reals::Double(components) => visit_seq(visitor, components.into_iter()),
    }
}

fn visit_packed_reals<'de, V: Visitor<'de>, const N: usize>(
    visitor: V,
    reals: PackedReals<N>,
) -> Result<V::Value> {
    match reals {
        PackedReals::Single(elements) => visit_seq(visitor, elements.into_iter()),
        PackedReals::Double(elements) => visit_seq(visitor, elements.into_iter()),
    }
}

impl<'de, T: Into<Value>, I: ExactSizeIterator<Item = T>> SeqAccess<'de> for Elements<I> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        let Some(element) = self.left.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        seed.deserialize(element.into()).map(Some).map_err(|error| error.inside(Step::Index(index)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

struct Entries<I> {
    left: I,
    index: usize,
    /// The value whose key has been read, and where it is.
    value: Option<(Step, Value)>,
}

fn visit_map<'de, V: Visitor<'de>>(
    visitor: V,
    left: impl ExactSizeIterator<Item = (Value, Value)>,
) -> Result<V::Value> {
    visitor.visit_map(Entries { left, index: 0, value: None })
}

impl<'de, I: ExactSizeIterator<Item = (Value, Value)>> MapAccess<'de> for Entries<I> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        let Some((key, value)) = self.left.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        self.value = Some((key.as_step(index), value));
        seed.deserialize(key).map(Some).map_err(|error| error.inside(Step::KeyAt(index)))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value> {
        match self.value.take() {
            Some((step, value)) => seed.deserialize(value).map_err(|error| error.inside(step)),
            None => Err(de::Error::custom("a value was asked for before its key")),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

/// A variant of an enum, with what is in it.
struct Variant {
    name: String,
    value: Option<Value>,
}

impl<'de> EnumAccess<'de> for Variant {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self)> {
        let name = Value::String(self.name.clone());
        Ok((seed.deserialize(name)?, self))
    }
}

impl Variant {
    fn read<T>(self, read: impl FnOnce(Value) -> Result<T>) -> Result<T> {
        read(self.value.unwrap_or_default()).map_err(|error| error.inside(Step::text_key(&self.name)))
    }
}

impl<'de> VariantAccess<'de> for Variant {
    type Error = Error;

    fn unit_variant(self) -> Result<()> {
        self.read(Deserialize::deserialize)
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value> {
        self.read(|value| seed.deserialize(value))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value> {
        self.read(|value| value.deserialize_seq(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.read(|value| value.deserialize_any(visitor))
    }
}
