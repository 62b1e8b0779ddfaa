//! What several threads read, and what goes from one to another: elements of Arrays, bytes, results.

use std::marker::PhantomData;
use std::ops::Range;

use godot::builtin::{AnyArray, Array, PackedByteArray, Variant};
use godot::init::is_main_thread;
use godot::meta::{Element, ToGodot};
use godot::obj::Gd;
use godot::sys::interface_fn;
use variant_codec::memory::check_room;
use variant_codec::{Result, VariantType};

use super::interface::{Interface, TypePtr};
use super::read::Reader;
use crate::result_class::FastVariantResult;

/// The elements of an Array that is borrowed.
///
/// Shared between threads for reading: the engine counts references atomically, and the caller of the batch waits, so
/// its script changes nothing meanwhile. Another thread that does so breaks the engine's own rule for shared data.
#[derive(Clone, Copy)]
pub struct Elements<'a> {
    array: TypePtr,
    /// The first of them, where the layout is known; otherwise null.
    first: *const Variant,
    len: usize,
    borrowed: PhantomData<&'a Variant>,
}

// SAFETY: see the type: reading Variants from several threads is what the engine allows.
unsafe impl Send for Elements<'_> {}
// SAFETY: as above.
unsafe impl Sync for Elements<'_> {}

impl<'a> Elements<'a> {
    /// Elements that are asked for one by one.
    ///
    /// # Safety
    /// - `array` points to an Array that lives for `'a`.
    #[inline(always)]
    pub(super) unsafe fn documented(interface: &Interface, array: TypePtr) -> Self {
        // SAFETY: the caller vouches for the Array.
        let len = unsafe { interface.size(array, VariantType::Array) };
        Self { array, first: std::ptr::null(), len, borrowed: PhantomData }
    }

    /// Elements that are read where they are.
    ///
    /// # Safety
    /// - `array` points to an Array that lives for `'a` and has `len` elements from `first` on.
    #[inline(always)]
    pub(super) unsafe fn in_place(array: TypePtr, first: *const Variant, len: usize) -> Self {
        Self { array, first, len, borrowed: PhantomData }
    }

    /// How many there are.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// A range of the elements, if they are read in place and the range lies within.
    #[inline(always)]
    pub(super) fn slice(&self, range: Range<usize>) -> Option<&'a [Variant]> {
        if self.first.is_null() || range.start > range.end || range.end > self.len {
            return None;
        }
        // SAFETY: the range lies within, and the elements are there for `'a`, one after the other.
        Some(unsafe { std::slice::from_raw_parts(self.first.add(range.start), range.len()) })
    }

    /// The element at `index`; `None` beyond the end.
    #[inline(always)]
    pub fn get(&self, index: usize) -> Option<&'a Variant> {
        if index >= self.len {
            return None;
        }
        // SAFETY: the index lies within. Asked for, the engine checks it again and answers null beyond the end.
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

/// Bytes that nobody changes, on any thread and for as long as wanted: a counted handle of our own to the engine's buffer.
/// Whoever else has a handle copies the buffer before changing it.
///
/// A packed array in a Variant is itself shared by all copies of the Variant, as an Array is: a duplicated Array still leads
/// to the bytes that its script overwrites. So the handle is one to the buffer, not to what the Variant leads to.
pub struct OwnedBytes(PackedByteArray);

// SAFETY: only a shared reference is given out, through which the bytes are read, and copied with an atomic count of
// references; nobody else has this handle, and what others do to theirs leaves these bytes alone.
unsafe impl Sync for OwnedBytes {}
// SAFETY: the count is atomic, so the handle may be dropped on any thread.
unsafe impl Send for OwnedBytes {}

impl OwnedBytes {
    /// The bytes of a handle that the caller gives up.
    pub fn new(bytes: PackedByteArray) -> Self {
        Self(bytes)
    }

    /// The bytes that a Variant holds now; `None` if it holds none.
    pub fn of(reader: Reader, variant: &Variant) -> Option<Self> {
        // The conversion copies the inner handle, which is counted in the buffer itself.
        (reader.ty(variant) == Some(VariantType::PackedByteArray)).then(|| Self(variant.to()))
    }

    /// The bytes.
    pub fn get(&self) -> &PackedByteArray {
        &self.0
    }
}

/// An Array that its owner has made, and that nobody else can reach before it is given out.
///
/// So it can be filled by one thread after the other, and given out by any.
pub struct OwnArray<T: Element>(Array<T>);

// SAFETY: no other handle to the Array exists before `give` takes this one; its count is atomic, as are those of what its
// elements lead to.
unsafe impl<T: Element> Send for OwnArray<T> {}

impl<T: Element> OwnArray<T> {
    /// An empty one.
    pub fn new() -> Self {
        Self(Array::new())
    }

    /// An Array that has just been made, by a caller who keeps no other handle.
    pub(super) fn made(array: Array<T>) -> Self {
        Self(array)
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds the elements of another one behind its own.
    ///
    /// # Errors
    /// That there is no memory for them; it is as it was then.
    pub fn append(&mut self, other: Self) -> Result<()> {
        if self.0.is_empty() {
            *self = other;
            return Ok(());
        }
        let bytes = (self.len() + other.len()).saturating_mul(size_of::<Variant>());
        check_room(bytes)?;
        self.0.extend_array(&other.0);
        Ok(())
    }

    /// Drops all but so many elements.
    pub fn shrink(&mut self, len: usize) {
        self.0.shrink(len);
    }

    /// A second handle, for those who fill the elements.
    pub(super) fn to_variant(&self) -> Variant {
        self.0.to_variant()
    }

    /// The Array, which anybody may have now.
    pub fn give(self) -> Array<T> {
        self.0
    }
}

/// An Array of what scripts gave, and may change as they like, so that only the main thread reads it, on which they wait
/// meanwhile. Other threads may keep and drop it.
pub struct GivenArray(AnyArray);

// SAFETY: what is inside is reached on the main thread only. Its references are counted atomically, so that any thread may
// drop it.
unsafe impl Send for GivenArray {}

impl GivenArray {
    /// Keeps an Array.
    pub fn new(array: AnyArray) -> Self {
        Self(array)
    }

    /// The Array, on the main thread.
    ///
    /// # Panics
    /// On another thread.
    pub fn get(&self) -> &AnyArray {
        assert!(is_main_thread(), "this is for the main thread");
        &self.0
    }
}

/// A result on its way to scripts.
pub struct SharedResult(Gd<FastVariantResult>);

// SAFETY: no field of a result is written after it has been made, and a handle's count is atomic; what its value leads to is
// read by nobody but scripts.
unsafe impl Send for SharedResult {}

impl SharedResult {
    /// A result that has been made.
    pub fn new(result: Gd<FastVariantResult>) -> Self {
        Self(result)
    }

    /// A handle for scripts.
    pub fn get(&self) -> Gd<FastVariantResult> {
        self.0.clone()
    }
}
