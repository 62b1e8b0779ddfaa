//! Calls inside of each other.

use std::cell::Cell;

use variant_codec::{Error, Result};

/// A call whose scripts may call again. Without a limit, a setter that decodes its own data would overflow the stack: each level takes up
/// to 10 KB of it.
pub struct Nested(());

thread_local! {
    /// How many there are on this thread.
    static RUNNING: Cell<u32> = const { Cell::new(0) };
}

impl Nested {
    const MOST: u32 = 64;

    /// Begins a call, which ends when this is dropped.
    ///
    /// # Errors
    /// Fails if there are too many.
    pub fn enter() -> Result<Self> {
        let outer = RUNNING.get();
        if outer >= Self::MOST {
            return Err(Error::argument(format!(
                "{outer} calls inside of each other: a setter, getter or `_init` calls without end"
            )));
        }
        RUNNING.set(outer + 1);
        Ok(Self(()))
    }
}

impl Drop for Nested {
    fn drop(&mut self) {
        RUNNING.set(RUNNING.get() - 1);
    }
}
