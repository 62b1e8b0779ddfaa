//! Deserializes types from a [`Value`].

use std::fmt::Display;

use serde::de::value::U64Deserializer;
use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::{buffer, form, handover};
use crate::error::{Error, ErrorKind, Result, Step};
use crate::format::{Shape, VariantType};
use crate::lanes::widen;
use crate::value::{Components, Object, Value};

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
            Self::Object(Object::Full { properties, .. }) => visitor
                .visit_map(Entries::new(properties.into_iter().map(|(name, value)| (name.into(), value)))),
            Self::Signal { name, object } => {
                let entries = [("name".into(), name.into()), ("object".into(), Self::Rid(object))];
                visitor.visit_map(Entries::new(entries.into_iter()))
            }
            Self::Dictionary(dictionary) => visitor.visit_map(Entries::new(dictionary.into_iter())),
            Self::Array(array) => visit_values(visitor, array.into_iter()),
            Self::PackedByteArray(bytes) => visitor.visit_byte_buf(bytes),
            Self::PackedInt64Array(ints) => visit_values(visitor, ints.into_iter()),
            Self::PackedFloat64Array(floats) => visit_values(visitor, floats.into_iter()),
            Self::PackedStringArray(texts) => visit_values(visitor, texts.into_iter()),
            _ => match self.components() {
                Some(Components::I32(ints)) => visit_components(visitor, self.ty(), ints),
                Some(Components::F32(floats)) => visit_components(visitor, self.ty(), floats),
                Some(Components::F64(floats)) => visit_components(visitor, self.ty(), floats),
                _ => visitor.visit_unit(),
            },
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.is_nil() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        if name != form::NAME {
            return visitor.visit_newtype_struct(self);
        }
        handover::hand(self, || visitor.visit_unit())
            .unwrap_or_else(|| Err(de::Error::custom("only a Value is read whole")))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self {
            Self::PackedByteArray(bytes) => visit_values(visitor, bytes.into_iter()),
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
        match grouped(self, fields.len()) {
            Self::Dictionary(dictionary) => visitor.visit_map(Entries::of_fields(dictionary.into_iter())),
            other => other.deserialize_any(visitor),
        }
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

    /// Reads a key of a struct with flattened fields. serde's buffer has no type for keys such as containers
    /// and vectors.
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self {
            Self::Nil
            | Self::Bool(_)
            | Self::Int(_)
            | Self::Float(_)
            | Self::String(_)
            | Self::StringName(_) => self.deserialize_any(visitor),
            // An `f32` matches no field, and `Value` refuses it, because no value is a lone 32-bit component.
            _ => visitor.visit_f32(f32::NAN),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct map
    }
}

/// The key of a struct's field.
struct FieldName(Value);

impl<'de> Deserializer<'de> for FieldName {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.0.deserialize_any(visitor)
    }

    /// A key that is not text names no field.
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0 {
            Value::String(name) | Value::StringName(name) => visitor.visit_string(name),
            other => visitor.visit_string(format!("<key of type {}>", other.ty())),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum ignored_any
    }
}

/// One or several components of a value, with the [mark](buffer::mark) of its type. The mark sets the width, 32 or
/// 64 bits, that the visitor sees.
struct Component<T> {
    component: T,
    mark: u32,
}

trait Visit {
    fn visit<'de, V: Visitor<'de>>(self, mark: u32, visitor: V) -> Result<V::Value>;
}

impl Visit for i32 {
    fn visit<'de, V: Visitor<'de>>(self, mark: u32, visitor: V) -> Result<V::Value> {
        if mark == 0 { visitor.visit_i32(self) } else { visitor.visit_i64(self.into()) }
    }
}

impl Visit for f32 {
    fn visit<'de, V: Visitor<'de>>(self, mark: u32, visitor: V) -> Result<V::Value> {
        if mark == 0 { visitor.visit_f32(self) } else { visitor.visit_f64(widen(self)) }
    }
}

impl Visit for f64 {
    fn visit<'de, V: Visitor<'de>>(self, _mark: u32, visitor: V) -> Result<V::Value> {
        visitor.visit_f64(self)
    }
}

impl<T: Visit + Copy> Visit for &[T] {
    fn visit<'de, V: Visitor<'de>>(self, mark: u32, visitor: V) -> Result<V::Value> {
        visit_lanes(visitor, mark, self)
    }
}

impl<'de, T: Visit> Deserializer<'de> for Component<T> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.component.visit(self.mark, visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        if name == form::NAME { self.deserialize_any(visitor) } else { visitor.visit_newtype_struct(self) }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Error> for Value {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Splits the components of a value into `groups` groups of equal size, such as the columns of a matrix, or a
/// position and a size. Returns other values unchanged.
fn grouped(value: Value, groups: usize) -> Value {
    let Shape::Fixed(_, count) = value.ty().shape() else { return value };
    if groups == 0 || groups >= count || !count.is_multiple_of(groups) {
        return value;
    }
    let Ok(components) = Vec::<Value>::deserialize(value.clone()) else { return value };
    components.chunks(count / groups).map(|group| Value::from_iter(group.iter().cloned())).collect()
}

/// The remaining elements of a sequence, and the index of the next one.
struct Elements<I> {
    left: I,
    index: usize,
}

fn visit_seq<'de, V: Visitor<'de>, D: Deserializer<'de, Error = Error>>(
    visitor: V,
    left: impl ExactSizeIterator<Item = D>,
) -> Result<V::Value> {
    let mut elements = Elements { left, index: 0 };
    let value = visitor.visit_seq(&mut elements)?;
    match elements.left.len() {
        0 => Ok(value),
        1 => Err(de::Error::custom("1 extra element")),
        more => Err(de::Error::custom(format!("{more} extra elements"))),
    }
}

fn visit_values<'de, V: Visitor<'de>, T: Into<Value>>(
    visitor: V,
    values: impl ExactSizeIterator<Item = T>,
) -> Result<V::Value> {
    visit_seq(visitor, values.map(Into::into))
}

/// Visits the components of a value or of an element, each with its bit of the mark.
fn visit_lanes<'de, V: Visitor<'de>, T: Visit + Copy>(
    visitor: V,
    mark: u32,
    lanes: &[T],
) -> Result<V::Value> {
    let mut mark = mark;
    let lane = |component: &T| {
        let bit = mark & 1;
        mark >>= 1;
        Component { component: *component, mark: bit }
    };
    visit_seq(visitor, lanes.iter().map(lane))
}

/// Visits the components of a value. An element of several components becomes a sequence with the whole mark.
fn visit_components<'de, V: Visitor<'de>, T: Visit + Copy>(
    visitor: V,
    ty: VariantType,
    lanes: &[T],
) -> Result<V::Value> {
    let mark = buffer::mark(ty);
    match ty.shape() {
        Shape::Packed(_, per_element @ 2..) => {
            visit_seq(visitor, lanes.chunks(per_element).map(|component| Component { component, mark }))
        }
        _ => visit_lanes(visitor, mark, lanes),
    }
}

impl<'de, D: Deserializer<'de, Error = Error>, I: ExactSizeIterator<Item = D>> SeqAccess<'de>
    for Elements<I>
{
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        let Some(element) = self.left.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        seed.deserialize(element).map(Some).map_err(|error| error.inside(Step::Index(index)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

/// The remaining entries of a map, and the index of the next one.
struct Entries<I> {
    left: I,
    index: usize,
    /// The value whose key has been read, and its step in the path.
    value: Option<(Step, Value)>,
    are_fields: bool,
}

impl<I> Entries<I> {
    fn new(left: I) -> Self {
        Self { left, index: 0, value: None, are_fields: false }
    }

    fn of_fields(left: I) -> Self {
        Self { are_fields: true, ..Self::new(left) }
    }
}

impl<'de, I: ExactSizeIterator<Item = (Value, Value)>> MapAccess<'de> for Entries<I> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        let Some((key, value)) = self.left.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        self.value = Some((key.as_step(index), value));
        let key = if self.are_fields { seed.deserialize(FieldName(key)) } else { seed.deserialize(key) };
        key.map(Some).map_err(|error| error.inside(Step::KeyAt(index)))
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

/// A variant of an enum, and its content.
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
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.read(|value| value.deserialize_struct("", fields, visitor))
    }
}
