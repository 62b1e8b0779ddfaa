//! The documented access path, which reads values and makes Strings. `probe.rs` verifies facts about memory
//! against it.

use godot::builtin::{GString, Variant};
use godot::sys::{self, GodotFfi, interface_fn};
use variant_codec::VariantType;
use variant_codec::format::BOM;

use crate::interface::{TypePtr, interface, variant_ptr};

pub(crate) fn element_address(array: &Variant, index: usize) -> usize {
    // SAFETY: all callers pass an Array.
    unsafe {
        let payload = interface().payload(array, VariantType::Array);
        interface_fn!(array_operator_index_const)(payload, index as i64) as usize
    }
}

pub(crate) fn value_address(dictionary: &Variant, key: &Variant) -> usize {
    // SAFETY: all callers pass a Dictionary with this key.
    unsafe {
        let payload = interface().payload(dictionary, VariantType::Dictionary);
        interface_fn!(dictionary_operator_index_const)(payload, variant_ptr(key)) as usize
    }
}

/// A pointer to a String's first code unit, and the count.
#[inline(always)]
pub(crate) fn documented_units(string: &GString) -> (*const u32, usize) {
    let string = string.sys().cast::<sys::__GdextString>();
    // SAFETY: `string` is a live String; without a buffer, the first function only counts.
    let (count, first) = unsafe {
        (
            interface_fn!(string_to_utf32_chars)(string, std::ptr::null_mut(), 0),
            interface_fn!(string_operator_index_const)(string, 0),
        )
    };
    if count <= 0 || first.is_null() { (std::ptr::null(), 0) } else { (first.cast(), count as usize) }
}

/// A pointer to a packed array's first element, and the count.
///
/// # Safety
/// - `array` points to a live packed array of type `ty`.
#[inline(always)]
pub(crate) unsafe fn documented_elements(array: TypePtr, ty: VariantType) -> (*const u8, usize) {
    use VariantType as T;
    // SAFETY: `array` is a live packed array of type `ty` (`# Safety`).
    let count = unsafe { interface().size(array, ty) };
    if count == 0 {
        return (std::ptr::null(), 0);
    }
    let array = array.cast_const();
    // SAFETY: each function is the one for `ty`, the type of the array (`# Safety`), and the array is not empty.
    let first = unsafe {
        match ty {
            T::PackedByteArray => interface_fn!(packed_byte_array_operator_index_const)(array, 0).cast(),
            T::PackedInt32Array => interface_fn!(packed_int32_array_operator_index_const)(array, 0).cast(),
            T::PackedInt64Array => interface_fn!(packed_int64_array_operator_index_const)(array, 0).cast(),
            T::PackedFloat32Array => {
                interface_fn!(packed_float32_array_operator_index_const)(array, 0).cast()
            }
            T::PackedFloat64Array => {
                interface_fn!(packed_float64_array_operator_index_const)(array, 0).cast()
            }
            T::PackedStringArray => {
                interface_fn!(packed_string_array_operator_index_const)(array, 0).cast::<u8>().cast_const()
            }
            T::PackedVector2Array => {
                interface_fn!(packed_vector2_array_operator_index_const)(array, 0).cast::<u8>().cast_const()
            }
            T::PackedVector3Array => {
                interface_fn!(packed_vector3_array_operator_index_const)(array, 0).cast::<u8>().cast_const()
            }
            T::PackedVector4Array => {
                interface_fn!(packed_vector4_array_operator_index_const)(array, 0).cast::<u8>().cast_const()
            }
            T::PackedColorArray => {
                interface_fn!(packed_color_array_operator_index_const)(array, 0).cast::<u8>().cast_const()
            }
            _ => unreachable!("{ty} is no packed array"),
        }
    };
    (first, count)
}

pub(crate) fn documented_string(text: &str) -> GString {
    // The engine's UTF-8 conversion would drop a byte-order mark.
    if text.starts_with(BOM) {
        let units: Vec<u32> = text.chars().map(u32::from).collect();
        return string_of_units(&units);
    }
    // SAFETY: the pointer and the length describe `text`, which the engine copies.
    unsafe {
        GString::new_with_uninit(|place| {
            interface_fn!(string_new_with_utf8_chars_and_len2)(
                place.cast(),
                text.as_ptr().cast(),
                text.len() as i64,
            );
        })
    }
}

pub(crate) fn string_of_units(units: &[u32]) -> GString {
    // SAFETY: the pointer and the length describe `units`, which the engine copies.
    unsafe {
        GString::new_with_uninit(|place| {
            interface_fn!(string_new_with_utf32_chars_and_len)(
                place.cast(),
                units.as_ptr().cast(),
                units.len() as i64,
            );
        })
    }
}
