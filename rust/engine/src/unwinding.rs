//! Unwinding on the web, so that a panic is caught there too.
//!
//! Rust's unwinder expects three symbols from the C++ runtime: the exception tag and two functions of
//! libunwind. Godot is compiled without C++ exceptions and does not export these symbols. No exception
//! leaves the library, so it can define its own tag.

use std::arch::global_asm;
use std::ffi::c_int;

global_asm!(".globl __cpp_exception", ".tagtype __cpp_exception i32", "__cpp_exception:");

unsafe extern "C-unwind" {
    /// The WebAssembly instruction `throw`. Tag 0 is `__cpp_exception`.
    #[link_name = "llvm.wasm.throw"]
    fn throw(tag: i32, exception: *mut Exception) -> !;
}

/// `_URC_FOREIGN_EXCEPTION_CAUGHT` of libunwind.
const CAUGHT_ELSEWHERE: c_int = 1;

/// The start of libunwind's `_Unwind_Exception`.
#[repr(C)]
struct Exception {
    class: u64,
    cleanup: Option<unsafe extern "C" fn(c_int, *mut Exception)>,
}

/// # Safety
/// Only Rust's runtime calls this function, with an exception that the runtime created.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _Unwind_RaiseException(exception: *mut Exception) -> c_int {
    // SAFETY: Rust's runtime catches what it throws.
    unsafe { throw(0, exception) }
}

/// # Safety
/// Only Rust's runtime calls this function, with an exception that the runtime caught.
#[unsafe(no_mangle)]
unsafe extern "C" fn _Unwind_DeleteException(exception: *mut Exception) {
    // SAFETY: Rust's runtime created the exception and its cleanup function.
    if let Some(cleanup) = unsafe { (*exception).cleanup } {
        // SAFETY: the cleanup function belongs to this exception.
        unsafe { cleanup(CAUGHT_ELSEWHERE, exception) }
    }
}
