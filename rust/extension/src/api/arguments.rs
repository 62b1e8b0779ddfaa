//! Conversion of arguments from scripts.

use godot::builtin::Variant;
use variant_codec::{Error, Limits, Result, VariantType};
use variant_engine::OrNull;

use super::limits_class::FastVariantLimits;
use variant_live::encode::stored::StoredProperties;
use variant_live::encode::walker::Objects;

/// The limits that a script passes, or null.
pub type OptionalLimits = OrNull<FastVariantLimits>;

/// The given limits; for null, the limits for save files.
pub fn strict_limits(limits: OptionalLimits) -> Limits {
    limits.get().map_or_else(Limits::default, |limits| limits.bind().to_limits())
}

/// The limits that match the engine's own functions, with or without objects.
pub fn engine_limits(allow_objects: bool) -> &'static Limits {
    static WITHOUT_OBJECTS: Limits = Limits::unlimited();
    static WITH_OBJECTS: Limits = {
        let mut limits = Limits::unlimited();
        limits.allow_objects = true;
        limits
    };
    if allow_objects { &WITH_OBJECTS } else { &WITHOUT_OBJECTS }
}

/// Calls `encode` with a copy of `value` and `Objects::Full` if `full_objects` is set, else with `value` and
/// `otherwise`. The copy is needed because getters may change the caller's variable.
#[inline(always)]
pub fn held<T>(
    value: &Variant,
    full_objects: bool,
    otherwise: Objects<'_>,
    encode: impl FnOnce(&Variant, Objects<'_>) -> Result<T>,
) -> Result<T> {
    if full_objects {
        encode(&value.clone(), Objects::Full(&StoredProperties::default()))
    } else {
        encode(value, otherwise)
    }
}

/// The type with a script's number.
///
/// # Errors
/// Fails if there is none.
pub fn type_of(id: i64) -> Result<VariantType> {
    let known = u8::try_from(id).ok().and_then(VariantType::from_id);
    known.ok_or_else(|| Error::argument(format!("{id} is not a Variant.Type")))
}
