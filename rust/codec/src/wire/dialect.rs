//! The versions of the format: the types of each, their ids, and the few differences in payloads.
//!
//! | | Godot 4 | Godot 3 |
//! |---|---|---|
//! | types | 39 | 27, most with other ids; the same payloads |
//! | reals of 64 bits, typed containers | header flags | none: these header bits mean nothing |
//! | RID | a u64 | nothing |
//! | text | UTF-8 | also UTF-8 with surrogates, in pairs as Windows builds write them, and some overlong forms |
//! | NodePath without names, absolute | stays absolute | read as the empty path |
//! | objects with properties | classes of Godot 4, scripts by path | classes of Godot 3, scripts by source |
//! | old writers | | leave padding uninitialised (before 3.0.3, 3.1.2), write every int in 8 bytes (3.0) |
//!
//! ```
//! use variant_codec::VariantType;
//! use variant_codec::dialect::{Dialect, Godot3, Godot4};
//!
//! // A Dictionary has another id in each.
//! assert_eq!(Godot4::type_of(27), Some(VariantType::Dictionary));
//! assert_eq!(Godot3::type_of(18), Some(VariantType::Dictionary));
//! ```

use std::borrow::Cow;
use std::fmt::Debug;
use std::ops::Deref;

use crate::changes::{Change, Loss, add_change};
use crate::error::ErrorKind;
use crate::format::{self, Shape, VariantType};
use crate::utf8;

/// A version of the format, which [`Decoder`](crate::stream::Decoder) reads and
/// [`Encoder`](crate::stream::Encoder) writes. Each version is a type, so that the compiler specialises the
/// code for it.
pub trait Dialect: Clone + Debug + Default + 'static {
    /// Whether header bits mark 64-bit reals and typed containers, and whether RIDs have an id.
    const HAS_FLAGS: bool;
    /// Whether some writers leave garbage in padding and write small ints in 8 bytes.
    const HAS_CARELESS_WRITERS: bool;
    /// Whether text may need conversion to become UTF-8.
    const HAS_LENIENT_TEXT: bool;
    /// Whether an object's class and properties have a meaning in Godot 4.
    const HAS_CLASSES: bool;
    /// The payload size in bytes of each type that may form a run, indexed by type id and then by whether the
    /// header has [`format::FLAG_64`]; 0 for other types.
    const RUN_BYTES: [[u8; 2]; 256];
    /// The size in bytes of a value, header included, indexed by type id and then by whether the header has
    /// [`format::FLAG_64`]; 0 for types without a fixed size and for unknown ids.
    const FIXED_BYTES: [[u8; 2]; 256];
    /// The type of decoded text.
    type Text<'a>: Deref<Target = str>;

    /// The type with this id.
    fn type_of(id: u8) -> Option<VariantType>;
    /// The id of this type.
    fn id_of(ty: VariantType) -> Option<u8>;
    /// The header bits that are defined for a type, its id included.
    fn header_mask(ty: VariantType) -> u32;
    /// The error for an unknown id.
    fn unknown_type(id: u8) -> ErrorKind;
    /// Decodes text.
    ///
    /// # Errors
    /// Fails if the bytes are not text or Godot 4 cannot hold the text.
    fn text<'a>(&mut self, bytes: &'a [u8]) -> Result<Self::Text<'a>, ErrorKind>;
    /// Whether a Dictionary may replace an object with properties. If so, counts the replacement.
    fn replaces_object(&mut self) -> bool;
}

/// Godot 4, from 4.0 on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Godot4;

impl Dialect for Godot4 {
    const HAS_FLAGS: bool = true;
    const HAS_CARELESS_WRITERS: bool = false;
    const HAS_LENIENT_TEXT: bool = false;
    const HAS_CLASSES: bool = true;
    const RUN_BYTES: [[u8; 2]; 256] = run_bytes(&VariantType::ALL);
    const FIXED_BYTES: [[u8; 2]; 256] = fixed_bytes(&VariantType::ALL, true);
    type Text<'a> = &'a str;

    #[inline(always)]
    fn type_of(id: u8) -> Option<VariantType> {
        VariantType::from_id(id)
    }

    #[inline(always)]
    fn id_of(ty: VariantType) -> Option<u8> {
        Some(ty.id())
    }

    #[inline(always)]
    fn header_mask(ty: VariantType) -> u32 {
        ty.header_mask()
    }

    fn unknown_type(id: u8) -> ErrorKind {
        ErrorKind::UnknownType(id)
    }

    #[inline(always)]
    fn text<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a str, ErrorKind> {
        simdutf8::basic::from_utf8(bytes).map_err(|_| ErrorKind::InvalidUtf8)
    }

    fn replaces_object(&mut self) -> bool {
        false
    }
}

/// Godot 3, from 3.0 on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Godot3 {
    /// Whether the nearest equivalent replaces a value that Godot 4 cannot hold; if not, the value is an
    /// error.
    pub loss: Loss,
    /// The replacements made.
    pub changes: Vec<Change>,
}

/// The types of Godot 3 under their names in Godot 4, indexed by id.
pub const GODOT3_TYPES: [VariantType; 27] = {
    use VariantType as T;
    [
        T::Nil,
        T::Bool,
        T::Int,
        T::Float,
        T::String,
        T::Vector2,
        T::Rect2,
        T::Vector3,
        T::Transform2D,
        T::Plane,
        T::Quaternion,
        T::Aabb,
        T::Basis,
        T::Transform3D,
        T::Color,
        T::NodePath,
        T::Rid,
        T::Object,
        T::Dictionary,
        T::Array,
        T::PackedByteArray,
        T::PackedInt32Array,
        T::PackedFloat32Array,
        T::PackedStringArray,
        T::PackedVector2Array,
        T::PackedVector3Array,
        T::PackedColorArray,
    ]
};

/// The id of each type in Godot 3, indexed by its id in Godot 4.
const GODOT3_IDS: [Option<u8>; VariantType::COUNT] = {
    let mut ids = [None; VariantType::COUNT];
    let mut id = 0;
    while id < GODOT3_TYPES.len() {
        ids[GODOT3_TYPES[id].id() as usize] = Some(id as u8);
        id += 1;
    }
    ids
};

impl Dialect for Godot3 {
    const HAS_FLAGS: bool = false;
    const HAS_CARELESS_WRITERS: bool = true;
    const HAS_LENIENT_TEXT: bool = true;
    const HAS_CLASSES: bool = false;
    const RUN_BYTES: [[u8; 2]; 256] = run_bytes(&GODOT3_TYPES);
    const FIXED_BYTES: [[u8; 2]; 256] = fixed_bytes(&GODOT3_TYPES, false);
    type Text<'a> = Cow<'a, str>;

    #[inline(always)]
    fn type_of(id: u8) -> Option<VariantType> {
        GODOT3_TYPES.get(usize::from(id)).copied()
    }

    #[inline(always)]
    fn id_of(ty: VariantType) -> Option<u8> {
        GODOT3_IDS[usize::from(ty.id())]
    }

    #[inline(always)]
    fn header_mask(ty: VariantType) -> u32 {
        match ty.shape() {
            Shape::Int | Shape::Float | Shape::Object => format::TYPE_MASK | format::FLAG_64,
            _ => format::TYPE_MASK,
        }
    }

    fn unknown_type(id: u8) -> ErrorKind {
        ErrorKind::UnknownGodot3Type(id)
    }

    #[inline]
    fn text<'a>(&mut self, bytes: &'a [u8]) -> Result<Cow<'a, str>, ErrorKind> {
        if let Ok(text) = simdutf8::basic::from_utf8(bytes) {
            return Ok(text.into());
        }
        let (text, replaced) = utf8::from_lenient(bytes, self.loss.is_accepted())?;
        if replaced > 0 {
            add_change(&mut self.changes, Change { from: "no character", to: "U+FFFD", count: replaced });
        }
        Ok(text.into())
    }

    fn replaces_object(&mut self) -> bool {
        if self.loss.is_accepted() {
            add_change(&mut self.changes, Change { from: "Object", to: "Dictionary", count: 1 });
        }
        self.loss.is_accepted()
    }
}

/// The table [`Dialect::RUN_BYTES`], computed from [`fixed_bytes`].
const fn run_bytes(types: &[VariantType]) -> [[u8; 2]; 256] {
    let mut bytes = fixed_bytes(types, true);
    let mut id = 0;
    while id < types.len() {
        bytes[id] = match types[id].shape() {
            Shape::Int | Shape::Float | Shape::Fixed(..) => [bytes[id][0] - 4, bytes[id][1] - 4],
            _ => [0; 2],
        };
        id += 1;
    }
    bytes
}

const fn fixed_bytes(types: &[VariantType], has_flags: bool) -> [[u8; 2]; 256] {
    let mut bytes = [[0; 2]; 256];
    let mut id = 0;
    while id < types.len() {
        bytes[id] = match types[id].shape() {
            Shape::Empty => [4, 4],
            Shape::Bool => [8, 8],
            Shape::Int | Shape::Float => [8, 12],
            Shape::Fixed(lane, count) => {
                [4 + (count * lane.width(false)) as u8, 4 + (count * lane.width(has_flags)) as u8]
            }
            Shape::Rid if has_flags => [12, 12],
            Shape::Rid => [4, 4],
            Shape::Object => [0, 12],
            _ => [0, 0],
        };
        id += 1;
    }
    bytes
}
