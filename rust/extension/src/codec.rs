//! One value: live Variant to bytes and back.

use std::cell::Cell;

use godot::builtin::{PackedByteArray, Variant};
use variant_codec::{Decoder, EncodeOptions, Encoder, Limits, Manner, Measure, Result, Source as _};

use crate::builder::{Built, Keys, VariantBuilder};
use crate::engine::PRECISION;
use crate::source::{Live, Objects};

/// A buffer larger than this is not kept for the next value.
const KEPT_BYTES: usize = 1 << 20;

thread_local! {
    /// Reused by every value that this thread encodes. Taken while in use, since getters may encode, too.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The bytes of a value. If `strict`, what would not come back as it is, is an error.
///
/// # Errors
/// Why the value cannot be written, with the path to the place.
pub fn encode(value: &Variant, objects: Objects, strict: bool) -> Result<PackedByteArray> {
    let mut buffer = BUFFER.take();
    buffer.clear();
    let options = EncodeOptions { precision: PRECISION, strict_text: strict };
    let mut encoder = Encoder::new(buffer, options);
    let poured = Live::new(value, objects, strict).pour(&mut encoder);
    let buffer = encoder.into_output();
    let bytes = poured.map(|()| PackedByteArray::from(buffer.as_slice()));
    if buffer.capacity() <= KEPT_BYTES {
        BUFFER.set(buffer);
    }
    bytes
}

/// How many bytes [`encode`] gives.
///
/// # Errors
/// As [`encode`].
pub fn encoded_size(value: &Variant, objects: Objects) -> Result<usize> {
    let mut measure = Measure::counting(EncodeOptions { precision: PRECISION, strict_text: false });
    Live::new(value, objects, false).pour(&mut measure)?;
    Ok(measure.bytes())
}

/// The value that `bytes` hold, and where it ends. `keys` may be kept from value to value.
///
/// # Errors
/// What is wrong with the bytes, with its offset.
pub fn decode(bytes: &[u8], manner: Manner, limits: &Limits, keys: &mut Keys) -> Result<(Built, usize)> {
    let mut builder = VariantBuilder::new(manner, keys);
    let end = Decoder::new(bytes, manner, limits).pour_only(&mut builder)?;
    Ok((builder.finish(), end))
}
