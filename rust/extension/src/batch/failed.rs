//! The items of a batch that failed.

use variant_codec::Error;

/// For which items of a batch that failed it is kept why.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Reasons {
    /// For the first: thousands of reasons would take more memory than the batch.
    #[default]
    First,
    /// For all.
    All,
}

/// The items of a batch that failed.
#[derive(Default)]
pub struct Failed {
    /// Their indexes, in order.
    pub indexes: Vec<usize>,
    /// The first of them, or all, and why they failed, in order.
    pub reasons: Vec<(usize, Error)>,
    kept: Reasons,
}

impl Failed {
    /// None yet, of which it is kept why as `reasons` says.
    pub fn keeping(reasons: Reasons) -> Self {
        Self { kept: reasons, ..Self::default() }
    }

    /// The same, without those that there are.
    pub fn emptied(&self) -> Self {
        Self::keeping(self.kept)
    }

    /// One item.
    pub fn one(index: usize, error: Error) -> Self {
        let mut failed = Self::default();
        failed.add(index, error);
        failed
    }

    /// Puts them in order.
    pub fn sort(&mut self) {
        self.indexes.sort_unstable();
        self.reasons.sort_unstable_by_key(|(index, _)| *index);
    }

    /// Adds an item that follows all others.
    pub fn add(&mut self, index: usize, error: Error) {
        // Without memory for more, the items before say enough.
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

    /// Adds those of a batch whose items follow `start` others.
    pub fn extend(&mut self, start: usize, others: Self) {
        self.indexes.extend(others.indexes.into_iter().map(|index| start + index));
        self.reasons.extend(others.reasons.into_iter().map(|(index, error)| (start + index, error)));
    }

    /// The first item that failed, and why.
    pub fn into_first(self) -> Option<(usize, Error)> {
        self.reasons.into_iter().next()
    }
}
