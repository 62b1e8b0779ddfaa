//! A whole [`Value`] from and to this crate's own serializer and deserializer, past the methods of serde, which have no place
//! for one: without forms, and without a level of the stack for each level of nesting.

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
