//! The constants of Godot 4's format: type ids, header bits, padding, limits.
//!
//! ```text
//! header, u32 little-endian        31            20 19 18 17 16 15         8 7          0
//!                                  |   ignored     | flags     |  ignored   |  type id   |
//! flags   int, float, real_t types  bit 16        64-bit payload
//!         Object                    bit 16        payload is an instance id
//!         Array                     bits 16–17    kind of the element type
//!         Dictionary                bits 16–17    kind of the key type, bits 18–19 of the value type
//! text    u32 byte count, that many bytes of UTF-8, zeros up to a multiple of 4
//! ```

use crate::lanes::Precision;

/// The part of a header that holds the type id.
pub const TYPE_MASK: u32 = 0xFF;
/// Header flag: an 8-byte payload (int, float) or 8-byte components (types made of `real_t`).
pub const FLAG_64: u32 = 1 << 16;
/// Header flag of an Object: the payload is an instance id instead of class and properties.
pub const FLAG_OBJECT_AS_ID: u32 = 1 << 16;
/// Position of the kind of an Array's element type, and of a Dictionary's key type.
pub const KIND_SHIFT: u32 = 16;
/// Position of the kind of a Dictionary's value type.
pub const VALUE_KIND_SHIFT: u32 = 18;
/// Mask for the kind of a container type, after shifting.
pub const KIND_MASK: u32 = 0b11;
/// Mask for the count of an Array or Dictionary. Readers ignore the top bit, the unused "shared" bit.
pub const COUNT_MASK: u32 = 0x7FFF_FFFF;
/// Top bit of a NodePath's name count; clear in an old format that Godot 4 does not read.
pub const NODE_PATH_NEW_FORMAT: u32 = 0x8000_0000;
/// NodePath flag: the path starts at the root.
pub const NODE_PATH_ABSOLUTE: u32 = 1;
/// NodePath flag of old writers: the path has one more subname than its count says.
pub const NODE_PATH_EXTRA_SUBNAME: u32 = 2;
/// Offset of the first part's text in a NodePath: after the header, the counts of names and subnames, the flags, and
/// the length of the text.
pub const NODE_PATH_TEXT: usize = 20;
/// Offset of the elements in a packed array: after the header and the count.
pub const PACKED_ELEMENTS: usize = 8;
/// The deepest level that a value may have; the outermost value is at level 0.
pub const MAX_DEPTH: u32 = 1024;
/// The deepest nesting of containers in a Dictionary key. If a key is nested deeper, the engine prints an
/// error whenever it compares the key with another key of the same hash; beyond 100 levels, also whenever it
/// hashes the key.
pub const MAX_KEY_DEPTH: u32 = 49;
/// Size in bytes of the length prefix of a record in a batch; the prefix is a little-endian u32.
pub const FRAME_BYTES: usize = 4;
/// Maximum size of a value in bytes: the engine counts them in signed 32-bit integers.
pub const MAX_BYTES: usize = i32::MAX as usize;
/// The class that replaces every object if a reader does not allow objects. Typed containers of objects then
/// hold this class.
pub const ENCODED_OBJECT_AS_ID: &str = "EncodedObjectAsID";
/// The prefix of script paths, which lead into the project.
pub const SCRIPT_PATH_PREFIX: &str = "res://";
/// The byte-order mark, which readers drop once from the start of every text.
pub const BOM: &str = "\u{FEFF}";

/// The kind of a container's element type, stored in the header: it tells in which form the type follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ContainerKind {
    /// No type follows: elements are any Variant.
    Untyped = 0,
    /// A u32 type id follows.
    Builtin = 1,
    /// The text of a class name follows.
    Class = 2,
    /// The text of a script path follows.
    Script = 3,
}

impl ContainerKind {
    /// The kind at `shift` of a header.
    pub const fn of(header: u32, shift: u32) -> Self {
        match header >> shift & KIND_MASK {
            0 => Self::Untyped,
            1 => Self::Builtin,
            2 => Self::Class,
            _ => Self::Script,
        }
    }
}

/// The type of one component in a mathematical value or packed array element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// One byte.
    Byte,
    /// A signed 32-bit integer.
    Int32,
    /// A signed 64-bit integer.
    Int64,
    /// A 32-bit float, in every build of the engine.
    Float32,
    /// A 64-bit float, in every build of the engine.
    Float64,
    /// The engine's `real_t`: 32 bits, or 64 if header bit 16 is set.
    Real,
}

impl Lane {
    /// Bytes of one component. `wide` is header bit 16, which affects only `real_t`.
    pub const fn width(self, wide: bool) -> usize {
        match self {
            Self::Byte => 1,
            Self::Int32 | Self::Float32 => 4,
            Self::Int64 | Self::Float64 => 8,
            Self::Real => {
                if wide {
                    8
                } else {
                    4
                }
            }
        }
    }
}

/// The layout of a type's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Nothing: Nil and Callable.
    Empty,
    /// A u32, 0 or 1.
    Bool,
    /// An i32, or an i64 with [`FLAG_64`].
    Int,
    /// An f32, or an f64 with [`FLAG_64`].
    Float,
    /// Length-prefixed text.
    Text,
    /// This many components.
    Fixed(Lane, usize),
    /// The counts of names and subnames, flags, then texts.
    NodePath,
    /// A u64.
    Rid,
    /// An instance id, or class and properties.
    Object,
    /// Length-prefixed text, then a u64.
    Signal,
    /// Type descriptions, a count, then keys and values in turn.
    Dictionary,
    /// A type description, a count, then elements.
    Array,
    /// A count, then that many elements of this many components.
    Packed(Lane, usize),
    /// A count, then length-prefixed texts; each ends in a NUL that its length includes.
    PackedStrings,
}

impl Shape {
    /// Whether this is the layout of a packed array.
    pub const fn is_packed(self) -> bool {
        matches!(self, Self::Packed(..) | Self::PackedStrings)
    }

    /// Whether this is the layout of an Array or packed array.
    pub const fn is_list(self) -> bool {
        self.is_packed() || matches!(self, Self::Array)
    }
}

macro_rules! variant_types {
    ($($id:literal $name:ident $label:literal $shape:expr;)*) => {
        /// The types of Godot 4's Variant, with the ids that the wire uses.
        ///
        /// ```
        /// use variant_codec::VariantType;
        ///
        /// assert_eq!(VariantType::from_id(28), Some(VariantType::Array));
        /// assert_eq!(VariantType::Aabb.name(), "AABB");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum VariantType {
            $(#[doc = concat!("`", $label, "`, id ", $id)] $name = $id,)*
        }

        impl VariantType {
            /// Every type, indexed by its id.
            pub const ALL: [Self; VariantType::COUNT] = [$(Self::$name,)*];
            /// The number of types; ids from this number on are invalid.
            pub const COUNT: usize = [$($id,)*].len();

            /// The type's name as GDScript spells it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }

            /// The layout of the type's payload.
            pub const fn shape(self) -> Shape {
                match self { $(Self::$name => $shape,)* }
            }
        }
    };
}

variant_types! {
    0  Nil "Nil" Shape::Empty;
    1  Bool "bool" Shape::Bool;
    2  Int "int" Shape::Int;
    3  Float "float" Shape::Float;
    4  String "String" Shape::Text;
    5  Vector2 "Vector2" Shape::Fixed(Lane::Real, 2);
    6  Vector2i "Vector2i" Shape::Fixed(Lane::Int32, 2);
    7  Rect2 "Rect2" Shape::Fixed(Lane::Real, 4);
    8  Rect2i "Rect2i" Shape::Fixed(Lane::Int32, 4);
    9  Vector3 "Vector3" Shape::Fixed(Lane::Real, 3);
    10 Vector3i "Vector3i" Shape::Fixed(Lane::Int32, 3);
    11 Transform2D "Transform2D" Shape::Fixed(Lane::Real, 6);
    12 Vector4 "Vector4" Shape::Fixed(Lane::Real, 4);
    13 Vector4i "Vector4i" Shape::Fixed(Lane::Int32, 4);
    14 Plane "Plane" Shape::Fixed(Lane::Real, 4);
    15 Quaternion "Quaternion" Shape::Fixed(Lane::Real, 4);
    16 Aabb "AABB" Shape::Fixed(Lane::Real, 6);
    17 Basis "Basis" Shape::Fixed(Lane::Real, 9);
    18 Transform3D "Transform3D" Shape::Fixed(Lane::Real, 12);
    19 Projection "Projection" Shape::Fixed(Lane::Real, 16);
    20 Color "Color" Shape::Fixed(Lane::Float32, 4);
    21 StringName "StringName" Shape::Text;
    22 NodePath "NodePath" Shape::NodePath;
    23 Rid "RID" Shape::Rid;
    24 Object "Object" Shape::Object;
    25 Callable "Callable" Shape::Empty;
    26 Signal "Signal" Shape::Signal;
    27 Dictionary "Dictionary" Shape::Dictionary;
    28 Array "Array" Shape::Array;
    29 PackedByteArray "PackedByteArray" Shape::Packed(Lane::Byte, 1);
    30 PackedInt32Array "PackedInt32Array" Shape::Packed(Lane::Int32, 1);
    31 PackedInt64Array "PackedInt64Array" Shape::Packed(Lane::Int64, 1);
    32 PackedFloat32Array "PackedFloat32Array" Shape::Packed(Lane::Float32, 1);
    33 PackedFloat64Array "PackedFloat64Array" Shape::Packed(Lane::Float64, 1);
    34 PackedStringArray "PackedStringArray" Shape::PackedStrings;
    35 PackedVector2Array "PackedVector2Array" Shape::Packed(Lane::Real, 2);
    36 PackedVector3Array "PackedVector3Array" Shape::Packed(Lane::Real, 3);
    37 PackedColorArray "PackedColorArray" Shape::Packed(Lane::Float32, 4);
    38 PackedVector4Array "PackedVector4Array" Shape::Packed(Lane::Real, 4);
}

impl VariantType {
    /// The type with this id.
    #[inline(always)]
    pub const fn from_id(id: u8) -> Option<Self> {
        if (id as usize) < Self::COUNT { Some(Self::ALL[id as usize]) } else { None }
    }

    /// The type's id on the wire.
    #[inline(always)]
    pub const fn id(self) -> u8 {
        self as u8
    }

    /// Whether the components are `real_t`, whose width depends on the build of the engine.
    pub const fn is_real(self) -> bool {
        matches!(self.shape(), Shape::Fixed(Lane::Real, _) | Shape::Packed(Lane::Real, _))
    }

    /// The type of a packed array's elements; Nil for other types.
    pub const fn element(self) -> Self {
        match self {
            Self::PackedByteArray | Self::PackedInt32Array | Self::PackedInt64Array => Self::Int,
            Self::PackedFloat32Array | Self::PackedFloat64Array => Self::Float,
            Self::PackedStringArray => Self::String,
            Self::PackedVector2Array => Self::Vector2,
            Self::PackedVector3Array => Self::Vector3,
            Self::PackedColorArray => Self::Color,
            Self::PackedVector4Array => Self::Vector4,
            _ => Self::Nil,
        }
    }

    /// The size in bytes of all components of a value of [`Shape::Fixed`], or of one element of a packed
    /// array; 0 for other types.
    #[inline(always)]
    pub const fn lanes_bytes(self, precision: Precision) -> usize {
        let wide = matches!(precision, Precision::Double);
        match self.shape() {
            Shape::Fixed(lane, count) | Shape::Packed(lane, count) => count * lane.width(wide),
            _ => 0,
        }
    }

    /// The header bits that are defined for this type, its id included.
    pub const fn header_mask(self) -> u32 {
        TYPE_MASK
            | match self.shape() {
                Shape::Int | Shape::Float | Shape::Object => FLAG_64,
                _ if self.is_real() => FLAG_64,
                Shape::Array => KIND_MASK << KIND_SHIFT,
                Shape::Dictionary => KIND_MASK << KIND_SHIFT | KIND_MASK << VALUE_KIND_SHIFT,
                _ => 0,
            }
    }
}

impl std::fmt::Display for VariantType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The number of zeros that follow `bytes` bytes of text or raw data, 0 to 3.
#[inline(always)]
pub const fn padding(bytes: usize) -> usize {
    bytes.wrapping_neg() & 3
}

/// The size of `bytes` bytes and their padding.
#[inline(always)]
pub const fn padded(bytes: usize) -> usize {
    bytes.saturating_add(padding(bytes))
}
