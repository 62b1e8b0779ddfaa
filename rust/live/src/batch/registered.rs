//! Batches of values whose objects are of registered classes. Scripts run, so only the calling thread works.

use std::collections::HashMap;
use std::sync::Arc;

use godot::builtin::{AnyArray, PackedByteArray};
use variant_codec::{Error, Limits};
use variant_engine::Reader;

use crate::batch::failed::Failed;
use crate::batch::records::{Unpacked, Unpacking, in_blocks};
use crate::batch::spread::own_if;
use crate::classes::graph::Graph;
use crate::classes::registry::Registry;
use crate::classes::tagging::Tagging;
use crate::encode::walker::element;
use crate::value;

/// Encodes all values as records, each prefixed with its length as a little-endian u32, and in blocks if they are to be
/// compressed.
///
/// # Errors
/// Fails with the first value that cannot be encoded, or that shares an object with an earlier one. Records are read
/// one by one, so a reader would create two objects.
pub fn frame(values: &AnyArray, registry: &Registry, compress: bool) -> Result<Vec<Vec<u8>>, Failed> {
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
    in_blocks(vec![part], elements.len(), compress)
}

/// Decodes all records of a buffer.
pub fn unpack(bytes: PackedByteArray, limits: &Limits, registry: &Arc<Registry>) -> Unpacked {
    let mut unpacking = Unpacking::of(bytes, limits.clone());
    step(&mut unpacking, usize::MAX, registry);
    unpacking.finish()
}

/// Decodes up to `count` more records, and returns whether any are left.
pub fn step(unpacking: &mut Unpacking, count: usize, registry: &Arc<Registry>) -> bool {
    unpacking
        .step_with(count, |decoding, input, part| decoding.decode_registered(input, part, registry, None))
}
