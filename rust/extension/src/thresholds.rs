//! Sizes at which the work is done in another way, as measured.

use variant_codec::VariantType;
use variant_engine::is_debug_build;

/// Packed arrays from this size on are left to the engine where it is as fast.
pub const LARGE_BYTES: usize = 1 << 16;
/// No value that `Live::is_small` takes more.
pub const SMALL_BYTES: usize = 136;
/// What a thread does at a time, in encoded bytes.
pub const PART_BYTES: usize = 1 << 16;

/// Whether the engine handles large packed arrays of this type at the speed of memory, without filling them first, as
/// extensions must. Debug builds handle them element by element.
pub fn engine_is_as_fast(ty: VariantType) -> bool {
    use VariantType as T;
    let plain = matches!(
        ty,
        T::PackedByteArray
            | T::PackedInt32Array
            | T::PackedInt64Array
            | T::PackedFloat32Array
            | T::PackedFloat64Array
    );
    plain && !is_debug_build()
}
