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
    /// Returns a patch that turns [param old] into [param new]; apply it with [method patch]. The patch is
    /// itself an encoded value of plain containers; [code]docs/patch.md[/code] describes it.
    ///
    /// ```gdscript
    /// var before := {"name": "Ada", "hp": 87}
    /// var change := FastVariantCodec.diff(before, {"name": "Ada", "hp": 86})
    /// var after: Dictionary = FastVariantCodec.patch(before, change).value
    /// ```
    ///
    /// A bounded search finds elements that were added to an Array or removed from it. If [method try_encode]
    /// would refuse a value, such as an object, prints one error and returns an empty array.
    #[func]
    fn diff(old: Variant, new: Variant) -> PackedByteArray {
        guard("FastVariantCodec.diff", || or_report("FastVariantCodec.diff", compare::diff(&old, &new)))
    }

    /// Returns the patch that turns the value encoded in [param old] into the value encoded in [param new],
    /// as [method diff] does. Decodes nothing.
    ///
    /// The bytes are read strictly, within [param limits]; the default is [method FastVariantLimits.for_save_files]. If
    /// they cannot be read, prints one error and returns an empty array.
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

    /// Applies [param patch], made by [method diff], to [param value], and returns the new value or an error.
    /// [param value] does not change. Prints nothing.
    ///
    /// In Dictionaries of the result, keys are in the same order as in the value that was [code]new[/code]
    /// for [method diff]. If the patch does not fit [param value], the result is the error [constant
    /// BAD_PATCH], with the path. A patch made for another value may fit by chance and give a wrong result.
    /// An untrusted patch can produce any value that [param limits] allow; the default is [method
    /// FastVariantLimits.for_save_files]. The limits apply to the old and the new value, and [member
    /// FastVariantLimits.max_bytes] also to the patch. Objects in the new value are [EncodedObjectAsID]s, as
    /// after [method decode].
    #[func]
    fn patch(
        value: Variant,
        patch: PackedByteArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantCodec.patch", || match compare::patch(&value, &patch, &strict_limits(limits)) {
            Ok(built) => FastVariantResult::decoded(built.into_value(), 0, patch.len()),
            Err(error) => FastVariantResult::failed(&error),
        })
    }

    /// Applies [param patch] to the value encoded in [param value], as [method patch] does with the same
    /// [param limits], and returns the new bytes or an error. Decodes nothing and prints nothing.
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

    /// Returns the differences between [param old] and [param new], in order, at most [param max] of them. Each is a
    /// Dictionary: [code]path[/code] is an Array of keys and indexes; [code]old[/code] and [code]new[/code] are the
    /// values there. An added value has no [code]old[/code], and a removed one no [code]new[/code].
    ///
    /// The order of keys makes no difference. Indexes refer to the old Array; the indexes of added elements
    /// refer to the new Array. Time and memory grow with the number of differences: for untrusted values,
    /// choose a small [param max]. If [method FastVariantCodec.try_encode] would refuse a value, prints one
    /// error and returns an empty Array.
    #[func]
    fn differences(old: Variant, new: Variant, #[opt(default = 100)] max: i64) -> Array<VarDictionary> {
        guard("FastVariantCodec.differences", || {
            or_report("FastVariantCodec.differences", compare::differences(&old, &new, at_most(max)))
        })
    }

    /// Returns the differences between the values encoded in [param old] and [param new], as [method differences] does
    /// with the same [param max]. Each also has the byte ranges [code]old_range[/code] and [code]new_range[/code], as
    /// [method FastVariantView.byte_range] returns them. The bytes are read strictly, within [param limits]; the
    /// default is [method FastVariantLimits.for_save_files]. If the limits allow objects, their properties are
    /// compared; values that hold objects are [code]null[/code] in the result. The result counts towards
    /// [member FastVariantLimits.max_memory].
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

    /// Returns a 64-bit hash of [param value] that does not depend on the platform or on the order of
    /// Dictionary entries. Different values almost certainly have different fingerprints; types and all bits
    /// of floats matter. Peers with equal states get different fingerprints if the value contains objects,
    /// which are hashed by instance id, or if it contains vectors and only one engine is compiled with
    /// [code]precision=double[/code].
    ///
    /// The hash is the XXH3-64, with seed 0, of the encoded value, in which the sum of the entries'
    /// fingerprints replaces the entries of each Dictionary; [code]docs/patch.md[/code] has the definition.
    /// Use it to check whether two peers agree. It is not a signature: anyone who can choose the values can
    /// make two with the same fingerprint. If the value cannot be encoded, prints one error and returns 0.
    #[func]
    fn fingerprint(value: Variant) -> i64 {
        guard("FastVariantCodec.fingerprint", || {
            or_report("FastVariantCodec.fingerprint", compare::fingerprint(&value).map(u64::cast_signed))
        })
    }

    /// Returns the [method fingerprint] of the value encoded in [param bytes], without decoding it. The bytes
    /// are read strictly, within [param limits]; the default is [method FastVariantLimits.for_save_files].
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

/// Returns the result. After an error, prints it and returns the default.
fn or_report<R: Default>(method: &str, result: Result<R>) -> R {
    result.unwrap_or_else(|error| {
        report::failure(method, &error);
        R::default()
    })
}
