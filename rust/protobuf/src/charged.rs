//! Working memory charged to the limits.

use std::ops::{Deref, DerefMut};

use variant_codec::limits::Budget;
use variant_codec::{ErrorKind, Result};

/// The number of items that are not charged.
const FIRST: usize = 64;

/// Items recorded while a message is decoded. Each growth charges the new buffer to the budget, in addition to the
/// old one.
#[derive(Debug)]
pub struct Charged<T> {
    items: Vec<T>,
    /// The number of items that need no further charge.
    charged: usize,
}

impl<T> Default for Charged<T> {
    fn default() -> Self {
        Self { items: Vec::new(), charged: FIRST }
    }
}

impl<T> Charged<T> {
    /// Clears the items for another message. Its items are charged anew.
    pub fn restart(&mut self) {
        self.items.clear();
        self.charged = FIRST;
    }

    #[inline(always)]
    pub fn reserve(&mut self, more: usize, budget: &mut Budget<'_>) -> Result<()> {
        if self.items.len().saturating_add(more) > self.charged { self.grow(more, budget) } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, more: usize, budget: &mut Budget<'_>) -> Result<()> {
        let capacity = self.items.len().saturating_add(more).max(self.charged.saturating_mul(2));
        let bytes = capacity.saturating_mul(size_of::<T>());
        budget.working(bytes)?;
        self.items
            .try_reserve_exact(capacity - self.items.len())
            .map_err(|_| ErrorKind::OutOfMemory(bytes))?;
        self.charged = capacity;
        Ok(())
    }

    #[inline(always)]
    pub fn push(&mut self, item: T, budget: &mut Budget<'_>) -> Result<()> {
        self.reserve(1, budget)?;
        self.items.push(item);
        Ok(())
    }
}

impl Charged<u8> {
    pub fn extend(&mut self, bytes: &[u8], budget: &mut Budget<'_>) -> Result<()> {
        self.reserve(bytes.len(), budget)?;
        self.items.extend_from_slice(bytes);
        Ok(())
    }
}

impl<T> Deref for Charged<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.items
    }
}

impl<T> DerefMut for Charged<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.items
    }
}
