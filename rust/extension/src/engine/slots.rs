//! Elements that one owner fills, on any thread.

use std::ops::Range;

use godot::builtin::{Array, GString, PackedByteArray, PackedStringArray, Variant};
use godot::meta::{AsArg, Element, ToGodot};
use godot::sys::interface_fn;
use variant_codec::memory::check_room;
use variant_codec::{ErrorKind, Result, VariantType};

use super::building::clear;
use super::interface::interface;
use super::layout;
use super::read::Reader;
use super::sharing::OwnArray;

/// An Array of so many elements.
fn array<T: Element>(len: usize, element: &T) -> Result<OwnArray<T>>
where
    for<'a> &'a T: AsArg<T>,
{
    let bytes = len.saturating_mul(size_of::<Variant>());
    check_room(bytes)?;
    let mut array = Array::new();
    array.resize(len, element);
    if array.len() == len { Ok(OwnArray::made(array)) } else { Err(ErrorKind::OutOfMemory(bytes).into()) }
}

/// Elements of an Array that is not used before they are filled: nobody else has these.
pub struct Slots {
    /// Keeps the Array, whatever becomes of its other owners.
    array: Variant,
    range: Range<usize>,
}

// SAFETY: no other Slots hold these elements, and the Array is not resized while they are being filled; its references
// are counted atomically.
unsafe impl Send for Slots {}

impl Slots {
    /// Elements of an Array.
    ///
    /// # Safety
    /// - `array` holds an Array with so many elements, which no script can reach, and which is not resized.
    /// - Nothing else reads or writes these elements as long as the slots exist.
    pub(super) unsafe fn new(array: Variant, range: Range<usize>) -> Self {
        Self { array, range }
    }

    /// An Array of `len` Variants, and what `fill` makes of its elements, all of which it is done with when it returns.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`].
    pub fn of_variants<R>(len: usize, fill: impl FnOnce(Self) -> R) -> Result<(OwnArray<Variant>, R)> {
        Ok(Self::of(array(len, &Variant::nil())?, fill))
    }

    /// The same for an Array of buffers.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`].
    pub fn of_buffers<R>(len: usize, fill: impl FnOnce(Self) -> R) -> Result<(OwnArray<PackedByteArray>, R)> {
        Ok(Self::of(array(len, &PackedByteArray::new())?, fill))
    }

    fn of<T: Element, R>(array: OwnArray<T>, fill: impl FnOnce(Self) -> R) -> (OwnArray<T>, R) {
        // SAFETY: nobody else can reach the Array, which has these elements, and `fill` is done with them when it returns.
        let result = fill(unsafe { Self::new(array.to_variant(), 0..array.len()) });
        (array, result)
    }

    /// The Array, and which of its elements these are.
    pub(super) fn into_parts(self) -> (Variant, Range<usize>) {
        (self.array, self.range)
    }

    /// The index of the next element.
    pub fn start(&self) -> usize {
        self.range.start
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Keeps the first `count` elements, and gives the others away.
    pub fn split_off(&mut self, count: usize) -> Self {
        let at = self.range.end.min(self.range.start.saturating_add(count));
        let rest = at..self.range.end;
        self.range.end = at;
        Self { array: self.array.clone(), range: rest }
    }

    /// Leaves all that are left as they are.
    pub fn skip(&mut self) {
        self.range.start = self.range.end;
    }

    /// The next element.
    ///
    /// # Panics
    /// If there is none.
    #[inline(always)]
    fn next(&mut self) -> &mut Variant {
        let index = self.range.next().expect("no element is left");
        // SAFETY: `array` holds an Array with this element, which is reached through these slots only. Its buffer is not
        // shared (see `behaviour.rs`), so asking for the element copies nothing and only looks an address up.
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
    #[inline(always)]
    pub fn put(&mut self, value: Variant) {
        let slot = self.next();
        // What it holds needs no destructor afterwards where the layout is known.
        clear(layout::layout(), slot);
        if layout::layout().is_some() {
            // SAFETY: verification has seen that a Nil has the tag 0; it needs no destructor.
            unsafe { std::ptr::from_mut(slot).write(value) };
        } else {
            *slot = value;
        }
    }

    /// The next element, of an Array of PackedByteArrays.
    ///
    /// # Panics
    /// If there is none, or it has another type.
    #[inline(always)]
    pub fn next_bytes(&mut self) -> &mut PackedByteArray {
        let slot = self.next();
        assert!(Reader::new().ty(slot) == Some(VariantType::PackedByteArray), "no Array of buffers");
        // SAFETY: the payload of such a Variant is a PackedByteArray, over which godot-rust's is transparent.
        unsafe { &mut *interface().payload(slot, VariantType::PackedByteArray).cast() }
    }
}

/// The value of an entry under construction that is left to another construction.
pub struct LeftValue {
    /// Keeps the entry, whatever becomes of the construction that it belongs to.
    pub(super) dictionary: Variant,
    /// In an entry of the Dictionary.
    pub(super) place: *mut Variant,
}

/// Values of entries that are made elsewhere first, since their keys may repeat.
pub struct LateValues {
    values: Variant,
    left: Vec<LeftValue>,
}

impl LateValues {
    /// Slots for so many values, which have a place to go to later.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`].
    pub fn new(left: Vec<LeftValue>) -> Result<(Self, Slots)> {
        let values = array(left.len(), &Variant::nil())?.to_variant();
        // SAFETY: the Array has just been made, and is used again when the values are settled.
        let slots = unsafe { Slots::new(values.clone(), 0..left.len()) };
        Ok((Self { values, left }, slots))
    }

    /// Moves the values to where they belong, when they have been made and nothing is under construction any more.
    pub fn settle(self) {
        let Self { values, left } = self;
        let mut slots = Slots { range: 0..left.len(), array: values };
        for LeftValue { dictionary, place } in left {
            // SAFETY: nothing else uses the Dictionary, which is alive, and of which no entry has been taken out since; those
            // added have not moved the others, or `can_share_out` would have kept values from being left.
            unsafe { std::ptr::swap(slots.next(), place) };
            drop(dictionary);
        }
    }
}

/// Elements of a PackedStringArray that one owner fills.
pub struct StringSlots {
    /// Keeps the elements, whatever becomes of its other owners.
    array: Variant,
    first: *mut GString,
    range: Range<usize>,
}

// SAFETY: as for `Slots`.
unsafe impl Send for StringSlots {}

impl StringSlots {
    /// All elements of a new array.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`].
    pub fn new(len: usize) -> Result<Self> {
        let bytes = len.saturating_mul(size_of::<GString>());
        check_room(bytes)?;
        let mut strings = PackedStringArray::new();
        strings.resize(len);
        if strings.len() != len {
            return Err(ErrorKind::OutOfMemory(bytes).into());
        }
        let array = strings.to_variant();
        // Only the Variant has them now.
        drop(strings);
        let (first, len) = Reader::new().packed_elements(&array, VariantType::PackedStringArray);
        Ok(Self { array, first: first.cast_mut().cast(), range: 0..len })
    }

    /// Fills the next element.
    ///
    /// # Panics
    /// If there is none.
    #[inline(always)]
    pub fn put(&mut self, string: GString) {
        let index = self.range.next().expect("no element is left");
        // SAFETY: the array, which is new, has this element, and nobody else has this index; it is not copied or resized
        // before all owners are done.
        let element = unsafe { &mut *self.first.add(index) };
        if layout::layout().is_some() {
            // SAFETY: verification has seen that an empty String and a new element are null pointers, which need no destructor.
            unsafe { std::ptr::from_mut(element).write(string) };
        } else {
            *element = string;
        }
    }

    /// Gives the next `count` elements away.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn leave(&mut self, count: usize) -> Self {
        let left = self.range.start..self.range.start + count;
        assert!(left.end <= self.range.end, "no such elements are left");
        self.range.start = left.end;
        Self { array: self.array.clone(), first: self.first, range: left }
    }

    /// The array, to be used when everything that was given away has been filled.
    pub fn into_array(self) -> Variant {
        self.array
    }
}
