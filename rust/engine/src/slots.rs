//! Elements of a container under construction, each filled by one thread.

use std::marker::PhantomData;
use std::ops::Range;

use godot::builtin::{Array, GString, PackedByteArray, PackedStringArray, Variant};
use godot::meta::{AsArg, Element, ToGodot};
use godot::sys::interface_fn;
use variant_codec::{ErrorKind, Result, VariantType};

use crate::interface::interface;
use crate::layout::{self, clear};
use crate::owned::OwnArray;
use crate::read::{ContainerType, Reader};

/// Makes a lifetime invariant: neither a longer nor a shorter lifetime can replace it.
pub(crate) type Tie<'s> = PhantomData<fn(&'s ()) -> &'s ()>;

/// The memory that the engine allocates for each PackedByteArray in a Variant, with the allocator's overhead.
const BUFFER: usize = 64;

/// An Array of `len` copies of `element`. Each copy takes `size` bytes in the engine.
fn array<T: Element>(len: usize, element: &T, size: usize) -> Result<OwnArray<T>>
where
    for<'a> &'a T: AsArg<T>,
{
    let bytes = len.saturating_mul(size);
    let mut array = Array::new();
    array.resize(len, element);
    if array.len() == len { Ok(OwnArray::made(array)) } else { Err(ErrorKind::OutOfMemory(bytes).into()) }
}

/// Elements of an Array. Nothing else uses them before they are filled, and each element belongs to one
/// `Slots` alone.
///
/// `'s` is the lifetime of the call in which the elements are filled; slots cannot leave the call.
pub struct Slots<'s> {
    /// A separate reference, which keeps the Array alive.
    array: Variant,
    range: Range<usize>,
    /// Whether the Array has a declared type.
    is_typed: bool,
    tie: Tie<'s>,
}

// SAFETY: `new` demands that no other `Slots` hold these elements, and that the Array is not resized while
// the slots exist. References to the Array are counted atomically.
unsafe impl Send for Slots<'_> {}

impl<'s> Slots<'s> {
    /// # Safety
    /// - Until `'s` has ended, `array` holds an Array with at least `range.end` elements. No script reaches the Array,
    ///   and its buffer is neither shared nor resized.
    /// - Until then, nothing else reads or writes these elements.
    pub(crate) unsafe fn new(array: Variant, range: Range<usize>) -> Self {
        let is_typed = !matches!(Reader::new().array_type(&array), ContainerType::Untyped);
        Self { array, range, is_typed, tie: PhantomData }
    }

    /// Makes an Array of `len` Variants, which `fill` fills.
    ///
    /// ```no_run
    /// # use variant_engine::Slots;
    /// Slots::of_variants(1, |slots| slots.len());
    /// ```
    ///
    /// Slots cannot leave the call:
    ///
    /// ```compile_fail
    /// # use variant_engine::Slots;
    /// Slots::of_variants(1, |slots| slots);
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`].
    pub fn of_variants<R>(
        len: usize,
        fill: impl for<'a> FnOnce(Slots<'a>) -> R,
    ) -> Result<(OwnArray<Variant>, R)> {
        Ok(Slots::of(array(len, &Variant::nil(), size_of::<Variant>())?, fill))
    }

    /// Like [`Slots::of_variants`], for an Array of PackedByteArrays.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`].
    pub fn of_buffers<R>(
        len: usize,
        fill: impl for<'a> FnOnce(Slots<'a>) -> R,
    ) -> Result<(OwnArray<PackedByteArray>, R)> {
        Ok(Slots::of(array(len, &PackedByteArray::new(), size_of::<Variant>() + BUFFER)?, fill))
    }

    fn of<T: Element, R>(array: OwnArray<T>, fill: impl for<'a> FnOnce(Slots<'a>) -> R) -> (OwnArray<T>, R) {
        // SAFETY: the Array has just been made with these elements, and nothing else can reach it. `fill` works for any
        // lifetime, so the slots cannot leave it.
        let result = fill(unsafe { Slots::new(array.to_variant(), 0..array.len()) });
        (array, result)
    }

    pub(crate) fn into_parts(self) -> (Variant, Range<usize>) {
        (self.array, self.range)
    }

    /// The index of the next element.
    pub fn start(&self) -> usize {
        self.range.start
    }

    /// The number of elements left.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether no elements are left.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// Keeps the first `count` elements, and returns the others.
    pub fn split_off(&mut self, count: usize) -> Self {
        let at = self.range.end.min(self.range.start.saturating_add(count));
        let rest = at..self.range.end;
        self.range.end = at;
        Self { array: self.array.clone(), range: rest, is_typed: self.is_typed, tie: PhantomData }
    }

    /// Leaves the remaining elements unfilled.
    pub fn skip(&mut self) {
        self.range.start = self.range.end;
    }

    /// The next element.
    ///
    /// # Panics
    /// Panics if no element is left.
    #[inline(always)]
    fn next(&mut self) -> &mut Variant {
        let index = self.range.next().expect("no element is left");
        // SAFETY: `array` holds an Array with this element, which only these slots reach. `new` demands that
        // its buffer is not shared, so the engine's function copies nothing and only returns the element's
        // address.
        unsafe {
            match layout::layout() {
                Some(layout) => &mut *layout.elements(&self.array).0.cast_mut().add(index),
                None => {
                    let array = interface().payload(&self.array, VariantType::Array);
                    &mut *interface_fn!(array_operator_index)(array, index as i64).cast()
                }
            }
        }
    }

    /// Fills the next element.
    ///
    /// # Panics
    /// Panics if no element is left, or the Array has a declared type.
    #[inline(always)]
    pub fn put(&mut self, value: Variant) {
        assert!(!self.is_typed, "the elements have a declared type");
        let slot = self.next();
        // Makes the slot Nil, so that the write below needs no destructor call if the layout is known.
        clear(layout::layout(), slot);
        if layout::layout().is_some() {
            // SAFETY: `probe.rs` has verified that a Nil has the tag 0; it needs no destructor.
            unsafe { std::ptr::from_mut(slot).write(value) };
        } else {
            *slot = value;
        }
    }

    /// The next element, of an Array of PackedByteArrays.
    ///
    /// # Panics
    /// Panics if no element is left, or the element has another type.
    #[inline(always)]
    pub fn next_bytes(&mut self) -> &mut PackedByteArray {
        let slot = self.next();
        assert!(Reader::new().ty(slot) == Some(VariantType::PackedByteArray), "no Array of buffers");
        // SAFETY: the assertion has checked the type. godot-rust's PackedByteArray is transparent over the
        // engine's.
        unsafe { &mut *interface().payload(slot, VariantType::PackedByteArray).cast() }
    }
}

/// Elements of a new PackedStringArray, filled by one thread.
pub struct StringSlots<'s> {
    /// A separate reference, which keeps the elements alive.
    array: Variant,
    first: *mut GString,
    range: Range<usize>,
    /// Whether the array has other owners.
    is_shared: bool,
    tie: Tie<'s>,
}

// SAFETY: no other slots hold these elements. If the array has other owners, nothing can read it before `'s`
// has ended. Its references are counted atomically.
unsafe impl Send for StringSlots<'_> {}

impl StringSlots<'_> {
    /// Slots for all elements of a new array.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`].
    pub fn new(len: usize) -> Result<Self> {
        let bytes = len.saturating_mul(size_of::<GString>());
        let mut strings = PackedStringArray::new();
        strings.resize(len);
        if strings.len() != len {
            return Err(ErrorKind::OutOfMemory(bytes).into());
        }
        let array = strings.to_variant();
        // Now only the Variant holds the array.
        drop(strings);
        let (first, len) = Reader::new().packed_elements(&array, VariantType::PackedStringArray);
        Ok(Self { array, first: first.cast_mut().cast(), range: 0..len, is_shared: false, tie: PhantomData })
    }

    /// Fills the next element.
    ///
    /// # Panics
    /// Panics if no element is left.
    #[inline(always)]
    pub fn put(&mut self, string: GString) {
        let index = self.range.next().expect("no element is left");
        // SAFETY: the new array has this element, and no other slots have this index. `into_array` passes the
        // array only to a construction, which nothing reads before all owners are done.
        let element = unsafe { &mut *self.first.add(index) };
        if layout::layout().is_some() {
            // SAFETY: `behaviour.rs` has verified that an empty String and a new element are null pointers, which need
            // no destructor.
            unsafe { std::ptr::from_mut(element).write(string) };
        } else {
            *element = string;
        }
    }

    /// Splits off the next `count` elements for another thread.
    ///
    /// # Panics
    /// Panics if fewer elements are left.
    pub fn leave(&mut self, count: usize) -> Self {
        let left = self.range.start..self.range.start + count;
        assert!(left.end <= self.range.end, "no such elements are left");
        self.range.start = left.end;
        self.is_shared = true;
        Self { array: self.array.clone(), first: self.first, range: left, is_shared: true, tie: PhantomData }
    }

    /// The array, and whether other threads may be filling some of its elements.
    pub(crate) fn into_array(self) -> (Variant, bool) {
        (self.array, self.is_shared)
    }
}
