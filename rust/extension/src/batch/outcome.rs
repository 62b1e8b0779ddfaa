//! What became of the items of a batch.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use godot::builtin::{Array, Variant};
use godot::meta::Element;
use variant_codec::Error;
use variant_codec::memory::check_room;
use variant_engine::{OwnArray, Slots};

use super::failed::{Failed, Reasons};
use super::spread::ITEM_COST;
use crate::threads::lock;
use crate::thresholds::PART_BYTES;
use crate::variant::built::{Built, CreatedObjects};

/// Items may each be too small to ask whether there is memory for them. It is asked whenever they may have taken so much
/// together since, for twice as much: a part takes less.
const MEMORY_AT_ONCE: usize = 4 << 20;

/// A finished batch. Dropped before it is given to anybody, it frees all objects that were made for it.
pub struct Batch<T: Element> {
    /// One slot for each item.
    slots: OwnArray<T>,
    /// The items that failed; their slots hold what the engine's function gives.
    pub failed: Failed,
    /// Values left out of typed containers, in all items.
    pub dropped: usize,
    created: CreatedObjects,
}

impl<T: Element> Batch<T> {
    /// One element for each item, which somebody has from here on.
    pub fn give(mut self) -> Array<T> {
        self.created.leave();
        self.slots.give()
    }

    /// One element for each item, which nobody has yet, those that failed, and what is to be freed should nobody get them.
    pub fn into_parts(self) -> (OwnArray<T>, Failed, CreatedObjects) {
        (self.slots, self.failed, self.created)
    }
}

/// What became of the items of a batch.
pub struct Outcome {
    failed: Mutex<Failed>,
    /// Items behind this one come to nothing.
    last: AtomicUsize,
    ends_at_first: bool,
    dropped: AtomicUsize,
    created: Mutex<CreatedObjects>,
    /// What parts may have taken of memory since it was asked for.
    taken: AtomicUsize,
    /// That there was no memory for an item, so that the batch comes to nothing.
    no_room: OnceLock<Error>,
}

impl Outcome {
    /// Of a batch whose items have nothing to do with each other.
    pub fn keeping(reasons: Reasons) -> Self {
        Self {
            failed: Mutex::new(Failed::keeping(reasons)),
            last: AtomicUsize::new(usize::MAX),
            ends_at_first: false,
            dropped: AtomicUsize::new(0),
            created: Mutex::default(),
            taken: AtomicUsize::new(0),
            no_room: OnceLock::new(),
        }
    }

    /// A part may have taken so much memory.
    pub fn takes(&self, bytes: usize) {
        self.taken.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Whether there is memory for the next part; if not, its first item has failed, and those after it are passed over.
    pub fn has_room(&self, slots: &mut Slots<'_>) -> bool {
        let room = match self.no_room.get() {
            Some(error) => Err(error.clone()),
            None if self.taken.load(Ordering::Relaxed) < MEMORY_AT_ONCE => return true,
            None => {
                self.taken.store(0, Ordering::Relaxed);
                check_room(2 * MEMORY_AT_ONCE)
            }
        };
        let Err(error) = room else { return true };
        self.no_room.get_or_init(|| error.clone());
        self.add_failed(slots.start(), error);
        slots.skip();
        false
    }

    /// Of a batch that ends at the first item that fails.
    pub fn ending_at_first() -> Self {
        Self { ends_at_first: true, ..Self::keeping(Reasons::First) }
    }

    /// An item has failed.
    pub fn add_failed(&self, index: usize, error: Error) {
        if self.ends_at_first {
            self.last.fetch_min(index, Ordering::Relaxed);
        }
        lock(&self.failed).add(index, error);
    }

    /// Whether an item comes to nothing since one before has failed.
    pub fn makes_useless(&self, index: usize) -> bool {
        index > self.last.load(Ordering::Relaxed)
    }

    /// So many values were left out of typed containers.
    pub fn add_dropped(&self, dropped: usize) {
        if dropped > 0 {
            self.dropped.fetch_add(dropped, Ordering::Relaxed);
        }
    }

    /// Objects were made for an item.
    pub fn add_created(&self, created: CreatedObjects) {
        if !created.is_empty() {
            lock(&self.created).append(created);
        }
    }

    /// The items that failed, and what was made for the others.
    pub fn into_failed(self) -> (Failed, CreatedObjects) {
        let mut failed = self.failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        failed.sort();
        (failed, self.created.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Without memory for the slots or an item, there are none, and the first item has failed for all.
    pub fn into_batch<T: Element>(self, filled: Result<(OwnArray<T>, ()), Error>) -> Batch<T> {
        let filled = match self.no_room.get() {
            Some(error) => Err(error.clone()),
            None => filled,
        };
        let dropped = self.dropped.load(Ordering::Relaxed);
        match filled {
            Ok((slots, ())) => {
                let (failed, created) = self.into_failed();
                Batch { slots, failed, dropped, created }
            }
            Err(error) => {
                let mut failed = lock(&self.failed).emptied();
                failed.add(0, error);
                // What was made goes with the others.
                Batch { slots: OwnArray::new(), failed, dropped, created: CreatedObjects::default() }
            }
        }
    }
}

/// What a byte becomes in the engine, at most.
const MAX_PER_BYTE: usize = 64;

/// Fills slots with what `decode` gives for their indexes, with the bytes that it took, until they are a part's worth, or
/// behind an item that failed where all that follow come to nothing.
pub fn fill_part(
    slots: &mut Slots<'_>,
    outcome: &Outcome,
    mut decode: impl FnMut(usize) -> Result<(Built, usize), Error>,
) {
    let (mut cost, mut taken) = (0, 0);
    if !outcome.has_room(slots) {
        return;
    }
    while slots.len() > 0 && cost < PART_BYTES && !outcome.makes_useless(slots.start()) {
        let index = slots.start();
        match decode(index) {
            Ok((built, bytes)) => {
                cost += bytes;
                taken += bytes.saturating_mul(MAX_PER_BYTE);
                outcome.add_dropped(built.dropped);
                let (value, created) = built.into_parts();
                outcome.add_created(created);
                slots.put(value);
            }
            Err(error) => {
                outcome.add_failed(index, error);
                slots.put(Variant::nil());
            }
        }
        cost += ITEM_COST;
        taken += ITEM_COST;
    }
    outcome.takes(taken);
}
