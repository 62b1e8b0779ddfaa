//! [`MemoryBudget`]: checks for free memory while a call builds many small values.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use variant_codec::Result;
use variant_codec::memory::check_memory;

/// Check for free memory each time the values may have taken this many bytes: a check for each small value would be
/// slow, and [`check_memory`] ignores small sizes. A check asks whether twice this size is free: more than the values
/// take until the next check.
const AT_ONCE: usize = 4 << 20;
/// The first check comes sooner, because little may be left when the call begins.
const FIRST: usize = 256 << 10;
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
    was_checked: AtomicBool,
}

impl MemoryBudget {
    /// The maximum memory that a value of this encoded size takes.
    pub fn cost(encoded_bytes: usize) -> usize {
        encoded_bytes.saturating_mul(MOST_PER_BYTE).saturating_add(PER_VALUE)
    }

    /// Adds memory that has been taken.
    #[inline]
    pub fn add(&self, bytes: usize) {
        // Capped to avoid an overflow; more makes no difference.
        self.taken.fetch_add(bytes.min(AT_ONCE), Ordering::Relaxed);
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
        let at_once = if self.was_checked.load(Ordering::Relaxed) { AT_ONCE } else { FIRST };
        if self.unchecked() < at_once {
            return Ok(());
        }
        self.was_checked.store(true, Ordering::Relaxed);
        // After a failure, the next value is checked again.
        check_memory(2 * AT_ONCE)?;
        self.taken.store(0, Ordering::Relaxed);
        Ok(())
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
