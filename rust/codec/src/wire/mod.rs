//! The bytes of the format: everything that knows how they are laid out, except for what writes them
//! ([`encoder`](crate::stream::Encoder), `patch/writer.rs`).
//!
//! [`Cursor`] reads what stands next. It gives `None` if the bytes are not what they should be; whoever needs an error asks the cursor
//! for the fault at the place where it failed.

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

/// The length of the record behind a frame.
#[inline]
pub fn record_length(frame: [u8; format::FRAME_BYTES]) -> u32 {
    u32::from_le_bytes(frame)
}
