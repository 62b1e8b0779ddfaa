//! Compares two encoded values.

use std::collections::HashMap;

use godot::builtin::{Array, PackedByteArray, PackedInt64Array, VarArray, VarDictionary, Variant};
use godot::meta::ToGodot;
use variant_codec::patch::{self, PathStep};
use variant_codec::{ErrorKind, Limits, Result, View};
use variant_engine::{self as engine, PRECISION, set_bytes};

use crate::view::ViewLimits;

fn packed(bytes: &[u8]) -> Result<PackedByteArray> {
    let mut packed = PackedByteArray::new();
    set_bytes(&mut packed, bytes)?;
    Ok(packed)
}

/// The patch that turns `old` into `new`.
///
/// # Errors
/// Fails if the bytes are invalid; the error has the offset.
pub fn diff(old: &PackedByteArray, new: &PackedByteArray, limits: &Limits) -> Result<PackedByteArray> {
    packed(&patch::diff(engine::bytes(old), engine::bytes(new), limits)?)
}

/// Applies a patch.
///
/// # Errors
/// Fails if the bytes or the patch are invalid, the patch was made for another value, or a limit is exceeded.
pub fn apply(old: &PackedByteArray, patch: &PackedByteArray, limits: &Limits) -> Result<PackedByteArray> {
    packed(&patch::apply(engine::bytes(old), engine::bytes(patch), limits)?)
}

/// The differences between two values, at most `most` of them.
///
/// # Errors
/// Fails if the bytes are invalid; the error has the offset.
pub fn differences(
    old: &PackedByteArray,
    new: &PackedByteArray,
    most: usize,
    limits: &Limits,
) -> Result<Array<VarDictionary>> {
    // Objects are compared, but not created.
    let limits_of_parts = ViewLimits::new(Limits { allow_objects: false, ..limits.clone() });
    let mut fetching = limits_of_parts.fetching(None);
    let mut live = |view: &View<'_>| match fetching.value(view) {
        Err(error) if *error.kind() == ErrorKind::ObjectsNotAllowed => Ok(Variant::nil()),
        decoded => decoded,
    };
    // Decoded keys that several paths share, by their address in the input.
    let mut kept: HashMap<*const u8, Variant> = HashMap::new();
    let mut found = Array::new();
    for difference in patch::differences(engine::bytes(old), engine::bytes(new), most, limits)? {
        let mut steps = VarArray::new();
        for place in &difference.path {
            steps.push(&match place {
                PathStep::Index(index) => (*index as i64).to_variant(),
                PathStep::Key(key) => {
                    let place = key.remaining().as_ptr();
                    match kept.get(&place) {
                        Some(key) => key.clone(),
                        None => kept.entry(place).or_insert(live(key)?).clone(),
                    }
                }
            });
        }
        let mut described = VarDictionary::new();
        described.set("path", &steps);
        for (side, value) in [("old", &difference.old), ("new", &difference.new)] {
            if let Some(value) = value {
                described.set(side, &live(value)?);
            }
        }
        for (side, value) in [("old_range", &difference.old), ("new_range", &difference.new)] {
            if let Some(value) = value {
                let range = value.range()?;
                described.set(side, &PackedInt64Array::from([range.start as i64, range.end as i64]));
            }
        }
        found.push(&described);
    }
    Ok(found)
}

/// The fingerprint of an encoded value.
///
/// # Errors
/// Fails if the bytes are invalid; the error has the offset.
pub fn fingerprint(bytes: &PackedByteArray, limits: &Limits) -> Result<u64> {
    variant_codec::fingerprint(engine::bytes(bytes), Some(PRECISION), limits)
}
