//! [`Batch`]: values to process on all cores. [`Running`]: the batches that the cores are processing.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::mpsc::{Receiver, sync_channel};

use rayon::Scope;
use rayon::prelude::*;

use crate::failure::Outcome;

/// The size in bytes at which a batch is full.
pub const BATCH: usize = 1 << 20;

/// Values to process on all cores.
#[derive(Default)]
pub struct Batch {
    bytes: Vec<u8>,
    /// The index of each value, its offset in the file, and its range in `bytes`.
    values: Vec<(u64, u64, Range<usize>)>,
}

impl Batch {
    pub fn is_full(&self) -> bool {
        self.bytes.len() >= BATCH
    }

    pub fn push(&mut self, index: u64, offset: u64, bytes: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.values.push((index, offset, start..self.bytes.len()));
    }

    fn take_groups<T: Default + Send>(
        &mut self,
        work: impl Fn(&mut T, u64, u64, &[u8]) -> Outcome<()> + Sync,
    ) -> Results<T> {
        /// Several groups per core, so that one busy core does not delay the others.
        const PER_CORE: usize = 8;

        let size = self.values.len().div_ceil(rayon::current_num_threads() * PER_CORE).max(1);
        let groups = self.values.par_chunks(size).map(|group| {
            let mut found = T::default();
            let done = group.iter().try_for_each(|(index, offset, place)| {
                work(&mut found, *index, *offset, self.bytes.get(place.clone()).unwrap_or_default())
            });
            (found, done)
        });
        let groups = groups.collect();
        self.values.clear();
        self.bytes.clear();
        groups
    }
}

/// The batches that the cores process while the next one is read.
pub struct Running<T>(VecDeque<Receiver<(Batch, Results<T>)>>);

/// For each group of values: its result, and an error if one ended the group early.
type Results<T> = Vec<(T, Outcome<()>)>;

impl<T> Default for Running<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T: Default + Send> Running<T> {
    /// Starts `work` on a batch, and calls `take` with the results of the oldest batch if enough others are running.
    /// Returns an empty batch.
    pub fn start<'scope>(
        &mut self,
        scope: &Scope<'scope>,
        mut batch: Batch,
        work: &'scope (impl Fn(&mut T, u64, u64, &[u8]) -> Outcome<()> + Sync),
        take: &mut impl FnMut(Results<T>) -> Outcome<()>,
    ) -> Outcome<Batch>
    where
        T: 'scope,
    {
        /// Enough for the cores to have work while one batch is read.
        const AT_ONCE: usize = 3;

        let (sender, receiver) = sync_channel(1);
        scope.spawn(move |_| {
            let results = batch.take_groups(work);
            // Nobody receives the results if an earlier batch failed.
            let _ = sender.send((batch, results));
        });
        self.0.push_back(receiver);
        if self.0.len() > AT_ONCE { self.take_oldest(take) } else { Ok(Batch::default()) }
    }

    /// Waits for all batches, and calls `take` with their results.
    pub fn finish(&mut self, take: &mut impl FnMut(Results<T>) -> Outcome<()>) -> Outcome<()> {
        while !self.0.is_empty() {
            self.take_oldest(take)?;
        }
        Ok(())
    }

    fn take_oldest(&mut self, take: &mut impl FnMut(Results<T>) -> Outcome<()>) -> Outcome<Batch> {
        // If a worker panicked, the scope passes the panic on.
        let Some((batch, results)) = self.0.pop_front().and_then(|batch| batch.recv().ok()) else {
            return Ok(Batch::default());
        };
        take(results).map(|()| batch)
    }
}
