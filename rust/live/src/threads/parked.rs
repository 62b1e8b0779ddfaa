//! Values that only the main thread uses, held by jobs, which any thread may drop.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Mutex;

use godot::init::is_main_thread;
use variant_codec::sync::lock;

/// A value that stays on the thread that has parked it.
pub struct Parked<T> {
    key: u64,
    value: PhantomData<fn() -> T>,
}

#[derive(Default)]
struct Places {
    values: HashMap<u64, Box<dyn Any>>,
    next: u64,
}

thread_local! {
    static PLACES: RefCell<Places> = RefCell::default();
}

/// The keys of values whose owners another thread has dropped.
static LEFT: Mutex<Vec<u64>> = Mutex::new(Vec::new());

impl<T: 'static> Parked<T> {
    /// Parks a value on this thread, which must be the main thread.
    pub fn new(value: T) -> Self {
        let key = PLACES.with_borrow_mut(|places| {
            places.next += 1;
            places.values.insert(places.next, Box::new(value));
            places.next
        });
        Self { key, value: PhantomData }
    }

    /// Passes the value to `look`, which may run scripts.
    ///
    /// # Panics
    /// Panics on another thread, and inside another such call.
    pub fn with<R>(&self, look: impl FnOnce(&mut T) -> R) -> R {
        let mut value = self.taken();
        let seen = look(&mut value);
        PLACES.with_borrow_mut(|places| places.values.insert(self.key, value));
        seen
    }

    /// Takes the value.
    ///
    /// # Panics
    /// Panics on another thread.
    pub fn take(self) -> T {
        *self.taken()
    }

    fn taken(&self) -> Box<T> {
        let value = take(self.key).and_then(|value| value.downcast().ok());
        value.expect("the value is parked on this thread")
    }
}

/// Drops the values whose owners another thread has dropped. Called on the main thread in each frame of a job.
pub fn sweep() {
    let left: Vec<_> = std::mem::take(&mut *lock(&LEFT)).into_iter().filter_map(take).collect();
    // Dropping them may run scripts, which may park other values.
    drop(left);
}

/// Drops all values. Called on the main thread before the engine frees what they refer to.
pub fn clear() {
    lock(&LEFT).clear();
    let values = PLACES.with_borrow_mut(|places| std::mem::take(&mut places.values));
    drop(values);
}

fn take(key: u64) -> Option<Box<dyn Any>> {
    PLACES.with_borrow_mut(|places| places.values.remove(&key))
}

impl<T> Drop for Parked<T> {
    fn drop(&mut self) {
        let value = take(self.key);
        if value.is_none() && !is_main_thread() {
            lock(&LEFT).push(self.key);
        }
    }
}
