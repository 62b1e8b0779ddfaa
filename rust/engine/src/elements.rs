//! The borrowed elements of an Array, which several threads may read.

use std::marker::PhantomData;
use std::ops::Range;

use godot::builtin::Variant;
use godot::sys::interface_fn;
use variant_codec::VariantType;

use crate::interface::{Interface, TypePtr};

/// The elements of a borrowed Array.
///
/// Several threads may read the elements: the engine counts references atomically, and the calling script
/// waits. A thread that changes the Array meanwhile breaks the engine's own rule for shared data.
#[derive(Clone, Copy)]
pub struct Elements<'a> {
    array: TypePtr,
    /// The first element, if the layout is known; otherwise null.
    first: *const Variant,
    len: usize,
    borrowed: PhantomData<&'a Variant>,
}

// SAFETY: the elements are only read, which the engine allows on several threads (see the type).
unsafe impl Send for Elements<'_> {}
// SAFETY: the elements are only read, which the engine allows on several threads (see the type).
unsafe impl Sync for Elements<'_> {}

impl<'a> Elements<'a> {
    /// Elements that are read with the documented function.
    ///
    /// # Safety
    /// - `array` points to an Array that lives for `'a`.
    #[inline(always)]
    pub(crate) unsafe fn documented(interface: &Interface, array: TypePtr) -> Self {
        // SAFETY: `array` points to a live Array (`# Safety`).
        let len = unsafe { interface.size(array, VariantType::Array) };
        Self { array, first: std::ptr::null(), len, borrowed: PhantomData }
    }

    /// Elements that are read in place.
    ///
    /// # Safety
    /// - `array` points to an Array that lives for `'a` and has `len` elements from `first` on.
    #[inline(always)]
    pub(crate) unsafe fn in_place(array: TypePtr, first: *const Variant, len: usize) -> Self {
        Self { array, first, len, borrowed: PhantomData }
    }

    /// The number of elements.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the Array is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements in a range; `None` if they are not read in place or the range is out of bounds.
    #[inline(always)]
    pub(crate) fn slice(&self, range: Range<usize>) -> Option<&'a [Variant]> {
        if self.first.is_null() || range.start > range.end || range.end > self.len {
            return None;
        }
        // SAFETY: the range has been checked, and the elements are contiguous and live for `'a`.
        Some(unsafe { std::slice::from_raw_parts(self.first.add(range.start), range.len()) })
    }

    /// The element at `index`; `None` beyond the end.
    #[inline(always)]
    pub fn get(&self, index: usize) -> Option<&'a Variant> {
        if index >= self.len {
            return None;
        }
        // SAFETY: the index has been checked. The engine's function checks it again and returns null beyond the end.
        // godot-rust's Variant is transparent over the engine's.
        unsafe {
            if self.first.is_null() {
                interface_fn!(array_operator_index_const)(self.array, index as i64).cast::<Variant>().as_ref()
            } else {
                Some(&*self.first.add(index))
            }
        }
    }
}
