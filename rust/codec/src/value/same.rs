//! Equality of keys, as in the engine's `StringLikeVariantComparator` and `Variant::hash_compare`.

use std::hash::{BuildHasher as _, Hash as _, Hasher, RandomState};

use hashbrown::HashTable;

use super::components::Components;
use super::types::Value;
use crate::error::{ErrorKind, Oddity, Result};

/// Maximum number of keys that are compared one by one.
const FEW: usize = 8;

/// Fails if a Dictionary repeats a key. The engine's encoder never writes such a Dictionary, and its decoder would
/// keep only the last value. Equal keys must have equal `hashes`.
pub(crate) fn refuse_repeated_keys(entries: &[(Value, Value)], hashes: &[u64]) -> Result<()> {
    match repeated_key(entries, hashes)? {
        Some(_) => Err(ErrorKind::NotCanonical(Oddity::DuplicateKey).into()),
        None => Ok(()),
    }
}

/// Returns the index of the first key that equals an earlier one. Equal keys must have equal `hashes`.
pub(crate) fn repeated_key(entries: &[(Value, Value)], hashes: &[u64]) -> Result<Option<usize>> {
    if entries.len() <= FEW {
        let is_before = |&index: &usize| {
            let ((key, _), hash) = (&entries[index], hashes[index]);
            let mut before = entries[..index].iter().zip(hashes);
            before.any(|((other, _), other_hash)| hash == *other_hash && may_be_same_key(key, other))
        };
        return Ok((0..entries.len()).find(is_before));
    }
    let mut seen = HashTable::new();
    if seen.try_reserve(entries.len(), |(hash, _): &(u64, usize)| *hash).is_err() {
        return Err(ErrorKind::OutOfMemory(entries.len().saturating_mul(size_of::<(u64, usize)>())).into());
    }
    for (index, ((key, _), &hash)) in entries.iter().zip(hashes).enumerate() {
        let is_same = |(_, other): &(u64, usize)| may_be_same_key(&entries[*other].0, key);
        if seen.find(hash, is_same).is_some() {
            return Ok(Some(index));
        }
        seen.insert_unique(hash, (hash, index), |(hash, _)| *hash);
    }
    Ok(None)
}

/// A hash that no other value has, for a NaN inside an Array or Dictionary. There, a NaN equals nothing, not
/// even itself.
pub(crate) fn unique_hash() -> u64 {
    RandomState::new().hash_one(())
}

/// Whether the value is a NaN, which equals nothing inside an Array or Dictionary.
pub(crate) fn is_nan(value: &Value) -> bool {
    matches!(value, Value::Float(float) if float.is_nan())
}

/// The hash of a key. Keys that [`may_be_same_key`] accepts have equal hashes.
pub(crate) fn hash_of_key(key: &Value, hasher: &RandomState) -> u64 {
    let mut state = hasher.build_hasher();
    hash_key(key, hasher, &mut state);
    state.finish()
}

/// The hash of a value, equal for equal values. A String never equals a StringName here.
pub(crate) fn hash_of_leaf(value: &Value, hasher: &RandomState) -> u64 {
    let mut state = hasher.build_hasher();
    hash(value, hasher, &mut state);
    state.finish()
}

fn hash_key(key: &Value, hasher: &RandomState, state: &mut impl Hasher) {
    match key.as_str() {
        Some(text) => text.hash(state),
        None => hash(key, hasher, state),
    }
}

/// Hashes an element of an Array or a value of a Dictionary.
fn hash_inside(value: &Value, hasher: &RandomState, state: &mut impl Hasher) {
    if is_nan(value) { state.write_u64(unique_hash()) } else { hash(value, hasher, state) }
}

fn hash(value: &Value, hasher: &RandomState, state: &mut impl Hasher) {
    use Value as V;
    state.write_u8(value.ty().id());
    match value {
        V::Nil => {}
        V::Bool(bool) => bool.hash(state),
        V::String(text) | V::StringName(text) => text.hash(state),
        V::Int(int) => state.write_i64(*int),
        V::Float(float) => hash_reals([*float].into_iter(), state),
        // The counts make the sequence of hashed numbers unique to each tree.
        V::Array(array) => {
            state.write_usize(array.len());
            array.iter().for_each(|element| hash_inside(element, hasher, state));
        }
        V::Dictionary(dictionary) => {
            state.write_usize(dictionary.len());
            // The hashes are added, because a sum does not depend on the order of the entries.
            let entries = dictionary.iter().map(|(key, value)| {
                let mut state = hasher.build_hasher();
                hash_key(key, hasher, &mut state);
                hash_inside(value, hasher, &mut state);
                state.finish()
            });
            state.write_u64(entries.fold(0, u64::wrapping_add));
        }
        _ => match reals(value) {
            Some(reals) => hash_reals(reals, state),
            // Without reals, equal values have equal bytes.
            None => state.write(&value.encode().unwrap_or_default()),
        },
    }
}

/// Hashes both zeros alike, and all NaNs alike.
fn hash_reals(reals: impl ExactSizeIterator<Item = f64>, state: &mut impl Hasher) {
    state.write_usize(reals.len());
    for real in reals {
        let real = if real == 0.0 { 0.0 } else { real };
        state.write_u64(if real.is_nan() { f64::NAN } else { real }.to_bits());
    }
}

/// The float components of a value as the engine holds them. An engine with single precision rounds 64-bit
/// components of `real_t`.
fn reals(value: &Value) -> Option<Box<dyn ExactSizeIterator<Item = f64> + '_>> {
    let is_rounded = value.ty().is_real() && !cfg!(feature = "double");
    match value.components()? {
        Components::F32(reals) => Some(Box::new(reals.iter().map(|real| f64::from(*real)))),
        Components::F64(reals) if is_rounded => {
            Some(Box::new(reals.iter().map(|real| (*real as f32).into())))
        }
        Components::F64(reals) => Some(Box::new(reals.iter().copied())),
        _ => None,
    }
}

/// Whether the engine may treat two values as one key. The engine compares Dictionaries in any order, but
/// hashes them in the order of their entries. Two Dictionaries in different orders are one key if their
/// hashes happen to be equal.
pub(crate) fn may_be_same_key(a: &Value, b: &Value) -> bool {
    let may_differ_in_order = || a.ty() == b.ty() && has_dictionary(a) && has_dictionary(b);
    is_same_key(a, b)
        || may_differ_in_order() && {
            let hasher = RandomState::new();
            hash_of_key(a, &hasher) == hash_of_key(b, &hasher)
        }
}

/// Whether the value is or contains a Dictionary with more than one entry.
pub(crate) fn has_dictionary(value: &Value) -> bool {
    match value {
        Value::Array(array) => array.iter().any(has_dictionary),
        Value::Dictionary(dictionary) => {
            dictionary.len() > 1
                || dictionary.iter().any(|(key, value)| has_dictionary(key) || has_dictionary(value))
        }
        _ => false,
    }
}

/// Whether two values are one key. Dictionaries in them must have their entries in the same order.
pub(crate) fn is_same_key(a: &Value, b: &Value) -> bool {
    match (a.as_str(), b.as_str()) {
        (Some(a), Some(b)) => a == b,
        _ => is_same(a, b, true),
    }
}

/// Whether two values are equal. NaNs are equal to each other, except in an Array or Dictionary.
fn is_same(a: &Value, b: &Value, nans: bool) -> bool {
    use Value as V;
    let same = |a: f64, b: f64| a == b || nans && a.is_nan() && b.is_nan();
    match (a, b) {
        (V::Float(a), V::Float(b)) => same(*a, *b),
        (V::Array(a), V::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| is_same(a, b, false))
        }
        (V::Dictionary(a), V::Dictionary(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b.iter())
                    .all(|((a_key, a), (b_key, b))| is_same_key(a_key, b_key) && is_same(a, b, false))
        }
        _ if a.ty() != b.ty() => false,
        _ => match (reals(a), reals(b)) {
            (Some(mut a), Some(mut b)) => {
                a.len() == b.len() && a.all(|a| b.next().is_some_and(|b| a == b || a.is_nan() && b.is_nan()))
            }
            _ => a == b,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All trees made of `arrays` Arrays.
    fn trees(arrays: usize) -> Vec<Value> {
        forests(arrays - 1).into_iter().map(Value::from).collect()
    }

    fn forests(arrays: usize) -> Vec<Vec<Value>> {
        if arrays == 0 {
            return vec![Vec::new()];
        }
        let with_first = |count: usize| {
            let rests = forests(arrays - count);
            trees(count).into_iter().flat_map(move |first| {
                rests.clone().into_iter().map(move |rest| [vec![first.clone()], rest].concat())
            })
        };
        (1..=arrays).flat_map(with_first).collect()
    }

    /// Trees with equal hashes would make a Dictionary of such keys take quadratic time.
    #[test]
    fn different_trees_have_different_hashes() {
        let hasher = RandomState::new();
        let trees = trees(9);
        let mut hashes: Vec<u64> = trees.iter().map(|tree| hash_of_key(tree, &hasher)).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!((trees.len(), hashes.len()), (1430, 1430));
    }
}
