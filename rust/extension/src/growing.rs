//! Lists that grow with the results, and fail if there is no memory.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};

use godot::builtin::{VarArray, Variant};
use variant_codec::memory::check_memory;
use variant_codec::{ErrorKind, Result};
use variant_engine::{Reader, text_of};

/// Adds an element.
///
/// # Errors
/// [`ErrorKind::OutOfMemory`].
pub fn add<T>(list: &mut Vec<T>, element: T) -> Result<()> {
    make_room(list, 1)?;
    list.push(element);
    Ok(())
}

/// Makes room for `count` more elements.
///
/// # Errors
/// [`ErrorKind::OutOfMemory`].
pub fn make_room<T>(list: &mut Vec<T>, count: usize) -> Result<()> {
    if list.capacity() - list.len() >= count {
        return Ok(());
    }
    let wanted = list.len().saturating_add(count).max(list.len().saturating_mul(2));
    let bytes = wanted.saturating_mul(size_of::<T>());
    // This check leaves memory for the engine.
    check_memory(bytes)?;
    list.try_reserve(count).map_err(|_| ErrorKind::OutOfMemory(bytes).into())
}

/// Makes room for one more entry.
///
/// # Errors
/// [`ErrorKind::OutOfMemory`].
pub fn make_room_in_map<K: Eq + Hash, V, S: BuildHasher>(map: &mut HashMap<K, V, S>) -> Result<()> {
    if map.len() < map.capacity() {
        return Ok(());
    }
    // A table has at most two places for each entry, and a byte of control for each place.
    let bytes = (4 * map.capacity()).saturating_mul(size_of::<(K, V)>() + 1);
    check_memory(bytes)?;
    map.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory(bytes).into())
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
    // The engine prints an error and adds nothing if there is no memory.
    if values.len() == count {
        Err(ErrorKind::OutOfMemory(count.saturating_mul(2 * size_of::<Variant>())).into())
    } else {
        Ok(())
    }
}

/// The text of a name. Checks for memory for three copies in UTF-32, because the engine copies names as well.
///
/// # Errors
/// [`ErrorKind::OutOfMemory`].
pub fn text_of_name(name: &Variant) -> Result<String> {
    let name = name.stringify();
    check_memory(Reader::new().units(&name).len().saturating_mul(3 * size_of::<char>()))?;
    Ok(text_of(&name))
}
