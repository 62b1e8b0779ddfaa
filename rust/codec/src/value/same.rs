//! When two values are the same key: the engine's `StringLikeVariantComparator` and `Variant::hash_compare`.

use std::hash::{BuildHasher as _, Hash as _, Hasher, RandomState};

use hashbrown::HashTable;

use super::components::Components;
use super::types::Value;
use crate::error::{ErrorKind, Oddity, Result};

/// So few keys are compared one by one.
const FEW: usize = 8;

/// Refuses a Dictionary that has a key twice, which the engine's encoder never writes: decoded by the engine, the last value would
/// count. Keys that are the same have the same of these hashes.
pub(crate) fn refuse_repeated_keys(entries: &[(Value, Value)], hashes: &[u64]) -> Result<()> {
    match repeated_key(entries, hashes)? {
        Some(_) => Err(ErrorKind::NotCanonical(Oddity::DuplicateKey).into()),
        None => Ok(()),
    }
}

/// The index of the first key that is the same as one before it. Keys that are the same have the same of these hashes.
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
        // With a NaN inside, a key is like no other, and all of them have one hash.
        if !is_same_key(key, key) {
            continue;
        }
        let is_same = |(_, other): &(u64, usize)| may_be_same_key(&entries[*other].0, key);
        if seen.find(hash, is_same).is_some() {
            return Ok(Some(index));
        }
        seen.insert_unique(hash, (hash, index), |(hash, _)| *hash);
    }
    Ok(None)
}

/// The same for keys that may be the same.
pub(crate) fn hash_of_key(key: &Value, hasher: &RandomState) -> u64 {
    let mut state = hasher.build_hasher();
    hash_key(key, hasher, &mut state);
    state.finish()
}

/// The same for values that are the same, but no texts: as keys, they are the same whatever their type.
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

fn hash(value: &Value, hasher: &RandomState, state: &mut impl Hasher) {
    use Value as V;
    state.write_u8(value.ty().id());
    match value {
        V::Nil => {}
        V::Bool(bool) => bool.hash(state),
        V::String(text) | V::StringName(text) => text.hash(state),
        V::Int(int) => state.write_i64(*int),
        V::Float(float) => hash_reals([*float].into_iter(), state),
        // With the counts, no two trees have the same sequence of hashed numbers.
        V::Array(array) => {
            state.write_usize(array.len());
            array.iter().for_each(|element| hash(element, hasher, state));
        }
        V::Dictionary(dictionary) => {
            state.write_usize(dictionary.len());
            // The same in any order.
            let entries = dictionary.iter().map(|(key, value)| {
                let mut state = hasher.build_hasher();
                hash_key(key, hasher, &mut state);
                hash(value, hasher, &mut state);
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

/// Zeros are the same, and so are NaNs.
fn hash_reals(reals: impl ExactSizeIterator<Item = f64>, state: &mut impl Hasher) {
    state.write_usize(reals.len());
    for real in reals {
        let real = if real == 0.0 { 0.0 } else { real };
        state.write_u64(if real.is_nan() { f64::NAN } else { real }.to_bits());
    }
}

/// The floats that a value is made of, as an engine holds them: it has one precision, and rounds components that are written in the other
/// one.
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

/// Whether a Dictionary may take the two for one key. The engine compares Dictionaries in any order, but hashes them in that of their
/// entries. If the hashes happen to be equal, two Dictionaries in different orders are one key.
pub(crate) fn may_be_same_key(a: &Value, b: &Value) -> bool {
    let may_differ_in_order =
        || a.ty() == b.ty() && has_dictionary(a) && has_dictionary(b) && is_same_key(a, a);
    is_same_key(a, b)
        || may_differ_in_order() && {
            let hasher = RandomState::new();
            hash_of_key(a, &hasher) == hash_of_key(b, &hasher)
        }
}

/// Whether the value is a Dictionary of more than one entry, or one lies in it.
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

/// Whether a Dictionary takes the two for one key, if Dictionaries in them have the same order.
pub(crate) fn is_same_key(a: &Value, b: &Value) -> bool {
    match (a.as_str(), b.as_str()) {
        (Some(a), Some(b)) => a == b,
        _ => is_same(a, b, true),
    }
}

/// Whether the two are the same value. NaNs are, unless they lie in an Array or Dictionary.
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

    /// All trees of so many empty Arrays.
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

    /// A Dictionary of keys with one hash takes quadratic time.
    #[test]
    fn trees_have_different_hashes() {
        let hasher = RandomState::new();
        let trees = trees(9);
        let mut hashes: Vec<u64> = trees.iter().map(|tree| hash_of_key(tree, &hasher)).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!((trees.len(), hashes.len()), (1430, 1430));
    }
}
