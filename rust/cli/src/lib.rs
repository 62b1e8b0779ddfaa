//! The commands of `gdvar`, which shows, compares, checks and converts Godot's encoded Variants.

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
pub mod terminal;
pub mod textconv;
