//! The results that the threads of a batch gather.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use godot::builtin::{Array, Variant};
use godot::meta::Element;
use variant_codec::Error;
use variant_codec::sync::lock;
use variant_engine::{OwnArray, Slots};

use crate::batch::failed::{Failed, Reasons};
use crate::batch::spread::ITEM_COST;
use crate::decode::built::{Built, CreatedObjects};
use crate::thresholds::PART_BYTES;

/// A finished batch. A batch that is dropped before the caller receives it frees the objects created for it.
pub struct Batch<T: Element> {
    slots: OwnArray<T>,
    /// The failed items. Their slots hold the value that the engine's function returns after a failure.
    pub failed: Failed,
    /// The number of values dropped from typed containers, in all items.
    pub dropped: usize,
    created: CreatedObjects,
}

impl<T: Element> Batch<T> {
    /// Returns the Array, which has one element per item, to the caller.
    pub fn into_array(mut self) -> Array<T> {
        self.created.leave();
        self.slots.into_array()
    }

    /// The Array of one element per item, the failed items, and the objects to free if the caller never
    /// receives the Array.
    pub fn into_parts(self) -> (OwnArray<T>, Failed, CreatedObjects) {
        (self.slots, self.failed, self.created)
    }
}

/// The failed items, dropped values and created objects that the threads of a batch gather.
pub struct Gathering {
    failed: Mutex<Failed>,
    /// The index of the last item to process; later ones are skipped.
    last: AtomicUsize,
    ends_at_first: bool,
    dropped: AtomicUsize,
    created: Mutex<CreatedObjects>,
}

impl Gathering {
    /// For a batch of independent items.
    pub fn keeping(reasons: Reasons) -> Self {
        Self {
            failed: Mutex::new(Failed::keeping(reasons)),
            last: AtomicUsize::new(usize::MAX),
            ends_at_first: false,
            dropped: AtomicUsize::new(0),
            created: Mutex::default(),
        }
    }

    /// For a batch that ends at the first failed item.
    pub fn ending_at_first() -> Self {
        Self { ends_at_first: true, ..Self::keeping(Reasons::First) }
    }

    /// Adds a failed item.
    pub fn add_failed(&self, index: usize, error: Error) {
        if self.ends_at_first {
            self.last.fetch_min(index, Ordering::Relaxed);
        }
        lock(&self.failed).add(index, error);
    }

    /// Whether an item is skipped because an earlier one failed.
    pub fn skips(&self, index: usize) -> bool {
        index > self.last.load(Ordering::Relaxed)
    }

    /// Adds to the number of values dropped from typed containers.
    pub fn add_dropped(&self, dropped: usize) {
        if dropped > 0 {
            self.dropped.fetch_add(dropped, Ordering::Relaxed);
        }
    }

    /// Adds objects created for an item.
    pub fn add_created(&self, created: CreatedObjects) {
        if !created.is_empty() {
            lock(&self.created).append(created);
        }
    }

    /// The failed items, and the objects created for the others.
    pub fn into_failed(self) -> (Failed, CreatedObjects) {
        let mut failed = self.failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        failed.sort();
        (failed, self.created.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// The finished batch. Without slots, only the first item counts as failed.
    pub fn into_batch<T: Element>(self, filled: Result<(OwnArray<T>, ()), Error>) -> Batch<T> {
        let dropped = self.dropped.load(Ordering::Relaxed);
        match filled {
            Ok((slots, ())) => {
                let (failed, created) = self.into_failed();
                Batch { slots, failed, dropped, created }
            }
            Err(error) => {
                let mut failed = lock(&self.failed).emptied();
                failed.add(0, error);
                // Dropping `self` frees the created objects.
                Batch { slots: OwnArray::new(), failed, dropped, created: CreatedObjects::default() }
            }
        }
    }
}

/// Fills slots with the results of `decode`, which takes an index and also returns the number of bytes read.
/// Stops after a part, or before items that are skipped because an earlier item failed.
pub fn fill_part(
    slots: &mut Slots<'_>,
    gathering: &Gathering,
    mut decode: impl FnMut(usize) -> Result<(Built, usize), Error>,
) {
    let mut cost = 0;
    while !slots.is_empty() && cost < PART_BYTES && !gathering.skips(slots.start()) {
        let index = slots.start();
        match decode(index) {
            Ok((built, bytes)) => {
                cost += bytes;
                gathering.add_dropped(built.dropped);
                let (value, created) = built.into_parts();
                gathering.add_created(created);
                slots.put(value);
            }
            Err(error) => {
                gathering.add_failed(index, error);
                slots.put(Variant::nil());
            }
        }
        cost += ITEM_COST;
    }
}
