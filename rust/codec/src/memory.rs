//! Whether there is memory for what comes, asked before it is allocated.
//!
//! An engine's containers, and many of Rust's, end the process where there is none.
//!
//! ```
//! use variant_codec::memory::check_memory;
//!
//! assert!(check_memory(1 << 10).is_ok());
//! assert!(check_memory(usize::MAX).is_err());
//! ```

use std::hint::black_box;

use crate::error::{ErrorKind, Result};

/// Less than this is not asked for: it fits into what is kept free.
const SMALL: usize = 1 << 20;
/// What should be left for small things. More than 32 MiB, so that the C library does not take what is asked for and given
/// back for what the program usually needs, and change its ways.
const SPARE: usize = 33 << 20;

/// Fails if there is no memory for this many bytes in one piece and for small allocations beside it. On the web, it fails only for sizes
/// that never fit: asking is an allocation, and a page's memory does not shrink again.
///
/// # Errors
/// [`ErrorKind::OutOfMemory`].
#[inline]
pub fn check_memory(bytes: usize) -> Result<()> {
    if bytes < SMALL { Ok(()) } else { ask(bytes) }
}

#[cold]
#[inline(never)]
fn ask(bytes: usize) -> Result<()> {
    // Engines round up.
    let wanted = bytes.checked_next_power_of_two().and_then(|bytes| bytes.checked_add(SPARE));
    let mut probe = Vec::<u8>::new();
    let can_have = |wanted| match cfg!(target_family = "wasm") {
        true => isize::try_from(wanted).is_ok(),
        false => probe.try_reserve_exact(wanted).is_ok(),
    };
    let has_memory = wanted.is_some_and(can_have);
    // The compiler must not take it for granted.
    black_box(&mut probe);
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
