//! [`Value`]: a Variant without an engine, for servers, tools and tests.

use crate::changes::Loss;
use crate::decoder::Decoder;
use crate::downgrade::Downgrade;
use crate::encoder::{EncodeOptions, Encoder, Measure};
use crate::error::{ErrorKind, Result, Step};
use crate::events::{ElementType, Lanes, NodePathParts, Precision, Sink, Source, Text};
use crate::format::{self, VariantType};
use crate::limits::{Limits, Strictness};

/// `N` components of the engine's `real_t`, in the width that was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reals<const N: usize> {
    /// 32 bits each.
    Single([f32; N]),
    /// 64 bits each, from a build with `precision=double`.
    Double([f64; N]),
}

/// Elements of `N` components of the engine's `real_t`, in the width that was read.
#[derive(Clone, Debug, PartialEq)]
pub enum PackedReals<const N: usize> {
    /// 32 bits each.
    Single(Vec<[f32; N]>),
    /// 64 bits each, from a build with `precision=double`.
    Double(Vec<[f64; N]>),
}

/// The type that a container declares for its elements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OwnedElementType {
    /// Any Variant.
    #[default]
    Untyped,
    /// A built-in type; Object means any object.
    Builtin(VariantType),
    /// Objects of a native class.
    Class(String),
    /// Objects with a script, named by its resource path.
    Script(String),
}

impl OwnedElementType {
    fn borrowed(&self) -> ElementType<'_> {
        match self {
            Self::Untyped => ElementType::Untyped,
            Self::Builtin(ty) => ElementType::Builtin(*ty),
            Self::Class(name) => ElementType::Class(name.as_str().into()),
            Self::Script(path) => ElementType::Script(path.as_str().into()),
        }
    }
}

impl From<ElementType<'_>> for OwnedElementType {
    fn from(element: ElementType<'_>) -> Self {
        match element {
            ElementType::Untyped => Self::Untyped,
            ElementType::Builtin(ty) => Self::Builtin(ty),
            ElementType::Class(name) => Self::Class(name.to_lossy()),
            ElementType::Script(path) => Self::Script(path.to_lossy()),
        }
    }
}

/// An Array, plain or typed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Array {
    /// What the elements are declared to be.
    pub element: OwnedElementType,
    /// The elements.
    pub values: Vec<Value>,
}

/// A Dictionary, plain or typed. Entries keep their order; equal keys are not merged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dictionary {
    /// What the keys are declared to be.
    pub key: OwnedElementType,
    /// What the values are declared to be.
    pub value: OwnedElementType,
    /// Keys and values.
    pub entries: Vec<(Value, Value)>,
}

/// A NodePath in parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodePath {
    /// Whether the path starts at the root.
    pub absolute: bool,
    /// The names of nodes.
    pub names: Vec<String>,
    /// The names of properties, after the colons.
    pub subnames: Vec<String>,
}

/// An object, as the wire knows it.
#[derive(Clone, Debug, PartialEq)]
pub enum Object {
    /// No object; written as Nil.
    Null,
    /// An instance id, which means something only in the process that wrote it.
    Id(u64),
    /// A class and its stored properties, in order.
    Full {
        /// The native class.
        class: String,
        /// Names and values; `script` holds the path of the object's script.
        properties: Vec<(String, Value)>,
    },
}

/// Any value that Godot 4's format holds.
///
/// Equality is that of Rust's floats: NaN differs from itself. Compare encoded bytes for identity.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the variants are Godot's own types, by their names")]
pub enum Value {
    #[default]
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    String(String),
    Vector2(Reals<2>),
    Vector2i([i32; 2]),
    /// Position x, y, size x, y.
    Rect2(Reals<4>),
    /// Position x, y, size x, y.
    Rect2i([i32; 4]),
    Vector3(Reals<3>),
    Vector3i([i32; 3]),
    /// Columns: x axis, y axis, origin.
    Transform2D(Reals<6>),
    Vector4(Reals<4>),
    Vector4i([i32; 4]),
    /// Normal x, y, z, then the distance.
    Plane(Reals<4>),
    Quaternion(Reals<4>),
    /// Position x, y, z, size x, y, z.
    Aabb(Reals<6>),
    /// Rows: the x components of the three axes first.
    Basis(Reals<9>),
    /// The basis as in [`Value::Basis`], then the origin.
    Transform3D(Reals<12>),
    /// Columns.
    Projection(Reals<16>),
    Color([f32; 4]),
    StringName(String),
    NodePath(NodePath),
    Rid(u64),
    Object(Object),
    /// Nothing of a Callable is written.
    Callable,
    Signal {
        /// The signal's name.
        name: String,
        /// The instance id of the object that has it.
        object: u64,
    },
    Dictionary(Dictionary),
    Array(Array),
    PackedByteArray(Vec<u8>),
    PackedInt32Array(Vec<i32>),
    PackedInt64Array(Vec<i64>),
    PackedFloat32Array(Vec<f32>),
    PackedFloat64Array(Vec<f64>),
    PackedStringArray(Vec<String>),
    PackedVector2Array(PackedReals<2>),
    PackedVector3Array(PackedReals<3>),
    PackedColorArray(Vec<[f32; 4]>),
    PackedVector4Array(PackedReals<4>),
}

impl Value {
    /// Reads the one value that `bytes` hold, strictly: what no encoder writes is an error.
    ///
    /// # Errors
    /// What is wrong with the bytes, with its offset.
    pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Self> {
        Self::decode_as(bytes, Strictness::Strict, limits)
    }

    /// Reads one value in the manner given.
    ///
    /// # Errors
    /// What is wrong with the bytes, with its offset.
    pub fn decode_as(bytes: &[u8], strictness: Strictness, limits: &Limits) -> Result<Self> {
        let mut builder = ValueBuilder::default();
        Decoder::new(bytes, strictness, limits).pour_only(&mut builder)?;
        Ok(builder.into_value())
    }

    /// The bytes that an official engine writes.
    ///
    /// # Errors
    /// Nesting below level 1024, or 2 GiB of bytes, with the path to the place.
    pub fn encode(&self) -> Result<Vec<u8>> {
        self.encode_as(EncodeOptions::default())
    }

    /// The bytes for an engine of the precision given.
    ///
    /// # Errors
    /// As [`Value::encode`].
    pub fn encode_as(&self, options: EncodeOptions) -> Result<Vec<u8>> {
        let mut encoder = Encoder::new(Vec::new(), options);
        (&*self).pour(&mut encoder)?;
        Ok(encoder.into_output())
    }

    /// Reads the one value that `bytes` in Godot 3's format hold, strictly. With [`Loss::Accepted`], what Godot 4
    /// cannot hold is replaced, as [`Decoder::of_godot3`] says.
    ///
    /// # Errors
    /// What is wrong with the bytes, with its offset.
    pub fn decode_godot3(bytes: &[u8], limits: &Limits, loss: Loss) -> Result<Self> {
        let mut builder = ValueBuilder::default();
        Decoder::of_godot3(bytes, Strictness::Strict, limits, loss).pour_only(&mut builder)?;
        Ok(builder.into_value())
    }

    /// The bytes for Godot 3. With [`Loss::Accepted`], what it cannot hold is replaced, as [`Downgrade`] says.
    ///
    /// # Errors
    /// As [`Value::encode`]; and what Godot 3 cannot hold, with the path to the place.
    pub fn encode_godot3(&self, loss: Loss) -> Result<Vec<u8>> {
        let mut downgrade = Downgrade::new(Vec::new(), loss);
        (&*self).pour(&mut downgrade)?;
        Ok(downgrade.into_output())
    }

    /// How many bytes [`Value::encode`] gives.
    ///
    /// # Errors
    /// As [`Value::encode`].
    pub fn encoded_size(&self) -> Result<usize> {
        let mut measure = Measure::counting(EncodeOptions::default());
        (&*self).pour(&mut measure)?;
        Ok(measure.bytes())
    }

    /// The value's type.
    pub fn ty(&self) -> VariantType {
        use VariantType as T;
        match self {
            Self::Nil => T::Nil,
            Self::Bool(_) => T::Bool,
            Self::Int(_) => T::Int,
            Self::Float(_) => T::Float,
            Self::String(_) => T::String,
            Self::Vector2(_) => T::Vector2,
            Self::Vector2i(_) => T::Vector2i,
            Self::Rect2(_) => T::Rect2,
            Self::Rect2i(_) => T::Rect2i,
            Self::Vector3(_) => T::Vector3,
            Self::Vector3i(_) => T::Vector3i,
            Self::Transform2D(_) => T::Transform2D,
            Self::Vector4(_) => T::Vector4,
            Self::Vector4i(_) => T::Vector4i,
            Self::Plane(_) => T::Plane,
            Self::Quaternion(_) => T::Quaternion,
            Self::Aabb(_) => T::Aabb,
            Self::Basis(_) => T::Basis,
            Self::Transform3D(_) => T::Transform3D,
            Self::Projection(_) => T::Projection,
            Self::Color(_) => T::Color,
            Self::StringName(_) => T::StringName,
            Self::NodePath(_) => T::NodePath,
            Self::Rid(_) => T::Rid,
            Self::Object(_) => T::Object,
            Self::Callable => T::Callable,
            Self::Signal { .. } => T::Signal,
            Self::Dictionary(_) => T::Dictionary,
            Self::Array(_) => T::Array,
            Self::PackedByteArray(_) => T::PackedByteArray,
            Self::PackedInt32Array(_) => T::PackedInt32Array,
            Self::PackedInt64Array(_) => T::PackedInt64Array,
            Self::PackedFloat32Array(_) => T::PackedFloat32Array,
            Self::PackedFloat64Array(_) => T::PackedFloat64Array,
            Self::PackedStringArray(_) => T::PackedStringArray,
            Self::PackedVector2Array(_) => T::PackedVector2Array,
            Self::PackedVector3Array(_) => T::PackedVector3Array,
            Self::PackedColorArray(_) => T::PackedColorArray,
            Self::PackedVector4Array(_) => T::PackedVector4Array,
        }
    }

    fn pour_at<S: Sink>(&self, sink: &mut S, depth: u32) -> Result<()> {
        if depth > format::MAX_DEPTH {
            return Err(ErrorKind::TooDeep.into());
        }
        let ty = self.ty();
        match self {
            Self::Nil => sink.nil(),
            Self::Bool(value) => sink.bool(*value),
            Self::Int(value) => sink.int(*value),
            Self::Float(value) => sink.float(*value),
            Self::String(text) | Self::StringName(text) => sink.text(ty, text.as_str().into()),
            Self::Vector2(reals) => pour_reals(sink, ty, reals),
            Self::Vector3(reals) => pour_reals(sink, ty, reals),
            Self::Rect2(reals) | Self::Vector4(reals) | Self::Plane(reals) | Self::Quaternion(reals) => {
                pour_reals(sink, ty, reals)
            }
            Self::Transform2D(reals) | Self::Aabb(reals) => pour_reals(sink, ty, reals),
            Self::Basis(reals) => pour_reals(sink, ty, reals),
            Self::Transform3D(reals) => pour_reals(sink, ty, reals),
            Self::Projection(reals) => pour_reals(sink, ty, reals),
            Self::Vector2i(lanes) => pour_single(sink, ty, lanes.map(i32::to_le_bytes).as_flattened()),
            Self::Vector3i(lanes) => pour_single(sink, ty, lanes.map(i32::to_le_bytes).as_flattened()),
            Self::Rect2i(lanes) | Self::Vector4i(lanes) => {
                pour_single(sink, ty, lanes.map(i32::to_le_bytes).as_flattened())
            }
            Self::Color(lanes) => pour_single(sink, ty, lanes.map(f32::to_le_bytes).as_flattened()),
            Self::NodePath(path) => {
                let (names, subnames) = (texts(&path.names), texts(&path.subnames));
                sink.node_path(NodePathParts { absolute: path.absolute, names: &names, subnames: &subnames })
            }
            Self::Rid(id) => sink.rid(*id),
            Self::Object(Object::Null) => sink.nil(),
            Self::Object(Object::Id(id)) => sink.object_id(*id),
            Self::Object(Object::Full { class, properties }) => {
                let mut object = sink.begin_object(class.as_str().into(), properties.len())?;
                for (name, value) in properties {
                    sink.begin_property(&mut object, name.as_str().into())?;
                    value.pour_at(sink, depth + 1).map_err(|error| error.inside(Step::property(name)))?;
                    sink.end_property(&mut object)?;
                }
                sink.end_object(object)
            }
            Self::Callable => sink.callable(),
            Self::Signal { name, object } => sink.signal(name.as_str().into(), *object),
            Self::Dictionary(dictionary) => {
                let entries = &dictionary.entries;
                let (key, value) = (dictionary.key.borrowed(), dictionary.value.borrowed());
                let mut open = sink.begin_dictionary(entries.len(), key, value)?;
                for (index, (key, value)) in entries.iter().enumerate() {
                    sink.begin_key(&mut open)?;
                    key.pour_at(sink, depth + 1).map_err(|error| error.inside(Step::KeyAt(index)))?;
                    sink.begin_value(&mut open)?;
                    value.pour_at(sink, depth + 1).map_err(|error| error.inside(key.as_step(index)))?;
                    sink.end_entry(&mut open)?;
                }
                sink.end_dictionary(open)
            }
            Self::Array(array) => {
                let mut open = sink.begin_array(array.values.len(), array.element.borrowed())?;
                let mut left = array.values.as_slice();
                while let Some((value, rest)) = left.split_first() {
                    let index = array.values.len() - left.len();
                    if depth < format::MAX_DEPTH && is_run(left) {
                        pour_run(&mut left, sink, &mut open).map_err(|error| {
                            // The one that was refused is the one that was taken last.
                            error.inside(Step::Index((array.values.len() - left.len()).saturating_sub(1)))
                        })?;
                        continue;
                    }
                    sink.begin_element(&mut open)?;
                    value.pour_at(sink, depth + 1).map_err(|error| error.inside(Step::Index(index)))?;
                    sink.end_element(&mut open)?;
                    left = rest;
                }
                sink.end_array(open)
            }
            Self::PackedByteArray(bytes) => {
                sink.packed(ty, Lanes { precision: Precision::Single, le: bytes })
            }
            Self::PackedInt32Array(values) => pour_packed(sink, ty, &le(values, |v| v.to_le_bytes())),
            Self::PackedInt64Array(values) => pour_packed(sink, ty, &le(values, |v| v.to_le_bytes())),
            Self::PackedFloat32Array(values) => pour_packed(sink, ty, &le(values, |v| v.to_le_bytes())),
            Self::PackedFloat64Array(values) => pour_packed(sink, ty, &le(values, |v| v.to_le_bytes())),
            Self::PackedColorArray(values) => {
                pour_packed(sink, ty, &le(values.as_flattened(), |v| v.to_le_bytes()))
            }
            Self::PackedStringArray(texts) => {
                let mut strings = sink.begin_strings(texts.len())?;
                texts.iter().try_for_each(|text| sink.string(&mut strings, text.as_str().into()))?;
                sink.end_strings(strings)
            }
            Self::PackedVector2Array(reals) => pour_packed_reals(sink, ty, reals),
            Self::PackedVector3Array(reals) => pour_packed_reals(sink, ty, reals),
            Self::PackedVector4Array(reals) => pour_packed_reals(sink, ty, reals),
        }
    }

    fn as_step(&self, index: usize) -> Step {
        match self {
            Self::String(text) | Self::StringName(text) => Step::text_key(text),
            Self::Int(int) => Step::int_key(*int),
            _ => Step::KeyAt(index),
        }
    }
}

impl Source for &Value {
    fn pour<S: Sink>(&mut self, sink: &mut S) -> Result<()> {
        self.pour_at(sink, 0)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<Vec<Value>> for Value {
    fn from(values: Vec<Value>) -> Self {
        Self::Array(Array { element: OwnedElementType::Untyped, values })
    }
}

impl From<Vec<(Value, Value)>> for Value {
    fn from(entries: Vec<(Value, Value)>) -> Self {
        Self::Dictionary(Dictionary { entries, ..Dictionary::default() })
    }
}

/// Whether the next two values are numbers of one type: that is worth a run.
#[inline(always)]
fn is_run(values: &[Value]) -> bool {
    matches!(values, [Value::Int(_), Value::Int(_), ..] | [Value::Float(_), Value::Float(_), ..])
}

/// Pours the values up to the next one of another type than the first, and takes them away.
#[inline(never)]
fn pour_run<S: Sink>(values: &mut &[Value], sink: &mut S, array: &mut S::Array) -> Result<()> {
    match values {
        [Value::Float(_), ..] => {
            let mut floats = std::iter::from_fn(|| {
                let (&Value::Float(float), rest) = values.split_first()? else { return None };
                *values = rest;
                Some(float)
            });
            sink.floats(array, &mut floats)
        }
        _ => {
            let mut ints = std::iter::from_fn(|| {
                let (&Value::Int(int), rest) = values.split_first()? else { return None };
                *values = rest;
                Some(int)
            });
            sink.ints(array, &mut ints)
        }
    }
}

fn texts(parts: &[String]) -> Vec<Text<'_>> {
    parts.iter().map(|part| part.as_str().into()).collect()
}

/// Values as little-endian bytes.
fn le<T: Copy, const W: usize>(values: &[T], bytes: impl Fn(T) -> [u8; W]) -> Vec<u8> {
    values.iter().flat_map(|&value| bytes(value)).collect()
}

fn pour_single<S: Sink>(sink: &mut S, ty: VariantType, le: &[u8]) -> Result<()> {
    sink.fixed(ty, Lanes { precision: Precision::Single, le })
}

fn pour_packed<S: Sink>(sink: &mut S, ty: VariantType, le: &[u8]) -> Result<()> {
    sink.packed(ty, Lanes { precision: Precision::Single, le })
}

/// Not inlined: the bytes would lie on the stack at each level of nesting.
#[inline(never)]
fn pour_reals<S: Sink, const N: usize>(sink: &mut S, ty: VariantType, reals: &Reals<N>) -> Result<()> {
    match reals {
        Reals::Single(lanes) => pour_single(sink, ty, lanes.map(f32::to_le_bytes).as_flattened()),
        Reals::Double(lanes) => {
            let le = lanes.map(f64::to_le_bytes);
            sink.fixed(ty, Lanes { precision: Precision::Double, le: le.as_flattened() })
        }
    }
}

fn pour_packed_reals<S: Sink, const N: usize>(
    sink: &mut S,
    ty: VariantType,
    reals: &PackedReals<N>,
) -> Result<()> {
    let (precision, le) = match reals {
        PackedReals::Single(elements) => (Precision::Single, le(elements.as_flattened(), f32::to_le_bytes)),
        PackedReals::Double(elements) => (Precision::Double, le(elements.as_flattened(), f64::to_le_bytes)),
    };
    sink.packed(ty, Lanes { precision, le: &le })
}

/// Reads little-endian components of `W` bytes.
fn from_le<T, const W: usize>(le: &[u8], read: fn([u8; W]) -> T) -> Vec<T> {
    le.as_chunks::<W>().0.iter().map(|bytes| read(*bytes)).collect()
}

/// Builds a [`Value`] from events.
///
/// The value that was completed last waits in `current` until its container takes it.
#[derive(Debug, Default)]
pub struct ValueBuilder {
    current: Value,
}

impl ValueBuilder {
    /// The value that was poured.
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
    fn begin_element(&mut self, _array: &mut Self::Array) -> Result<()> {
        Ok(())
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
    fn begin_key(&mut self, _dictionary: &mut Self::Dictionary) -> Result<()> {
        Ok(())
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
