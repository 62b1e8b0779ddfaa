//! How the engine holds values of each type: what its documentation and the choice of precision say.

use variant_codec::VariantType;
use variant_codec::format::{Lane, Shape};
use variant_codec::stream::Precision;

#[cfg(target_endian = "big")]
compile_error!(
    "components are copied between memory and wire as they are, which needs a little-endian machine"
);

/// The precision of the engine that this library is for.
pub const PRECISION: Precision = if cfg!(feature = "double") { Precision::Double } else { Precision::Single };

/// Whether a Variant holds values of this type itself.
#[inline(always)]
pub(crate) const fn is_inline(ty: VariantType) -> bool {
    !is_boxed(ty) && !matches!(ty.shape(), Shape::Packed(..) | Shape::PackedStrings | Shape::Object)
}

/// Whether values of this type are boxed: too large for a Variant, which points to them.
#[inline(always)]
pub(crate) const fn is_boxed(ty: VariantType) -> bool {
    use VariantType as T;
    matches!(ty, T::Transform2D | T::Aabb | T::Basis | T::Transform3D | T::Projection)
}

/// How many bytes the components of such a type take, if a Variant holds them itself.
#[inline(always)]
pub const fn run_bytes(ty: VariantType) -> Option<usize> {
    match ty.shape() {
        Shape::Fixed(lane, count) if is_inline(ty) => {
            Some(count * lane.width(matches!(PRECISION, Precision::Double)))
        }
        _ => None,
    }
}

/// How many bytes a value of this type has, if a Variant holds it itself and it needs no destructor.
#[inline(always)]
pub(crate) fn plain_bytes(ty: VariantType) -> Option<usize> {
    match ty.shape() {
        Shape::Int | Shape::Float => Some(8),
        _ => run_bytes(ty),
    }
}

/// Whether a lane of packed arrays is copied as it is.
pub(crate) fn is_same_width(lane: Lane, precision: Precision) -> bool {
    lane != Lane::Real || precision == PRECISION
}
