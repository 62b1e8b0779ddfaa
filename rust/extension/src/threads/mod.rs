//! The threads that work on batches, large values and jobs.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub mod background;
pub mod foreground;
pub mod pool;

/// Locks a mutex, poisoned or not. Code that holds the lock must keep the data valid even if it panics.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
