//! A value of which other threads fill parts.

use std::marker::PhantomData;

use godot::builtin::Variant;

use crate::slots::{StagedValues, Tie};

/// What ties a value, the gaps in it and those who fill them to one call of [`with_gaps`]. No two calls have the same, and
/// nothing that has it can leave its call: not even by way of a thread that runs on.
#[derive(Clone, Copy)]
pub struct Scope<'s>(Tie<'s>);

/// A value that is complete but for gaps, which others may still be filling: nobody can look at it before.
pub struct Unfinished<'s> {
    value: Variant,
    late: Vec<StagedValues<'s>>,
}

impl<'s> Unfinished<'s> {
    pub(crate) fn new(value: Variant, late: Vec<StagedValues<'s>>) -> Self {
        Self { value, late }
    }
}

/// Calls `make`, which makes a value with gaps and has them filled by any threads. The value can be had when it has returned,
/// since then there is nobody any more who could fill a gap. Gaps that nobody has filled hold Nil, or the default of their
/// container's type.
///
/// ```no_run
/// use variant_engine::{Building, ContainerType, with_gaps};
///
/// let (value, ()) = with_gaps(|_| {
///     let mut building = Building::new();
///     building.open_array(2, &ContainerType::Untyped);
///     let gaps = building.leave_elements(2);
///     building.close_array();
///     std::thread::scope(|threads| {
///         threads.spawn(|| Building::of_elements(gaps));
///     });
///     Some((building.finish_with_gaps(Vec::new()), ()))
/// })?;
/// # Some(value)
/// # ;
/// # None::<()>
/// ```
///
/// Gaps do not leave the call:
///
/// ```compile_fail
/// use variant_engine::{Building, ContainerType, with_gaps};
///
/// let (value, gaps) = with_gaps(|_| {
///     let mut building = Building::new();
///     building.open_array(2, &ContainerType::Untyped);
///     let gaps = building.leave_elements(2);
///     building.close_array();
///     Some((building.finish_with_gaps(Vec::new()), gaps))
/// })?;
/// # Some(value)
/// # ;
/// # None::<()>
/// ```
///
/// nor with a thread that outlives it:
///
/// ```compile_fail
/// use variant_engine::{Building, ContainerType, with_gaps};
///
/// let (value, ()) = with_gaps(|_| {
///     let mut building = Building::new();
///     building.open_array(2, &ContainerType::Untyped);
///     let gaps = building.leave_elements(2);
///     building.close_array();
///     std::thread::spawn(|| Building::of_elements(gaps));
///     Some((building.finish_with_gaps(Vec::new()), ()))
/// })?;
/// # Some(value)
/// # ;
/// # None::<()>
/// ```
pub fn with_gaps<R>(
    make: impl for<'s> FnOnce(Scope<'s>) -> Option<(Unfinished<'s>, R)>,
) -> Option<(Variant, R)> {
    let (Unfinished { value, late }, result) = make(Scope(PhantomData))?;
    for values in late {
        // SAFETY: `make` has returned, so that neither slots nor constructions of this call are left: all values have been
        // made, and nothing adds entries any more.
        unsafe { values.settle() };
    }
    Some((value, result))
}
