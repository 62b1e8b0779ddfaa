//! The class FastVariantPatch: what differs between two encoded values.

use godot::builtin::{Array, PackedByteArray};
use godot::meta::ToGodot;
use godot::obj::Gd;
use godot::prelude::{GodotClass, VarDictionary, godot_api};
use variant_codec::Result;

use super::arguments::{OptionalLimits, strict_limits};
use super::guard::guard;
use super::report;
use super::result_class::FastVariantResult;
use crate::compare;

/// Compares two encoded values, and makes and applies patches between them. Decodes nothing.
///
/// ```gdscript
/// var before := FastVariantCodec.encode({"name": "Ada", "hp": 87})
/// var after := FastVariantCodec.encode({"name": "Ada", "hp": 86})
/// var patch := FastVariantPatch.diff(before, after)
/// print(FastVariantPatch.apply(before, patch) == after) # true
/// ```
///
/// All methods are static and may be called from any thread. The bytes are read strictly, within the limits; the
/// default is [method FastVariantLimits.for_save_files].
#[derive(GodotClass)]
#[class(no_init, base=Object)]
pub struct FastVariantPatch {}

#[godot_api]
impl FastVariantPatch {
    /// Returns a patch that turns the value encoded in [param old] into the value encoded in [param new]; apply it with
    /// [method apply]. The patch is at most 12 bytes longer than [param new]; [code]docs/patch.md[/code] describes it. If
    /// one of the values cannot be read within [param limits], prints one error and returns an empty array.
    ///
    /// A bounded search finds elements that were added to an Array or removed from it.
    #[func]
    fn diff(
        old: PackedByteArray,
        new: PackedByteArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> PackedByteArray {
        guard("FastVariantPatch.diff", || {
            or_report("FastVariantPatch.diff", compare::diff(&old, &new, &strict_limits(limits)))
        })
    }

    /// Applies [param patch], made by [method diff], to the value encoded in [param old], and returns the new bytes. If
    /// that fails, prints one error and returns an empty array. [method try_apply] describes [param limits].
    #[func]
    fn apply(
        old: PackedByteArray,
        patch: PackedByteArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> PackedByteArray {
        guard("FastVariantPatch.apply", || {
            or_report("FastVariantPatch.apply", compare::apply(&old, &patch, &strict_limits(limits)))
        })
    }

    /// Applies [param patch] as [method apply] does, and returns the new bytes or an error. Prints nothing.
    ///
    /// The error is [constant FastVariantCodec.BAD_PATCH] if the patch was made for another value than [param old]; the
    /// order of Dictionary keys makes no difference. An untrusted patch can produce any value that [param limits]
    /// allow. They apply to the old and the new value, and [member FastVariantLimits.max_bytes] also to the patch.
    #[func]
    fn try_apply(
        old: PackedByteArray,
        patch: PackedByteArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantPatch.try_apply", || match compare::apply(&old, &patch, &strict_limits(limits)) {
            Ok(bytes) => FastVariantResult::encoded(bytes.to_variant(), bytes.len()),
            Err(error) => FastVariantResult::failed(&error),
        })
    }

    /// Returns the differences between the values encoded in [param old] and [param new], in order, at most [param max]
    /// of them. Each is a Dictionary: [code]path[/code] is an Array of keys and indexes; [code]old[/code] and
    /// [code]new[/code] are the values there; [code]old_range[/code] and [code]new_range[/code] are their byte ranges, as
    /// [method FastVariantInspector.byte_range] returns them. An added value has no [code]old[/code], and a removed one
    /// no [code]new[/code].
    ///
    /// The order of keys makes no difference. Indexes refer to the old Array; the indexes of added elements
    /// refer to the new Array. If the limits allow objects, their properties are compared; values that hold objects are
    /// [code]null[/code] in the result. Time and memory grow with the number of differences, and the result counts towards
    /// [member FastVariantLimits.max_memory]: for untrusted values, choose a small [param max]. If one of the values
    /// cannot be read, prints one error and returns an empty Array.
    #[func]
    fn differences(
        old: PackedByteArray,
        new: PackedByteArray,
        #[opt(default = 100)] max: i64,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Array<VarDictionary> {
        guard("FastVariantPatch.differences", || {
            let most = usize::try_from(max).unwrap_or(0);
            let found = compare::differences(&old, &new, most, &strict_limits(limits));
            or_report("FastVariantPatch.differences", found)
        })
    }

    /// Returns a 64-bit hash of the value encoded in [param bytes]. It does not depend on the platform or on the order of
    /// Dictionary entries. Different values almost certainly have different fingerprints; types and all bits of floats
    /// matter. Use it to check whether two peers agree. If the value cannot be read within [param limits], prints one error
    /// and returns 0.
    ///
    /// Peers with equal states get different fingerprints if the value contains objects, which are hashed by instance
    /// id, or if it contains vectors and only one engine is compiled with [code]precision=double[/code]. The hash is
    /// the XXH3-64, with seed 0, of the encoded value, in which the sum of the entries' fingerprints replaces the
    /// entries of each Dictionary; [code]docs/patch.md[/code] has the definition. It is not a signature: anyone who can
    /// choose the values can make two with the same fingerprint.
    #[func]
    fn fingerprint(
        bytes: PackedByteArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> i64 {
        guard("FastVariantPatch.fingerprint", || {
            let found = compare::fingerprint(&bytes, &strict_limits(limits));
            or_report("FastVariantPatch.fingerprint", found.map(u64::cast_signed))
        })
    }
}

/// Returns the result. After an error, prints it and returns the default.
fn or_report<R: Default>(method: &str, result: Result<R>) -> R {
    result.unwrap_or_else(|error| {
        report::failure(method, &error);
        R::default()
    })
}
