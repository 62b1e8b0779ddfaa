//! The engine's memory layout, found and verified by `probe.rs`.
//!
//! The engine documents functions, not memory. Reading and writing plain memory is several times faster, but relies on
//! facts about the layout. Each fact is found in the running engine and compared with the documented functions. If a
//! fact does not hold, one warning is printed, and only the documented functions are used until the process ends.
//!
//! ```text
//! Variant            tag u32 at 0, payload at 8
//!   plain types      the value itself, String, StringName, NodePath … likewise
//!   boxed types      a pointer to the value (Transform2D, AABB, Basis, Transform3D, Projection)
//!   Array            a pointer to its block, which points to its elements
//!   packed arrays    a pointer to a block, which points to its elements
//!   Dictionary       a pointer to its block, which points to its first entry
//! entry              next entry, previous entry, key, value
//! elements           one after the other; their count precedes the first
//! ```
//!
//! `behaviour.rs` verifies how the engine treats that memory.

use std::mem::MaybeUninit;
use std::sync::OnceLock;

use godot::builtin::{GString, StringName, Variant};
use variant_codec::VariantType;

use crate::interface::variant_ptr;

/// The offset of the payload in a Variant, in bytes.
pub(crate) const PAYLOAD: usize = 8;
/// The size of a Variant in bytes.
pub(crate) const VARIANT: usize = size_of::<Variant>();
/// The offset of the key in a Dictionary entry, in bytes. Two pointers precede the key, and the value follows
/// it.
pub(crate) const ENTRY_KEY: usize = 16;

/// The verified facts: offsets in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// The offset, in an Array's block, of the pointer to the elements.
    pub(crate) array_elements: usize,
    /// The offset, in an Array's block, of the element type's id.
    pub(crate) array_type: usize,
    /// The offset, in a packed array's block, of the pointer to the elements.
    pub(crate) packed_elements: usize,
    /// The distance from the first element of a buffer back to the count, a u64.
    pub(crate) count: usize,
    /// The offset, in a StringName's block, of the String.
    pub(crate) name_text: usize,
    /// The offset, in a Dictionary's block, of the pointer to the first entry.
    pub(crate) dictionary_first: usize,
    /// The offset, in a Dictionary's block, of the number of entries, a u32.
    pub(crate) dictionary_size: usize,
    /// The offset, in a Dictionary's block, of the key type's id.
    pub(crate) dictionary_key_type: usize,
    /// The offset, in a Dictionary's block, of the value type's id.
    pub(crate) dictionary_value_type: usize,
}

/// The facts about the running engine, stored once at start-up.
pub(crate) static LAYOUT: OnceLock<Option<Layout>> = OnceLock::new();

/// The facts; `None` if a fact does not hold or direct access is turned off.
#[inline(always)]
pub(crate) fn layout() -> Option<&'static Layout> {
    LAYOUT.get().and_then(Option::as_ref)
}

/// # Safety
/// - `offset + 8` bytes are readable at `block`.
pub(crate) unsafe fn word(block: *const u8, offset: usize) -> usize {
    // SAFETY: the bytes are readable (`# Safety`); the read may be unaligned.
    unsafe { block.add(offset).cast::<usize>().read_unaligned() }
}

/// # Safety
/// - `offset + 4` bytes are readable at `block`.
pub(crate) unsafe fn number(block: *const u8, offset: usize) -> u32 {
    // SAFETY: the bytes are readable (`# Safety`); the read may be unaligned.
    unsafe { block.add(offset).cast::<u32>().read_unaligned() }
}

/// The tag of a Variant: the id of its type.
#[inline(always)]
pub(crate) fn tag(variant: &Variant) -> u32 {
    // SAFETY: a Variant starts with at least four bytes.
    unsafe { variant_ptr(variant).cast::<u32>().read() }
}

#[inline(always)]
pub(crate) fn payload(variant: &Variant) -> *const u8 {
    // SAFETY: a Variant is longer than its payload's offset.
    unsafe { variant_ptr(variant).cast::<u8>().add(PAYLOAD) }
}

/// The address in a Variant's payload, if the payload is a pointer.
#[inline(always)]
pub(crate) fn block(variant: &Variant) -> *const u8 {
    // SAFETY: a Variant is at least as long as the payload's offset plus a pointer. The result is only a
    // number; callers that read through it know the type.
    unsafe { payload(variant).cast::<*const u8>().read() }
}

impl Layout {
    /// A pointer to an Array's first element, and the count.
    #[inline(always)]
    pub(crate) fn elements(&self, array: &Variant) -> (*const Variant, usize) {
        let (first, count) = self.buffer(array, self.array_elements);
        (first.cast(), count)
    }

    /// A pointer to a packed array's first element, and the count.
    #[inline(always)]
    pub(crate) fn packed(&self, array: &Variant) -> (*const u8, usize) {
        self.buffer(array, self.packed_elements)
    }

    #[inline(always)]
    fn buffer(&self, variant: &Variant, elements: usize) -> (*const u8, usize) {
        // SAFETY: the callers have checked that this is an Array or a packed array. Its payload points to a
        // block, which holds the pointer to the elements at a verified offset. A count precedes a non-empty
        // buffer.
        unsafe {
            let first = word(block(variant), elements) as *const u8;
            (first, if first.is_null() { 0 } else { word(first.sub(self.count), 0) })
        }
    }

    /// A pointer to a String's first code unit, and the count.
    #[inline(always)]
    pub(crate) fn text(&self, string: &GString) -> (*const u32, usize) {
        // SAFETY: a String is one pointer, and GString is transparent over the String.
        let first = unsafe { std::ptr::from_ref(string).cast::<*const u8>().read() };
        if first.is_null() {
            return (std::ptr::null(), 0);
        }
        // SAFETY: a non-empty String points to its code units. Their count precedes them and includes the
        // terminating zero.
        let count = unsafe { word(first.sub(self.count), 0) }.saturating_sub(1);
        if count == 0 { (std::ptr::null(), 0) } else { (first.cast(), count) }
    }

    /// A pointer to a StringName's first code unit, and the count. `None` if the engine keeps no String for
    /// the name; older engines keep none for names in their own code.
    #[inline(always)]
    pub(crate) fn name_text(&self, name: &StringName) -> Option<(*const u32, usize)> {
        // SAFETY: a StringName is one pointer, and godot-rust's StringName is transparent over the
        // engine's.
        let block = unsafe { std::ptr::from_ref(name).cast::<*const u8>().read() };
        if block.is_null() {
            return Some((std::ptr::null(), 0));
        }
        // SAFETY: a non-empty StringName points to its block, which holds a String at the verified offset.
        // GString is transparent over it.
        let text = self.text(unsafe { &*block.add(self.name_text).cast::<GString>() });
        (text.1 > 0).then_some(text)
    }

    /// The id of an Array's element type.
    #[inline(always)]
    pub(crate) fn array_type(&self, array: &Variant) -> u32 {
        // SAFETY: the payload points to an Array's block, and the offset lies within.
        unsafe { number(block(array), self.array_type) }
    }

    /// The ids of a Dictionary's key and value types.
    #[inline(always)]
    pub(crate) fn dictionary_types(&self, dictionary: &Variant) -> (u32, u32) {
        let block = block(dictionary);
        // SAFETY: the payload points to a Dictionary's block, and the offsets lie within.
        unsafe { (number(block, self.dictionary_key_type), number(block, self.dictionary_value_type)) }
    }

    #[inline(always)]
    pub(crate) fn dictionary_size(&self, dictionary: &Variant) -> usize {
        // SAFETY: the payload points to a Dictionary's block, and the offset lies within.
        unsafe { number(block(dictionary), self.dictionary_size) as usize }
    }

    /// The entries of a Dictionary, in insertion order.
    #[inline(always)]
    pub(crate) fn entries(&self, dictionary: &Variant) -> LinkedEntries {
        // SAFETY: the payload points to a Dictionary's block, and the offset lies within.
        LinkedEntries(unsafe { word(block(dictionary), self.dictionary_first) } as *const u8)
    }
}

/// An iterator over the entries of a Dictionary, which are a linked list.
#[derive(Clone, Copy)]
pub(crate) struct LinkedEntries(pub(crate) *const u8);

impl LinkedEntries {
    /// An iterator at the end.
    pub(crate) const OVER: Self = Self(std::ptr::null());

    /// Returns the current entry's key and value, and moves to the next entry.
    ///
    /// # Safety
    /// - The Dictionary lives for `'a`, and nothing changes it meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn next<'a>(&mut self) -> Option<(&'a Variant, &'a Variant)> {
        // SAFETY: the Dictionary is alive and nothing changes it (`# Safety`).
        unsafe { self.step().map(|(key, value)| (&*key, &*value)) }
    }

    /// Returns a pointer to the current entry's value, and moves to the next entry.
    ///
    /// # Safety
    /// - The Dictionary is alive, and nothing else changes it.
    #[inline(always)]
    pub(crate) unsafe fn next_place(&mut self) -> Option<*mut Variant> {
        // SAFETY: the Dictionary is alive and nothing changes it (`# Safety`).
        unsafe { self.step().map(|(_, value)| value) }
    }

    /// # Safety
    /// - The Dictionary is alive.
    #[inline(always)]
    unsafe fn step(&mut self) -> Option<(*mut Variant, *mut Variant)> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: the Dictionary is alive (`# Safety`). An entry starts with the pointer to the next one, and key and
        // value are at the verified offsets.
        unsafe {
            let key = self.0.add(ENTRY_KEY).cast::<Variant>().cast_mut();
            self.0 = word(self.0, 0) as *const u8;
            Some((key, key.add(1)))
        }
    }
}

/// Writes a value that needs no destructor into a Nil Variant.
///
/// # Safety
/// - `place` is valid for writing a Variant, and its old contents need no destructor.
/// - A Variant holds values of type `ty` in its payload. The value starts with `bytes`, and the caller writes
///   the remainder, if any.
#[inline(always)]
pub(crate) unsafe fn write_plain(place: *mut Variant, ty: VariantType, bytes: &[u8]) {
    // SAFETY: `place` is valid for writing (`# Safety`), and a payload that is not boxed fits in a Variant.
    unsafe {
        place.cast::<u32>().write(u32::from(ty.id()));
        place.cast::<u8>().add(PAYLOAD).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
    }
}

/// Moves a String into a Nil Variant.
///
/// # Safety
/// - `place` is valid for writing a Variant, and its old contents need no destructor.
#[inline(always)]
pub(crate) unsafe fn move_string(place: *mut Variant, string: GString) {
    // SAFETY: `place` is valid for writing (`# Safety`). A Variant holds a String as one pointer. The String
    // is moved, so its destructor runs once, with the Variant's.
    unsafe {
        place.cast::<u32>().write(u32::from(VariantType::String.id()));
        place.cast::<u8>().add(PAYLOAD).cast::<GString>().write(string);
    }
}

/// Moves a StringName to the start of a Nil Variant's payload, and makes `ty` the Variant's type.
///
/// # Safety
/// - `place` is valid for writing a Variant, and its old contents need no destructor.
/// - A value of type `ty` starts with a StringName, and the caller writes the remainder.
#[inline(always)]
pub(crate) unsafe fn move_name(place: *mut Variant, ty: VariantType, name: StringName) {
    // SAFETY: `place` is valid for writing (`# Safety`). A Variant holds a StringName as one pointer. The
    // StringName is moved, so its destructor runs once, with the Variant's.
    unsafe {
        place.cast::<u32>().write(u32::from(ty.id()));
        place.cast::<u8>().add(PAYLOAD).cast::<StringName>().write(name);
    }
}

/// Turns a Nil Variant into a Signal of the object with the id `object`. The object need not exist.
///
/// # Safety
/// - `place` is valid for writing a Variant, and its old contents need no destructor.
#[inline(always)]
pub(crate) unsafe fn move_signal(place: *mut Variant, name: StringName, object: u64) {
    // SAFETY: `place` is valid for writing (`# Safety`). `probe.rs` has verified that a Variant holds a Signal as its
    // name followed by the id of its object.
    unsafe {
        move_name(place, VariantType::Signal, name);
        place.cast::<u8>().add(PAYLOAD + size_of::<StringName>()).cast::<u64>().write(object);
    }
}

/// A Nil, made without a call if the layout is known.
#[inline(always)]
pub(crate) fn nil(layout: Option<&Layout>) -> Variant {
    match layout {
        // SAFETY: `probe.rs` has verified that a Nil has the tag 0; its other bytes have no meaning.
        Some(_) => unsafe { MaybeUninit::zeroed().assume_init() },
        None => Variant::nil(),
    }
}

/// Makes a Variant Nil, without a call if it is Nil already.
#[inline(always)]
pub(crate) fn clear(layout: Option<&Layout>, variant: &mut Variant) {
    if layout.is_none() || tag(variant) != 0 {
        *variant = nil(layout);
    }
}
