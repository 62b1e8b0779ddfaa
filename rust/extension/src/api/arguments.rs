//! Conversion of arguments from scripts.

use variant_codec::Limits;
use variant_engine::OrNull;

use super::limits_class::FastVariantLimits;

/// Optional limits.
pub type OptionalLimits = OrNull<FastVariantLimits>;

/// The given limits, or those for save files.
pub fn strict_limits(limits: OptionalLimits) -> Limits {
    limits.get().map_or_else(Limits::default, |limits| limits.bind().to_limits())
}

/// The engine's own limits.
pub fn engine_limits(allow_objects: bool) -> &'static Limits {
    static WITHOUT_OBJECTS: Limits = Limits::unlimited();
    static WITH_OBJECTS: Limits = {
        let mut limits = Limits::unlimited();
        limits.allow_objects = true;
        limits
    };
    if allow_objects { &WITH_OBJECTS } else { &WITHOUT_OBJECTS }
}
