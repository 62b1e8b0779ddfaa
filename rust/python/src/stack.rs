//! A stack for deep values.

use pyo3::prelude::*;
use variant_codec::limits::Limit;
use variant_codec::{Error, ErrorKind, Result};

/// The number of levels that fit on the stack of any thread of Python, also in a debug build.
pub const SHALLOW: u32 = 64;
/// Enough for the 1024 levels of the format, also in a debug build. Unused stack takes no memory.
const STACK: usize = 256 << 20;

/// Calls `work`, and calls it again on a large stack if it fails because of [`SHALLOW`], unless that is the real limit.
///
/// Few values are that deep, and a thread takes tens of microseconds.
pub fn with_room<T: Send>(
    py: Python<'_>,
    deepest: u32,
    work: impl Fn(Python<'_>, bool) -> Result<T> + Sync,
) -> Result<T> {
    let found = work(py, false);
    match &found {
        Err(error) if deepest > SHALLOW && *error.kind() == too_deep() => {}
        _ => return found,
    }
    let on_thread = || {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(STACK);
            let thread = thread.spawn_scoped(scope, || Python::attach(|py| work(py, true)));
            let ended = thread.map_err(Error::other)?.join();
            ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    };
    py.detach(on_thread)
}

/// The error for a value with more levels than [`SHALLOW`].
pub fn too_deep() -> ErrorKind {
    ErrorKind::LimitExceeded(Limit::Depth, SHALLOW.into())
}
