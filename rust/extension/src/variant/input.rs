//! What is decoded, and how.

use godot::builtin::{PackedByteArray, Variant};
use variant_codec::{Limits, Strictness, VariantType};
use variant_engine::{self as engine, Reader};

use super::keys::KeyCache;

/// What is decoded: by a handle of our own where scripts run meanwhile, which may change what the caller holds; otherwise
/// borrowed for as long as the call lasts, during which other threads keep away from it, as from all that threads share.
///
/// What outlives the call has [`variant_engine::OwnedBytes`]: no lifetime of a borrowed input reaches a job.
pub enum Input<'a> {
    /// Bytes that nobody changes, since this handle is of our own.
    Owned(PackedByteArray),
    /// Those of a handle that somebody else holds: one of our own, or an argument of a call that runs no script.
    Shared(&'a PackedByteArray),
    /// Those of a Variant in a call that runs no script.
    InVariant(&'a Variant, &'a [u8]),
}

impl<'a> Input<'a> {
    /// The bytes of a Variant in a call that runs no script, `None` if it holds none.
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

    /// Calls `f` with a handle to them.
    pub fn with_packed<R>(&self, f: impl FnOnce(&PackedByteArray) -> R) -> R {
        match self {
            Self::Owned(bytes) => f(bytes),
            Self::Shared(bytes) => f(bytes),
            Self::InVariant(variant, _) => f(&variant.to()),
        }
    }

    /// A handle to them.
    pub fn to_packed(&self) -> PackedByteArray {
        match self {
            Self::Owned(bytes) => bytes.clone(),
            Self::Shared(bytes) => (*bytes).clone(),
            Self::InVariant(variant, _) => variant.to(),
        }
    }
}

/// What is decoded, how, and what is kept from value to value.
pub struct Reading<'r> {
    /// The bytes.
    pub input: &'r Input<'r>,
    /// What is accepted.
    pub strictness: Strictness,
    /// How much is.
    pub limits: &'r Limits,
    /// Worth keeping from value to value, on one thread and for one call.
    pub keys: &'r mut KeyCache,
}
