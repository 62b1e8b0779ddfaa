//! Start and stop.
#![expect(unsafe_code, reason = "godot-rust wants it for an entry point")]

use godot::init::{ExtensionLibrary, InitStage, gdextension};

use crate::{api, panics, settings, threads};

struct Extension;

// SAFETY: what godot-rust asks for: nothing in this library is called before `start` or after `stop`.
#[gdextension]
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

/// Called by the engine after its own classes and the library's have been registered.
fn start() {
    panics::open();
    settings::register();
    settings::load();
    threads::pool::open();
    threads::background::open();
    variant_engine::start(&settings::access());
    api::registration::register();
}

/// Called by the engine before the library is unloaded, and at exit.
fn stop() {
    api::job_class::stop();
    threads::pool::stop();
}
