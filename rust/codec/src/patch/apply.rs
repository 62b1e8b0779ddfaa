//! Applies a patch to a value.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::form::{
    ARRAY, Body, DICTIONARY, HEADER, MAX_CHANGES, NAME, PACKED, SET, checked, fingerprint, map_with_capacity,
    with_capacity,
};
use super::writer::Writer;
use crate::ends::Ends;
use crate::error::{Error, ErrorKind, Limit, Result, Step};
use crate::format::{self, Shape, VariantType};
use crate::limits::{ALL_TYPES, Limits, Names};
use crate::view::{Elements, View};
use crate::wire::dialect::Godot4;

/// Applies a patch to the encoded value `old`. The limits apply to the old and the new value.
///
/// ```
/// use variant_codec::{Limits, Value, patch};
///
/// let limits = Limits::for_network();
/// let (old, new) = (Value::from("old").encode()?, Value::from("new").encode()?);
/// let change = patch::diff(&old, &new, &limits)?;
/// assert_eq!(patch::apply(&old, &change, &limits)?, new);
/// assert!(patch::apply(&old, &old, &limits).is_err());
/// # Ok::<(), variant_codec::Error>(())
/// ```
///
/// # Errors
/// Fails as [`Value::decode`](crate::Value::decode) does for the old value and the patch. Fails with
/// [`ErrorKind::Patch`] and the offset if the patch is malformed, or with [`ErrorKind::Patch`] and the path
/// if it does not fit the old value. Fails with the path if the new value exceeds a limit.
pub fn apply(old: &[u8], patch: &[u8], limits: &Limits) -> Result<Vec<u8>> {
    let old_ends = checked(old, limits)?;
    if patch.len().saturating_sub(HEADER) > limits.max_bytes {
        return Err(Error::new(limits.exceeded(Limit::Bytes)).at(0));
    }
    // A patch is nested deeper than its result, and holds more values.
    let loose = Limits {
        max_depth: limits.max_depth.saturating_add(MAX_LEVELS),
        max_elements: limits.max_elements.saturating_mul(MORE).saturating_add(MORE),
        max_memory: limits.max_memory.saturating_add(PATCH_MEMORY).saturating_mul(MORE),
        // An engine builds keys only from the result, which is checked against the caller's limits.
        max_key_comparisons: u64::MAX,
        allow_objects: true,
        allowed_types: ALL_TYPES,
        allowed_classes: Names::NONE,
        allowed_scripts: Names::NONE,
        ..limits.clone()
    };
    let (body, made_for) = header(patch)?;
    if made_for != fingerprint(old, limits)? {
        return Err(misfit("it was made for another value"));
    }
    let made = changed(old, &old_ends, body, &patch[HEADER..], limits, &loose);
    let made = made.map_err(|error| match error.kind() {
        // The caller has not set the loose limits.
        ErrorKind::LimitExceeded(limit, _) => {
            let kind = limits.exceeded(*limit);
            error.with_kind(kind)
        }
        _ => error,
    })?;
    checked(&made, limits).map_err(bad_result)?;
    Ok(made)
}

/// Makes the new value from the old one and the bytes after the header, within the limits `loose`.
fn changed(
    old: &[u8],
    old_ends: &Ends,
    body: Body,
    inside: &[u8],
    limits: &Limits,
    loose: &Limits,
) -> Result<Vec<u8>> {
    // Offsets are those in the patch.
    let in_patch = |error: Error| match error.offset() {
        Some(offset) => error.without_offset().at(HEADER + offset),
        None => error,
    };
    let old = View::within(old, limits)?.knowing(old_ends);
    let mut writer = Writer::default();
    if body == Body::Nothing {
        if !inside.is_empty() {
            return Err(not_a_patch("expected no bytes after the header").at(HEADER));
        }
        writer.raw(old.bytes()?)?;
        return Ok(writer.into_out());
    }
    let ends = checked(inside, loose).map_err(in_patch)?;
    let inside = View::within(inside, loose)?.knowing(&ends);
    if body == Body::Value {
        writer.raw(inside.bytes()?)?;
    } else {
        apply_change(&mut writer, &old, &inside, 0).map_err(in_patch)?;
    }
    Ok(writer.into_out())
}

/// The header of a patch: the kind of the bytes after it, and the fingerprint of the value that the patch was made for.
fn header(patch: &[u8]) -> Result<(Body, u64)> {
    let parts =
        patch.split_first_chunk::<4>().and_then(|(start, rest)| Some((start, rest.first_chunk::<8>()?)));
    let body = |start: &[u8; 4]| {
        Body::ALL.into_iter().find(|body| start.starts_with(NAME) && start[3] == *body as u8)
    };
    let header = parts.and_then(|(start, made_for)| Some((body(start)?, u64::from_le_bytes(*made_for))));
    header.ok_or_else(|| not_a_patch("expected \"FVP\", a byte from 0 to 2, and 8 bytes").at(0))
}

/// The maximum number of levels in a patch that enclose a value of the result.
const MAX_LEVELS: u32 = 4 * (MAX_CHANGES + 1);
/// The maximum ratio of the values in a patch to the values in its result: each changed element takes a few
/// values.
const MORE: u64 = 16;
/// The memory that the containers around the values of a small patch take, in bytes.
const PATCH_MEMORY: u64 = 1 << 10;
/// The expected form of a change.
const CHANGE: &str = "expected a change that starts with \"set\", \"dictionary\", \"array\" or \"packed\"";

/// The error for invalid bytes of the result. It has no offset, because the caller never sees these bytes.
#[cold]
fn bad_result(error: Error) -> Error {
    let error = error.without_offset();
    if is_limit(error.kind()) {
        return error;
    }
    let reason = error.kind();
    let message = format!("the patch does not fit the value: its result would be invalid: {reason}");
    error.with_kind(ErrorKind::Patch(message.into()))
}

/// Whether the error is about a value that may be valid, but exceeds the limits or the free memory.
fn is_limit(kind: &ErrorKind) -> bool {
    use ErrorKind as K;
    matches!(
        kind,
        K::LimitExceeded(..)
            | K::TypeNotAllowed(_)
            | K::ClassNotAllowed(_)
            | K::ScriptNotAllowed(_)
            | K::ObjectsNotAllowed
            | K::ContainerKey
            | K::OutOfMemory(_)
    )
}

#[cold]
fn malformed(at: &View<'_>, expected: &str) -> Error {
    not_a_patch(expected).at(at.position())
}

#[cold]
fn not_a_patch(expected: &str) -> Error {
    Error::new(ErrorKind::Patch(format!("not a patch: {expected}").into()))
}

#[cold]
fn misfit(reason: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Patch(format!("the patch does not fit the value: {reason}").into()))
}

/// The fields of a change: the elements of its Array.
fn fields_of<'a>(change: &View<'a>) -> Result<Vec<View<'a>>> {
    if change.ty() != VariantType::Array || change.count()? > 4 {
        return Err(malformed(change, "expected a change: an Array of 2 to 4 elements"));
    }
    let mut fields = with_capacity(change.count()?)?;
    for field in change.elements()? {
        fields.push(field?);
    }
    Ok(fields)
}

fn apply_change(writer: &mut Writer, old: &View<'_>, change: &View<'_>, level: u32) -> Result<()> {
    if level > MAX_CHANGES {
        return Err(malformed(change, "expected at most 64 changes around another"));
    }
    let fields = fields_of(change)?;
    match (kind_of(&fields)?, &fields[..]) {
        (Some(SET), [_, value]) => writer.raw(value.bytes()?),
        (Some(DICTIONARY), [_, changes, rest @ ..]) => {
            let (removed, order) = (rest.first(), rest.get(1));
            apply_to_dictionary(writer, old, changes, removed, order, level)
        }
        (Some(ARRAY), [_, count, edits]) => {
            fits(old, old.ty().shape() == Shape::Array, "an Array", count)?;
            apply_to_array(writer, old, edits, level)
        }
        (Some(PACKED), [_, count, edits]) => {
            fits(old, old.ty().shape().is_packed(), "a packed array", count)?;
            apply_to_packed(writer, old, edits)
        }
        _ => Err(malformed(change, CHANGE)),
    }
}

/// The kind of a change with these elements.
fn kind_of<'a>(fields: &[View<'a>]) -> Result<Option<&'a str>> {
    fields.first().filter(|kind| kind.ty() == VariantType::String).map(|kind| kind.as_str()).transpose()
}

/// Fails unless the old value is a container of the expected kind with `count` elements.
fn fits(old: &View<'_>, is_kind: bool, expected: &str, count: &View<'_>) -> Result<()> {
    if !is_kind {
        return Err(misfit(format!("expected {expected}, found {}", old.ty())));
    }
    let (expected, found) = (index_of(count)?, old.count()?);
    if expected == found {
        Ok(())
    } else {
        Err(misfit(format!("expected {expected} elements, found {found}")))
    }
}

fn index_of(view: &View<'_>) -> Result<usize> {
    let index = if view.ty() == VariantType::Int { usize::try_from(view.as_i64()?).ok() } else { None };
    index.ok_or_else(|| malformed(view, "expected an int that is not negative"))
}

fn apply_to_dictionary(
    writer: &mut Writer,
    old: &View<'_>,
    changes: &View<'_>,
    removed: Option<&View<'_>>,
    order: Option<&View<'_>>,
    level: u32,
) -> Result<()> {
    if old.ty() != VariantType::Dictionary {
        return Err(misfit(format!("expected a Dictionary, found {}", old.ty())));
    }
    if changes.ty() != VariantType::Dictionary {
        return Err(malformed(changes, "expected a Dictionary of changes by key"));
    }
    // The change of each key; `None` if the key is removed.
    let mut wanted: HashMap<&[u8], Option<View<'_>>> =
        map_with_capacity(changes.count()? + removed.map_or(Ok(0), View::count)?)?;
    for entry in changes.checked_entries()? {
        let (key, change) = entry?;
        if wanted.insert(key.bytes()?, Some(change)).is_some() {
            return Err(malformed(&key, "expected one change for each key"));
        }
    }
    if let Some(removed) = removed {
        if removed.ty() != VariantType::Array {
            return Err(malformed(removed, "expected an Array of removed keys"));
        }
        for key in removed.elements()? {
            let key = key?;
            match wanted.entry(key.bytes()?) {
                Entry::Vacant(entry) => drop(entry.insert(None)),
                Entry::Occupied(_) => return Err(malformed(&key, "expected one change for each key")),
            }
        }
    }

    writer.raw(old.declared()?)?;
    let count_at = writer.count_later()?;
    let start = writer.out().len();
    let mut ends: Vec<usize> = with_capacity(old.count()?.saturating_add(changes.count()?))?;
    for entry in old.checked_entries()? {
        let (key, value) = entry?;
        let key_bytes = key.bytes()?;
        match wanted.remove(key_bytes) {
            Some(None) => continue,
            Some(Some(change)) => {
                writer.raw(key_bytes)?;
                apply_change(writer, &value, &change, level + 1)
                    .map_err(|error| inside(error, step_of(&key)))?;
            }
            None => {
                writer.raw(key_bytes)?;
                writer.raw(value.bytes()?)?;
            }
        }
        ends.push(writer.out().len());
    }
    if !wanted.is_empty() {
        for entry in changes.checked_entries()? {
            let (key, change) = entry?;
            let key_bytes = key.bytes()?;
            if wanted.remove(key_bytes).is_none() {
                continue;
            }
            writer.raw(key_bytes)?;
            let fields = fields_of(&change)?;
            match (kind_of(&fields)?, &fields[..]) {
                (Some(SET), [_, value]) => writer.raw(value.bytes()?)?,
                (Some(DICTIONARY | ARRAY | PACKED), _) => {
                    return Err(misfit(format!("key {} not found", words(&key))));
                }
                _ => return Err(malformed(&change, CHANGE)),
            }
            ends.push(writer.out().len());
        }
    }
    if !wanted.is_empty() {
        let key = removed.map(View::elements).transpose()?.into_iter().flatten().flatten();
        let missing = |key: &View<'_>| key.bytes().is_ok_and(|bytes| wanted.contains_key(bytes));
        let key = key.filter(missing).map(|key| words(&key)).next().unwrap_or_default();
        return Err(misfit(format!("key {key} not found")));
    }
    writer.set_count(count_at, ends.len());
    match order {
        Some(order) => reorder(writer.out(), start, &ends, order),
        None => Ok(()),
    }
}

/// Reorders the entries, which start at `start`.
fn reorder(out: &mut Vec<u8>, start: usize, ends: &[usize], order: &View<'_>) -> Result<()> {
    if order.ty() != VariantType::PackedInt32Array {
        return Err(malformed(order, "expected the order as a PackedInt32Array"));
    }
    if order.count()? != ends.len() {
        return Err(misfit(format!("expected an order of {} keys", ends.len())));
    }
    let mut entries = with_capacity(out.len() - start)?;
    let mut is_done = with_capacity(ends.len())?;
    is_done.resize(ends.len(), false);
    for position in order.elements()? {
        let position = index_of(&position?)?;
        match is_done.get_mut(position) {
            Some(is_done) if !*is_done => *is_done = true,
            _ => return Err(malformed(order, "expected each index once in `order`")),
        }
        let from = if position == 0 { start } else { ends[position - 1] };
        entries.extend_from_slice(&out[from..ends[position]]);
    }
    out.truncate(start);
    out.extend_from_slice(&entries);
    Ok(())
}

fn apply_to_array(writer: &mut Writer, old: &View<'_>, edits: &View<'_>, level: u32) -> Result<()> {
    writer.raw(old.declared()?)?;
    let count_at = writer.count_later()?;
    let (mut index, mut count) = (0, 0);
    let mut elements = old.elements()?;
    for edit in list(edits)? {
        let edit = edit?;
        let fields = fields_of(&edit)?;
        let [at, rest @ ..] = &fields[..] else { return Err(malformed(&edit, EDIT)) };
        let at = index_of(at)?;
        if at < index {
            return Err(malformed(&edit, "expected edits in the order of their indexes"));
        }
        while index < at {
            let element = elements.next().ok_or_else(|| misfit(format!("element {at} not found")))??;
            writer.raw(element.bytes()?)?;
            (index, count) = (index + 1, count + 1);
        }
        match rest {
            [change] => {
                let element = elements.next().ok_or_else(|| misfit(format!("element {at} not found")))??;
                apply_change(writer, &element, change, level + 1)
                    .map_err(|error| inside(error, Step::Index(at)))?;
                (index, count) = (index + 1, count + 1);
            }
            [removed, inserted] => {
                let removed = index_of(removed)?;
                for nth in 0..removed {
                    let there = elements.next();
                    there.ok_or_else(|| misfit(format!("element {} not found", at + nth)))??;
                }
                index += removed;
                if inserted.ty() != VariantType::Array {
                    return Err(malformed(inserted, "expected an Array of inserted elements"));
                }
                let inserted_count = inserted.count()?;
                writer.raw(inserted.inner()?)?;
                count += inserted_count;
            }
            _ => return Err(malformed(&edit, EDIT)),
        }
    }
    for element in elements {
        writer.raw(element?.bytes()?)?;
        count += 1;
    }
    writer.set_count(count_at, count);
    Ok(())
}

const EDIT: &str =
    "expected an Array of an index and a change, or of an index, a count and the inserted elements";

fn list<'a>(edits: &View<'a>) -> Result<Elements<'a, Godot4>> {
    if edits.ty() != VariantType::Array {
        return Err(malformed(edits, "expected an Array of edits"));
    }
    edits.elements()
}

fn apply_to_packed(writer: &mut Writer, old: &View<'_>, edits: &View<'_>) -> Result<()> {
    writer.raw(old.declared()?)?;
    let count_at = writer.count_later()?;
    let start = writer.out().len();
    let total = old.count()?;
    let (mut index, mut count) = (0, 0);
    // Walks the elements, because strings have no fixed width.
    let mut places = old.elements()?;
    for edit in list(edits)? {
        let edit = edit?;
        let fields = fields_of(&edit)?;
        let [at, removed, inserted] = &fields[..] else { return Err(malformed(&edit, EDIT)) };
        let (at, removed) = (index_of(at)?, index_of(removed)?);
        if at < index {
            return Err(malformed(&edit, "expected edits in the order of their indexes"));
        }
        let end = at.checked_add(removed).filter(|end| *end <= total);
        let Some(end) = end else { return Err(misfit(format!("there are only {total} elements"))) };
        if inserted.ty() != old.ty() || inserted.declared()? != old.declared()? {
            return Err(misfit(format!("{} cannot be inserted in {}", inserted.ty(), old.ty())));
        }
        writer.raw(places.take_bytes(at - index)?)?;
        places.take_bytes(end - at)?;
        writer.raw(inserted.inner()?)?;
        count += at - index + inserted.count()?;
        index = end;
    }
    writer.raw(places.take_bytes(total - index)?)?;
    count += total - index;
    writer.set_count(count_at, count);
    let bytes = writer.out().len() - start;
    writer.raw(&[0; 3][..format::padding(bytes)])
}

/// Adds a step to the path of an error, unless the error has an offset in the patch.
fn inside(error: Error, step: Step) -> Error {
    if error.offset().is_none() { error.inside(step) } else { error }
}

fn step_of(key: &View<'_>) -> Step {
    match key.ty() {
        VariantType::String | VariantType::StringName => key.as_str().map_or(Step::KeyAt(0), Step::text_key),
        VariantType::Int => key.as_i64().map_or(Step::KeyAt(0), Step::int_key),
        ty => Step::Key(format!("<{ty}>")),
    }
}

fn words(key: &View<'_>) -> String {
    match step_of(key) {
        Step::Key(key) => key,
        _ => String::new(),
    }
}
