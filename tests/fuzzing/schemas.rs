//! Schemas: bytes as a descriptor set, and text as `.proto` files.

use variant_codec::{Limits, Value};
use variant_protobuf::{DecodeOptions, Defaults, EncodeOptions, Schema};

/// Reads bytes as a descriptor set, and as files that import each other: `0.proto`, `1.proto` and so on,
/// separated by zero bytes. Every accepted schema can be used.
pub fn check(data: &[u8]) {
    if let Ok(schema) = Schema::from_descriptor_set(data) {
        check_schema(&schema);
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    let files: Vec<String> = text.split('\0').map(str::to_owned).collect();
    let resolve = |name: &str| {
        let index = name.strip_suffix(".proto")?.parse::<usize>().ok()?;
        files.get(index).cloned()
    };
    match Schema::compile("0.proto", resolve) {
        Ok(schema) => check_schema(&schema),
        Err(error) => {
            let text = error.to_string();
            // The message may quote the input, but does not end with it.
            assert!(!text.ends_with("please report it"), "the compiler panics: {text}");
        }
    }
}

/// Checks that every message can be read and written.
fn check_schema(schema: &Schema) {
    let limits = Limits { max_elements: 10_000, max_memory: 1 << 20, ..Limits::unlimited() };
    for message in schema.messages().take(8) {
        for field in message.fields() {
            assert!(!field.name().is_empty() && !field.type_name().is_empty() && field.number() > 0);
        }
        for defaults in [Defaults::Implicit, Defaults::All] {
            let options =
                DecodeOptions { defaults, enum_names: true, limits: limits.clone(), ..Default::default() };
            let Ok(value) = message.decode(&[], &options) else { continue };
            // A message that lacks required fields cannot be written.
            if let Ok(bytes) = message.encode(&value, &EncodeOptions::default()) {
                assert!(message.decode(&bytes, &options).is_ok(), "what is written is read");
            }
        }
        for field in message.fields().iter().take(8) {
            let tag = field.number() << 3 | 2;
            let mut bytes: Vec<u8> = (0..5).map(|index| (tag >> (7 * index)) as u8 | 0x80).collect();
            bytes[4] &= 0x7F;
            bytes.push(0);
            let _: Result<Value, _> =
                message.decode(&bytes, &DecodeOptions { limits: limits.clone(), ..Default::default() });
        }
    }
}
