//! What the command `gdvar` does: shows, compares, checks and converts Godot's encoded Variants.

pub mod check;
pub mod compare;
pub mod convert;
pub mod exact;
pub mod failure;
pub mod input;
pub mod json;
pub mod output;
pub mod patch;
pub mod query;
pub mod repair;
pub mod show;
pub mod stats;
pub mod textconv;

/// Stack for values of 1024 levels, each up to five levels of JSON, in debug builds. Only what is used takes memory.
pub const STACK: usize = 512 << 20;
