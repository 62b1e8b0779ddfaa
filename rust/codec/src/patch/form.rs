//! What patches are made of, and what is checked of values.

use crate::check::check;
use crate::ends::Ends;
use crate::error::{ErrorKind, Result};
use crate::limits::Limits;

/// The key of a patch's version, the only one so far, and that of the change.
pub const VERSION_KEY: &str = "patch";
pub const VERSION: i64 = 1;
pub const CHANGE_KEY: &str = "change";
/// What a change starts with.
pub const SET: &str = "set";
pub const BYTES: &str = "bytes";
pub const DICTIONARY: &str = "dictionary";
pub const ARRAY: &str = "array";
pub const PACKED: &str = "packed";
/// Changes in changes: what lies deeper is replaced as a whole.
pub const MAX_CHANGES: u32 = 64;

/// Reads bytes as strictly as [`Value::decode`](crate::Value::decode). What is not canonical is refused, even if the limits allow it:
/// patches compare bytes.
pub fn checked(bytes: &[u8], limits: &Limits) -> Result<Ends> {
    if limits.allow_non_canonical {
        return check(bytes, &Limits { allow_non_canonical: false, ..limits.clone() });
    }
    check(bytes, limits)
}

/// An empty vector with this capacity.
pub fn with_capacity<T>(count: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    reserve(&mut list, count)?;
    Ok(list)
}

/// Makes room for so many more.
pub fn reserve<T>(list: &mut Vec<T>, count: usize) -> Result<()> {
    let bytes = (list.len().saturating_add(count)).saturating_mul(size_of::<T>());
    list.try_reserve_exact(count).map_err(|_| ErrorKind::OutOfMemory(bytes).into())
}

/// Adds an element to a vector.
pub fn push<T>(list: &mut Vec<T>, element: T) -> Result<()> {
    if list.len() == list.capacity() {
        reserve(list, list.len().max(4))?;
    }
    list.push(element);
    Ok(())
}
