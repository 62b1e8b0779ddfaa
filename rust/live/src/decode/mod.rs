//! Events → live Variant.

pub mod builder;
pub mod built;
pub mod decoding;
pub mod input;
pub(crate) mod keys;
pub(crate) mod native_objects;
pub(crate) mod part_tasks;
mod texts;
