//! Lists that grow with the results, and fail if there is no memory.

use godot::builtin::{VarArray, Variant};
use variant_codec::memory::check_memory;
use variant_codec::{ErrorKind, Result};

/// Adds an element.
///
/// # Errors
/// [`ErrorKind::OutOfMemory`].
pub fn add<T>(list: &mut Vec<T>, element: T) -> Result<()> {
    if list.len() == list.capacity() {
        // This check leaves memory for the engine.
        check_memory(list.len().saturating_mul(2 * size_of::<T>()))?;
    }
    list.try_reserve(1)
        .map_err(|_| ErrorKind::OutOfMemory((list.len() + 1).saturating_mul(size_of::<T>())))?;
    list.push(element);
    Ok(())
}

/// Adds a value to an Array, which the engine doubles when it is full.
///
/// # Errors
/// [`ErrorKind::OutOfMemory`].
pub fn push(values: &mut VarArray, value: &Variant) -> Result<()> {
    let count = values.len();
    if count.is_power_of_two() {
        check_memory(count.saturating_mul(2 * size_of::<Variant>()))?;
    }
    values.push(value);
    Ok(())
}
