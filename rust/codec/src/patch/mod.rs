//! Computes and applies patches between two encoded values.
//!
//! A patch is itself an encoded value of plain containers; the repository's `docs/patch.md` describes it.
//!
//! ```
//! use variant_codec::{Limits, Value, patch};
//!
//! let old = Value::from_iter([("name", Value::from("Ada")), ("hp", Value::from(87))]).encode()?;
//! let new = Value::from_iter([("name", Value::from("Ada")), ("hp", Value::from(86))]).encode()?;
//! let limits = Limits::for_save_files();
//! let change = patch::diff(&old, &new, &limits)?;
//! assert_eq!(patch::apply(&old, &change, &limits)?, new);
//! # Ok::<(), variant_codec::Error>(())
//! ```

mod align;
mod apply;
mod diff;
mod differences;
mod form;
mod search;
mod writer;

pub use apply::apply;
pub use diff::diff;
pub use differences::{Difference, PathStep, differences};
