//! Starts and stops the library.
#![expect(unsafe_code, reason = "godot-rust wants it for an entry point")]

use godot::init::{ExtensionLibrary, InitStage, gdextension};

use godot::sys;
use variant_engine::{fits_precision, with_checked_arguments};

use variant_live::{panics, settings, threads};

use crate::api;

struct Extension;

// SAFETY: as godot-rust demands, nothing in this library is called before `start` or after `stop`.
#[gdextension(entry_symbol = godot_rust_init)]
unsafe impl ExtensionLibrary for Extension {
    fn on_stage_init(stage: InitStage) {
        if stage == InitStage::Scene {
            start();
        }
    }

    fn on_stage_deinit(stage: InitStage) {
        if stage == InitStage::Scene {
            stop();
        }
    }
}

/// The entry symbol in `fast_variant_codec.gdextension`, which the engine calls first. Refuses an engine of another
/// precision. Otherwise starts godot-rust, and checks arguments before they reach it.
///
/// # Safety
/// - Only the engine may call this function, with the documented arguments.
#[unsafe(no_mangle)]
unsafe extern "C" fn gdext_rust_init(
    get_proc_address: sys::GDExtensionInterfaceGetProcAddress,
    library: sys::GDExtensionClassLibraryPtr,
    init: *mut sys::GDExtensionInitialization,
) -> sys::GDExtensionBool {
    // SAFETY: all three arguments come from the engine (`# Safety`), and the wrapped lookup returns the engine's
    // functions.
    unsafe {
        if !fits_precision(get_proc_address) {
            return 0;
        }
        godot_rust_init(with_checked_arguments(get_proc_address), library, init)
    }
}

/// The engine calls this function after it has registered its own classes and the library's.
fn start() {
    panics::open();
    settings::register();
    settings::load();
    threads::start();
    variant_engine::start(&settings::access());
    api::registration::register();
}

/// The engine calls this function before it unloads the library, and at exit.
fn stop() {
    api::job_class::stop();
    threads::stop();
    api::job_class::print_failures();
}
