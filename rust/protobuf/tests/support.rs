//! Helpers for the tests.

use variant_codec::{Strictness, Value};
use variant_protobuf::{DecodeOptions, EncodeOptions, Schema, Wire};

pub fn schema(text: &str) -> Schema {
    let text = text.to_owned();
    let resolve = move |name: &str| (name == "test.proto").then(|| text.clone());
    Schema::compile("test.proto", resolve).unwrap_or_else(|error| panic!("{error}"))
}

pub fn dictionary<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::from(entries.map(|(key, value)| (Value::from(key), value)).to_vec())
}

pub fn encoded(schema: &Schema, message: &str, wire: Wire, value: &Value) -> Vec<u8> {
    let message = schema.message(message).expect("it is there");
    message.encode(value, &EncodeOptions { wire }).unwrap_or_else(|error| panic!("{error}: {value:?}"))
}

/// Decodes leniently. If strict decoding succeeds too, the results must be equal.
pub fn decoded(schema: &Schema, message: &str, wire: Wire, bytes: &[u8]) -> Value {
    let message = schema.message(message).expect("it is there");
    let options = DecodeOptions { wire, ..DecodeOptions::default() };
    let value =
        message.decode(bytes, &options).unwrap_or_else(|error| panic!("{error}: {}", hex::encode(bytes)));
    if let Ok(strict) = message.decode(bytes, &DecodeOptions { strictness: Strictness::Strict, ..options }) {
        assert_eq!(strict, value);
    }
    value
}
