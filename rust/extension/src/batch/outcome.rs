//! The outcome of a batch.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use godot::builtin::{Array, Variant};
use godot::meta::Element;
use variant_codec::sync::lock;
use variant_codec::{Error, ErrorKind};
use variant_engine::{OwnArray, Slots};

use super::failed::{Failed, Reasons};
use super::spread::ITEM_COST;
use crate::memory_budget::MemoryBudget;
use crate::thresholds::PART_BYTES;
use crate::variant::built::{Built, CreatedObjects};

/// A finished batch. A batch that is dropped before the caller receives it frees the objects created for it.
pub struct Batch<T: Element> {
    slots: OwnArray<T>,
    /// The failed items. Their slots hold the value that the engine's function returns after a failure.
    pub failed: Failed,
    /// The number of values dropped from typed containers, in all items.
    pub dropped: usize,
    /// The memory that the batch has taken since the last check.
    pub unchecked: usize,
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

/// The outcome of a running batch, which its threads share.
pub struct Outcome {
    failed: Mutex<Failed>,
    /// The index of the last item to process; later ones are skipped.
    last: AtomicUsize,
    ends_at_first: bool,
    dropped: AtomicUsize,
    created: Mutex<CreatedObjects>,
    memory: MemoryBudget,
    /// The error if memory ran out. The whole batch then fails.
    no_memory: OnceLock<Error>,
    /// Whether an item failed because memory was short.
    lacks_memory: AtomicBool,
}

impl Outcome {
    /// The outcome of a batch of independent items.
    pub fn keeping(reasons: Reasons) -> Self {
        Self {
            failed: Mutex::new(Failed::keeping(reasons)),
            last: AtomicUsize::new(usize::MAX),
            ends_at_first: false,
            dropped: AtomicUsize::new(0),
            created: Mutex::default(),
            memory: MemoryBudget::default(),
            no_memory: OnceLock::new(),
            lacks_memory: AtomicBool::new(false),
        }
    }

    /// Adds the memory that a part may have taken.
    pub fn takes(&self, bytes: usize) {
        self.memory.add(bytes);
    }

    /// The memory that parts have taken since the last check.
    pub fn unchecked(&self) -> usize {
        self.memory.unchecked()
    }

    /// Checks that there is memory for the next part.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`](variant_codec::ErrorKind::OutOfMemory), for all parts after the first failure.
    pub fn check_memory(&self) -> Result<(), Error> {
        match self.no_memory.get() {
            Some(error) => Err(error.clone()),
            None => self.memory.check().inspect_err(|error| {
                self.no_memory.get_or_init(|| error.clone());
            }),
        }
    }

    /// Checks that there is memory for the next part. If not, the first of the `slots` fails and the others
    /// are skipped.
    pub fn has_memory(&self, slots: &mut Slots<'_>) -> bool {
        let Err(error) = self.check_memory() else { return true };
        self.add_failed(slots.start(), error);
        slots.skip();
        false
    }

    /// The outcome of a batch that ends at the first failed item.
    pub fn ending_at_first() -> Self {
        Self { ends_at_first: true, ..Self::keeping(Reasons::First) }
    }

    /// Adds a failed item.
    pub fn add_failed(&self, index: usize, error: Error) {
        if self.ends_at_first {
            self.last.fetch_min(index, Ordering::Relaxed);
        }
        if matches!(error.kind(), ErrorKind::OutOfMemory(_)) {
            self.lacks_memory.store(true, Ordering::Relaxed);
        }
        self.memory.add_error();
        lock(&self.failed).add(index, error);
    }

    /// Whether an item is skipped because an earlier one failed.
    pub fn makes_useless(&self, index: usize) -> bool {
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

    /// The finished batch. If memory ran out, the batch has no slots, and only the first item counts as
    /// failed.
    pub fn into_batch<T: Element>(self, filled: Result<(OwnArray<T>, ()), Error>) -> Batch<T> {
        let filled = match self.no_memory.get() {
            Some(error) => Err(error.clone()),
            None => filled,
        };
        let (dropped, unchecked) = (self.dropped.load(Ordering::Relaxed), self.unchecked());
        match filled {
            Ok((slots, ())) => {
                let (failed, created) = self.into_failed();
                Batch { slots, failed, dropped, unchecked, created }
            }
            Err(error) => {
                let mut failed = lock(&self.failed).emptied();
                failed.add(0, error);
                // Dropping `self` frees the created objects.
                let (slots, created) = (OwnArray::new(), CreatedObjects::default());
                Batch { slots, failed, dropped, unchecked, created }
            }
        }
    }
}

/// Runs a batch on several threads if `parallel`. Repeats it on one thread if memory becomes short: several threads need
/// more.
pub fn run<R>(
    parallel: bool,
    outcome: impl Fn() -> Outcome,
    mut run: impl FnMut(&Outcome, bool) -> R,
) -> (Outcome, R) {
    if parallel {
        let outcome = outcome();
        let result = run(&outcome, true);
        if outcome.no_memory.get().is_none() && !outcome.lacks_memory.load(Ordering::Relaxed) {
            return (outcome, result);
        }
    }
    let outcome = outcome();
    let result = run(&outcome, false);
    (outcome, result)
}

/// Fills slots with the results of `decode`, which takes an index and also returns the number of bytes read.
/// Stops after a part, or before items that are skipped because an earlier item failed.
pub fn fill_part(
    slots: &mut Slots<'_>,
    outcome: &Outcome,
    mut decode: impl FnMut(usize) -> Result<(Built, usize), Error>,
) {
    let (mut cost, mut taken) = (0, 0);
    if !outcome.has_memory(slots) {
        return;
    }
    let part_bytes = if outcome.memory.is_short() { PART_BYTES / 16 } else { PART_BYTES };
    while !slots.is_empty() && cost < part_bytes && !outcome.makes_useless(slots.start()) {
        let index = slots.start();
        match decode(index) {
            Ok((built, bytes)) => {
                cost += bytes;
                taken += MemoryBudget::cost(bytes);
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
