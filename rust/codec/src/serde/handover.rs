//! Passes a whole [`Value`] to this crate's own serializer and from its own deserializer, because serde's
//! methods cannot carry a [`Value`]. A value passed in this way needs no form, and its nesting uses no stack.

use std::cell::Cell;

use crate::value::Value;

thread_local! {
    static HANDED: Cell<Option<Value>> = const { Cell::new(None) };
}

/// Offers a value to [`take`] while `call` runs. Returns `None` if nothing took the value.
pub(super) fn hand<R>(value: Value, call: impl FnOnce() -> R) -> Option<R> {
    struct Emptied;
    impl Drop for Emptied {
        fn drop(&mut self) {
            HANDED.set(None);
        }
    }

    let _emptied = Emptied;
    HANDED.set(Some(value));
    let result = call();
    take().is_none().then_some(result)
}

/// Takes the value that a caller [hands](hand) over, if any.
pub(super) fn take() -> Option<Value> {
    HANDED.take()
}
