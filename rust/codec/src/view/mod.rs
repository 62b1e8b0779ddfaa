//! [`View`]: one value in encoded bytes, found without decoding the others.
//!
//! ```
//! use variant_codec::{Value, View};
//!
//! let player = Value::from_iter([("name", Value::from("Ada")), ("hp", Value::from(87))]);
//! let bytes = Value::from_iter([("players", Value::from(vec![player]))]).encode()?;
//!
//! let hp = View::new(&bytes)?.get("players")?.index(0)?.get("hp")?.as_i64()?;
//! assert_eq!(hp, 87);
//! # Ok::<(), variant_codec::Error>(())
//! ```

mod cursor;
mod elements;
mod fields;
mod key;
mod known_offsets;
mod lookup;
mod read;
mod steps;
mod tagged;

pub use cursor::{Spot, View};
pub use elements::{Elements, Entries};
pub use fields::Fields;
pub use key::Key;
pub use known_offsets::KnownOffsets;
