//! The threads that work on batches, large values and jobs.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub mod background;
pub mod foreground;
pub mod pool;

/// Locks a mutex, poisoned or not: no panic may leave its data half changed.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
