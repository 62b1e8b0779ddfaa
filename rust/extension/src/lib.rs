//! The FastVariantCodec GDExtension: entry point and registration only.
//!
//! | file | does |
//! |---|---|
//! | `codec_class.rs`, `result_class.rs`, `limits_class.rs`, `error_code.rs` | what scripts see |
//! | `codec.rs`, `batch.rs` | one value, many values |
//! | `source.rs`, `builder.rs`, `objects.rs` | live Variant → events, events → live Variant, which objects may be made |
//! | `report.rs` | errors for people |
//! | `engine/` | engine memory: all unsafe code |

mod batch;
mod builder;
mod codec;
mod codec_class;
mod engine;
mod error_code;
mod limits_class;
mod objects;
mod report;
mod result_class;
mod source;

use godot::init::{ExtensionLibrary, InitStage, gdextension};

struct Extension;

// SAFETY: godot-rust's entry point; nothing else in this library depends on how it is loaded.
#[gdextension]
unsafe impl ExtensionLibrary for Extension {
    fn on_stage_init(stage: InitStage) {
        if stage == InitStage::Scene {
            engine::start();
            error_code::register();
        }
    }

    fn on_stage_deinit(stage: InitStage) {
        if stage == InitStage::Scene {
            batch::stop();
        }
    }
}
