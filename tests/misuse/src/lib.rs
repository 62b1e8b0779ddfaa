//! An extension that misuses `variant_engine` from safe code; `cargo xtask test` loads it into the engine.
#![expect(unsafe_code, reason = "godot-rust requires it for the entry point; the cases forbid it")]

mod cases;

use std::panic::{AssertUnwindSafe, catch_unwind};

use godot::builtin::{GString, PackedStringArray};
use godot::init::{ExtensionLibrary, InitStage, gdextension};
use godot::register::{GodotClass, godot_api};
use variant_engine::Access;

use cases::{CASES, Case};

/// The environment variable that makes the library use only the engine's documented functions.
const PORTABLE: &str = "MISUSE_PORTABLE";

struct Extension;

// SAFETY: nothing in this library is called before `start`.
#[gdextension]
unsafe impl ExtensionLibrary for Extension {
    fn on_stage_init(stage: InitStage) {
        if stage == InitStage::Scene {
            let is_portable = std::env::var_os(PORTABLE).is_some();
            variant_engine::start(&Access::new(is_portable));
        }
    }
}

#[derive(GodotClass)]
#[class(init, base=RefCounted)]
struct Misuse;

#[godot_api]
impl Misuse {
    #[func]
    fn cases(&self) -> i64 {
        CASES.len() as i64
    }

    /// Runs the cases, and returns the failures.
    #[func]
    fn failed(&self) -> PackedStringArray {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let failed = CASES.iter().filter_map(failure).map(|line| GString::from(&line)).collect();
        std::panic::set_hook(hook);
        failed
    }
}

/// The description of a case's failure, if it fails.
fn failure((name, case): &(&str, Case)) -> Option<String> {
    match case {
        Case::Refused(run) => {
            catch_unwind(AssertUnwindSafe(run)).is_ok().then(|| format!("{name}: not refused"))
        }
        Case::Harmless(run) => match catch_unwind(AssertUnwindSafe(run)) {
            Ok(found) if found.0 == found.1 => None,
            Ok(found) => Some(format!("{name}: {}, expected {}", found.0, found.1)),
            Err(_) => Some(format!("{name}: panicked")),
        },
    }
}
