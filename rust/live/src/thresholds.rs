//! Measured sizes at which encoding and decoding change their strategy.

use variant_codec::VariantType;
use variant_engine::is_debug_build;

/// The size in bytes from which the engine itself encodes and decodes packed arrays of a type, if
/// [`engine_is_as_fast`] is true for it.
pub const LARGE_BYTES: usize = 1 << 16;
/// The maximum encoded size of a value for which `Live::is_small` is true.
pub const SMALL_BYTES: usize = 136;
/// The size of a part, in encoded bytes. Two threads take, in ms (`cargo xtask bench`): with parts of 32 KiB,
/// entities 6.1, twitter 0.36, canada 1.07; with parts of 64 KiB, entities 5.4, twitter 0.29, canada 0.77.
pub const PART_BYTES: usize = 1 << 16;

/// Whether the engine copies large packed arrays of this type at memory speed. Debug builds of the engine
/// copy them element by element. Unlike the engine, an extension must zero the new array first. Its `resize`
/// and copy reach 0.7 × the engine's speed in release builds, and 3 × in debug builds
/// (`cargo xtask bench Packed`).
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
