//! Batches: encodes and decodes many values on several threads, in order.

pub mod blocks;
pub mod failed;
pub mod gathering;
pub mod records;
pub mod registered;
mod spread;

use godot::builtin::{AnyArray, PackedByteArray, Variant};
use godot::meta::ToGodot;
use variant_codec::{Error, ErrorKind, Limits, Strictness, VariantType};
use variant_engine::{OwnedBytes, Reader, Slots};

use crate::decode::built::Built;
use crate::decode::decoding::Decoding;
use crate::decode::input::Input;
use crate::encode::walker::{Objects, element};
use crate::thresholds::PART_BYTES;
use crate::value;
use failed::Reasons;
use gathering::{Batch, Gathering, fill_part};
use spread::{ITEM_COST, item, own_if, spread};

/// Encodes each value.
pub fn encode(values: &AnyArray, full_objects: bool, reasons: Reasons) -> Batch<PackedByteArray> {
    // Getters are scripts, which run on the calling thread and may change the caller's Array.
    encode_each(values, !full_objects, reasons, |value, buffer, stored| {
        value::encode_to(
            buffer,
            value,
            Objects::full_or(Objects::AsIds { warns: true }, full_objects, stored),
            false,
        )
    })
}

/// Encodes each value with `encode`, on several threads if `parallel`. All calls for the values of one part
/// share a `K`, such as a cache.
pub fn encode_each<K: Default>(
    values: &AnyArray,
    parallel: bool,
    reasons: Reasons,
    encode: impl Fn(&Variant, &mut PackedByteArray, &mut K) -> Result<(), Error> + Sync,
) -> Batch<PackedByteArray> {
    let reader = Reader::new();
    let gathering = Gathering::keeping(reasons);
    let values = own_if(!parallel, reader, values);
    let elements = reader.elements(&values);
    let fill = |slots: &mut Slots<'_>, kept: &mut K| {
        let mut cost = 0;
        while !slots.is_empty() && cost < PART_BYTES {
            let (index, buffer) = (slots.start(), slots.next_bytes());
            let encoded = element(&elements, index).and_then(|value| {
                item("an item to encode", kept, K::default, |kept| encode(value, buffer, kept))
            });
            if let Err(error) = encoded {
                if matches!(error.kind(), ErrorKind::Internal(_)) {
                    *buffer = PackedByteArray::new();
                }
                gathering.add_failed(index, error);
            }
            cost += buffer.len() + ITEM_COST;
        }
    };
    let created = Slots::of_buffers(elements.len(), |slots| spread(slots, parallel, K::default, fill));
    gathering.into_batch(created)
}

/// Decodes each buffer as the engine does. The limits are the engine's own, with or without objects.
pub fn decode(buffers: &AnyArray, limits: &Limits, reasons: Reasons) -> Batch<Variant> {
    // Setters are scripts, which run on the calling thread and may change the caller's buffers.
    if limits.allow_objects {
        return decode_owned(&owned(buffers), Strictness::Lenient, limits, reasons);
    }
    let make = || Decoding::new(limits, Strictness::Lenient);
    decode_each(buffers, reasons, make, |input, decoding| match value::decode_leaf(input.bytes()) {
        Some(leaf) => Ok(Built::leaf(leaf)),
        None => decoding.decode_input(input),
    })
}

/// Decodes each buffer with `decode`, which runs no scripts. Each thread gets a [`Decoding`] from `make`.
pub fn decode_each<'l>(
    buffers: &AnyArray,
    reasons: Reasons,
    make: impl Fn() -> Decoding<'l> + Sync,
    decode: impl Fn(&Input<'_>, &mut Decoding<'l>) -> Result<Built, Error> + Sync,
) -> Batch<Variant> {
    let reader = Reader::new();
    let buffers = own_if(false, reader, buffers);
    let elements = reader.elements(&buffers);
    let input = |index: usize| {
        let buffer = element(&elements, index)?;
        Input::of(reader, buffer).ok_or_else(|| no_buffer(reader, buffer))
    };
    decode_items(elements.len(), true, reasons, input, make, decode)
}

/// An owned buffer, or the error for an element that is not a buffer.
pub type OwnedBuffer = Result<OwnedBytes, Error>;

/// Takes owned references to the buffers of an Array, as they are now.
pub fn owned(buffers: &AnyArray) -> Vec<OwnedBuffer> {
    let reader = Reader::new();
    let buffers = own_if(false, reader, buffers);
    let elements = reader.elements(&buffers);
    let own = |buffer: &Variant| OwnedBytes::of(reader, buffer).ok_or_else(|| no_buffer(reader, buffer));
    (0..elements.len()).map(|index| element(&elements, index).and_then(own)).collect()
}

/// Decodes each owned buffer.
pub fn decode_owned(
    buffers: &[OwnedBuffer],
    strictness: Strictness,
    limits: &Limits,
    reasons: Reasons,
) -> Batch<Variant> {
    let input = |index: usize| match &buffers[index] {
        Ok(bytes) => Ok(Input::Shared(bytes.get())),
        Err(error) => Err(error.clone()),
    };
    let make = || Decoding::new(limits, strictness);
    decode_items(buffers.len(), !limits.allow_objects, reasons, input, make, |input, decoding| {
        decoding.decode_input(input)
    })
}

fn decode_items<'a, 'l>(
    count: usize,
    parallel: bool,
    reasons: Reasons,
    input: impl Fn(usize) -> Result<Input<'a>, Error> + Sync,
    make: impl Fn() -> Decoding<'l> + Sync,
    decode: impl Fn(&Input<'_>, &mut Decoding<'l>) -> Result<Built, Error> + Sync,
) -> Batch<Variant> {
    let decode_at = |index: usize, decoding: &mut Decoding<'l>| {
        let input = input(index)?;
        let bytes = input.bytes().len();
        item("an item to decode", decoding, &make, |decoding| Ok((decode(&input, decoding)?, bytes)))
    };
    let gathering = Gathering::keeping(reasons);
    let created = Slots::of_variants(count, |slots| {
        spread(slots, parallel, &make, |slots, decoding| {
            fill_part(slots, &gathering, |index| decode_at(index, decoding));
        });
    });
    gathering.into_batch(created)
}

fn no_buffer(reader: Reader, found: &Variant) -> Error {
    let ty = reader.ty(found).map_or("a newer type", VariantType::name);
    Error::argument(format!("expected PackedByteArray, found {ty}"))
}

/// A copy of an Array and of the packed arrays in it, as they are now. Arrays, Dictionaries and objects in it remain
/// shared with the caller.
pub fn with_own_packed(values: &AnyArray) -> AnyArray {
    let reader = Reader::new();
    let copy = values.duplicate_shallow();
    let shared = copy.to_variant();
    let is_packed = |value: &Variant| reader.ty(value).is_some_and(|ty| ty.shape().is_packed());
    for index in 0..copy.len() {
        // Looked up each time, because setting an element may move the others.
        let own = reader.elements(&shared).get(index).filter(|value| is_packed(value));
        if let Some(own) = own.map(|value| value.call("duplicate", &[])) {
            shared.call("set", &[(index as i64).to_variant(), own]);
        }
    }
    copy
}
