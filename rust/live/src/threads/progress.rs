//! Background threads, and the progress of their work, which can be cancelled.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use variant_codec::sync::lock;

/// Whether the library is about to be unloaded, which cancels all work that can be cancelled.
static STOPPING: AtomicBool = AtomicBool::new(false);

/// Cancels all work that can be cancelled, or allows new work.
pub fn set_stopping(stopping: bool) {
    STOPPING.store(stopping, Ordering::Relaxed);
}

/// The progress of some work, and whether it is cancelled.
#[derive(Default)]
pub struct Progress {
    cancelled: AtomicBool,
    done: AtomicUsize,
    total: AtomicUsize,
}

impl Progress {
    /// Sets the total.
    pub fn set_total(&self, total: usize) {
        self.total.store(total, Ordering::Relaxed);
    }

    /// Adds to the amount done.
    pub fn advance(&self, by: usize) {
        self.done.fetch_add(by, Ordering::Relaxed);
    }

    /// The amount done, and the total.
    pub fn get(&self) -> (usize, usize) {
        let total = self.total.load(Ordering::Relaxed);
        (self.done.load(Ordering::Relaxed).min(total), total)
    }

    /// Cancels the work.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || STOPPING.load(Ordering::Relaxed)
    }
}

thread_local! {
    static IN_BACKGROUND: Cell<bool> = const { Cell::new(false) };
}

/// The progress of the pool's current job; the pool runs one job at a time.
static CURRENT: Mutex<Option<Arc<Progress>>> = Mutex::new(None);

/// Marks a job as the current one, until dropped.
pub struct Current(());

impl Current {
    /// Makes the job with this progress the current one.
    pub fn set(progress: &Arc<Progress>) -> Self {
        *lock(&CURRENT) = Some(Arc::clone(progress));
        Self(())
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        *lock(&CURRENT) = None;
    }
}

/// Whether the calling thread is a background thread.
pub fn in_background() -> bool {
    IN_BACKGROUND.get()
}

/// Marks the calling thread as a background thread.
pub fn enter_background() {
    IN_BACKGROUND.set(true);
    lower_priority();
}

#[cfg(not(target_family = "wasm"))]
fn lower_priority() {
    use thread_priority::{ThreadPriority, ThreadPriorityValue, set_current_thread_priority};
    // A quarter of the way from the lowest to the highest priority; normal is halfway. If the call fails, the
    // thread keeps the system's default.
    if let Ok(value) = ThreadPriorityValue::try_from(25) {
        drop(set_current_thread_priority(ThreadPriority::Crossplatform(value)));
    }
}

#[cfg(target_family = "wasm")]
fn lower_priority() {}

/// Whether to continue with the next part; always true in the foreground.
pub fn should_continue() -> bool {
    !in_background() || !lock(&CURRENT).as_ref().is_some_and(|progress| progress.is_cancelled())
}

/// Adds to the progress of background work.
pub fn advance(by: usize) {
    if in_background()
        && let Some(progress) = &*lock(&CURRENT)
    {
        progress.advance(by);
    }
}
