//! Arguments whose default is null, for which godot-rust wants an `unsafe impl`.

use std::fmt;

use godot::meta::error::ConvertError;
use godot::meta::shape::GodotShape;
use godot::meta::{FromGodot, GodotConvert, GodotImmutable, ToGodot};
use godot::obj::{Bounds, Gd, GodotClass, bounds};

/// An object or null: an argument that may be left out.
pub struct OrNull<T: GodotClass>(Option<Gd<T>>);

impl<T: GodotClass> Clone for OrNull<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: GodotClass> fmt::Debug for OrNull<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OrNull").field(&self.0).finish()
    }
}

impl<T: GodotClass> OrNull<T> {
    /// The default.
    pub const NULL: Self = Self(None);

    /// The object.
    pub fn get(self) -> Option<Gd<T>> {
        self.0
    }
}

impl<T: GodotClass + Bounds<Declarer = bounds::DeclUser>> GodotConvert for OrNull<T> {
    type Via = Option<Gd<T>>;

    fn godot_shape() -> GodotShape {
        Self::Via::godot_shape()
    }
}

impl<T: GodotClass + Bounds<Declarer = bounds::DeclUser>> ToGodot for OrNull<T> {
    // By value: godot-rust has no public name for it.
    type Pass = <i32 as ToGodot>::Pass;

    fn to_godot(&self) -> Self::Via {
        self.0.clone()
    }
}

impl<T: GodotClass + Bounds<Declarer = bounds::DeclUser>> FromGodot for OrNull<T> {
    fn try_from_godot(object: Self::Via) -> Result<Self, ConvertError> {
        Ok(Self(object))
    }
}

// SAFETY: every default goes through this function, which asserts that it is null, so there is no shared object that
// could change.
unsafe impl<T: GodotClass + Bounds<Declarer = bounds::DeclUser>> GodotImmutable for OrNull<T> {
    fn into_runtime_immutable(self) -> Self {
        assert!(self.0.is_none(), "the default is null");
        self
    }
}
