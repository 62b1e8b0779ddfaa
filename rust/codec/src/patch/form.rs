//! What patches are made of, and what is checked of values.

use crate::check::quick_check;
use crate::decoder::Decoder;
use crate::encoder::{EncodeOptions, Measure};
use crate::error::{ErrorKind, Result};
use crate::limits::{Limits, Strictness};

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

/// Reads bytes as strictly as [`Value::decode`](crate::Value::decode), and builds nothing. What is not canonical is refused, even
/// if the limits allow it: patches compare bytes.
pub fn check(bytes: &[u8], limits: &Limits) -> Result<()> {
    if limits.allow_non_canonical {
        return check(bytes, &Limits { allow_non_canonical: false, ..limits.clone() });
    }
    if quick_check(bytes, limits).is_some() {
        return Ok(());
    }
    let mut measure = Measure::counting(EncodeOptions::default());
    Decoder::new(bytes, Strictness::Strict, limits).decode_only(&mut measure).map(drop)
}

/// A vector with room for so many.
pub fn room<T>(count: usize) -> Result<Vec<T>> {
    let mut room = Vec::new();
    let bytes = count.saturating_mul(size_of::<T>());
    room.try_reserve_exact(count).map_err(|_| ErrorKind::OutOfMemory(bytes))?;
    Ok(room)
}
