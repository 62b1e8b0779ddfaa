//! One value: live Variant to bytes and back.

use std::cell::Cell;
use std::ops::Range;

use godot::builtin::{PackedByteArray, Variant};
use godot::global::var_to_bytes;
use variant_codec::{
    Decoder, EncodeOptions, Encoder, ErrorKind, Limits, Manner, Measure, Result, Room, Source as _,
    VariantType,
};

use crate::builder::{Built, VariantBuilder};
use crate::engine::{self, PRECISION, is_debug_build, set_bytes};
use crate::keys::Keys;
use crate::source::{Live, Objects};

/// Packed arrays from this size on are left to the engine where it is as fast.
pub const LARGE_BYTES: usize = 1 << 16;
/// No value that [`Live::is_small`] takes more.
pub const SMALL_BYTES: usize = 136;
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
    let mut bytes = PackedByteArray::new();
    encode_to(&mut bytes, value, objects, strict)?;
    Ok(bytes)
}

/// Makes `bytes` those of a value, as [`encode`] does.
///
/// # Errors
/// As [`encode`]; `bytes` may be any then.
#[inline]
pub fn encode_to(bytes: &mut PackedByteArray, value: &Variant, objects: Objects, strict: bool) -> Result<()> {
    let options = EncodeOptions { precision: PRECISION, strict_text: strict };
    let mut live = Live::new(value, objects, strict);
    if live.is_small() {
        let mut room = [0; SMALL_BYTES];
        let mut encoder = Encoder::new(Room::new(&mut room[..]), options);
        live.pour(&mut encoder)?;
        return set(bytes, encoder.into_output().written());
    }
    if let Some(ty) = live.packed_type() {
        return encode_packed(bytes, live, ty, options);
    }
    let mut room = ROOM.take();
    let mut encoder = Encoder::new(Room::new(&mut room), options);
    let poured = live.pour(&mut encoder);
    let done = poured.and_then(|()| set(bytes, encoder.into_output().written()));
    if room.len() <= KEPT_BYTES {
        ROOM.set(room);
    }
    done
}

/// Measures a packed array at once, and writes it where it stays.
#[inline(never)]
fn encode_packed(
    bytes: &mut PackedByteArray,
    mut live: Live<'_>,
    ty: VariantType,
    options: EncodeOptions,
) -> Result<()> {
    let mut measure = Measure::counting(options);
    live.pour(&mut measure)?;
    if engine_is_as_fast(ty) && measure.bytes() >= LARGE_BYTES {
        *bytes = var_to_bytes(live.variant());
        return Ok(());
    }
    bytes.resize(measure.bytes());
    live.pour(&mut Encoder::new(Room::new(bytes.as_mut_slice()), options))
}

#[inline(always)]
fn set(bytes: &mut PackedByteArray, written: &[u8]) -> Result<()> {
    if set_bytes(bytes, written) { Ok(()) } else { Err(ErrorKind::OutOfMemory(written.len()).into()) }
}

/// Whether the engine handles large packed arrays of this type at the speed of memory, without filling them first, as
/// extensions must.
pub fn engine_is_as_fast(ty: VariantType) -> bool {
    use VariantType as T;
    match ty {
        T::PackedByteArray => true,
        T::PackedInt32Array | T::PackedInt64Array | T::PackedFloat32Array | T::PackedFloat64Array => {
            !is_debug_build()
        }
        _ => false,
    }
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

/// Appends the bytes of a value to others.
///
/// # Errors
/// As [`encode`]; some of the value may have been appended.
pub fn append(out: &mut Vec<u8>, value: &Variant, objects: Objects) -> Result<()> {
    let options = EncodeOptions { precision: PRECISION, strict_text: false };
    let mut encoder = Encoder::new(std::mem::take(out), options);
    let poured = Live::new(value, objects, false).pour(&mut encoder);
    *out = encoder.into_output();
    poured
}

/// The value that `bytes` hold. `keys` may be kept from value to value.
///
/// # Errors
/// What is wrong with the bytes, with its offset.
#[inline]
pub fn decode_all(
    bytes: &PackedByteArray,
    manner: Manner,
    limits: &Limits,
    keys: &mut Keys,
) -> Result<Built> {
    let mut builder = VariantBuilder::new(manner, keys, bytes);
    Decoder::new(engine::bytes(bytes), manner, limits).pour_only(&mut builder)?;
    Ok(builder.finish())
}

/// The value that a part of `bytes` holds, and where it ends. `keys` may be kept from value to value.
///
/// # Errors
/// What is wrong with the bytes, with its offset in all of them.
pub fn decode(
    bytes: &PackedByteArray,
    part: Range<usize>,
    manner: Manner,
    limits: &Limits,
    keys: &mut Keys,
) -> Result<(Built, usize)> {
    let start = part.start;
    let data = engine::bytes(bytes).get(part).unwrap_or_default();
    let mut builder = VariantBuilder::new(manner, keys, bytes);
    let end =
        Decoder::new(data, manner, limits).pour_only(&mut builder).map_err(|error| error.shifted(start))?;
    Ok((builder.finish(), start + end))
}
