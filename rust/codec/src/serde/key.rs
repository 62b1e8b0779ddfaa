//! Which keys of a Dictionary the engine considers equal.

use crate::error::Result;
use crate::value::{Array, Dictionary, OwnedElementType, PackedReals, Reals, Value};

/// Equal for keys that the engine considers equal; `None` for those that equal nothing, not even themselves.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum Identity<'a> {
    Text(&'a str),
    Int(i64),
    /// The bytes of what stands for all equal keys.
    Other(Vec<u8>),
}

impl<'a> Identity<'a> {
    /// # Errors
    /// If the key cannot be encoded.
    pub fn of(key: &'a Value) -> Result<Option<Self>> {
        Ok(match key {
            Value::String(text) | Value::StringName(text) => Some(Self::Text(text)),
            Value::Int(int) => Some(Self::Int(*int)),
            other => self::key(other).map(|key| key.encode().map(Self::Other)).transpose()?,
        })
    }
}

/// What stands for all keys that equal this one. The engine compares keys in keys likewise.
fn key(value: &Value) -> Option<Value> {
    match value {
        Value::StringName(text) => Some(text.as_str().into()),
        Value::Float(float) => Some(Value::Float(float.canonical())),
        other => element(other),
    }
}

/// The same for an element of an Array and for a value in a Dictionary: there, a NaN equals nothing, and a StringName
/// equals no String.
fn element(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Float(float) if float.is_nan() => return None,
        Value::Float(float) => Value::Float(float.canonical()),
        Value::Array(array) => {
            let values = array.iter().map(element).collect::<Option<Vec<_>>>()?;
            Array { element: OwnedElementType::Untyped, values }.into()
        }
        Value::Dictionary(dictionary) => {
            let entry = |(name, value): &(Value, Value)| Some((key(name)?, element(value)?));
            let entries = dictionary.entries.iter().map(entry).collect::<Option<Vec<_>>>()?;
            Dictionary { entries, ..Dictionary::default() }.into()
        }
        Value::Vector2(floats) => Value::Vector2(reals(*floats)),
        Value::Vector3(floats) => Value::Vector3(reals(*floats)),
        Value::Vector4(floats) => Value::Vector4(reals(*floats)),
        Value::Rect2(floats) => Value::Rect2(reals(*floats)),
        Value::Plane(floats) => Value::Plane(reals(*floats)),
        Value::Quaternion(floats) => Value::Quaternion(reals(*floats)),
        Value::Transform2D(floats) => Value::Transform2D(reals(*floats)),
        Value::Aabb(floats) => Value::Aabb(reals(*floats)),
        Value::Basis(floats) => Value::Basis(reals(*floats)),
        Value::Transform3D(floats) => Value::Transform3D(reals(*floats)),
        Value::Projection(floats) => Value::Projection(reals(*floats)),
        Value::Color(floats) => Value::Color(floats.map(Canonical::canonical)),
        Value::PackedFloat32Array(floats) => {
            Value::PackedFloat32Array(floats.iter().map(|float| float.canonical()).collect())
        }
        Value::PackedFloat64Array(floats) => {
            Value::PackedFloat64Array(floats.iter().map(|float| float.canonical()).collect())
        }
        Value::PackedColorArray(colors) => Value::PackedColorArray(all(colors)),
        Value::PackedVector2Array(elements) => Value::PackedVector2Array(packed(elements)),
        Value::PackedVector3Array(elements) => Value::PackedVector3Array(packed(elements)),
        Value::PackedVector4Array(elements) => Value::PackedVector4Array(packed(elements)),
        other => other.clone(),
    })
}

/// An engine has one precision, so components that differ only in their width are equal.
fn reals<const N: usize>(reals: Reals<N>) -> Reals<N> {
    Reals::Double(match reals {
        Reals::Single(floats) => floats.map(|float| f64::from(float).canonical()),
        Reals::Double(floats) => floats.map(Canonical::canonical),
    })
}

fn packed<const N: usize>(elements: &PackedReals<N>) -> PackedReals<N> {
    PackedReals::Double(match elements {
        PackedReals::Single(elements) => {
            elements.iter().map(|element| element.map(|float| f64::from(float).canonical())).collect()
        }
        PackedReals::Double(elements) => all(elements),
    })
}

fn all<T: Canonical, const N: usize>(elements: &[[T; N]]) -> Vec<[T; N]> {
    elements.iter().map(|element| element.map(Canonical::canonical)).collect()
}

/// One zero for both, and one NaN for all.
trait Canonical: Copy {
    fn canonical(self) -> Self;
}

impl Canonical for f32 {
    fn canonical(self) -> Self {
        if self.is_nan() { Self::NAN } else { self + 0.0 }
    }
}

impl Canonical for f64 {
    fn canonical(self) -> Self {
        if self.is_nan() { Self::NAN } else { self + 0.0 }
    }
}
