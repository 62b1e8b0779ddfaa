//! A queue for each file: the order in which the calls and jobs of this process use it.
//!
//! During a turn, only code that reads or writes the file runs. No script runs, and no engine function that
//! could run one, because the script might wait for a turn of the same file. Functions that need a turn
//! consume it.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, LazyLock, Mutex, PoisonError};
use variant_codec::sync::lock;

/// The queue of each file, in the order of the requests.
static TURNS: LazyLock<Mutex<HashMap<PathBuf, VecDeque<u64>>>> = LazyLock::new(Mutex::default);
static TURN_ENDED: Condvar = Condvar::new();

/// Whether names that differ only in case usually mean one file. If they mean two files, the files share a
/// queue, which only costs time.
const IGNORES_CASE: bool = cfg!(any(windows, target_os = "macos"));

/// A turn in the queue of a file, until dropped. A background save queues when it is called, so later calls see
/// its result. A background load queues when it runs.
pub struct Turn {
    place: PathBuf,
    number: u64,
}

impl Turn {
    /// Queues a new turn behind all others.
    pub fn at(place: &Path) -> Self {
        let place =
            if IGNORES_CASE { place.to_string_lossy().to_lowercase().into() } else { place.to_owned() };
        let mut turns = lock(&TURNS);
        let queue = turns.entry(place.clone()).or_default();
        let number = queue.back().map_or(0, |last| last + 1);
        queue.push_back(number);
        Self { place, number }
    }

    /// Waits until all earlier turns are done, runs `work`, and ends this turn.
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
