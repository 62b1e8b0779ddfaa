//! Events → [`Value`].

use super::same::refuse_repeated_keys;
use super::types::{Array, Dictionary, NodePath, Object, PackedReals, Reals, Value};
use crate::error::{ErrorKind, Result};
use crate::events::{ElementType, Lanes, NodePathParts, Precision, Sink, Text};
use crate::format::VariantType;

/// Reads little-endian components of `W` bytes.
fn from_le<T, const W: usize>(le: &[u8], read: fn([u8; W]) -> T) -> Vec<T> {
    le.as_chunks::<W>().0.iter().map(|bytes| read(*bytes)).collect()
}

/// Builds a [`Value`] from events.
///
/// The value that was completed last waits in `current` until its container takes it.
///
/// ```
/// use variant_codec::Value;
/// use variant_codec::stream::{Sink, ValueBuilder};
///
/// let mut builder = ValueBuilder::default();
/// builder.int(7)?;
/// assert_eq!(builder.into_value(), Value::Int(7));
/// # Ok::<(), variant_codec::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct ValueBuilder {
    current: Value,
    refuses_repeated_keys: bool,
}

impl ValueBuilder {
    /// A builder that fails if a Dictionary repeats a key, as strict reading does. The default keeps all entries, of which the last counts.
    pub fn strict() -> Self {
        Self { refuses_repeated_keys: true, ..Self::default() }
    }

    /// The value that was written.
    pub fn into_value(self) -> Value {
        self.current
    }

    fn set(&mut self, value: Value) -> Result<()> {
        self.current = value;
        Ok(())
    }

    fn take(&mut self) -> Value {
        std::mem::take(&mut self.current)
    }
}

/// Components as an array of exactly `N`.
fn fixed_lanes<T, const N: usize>(lanes: Vec<T>) -> Result<[T; N]> {
    lanes.try_into().map_err(|lanes: Vec<T>| ErrorKind::UnexpectedEnd { needed: N, left: lanes.len() }.into())
}

fn reals<const N: usize>(lanes: Lanes<'_>) -> Result<Reals<N>> {
    Ok(match lanes.precision {
        Precision::Single => Reals::Single(fixed_lanes(from_le(lanes.le, f32::from_le_bytes))?),
        Precision::Double => Reals::Double(fixed_lanes(from_le(lanes.le, f64::from_le_bytes))?),
    })
}

fn packed_reals<const N: usize>(lanes: Lanes<'_>) -> PackedReals<N> {
    match lanes.precision {
        Precision::Single => {
            PackedReals::Single(from_le(lanes.le, f32::from_le_bytes).as_chunks::<N>().0.to_vec())
        }
        Precision::Double => {
            PackedReals::Double(from_le(lanes.le, f64::from_le_bytes).as_chunks::<N>().0.to_vec())
        }
    }
}

impl Sink for ValueBuilder {
    // Boxed: one lies on the stack for each level of nesting.
    type Array = Box<Array>;
    type Dictionary = Box<(Dictionary, Value)>;
    type Object = Box<(String, Vec<(String, Value)>, String)>;
    type Strings = Vec<String>;
    const BUILDS: bool = true;

    #[inline(never)]
    fn nil(&mut self) -> Result<()> {
        self.set(Value::Nil)
    }

    #[inline(never)]
    fn bool(&mut self, value: bool) -> Result<()> {
        self.set(Value::Bool(value))
    }

    #[inline(never)]
    fn int(&mut self, value: i64) -> Result<()> {
        self.set(Value::Int(value))
    }

    #[inline(never)]
    fn float(&mut self, value: f64) -> Result<()> {
        self.set(Value::Float(value))
    }

    #[inline(never)]
    fn text(&mut self, ty: VariantType, text: Text<'_>) -> Result<()> {
        let text = text.to_lossy();
        self.set(if ty == VariantType::StringName { Value::StringName(text) } else { Value::String(text) })
    }

    #[inline(never)]
    fn fixed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        use VariantType as T;
        let ints = || from_le(lanes.le, i32::from_le_bytes);
        let value = match ty {
            T::Vector2 => Value::Vector2(reals(lanes)?),
            T::Vector2i => Value::Vector2i(fixed_lanes(ints())?),
            T::Rect2 => Value::Rect2(reals(lanes)?),
            T::Rect2i => Value::Rect2i(fixed_lanes(ints())?),
            T::Vector3 => Value::Vector3(reals(lanes)?),
            T::Vector3i => Value::Vector3i(fixed_lanes(ints())?),
            T::Transform2D => Value::Transform2D(reals(lanes)?),
            T::Vector4 => Value::Vector4(reals(lanes)?),
            T::Vector4i => Value::Vector4i(fixed_lanes(ints())?),
            T::Plane => Value::Plane(reals(lanes)?),
            T::Quaternion => Value::Quaternion(reals(lanes)?),
            T::Aabb => Value::Aabb(reals(lanes)?),
            T::Basis => Value::Basis(reals(lanes)?),
            T::Transform3D => Value::Transform3D(reals(lanes)?),
            T::Projection => Value::Projection(reals(lanes)?),
            T::Color => Value::Color(fixed_lanes(from_le(lanes.le, f32::from_le_bytes))?),
            _ => unreachable!("{ty} has no fixed components"),
        };
        self.set(value)
    }

    #[inline(never)]
    fn packed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        use VariantType as T;
        let value = match ty {
            T::PackedByteArray => Value::PackedByteArray(lanes.le.to_vec()),
            T::PackedInt32Array => Value::PackedInt32Array(from_le(lanes.le, i32::from_le_bytes)),
            T::PackedInt64Array => Value::PackedInt64Array(from_le(lanes.le, i64::from_le_bytes)),
            T::PackedFloat32Array => Value::PackedFloat32Array(from_le(lanes.le, f32::from_le_bytes)),
            T::PackedFloat64Array => Value::PackedFloat64Array(from_le(lanes.le, f64::from_le_bytes)),
            T::PackedVector2Array => Value::PackedVector2Array(packed_reals(lanes)),
            T::PackedVector3Array => Value::PackedVector3Array(packed_reals(lanes)),
            T::PackedVector4Array => Value::PackedVector4Array(packed_reals(lanes)),
            T::PackedColorArray => {
                Value::PackedColorArray(from_le(lanes.le, f32::from_le_bytes).as_chunks::<4>().0.to_vec())
            }
            _ => unreachable!("{ty} is no packed array"),
        };
        self.set(value)
    }

    #[inline(never)]
    fn node_path(&mut self, path: NodePathParts<'_>) -> Result<()> {
        let owned = |parts: &[Text<'_>]| parts.iter().map(|part| part.to_lossy()).collect();
        self.set(Value::NodePath(NodePath {
            absolute: path.absolute,
            names: owned(path.names),
            subnames: owned(path.subnames),
        }))
    }

    #[inline(never)]
    fn rid(&mut self, id: u64) -> Result<()> {
        self.set(Value::Rid(id))
    }

    #[inline(never)]
    fn callable(&mut self) -> Result<()> {
        self.set(Value::Callable)
    }

    #[inline(never)]
    fn signal(&mut self, name: Text<'_>, object: u64) -> Result<()> {
        self.set(Value::Signal { name: name.to_lossy(), object })
    }

    #[inline(never)]
    fn object_id(&mut self, id: u64) -> Result<()> {
        self.set(Value::Object(if id == 0 { Object::Null } else { Object::Id(id) }))
    }

    #[inline(never)]
    fn begin_array(&mut self, len: usize, element: ElementType<'_>) -> Result<Box<Array>> {
        Ok(Box::new(Array { element: element.into(), values: reserved(len) }))
    }

    #[inline(never)]
    fn end_element(&mut self, array: &mut Self::Array) -> Result<()> {
        array.values.push(self.take());
        Ok(())
    }

    #[inline(never)]
    fn end_array(&mut self, array: Self::Array) -> Result<()> {
        self.set(Value::Array(*array))
    }

    #[inline(never)]
    fn begin_dictionary(
        &mut self,
        len: usize,
        key: ElementType<'_>,
        value: ElementType<'_>,
    ) -> Result<Self::Dictionary> {
        let entries = reserved(len);
        Ok(Box::new((Dictionary { key: key.into(), value: value.into(), entries }, Value::Nil)))
    }

    #[inline(never)]
    fn begin_value(&mut self, dictionary: &mut Self::Dictionary) -> Result<()> {
        dictionary.1 = self.take();
        Ok(())
    }

    #[inline(never)]
    fn end_entry(&mut self, dictionary: &mut Self::Dictionary) -> Result<()> {
        let (dictionary, key) = &mut **dictionary;
        dictionary.entries.push((std::mem::take(key), self.take()));
        Ok(())
    }

    #[inline(never)]
    fn end_dictionary(&mut self, dictionary: Self::Dictionary) -> Result<()> {
        if self.refuses_repeated_keys {
            refuse_repeated_keys(&dictionary.0.entries)?;
        }
        self.set(Value::Dictionary(dictionary.0))
    }

    #[inline(never)]
    fn begin_object(&mut self, class: Text<'_>, properties: usize) -> Result<Self::Object> {
        Ok(Box::new((class.to_lossy(), reserved(properties), String::new())))
    }

    #[inline(never)]
    fn begin_property(&mut self, object: &mut Self::Object, name: Text<'_>) -> Result<()> {
        object.2 = name.to_lossy();
        Ok(())
    }

    #[inline(never)]
    fn end_property(&mut self, object: &mut Self::Object) -> Result<()> {
        object.1.push((std::mem::take(&mut object.2), self.take()));
        Ok(())
    }

    #[inline(never)]
    fn end_object(&mut self, object: Self::Object) -> Result<()> {
        let (class, properties, _) = *object;
        self.set(Value::Object(Object::Full { class, properties }))
    }

    #[inline(never)]
    fn begin_strings(&mut self, len: usize) -> Result<Vec<String>> {
        Ok(reserved(len))
    }

    #[inline(never)]
    fn string(&mut self, strings: &mut Vec<String>, text: Text<'_>) -> Result<()> {
        strings.push(text.to_lossy());
        Ok(())
    }

    #[inline(never)]
    fn end_strings(&mut self, strings: Vec<String>) -> Result<()> {
        self.set(Value::PackedStringArray(strings))
    }
}

/// Space for announced elements, but for no more than a few: an announcement is only a claim.
fn reserved<T>(announced: usize) -> Vec<T> {
    Vec::with_capacity(announced.min(64))
}
