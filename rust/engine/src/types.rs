//! How the engine stores values of each type, as documented. This depends on its precision.

use variant_codec::VariantType;
use variant_codec::format::{Lane, Shape};
use variant_codec::stream::Precision;

const _: () = assert!(
    cfg!(target_endian = "little"),
    "components are copied between memory and wire as they are, which needs a little-endian machine"
);

/// The precision of the engine this library is built for.
pub const PRECISION: Precision = if cfg!(feature = "double") { Precision::Double } else { Precision::Single };

/// Whether a Variant holds values of this type in its payload.
#[inline(always)]
pub(crate) const fn is_inline(ty: VariantType) -> bool {
    !is_boxed(ty) && !ty.shape().is_packed() && !matches!(ty.shape(), Shape::Object)
}

/// Whether values of this type are boxed: too large for a Variant, which points to them.
#[inline(always)]
pub(crate) const fn is_boxed(ty: VariantType) -> bool {
    use VariantType as T;
    matches!(ty, T::Transform2D | T::Aabb | T::Basis | T::Transform3D | T::Projection)
}

/// The size in bytes of the components of a math type, if a Variant holds them in its payload.
#[inline(always)]
pub const fn run_bytes(ty: VariantType) -> Option<usize> {
    match ty.shape() {
        Shape::Fixed(lane, count) if is_inline(ty) => {
            Some(count * lane.width(matches!(PRECISION, Precision::Double)))
        }
        _ => None,
    }
}

/// The size in bytes of a number or math type, if a Variant holds it in its payload; `None` for other types.
#[inline(always)]
pub(crate) fn plain_bytes(ty: VariantType) -> Option<usize> {
    match ty.shape() {
        Shape::Int | Shape::Float => Some(8),
        _ => run_bytes(ty),
    }
}

/// Whether components of this kind and precision are copied without conversion.
pub(crate) fn is_same_width(lane: Lane, precision: Precision) -> bool {
    lane != Lane::Real || precision == PRECISION
}
