//! How work in the background gives way to the calls that the game waits for.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::lock;

/// For how long a part waits for calls in the foreground. Not for their end: one may itself wait for the background.
const PAUSE: Duration = Duration::from_millis(10);

/// How far some work is, and whether it is still wanted.
#[derive(Default)]
pub struct Progress {
    cancelled: AtomicBool,
    done: AtomicUsize,
    total: AtomicUsize,
}

impl Progress {
    /// Says how much there is to do.
    pub fn set_total(&self, total: usize) {
        self.total.store(total, Ordering::Relaxed);
    }

    /// So much more is done.
    pub fn advance(&self, by: usize) {
        self.done.fetch_add(by, Ordering::Relaxed);
    }

    /// How much is done, and of how much.
    pub fn get(&self) -> (usize, usize) {
        let total = self.total.load(Ordering::Relaxed);
        (self.done.load(Ordering::Relaxed).min(total), total)
    }

    /// The work is not wanted any more.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

thread_local! {
    static IN_BACKGROUND: Cell<bool> = const { Cell::new(false) };
}

/// The work that is being done by the threads of the pool, which do one at a time.
static CURRENT: Mutex<Option<Arc<Progress>>> = Mutex::new(None);

/// Makes some work the one that is being done, as long as it lives.
pub struct Current(());

impl Current {
    /// The work that `progress` is about.
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

/// Calls that someone waits for.
static FOREGROUND: Mutex<usize> = Mutex::new(0);
static FOREGROUND_ENDED: Condvar = Condvar::new();

/// Whether the calling thread works in the background.
pub fn in_background() -> bool {
    IN_BACKGROUND.get()
}

/// Makes the calling thread one that works in the background.
pub fn enter_background() {
    IN_BACKGROUND.set(true);
    lower_priority();
}

#[cfg(not(target_family = "wasm"))]
fn lower_priority() {
    use thread_priority::{ThreadPriority, ThreadPriorityValue, set_current_thread_priority};
    // A quarter of the way from the lowest to the highest; normal is half. Without it, the system shares out as it likes.
    if let Ok(value) = ThreadPriorityValue::try_from(25) {
        drop(set_current_thread_priority(ThreadPriority::Crossplatform(value)));
    }
}

#[cfg(target_family = "wasm")]
fn lower_priority() {}

/// Between two parts of some work: lets calls in the foreground go first, and says whether to go on. In the foreground,
/// always.
pub fn goes_on() -> bool {
    if !in_background() {
        return true;
    }
    let foreground = lock(&FOREGROUND);
    if *foreground > 0 {
        drop(FOREGROUND_ENDED.wait_timeout(foreground, PAUSE).unwrap_or_else(PoisonError::into_inner));
    }
    !lock(&CURRENT).as_ref().is_some_and(|progress| progress.is_cancelled())
}

/// So much more of the work is done, if it is one of the background.
pub fn advance(by: usize) {
    if in_background()
        && let Some(progress) = &*lock(&CURRENT)
    {
        progress.advance(by);
    }
}

/// A call that someone waits for, as long as it lives.
pub struct Foreground(());

impl Foreground {
    /// `None` in the background.
    pub fn enter() -> Option<Self> {
        (!in_background()).then(|| {
            *lock(&FOREGROUND) += 1;
            Self(())
        })
    }
}

impl Drop for Foreground {
    fn drop(&mut self) {
        let mut foreground = lock(&FOREGROUND);
        *foreground -= 1;
        if *foreground == 0 {
            FOREGROUND_ENDED.notify_all();
        }
    }
}
