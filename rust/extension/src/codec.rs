//! One value: live Variant to bytes and back.

use std::cell::Cell;
use std::ops::Range;

use godot::builtin::{PackedByteArray, Variant};
use godot::global::var_to_bytes;
use variant_codec::limits::Spent;
use variant_codec::memory::{check_room, copied};
use variant_codec::stream::{Buffer, Decoder, Encoder, Measure, Source as _};
use variant_codec::{EncodeOptions, Limits, Result, Strictness, VariantType, frames};

use crate::builder::{Built, VariantBuilder};
use crate::engine::{self, PRECISION, Reader, is_debug_build, set_bytes};
use crate::keys::Keys;
use crate::pool::pool;
use crate::settings;
use crate::shared;
use crate::source::{Live, Objects, Splitter};
use crate::validator::Validator;

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

/// What is decoded: by a handle of our own where scripts run meanwhile, which may change what the caller holds; otherwise
/// borrowed for as long as the call lasts, during which other threads keep away from it, as from all that threads share.
///
/// What outlives the call has [`crate::engine::OwnedBytes`]: no lifetime of a borrowed input reaches a job.
pub enum Input<'a> {
    /// Bytes that nobody changes, since this handle is of our own.
    Owned(PackedByteArray),
    /// Those of a handle that somebody else holds: one of our own, or an argument of a call that runs no script.
    Shared(&'a PackedByteArray),
    /// Those of a Variant in a call that runs no script.
    InVariant(&'a Variant, &'a [u8]),
}

impl<'a> Input<'a> {
    /// The bytes of a Variant in a call that runs no script, `None` if it holds none.
    #[inline(always)]
    pub fn of(reader: Reader, variant: &'a Variant) -> Option<Self> {
        (reader.ty(variant) == Some(VariantType::PackedByteArray))
            .then(|| Self::InVariant(variant, reader.packed(variant, VariantType::PackedByteArray).le))
    }

    /// The bytes.
    #[inline(always)]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Owned(bytes) => engine::bytes(bytes),
            Self::Shared(bytes) => engine::bytes(bytes),
            Self::InVariant(_, bytes) => bytes,
        }
    }

    /// Calls `f` with a handle to them.
    pub fn with_packed<R>(&self, f: impl FnOnce(&PackedByteArray) -> R) -> R {
        match self {
            Self::Owned(bytes) => f(bytes),
            Self::Shared(bytes) => f(bytes),
            Self::InVariant(variant, _) => f(&variant.to()),
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
        let mut encoder = Encoder::new(Buffer::new(&mut room[..]), options);
        live.pour(&mut encoder)?;
        return set_bytes(bytes, encoder.into_output().written());
    }
    if let Some(ty) = live.packed_type() {
        return encode_packed(bytes, live, ty, options);
    }
    encode_with(value, objects, options, |encoded| match encoded {
        Encoded::InRoom(written) => set_bytes(bytes, written),
        Encoded::Packed(packed) => {
            *bytes = packed;
            Ok(())
        }
    })
}

/// Measures a packed array at once, and writes it where it stays.
#[inline(never)]
fn encode_packed(
    bytes: &mut PackedByteArray,
    mut live: Live<'_, '_>,
    ty: VariantType,
    options: EncodeOptions,
) -> Result<()> {
    let mut measure = Measure::counting(options);
    live.pour(&mut measure)?;
    // Even debug builds write bytes as they are.
    let as_fast = ty == VariantType::PackedByteArray || engine_is_as_fast(ty);
    if as_fast && measure.bytes() >= LARGE_BYTES {
        check_room(measure.bytes())?;
        *bytes = var_to_bytes(live.variant());
        return Ok(());
    }
    *bytes = engine::new_bytes(measure.bytes())?;
    live.pour(&mut Encoder::new(Buffer::new(bytes.as_mut_slice()), options))
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
        frames::try_append(out, bytes)
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
    mut take: impl FnMut(Encoded<'_>) -> Result<()>,
) -> Result<()> {
    let live = Live::new(value, objects, options.strict_text);
    let splitter = Splitter::new();
    let lead = with_room(options, |encoder| {
        live.with_splitter(&splitter).pour(encoder)?;
        let written = encoder.output().written();
        if splitter.has_tails() {
            return Ok(Some(copied(written)?));
        }
        take(Encoded::InRoom(written)).map(|()| None)
    });
    match lead {
        Ok(None) => return Ok(()),
        Err(error) if !splitter.has_tails() => return Err(error),
        Ok(Some(lead)) => {
            if let Some(bytes) = shared::encode(lead, splitter.into_tails(), options) {
                return take(Encoded::Packed(bytes));
            }
        }
        Err(_) => {}
    }
    // Alone, this thread finds out what is wrong, and the path to it.
    with_room(options, |encoder| {
        Live::new(value, objects, options.strict_text).pour(encoder)?;
        take(Encoded::InRoom(encoder.output().written()))
    })
}

/// Encodes into this thread's memory.
pub fn with_room<T>(
    options: EncodeOptions,
    encode: impl FnOnce(&mut Encoder<Buffer<&mut Vec<u8>>>) -> T,
) -> T {
    with_memory(|memory| encode(&mut Encoder::new(Buffer::new(memory), options)))
}

/// Hands this thread's memory out.
pub fn with_memory<T>(use_it: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let mut room = ROOM.take();
    let result = use_it(&mut room);
    if room.len() <= KEPT_BYTES {
        ROOM.set(room);
    }
    result
}

/// Whether the engine handles large packed arrays of this type at the speed of memory, without filling them first, as
/// extensions must. Debug builds handle them element by element.
pub fn engine_is_as_fast(ty: VariantType) -> bool {
    use VariantType as T;
    let plain = matches!(
        ty,
        T::PackedByteArray
            | T::PackedInt32Array
            | T::PackedInt64Array
            | T::PackedFloat32Array
            | T::PackedFloat64Array
    );
    plain && !is_debug_build()
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

/// The value that the input holds. `keys` may be kept from value to value.
///
/// # Errors
/// What is wrong with the bytes, with its offset.
#[inline]
pub fn decode_all(input: &Input<'_>, manner: Strictness, limits: &Limits, keys: &mut Keys) -> Result<Built> {
    let data = input.bytes();
    if data.len() >= settings::parallel_threshold() {
        return decode(input, 0..data.len(), manner, limits, keys, &mut Spent::default())
            .map(|(built, _)| built);
    }
    let mut builder = VariantBuilder::new(manner, limits, keys, input);
    Decoder::new(data, manner, limits).pour_only(&mut builder)?;
    Ok(builder.finish())
}

/// The value that a part of the input holds, and where it ends. `keys` may be kept from value to value, and so may what is
/// `spent` of the limits.
///
/// # Errors
/// What is wrong with the bytes, with its offset in all of them.
pub fn decode(
    input: &Input<'_>,
    part: Range<usize>,
    manner: Strictness,
    limits: &Limits,
    keys: &mut Keys,
    spent: &mut Spent,
) -> Result<(Built, usize)> {
    let start = part.start;
    let data = input.bytes().get(part).unwrap_or_default();
    // Others share the limits where this is one of many values in the input.
    let shared = data.len() >= settings::parallel_threshold()
        && !limits.allow_objects
        && limits.admit_all_of(input.bytes().len());
    if let Some(pool) = shared.then(pool).flatten()
        && let Some((built, end)) = shared::decode(&pool, input, data, manner, limits, keys)
    {
        return Ok((built, start + end));
    }
    let mut builder = VariantBuilder::new(manner, limits, keys, input);
    let mut decoder = Decoder::new(data, manner, limits).after(*spent);
    let end = decoder.pour_only(&mut builder).map_err(|error| error.shifted(start))?;
    *spent = decoder.spent();
    Ok((builder.finish(), start + end))
}

/// Where the value ends that the input holds, without building it.
///
/// # Errors
/// As [`decode`] has them, but for what only making objects and loading scripts shows.
pub fn validate(input: &Input<'_>, manner: Strictness, limits: &Limits) -> Result<usize> {
    let mut keys = Keys::default();
    Decoder::new(input.bytes(), manner, limits)
        .pour_only(&mut Validator::new(manner, limits, &mut keys, input))
}
