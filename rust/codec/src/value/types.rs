//! [`Value`] and its parts.

use crate::events::ElementType;
use crate::format::VariantType;

/// `N` components of the engine's `real_t`, in the width that was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reals<const N: usize> {
    /// Components of 32 bits each.
    Single([f32; N]),
    /// Components of 64 bits each, from a build with `precision=double`.
    Double([f64; N]),
}

/// Elements of `N` components of the engine's `real_t`, in the width that was read.
#[derive(Clone, Debug, PartialEq)]
pub enum PackedReals<const N: usize> {
    /// Components of 32 bits each.
    Single(Vec<[f32; N]>),
    /// Components of 64 bits each, from a build with `precision=double`.
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
    pub(super) fn borrowed(&self) -> ElementType<'_> {
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
    /// The declared type of the elements.
    pub element: OwnedElementType,
    /// The elements.
    pub values: Vec<Value>,
}

/// A Dictionary, plain or typed. Entries keep their order; equal keys are not merged.
///
/// ```
/// use variant_codec::Dictionary;
///
/// let mut player = Dictionary::from_iter([("name", "Ada")]);
/// player.insert("hp", 87);
/// assert_eq!(player["hp"].as_i64(), Some(87));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dictionary {
    /// The declared type of the keys.
    pub key: OwnedElementType,
    /// The declared type of the values.
    pub value: OwnedElementType,
    /// Keys and values.
    pub entries: Vec<(Value, Value)>,
}

/// A NodePath in parts.
///
/// ```
/// let path: variant_codec::NodePath = "/root/Player:position:x".parse()?;
/// assert_eq!((path.names.len(), path.subnames.len()), (2, 2));
/// assert_eq!(path.to_string(), "/root/Player:position:x");
/// # Ok::<(), variant_codec::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodePath {
    /// Whether the path starts at the root.
    pub absolute: bool,
    /// The names of nodes.
    pub names: Vec<String>,
    /// The names of properties, after the colons.
    pub subnames: Vec<String>,
}

/// An object, as encoded.
///
/// ```
/// use variant_codec::{Limits, Object, Value};
///
/// let properties = vec![("name".into(), "Ada".into())];
/// let player = Value::from(Object::Full { class: "Resource".into(), properties });
/// let bytes = player.encode()?;
/// assert!(Value::decode(&bytes, &Limits::for_network()).is_err());
/// let trusted = Limits { allow_objects: true, ..Limits::for_save_files() };
/// assert_eq!(Value::decode(&bytes, &trusted)?["name"].as_str(), Some("Ada"));
/// # Ok::<(), variant_codec::Error>(())
/// ```
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

/// Any value of Godot 4's format.
///
/// Floats compare as in Rust: NaN differs from itself. To test for identity, compare encoded bytes.
///
/// ```
/// use variant_codec::{Limits, Reals, Value};
///
/// let player = Value::from_iter([
///     ("name", Value::from("Ada")),
///     ("hp", Value::from(87)),
///     ("position", Value::Vector2(Reals::Single([3.0, 4.0]))),
/// ]);
/// let bytes = player.encode()?;
/// let read = Value::decode(&bytes, &Limits::for_network())?;
/// match &read["position"] {
///     Value::Vector2(Reals::Single([x, y])) => assert_eq!((*x, *y), (3.0, 4.0)),
///     other => panic!("a position of type {}", other.ty()),
/// }
/// # Ok::<(), variant_codec::Error>(())
/// ```
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
    /// The x and y of the position, then of the size.
    Rect2(Reals<4>),
    /// The x and y of the position, then of the size.
    Rect2i([i32; 4]),
    Vector3(Reals<3>),
    Vector3i([i32; 3]),
    /// The columns: x axis, y axis, origin.
    Transform2D(Reals<6>),
    Vector4(Reals<4>),
    Vector4i([i32; 4]),
    /// The x, y and z of the normal, then the distance.
    Plane(Reals<4>),
    Quaternion(Reals<4>),
    /// The x, y and z of the position, then of the size.
    Aabb(Reals<6>),
    /// The rows. The first row holds the x components of the three axes.
    Basis(Reals<9>),
    /// The basis as in [`Value::Basis`], then the origin.
    Transform3D(Reals<12>),
    /// The columns.
    Projection(Reals<16>),
    Color([f32; 4]),
    StringName(String),
    NodePath(NodePath),
    Rid(u64),
    Object(Object),
    /// A Callable. The format keeps only the type.
    Callable,
    Signal {
        /// The signal's name.
        name: String,
        /// The instance id of the signal's object.
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

macro_rules! types {
    ($($name:ident)*) => {
        impl Value {
            /// The value's type.
            pub fn ty(&self) -> VariantType {
                match self {
                    $(Self::$name { .. } => VariantType::$name,)*
                }
            }
        }
    };
}

types! {
    Nil Bool Int Float String Vector2 Vector2i Rect2 Rect2i Vector3 Vector3i Transform2D Vector4 Vector4i Plane Quaternion Aabb Basis
    Transform3D Projection Color StringName NodePath Rid Object Callable Signal Dictionary Array PackedByteArray PackedInt32Array
    PackedInt64Array PackedFloat32Array PackedFloat64Array PackedStringArray PackedVector2Array PackedVector3Array PackedColorArray
    PackedVector4Array
}
