//! Frames of Zstandard, in which saves and blocks of records are compressed. The addon uses the engine's Zstandard.
//!
//! ```
//! let frame = variant_zstd::compress(b"aaaaaaaaaaaaaaaa");
//! assert_eq!(variant_zstd::decompress(&frame, 16), Some(b"aaaaaaaaaaaaaaaa".to_vec()));
//! assert_eq!(variant_zstd::decompress(&frame, 15), None);
//! ```
#![forbid(unsafe_code)]

use std::io;

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// The window size of frames from [`compress`]. In frames from the engine, the window is as small as the contents.
pub const WINDOW: u64 = 128 << 10;
/// The largest window that the engine uses, with `compression/formats/zstd/long_distance_matching`.
const LONGEST_WINDOW: u64 = 1 << 30;

/// Decompresses a frame of exactly `size` bytes; `None` if it is damaged or has another size.
pub fn decompress(frame: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    decompress_into(frame, size, (size as u64).clamp(WINDOW, LONGEST_WINDOW), &mut value).ok()?;
    (value.len() == size).then_some(value)
}

/// Appends the contents of a frame to `into`. Refuses a frame of more than `expected` bytes without decoding all of it.
///
/// # Errors
/// Fails if the frame is damaged, is larger, or needs a larger window.
pub fn decompress_into(mut frame: &[u8], expected: usize, window: u64, into: &mut Vec<u8>) -> io::Result<()> {
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(window);
    decoder.init(&mut frame).map_err(io::Error::other)?;
    let most = BlockDecodingStrategy::UptoBytes(expected + 1);
    let fits = decoder.content_size() <= expected as u64
        && decoder.decode_blocks(&mut frame, most).map_err(io::Error::other)?;
    if !fits {
        return Err(io::Error::other(format!("more than {expected} bytes")));
    }
    decoder.collect_to_writer(into).map(drop)
}

/// Compresses bytes as one frame.
pub fn compress(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}
