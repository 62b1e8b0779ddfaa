//! [`Batch`]: values that all cores process.

use std::ops::Range;

use rayon::prelude::*;

use crate::failure::Outcome;

/// The bytes of values to read before all cores process them.
pub const BATCH: usize = 8 << 20;

/// Values to process on all cores.
#[derive(Default)]
pub struct Batch {
    bytes: Vec<u8>,
    /// The index of each value, its offset in the file, and its range in `bytes`.
    values: Vec<(u64, u64, Range<usize>)>,
}

impl Batch {
    /// Whether the batch has [`BATCH`] bytes or more.
    pub fn is_full(&self) -> bool {
        self.bytes.len() >= BATCH
    }

    pub fn push(&mut self, index: u64, offset: u64, bytes: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.values.push((index, offset, start..self.bytes.len()));
    }

    /// Empties the batch. Returns the result of each group of values, with the error that ended it.
    pub fn take_groups<T: Default + Send>(
        &mut self,
        work: impl Fn(&mut T, u64, u64, &[u8]) -> Outcome<()> + Sync,
    ) -> Vec<(T, Outcome<()>)> {
        /// Several groups per core, so that one busy core does not delay the rest.
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
