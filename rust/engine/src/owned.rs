//! What goes from one thread to another, or outlives the call that it was given to.

use godot::builtin::{AnyArray, Array, PackedByteArray, Variant};
use godot::init::is_main_thread;
use godot::meta::{Element, ToGodot};
use variant_codec::memory::check_room;
use variant_codec::{Result, VariantType};

use crate::read::Reader;

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

impl<T: Element> Default for OwnArray<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Element> OwnArray<T> {
    /// An empty one.
    pub fn new() -> Self {
        Self(Array::new())
    }

    /// An Array that has just been made, by a caller who keeps no other handle.
    pub(crate) fn made(array: Array<T>) -> Self {
        Self(array)
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
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
    pub(crate) fn to_variant(&self) -> Variant {
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
