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

use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{ErrorKind, Result};

/// Requests below this size in bytes are not checked, because memory is left for small allocations. Also the bytes that
/// values may take until the first check, and between checks if little memory is left.
pub const LEAST_CHECKED: usize = 256 << 10;
/// Memory to leave for small allocations. It is more than 32 MiB, so that the C library does not mistake the
/// probe for a typical allocation and adapt its thresholds.
const SPARE: usize = 33 << 20;

/// The bytes that values may take until the next check.
const STEP: usize = 4 << 20;
/// The address space of a heap. glibc gives each thread heaps of its own, and maps twice this size to align one. If it
/// cannot, it maps a page for each small allocation, so values take up to 64 times their memory.
const HEAP: usize = if cfg!(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64")) {
    64 << 20
} else {
    0
};

thread_local! {
    /// The number of other threads that work on the same call.
    static HELPERS: Cell<usize> = const { Cell::new(0) };
}

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
    if bytes < LEAST_CHECKED || has_memory(bytes, 0) {
        Ok(())
    } else {
        Err(ErrorKind::OutOfMemory(bytes).into())
    }
}

/// Returns whether `bytes` contiguous bytes, `more` bytes and some small allocations fit in memory.
#[cold]
#[inline(never)]
fn has_memory(bytes: usize, more: usize) -> bool {
    // Engines round allocations up to a power of two.
    let wanted =
        bytes.checked_next_power_of_two().and_then(|bytes| bytes.checked_add(more)?.checked_add(SPARE));
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
    has_memory
}

/// Fails if there is no memory for `bytes` more bytes in small allocations and for the values that follow. Returns how
/// many bytes those may take before the next check.
///
/// # Errors
/// [`ErrorKind::OutOfMemory`]. If other threads help, it fails while one thread could still go on.
#[cold]
pub fn check_step(bytes: usize) -> Result<usize> {
    let helpers = HELPERS.get();
    if has_memory(bytes, STEP.saturating_add(heaps(helpers))) {
        Ok(STEP)
    } else if helpers == 0 && has_memory(bytes, LEAST_CHECKED) {
        Ok(LEAST_CHECKED)
    } else {
        Err(ErrorKind::OutOfMemory(bytes.saturating_add(STEP)).into())
    }
}

/// Returns whether `bytes` bytes fit in memory, with the heaps of this thread and `helpers` others.
pub fn has_memory_with(helpers: usize, bytes: usize) -> bool {
    has_memory(bytes, heaps(helpers))
}

/// The address space with which this thread and `helpers` others each get a new heap.
fn heaps(helpers: usize) -> usize {
    HEAP.saturating_mul(helpers.saturating_add(2))
}

/// Runs `work` while `helpers` other threads work on the same call, so that [`check_step`] leaves memory for them.
pub fn with_helpers<R>(helpers: usize, work: impl FnOnce() -> R) -> R {
    struct Restore(usize);

    impl Drop for Restore {
        fn drop(&mut self) {
            HELPERS.set(self.0);
        }
    }

    let before = HELPERS.get();
    let _restore = Restore(before);
    HELPERS.set(before.saturating_add(helpers));
    work()
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
