//! Keeps the library loaded while its threads run.

/// Keeps this library loaded until the process ends, even if something unloads it. Returns whether this succeeded.
#[cfg(all(unix, not(target_family = "wasm")))]
pub fn keep_loaded() -> bool {
    let mut library = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `dladdr` takes any address and fills `library`, for which null pointers are valid too. The
    // library is loaded, so its path is valid. Opening it again runs nothing and only adds a reference, which
    // is never released.
    unsafe {
        let address = keep_loaded as *const () as *const libc::c_void;
        libc::dladdr(address, library.as_mut_ptr()) != 0
            && !libc::dlopen(library.assume_init().dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD).is_null()
    }
}

/// Keeps this library loaded until the process ends, even if something unloads it. Returns whether this succeeded.
#[cfg(windows)]
pub fn keep_loaded() -> bool {
    use std::ffi::c_void;
    /// `GET_MODULE_HANDLE_EX_FLAG_PIN` and `GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS`.
    const PIN_BY_ADDRESS: u32 = 1 | 4;
    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn GetModuleHandleExW(flags: u32, address: *const c_void, module: *mut *mut c_void) -> i32;
    }
    let mut module = std::ptr::null_mut();
    // SAFETY: the signature is the documented one. With these flags, the function takes an address in a
    // module, and writes `module`.
    unsafe {
        GetModuleHandleExW(PIN_BY_ADDRESS, keep_loaded as *const () as *const c_void, &raw mut module) != 0
    }
}

/// Returns true: nothing unloads a library on the web.
#[cfg(target_family = "wasm")]
pub fn keep_loaded() -> bool {
    true
}
