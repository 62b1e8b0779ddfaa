//! [`MemoryBudget`]: checks for free memory while a call builds many small values.

use std::sync::atomic::{AtomicUsize, Ordering};

use variant_codec::Result;
use variant_codec::memory::{LEAST_CHECKED, check_memory, check_step};

/// The most that one addition counts: it leads to a check in any case.
const MOST_AT_ONCE: usize = 4 << 20;
/// The maximum engine memory that one encoded byte takes, and the overhead of a value, in bytes.
const MOST_PER_BYTE: usize = 64;
const PER_VALUE: usize = 64;
/// The memory that an error takes, with its texts. When little is left, glibc maps a whole page for each allocation of a
/// thread.
const PER_ERROR: usize = 16 << 10;

/// The memory of a created object: its native part, its variables, and whatever its `_init` creates. The data does not
/// show how much that is. A check asks for much more memory, so objects may take several times as much.
const PER_OBJECT: usize = 8 << 10;

/// The memory that a call has taken since the last check, on all its threads. Code that builds several values in a call
/// charges all of them to one budget. A value of more than 256 KiB is also checked by itself, while it is decoded.
#[derive(Default)]
pub struct MemoryBudget {
    taken: AtomicUsize,
    /// The bytes after which the next check comes, if more than [`LEAST_CHECKED`]: a check for each small value would be slow.
    step: AtomicUsize,
}

impl MemoryBudget {
    /// The maximum memory that a value of this encoded size takes.
    pub fn cost(encoded_bytes: usize) -> usize {
        encoded_bytes.saturating_mul(MOST_PER_BYTE).saturating_add(PER_VALUE)
    }

    /// Adds memory that has been taken.
    #[inline]
    pub fn add(&self, bytes: usize) {
        self.taken.fetch_add(bytes.min(MOST_AT_ONCE), Ordering::Relaxed);
    }

    /// Adds an error that is kept.
    pub fn add_error(&self) {
        self.add(PER_ERROR);
    }

    /// Checks for free memory, if enough has been taken since the last check.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`](variant_codec::ErrorKind::OutOfMemory).
    #[inline]
    pub fn check(&self) -> Result<()> {
        let taken = self.unchecked();
        if taken < self.step.load(Ordering::Relaxed).max(LEAST_CHECKED) {
            return Ok(());
        }
        // After a failure, the next value is checked again.
        self.step.store(check_step(taken.min(MOST_AT_ONCE))?, Ordering::Relaxed);
        self.taken.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// Whether the last check found little memory, so that the next values may take only [`LEAST_CHECKED`] bytes.
    pub fn is_short(&self) -> bool {
        (1..=LEAST_CHECKED).contains(&self.step.load(Ordering::Relaxed))
    }

    /// Charges a value that has been built.
    ///
    /// # Errors
    /// As [`MemoryBudget::check`].
    #[inline]
    pub fn built(&self, encoded_bytes: usize) -> Result<()> {
        self.charge(Self::cost(encoded_bytes))
    }

    /// Adds memory that has been taken, and checks for free memory as [`MemoryBudget::check`] does.
    ///
    /// # Errors
    /// As [`MemoryBudget::check`].
    #[inline]
    pub fn charge(&self, bytes: usize) -> Result<()> {
        self.add(bytes);
        self.check()
    }

    /// Charges an object before it is created.
    ///
    /// # Errors
    /// As [`MemoryBudget::check`].
    pub fn charge_object(&self) -> Result<()> {
        self.charge(PER_OBJECT)
    }

    /// Charges a String of this many bytes of UTF-8 before it is created.
    ///
    /// # Errors
    /// As [`MemoryBudget::check`].
    #[inline]
    pub fn text(&self, bytes: usize) -> Result<()> {
        let cost = bytes.saturating_mul(size_of::<char>()).saturating_add(PER_VALUE);
        check_memory(cost)?;
        self.charge(cost)
    }

    /// The memory taken since the last check.
    pub fn unchecked(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }
}
