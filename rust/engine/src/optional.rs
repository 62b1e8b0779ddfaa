//! Optional arguments whose defaults require an `unsafe impl` of godot-rust's trait `GodotImmutable`.

use std::fmt;

use godot::builtin::{AnyDictionary, VarDictionary, Variant};
use godot::meta::error::ConvertError;
use godot::meta::shape::GodotShape;
use godot::meta::{FromGodot, GodotConvert, GodotImmutable, ToGodot};
use godot::obj::{Bounds, Gd, GodotClass, bounds};

/// An optional argument: an object or null.
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
    // By value. godot-rust's type for this has no public name, so it is named through `i32`.
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

/// An optional argument: a value of any type.
#[derive(Clone, Debug)]
pub struct ValueOrNull(Variant);

impl ValueOrNull {
    /// The default.
    pub fn null() -> Self {
        Self(Variant::nil())
    }

    /// The value.
    pub fn get(self) -> Variant {
        self.0
    }
}

impl GodotConvert for ValueOrNull {
    type Via = Variant;

    fn godot_shape() -> GodotShape {
        Variant::godot_shape()
    }
}

impl ToGodot for ValueOrNull {
    // By value. godot-rust's type for this has no public name, so it is named through `i32`.
    type Pass = <i32 as ToGodot>::Pass;

    fn to_godot(&self) -> Variant {
        self.0.clone()
    }
}

impl FromGodot for ValueOrNull {
    fn try_from_godot(value: Variant) -> Result<Self, ConvertError> {
        Ok(Self(value))
    }
}

// SAFETY: every default goes through this function, which asserts that it is null, so there is no shared value that
// could change.
unsafe impl GodotImmutable for ValueOrNull {
    fn into_runtime_immutable(self) -> Self {
        assert!(self.0.is_nil(), "the default is null");
        self
    }
}

/// An optional argument: a Dictionary, typed or not.
#[derive(Clone, Debug)]
pub struct DictionaryOrEmpty(AnyDictionary);

impl DictionaryOrEmpty {
    /// The default.
    pub fn empty() -> Self {
        Self(VarDictionary::new().upcast_any_dictionary())
    }

    /// The Dictionary.
    pub fn get(&self) -> &AnyDictionary {
        &self.0
    }
}

impl GodotConvert for DictionaryOrEmpty {
    type Via = AnyDictionary;

    fn godot_shape() -> GodotShape {
        AnyDictionary::godot_shape()
    }
}

impl ToGodot for DictionaryOrEmpty {
    type Pass = <AnyDictionary as ToGodot>::Pass;

    fn to_godot(&self) -> AnyDictionary {
        self.0.clone()
    }
}

impl FromGodot for DictionaryOrEmpty {
    fn try_from_godot(dictionary: AnyDictionary) -> Result<Self, ConvertError> {
        Ok(Self(dictionary))
    }
}

// SAFETY: every default goes through this function, which makes the Dictionary read-only. Its references are
// counted atomically.
unsafe impl GodotImmutable for DictionaryOrEmpty {
    fn into_runtime_immutable(self) -> Self {
        assert!(self.0.is_empty(), "the default is empty");
        Self(self.0.into_read_only())
    }
}
