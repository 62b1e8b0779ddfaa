//! When two values are the same key: the engine's `StringLikeVariantComparator` and `Variant::hash_compare`.

use std::hash::{BuildHasher as _, Hash as _, Hasher, RandomState};

use hashbrown::HashTable;

use super::types::{PackedReals, Reals, Value};
use crate::error::{ErrorKind, Oddity, Result};

/// So few keys are compared one by one.
const FEW: usize = 8;

/// Refuses a Dictionary that has a key twice, which the engine's encoder never writes: decoded by the engine, the last value would
/// count. Keys that are the same have the same of these hashes.
pub(crate) fn refuse_repeated_keys(entries: &[(Value, Value)], hashes: &[u64]) -> Result<()> {
    let repeated = || Err(ErrorKind::NotCanonical(Oddity::DuplicateKey).into());
    if entries.len() <= FEW {
        let is_before = |(index, ((key, _), hash)): (usize, (&(Value, Value), &u64))| {
            entries[..index]
                .iter()
                .zip(hashes)
                .any(|((other, _), other_hash)| hash == other_hash && is_same_key(key, other))
        };
        return if entries.iter().zip(hashes).enumerate().any(is_before) { repeated() } else { Ok(()) };
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
        let is_same = |(_, other): &(u64, usize)| is_same_key(&entries[*other].0, key);
        if seen.find(hash, is_same).is_some() {
            return repeated();
        }
        seen.insert_unique(hash, (hash, index), |(hash, _)| *hash);
    }
    Ok(())
}

/// The same for keys that are the same.
pub(crate) fn hash_of_key(key: &Value, hasher: &RandomState) -> u64 {
    let mut state = hasher.build_hasher();
    hash_key(key, &mut state);
    state.finish()
}

/// The same for values that are the same, but no texts: as keys, they are the same whatever their type.
pub(crate) fn hash_of_leaf(value: &Value, hasher: &RandomState) -> u64 {
    let mut state = hasher.build_hasher();
    hash(value, &mut state);
    state.finish()
}

fn hash_key(key: &Value, state: &mut impl Hasher) {
    match key.as_str() {
        Some(text) => text.hash(state),
        None => hash(key, state),
    }
}

fn hash(value: &Value, state: &mut impl Hasher) {
    use Value as V;
    state.write_u8(value.ty().id());
    match value {
        V::Nil => {}
        V::Bool(bool) => bool.hash(state),
        V::String(text) | V::StringName(text) => text.hash(state),
        V::Int(int) => state.write_i64(*int),
        V::Float(float) => hash_reals(&[*float], state),
        V::Vector2(reals) => hash_each(reals, state),
        V::Rect2(reals) => hash_each(reals, state),
        V::Vector3(reals) => hash_each(reals, state),
        V::Transform2D(reals) => hash_each(reals, state),
        V::Vector4(reals) | V::Plane(reals) => hash_each(reals, state),
        V::Quaternion(reals) => hash_each(reals, state),
        V::Aabb(reals) => hash_each(reals, state),
        V::Basis(reals) => hash_each(reals, state),
        V::Transform3D(reals) => hash_each(reals, state),
        V::Projection(reals) => hash_each(reals, state),
        V::Color(reals) => hash_reals(reals, state),
        V::PackedFloat32Array(reals) => hash_reals(reals, state),
        V::PackedFloat64Array(reals) => hash_reals(reals, state),
        V::PackedVector2Array(reals) => hash_packed(reals, state),
        V::PackedVector3Array(reals) => hash_packed(reals, state),
        V::PackedVector4Array(reals) => hash_packed(reals, state),
        V::PackedColorArray(reals) => hash_reals(reals.as_flattened(), state),
        // With the counts, no two trees have the same sequence of hashed numbers.
        V::Array(array) => {
            state.write_usize(array.len());
            array.iter().for_each(|element| hash(element, state));
        }
        V::Dictionary(dictionary) => {
            state.write_usize(dictionary.len());
            dictionary.iter().for_each(|(key, value)| {
                hash_key(key, state);
                hash(value, state);
            });
        }
        // Without reals, equal values have equal bytes.
        _ => state.write(&value.encode().unwrap_or_default()),
    }
}

/// Zeros are the same, and so are NaNs.
fn hash_reals<T: Copy + Into<f64>>(reals: &[T], state: &mut impl Hasher) {
    state.write_usize(reals.len());
    for real in reals {
        let real: f64 = (*real).into();
        let real = if real == 0.0 { 0.0 } else { real };
        state.write_u64(if real.is_nan() { f64::NAN } else { real }.to_bits());
    }
}

fn hash_each<const N: usize>(reals: &Reals<N>, state: &mut impl Hasher) {
    match reals {
        Reals::Single(reals) => hash_reals(reals, state),
        Reals::Double(reals) => hash_reals(reals, state),
    }
}

fn hash_packed<const N: usize>(reals: &PackedReals<N>, state: &mut impl Hasher) {
    match reals {
        PackedReals::Single(reals) => hash_reals(reals.as_flattened(), state),
        PackedReals::Double(reals) => hash_reals(reals.as_flattened(), state),
    }
}

/// Whether a Dictionary takes the two for one key.
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
        (V::Vector2(a), V::Vector2(b)) => are_same(a, b),
        (V::Rect2(a), V::Rect2(b)) => are_same(a, b),
        (V::Vector3(a), V::Vector3(b)) => are_same(a, b),
        (V::Transform2D(a), V::Transform2D(b)) => are_same(a, b),
        (V::Vector4(a), V::Vector4(b)) | (V::Plane(a), V::Plane(b)) => are_same(a, b),
        (V::Quaternion(a), V::Quaternion(b)) => are_same(a, b),
        (V::Aabb(a), V::Aabb(b)) => are_same(a, b),
        (V::Basis(a), V::Basis(b)) => are_same(a, b),
        (V::Transform3D(a), V::Transform3D(b)) => are_same(a, b),
        (V::Projection(a), V::Projection(b)) => are_same(a, b),
        (V::Color(a), V::Color(b)) => all_same(a, b),
        (V::PackedFloat32Array(a), V::PackedFloat32Array(b)) => all_same(a, b),
        (V::PackedFloat64Array(a), V::PackedFloat64Array(b)) => all_same(a, b),
        (V::PackedVector2Array(a), V::PackedVector2Array(b)) => packed_same(a, b),
        (V::PackedVector3Array(a), V::PackedVector3Array(b)) => packed_same(a, b),
        (V::PackedVector4Array(a), V::PackedVector4Array(b)) => packed_same(a, b),
        (V::PackedColorArray(a), V::PackedColorArray(b)) => all_same(a.as_flattened(), b.as_flattened()),
        (V::Array(a), V::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| is_same(a, b, false))
        }
        (V::Dictionary(a), V::Dictionary(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b.iter())
                    .all(|((a_key, a), (b_key, b))| is_same_key(a_key, b_key) && is_same(a, b, false))
        }
        _ => a == b,
    }
}

fn all_same<A: Copy + Into<f64>, B: Copy + Into<f64>>(a: &[A], b: &[B]) -> bool {
    let same = |(a, b): (&A, &B)| {
        let (a, b): (f64, f64) = ((*a).into(), (*b).into());
        a == b || a.is_nan() && b.is_nan()
    };
    a.len() == b.len() && a.iter().zip(b).all(same)
}

fn are_same<const N: usize>(a: &Reals<N>, b: &Reals<N>) -> bool {
    match (a, b) {
        (Reals::Single(a), Reals::Single(b)) => all_same(a, b),
        (Reals::Double(a), Reals::Double(b)) => all_same(a, b),
        (Reals::Single(a), Reals::Double(b)) | (Reals::Double(b), Reals::Single(a)) => all_same(a, b),
    }
}

fn packed_same<const N: usize>(a: &PackedReals<N>, b: &PackedReals<N>) -> bool {
    match (a, b) {
        (PackedReals::Single(a), PackedReals::Single(b)) => all_same(a.as_flattened(), b.as_flattened()),
        (PackedReals::Double(a), PackedReals::Double(b)) => all_same(a.as_flattened(), b.as_flattened()),
        (PackedReals::Single(a), PackedReals::Double(b))
        | (PackedReals::Double(b), PackedReals::Single(a)) => all_same(a.as_flattened(), b.as_flattened()),
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
