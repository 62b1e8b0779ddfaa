//! Passes a whole [`Value`] to this crate's own serializer and from its own deserializer. serde's methods cannot carry
//! one. This way, it needs no forms, and nesting uses no stack.

use std::cell::Cell;

use crate::value::Value;

thread_local! {
    static HANDED: Cell<Option<Value>> = const { Cell::new(None) };
}

/// Leaves a value to [`take`] for as long as `call` runs, and no longer. `None` if nothing took it.
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

/// The value that the caller hands over, if it does.
pub(super) fn take() -> Option<Value> {
    HANDED.take()
}
