//! [`Value`], a Variant without an engine, and its parts.
//!
//! ```
//! use variant_codec::{Limits, Value};
//!
//! let mut player = Value::from_iter([("name", Value::from("Ada")), ("hp", Value::from(87))]);
//! player.as_dictionary_mut().unwrap().insert("items", ["sword", "rope"]);
//! let read = Value::decode(&player.encode()?, &Limits::for_network())?;
//! assert_eq!(read["items"][1].as_str(), Some("rope"));
//! assert_eq!(i32::try_from(&read["hp"])?, 87);
//! # Ok::<(), variant_codec::Error>(())
//! ```

mod access;
pub(crate) mod builder;
mod codec;
mod components;
mod convert;
pub(crate) mod same;
mod source;
mod types;

pub use access::{Entries, Lookup};
#[cfg(feature = "serde")]
pub(crate) use components::Components;
pub use convert::Element;
pub use types::{Array, Dictionary, NodePath, Object, OwnedElementType, PackedReals, Reals, Value};
