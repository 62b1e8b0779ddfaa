//! Objects of registered classes as plain containers: `docs/classes.md` has the format.
//!
//! The data never names a script. A reader makes only objects of registered classes.

pub mod class;
pub mod completion;
mod declared;
mod fitting;
pub(crate) mod graph;
pub mod host;
mod new_object;
pub(crate) mod reader;
pub mod registry;
pub mod resources;
pub(crate) mod tagging;
pub(crate) mod untagging;
