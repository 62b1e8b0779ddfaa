//! Arrays under construction.

use std::mem::ManuallyDrop;
use std::ops::Range;

use godot::builtin::Variant;
use godot::sys::{GodotFfi, interface_fn};
use variant_codec::VariantType;

use super::{Building, DeclaredType, Open, PendingElement, declaration, reset};
use crate::interface::{TypePtr, variant_ptr};
use crate::layout::{self, clear};
use crate::read::{ContainerType, Reader};
use crate::slots::Slots;
use crate::types::plain_bytes;

impl<'s> Building<'s> {
    /// Opens an Array of `len` elements as the next value. Returns false if the engine cannot allocate it.
    #[inline(always)]
    pub fn open_array(&mut self, len: usize, element: &ContainerType) -> bool {
        let array = self.put_empty(VariantType::Array);
        // SAFETY: `array` is a new Array that nothing else uses, as `set_type` and `resize_array` demand.
        unsafe {
            let container = self.container(&array, VariantType::Array);
            if !matches!(element, ContainerType::Untyped) {
                set_type(container, element);
            }
            if len > 0 && !self.interface.resize_array(container, len) {
                return false;
            }
        }
        // A new Array shares its elements with nothing: see `behaviour.rs`.
        let first = self.layout.map_or(std::ptr::null(), |layout| layout.elements(&array).0);
        let first = first.cast_mut();
        self.push(Open::Array {
            array,
            first,
            len,
            index: 0,
            place: std::ptr::null_mut(),
            pending: None,
            declared: DeclaredType::of(element),
            class: element.of_objects().then(|| Box::new(element.clone())),
            is_shorter: false,
            is_left: false,
        });
        true
    }

    /// Makes the next value the next element of the open Array.
    ///
    /// # Panics
    /// Panics if no Array is open, the Array has no more elements, or the last element does not have the
    /// declared type.
    #[inline(always)]
    pub fn next_element(&mut self) {
        let interface = self.interface;
        self.keep_element();
        let Some(Open::Array { array, first, len, index, place, pending, declared, .. }) =
            self.open.last_mut()
        else {
            panic!("no Array is open");
        };
        assert!(*index < *len, "the Array has no more elements");
        // SAFETY: the assertion has checked the index. The elements of the Array in `array` are contiguous, and nothing
        // else resizes it. godot-rust's Variant is transparent over the engine's.
        *place = unsafe {
            if first.is_null() {
                let payload = interface.payload(array, VariantType::Array);
                interface_fn!(array_operator_index)(payload, *index as i64).cast()
            } else {
                first.add(*index)
            }
        };
        *index += 1;
        self.place = *place;
        if let Some(pending) = pending {
            pending.place = *place;
        }
        if *declared != DeclaredType::Any {
            // A typed Array's new elements are defaults of its type. SAFETY: `place` is an element of the
            // Array and thus a live Variant.
            clear(self.layout, unsafe { &mut **place });
        }
    }

    /// Asserts that the last element of the open Array has the declared type, if elements are checked. The
    /// element is then final.
    #[inline(always)]
    fn keep_element(&mut self) {
        if let Some(Open::Array { place, pending, declared, class, .. }) = self.open.last_mut()
            && (*declared != DeclaredType::Any || pending.is_some())
            && !place.is_null()
        {
            // SAFETY: `place` is an element of the Array: a live Variant that only this construction reaches.
            let is_taken = declared.accepts(unsafe { &**place }, class.as_deref());
            assert!(is_taken, "the element has another type than the Array");
            if let Some(pending) = pending {
                pending.place = std::ptr::null_mut();
            }
            *place = std::ptr::null_mut();
            self.place = std::ptr::null_mut();
        }
    }

    /// Drops the last element of the open Array. The next element replaces it.
    ///
    /// # Panics
    /// Panics if no typed Array is open, the Array has no last element, or elements were handed to other
    /// threads.
    pub fn drop_element(&mut self) {
        let Some(Open::Array { len, index, place, declared, is_shorter, is_left, .. }) = self.open.last_mut()
        else {
            panic!("no Array is open");
        };
        assert!(*declared != DeclaredType::Any, "no typed Array is open");
        assert!(!place.is_null() && !*is_left, "there is no element to drop");
        // SAFETY: `place` is an element of the Array: a live Variant that only this construction reaches.
        unsafe { reset(self.interface, self.layout, *declared, *place) };
        *is_shorter = true;
        *len -= 1;
        *index -= 1;
        *place = std::ptr::null_mut();
        self.place = std::ptr::null_mut();
    }

    /// Writes values that need no destructor, given as bytes, to the next elements of the open Array. Writes
    /// nothing and returns false if elements cannot be accessed in place, or the Array declares another type.
    ///
    /// # Panics
    /// Panics if there are more values than elements, values of this type do not have `N` bytes, or the last
    /// element does not have the declared type.
    #[inline(always)]
    pub fn put_run<const N: usize>(
        &mut self,
        ty: VariantType,
        values: &mut impl Iterator<Item = [u8; N]>,
    ) -> bool {
        self.keep_element();
        let (Some(_), Some(Open::Array { first, len, index, place, pending, declared, .. })) =
            (self.layout, self.open.last_mut())
        else {
            return false;
        };
        assert_eq!(plain_bytes(ty), Some(N));
        // The new elements of a typed Array are defaults of its type. They need no destructor if the type is
        // `ty`.
        let is_room = layout::PAYLOAD + N <= layout::VARIANT;
        let is_taken = matches!(*declared, DeclaredType::Any) || *declared == DeclaredType::Type(ty);
        if !is_room || first.is_null() || !is_taken {
            return false;
        }
        for bytes in values {
            assert!(*index < *len, "the Array has no more elements");
            // SAFETY: the assertion has checked the index; the elements are contiguous, and nothing else resizes the
            // Array. A new element is Nil or the default of this type, as `behaviour.rs` verifies. A Variant holds a
            // value of this type in its payload, in `N` bytes.
            unsafe {
                *place = first.add(*index);
                layout::write_plain(*place, ty, &bytes);
            }
            *index += 1;
        }
        if *declared != DeclaredType::Any || pending.is_some() {
            *place = std::ptr::null_mut();
        }
        self.place = *place;
        true
    }

    /// Closes the open Array.
    ///
    /// # Panics
    /// Panics if no Array is open, or the last element does not have the declared type.
    #[inline(always)]
    pub fn close_array(&mut self) {
        self.keep_element();
        let Some(Open::Array { array, len, is_shorter, .. }) = self.pop() else { panic!("no Array is open") };
        if is_shorter {
            // SAFETY: `array` holds an Array of more than `len` elements, and no other thread has any of them.
            unsafe {
                let container = self.container(&array, VariantType::Array);
                self.interface.resize_array(container, len);
            }
        }
    }

    /// Hands the next `count` elements of the open Array to another thread.
    ///
    /// # Panics
    /// Panics if no Array is open, fewer elements are left, elements were dropped, or the elements are
    /// declared as objects.
    pub fn leave_elements(&mut self, count: usize) -> Slots<'s> {
        self.keep_element();
        let Some(Open::Array { array, len, index, place, declared, is_shorter, is_left, .. }) =
            self.open.last_mut()
        else {
            panic!("no Array is open");
        };
        assert!(!*is_shorter && *declared != DeclaredType::Objects, "elements cannot be left");
        *is_left = true;
        *place = std::ptr::null_mut();
        let range = *index..*index + count;
        assert!(range.end <= *len, "the Array has no more elements");
        *index = range.end;
        self.place = std::ptr::null_mut();
        self.gaps += 1;
        // SAFETY: this construction does not touch these elements again. Before `'s` has ended, nothing else
        // reaches the Array, which is new and sized once.
        unsafe { Slots::new(Variant::clone(array), range) }
    }

    /// A construction that fills elements handed over by another construction. `close_array` completes the
    /// last element. Without `close_array`, the last element is reset to its default.
    pub fn of_elements(slots: Slots<'s>) -> Self {
        let mut building = Self::new();
        let (owner, Range { start, end }) = slots.into_parts();
        // SAFETY: the second handle is used only while `owner` holds the Array.
        let array = ManuallyDrop::new(unsafe { std::ptr::from_ref(&owner).read() });
        building._owner = Some(owner);
        let first = building.layout.map_or(std::ptr::null(), |layout| layout.elements(&array).0).cast_mut();
        let declared = DeclaredType::of(&Reader::new().array_type(&array));
        building.push(Open::Array {
            array,
            first,
            len: end,
            index: start,
            place: std::ptr::null_mut(),
            pending: Some(Box::new(PendingElement { place: std::ptr::null_mut(), declared })),
            declared,
            // Elements that are objects are never left to others.
            class: None,
            is_shorter: false,
            // Other threads fill elements too.
            is_left: true,
        });
        building
    }
}

/// # Safety
/// - `array` points to an empty Array that nothing else uses.
#[cold]
#[inline(never)]
unsafe fn set_type(array: TypePtr, element: &ContainerType) {
    let (ty, class, script) = declaration(element);
    // SAFETY: the Array is empty and nothing else uses it (`# Safety`); class and script live through the call.
    unsafe { interface_fn!(array_set_typed)(array, ty, class.sys().cast(), variant_ptr(&script)) };
}
