//! The methods of FastVariantCodec that compare and change values.

use godot::builtin::{Array, PackedByteArray, Variant};
use godot::meta::ToGodot;
use godot::obj::Gd;
use godot::prelude::{VarDictionary, godot_api};
use variant_codec::Result;

use super::arguments::{OptionalLimits, strict_limits};
use super::codec_class::FastVariantCodec;
use super::guard::guard;
use super::report;
use super::result_class::FastVariantResult;
use crate::compare;

#[godot_api(secondary)]
impl FastVariantCodec {
    /// Returns what must change in [param old] to make [param new] of it: a patch for [method patch]. It is an encoded value of
    /// plain containers itself; [code]docs/patch.md[/code] describes it.
    ///
    /// ```gdscript
    /// var before := {"name": "Ada", "hp": 87}
    /// var change := FastVariantCodec.diff(before, {"name": "Ada", "hp": 86})
    /// var after: Dictionary = FastVariantCodec.patch(before, change).value
    /// ```
    ///
    /// Elements that were added to an Array or removed from it are found, as far as a bounded search goes. Objects are compared by
    /// instance id. If a value cannot be encoded exactly, see [method try_encode], the result is empty and one error is
    /// printed.
    #[func]
    fn diff(old: Variant, new: Variant) -> PackedByteArray {
        guard("FastVariantCodec.diff", || or_report("FastVariantCodec.diff", compare::diff(&old, &new)))
    }

    /// Returns the patch that makes the value encoded in [param new] of the one in [param old], as [method diff] does. Nothing is decoded.
    ///
    /// The bytes are read strictly, within [param limits]; the default is [method FastVariantLimits.for_save_files]. If they
    /// cannot be read, the result is empty and one error is printed.
    #[func]
    fn diff_bytes(
        old: PackedByteArray,
        new: PackedByteArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> PackedByteArray {
        guard("FastVariantCodec.diff_bytes", || {
            let patch = compare::diff_bytes(&old, &new, &strict_limits(limits));
            or_report("FastVariantCodec.diff_bytes", patch)
        })
    }

    /// Returns the value that [param patch], made by [method diff], makes of [param value], or an error. [param value] does not
    /// change. Prints nothing.
    ///
    /// Keys are in the order that they had in the new value. A patch that does not fit the value is an error,
    /// [constant BAD_PATCH], with the path to the place. A patch from a stranger can make any value that [param limits] allow;
    /// the default is [method FastVariantLimits.for_save_files]. They hold for the old and the new value. Objects in the new value
    /// are [EncodedObjectAsID]s, as after [method decode].
    #[func]
    fn patch(
        value: Variant,
        patch: PackedByteArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantCodec.patch", || match compare::patch(&value, &patch, &strict_limits(limits)) {
            Ok(built) => FastVariantResult::decoded(built.give(), 0, patch.len()),
            Err(error) => FastVariantResult::failed(&error),
        })
    }

    /// Returns the bytes of the value that [param patch] makes of the one encoded in [param value], as [method patch] does with the
    /// same [param limits]. Nothing is decoded. Prints nothing.
    #[func]
    fn patch_bytes(
        value: PackedByteArray,
        patch: PackedByteArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantCodec.patch_bytes", || {
            match compare::patch_bytes(&value, &patch, &strict_limits(limits)) {
                Ok(bytes) => FastVariantResult::encoded(bytes.to_variant(), bytes.len()),
                Err(error) => FastVariantResult::failed(&error),
            }
        })
    }

    /// Returns where two values differ, in their order: at most [param max] places, each a Dictionary with [code]path[/code], an
    /// Array of keys and indexes, and with the value that is there in [code]old[/code] and in [code]new[/code]. A place that was
    /// added has no [code]old[/code], one that was removed no [code]new[/code].
    ///
    /// The order of keys makes no difference. Indexes are those of the old Array, or of the new one for elements that were added.
    /// If a value cannot be encoded exactly, the result is empty and one error is printed.
    #[func]
    fn differences(old: Variant, new: Variant, #[opt(default = 100)] max: i64) -> Array<VarDictionary> {
        guard("FastVariantCodec.differences", || {
            or_report("FastVariantCodec.differences", compare::differences(&old, &new, at_most(max)))
        })
    }

    /// Returns where the values encoded in [param old] and [param new] differ, as [method differences] does with the same [param max], and the bytes of both sides
    /// in [code]old_range[/code] and [code]new_range[/code], as [method FastVariantView.byte_range] returns them. The bytes are read
    /// strictly, within [param limits]; the default is [method FastVariantLimits.for_save_files]. Where they allow objects, their
    /// properties are compared; objects themselves are [code]null[/code] in the result.
    #[func]
    fn differences_bytes(
        old: PackedByteArray,
        new: PackedByteArray,
        #[opt(default = 100)] max: i64,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Array<VarDictionary> {
        guard("FastVariantCodec.differences_bytes", || {
            let found = compare::differences_bytes(&old, &new, at_most(max), &strict_limits(limits));
            or_report("FastVariantCodec.differences_bytes", found)
        })
    }

    /// Returns 64 bits that are the same for equal values, on every platform, in whatever order the entries of Dictionaries were
    /// added, and almost certainly others for any other value. Types matter, and all bits of floats; objects are
    /// told apart by instance id.
    ///
    /// It is the XXH3-64, with seed 0, of the encoded value, in which the entries of each Dictionary are replaced by the sum of their
    /// fingerprints; [code]docs/patch.md[/code] has the definition. It tells whether two peers agree, and is no protection against
    /// people who choose the values. If the value cannot be encoded, the result is 0 and one error is printed.
    #[func]
    fn fingerprint(value: Variant) -> i64 {
        guard("FastVariantCodec.fingerprint", || {
            or_report("FastVariantCodec.fingerprint", compare::fingerprint(&value).map(u64::cast_signed))
        })
    }

    /// Returns the [method fingerprint] of the value encoded in [param bytes], without decoding it. The bytes are read strictly, within
    /// [param limits]; the default is [method FastVariantLimits.for_save_files].
    #[func]
    fn fingerprint_bytes(
        bytes: PackedByteArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> i64 {
        guard("FastVariantCodec.fingerprint_bytes", || {
            let found = compare::fingerprint_bytes(&bytes, &strict_limits(limits));
            or_report("FastVariantCodec.fingerprint_bytes", found.map(u64::cast_signed))
        })
    }
}

fn at_most(max: i64) -> usize {
    usize::try_from(max).unwrap_or(0)
}

/// The result, or nothing after the error has been printed.
fn or_report<R: Default>(method: &str, result: Result<R>) -> R {
    result.unwrap_or_else(|error| {
        report::failure(method, &error);
        R::default()
    })
}
