//! One value: live Variant to bytes and back.

use std::cell::Cell;

use godot::builtin::{PackedByteArray, Variant};
use variant_codec::{Decoder, EncodeOptions, Encoder, Limits, Manner, Measure, Result, Room, Source as _};

use crate::builder::{Built, Keys, VariantBuilder};
use crate::engine::PRECISION;
use crate::source::{Live, Objects};

/// A thread keeps no more than this for the next value.
const KEPT_BYTES: usize = 1 << 20;

thread_local! {
    /// Memory for the values that this thread encodes. Taken while in use, since getters may encode, too.
    static ROOM: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The bytes of a value. If `strict`, what would not come back as it is, is an error.
///
/// # Errors
/// Why the value cannot be written, with the path to the place.
pub fn encode(value: &Variant, objects: Objects, strict: bool) -> Result<PackedByteArray> {
    let options = EncodeOptions { precision: PRECISION, strict_text: strict };
    let mut live = Live::new(value, objects, strict);
    if live.is_packed() {
        // Measured at once, and large: written where it stays.
        let mut measure = Measure::counting(options);
        live.pour(&mut measure)?;
        let mut bytes = PackedByteArray::new();
        bytes.resize(measure.bytes());
        live.pour(&mut Encoder::new(Room::new(bytes.as_mut_slice()), options))?;
        return Ok(bytes);
    }
    let mut room = ROOM.take();
    let mut encoder = Encoder::new(Room::new(&mut room), options);
    let poured = live.pour(&mut encoder);
    let bytes = poured.map(|()| PackedByteArray::from(encoder.into_output().written()));
    if room.len() <= KEPT_BYTES {
        ROOM.set(room);
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
