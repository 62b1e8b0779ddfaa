//! The byte layout of the format: its constants and readers. The only other modules that know the layout are
//! the writers ([`encoder`](crate::stream::Encoder), `patch/writer.rs`).
//!
//! [`Cursor`] reads the next item and returns `None` if its bytes are invalid. A caller that needs the error
//! asks the cursor for the fault at that offset.

pub mod cursor;
pub mod dialect;
pub mod format;
pub mod header;
pub mod lanes;
pub mod leaf;
pub mod runs;

pub use cursor::{Cursor, Declared, Padded};
pub use header::Header;
pub use leaf::{Leaf, Number, leaf, number};

/// The length of the record that follows this prefix.
#[inline]
pub fn record_length(frame: [u8; format::FRAME_BYTES]) -> u32 {
    u32::from_le_bytes(frame)
}
