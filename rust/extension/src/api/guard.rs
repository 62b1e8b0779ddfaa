//! Every entry point runs in [`guard`], so that no panic reaches a script.

use godot::builtin::{
    AnyArray, Array, Callable, GString, PackedByteArray, PackedInt64Array, PackedStringArray, Variant,
};
use godot::global::Error as Code;
use godot::meta::Element;
use godot::prelude::VarDictionary;
use variant_codec::Error;

use super::report;
use variant_live::panics::catch_panic;

/// A return type of entry points, and its value after an internal error.
pub trait OnFailure {
    /// Prints the error, or returns a value that holds it.
    fn failed(method: &str, error: &Error) -> Self;
}

/// Implements [`OnFailure`] for these types: prints the error and returns an empty value.
macro_rules! nothing {
    ($($ty:ty)*) => {
        $(impl OnFailure for $ty {
            fn failed(method: &str, error: &Error) -> Self {
                report::failure(method, error);
                Self::default()
            }
        })*
    };
}

nothing! {
    () bool i64 f64 Variant GString PackedByteArray PackedInt64Array PackedStringArray VarDictionary
}

impl<T: Element> OnFailure for Array<T> {
    fn failed(method: &str, error: &Error) -> Self {
        report::failure(method, error);
        Self::default()
    }
}

impl OnFailure for AnyArray {
    fn failed(method: &str, error: &Error) -> Self {
        Array::<Variant>::failed(method, error).upcast_any_array()
    }
}

impl<T> OnFailure for Option<T> {
    fn failed(method: &str, error: &Error) -> Self {
        report::failure(method, error);
        None
    }
}

impl OnFailure for Callable {
    fn failed(method: &str, error: &Error) -> Self {
        report::failure(method, error);
        Self::invalid()
    }
}

impl OnFailure for Code {
    fn failed(method: &str, error: &Error) -> Self {
        report::failure(method, error);
        Self::ERR_BUG
    }
}

/// Runs an entry point. `method` is the entry point's class and name in scripts.
#[inline(always)]
pub fn guard<R: OnFailure>(method: &'static str, call: impl FnOnce() -> R) -> R {
    catch_panic(method, || Ok(call())).unwrap_or_else(|error| R::failed(method, &error))
}
