//! Arrays under construction.

use std::mem::ManuallyDrop;
use std::ops::Range;

use godot::builtin::Variant;
use godot::sys::{GodotFfi, interface_fn};
use variant_codec::VariantType;

use super::{Building, Open, declaration};
use crate::interface::{TypePtr, variant_ptr};
use crate::layout::{self, clear};
use crate::read::ContainerType;
use crate::slots::Slots;
use crate::types::plain_bytes;

impl<'s> Building<'s> {
    /// Opens an Array of `len` elements in its place. Returns whether the engine could allocate it.
    #[inline(always)]
    pub fn open_array(&mut self, len: usize, element: &ContainerType) -> bool {
        let array = self.put_empty(VariantType::Array);
        let typed = !matches!(element, ContainerType::Untyped);
        // SAFETY: `array` is a new Array that nothing else uses, as `set_type` and `resize_array` demand.
        unsafe {
            let container = self.container(&array, VariantType::Array);
            if typed {
                set_type(container, element);
            }
            if len > 0 && !self.interface.resize_array(container, len) {
                return false;
            }
        }
        // A new Array shares its elements with nothing: see `behaviour.rs`.
        let first = self.layout.map_or(std::ptr::null(), |layout| layout.elements(&array).0);
        let first = first.cast_mut();
        self.push(Open::Array { array, first, len, index: 0, place: std::ptr::null_mut(), typed });
        true
    }

    /// The next value is the next element of the open Array.
    ///
    /// # Panics
    /// If no Array is open, or it has no more elements.
    #[inline(always)]
    pub fn next_element(&mut self) {
        let interface = self.interface;
        let Some(Open::Array { array, first, len, index, place, typed }) = self.open.last_mut() else {
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
        if *typed {
            // A typed Array's new elements are defaults of its type. SAFETY: `place` is an element of the Array, so a
            // live Variant.
            clear(self.layout, unsafe { &mut **place });
        }
    }

    /// Writes values that need no destructor to the next elements of the open Array, from their bytes. Returns false,
    /// having written none, where elements are not reached in place or have another type.
    ///
    /// # Panics
    /// If there are more values than elements, or values of this type do not have `N` bytes.
    #[inline(always)]
    pub fn put_run<const N: usize>(
        &mut self,
        ty: VariantType,
        values: &mut impl Iterator<Item = [u8; N]>,
    ) -> bool {
        let (Some(layout), Some(Open::Array { array, first, len, index, place, typed })) =
            (self.layout, self.open.last_mut())
        else {
            return false;
        };
        assert_eq!(plain_bytes(ty), Some(N));
        // A typed Array's new elements are defaults of its type, which need no destructor if it is this one.
        let is_room = layout::PAYLOAD + N <= layout::VARIANT;
        if !is_room || first.is_null() || (*typed && layout.array_type(array) != u32::from(ty.id())) {
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
        self.place = *place;
        true
    }

    /// Closes the open Array.
    #[inline(always)]
    pub fn close_array(&mut self) {
        assert!(matches!(self.pop(), Some(Open::Array { .. })), "no Array is open");
    }

    /// Hands the next `count` elements of the open Array to another thread.
    ///
    /// # Panics
    /// If no Array is open, or it has fewer elements left.
    pub fn leave_elements(&mut self, count: usize) -> Slots<'s> {
        let Some(Open::Array { array, len, index, .. }) = self.open.last_mut() else {
            panic!("no Array is open");
        };
        let range = *index..*index + count;
        assert!(range.end <= *len, "the Array has no more elements");
        *index = range.end;
        self.place = std::ptr::null_mut();
        self.has_gaps = true;
        // SAFETY: this construction does not touch these elements again. Nothing else reaches the Array, which is new
        // and sized once, before `'s` has ended.
        unsafe { Slots::new(Variant::clone(array), range) }
    }

    /// A construction that fills elements handed over by another one.
    pub fn of_elements(slots: Slots<'s>) -> Self {
        let mut building = Self::new();
        let (owner, Range { start, end }) = slots.into_parts();
        // SAFETY: the second handle is used only while `owner` holds the Array.
        let array = ManuallyDrop::new(unsafe { std::ptr::from_ref(&owner).read() });
        building._owner = Some(owner);
        let first = building.layout.map_or(std::ptr::null(), |layout| layout.elements(&array).0).cast_mut();
        // Defaults of a typed Array are replaced in either case.
        let (index, len, typed) = (start, end, true);
        building.push(Open::Array { array, first, len, index, place: std::ptr::null_mut(), typed });
        building
    }
}

/// Declares the type of an Array's elements.
///
/// # Safety
/// - `array` points to an empty Array that nothing else uses.
#[cold]
#[inline(never)]
unsafe fn set_type(array: TypePtr, element: &ContainerType) {
    let (ty, class, script) = declaration(element);
    // SAFETY: the Array is empty and nothing else uses it (`# Safety`); class and script live through the call.
    unsafe { interface_fn!(array_set_typed)(array, ty, class.sys().cast(), variant_ptr(&script)) };
}
