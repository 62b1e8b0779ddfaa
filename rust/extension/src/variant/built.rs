//! What was built, and the objects that are freed should nobody get it.

use godot::builtin::Variant;
use godot::classes::{Node, Object};
use godot::init::is_main_thread;
use godot::obj::{Gd, InstanceId};
use variant_codec::{ErrorKind, Result};

/// Objects that nothing frees by itself: they are freed if the value that holds them goes to nobody.
#[derive(Default)]
pub struct CreatedObjects(Vec<InstanceId>);

impl CreatedObjects {
    /// Takes over those that `created` has got since it held so many.
    pub fn take_from(&mut self, created: &mut Self, start: usize) {
        self.0.extend(created.0.drain(start..));
    }

    /// Another object.
    pub fn push(&mut self, id: InstanceId) {
        self.0.push(id);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes over all of them.
    pub fn append(&mut self, mut created: Self) {
        self.0.append(&mut created.0);
    }

    /// Somebody has the value that holds them.
    pub fn leave(&mut self) {
        self.0.clear();
    }
}

impl Drop for CreatedObjects {
    /// Newest first, so that parents outlive their children.
    fn drop(&mut self) {
        for id in self.0.drain(..).rev() {
            if let Ok(object) = Gd::<Object>::try_from_instance_id(id) {
                free(object);
            }
        }
    }
}

/// Frees an object. A job may be let go of by any thread, while a script of a Node may have put it into the tree, which is the
/// main thread's.
fn free(mut object: Gd<Object>) {
    let is_in_tree =
        |object: &Gd<Object>| object.clone().try_cast::<Node>().is_ok_and(|node| node.is_inside_tree());
    if !is_main_thread() && is_in_tree(&object) {
        object.call_deferred("free", &[]);
    } else {
        object.free();
    }
}

/// A finished value. Dropped before it is given to anybody, it frees all objects that were made for it.
pub struct Built {
    value: Variant,
    /// Elements and keys that were dropped, as the engine does, because their typed container does not take them.
    pub dropped: usize,
    created: CreatedObjects,
}

impl Built {
    /// A value, what conversions came to in it, and the objects that were made for it.
    pub fn new(value: Variant, fill: ConversionCounts, created: CreatedObjects) -> Self {
        Self { value, dropped: fill.dropped, created }
    }

    /// The value, which somebody has from here on.
    #[inline(always)]
    pub fn give(mut self) -> Variant {
        self.created.leave();
        self.value
    }

    /// The value, which nobody has yet, and what is to be freed should that stay so.
    #[inline(always)]
    pub fn into_parts(self) -> (Variant, CreatedObjects) {
        (self.value, self.created)
    }
}

/// What conversions came to.
#[derive(Default)]
pub struct ConversionCounts {
    /// As in [`Built`].
    pub dropped: usize,
    /// How many characters of text they have made of containers.
    pub converted_text: usize,
}

/// Refuses so much text that typed containers would make of other containers in input of so many bytes.
///
/// # Errors
/// That it is too much.
pub fn check_converted_text(characters: usize, bytes: usize) -> Result<()> {
    /// What the engine writes for one byte, at most, is far less.
    const PER_BYTE: usize = 16;
    const FREE: usize = 1 << 16;
    const MAX: usize = 1 << 28;

    let most = bytes.saturating_mul(PER_BYTE).saturating_add(FREE).min(MAX);
    if characters > most { Err(ErrorKind::TextTooLarge(most).into()) } else { Ok(()) }
}
