//! Values that move between threads, or outlive the call that received them.

use godot::builtin::{AnyArray, Array, PackedByteArray, Variant};
use godot::init::is_main_thread;
use godot::meta::{Element, ToGodot};
use variant_codec::VariantType;

use crate::read::Reader;

/// Immutable bytes that any thread may keep: the library's own reference to the engine's buffer. Other owners copy the
/// buffer before they change it.
///
/// A packed array in a Variant is shared by all copies of the Variant, like an Array, and a script may overwrite its
/// bytes. This type therefore refers to the buffer, not to the packed array in the Variant.
pub struct OwnedBytes(PackedByteArray);

// SAFETY: the bytes are only read, through a shared reference, and cloned with an atomic reference count. Other owners
// copy the buffer before they write to it.
unsafe impl Sync for OwnedBytes {}
// SAFETY: the reference count is atomic, so any thread may drop the array.
unsafe impl Send for OwnedBytes {}

impl OwnedBytes {
    /// Takes ownership of the caller's handle.
    pub fn new(bytes: PackedByteArray) -> Self {
        Self(bytes)
    }

    /// The bytes that a Variant holds now; `None` if the Variant is not a PackedByteArray.
    pub fn of(reader: Reader, variant: &Variant) -> Option<Self> {
        // The conversion adds a reference to the buffer itself.
        (reader.ty(variant) == Some(VariantType::PackedByteArray)).then(|| Self(variant.to()))
    }

    /// The bytes.
    pub fn get(&self) -> &PackedByteArray {
        &self.0
    }
}

/// A new Array that nothing else can reach before [`OwnArray::into_array`].
///
/// Threads can fill it in turn, and any of them can return it.
pub struct OwnArray<T: Element>(Array<T>);

// SAFETY: no other reference to the Array exists before `into_array`. The reference counts of the Array and
// its elements are atomic.
unsafe impl<T: Element> Send for OwnArray<T> {}

impl<T: Element> Default for OwnArray<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Element> OwnArray<T> {
    /// An empty Array.
    pub fn new() -> Self {
        Self(Array::new())
    }

    /// Wraps a new Array, to which the caller keeps no other reference.
    pub(crate) fn made(array: Array<T>) -> Self {
        Self(array)
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the Array is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends the elements of another Array.
    pub fn append(&mut self, other: Self) {
        if self.0.is_empty() {
            *self = other;
        } else {
            self.0.extend_array(&other.0);
        }
    }

    /// Drops all but the first `len` elements.
    pub fn shrink(&mut self, len: usize) {
        self.0.shrink(len);
    }

    /// A second reference, for slots.
    pub(crate) fn to_variant(&self) -> Variant {
        self.0.to_variant()
    }

    /// The Array, which anything may reach from now on.
    pub fn into_array(self) -> Array<T> {
        self.0
    }
}

/// An Array from a script. The script may change the Array at any time outside of the library's calls. Only
/// the main thread reads the Array, while scripts wait. Other threads may hold and drop it.
pub struct GivenArray(AnyArray);

// SAFETY: `get` asserts that only the main thread reaches the elements. References are counted atomically, so
// any thread may drop the Array.
unsafe impl Send for GivenArray {}

impl GivenArray {
    /// Keeps an Array.
    pub fn new(array: AnyArray) -> Self {
        Self(array)
    }

    /// The Array, on the main thread.
    ///
    /// # Panics
    /// Panics if another thread calls this.
    pub fn get(&self) -> &AnyArray {
        assert!(is_main_thread(), "this is for the main thread");
        &self.0
    }
}
