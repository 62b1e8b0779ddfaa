//! [`ValueBuilder`]: builds a [`Value`] from events.

use std::hash::{BuildHasher as _, RandomState};

use super::same::{hash_of_leaf, is_nan, refuse_repeated_keys, unique_hash};
use super::types::{Array, Dictionary, NodePath, Object, PackedReals, Reals, Value};
use crate::error::{ErrorKind, Result};
use crate::events::{ElementType, NodePathParts, Sink, Text};
use crate::format::VariantType;
use crate::lanes::{Lanes, Precision};

/// Builds a [`Value`] from events.
///
/// The last completed value stays in `current` until its container takes it.
#[derive(Debug, Default)]
pub struct ValueBuilder {
    current: Value,
    /// Set if keys are hashed. Each value in a key is hashed once, at any depth.
    keys: Option<Keys>,
    /// Whether only keys are built. Other values are read as null.
    only_keys: bool,
    /// The object that an engine makes of an id; `None` keeps the id.
    in_engine: Option<ObjectsById>,
}

/// The object that an engine makes of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ObjectsById {
    Null,
    /// An object that equals no other, even if the ids are equal.
    New,
}

/// The number of keys that enclose the next value, and the hash of the last value completed inside a key.
#[derive(Debug, Default)]
struct Keys {
    hasher: RandomState,
    level: u32,
    hash: u64,
}

/// A container being built. If the container is inside a key, `hash` covers the contents so far.
#[derive(Debug)]
pub struct Frame<T> {
    built: T,
    key: Value,
    hash: u64,
    /// The hashes of a Dictionary's keys.
    hashes: Vec<u64>,
}

impl<T> Frame<T> {
    fn of(built: T) -> Box<Self> {
        Box::new(Self { built, key: Value::Nil, hash: 0, hashes: Vec::new() })
    }
}

impl ValueBuilder {
    /// A builder that fails if a Dictionary repeats a key, as strict reading does. The default builder keeps all
    /// entries.
    pub fn strict() -> Self {
        Self { keys: Some(Keys::default()), ..Self::default() }
    }

    /// A builder that fails as [`ValueBuilder::strict`] does, but keeps only the keys of open Dictionaries.
    pub(crate) fn of_keys() -> Self {
        Self { only_keys: true, ..Self::strict() }
    }

    /// A builder that fails as an engine does when it builds the same value: there, an object by id is null or a new
    /// object.
    pub(crate) fn of_keys_in_engine(lost_objects_as_null: bool) -> Self {
        let objects = if lost_objects_as_null { ObjectsById::Null } else { ObjectsById::New };
        Self { in_engine: Some(objects), ..Self::of_keys() }
    }

    /// Whether the next value is not built.
    fn skips(&self) -> bool {
        self.only_keys && self.keys.as_ref().is_some_and(|keys| keys.level == 0)
    }

    /// The value that was built.
    pub fn into_value(self) -> Value {
        self.current
    }

    fn set(&mut self, value: Value) -> Result<()> {
        if let Some(Keys { hasher, level: 1.., hash }) = &mut self.keys {
            *hash = hash_of_leaf(&value, hasher);
        }
        self.current = value;
        Ok(())
    }

    /// Completes a container of `count` parts; `contents` is the hash of these parts.
    fn set_container(&mut self, value: Value, count: usize, contents: u64) -> Result<()> {
        if let Some(Keys { hasher, level: 1.., hash }) = &mut self.keys {
            *hash = hasher.hash_one((value.ty().id(), count, contents));
        }
        self.current = if self.skips() { Value::Nil } else { value };
        Ok(())
    }

    /// Adds the hash of the last completed value to `contents`, if the value is in a key.
    fn add_hash(&self, contents: &mut u64) {
        if let Some(Keys { hasher, level: 1.., hash }) = &self.keys {
            let hash = if is_nan(&self.current) { unique_hash() } else { *hash };
            *contents = hasher.hash_one((*contents, hash));
        }
    }

    /// A vector for the announced elements. Reserves at most 64 elements, because the announced count is
    /// untrusted.
    fn reserved<T>(&self, announced: usize) -> Vec<T> {
        Vec::with_capacity(if self.skips() { 0 } else { announced.min(64) })
    }

    fn take(&mut self) -> Value {
        std::mem::take(&mut self.current)
    }
}

fn fixed<T, const N: usize>(lanes: impl Iterator<Item = T>) -> Result<[T; N]> {
    let lanes: Vec<T> = lanes.collect();
    lanes.try_into().map_err(|lanes: Vec<T>| ErrorKind::UnexpectedEnd { needed: N, left: lanes.len() }.into())
}

fn reals<const N: usize>(lanes: Lanes<'_>) -> Result<Reals<N>> {
    Ok(match lanes.precision {
        Precision::Single => Reals::Single(fixed(lanes.f32s())?),
        Precision::Double => Reals::Double(fixed(lanes.f64s())?),
    })
}

fn elements<T: Clone, const N: usize>(lanes: impl Iterator<Item = T>) -> Vec<[T; N]> {
    lanes.collect::<Vec<_>>().as_chunks().0.to_vec()
}

fn packed_reals<const N: usize>(lanes: Lanes<'_>) -> PackedReals<N> {
    match lanes.precision {
        Precision::Single => PackedReals::Single(elements(lanes.f32s())),
        Precision::Double => PackedReals::Double(elements(lanes.f64s())),
    }
}

impl Sink for ValueBuilder {
    // The frames are boxed, because the stack holds one frame for each level of nesting.
    type Array = Box<Frame<Array>>;
    type Dictionary = Box<Frame<Dictionary>>;
    type Object = Box<(String, Frame<Vec<(String, Value)>>, String)>;
    type Strings = Vec<String>;

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
        if self.skips() {
            return self.set(Value::Nil);
        }
        let text = text.to_lossy();
        self.set(if ty == VariantType::StringName { Value::StringName(text) } else { Value::String(text) })
    }

    #[inline(never)]
    fn fixed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        use VariantType as T;
        let value = match ty {
            T::Vector2 => Value::Vector2(reals(lanes)?),
            T::Vector2i => Value::Vector2i(fixed(lanes.i32s())?),
            T::Rect2 => Value::Rect2(reals(lanes)?),
            T::Rect2i => Value::Rect2i(fixed(lanes.i32s())?),
            T::Vector3 => Value::Vector3(reals(lanes)?),
            T::Vector3i => Value::Vector3i(fixed(lanes.i32s())?),
            T::Transform2D => Value::Transform2D(reals(lanes)?),
            T::Vector4 => Value::Vector4(reals(lanes)?),
            T::Vector4i => Value::Vector4i(fixed(lanes.i32s())?),
            T::Plane => Value::Plane(reals(lanes)?),
            T::Quaternion => Value::Quaternion(reals(lanes)?),
            T::Aabb => Value::Aabb(reals(lanes)?),
            T::Basis => Value::Basis(reals(lanes)?),
            T::Transform3D => Value::Transform3D(reals(lanes)?),
            T::Projection => Value::Projection(reals(lanes)?),
            T::Color => Value::Color(fixed(lanes.f32s())?),
            _ => unreachable!("{ty} has no fixed components"),
        };
        self.set(value)
    }

    #[inline(never)]
    fn packed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        use VariantType as T;
        if self.skips() {
            return self.set(Value::Nil);
        }
        let value = match ty {
            T::PackedByteArray => Value::PackedByteArray(lanes.le.to_vec()),
            T::PackedInt32Array => Value::PackedInt32Array(lanes.i32s().collect()),
            T::PackedInt64Array => Value::PackedInt64Array(lanes.i64s().collect()),
            T::PackedFloat32Array => Value::PackedFloat32Array(lanes.f32s().collect()),
            T::PackedFloat64Array => Value::PackedFloat64Array(lanes.f64s().collect()),
            T::PackedVector2Array => Value::PackedVector2Array(packed_reals(lanes)),
            T::PackedVector3Array => Value::PackedVector3Array(packed_reals(lanes)),
            T::PackedVector4Array => Value::PackedVector4Array(packed_reals(lanes)),
            T::PackedColorArray => Value::PackedColorArray(elements(lanes.f32s())),
            _ => unreachable!("{ty} is no packed array"),
        };
        self.set(value)
    }

    #[inline(never)]
    fn node_path(&mut self, path: NodePathParts<'_>) -> Result<()> {
        if self.skips() {
            return self.set(Value::Nil);
        }
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
        self.set(match id {
            0 => Value::Object(Object::Null),
            _ if self.in_engine == Some(ObjectsById::Null) => Value::Nil,
            id => Value::Object(Object::Id(id)),
        })?;
        if let (Some(Keys { level: 1.., hash, .. }), Some(ObjectsById::New), 1..) =
            (&mut self.keys, self.in_engine, id)
        {
            *hash = unique_hash();
        }
        Ok(())
    }

    #[inline(never)]
    fn begin_array(&mut self, len: usize, element: ElementType<'_>) -> Result<Self::Array> {
        Ok(Frame::of(Array { element: element.into(), values: self.reserved(len) }))
    }

    #[inline(never)]
    fn end_element(&mut self, array: &mut Self::Array) -> Result<()> {
        self.add_hash(&mut array.hash);
        let value = self.take();
        if self.skips() {
            return Ok(());
        }
        array.built.values.push(value);
        Ok(())
    }

    #[inline(never)]
    fn end_array(&mut self, array: Self::Array) -> Result<()> {
        let Frame { built, hash, .. } = *array;
        let count = built.values.len();
        self.set_container(Value::Array(built), count, hash)
    }

    #[inline(never)]
    fn begin_dictionary(
        &mut self,
        len: usize,
        key: ElementType<'_>,
        value: ElementType<'_>,
    ) -> Result<Self::Dictionary> {
        let entries = self.reserved(len);
        Ok(Frame::of(Dictionary { key: key.into(), value: value.into(), entries }))
    }

    #[inline(never)]
    fn begin_key(&mut self, _dictionary: &mut Self::Dictionary) -> Result<()> {
        if let Some(keys) = &mut self.keys {
            keys.level += 1;
        }
        Ok(())
    }

    #[inline(never)]
    fn begin_value(&mut self, dictionary: &mut Self::Dictionary) -> Result<()> {
        dictionary.key = self.take();
        if let Some(keys) = &mut self.keys {
            let hash = dictionary.key.as_str().map_or(keys.hash, |text| keys.hasher.hash_one(text));
            keys.level -= 1;
            dictionary.hashes.push(hash);
        }
        Ok(())
    }

    #[inline(never)]
    fn end_entry(&mut self, dictionary: &mut Self::Dictionary) -> Result<()> {
        if let Some(Keys { hasher, level: 1.., hash }) = &self.keys {
            // The hashes are added, because a sum does not depend on the order of the entries.
            let hash = if is_nan(&self.current) { unique_hash() } else { *hash };
            let entry = hasher.hash_one((dictionary.hashes.last(), hash));
            dictionary.hash = dictionary.hash.wrapping_add(entry);
        }
        let entry = (std::mem::take(&mut dictionary.key), self.take());
        dictionary.built.entries.push(entry);
        Ok(())
    }

    #[inline(never)]
    fn end_dictionary(&mut self, dictionary: Self::Dictionary) -> Result<()> {
        let Frame { built, hash, hashes, .. } = *dictionary;
        if self.keys.is_some() {
            refuse_repeated_keys(&built.entries, &hashes)?;
        }
        let count = built.entries.len();
        self.set_container(Value::Dictionary(built), count, hash)
    }

    #[inline(never)]
    fn begin_object(&mut self, class: Text<'_>, properties: usize) -> Result<Self::Object> {
        Ok(Box::new((class.to_lossy(), *Frame::of(self.reserved(properties)), String::new())))
    }

    #[inline(never)]
    fn begin_property(&mut self, object: &mut Self::Object, name: Text<'_>) -> Result<()> {
        object.2 = name.to_lossy();
        Ok(())
    }

    #[inline(never)]
    fn end_property(&mut self, object: &mut Self::Object) -> Result<()> {
        let (_, properties, name) = &mut **object;
        if let Some(Keys { hasher, level: 1.., .. }) = &self.keys {
            properties.hash = hasher.hash_one((properties.hash, &*name));
        }
        self.add_hash(&mut properties.hash);
        let property = (std::mem::take(name), self.take());
        if self.skips() {
            return Ok(());
        }
        properties.built.push(property);
        Ok(())
    }

    #[inline(never)]
    fn end_object(&mut self, object: Self::Object) -> Result<()> {
        let (class, Frame { built: properties, mut hash, .. }, _) = *object;
        if let Some(Keys { hasher, level: 1.., .. }) = &self.keys {
            hash = hasher.hash_one((hash, &class));
        }
        let count = properties.len();
        self.set_container(Value::Object(Object::Full { class, properties }), count, hash)
    }

    #[inline(never)]
    fn begin_strings(&mut self, len: usize) -> Result<Vec<String>> {
        Ok(self.reserved(len))
    }

    #[inline(never)]
    fn string(&mut self, strings: &mut Vec<String>, text: Text<'_>) -> Result<()> {
        if self.skips() {
            return Ok(());
        }
        let text = text.to_lossy();
        strings.push(text);
        Ok(())
    }

    #[inline(never)]
    fn end_strings(&mut self, strings: Vec<String>) -> Result<()> {
        self.set(Value::PackedStringArray(strings))
    }
}
