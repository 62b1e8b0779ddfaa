//! The failed items of a batch.

use variant_codec::Error;

/// The failed items whose error is kept.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Reasons {
    /// Only the first: thousands of errors would take more memory than the batch.
    #[default]
    First,
    /// All.
    All,
}

/// The failed items of a batch.
#[derive(Default)]
pub struct Failed {
    /// The indexes, in order.
    pub indexes: Vec<usize>,
    /// The error of the first failed item, or the errors of all of them, in order.
    pub reasons: Vec<(usize, Error)>,
    kept: Reasons,
}

impl Failed {
    /// An empty list that keeps the errors chosen by `reasons`.
    pub fn keeping(reasons: Reasons) -> Self {
        Self { kept: reasons, ..Self::default() }
    }

    /// An empty list with the same choice of errors to keep.
    pub fn emptied(&self) -> Self {
        Self::keeping(self.kept)
    }

    /// A list of one failed item.
    pub fn one(index: usize, error: Error) -> Self {
        let mut failed = Self::default();
        failed.add(index, error);
        failed
    }

    /// Sorts the items by index.
    pub fn sort(&mut self) {
        self.indexes.sort_unstable();
        self.reasons.sort_unstable_by_key(|(index, _)| *index);
    }

    /// Adds a failed item. Call `sort` at the end if items are added out of order.
    pub fn add(&mut self, index: usize, error: Error) {
        // If memory runs out, the earlier items are enough.
        if self.indexes.try_reserve(1).is_err() || self.reasons.try_reserve(1).is_err() {
            return;
        }
        self.indexes.push(index);
        match self.reasons.first_mut() {
            Some(first) if self.kept == Reasons::First => {
                if index < first.0 {
                    *first = (index, error);
                }
            }
            _ => self.reasons.push((index, error)),
        }
    }

    /// Adds the failed items of a batch that starts at item `start`.
    pub fn extend(&mut self, start: usize, others: Self) {
        let (indexes, reasons) = (others.indexes.len(), others.reasons.len());
        if self.indexes.try_reserve(indexes).is_err() || self.reasons.try_reserve(reasons).is_err() {
            return;
        }
        self.indexes.extend(others.indexes.into_iter().map(|index| start + index));
        self.reasons.extend(others.reasons.into_iter().map(|(index, error)| (start + index, error)));
    }

    /// The first failed item and its error.
    pub fn into_first(self) -> Option<(usize, Error)> {
        self.reasons.into_iter().next()
    }
}
