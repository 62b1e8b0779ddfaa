//! Live Variant → events.

pub mod buffer;
pub(crate) mod splitter;
pub mod stored;
pub mod walker;
