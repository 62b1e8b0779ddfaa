//! The order in which the calls and jobs of this process use a file.
//!
//! Whoever has a turn runs nothing but what reads or writes the file: no script, and no engine function that could lead to
//! one, which might want a turn for the same file. The functions that need a turn take it for good.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, LazyLock, Mutex, PoisonError};

use crate::threads::lock;

/// Who uses which file, and who waits for it, in the order in which they asked.
static TURNS: LazyLock<Mutex<HashMap<PathBuf, VecDeque<u64>>>> = LazyLock::new(Mutex::default);
static TURN_ENDED: Condvar = Condvar::new();

/// A place in the queue for a file, as long as it lives. Jobs take theirs when they are asked for, so that what comes later
/// finds what they leave.
pub struct Turn {
    place: PathBuf,
    number: u64,
}

impl Turn {
    /// The last place in the queue.
    pub fn at(place: &Path) -> Self {
        let mut turns = lock(&TURNS);
        let queue = turns.entry(place.to_owned()).or_default();
        let number = queue.back().map_or(0, |last| last + 1);
        queue.push_back(number);
        Self { place: place.to_owned(), number }
    }

    /// Does this when those before are done, and then it is the turn of the next.
    pub fn take<R>(self, work: impl FnOnce() -> R) -> R {
        let mut turns = lock(&TURNS);
        while turns.get(&self.place).and_then(VecDeque::front) != Some(&self.number) {
            turns = TURN_ENDED.wait(turns).unwrap_or_else(PoisonError::into_inner);
        }
        drop(turns);
        work()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut turns = lock(&TURNS);
        if let Some(queue) = turns.get_mut(&self.place) {
            queue.retain(|number| *number != self.number);
            if queue.is_empty() {
                turns.remove(&self.place);
            }
        }
        TURN_ENDED.notify_all();
    }
}
