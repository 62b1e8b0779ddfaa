//! Encodes and decodes one value.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use godot::builtin::{PackedByteArray, Variant};
use godot::global::var_to_bytes;
use variant_codec::stream::{Buffer, Decoder, Encoder, Leaf, Measure, Number, Source as _, leaf, number};
use variant_codec::{EncodeOptions, ErrorKind, Result, VariantType, frames};
use variant_engine::{self as engine, Building, HeldObject, PRECISION, raw_string, set_bytes};

use crate::classes::completion::Incomplete;
use crate::classes::graph::Graph;
use crate::classes::host::Host;
use crate::classes::reader::ObjectReader;
use crate::classes::registry::Registry;
use crate::classes::tagging::Tagging;
use crate::classes::untagging::Untagging;
use crate::decode::built::Built;
use crate::decode::decoding::Decoding;
use crate::decode::input::Input;
use crate::encode::buffer::with_encoder;
use crate::encode::splitter::Splitter;
use crate::encode::walker::{Live, Objects};
use crate::parts;
use crate::settings;
use crate::threads::pool::pool;
use crate::thresholds::{LARGE_BYTES, SMALL_BYTES, engine_is_as_fast};

/// Encodes a value. If `strict`, a value that would decode to a different value is an error.
///
/// # Errors
/// Fails if the value cannot be encoded; the error has the path.
pub fn encode(value: &Variant, objects: Objects<'_>, strict: bool) -> Result<PackedByteArray> {
    let mut bytes = PackedByteArray::new();
    encode_to(&mut bytes, value, objects, strict)?;
    Ok(bytes)
}

/// Encodes a value into `bytes`, as [`encode`] does.
///
/// # Errors
/// As [`encode`]; the contents of `bytes` are then unspecified.
#[inline]
pub fn encode_to(
    bytes: &mut PackedByteArray,
    value: &Variant,
    objects: Objects<'_>,
    strict: bool,
) -> Result<()> {
    let options = EncodeOptions { precision: Some(PRECISION), strict_text: strict };
    let _running = objects.enter()?;
    let mut live = Live::new(value, objects, strict);
    if live.is_small() {
        let mut small = [0; SMALL_BYTES];
        let mut encoder = Encoder::new(Buffer::new(&mut small[..]), options);
        live.write_into(&mut encoder)?;
        return set_bytes(bytes, encoder.into_output().written());
    }
    if let Some(ty) = live.packed_type() {
        return encode_packed(bytes, live, ty, options);
    }
    encode_with(value, objects, options, |encoded| match encoded {
        Encoded::InBuffer(written) => set_bytes(bytes, written),
        Encoded::Packed(packed) => {
            *bytes = packed;
            Ok(())
        }
    })
}

/// Measures a packed array first, and writes it directly to the result.
#[inline(never)]
fn encode_packed(
    bytes: &mut PackedByteArray,
    mut live: Live<'_, '_>,
    ty: VariantType,
    options: EncodeOptions,
) -> Result<()> {
    let mut measure = Measure::counting(options);
    live.write_into(&mut measure)?;
    // Even debug builds of the engine copy a PackedByteArray as one block.
    let as_fast = ty == VariantType::PackedByteArray || engine_is_as_fast(ty);
    if as_fast && measure.bytes() >= LARGE_BYTES {
        *bytes = var_to_bytes(live.variant());
        return Ok(());
    }
    *bytes = engine::new_bytes(measure.bytes())?;
    live.write_into(&mut Encoder::new(Buffer::new(bytes.as_mut_slice()), options))
}

/// Appends the bytes of a value, prefixed with their length as a little-endian u32. `strict` is as for [`encode`].
///
/// # Errors
/// As [`encode`]; then nothing has been appended.
pub fn append(out: &mut Vec<u8>, value: &Variant, objects: Objects<'_>, strict: bool) -> Result<()> {
    let options = EncodeOptions { precision: Some(PRECISION), strict_text: strict };
    let _running = objects.enter()?;
    encode_with(value, objects, options, |encoded| {
        let bytes = match &encoded {
            Encoded::InBuffer(bytes) => bytes,
            Encoded::Packed(bytes) => bytes.as_slice(),
        };
        frames::try_append(out, bytes)
    })
}

/// Encodes a value whose objects are of registered classes, strictly. Getters run.
///
/// # Errors
/// As [`encode`]; also fails for objects of other classes.
pub fn encode_registered(value: &Variant, registry: &Registry) -> Result<PackedByteArray> {
    // Getters may change the caller's variable.
    let value = value.clone();
    let graph = Graph::of(&value, registry)?;
    let mut bytes = PackedByteArray::new();
    encode_tagged(Tagging { value: &value, graph: &graph, registry }, |written| {
        set_bytes(&mut bytes, written)
    })?;
    Ok(bytes)
}

/// Appends the bytes of a value whose objects are of registered classes, as [`append`] does.
///
/// # Errors
/// As [`encode_registered`]; then nothing has been appended.
pub fn append_registered(out: &mut Vec<u8>, tagging: Tagging<'_>) -> Result<()> {
    encode_tagged(tagging, |written| frames::try_append(out, written))
}

fn encode_tagged(mut tagging: Tagging<'_>, take: impl FnOnce(&[u8]) -> Result<()>) -> Result<()> {
    with_encoder(EncodeOptions { precision: Some(PRECISION), strict_text: true }, |encoder| {
        tagging.write_into(encoder)?;
        take(encoder.output().written())
    })
}

/// An encoded value before it is copied to its destination.
enum Encoded<'a> {
    InBuffer(&'a [u8]),
    Packed(PackedByteArray),
}

/// Encodes a value, on several threads if it is large, and calls `take` with the bytes once.
fn encode_with(
    value: &Variant,
    objects: Objects<'_>,
    options: EncodeOptions,
    mut take: impl FnMut(Encoded<'_>) -> Result<()>,
) -> Result<()> {
    let live = Live::new(value, objects, options.strict_text);
    let splitter = Splitter::new();
    let lead = with_encoder(options, |encoder| {
        live.with_splitter(&splitter).write_into(encoder)?;
        let written = encoder.output().written();
        if splitter.has_tails() {
            return Ok(Some(written.to_vec()));
        }
        take(Encoded::InBuffer(written)).map(|()| None)
    });
    match lead {
        Ok(None) => return Ok(()),
        Err(error) if !splitter.has_tails() => return Err(error),
        Ok(Some(lead)) => {
            if let Some(bytes) = parts::encode(lead, splitter.into_tails(), options) {
                return take(Encoded::Packed(bytes));
            }
        }
        Err(_) => {}
    }
    // A single thread finds the error and its path.
    with_encoder(options, |encoder| {
        Live::new(value, objects, options.strict_text).write_into(encoder)?;
        take(Encoded::InBuffer(encoder.output().written()))
    })
}

/// Decodes the input if it is a small value without nested values. Such a value needs neither limits nor a
/// builder.
#[inline(always)]
pub fn decode_leaf(bytes: &[u8]) -> Option<Variant> {
    let Some(number) = number(bytes) else { return decode_other_leaf(bytes) };
    let mut building = Building::new();
    match number {
        Number::Bool(value) => building.put_bool(value),
        Number::Int(value) => building.put_int(value),
        Number::Float(value) => building.put_float(value),
    }
    Some(building.finish())
}

#[inline(never)]
fn decode_other_leaf(bytes: &[u8]) -> Option<Variant> {
    // Larger values are left to the decoder, which checks for memory.
    let leaf = leaf(bytes).filter(|_| bytes.len() <= SMALL_BYTES)?;
    let mut building = Building::new();
    match leaf {
        Leaf::Nil => {}
        Leaf::Rid(id) => building.put_rid(id),
        Leaf::Lanes(ty, lanes) => building.put_lanes(ty, lanes),
        Leaf::Text(text) => building.put_string(raw_string(text, &mut Vec::new())?),
    }
    Some(building.finish())
}

impl Decoding<'_> {
    /// Decodes a whole input, which has the limits to itself.
    ///
    /// # Errors
    /// Fails if the bytes are invalid; the error has the offset.
    #[inline(always)]
    pub fn decode_input(&mut self, input: &Input<'_>) -> Result<Built> {
        let data = input.bytes();
        if self.limits.allow_objects || data.len() >= settings::parallel_threshold() {
            self.begin_input();
            return self.decode(input, 0..data.len()).map(|(built, _)| built);
        }
        // No other value shares the limits, so what is spent need not be kept: a quarter of the time for an int.
        let mut decoder = Decoder::new(data, self.strictness, self.limits);
        let mut builder = self.builder(Some(input));
        decoder.decode_only(&mut builder)?;
        Ok(builder.finish())
    }

    /// Decodes a part of the input; returns the value and the offset of its end. All parts of an input share the
    /// limits.
    ///
    /// # Errors
    /// Fails if the bytes are invalid; the error has the offset in the whole input.
    #[inline(always)]
    pub fn decode(&mut self, input: &Input<'_>, part: Range<usize>) -> Result<(Built, usize)> {
        if self.limits.allow_objects {
            self.allow_scripts()?;
        }
        let (start, data) = (part.start, input.bytes().get(part).unwrap_or_default());
        if data.len() >= settings::parallel_threshold()
            && let Some((built, end)) = self.decode_on_threads(input, data)
        {
            return Ok((built, start + end));
        }
        let mut decoder = self.decoder(data);
        let mut builder = self.builder(Some(input));
        let built = decoder.decode_only(&mut builder).map(|end| (builder.finish(), start + end));
        self.spent = decoder.spent();
        built.map_err(|error| error.shifted(start))
    }

    /// Decodes a large value on several threads; `None` if that is not allowed, or fails.
    #[inline(never)]
    fn decode_on_threads(&mut self, input: &Input<'_>, data: &[u8]) -> Option<(Built, usize)> {
        // Threads do not know each other's usage, so the limits must admit the whole input.
        let is_allowed = !self.limits.allow_objects && self.limits.admit_all_of(input.bytes().len());
        parts::decode(&*is_allowed.then(pool).flatten()?, self, input, data)
    }

    /// Decodes a part of the input whose objects are of registered classes. `target`, if given, becomes the
    /// outermost object. Scripts run.
    ///
    /// # Errors
    /// As [`Decoding::decode`]; also fails if the data does not fit the classes. All created objects have then been freed.
    pub fn decode_registered(
        &mut self,
        input: &Input<'_>,
        part: Range<usize>,
        registry: &Arc<Registry>,
        target: Option<HeldObject>,
    ) -> Result<(Built, usize)> {
        self.allow_scripts()?;
        let (incomplete, end) = self.read_registered(input, part, registry, target, Host::CALLER)?;
        Ok((incomplete.complete()?, end))
    }

    /// As [`Decoding::decode_registered`], but completes no object, and may pause.
    ///
    /// # Errors
    /// As [`Decoding::decode_registered`].
    pub fn read_registered(
        &mut self,
        input: &Input<'_>,
        part: Range<usize>,
        registry: &Arc<Registry>,
        target: Option<HeldObject>,
        host: Host<'_>,
    ) -> Result<(Incomplete, usize)> {
        let (start, data) = (part.start, input.bytes().get(part).unwrap_or_default());
        let objects = ObjectReader::new(
            Arc::clone(registry),
            data,
            self.limits,
            target,
            Rc::clone(&self.spent_on_names),
            host,
        );
        let mut decoder = self.decoder(data);
        let mut untagging = Untagging::new(self.builder(Some(input)), objects, data);
        let read = decoder.decode_only(&mut untagging).and_then(|end| untagging.check().map(|()| end));
        let read = read.map_err(|error| match error.kind() {
            ErrorKind::ObjectsNotAllowed => error.with_kind(ErrorKind::Object(FULL_OBJECT.into())),
            _ => error,
        });
        let incomplete = match read {
            Ok(end) => Ok((untagging.finish().shifted(start), start + end)),
            Err(error) => {
                untagging.abandon(host);
                Err(error)
            }
        };
        self.spent = decoder.spent();
        incomplete.map_err(|error| error.shifted(start))
    }
}

const FULL_OBJECT: &str = "an object written with `full_objects`, which FastVariantClasses does not read; use FastVariantCodec with `allow_objects`, for data that you trust";
