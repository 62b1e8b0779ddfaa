//! The byte layout of the format: its readers. The writers are
//! [`Encoder`](crate::stream::Encoder) and `patch/writer.rs`.

pub mod cursor;
pub mod dialect;
pub mod header;
pub mod leaf;
pub mod runs;

use crate::format::FRAME_BYTES;

/// The length of the record that follows this prefix.
#[inline]
pub fn record_length(frame: [u8; FRAME_BYTES]) -> u32 {
    u32::from_le_bytes(frame)
}
