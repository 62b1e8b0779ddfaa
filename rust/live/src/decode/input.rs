//! The input to decode.

use godot::builtin::{PackedByteArray, Variant};
use variant_codec::VariantType;
use variant_engine::{self as engine, Reader};

/// The bytes to decode. They are owned if scripts run meanwhile, because a script may change the caller's array.
/// Otherwise they are borrowed during the call, and no other thread may change them.
///
/// Jobs outlive the call, so they hold [`variant_engine::OwnedBytes`] instead of a borrowed input.
pub enum Input<'a> {
    /// Owned bytes, which nothing changes.
    Owned(PackedByteArray),
    /// Bytes borrowed from an owned reference, or from an argument of a call that runs no script.
    Shared(&'a PackedByteArray),
    /// The bytes of a Variant in a call that runs no script.
    InVariant(&'a Variant, &'a [u8]),
}

impl<'a> Input<'a> {
    /// The bytes of a Variant in a call that runs no script; `None` if it is not a PackedByteArray.
    #[inline(always)]
    pub fn of(reader: Reader, variant: &'a Variant) -> Option<Self> {
        (reader.ty(variant) == Some(VariantType::PackedByteArray))
            .then(|| Self::InVariant(variant, reader.packed(variant, VariantType::PackedByteArray).le))
    }

    /// The bytes.
    #[inline(always)]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Owned(bytes) => engine::bytes(bytes),
            Self::Shared(bytes) => engine::bytes(bytes),
            Self::InVariant(_, bytes) => bytes,
        }
    }

    pub(crate) fn with_packed<R>(&self, f: impl FnOnce(&PackedByteArray) -> R) -> R {
        match self {
            Self::Owned(bytes) => f(bytes),
            Self::Shared(bytes) => f(bytes),
            Self::InVariant(variant, _) => f(&variant.to()),
        }
    }

    pub(crate) fn to_packed(&self) -> PackedByteArray {
        match self {
            Self::Owned(bytes) => bytes.clone(),
            Self::Shared(bytes) => (*bytes).clone(),
            Self::InVariant(variant, _) => variant.to(),
        }
    }
}
