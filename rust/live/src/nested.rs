//! Limits nested calls.

use std::cell::Cell;

use variant_codec::{Error, Result};

/// A call whose scripts may call the library again. Without a limit, a setter that decodes its own data, or a
/// getter that encodes its object, would overflow the stack.
pub struct Nested(());

/// The running calls on a thread.
#[derive(Clone, Copy)]
struct Running {
    calls: u32,
    /// The stack position of the first call.
    start: usize,
}

thread_local! {
    static RUNNING: Cell<Running> = const { Cell::new(Running { calls: 0, start: 0 }) };
}

impl Nested {
    const MOST: u32 = 64;
    /// The stack in bytes that running calls may have used when another call begins. That call may use 4 MiB
    /// more, if its value has 1024 levels of nesting.
    const MOST_STACK: usize = 1 << 20;

    /// Begins a call, which ends when this is dropped.
    ///
    /// # Errors
    /// Fails if there are too many calls, or they use too much stack.
    pub fn enter() -> Result<Self> {
        let Running { calls, start } = RUNNING.get();
        let here = stack_position();
        let start = if calls == 0 { here } else { start };
        if calls >= Self::MOST || start.abs_diff(here) > Self::MOST_STACK {
            return Err(Error::argument(format!(
                "{calls} nested calls: a setter, getter or `_init` calls the codec endlessly, or for deeply nested values"
            )));
        }
        RUNNING.set(Running { calls: calls + 1, start });
        Ok(Self(()))
    }
}

#[inline(never)]
fn stack_position() -> usize {
    let marker = 0_u8;
    std::hint::black_box(&raw const marker).addr()
}

impl Drop for Nested {
    fn drop(&mut self) {
        let running = RUNNING.get();
        RUNNING.set(Running { calls: running.calls - 1, ..running });
    }
}
