//! The reason for refusing a call; the engine makes a message from it.

use godot::sys;

pub(crate) type Refused = sys::GDExtensionCallError;

/// A refusal: the error, the index of the argument, and the expected type or number.
pub(crate) fn refused(error: sys::GDExtensionCallErrorType, argument: i32, expected: i32) -> Refused {
    Refused { error, argument, expected }
}
