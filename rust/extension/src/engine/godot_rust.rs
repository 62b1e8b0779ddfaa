//! What godot-rust wants an `unsafe impl` for.

use godot::init::{ExtensionLibrary, InitStage, gdextension};
use godot::meta::error::ConvertError;
use godot::meta::shape::GodotShape;
use godot::meta::{FromGodot, GodotConvert, GodotImmutable, ToGodot};
use godot::obj::Gd;
use godot::sys;

use super::arguments;
use crate::limits_class::FastVariantLimits;

struct Extension;

// SAFETY: godot-rust's entry point. Nothing in this library can be reached before `start` or after `stop`.
#[gdextension(entry_symbol = godot_rust_init)]
unsafe impl ExtensionLibrary for Extension {
    fn on_stage_init(stage: InitStage) {
        if stage == InitStage::Scene {
            crate::start();
        }
    }

    fn on_stage_deinit(stage: InitStage) {
        if stage == InitStage::Scene {
            crate::stop();
        }
    }
}

/// What the engine calls first, as `fast_variant_codec.gdextension` says: starts godot-rust, with arguments checked before it
/// sees them.
///
/// # Safety
/// - The engine calls it, with what it documents.
#[unsafe(no_mangle)]
unsafe extern "C" fn gdext_rust_init(
    get_proc_address: sys::GDExtensionInterfaceGetProcAddress,
    library: sys::GDExtensionClassLibraryPtr,
    init: *mut sys::GDExtensionInitialization,
) -> sys::GDExtensionBool {
    // SAFETY: all three come from the engine, and what finds its functions is answered by the engine.
    unsafe { godot_rust_init(arguments::checked(get_proc_address), library, init) }
}

/// An argument of type FastVariantLimits whose default is null.
#[derive(Clone, Debug)]
pub struct OptionalLimits(pub Option<Gd<FastVariantLimits>>);

impl GodotConvert for OptionalLimits {
    type Via = Option<Gd<FastVariantLimits>>;

    fn godot_shape() -> GodotShape {
        Self::Via::godot_shape()
    }
}

impl ToGodot for OptionalLimits {
    // Passed by value, which godot-rust has no public name for.
    type Pass = <i32 as ToGodot>::Pass;

    fn to_godot(&self) -> Self::Via {
        self.0.clone()
    }
}

impl FromGodot for OptionalLimits {
    fn try_from_godot(limits: Self::Via) -> Result<Self, ConvertError> {
        Ok(Self(limits))
    }
}

// SAFETY: the only default is null, which nobody can change.
unsafe impl GodotImmutable for OptionalLimits {}
