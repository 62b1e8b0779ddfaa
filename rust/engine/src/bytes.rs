//! Writes and borrows the bytes of PackedByteArrays.

use godot::builtin::PackedByteArray;
use variant_codec::{ErrorKind, Result};

use crate::interface::interface;

/// Replaces the contents of a PackedByteArray with these bytes.
///
/// # Errors
/// [`ErrorKind::OutOfMemory`].
#[inline(always)]
pub fn set_bytes(array: &mut PackedByteArray, bytes: &[u8]) -> Result<()> {
    if interface().set_bytes(array, bytes) { Ok(()) } else { Err(ErrorKind::OutOfMemory(bytes.len()).into()) }
}

/// A PackedByteArray of `len` bytes.
///
/// # Errors
/// [`ErrorKind::OutOfMemory`].
pub fn new_bytes(len: usize) -> Result<PackedByteArray> {
    let mut array = PackedByteArray::new();
    array.resize(len);
    if array.len() == len { Ok(array) } else { Err(ErrorKind::OutOfMemory(len).into()) }
}

/// The elements of a PackedByteArray.
#[inline(always)]
pub fn bytes(array: &PackedByteArray) -> &[u8] {
    interface().bytes(array)
}
