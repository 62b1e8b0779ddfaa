//! Batches: length-prefixed values, as `FileAccess.store_var` and `StreamPeer.put_var` write them.
//!
//! ```
//! use variant_codec::{Limits, Value, frames};
//!
//! let mut batch = Vec::new();
//! for name in ["Ada", "Mia"] {
//!     frames::append(&mut batch, &Value::from(name).encode()?);
//! }
//! let limits = Limits::for_network();
//! let (records, damage) = frames::records(&batch, &limits);
//! assert!(damage.is_none());
//! assert_eq!(Value::decode(&batch[records[1].clone()], &limits)?, Value::from("Mia"));
//! # Ok::<(), variant_codec::Error>(())
//! ```

mod blocks;
mod foreign;
mod index;
mod read_at;
mod records;
mod scan;

pub use crate::format::FRAME_BYTES;
pub use blocks::{BLOCK_BYTES, Block, Decompress, Unpacked};
pub use foreign::{Contents, Foreign, Layout, recognise};
pub use index::{Index, Located};
pub use read_at::ReadAt;
pub use records::{append, find_torn, records, try_append};
pub use scan::scan;
