//! The header of patches, the kinds of changes, and helpers shared by `diff` and `apply`.

use std::collections::HashMap;
use std::hash::Hash;

use crate::check::check;
use crate::decoder::Decoder;
use crate::ends::Ends;
use crate::error::{ErrorKind, Result};
use crate::fingerprint::Fingerprint;
use crate::limits::{Limits, Strictness};

/// The bytes before the body of a patch: the three of [`NAME`], that of a [`Body`], and the fingerprint of the old
/// value, a little-endian u64.
pub const HEADER: usize = 12;
pub const NAME: &[u8; 3] = b"FVP";

/// The bytes after the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Nothing: the new value is the old one.
    Nothing = 0,
    /// The new value.
    Value = 1,
    /// The change of the outermost value.
    Change = 2,
}

impl Body {
    pub const ALL: [Self; 3] = [Self::Nothing, Self::Value, Self::Change];
}

/// The kinds of changes. The first element of a change is its kind.
pub const SET: &str = "set";
pub const DICTIONARY: &str = "dictionary";
pub const ARRAY: &str = "array";
pub const PACKED: &str = "packed";
/// The bytes that the change `["set", value]` takes beside the value.
pub const SET_BYTES: usize = 20;
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

/// The fingerprint of bytes that are [`checked`].
pub fn fingerprint(bytes: &[u8], limits: &Limits) -> Result<u64> {
    let mut sink = Fingerprint::new(None);
    Decoder::new(bytes, Strictness::Strict, limits).decode_only(&mut sink)?;
    Ok(sink.finish())
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
