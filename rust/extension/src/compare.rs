//! Compares two values, and computes and applies patches between them.

use std::collections::HashMap;

use godot::builtin::{Array, PackedByteArray, PackedInt64Array, VarArray, VarDictionary, Variant};
use godot::meta::ToGodot;
use variant_codec::patch::{self, Difference, PathStep};
use variant_codec::stream::{Fingerprint, Source as _};
use variant_codec::{Error, ErrorKind, Limits, Result, View};
use variant_engine::{self as engine, PRECISION, set_bytes};

use crate::view::ViewLimits;
use variant_live::decode::built::Built;
use variant_live::decode::decoding::Decoding;
use variant_live::decode::input::Input;
use variant_live::encode::walker::{Live, Objects};
use variant_live::value;

fn encoded(value: &Variant) -> Result<PackedByteArray> {
    value::encode(value, Objects::Refused, true)
}

fn packed(bytes: &[u8]) -> Result<PackedByteArray> {
    let mut packed = PackedByteArray::new();
    set_bytes(&mut packed, bytes)?;
    Ok(packed)
}

/// The patch that turns `old` into `new`.
///
/// # Errors
/// Fails if one of them cannot be encoded; the error has the path.
pub fn diff(old: &Variant, new: &Variant) -> Result<PackedByteArray> {
    let (old, new) = (encoded(old)?, encoded(new)?);
    packed(&patch::diff(engine::bytes(&old), engine::bytes(&new), &Limits::unlimited())?)
}

/// As [`diff`], for encoded values.
///
/// # Errors
/// Fails if the bytes are invalid; the error has the offset.
pub fn diff_bytes(old: &PackedByteArray, new: &PackedByteArray, limits: &Limits) -> Result<PackedByteArray> {
    packed(&patch::diff(engine::bytes(old), engine::bytes(new), limits)?)
}

/// Applies a patch to a value.
///
/// # Errors
/// Fails if the value cannot be encoded, the patch is invalid or does not fit, or a limit is exceeded.
pub fn patch(value: &Variant, patch: &PackedByteArray, limits: &Limits) -> Result<Built> {
    let limits = &Limits { allow_objects: false, ..limits.clone() };
    let made = patch::apply(engine::bytes(&encoded(value)?), engine::bytes(patch), limits)?;
    let input = Input::Owned(packed(&made)?);
    Decoding::strict(limits).decode_input(&input).map_err(bad_result)
}

/// The error for bytes that a patch has produced. The caller never sees them, so the error has no offset.
#[cold]
fn bad_result(error: Error) -> Error {
    let error = error.without_offset();
    match error.kind() {
        ErrorKind::NotCanonical(reason) => {
            let message = format!("the patch does not fit the value: its result would be invalid: {reason}");
            error.with_kind(ErrorKind::Patch(message.into()))
        }
        _ => error,
    }
}

/// As [`patch()`], for an encoded value.
///
/// # Errors
/// As [`patch()`]; also fails if the encoded value is invalid.
pub fn patch_bytes(
    value: &PackedByteArray,
    patch: &PackedByteArray,
    limits: &Limits,
) -> Result<PackedByteArray> {
    packed(&patch::apply(engine::bytes(value), engine::bytes(patch), limits)?)
}

/// The differences between two values, at most `most` of them.
///
/// # Errors
/// Fails if one of them cannot be encoded; the error has the path.
pub fn differences(old: &Variant, new: &Variant, most: usize) -> Result<Array<VarDictionary>> {
    let (old, new) = (encoded(old)?, encoded(new)?);
    described(&old, &new, most, &Limits::unlimited(), |_, _| Ok(()))
}

/// As [`differences`], for encoded values, with the byte ranges of both.
///
/// # Errors
/// Fails if the bytes are invalid; the error has the offset.
pub fn differences_bytes(
    old: &PackedByteArray,
    new: &PackedByteArray,
    most: usize,
    limits: &Limits,
) -> Result<Array<VarDictionary>> {
    described(old, new, most, limits, |described, Difference { old, new, .. }| {
        for (side, value) in [("old_range", old), ("new_range", new)] {
            if let Some(value) = value {
                let range = value.range()?;
                described.set(side, &PackedInt64Array::from([range.start as i64, range.end as i64]));
            }
        }
        Ok(())
    })
}

fn described(
    old: &PackedByteArray,
    new: &PackedByteArray,
    most: usize,
    limits: &Limits,
    more: impl Fn(&mut VarDictionary, &Difference<'_>) -> Result<()>,
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
        more(&mut described, &difference)?;
        found.push(&described);
    }
    Ok(found)
}

/// The fingerprint of a value.
///
/// # Errors
/// Fails if the value cannot be encoded; the error has the path.
pub fn fingerprint(value: &Variant) -> Result<u64> {
    let mut sink = Fingerprint::new(Some(PRECISION));
    Live::new(value, Objects::AsIds { warns: false }, false).write_into(&mut sink)?;
    Ok(sink.finish())
}

/// The fingerprint of an encoded value.
///
/// # Errors
/// Fails if the bytes are invalid; the error has the offset.
pub fn fingerprint_bytes(bytes: &PackedByteArray, limits: &Limits) -> Result<u64> {
    variant_codec::fingerprint(engine::bytes(bytes), Some(PRECISION), limits)
}
