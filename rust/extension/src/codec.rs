//! One value: live Variant to bytes and back.

use std::cell::Cell;
use std::ops::Range;

use godot::builtin::{PackedByteArray, Variant};
use godot::global::var_to_bytes;
use variant_codec::{
    Decoder, EncodeOptions, Encoder, Limits, Manner, Measure, Result, Room, Source as _, VariantType,
};

use crate::builder::{Built, Keys, VariantBuilder};
use crate::engine::{PRECISION, Reader, is_debug_build};
use crate::pool::pool;
use crate::shared::{self, SHARED_BYTES};
use crate::source::{Live, Objects, Splitter};

/// Packed arrays from this size on are left to the engine where it is as fast.
pub const LARGE_BYTES: usize = 1 << 16;
/// A thread keeps no more than this for the next value.
const KEPT_BYTES: usize = 1 << 20;

thread_local! {
    /// Memory for the values that this thread encodes. Taken while in use, since getters may encode, too.
    static ROOM: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// What is decoded.
pub enum Input<'a> {
    /// Bytes that nobody changes, since this handle is of our own.
    Owned(PackedByteArray),
    /// The same.
    Shared(&'a PackedByteArray),
    /// Those of a Variant, which nobody changes as long as no script runs.
    InVariant(&'a Variant, &'a [u8]),
}

impl<'a> Input<'a> {
    /// The bytes of a Variant, `None` if it holds none; by a handle of our own if scripts may run meanwhile.
    pub fn of(reader: Reader, variant: &'a Variant, scripts_run: bool) -> Option<Self> {
        if reader.ty(variant) != Some(VariantType::PackedByteArray) {
            return None;
        }
        Some(if scripts_run {
            Self::Owned(variant.to())
        } else {
            Self::InVariant(variant, reader.packed(variant, VariantType::PackedByteArray).le)
        })
    }

    /// The bytes.
    #[inline(always)]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Owned(bytes) => bytes.as_slice(),
            Self::Shared(bytes) => bytes.as_slice(),
            Self::InVariant(_, bytes) => bytes,
        }
    }

    /// A handle to them.
    pub fn to_packed(&self) -> PackedByteArray {
        match self {
            Self::Owned(bytes) => bytes.clone(),
            Self::Shared(bytes) => (*bytes).clone(),
            Self::InVariant(variant, _) => variant.to(),
        }
    }
}

/// The bytes of a value. If `strict`, what would not come back as it is, is an error.
///
/// # Errors
/// Why the value cannot be written, with the path to the place.
pub fn encode(value: &Variant, objects: Objects, strict: bool) -> Result<PackedByteArray> {
    let mut bytes = PackedByteArray::new();
    encode_into(value, objects, strict, &mut bytes)?;
    Ok(bytes)
}

/// The same, into a buffer that is empty.
///
/// # Errors
/// As [`encode`]; the buffer is empty then.
pub fn encode_into(
    value: &Variant,
    objects: Objects,
    strict: bool,
    buffer: &mut PackedByteArray,
) -> Result<()> {
    let options = EncodeOptions { precision: PRECISION, strict_text: strict };
    let mut live = Live::new(value, objects, strict);
    if let Some(ty) = live.packed_type() {
        if engine_is_as_fast(ty) && encoded_size(value, objects)? >= LARGE_BYTES {
            *buffer = var_to_bytes(value);
            return Ok(());
        }
        // Measured at once, and large: written where it stays.
        let mut measure = Measure::counting(options);
        live.pour(&mut measure)?;
        buffer.resize(measure.bytes());
        return live.pour(&mut Encoder::new(Room::new(buffer.as_mut_slice()), options));
    }
    encode_with(value, objects, options, |encoded| match encoded {
        Encoded::InRoom(bytes) => {
            buffer.resize(bytes.len());
            buffer.as_mut_slice().copy_from_slice(bytes);
        }
        Encoded::Packed(bytes) => *buffer = bytes,
    })
}

/// Appends the bytes of a value to others, behind their number as a little-endian u32.
///
/// # Errors
/// As [`encode`]; nothing has been appended then.
pub fn append(out: &mut Vec<u8>, value: &Variant, objects: Objects) -> Result<()> {
    let options = EncodeOptions { precision: PRECISION, strict_text: false };
    encode_with(value, objects, options, |encoded| {
        let bytes = match &encoded {
            Encoded::InRoom(bytes) => bytes,
            Encoded::Packed(bytes) => bytes.as_slice(),
        };
        out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        out.extend_from_slice(bytes);
    })
}

/// A value's bytes, before they are where they are to stay.
enum Encoded<'a> {
    /// In this thread's memory.
    InRoom(&'a [u8]),
    Packed(PackedByteArray),
}

/// Encodes a value, by several threads if it is large, and has `take` take the bytes, once.
fn encode_with(
    value: &Variant,
    objects: Objects,
    options: EncodeOptions,
    mut take: impl FnMut(Encoded<'_>),
) -> Result<()> {
    let live = Live::new(value, objects, options.strict_text);
    let splitter = Splitter::new();
    let lead = with_room(options, |encoder| {
        live.with_splitter(&splitter).pour(encoder)?;
        let written = encoder.output().written();
        if splitter.has_tails() {
            return Ok(Some(written.to_vec()));
        }
        take(Encoded::InRoom(written));
        Ok(None)
    });
    match lead {
        Ok(None) => return Ok(()),
        Err(error) if !splitter.has_tails() => return Err(error),
        Ok(Some(lead)) => {
            if let Some(bytes) = shared::encode(lead, splitter.into_tails(), options) {
                take(Encoded::Packed(bytes));
                return Ok(());
            }
        }
        Err(_) => {}
    }
    // Alone, this thread finds out what is wrong, and the path to it.
    with_room(options, |encoder| {
        Live::new(value, objects, options.strict_text).pour(encoder)?;
        take(Encoded::InRoom(encoder.output().written()));
        Ok(())
    })
}

/// Encodes into this thread's memory.
pub fn with_room<T>(options: EncodeOptions, encode: impl FnOnce(&mut Encoder<Room<&mut Vec<u8>>>) -> T) -> T {
    let mut room = ROOM.take();
    let result = encode(&mut Encoder::new(Room::new(&mut room), options));
    if room.len() <= KEPT_BYTES {
        ROOM.set(room);
    }
    result
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

/// The value that a part of the input holds, and where it ends. `keys` may be kept from value to value.
///
/// # Errors
/// What is wrong with the bytes, with its offset in all of them.
pub fn decode(
    input: &Input<'_>,
    part: Range<usize>,
    manner: Manner,
    limits: &Limits,
    keys: &mut Keys,
) -> Result<(Built, usize)> {
    let start = part.start;
    let data = input.bytes().get(part).unwrap_or_default();
    let shared = data.len() >= SHARED_BYTES && !limits.allow_objects && limits.admit_all_of(data.len());
    if let Some(pool) = shared.then(pool).flatten()
        && let Some((built, end)) = shared::decode(&pool, input, data, manner, limits, keys)
    {
        return Ok((built, start + end));
    }
    let mut builder = VariantBuilder::new(manner, keys, input);
    let end =
        Decoder::new(data, manner, limits).pour_only(&mut builder).map_err(|error| error.shifted(start))?;
    Ok((builder.finish(), start + end))
}
