//! Parts of the bytes that a builder hands to other threads, with the slots for their values.

use variant_codec::stream::Part;
use variant_engine::{Slots, StringSlots};

pub struct PartTask<'s> {
    pub part: Part,
    pub slots: PartSlots<'s>,
}

pub enum PartSlots<'s> {
    /// Elements of an Array.
    Values(Slots<'s>),
    /// Elements of a PackedStringArray.
    Strings(StringSlots<'s>),
}

#[derive(Clone, Copy)]
pub struct PartDispatcher<'k, 's> {
    /// The size in bytes from which a container is split.
    pub bytes: usize,
    /// Takes a task for another thread.
    pub take: &'k dyn Fn(PartTask<'s>),
}
