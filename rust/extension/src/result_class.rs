//! FastVariantResult: a value, or the reason why there is none.

use godot::builtin::{GString, PackedInt32Array, Variant};
use godot::obj::Gd;
use godot::prelude::{GodotClass, godot_api};
use variant_codec::Error;

use crate::error_code::ErrorCode;

/// What a [code]try_[/code] method of [FastVariantCodec] gives: a value, or the reason why there is none.
///
/// ```gdscript
/// var bytes := PackedByteArray([2, 0, 0, 0])
/// var result := FastVariantCodec.try_decode(bytes)
/// if not result.is_ok():
///     print("%s (byte %d)" % [result.message, result.offset])
/// ```
#[derive(GodotClass)]
#[class(no_init, base=RefCounted)]
pub struct FastVariantResult {
    /// The value: what was decoded, or the encoded bytes. [code]null[/code] where the call failed.
    #[var(no_set)]
    value: Variant,
    /// Why the call failed; [constant FastVariantCodec.OK] where it did not.
    #[var(get = get_error_code, no_set)]
    error: ErrorCode,
    /// Why the call failed, as a sentence; empty where it did not.
    #[var(no_set)]
    message: GString,
    /// The byte where reading failed, or where the value ended. When encoding, the number of bytes written.
    #[var(no_set)]
    offset: i64,
    /// The place in the value where the call failed, like [code][3]."hp"[/code]; empty for the value itself.
    #[var(no_set)]
    path: GString,
    /// How many bytes were read: of a batch, those of its good records; otherwise 0 where the call failed.
    #[var(no_set)]
    bytes_read: i64,
    /// The indexes of the items of a batch that failed.
    #[var(no_set)]
    failed: PackedInt32Array,
}

#[godot_api]
impl FastVariantResult {
    /// Whether there is a value.
    #[func]
    fn is_ok(&self) -> bool {
        self.error == ErrorCode::Ok
    }

    /// The property [member error]; [method get_error] is about an item.
    #[func]
    fn get_error_code(&self) -> ErrorCode {
        self.error
    }

    /// Why the item of a batch at this [param index] failed; empty for one that did not.
    #[func]
    fn get_error(&self, index: i64) -> GString {
        let failed = self.failed.as_slice().iter().any(|failed| i64::from(*failed) == index);
        if failed { self.message.clone() } else { GString::new() }
    }
}

impl FastVariantResult {
    /// The result of reading `value` from the bytes between `start` and `end`.
    pub fn decoded(value: Variant, start: usize, end: usize) -> Gd<Self> {
        Self::ok(value, end as i64, (end - start) as i64)
    }

    /// The result of writing so many bytes, which are `value`.
    pub fn encoded(value: Variant, bytes: usize) -> Gd<Self> {
        Self::ok(value, bytes as i64, 0)
    }

    fn ok(value: Variant, offset: i64, bytes_read: i64) -> Gd<Self> {
        Gd::from_object(Self {
            value,
            error: ErrorCode::Ok,
            message: GString::new(),
            offset,
            path: GString::new(),
            bytes_read,
            failed: PackedInt32Array::new(),
        })
    }

    /// The result of a call that failed.
    pub fn failed(error: &Error) -> Gd<Self> {
        Gd::from_object(Self {
            value: Variant::nil(),
            error: ErrorCode::from(error),
            message: GString::from(&error.to_string()),
            offset: error.offset().map_or(0, |offset| offset as i64),
            path: GString::from(&error.path()),
            bytes_read: 0,
            failed: PackedInt32Array::new(),
        })
    }

    /// The result of a batch of which the item at `index` is bad; `value` holds the ones before, up to the byte `end`.
    pub fn decoded_in_part(value: Variant, end: usize, index: usize, error: &Error) -> Gd<Self> {
        let mut result = Self::failed(error);
        {
            let mut fields = result.bind_mut();
            fields.value = value;
            fields.bytes_read = end as i64;
            fields.failed = PackedInt32Array::from(&[i32::try_from(index).unwrap_or(i32::MAX)]);
            fields.message = GString::from(&format!("record {index}: {error}"));
        }
        result
    }
}
