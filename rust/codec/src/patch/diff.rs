//! Computes the patch between two values.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::align::{self, Items, Piece};
use super::form::{
    ARRAY, Body, DICTIONARY, MAX_CHANGES, NAME, PACKED, SET, SET_BYTES, checked, fingerprint,
    map_with_capacity, push, reserve, with_capacity,
};
use super::search::Hunk;
use super::writer::Writer;
use crate::error::{ErrorKind, Result};
use crate::format::{Shape, VariantType};
use crate::limits::Limits;
use crate::view::View;

/// Maximum size in bytes of a value that is always replaced as a whole: a change would take as many bytes.
const SMALL: usize = 64;
/// Two changed ranges of a packed array are merged if at most this many unchanged bytes are between
/// them.
const GAP: usize = 48;

/// Returns the patch that turns the encoded value `old` into `new`. [`apply`](super::apply) reproduces `new`. The
/// patch is at most 12 bytes longer than `new`.
///
/// ```
/// use variant_codec::{Limits, Value, patch};
///
/// let old = Value::from((0..1000).collect::<Vec<i32>>()).encode()?;
/// let new = Value::from((0..1001).collect::<Vec<i32>>()).encode()?;
/// assert!(patch::diff(&old, &new, &Limits::for_save_files())?.len() < 200);
/// # Ok::<(), variant_codec::Error>(())
/// ```
///
/// # Errors
/// Fails as [`Value::decode`](crate::Value::decode) does for either value, and on non-canonical encodings
/// even if the limits allow them.
pub fn diff(old: &[u8], new: &[u8], limits: &Limits) -> Result<Vec<u8>> {
    let (old_ends, new_ends) = (checked(old, limits)?, checked(new, limits)?);
    let made_for = fingerprint(old, limits)?;
    let old = View::within(old, limits)?.knowing(&old_ends);
    let new = View::within(new, limits)?.knowing(&new_ends);
    let change = compare(&old, &new, 0)?;
    let (body, bytes) = match &change {
        Change::None => (Body::Nothing, &[][..]),
        Change::Inside(change) if change.len() < new.bytes()?.len() && is_value(change)? => {
            (Body::Change, &change[..])
        }
        _ => (Body::Value, new.bytes()?),
    };
    let mut writer = Writer::default();
    writer.raw(NAME)?;
    writer.raw(&[body as u8])?;
    writer.raw(&made_for.to_le_bytes())?;
    writer.raw(bytes)?;
    Ok(writer.into_out())
}

/// Whether a change is a value that can be read: one inside deep values may exceed the format's maximum depth.
fn is_value(change: &[u8]) -> Result<bool> {
    match checked(change, &Limits { allow_objects: true, ..Limits::unlimited() }) {
        Err(error) if *error.kind() == ErrorKind::TooDeep => Ok(false),
        checked => checked.map(|_| true),
    }
}

/// The change of a value.
#[derive(Debug)]
enum Change {
    None,
    /// The new value replaces the old one.
    Set,
    /// The encoded change of the value's contents.
    Inside(Vec<u8>),
}

fn write_set(writer: &mut Writer, new: &View<'_>) -> Result<()> {
    writer.array(2)?;
    writer.text(SET)?;
    writer.raw(new.bytes()?)
}

/// Returns the change from the old value to the new one. The bytes of both must be valid.
fn compare(old: &View<'_>, new: &View<'_>, level: u32) -> Result<Change> {
    let (old_bytes, new_bytes) = (old.bytes()?, new.bytes()?);
    if old_bytes == new_bytes {
        return Ok(Change::None);
    }
    let is_same_kind = old.ty() == new.ty() && old.declared()? == new.declared()?;
    if !is_same_kind || level == MAX_CHANGES || new_bytes.len() <= SMALL {
        return Ok(Change::Set);
    }
    let change = match new.ty().shape() {
        Shape::Dictionary => dictionary(old, new, level)?,
        Shape::Array => array(old, new, level)?,
        Shape::PackedStrings => strings(old, new)?,
        Shape::Packed(..) => packed(old, new)?,
        _ => Change::Set,
    };
    Ok(match change {
        Change::Inside(bytes) if bytes.len() > new_bytes.len() + SET_BYTES => Change::Set,
        change => change,
    })
}

fn dictionary(old: &View<'_>, new: &View<'_>, level: u32) -> Result<Change> {
    let (old_count, new_count) = (old.count()?, new.count()?);
    let mut entries = map_with_capacity(old_count)?;
    let mut kept_keys = with_capacity(old_count)?;
    for entry in old.checked_entries()? {
        let (key, value) = entry?;
        let key = key.bytes()?;
        if entries.insert(key, (value, false)).is_some() {
            // Keys with a NaN inside are distinct even if their bytes are equal. A change cannot distinguish
            // them.
            return Ok(Change::Set);
        }
        kept_keys.push(key);
    }

    let mut writer = Writer::default();
    let field_count = writer.container(VariantType::Array)?;
    writer.text(DICTIONARY)?;
    let change_count = writer.container(VariantType::Dictionary)?;
    let (mut changes, mut shared) = (0, 0);
    // Replaced values are written after the loop: if no entry is shared, the whole value is replaced instead.
    let mut replaced = Vec::new();
    let mut added = Vec::new();
    let mut added_keys = HashSet::new();
    let mut new_keys = with_capacity(new_count)?;
    for entry in new.checked_entries()? {
        let (key, value) = entry?;
        let key = key.bytes()?;
        new_keys.push(key);
        let Some((old_value, is_kept)) = entries.get_mut(key) else {
            push(&mut added, (key, value))?;
            added_keys.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory(added.len()))?;
            if !added_keys.insert(key) {
                return Ok(Change::Set);
            }
            continue;
        };
        if std::mem::replace(is_kept, true) {
            return Ok(Change::Set);
        }
        match compare(old_value, &value, level + 1)? {
            Change::None => shared += 1,
            Change::Inside(bytes) => {
                shared += 1;
                changes += 1;
                writer.raw(key)?;
                writer.raw(&bytes)?;
            }
            Change::Set => push(&mut replaced, (key, value))?,
        }
    }
    if shared == 0 {
        return Ok(Change::Set);
    }
    for (key, value) in replaced.iter().chain(&added) {
        changes += 1;
        writer.raw(key)?;
        write_set(&mut writer, value)?;
    }
    writer.set_count(change_count, changes);

    let mut removed = with_capacity(old_count.saturating_sub(shared))?;
    kept_keys.retain(|key| {
        let is_kept = entries.get(key).is_some_and(|(_, is_kept)| *is_kept);
        if !is_kept {
            removed.push(*key);
        }
        is_kept
    });
    // Without an order, added keys come last.
    reserve(&mut kept_keys, added.len())?;
    kept_keys.extend(added.iter().map(|(key, _)| *key));
    let is_ordered = kept_keys == new_keys;
    if !removed.is_empty() || !is_ordered {
        writer.array(removed.len())?;
        removed.iter().try_for_each(|key| writer.raw(key))?;
    }
    if !is_ordered {
        let mut positions: HashMap<&[u8], u32> = map_with_capacity(kept_keys.len())?;
        positions.extend(kept_keys.iter().enumerate().map(|(position, key)| (*key, position as u32)));
        let mut order = with_capacity(new_keys.len())?;
        order.extend(new_keys.iter().map(|key| positions.get(key).copied().unwrap_or_default()));
        writer.ints(&order)?;
    }
    let fields = if !is_ordered { 4 } else { 2 + usize::from(!removed.is_empty()) };
    writer.set_count(field_count, fields);
    Ok(Change::Inside(writer.into_out()))
}

fn array(old: &View<'_>, new: &View<'_>, level: u32) -> Result<Change> {
    let (old, new) = (Items::of(old)?, Items::of(new)?);
    let mut edits = Edits::default();
    let mut replaced = 0;
    for piece in align::pieces(&old, &new)? {
        match piece {
            Piece::Changed(gone, come) => match compare(&old.view(gone)?, &new.view(come)?, level + 1)? {
                Change::None => {}
                Change::Inside(bytes) => push(&mut edits.0, Edit::Inside(gone, bytes))?,
                Change::Set => {
                    replaced += 1;
                    edits.replace(gone..gone + 1, come..come + 1)?;
                }
            },
            Piece::Replaced(gone, come) => {
                replaced += gone.len();
                edits.replace(gone, come)?;
            }
        }
    }
    if replaced == old.len() {
        return Ok(Change::Set);
    }

    let mut writer = Writer::default();
    writer.array(3)?;
    writer.text(ARRAY)?;
    writer.int(old.len())?;
    writer.array(edits.0.len())?;
    for edit in edits.0 {
        match edit {
            Edit::Inside(index, bytes) => {
                writer.array(2)?;
                writer.int(index)?;
                writer.raw(&bytes)?;
            }
            Edit::Replace(gone, come) => {
                writer.array(3)?;
                writer.int(gone.start)?;
                writer.int(gone.len())?;
                writer.array(come.len())?;
                writer.raw(new.bytes(come))?;
            }
        }
    }
    Ok(Change::Inside(writer.into_out()))
}

fn strings(old: &View<'_>, new: &View<'_>) -> Result<Change> {
    let (old, new) = (Items::of(old)?, Items::of(new)?);
    let hunks = align::changed_ranges(&old, &new)?;
    if hunks.iter().map(|hunk| hunk.old.len()).sum::<usize>() == old.len() {
        return Ok(Change::Set);
    }
    let mut writer = packed_change(old.len(), hunks.len())?;
    for Hunk { old: gone, new: come } in hunks {
        writer.array(3)?;
        writer.int(gone.start)?;
        writer.int(gone.len())?;
        let count = writer.container(VariantType::PackedStringArray)?;
        writer.set_count(count, come.len());
        writer.raw(new.bytes(come))?;
    }
    Ok(Change::Inside(writer.into_out()))
}

fn packed(old: &View<'_>, new: &View<'_>) -> Result<Change> {
    let (header, width) = (new.declared()?, new.element_width()?);
    let (old, new) = (old.inner()?, new.inner()?);
    let hunks = changed_lanes(old, new, width)?;
    let written = |hunk: &Hunk| hunk.new.len() * width + GAP;
    if hunks.iter().map(written).sum::<usize>() >= new.len() {
        return Ok(Change::Set);
    }
    let mut writer = packed_change(old.len() / width, hunks.len())?;
    for Hunk { old: gone, new: come } in hunks {
        writer.array(3)?;
        writer.int(gone.start)?;
        writer.int(gone.len())?;
        writer.raw(header)?;
        let count = writer.count_later()?;
        writer.set_count(count, come.len());
        writer.padded(&new[come.start * width..come.end * width])?;
    }
    Ok(Change::Inside(writer.into_out()))
}

/// Returns the ranges where elements of `width` bytes differ.
fn changed_lanes(old: &[u8], new: &[u8], width: usize) -> Result<Vec<Hunk>> {
    let (old_count, new_count) = (old.len() / width, new.len() / width);
    let prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count() / width;
    let most = (old_count.min(new_count) - prefix) * width;
    let behind = old.iter().rev().zip(new.iter().rev()).take(most);
    let suffix = behind.take_while(|(a, b)| a == b).count() / width;
    let (old_end, new_end) = (old_count - suffix, new_count - suffix);
    if old_count != new_count {
        return Ok(vec![Hunk { old: prefix..old_end, new: prefix..new_end }]);
    }
    let mut hunks: Vec<Hunk> = Vec::new();
    for index in prefix..new_end {
        let lanes = index * width..(index + 1) * width;
        if old[lanes.clone()] == new[lanes] {
            continue;
        }
        match hunks.last_mut() {
            Some(last) if (index - last.new.end) * width <= GAP => {
                (last.old.end, last.new.end) = (index + 1, index + 1);
            }
            _ => push(&mut hunks, Hunk { old: index..index + 1, new: index..index + 1 })?,
        }
    }
    Ok(hunks)
}

fn packed_change(old_count: usize, edits: usize) -> Result<Writer> {
    let mut writer = Writer::default();
    writer.array(3)?;
    writer.text(PACKED)?;
    writer.int(old_count)?;
    writer.array(edits)?;
    Ok(writer)
}

#[derive(Default)]
struct Edits(Vec<Edit>);

enum Edit {
    Inside(usize, Vec<u8>),
    Replace(Range<usize>, Range<usize>),
}

impl Edits {
    fn replace(&mut self, gone: Range<usize>, come: Range<usize>) -> Result<()> {
        match self.0.last_mut() {
            Some(Edit::Replace(last_gone, last_come))
                if last_gone.end == gone.start && last_come.end == come.start =>
            {
                (last_gone.end, last_come.end) = (gone.end, come.end);
                Ok(())
            }
            _ => push(&mut self.0, Edit::Replace(gone, come)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::{apply, differences};
    use crate::value::Value;

    /// The engine treats keys with a NaN inside as distinct even if their bytes are equal.
    #[test]
    fn changes_of_keys_with_equal_bytes_are_kept() {
        let with = |values: &[i64]| {
            let entries = values.iter().map(|value| (Value::from([f64::NAN]), Value::from(*value)));
            Value::from_iter(entries.chain([("pad".into(), "x".repeat(1000).into())])).encode().unwrap()
        };
        let limits = Limits::for_save_files();
        let all = [&[][..], &[1], &[1, 2], &[1, 3], &[2, 2], &[1, 2, 3]].map(with);
        for old in &all {
            for new in &all {
                let patch = diff(old, new, &limits).unwrap();
                assert_eq!(apply(old, &patch, &limits).unwrap(), *new);
                assert_eq!(differences(old, new, 9, &limits).unwrap().is_empty(), old == new);
            }
        }
    }
}
