//! Live Variants as sources and sinks of the codec's events.

pub mod builder;
pub mod built;
pub mod classes;
pub mod input;
pub mod keys;
pub mod lost_objects;
pub mod nested;
mod objects;
pub mod part_tasks;
pub mod source;
pub mod splitter;
pub mod stored;
mod texts;
