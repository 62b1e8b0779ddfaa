//! The threads that work on batches, large values and jobs.

pub mod background;
pub mod parked;
pub mod pool;
pub mod progress;

/// Lets the next work that needs threads start them. Called each time the library is loaded.
pub fn start() {
    pool::open();
    background::open();
}

/// Ends the threads after all queued saves, and cancels all other work. Called before the library is unloaded.
pub fn stop() {
    background::stop();
    pool::stop();
    parked::clear();
}
