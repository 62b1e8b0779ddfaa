//! Decoded values, and the objects that are freed if the caller never receives them.

use godot::builtin::Variant;
use godot::classes::{Node, Object};
use godot::init::is_main_thread;
use godot::obj::{Gd, InstanceId};
use variant_codec::{ErrorKind, Result};

/// Created objects without reference counting. They are freed unless the caller receives the value that holds them.
#[derive(Default)]
pub struct CreatedObjects(Vec<InstanceId>);

impl CreatedObjects {
    /// Takes ownership of the objects of `created` from `start` on.
    pub fn take_from(&mut self, created: &mut Self, start: usize) {
        self.0.extend(created.0.drain(start..));
    }

    /// Takes ownership of an object.
    pub fn push(&mut self, id: InstanceId) {
        self.0.push(id);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes ownership of all these objects.
    pub fn append(&mut self, mut created: Self) {
        self.0.append(&mut created.0);
    }

    /// Keeps the objects alive: the caller receives the value that holds them.
    pub fn leave(&mut self) {
        self.0.clear();
    }
}

impl Drop for CreatedObjects {
    /// Frees the newest objects first, so that parents outlive their children.
    fn drop(&mut self) {
        for id in self.0.drain(..).rev() {
            if let Ok(object) = Gd::<Object>::try_from_instance_id(id) {
                free(object);
            }
        }
    }
}

/// Frees an object. Any thread may drop a job, but a Node that a script has added to the scene tree must be
/// freed on the main thread.
fn free(mut object: Gd<Object>) {
    let is_in_tree =
        |object: &Gd<Object>| object.clone().try_cast::<Node>().is_ok_and(|node| node.is_inside_tree());
    if !is_main_thread() && is_in_tree(&object) {
        object.call_deferred("free", &[]);
    } else {
        object.free();
    }
}

/// A finished value. A value that is dropped before the caller receives it frees the objects created for it.
pub struct Built {
    value: Variant,
    /// The number of elements and keys that were dropped because they do not fit their typed container, as in
    /// the engine.
    pub dropped: usize,
    created: CreatedObjects,
}

impl Built {
    #[inline(always)]
    pub(crate) fn new(value: Variant, counts: ConversionCounts, created: CreatedObjects) -> Self {
        Self { value, dropped: counts.dropped, created }
    }

    /// A value without nested ones.
    #[inline(always)]
    pub(crate) fn leaf(value: Variant) -> Self {
        Self::new(value, ConversionCounts::default(), CreatedObjects::default())
    }

    /// Returns the value to the caller.
    #[inline(always)]
    pub fn into_value(mut self) -> Variant {
        self.created.leave();
        self.value
    }

    /// The value, and the objects to free if the caller never receives it.
    #[inline(always)]
    pub fn into_parts(self) -> (Variant, CreatedObjects) {
        (self.value, self.created)
    }
}

/// Counts of conversions in typed containers.
#[derive(Default)]
pub struct ConversionCounts {
    /// As in [`Built`].
    pub dropped: usize,
    /// The number of characters in the texts to which containers were converted.
    pub converted_text: usize,
}

/// Checks that conversions of containers to text have not produced too much text for the size of the input.
///
/// # Errors
/// [`ErrorKind::TextTooLarge`].
pub fn check_converted_text(characters: usize, bytes: usize) -> Result<()> {
    /// The characters allowed per input byte: far more than the engine writes for one byte.
    const PER_BYTE: usize = 16;
    const FREE: usize = 1 << 16;
    const MAX: usize = 1 << 28;

    let most = bytes.saturating_mul(PER_BYTE).saturating_add(FREE).min(MAX);
    if characters > most { Err(ErrorKind::TextTooLarge(most).into()) } else { Ok(()) }
}
