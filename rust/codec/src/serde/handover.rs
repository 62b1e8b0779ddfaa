//! Passes a whole [`Value`] to this crate's own serializer and from its own deserializer. serde's methods cannot carry
//! one. This way, it needs no forms, and nesting uses no stack.

use std::cell::Cell;

use crate::value::Value;

thread_local! {
    static HANDED: Cell<Option<Value>> = const { Cell::new(None) };
}

/// Leaves a value for the very next [`take`].
pub(super) fn give(value: Value) {
    HANDED.set(Some(value));
}

/// The value that was left.
pub(super) fn take() -> Option<Value> {
    HANDED.take()
}
