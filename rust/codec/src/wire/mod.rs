//! The byte layout of the format: its constants and readers. The writers are
//! [`Encoder`](crate::stream::Encoder) and `patch/writer.rs`.

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
