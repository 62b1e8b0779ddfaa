//! Batches of values whose objects are of registered classes. Scripts run, so only the calling thread works.

use std::collections::HashMap;
use std::sync::Arc;

use godot::builtin::{AnyArray, PackedByteArray, Variant};
use variant_codec::{Error, Limits};
use variant_engine::{Reader, Slots};

use crate::batch::failed::{Failed, Reasons};
use crate::batch::gathering::{Batch, Gathering, fill_part};
use crate::batch::records::{Unpacked, Unpacking};
use crate::batch::spread::own_if;
use crate::classes::graph::Graph;
use crate::classes::registry::Registry;
use crate::classes::tagging::Tagging;
use crate::decode::decoding::Decoding;
use crate::decode::input::Input;
use crate::encode::walker::element;
use crate::value;

/// Encodes each value.
pub fn encode(values: &AnyArray, registry: &Registry) -> Batch<PackedByteArray> {
    let (reader, gathering) = (Reader::new(), Gathering::keeping(Reasons::First));
    let values = own_if(true, reader, values);
    let elements = reader.elements(&values);
    let created = Slots::of_buffers(elements.len(), |mut slots| {
        while !slots.is_empty() {
            let (index, buffer) = (slots.start(), slots.next_bytes());
            match element(&elements, index).and_then(|value| value::encode_registered(value, registry)) {
                Ok(bytes) => *buffer = bytes,
                Err(error) => gathering.add_failed(index, error),
            }
        }
    });
    gathering.into_batch(created)
}

/// Decodes each buffer.
pub fn decode(buffers: &AnyArray, limits: &Limits, registry: &Arc<Registry>) -> Batch<Variant> {
    let gathering = Gathering::keeping(Reasons::All);
    let buffers = super::owned(buffers);
    let mut decoding = Decoding::strict(limits);
    let created = Slots::of_variants(buffers.len(), |mut slots| {
        while !slots.is_empty() {
            fill_part(&mut slots, &gathering, |index| {
                let bytes = buffers[index].as_ref().map_err(Error::clone)?;
                let input = Input::Shared(bytes.get());
                let len = input.bytes().len();
                decoding.begin_input();
                decoding.decode_registered(&input, 0..len, registry, None).map(|(built, _)| (built, len))
            });
        }
    });
    gathering.into_batch(created)
}

/// Encodes all values as records, each prefixed with its length as a little-endian u32.
///
/// # Errors
/// Fails with the first value that cannot be encoded, or that shares an object with an earlier one. Records are read
/// one by one, so a reader would create two objects.
pub fn frame(values: &AnyArray, registry: &Registry) -> Result<Vec<Vec<u8>>, Failed> {
    let reader = Reader::new();
    let values = own_if(true, reader, values);
    let elements = reader.elements(&values);
    let mut part = Vec::new();
    let mut known: HashMap<u64, usize> = HashMap::new();
    for index in 0..elements.len() {
        let mut frame = || {
            let value = element(&elements, index)?;
            let graph = Graph::of(value, registry)?;
            for (id, class) in graph.ids() {
                if let Some(first) = known.insert(id, index) {
                    return Err(Error::object(format!(
                        "an object of class {class} is also in value {first}; reading would create two; put both values into one Array"
                    )));
                }
            }
            value::append_registered(&mut part, Tagging { value, graph: &graph, registry })
        };
        frame().map_err(|error| Failed::one(index, error))?;
    }
    Ok(vec![part])
}

/// Decodes all records of a buffer.
pub fn unpack(bytes: PackedByteArray, limits: &Limits, registry: &Arc<Registry>) -> Unpacked {
    let mut unpacking = Unpacking::of(bytes, limits.clone());
    unpacking.step_with(usize::MAX, |decoding, input, part| {
        decoding.decode_registered(input, part, registry, None)
    });
    unpacking.finish()
}
