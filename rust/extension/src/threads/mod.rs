//! The threads that work on batches, large values and jobs.

pub mod background;
pub mod pool;
pub mod progress;
