//! What godot-rust wants an `unsafe impl` for.

use godot::init::{ExtensionLibrary, InitStage, gdextension};
use godot::meta::error::ConvertError;
use godot::meta::shape::GodotShape;
use godot::meta::{FromGodot, GodotConvert, GodotImmutable, ToGodot};
use godot::obj::Gd;

use crate::limits_class::FastVariantLimits;

struct Extension;

// SAFETY: godot-rust's entry point. Nothing in this library can be reached before `start` or after `stop`.
#[gdextension]
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
