//! [`Value`], a Variant without an engine, and what it is made of.

mod access;
pub(crate) mod builder;
mod codec;
mod convert;
mod source;
mod types;

pub use access::{Entries, Lookup};
pub use convert::Element;
pub use types::{Array, Dictionary, NodePath, Object, OwnedElementType, PackedReals, Reals, Value};
