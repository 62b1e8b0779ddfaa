//! The keys and kinds of patches, and helpers shared by `diff` and `apply`.

use std::collections::HashMap;
use std::hash::Hash;

use crate::check::check;
use crate::ends::Ends;
use crate::error::{ErrorKind, Result};
use crate::limits::Limits;

/// The keys of a patch, and the only version so far.
pub const VERSION_KEY: &str = "patch";
pub const VERSION: i64 = 1;
pub const CHANGE_KEY: &str = "change";
/// The kinds of changes. The first element of a change is its kind.
pub const SET: &str = "set";
pub const BYTES: &str = "bytes";
pub const DICTIONARY: &str = "dictionary";
pub const ARRAY: &str = "array";
pub const PACKED: &str = "packed";
/// The maximum nesting of changes. Deeper values are replaced as a whole.
pub const MAX_CHANGES: u32 = 64;

/// Checks bytes as strictly as [`Value::decode`](crate::Value::decode). Refuses non-canonical encodings even if the
/// limits allow them, because patches compare bytes.
pub fn checked(bytes: &[u8], limits: &Limits) -> Result<Ends> {
    let checked = if limits.allow_non_canonical {
        check(bytes, &Limits { allow_non_canonical: false, ..limits.clone() })
    } else {
        check(bytes, limits)
    };
    checked.map_err(|error| match *error.kind() {
        // Limits cannot allow them here.
        ErrorKind::NotCanonical(oddity) if oddity.is_harmless() => {
            error.with_kind(ErrorKind::NotComparable(oddity))
        }
        _ => error,
    })
}

pub fn with_capacity<T>(count: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    reserve(&mut list, count)?;
    Ok(list)
}

pub fn map_with_capacity<K: Eq + Hash, V>(count: usize) -> Result<HashMap<K, V>> {
    let mut map = HashMap::new();
    // A table has free slots, and a byte for each slot.
    let bytes = count.saturating_mul(2 * (size_of::<(K, V)>() + 1));
    map.try_reserve(count).map_err(|_| ErrorKind::OutOfMemory(bytes))?;
    Ok(map)
}

pub fn reserve<T>(list: &mut Vec<T>, count: usize) -> Result<()> {
    let bytes = (list.len().saturating_add(count)).saturating_mul(size_of::<T>());
    list.try_reserve_exact(count).map_err(|_| ErrorKind::OutOfMemory(bytes).into())
}

pub fn push<T>(list: &mut Vec<T>, element: T) -> Result<()> {
    if list.len() == list.capacity() {
        reserve(list, list.len().max(4))?;
    }
    list.push(element);
    Ok(())
}
