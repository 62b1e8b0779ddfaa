//! Checks for free memory before an allocation.
//!
//! An engine's containers, and many of Rust's, end the process if an allocation fails.
//!
//! ```
//! use variant_codec::memory::check_memory;
//!
//! assert!(check_memory(1 << 10).is_ok());
//! assert!(check_memory(usize::MAX).is_err());
//! ```

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{ErrorKind, Result};

/// Requests below this size in bytes are not checked, because memory is left for small allocations.
pub const LEAST_CHECKED: usize = 256 << 10;
/// Memory to leave for small allocations. It is more than 32 MiB, so that the C library does not mistake the
/// probe for a typical allocation and adapt its thresholds.
const SPARE: usize = 33 << 20;

static BEGUN: AtomicUsize = AtomicUsize::new(0);
static ENDED: AtomicUsize = AtomicUsize::new(0);

/// The number of checks begun since the start, and the number ended. Each check takes memory for a moment, so
/// an allocation that fails meanwhile may succeed after it.
pub fn checks() -> (usize, usize) {
    // `ENDED` is read first, so that equal numbers mean that no check is running.
    let ended = ENDED.load(Ordering::SeqCst);
    (BEGUN.load(Ordering::SeqCst), ended)
}

/// Fails if there is no memory for `bytes` contiguous bytes and some small allocations. On the web, it fails
/// only for sizes that never fit: a probe would enlarge the page's memory, which never shrinks.
///
/// # Errors
/// [`ErrorKind::OutOfMemory`].
#[inline]
pub fn check_memory(bytes: usize) -> Result<()> {
    if bytes < LEAST_CHECKED { Ok(()) } else { ask(bytes) }
}

#[cold]
#[inline(never)]
fn ask(bytes: usize) -> Result<()> {
    // Engines round allocations up to a power of two.
    let wanted = bytes.checked_next_power_of_two().and_then(|bytes| bytes.checked_add(SPARE));
    BEGUN.fetch_add(1, Ordering::SeqCst);
    let mut probe = Vec::<u8>::new();
    let can_have = |wanted| match cfg!(target_family = "wasm") {
        true => isize::try_from(wanted).is_ok(),
        false => probe.try_reserve_exact(wanted).is_ok(),
    };
    let has_memory = wanted.is_some_and(can_have);
    // The compiler must not remove the probe.
    black_box(&mut probe);
    drop(probe);
    ENDED.fetch_add(1, Ordering::SeqCst);
    if has_memory { Ok(()) } else { Err(ErrorKind::OutOfMemory(bytes).into()) }
}

/// A copy of these bytes.
///
/// # Errors
/// [`ErrorKind::OutOfMemory`].
pub fn copied(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.len()).map_err(|_| ErrorKind::OutOfMemory(bytes.len()))?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}
