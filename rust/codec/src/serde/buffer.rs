//! Recovers the types of values from serde's buffer, which holds flattened fields, untagged enums and the
//! like. The buffer keeps sequences of numbers and the width of each number, but no vectors. So the widths
//! encode the type: some 32-bit components of a vector are buffered with 64 bits.

use std::any::type_name;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::form;
use crate::error::{Error, ErrorKind};
use crate::format::{Lane, Shape, VariantType};
use crate::lanes::widen;
use crate::value::{Dictionary, Value};

/// Whether `E` is the error type of this crate's serializer and deserializer. serde's wrappers keep this
/// type.
pub(super) fn is_own_error<E>() -> bool {
    type_name::<E>() == type_name::<Error>()
}

/// The mark of a type: bit `n` is set if component `n` of a value or element is buffered with 64 bits. Types
/// with the same number and kind of components have different marks. No mark has all bits set, because Arrays
/// and 64-bit components look like that. Only packed arrays of numbers have the mark 0.
pub(super) fn mark(ty: VariantType) -> u32 {
    use VariantType as T;
    match ty {
        T::Vector2 | T::Vector3 | T::Vector4 | T::Transform2D | T::Basis | T::Transform3D | T::Projection => {
            1
        }
        T::Vector2i | T::Vector3i | T::Vector4i => 1,
        T::Rect2i | T::Aabb | T::PackedVector2Array | T::PackedVector3Array | T::PackedVector4Array => 2,
        T::Rect2 => 3,
        T::Plane => 4,
        T::Quaternion => 5,
        T::Color => 6,
        T::PackedColorArray => 7,
        _ => 0,
    }
}

/// The type whose values or elements have `count` components with this mark.
fn marked(is_float: bool, count: usize, bits: u32) -> Option<VariantType> {
    VariantType::ALL.into_iter().find(|ty| match ty.shape() {
        Shape::Fixed(lane, lanes) | Shape::Packed(lane, lanes) => {
            lanes == count && mark(*ty) == bits && is_float != (lane == Lane::Int32)
        }
        _ => false,
    })
}

/// A value or a part of one in the buffer.
enum Buffered {
    Whole(Value),
    /// A 32-bit int component. `Float` holds a 32-bit float component.
    Int(i32),
    Float(f32),
    /// An element of several components, from a packed array of this type.
    Element(VariantType, Value),
}

impl Buffered {
    /// Returns the value, or the number of a component.
    fn into_value(self) -> Value {
        match self {
            Self::Whole(value) | Self::Element(_, value) => value,
            Self::Int(int) => int.into(),
            Self::Float(float) => Value::Float(widen(float)),
        }
    }

    fn is_narrow(&self) -> bool {
        matches!(self, Self::Int(_) | Self::Float(_))
    }
}

/// Recovers the value that a sequence was written from.
fn sequence(found: Vec<Buffered>) -> Result<Buffered, Error> {
    let narrow = found.iter().filter(|found| found.is_narrow()).count();
    let is_float = found.iter().any(|found| matches!(found, Buffered::Float(_)));
    let element = match found.first() {
        Some(Buffered::Element(ty, _)) => Some(*ty),
        _ => None,
    };
    let whole = if narrow == 0 {
        element
    } else if narrow == found.len() {
        Some(if is_float { VariantType::PackedFloat32Array } else { VariantType::PackedInt32Array })
    } else {
        let wide = found.iter().zip(0..u32::BITS).filter(|(found, _)| !found.is_narrow());
        marked(is_float, found.len(), wide.fold(0, |bits, (_, lane)| bits | 1 << lane))
    };
    let values = found.into_iter().map(Buffered::into_value).collect::<Value>();
    match whole.map(|ty| (ty, ty.shape())) {
        None if narrow == 0 => Ok(Buffered::Whole(values)),
        None => Err(ErrorKind::Message("components of an unknown type".into()).into()),
        Some((ty, Shape::Packed(..))) if narrow != 0 && mark(ty) != 0 => Ok(Buffered::Element(ty, values)),
        Some((ty, _)) => form::read(ty, values).map(Buffered::Whole),
    }
}

/// Reads a value from serde's buffer. It never reads a Dictionary as a form: otherwise, a sender could create
/// objects and other types that the limits do not allow.
pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    match deserializer.deserialize_any(BufferVisitor)? {
        Buffered::Whole(value) => Ok(value),
        found => Err(D::Error::custom(format!("a component alone: {:?}", found.into_value()))),
    }
}

/// Returns the value of a field of type `ty`.
///
/// # Errors
/// Fails if the buffer holds another type, or may hold one: vectors with 64-bit components look like Arrays.
pub(super) fn of_field(ty: VariantType, value: Value) -> Result<Value, Error> {
    let is_packed = ty.shape().is_packed();
    let is_element = |value: &Value| match ty {
        VariantType::PackedInt64Array => matches!(value, Value::Int(_)),
        VariantType::PackedFloat64Array => matches!(value, Value::Float(_)),
        VariantType::PackedStringArray => matches!(value, Value::String(_)),
        _ => false,
    };
    match value {
        value if value.is_nil() || value.ty() == ty => Ok(value),
        Value::String(_) if matches!(ty, VariantType::StringName | VariantType::NodePath) => {
            form::read(ty, value)
        }
        Value::Array(array) if is_packed && array.iter().all(is_element) => form::read(ty, array.into()),
        Value::Array(_) if ty.is_real() => {
            let or = format!("a {ty} whose 64-bit components have lost their type in serde's buffer");
            Err(ErrorKind::Message(format!("expected {ty}, found an Array, or {or}").into()).into())
        }
        other => Err(ErrorKind::UnexpectedType { expected: ty.name(), found: other.ty() }.into()),
    }
}

#[derive(Clone, Copy)]
struct BufferVisitor;

impl<'de> DeserializeSeed<'de> for BufferVisitor {
    type Value = Buffered;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Buffered, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Reads a whole value from the buffer.
struct Whole;

impl<'de> DeserializeSeed<'de> for Whole {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        read(deserializer)
    }
}

macro_rules! visit_whole {
    ($($method:ident: $ty:ty),*) => {
        $(fn $method<E>(self, value: $ty) -> Result<Buffered, E> {
            Ok(Buffered::Whole(value.into()))
        })*
    };
}

impl<'de> Visitor<'de> for BufferVisitor {
    type Value = Buffered;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    visit_whole! {
        visit_bool: bool, visit_i64: i64, visit_f64: f64, visit_str: &str, visit_string: String, visit_bytes: &[u8],
        visit_byte_buf: Vec<u8>
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Buffered, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Buffered, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_none<E>(self) -> Result<Buffered, E> {
        Ok(Buffered::Whole(Value::Nil))
    }

    fn visit_unit<E>(self) -> Result<Buffered, E> {
        Ok(Buffered::Whole(Value::Nil))
    }

    fn visit_i32<E>(self, value: i32) -> Result<Buffered, E> {
        Ok(Buffered::Int(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Buffered, E> {
        Value::try_from(value).map(Buffered::Whole).map_err(E::custom)
    }

    fn visit_f32<E>(self, value: f32) -> Result<Buffered, E> {
        Ok(Buffered::Float(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Buffered, A::Error> {
        let mut found = Vec::new();
        while let Some(element) = elements.next_element_seed(self)? {
            found.push(element);
        }
        sequence(found).map_err(A::Error::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Buffered, A::Error> {
        let mut dictionary = Dictionary::new();
        while let Some(entry) = entries.next_entry_seed(Whole, Whole)? {
            dictionary.entries.push(entry);
        }
        Ok(Buffered::Whole(dictionary.into()))
    }
}
