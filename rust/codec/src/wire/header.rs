//! The first word of a value.

use super::dialect::Dialect;
use crate::format::{ContainerKind, FLAG_64, KIND_SHIFT, TYPE_MASK, VALUE_KIND_SHIFT, VariantType};
use crate::lanes::Precision;

/// The header of a value: its type, and flags for its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The type.
    pub ty: VariantType,
    /// The header word; in Godot 3, without the bits that its readers ignore.
    pub bits: u32,
}

impl Header {
    /// The header with these bits; `None` if the type id is unknown.
    #[inline(always)]
    pub(crate) fn of<D: Dialect>(bits: u32) -> Option<Self> {
        let ty = D::type_of(bits as u8)?;
        Some(Self { ty, bits: if D::HAS_FLAGS { bits } else { bits & D::header_mask(ty) } })
    }

    /// Whether an int, a float or components of type `real_t` take 64 bits.
    #[inline(always)]
    pub fn is_wide(self) -> bool {
        self.bits & FLAG_64 != 0
    }

    /// [`Header::is_wide`] as a precision.
    #[inline(always)]
    pub fn precision(self) -> Precision {
        if self.is_wide() { Precision::Double } else { Precision::Single }
    }

    /// Whether an Object is an instance id, without class and properties.
    #[inline(always)]
    pub fn is_object_id(self) -> bool {
        self.is_wide()
    }

    /// The kind of an Array's element type, or of a Dictionary's key type.
    #[inline(always)]
    pub fn element_kind(self) -> ContainerKind {
        ContainerKind::of(self.bits, KIND_SHIFT)
    }

    /// The kind of a Dictionary's value type.
    #[inline(always)]
    pub fn value_kind(self) -> ContainerKind {
        ContainerKind::of(self.bits, VALUE_KIND_SHIFT)
    }
}

/// Headers of frequent values, in Godot 4.
pub(crate) mod bits {
    use super::{FLAG_64, VariantType};

    pub const NIL: u32 = VariantType::Nil.id() as u32;
    pub const BOOL: u32 = VariantType::Bool.id() as u32;
    pub const INT: u32 = VariantType::Int.id() as u32;
    pub const WIDE_INT: u32 = INT | FLAG_64;
    pub const FLOAT: u32 = VariantType::Float.id() as u32;
    pub const WIDE_FLOAT: u32 = FLOAT | FLAG_64;
    pub const STRING: u32 = VariantType::String.id() as u32;
    pub const STRING_NAME: u32 = VariantType::StringName.id() as u32;
}

/// The size in bytes of a value with this header, header included; 0 if its type has no fixed size.
#[inline(always)]
pub(crate) fn fixed_bytes<D: Dialect>(header: u32) -> usize {
    D::FIXED_BYTES[(header & TYPE_MASK) as usize][usize::from(header & FLAG_64 != 0)].into()
}

/// The payload size in bytes of a value with this header if the value may be part of a run; otherwise 0.
#[inline(always)]
pub(crate) fn run_bytes<D: Dialect>(header: u32) -> usize {
    D::RUN_BYTES[(header & TYPE_MASK) as usize][usize::from(header & FLAG_64 != 0)].into()
}
