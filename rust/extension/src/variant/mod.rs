//! Live Variants as sources and sinks of the codec's events.

pub mod builder;
pub mod built;
pub mod classes;
pub mod decoding;
pub mod input;
pub mod keys;
mod labels;
pub mod lost_objects;
mod native_classes;
pub mod nested;
mod objects;
pub mod part_tasks;
mod scripts;
pub mod source;
pub mod splitter;
pub mod stored;
mod texts;
