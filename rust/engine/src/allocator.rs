//! The allocator of the library.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::thread::yield_now;

use variant_codec::memory::checks;

/// Allocations of this size or more are not repeated: callers check for their memory first, and a check's own
/// allocation must not wait for other checks.
const SMALL: usize = 1 << 20;

/// The system's allocator. A small allocation that fails while other threads check for free memory is repeated, because
/// a check takes memory for a moment.
pub struct Allocator;

/// Repeats a failed allocation of less than [`SMALL`] bytes until it succeeds, or fails while no check is running.
#[cold]
#[inline(never)]
fn repeat(size: usize, allocate: impl Fn() -> *mut u8) -> *mut u8 {
    if size >= SMALL {
        return null_mut();
    }
    loop {
        let (begun, ended) = checks();
        let block = allocate();
        if !block.is_null() || (begun == ended && checks() == (begun, ended)) {
            return block;
        }
        yield_now();
    }
}

// SAFETY: each function passes its arguments to the same function of `System`, for which the caller fulfils the same
// conditions, and returns one of its results. A failed `realloc` leaves its block valid. Nothing here unwinds.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let allocate = || unsafe { System.alloc(layout) };
        let block = allocate();
        if block.is_null() { repeat(layout.size(), allocate) } else { block }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let allocate = || unsafe { System.alloc_zeroed(layout) };
        let block = allocate();
        if block.is_null() { repeat(layout.size(), allocate) } else { block }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        let allocate = || unsafe { System.realloc(block, layout, size) };
        let block = allocate();
        if block.is_null() { repeat(size, allocate) } else { block }
    }
}
