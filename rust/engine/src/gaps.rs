//! Values with gaps that other threads fill.

use std::marker::PhantomData;

use godot::builtin::Variant;

use crate::slots::Tie;

/// Ties a value, its gaps and the threads that fill them to one call of [`with_gaps`]. Each call has its own
/// scope. Nothing tied to the scope can leave the call, not even on a thread that outlives the call.
#[derive(Clone, Copy)]
pub struct Scope<'s>(Tie<'s>);

/// A value whose gaps may still be unfilled. It has no method that reads the value.
pub struct Unfinished<'s> {
    value: Variant,
    _tie: Tie<'s>,
}

impl Unfinished<'_> {
    pub(crate) fn new(value: Variant) -> Self {
        Self { value, _tie: PhantomData }
    }
}

/// Calls `make`, which builds a value with gaps that any thread may fill. Returns the value when nothing can
/// fill a gap any more. An unfilled gap holds Nil, or the default of its container's declared type.
///
/// ```no_run
/// use variant_engine::{Building, ContainerType, with_gaps};
///
/// let made = with_gaps(|_| {
///     let mut building = Building::new();
///     building.open_array(2, &ContainerType::Untyped);
///     let gaps = building.leave_elements(2);
///     building.close_array();
///     std::thread::scope(|threads| {
///         threads.spawn(|| drop(Building::of_elements(gaps)));
///     });
///     Some((building.finish_with_gaps(), ()))
/// });
/// ```
///
/// Gaps cannot leave the call:
///
/// ```compile_fail
/// use variant_engine::{Building, ContainerType, with_gaps};
///
/// let made = with_gaps(|_| {
///     let mut building = Building::new();
///     building.open_array(2, &ContainerType::Untyped);
///     let gaps = building.leave_elements(2);
///     building.close_array();
///     Some((building.finish_with_gaps(), gaps))
/// });
/// ```
///
/// Nor can a thread that outlives the call take gaps:
///
/// ```compile_fail
/// use variant_engine::{Building, ContainerType, with_gaps};
///
/// let made = with_gaps(|_| {
///     let mut building = Building::new();
///     building.open_array(2, &ContainerType::Untyped);
///     let gaps = building.leave_elements(2);
///     building.close_array();
///     std::thread::spawn(|| drop(Building::of_elements(gaps)));
///     Some((building.finish_with_gaps(), ()))
/// });
/// ```
pub fn with_gaps<R>(
    make: impl for<'s> FnOnce(Scope<'s>) -> Option<(Unfinished<'s>, R)>,
) -> Option<(Variant, R)> {
    // `make` has returned, so no slots and no construction of this call exist any more: their lifetime ends with the
    // call.
    make(Scope(PhantomData)).map(|(unfinished, result)| (unfinished.value, result))
}
