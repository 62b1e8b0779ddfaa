//! Messages in both wires.

use std::sync::LazyLock;

use variant_codec::stream::{Measure, Source};
use variant_codec::{EncodeOptions as GodotOptions, Limits, Strictness, Value};
use variant_protobuf::{DecodeOptions, Defaults, EncodeOptions, Message, MessageDecoder, Wire};

use super::{check_error, encoded};
use crate::random_messages::{EVERYTHING, OLD, schema};

static MESSAGES: LazyLock<[Message; 2]> = LazyLock::new(|| {
    [(EVERYTHING, "Everything"), (OLD, "Old")]
        .map(|(text, name)| schema(text).message(name).expect("it is there"))
});

/// Reads any bytes as a message of either schema, in either wire.
pub fn check(data: &[u8]) {
    for message in &*MESSAGES {
        for wire in [Wire::Protobuf, Wire::Own] {
            check_message(message, wire, data);
        }
    }
}

fn check_message(message: &Message, wire: Wire, data: &[u8]) {
    // Limits the elements, because two bytes can be a nested message with dozens of default values.
    let limits = Limits { max_elements: 50_000, ..Limits::unlimited() };
    let lenient = DecodeOptions { wire, strictness: Strictness::Lenient, limits, ..DecodeOptions::default() };
    let strict = DecodeOptions { strictness: Strictness::Strict, ..lenient.clone() };
    let read = decode(message, data, &lenient);
    if let Some(value) = decode(message, data, &strict) {
        assert_eq!(read.as_ref().map(encoded), Some(encoded(&value)), "strict and lenient read the same");
        let written = message.encode(&value, &EncodeOptions { wire });
        assert_eq!(written.as_deref(), Ok(data), "what is read strictly is what is written");
    }
    let Some(value) = read else { return };
    for wire in [Wire::Protobuf, Wire::Own] {
        // A message that lacks required fields can be read, but not written.
        let Ok(written) = message.encode(&value, &EncodeOptions { wire }) else {
            assert!(decode(message, data, &strict).is_none(), "what is read strictly can be written");
            break;
        };
        let again = decode(message, &written, &DecodeOptions { wire, ..strict.clone() });
        assert_eq!(again.as_ref().map(encoded), Some(encoded(&value)), "what is written is read strictly");
    }
    for options in [
        DecodeOptions { keep_unknown: true, ..lenient.clone() },
        DecodeOptions { keep_unknown: true, enum_names: true, defaults: Defaults::Omit, ..lenient.clone() },
        DecodeOptions { string_name_keys: true, enum_names: true, defaults: Defaults::All, ..lenient },
    ] {
        let Some(value) = decode(message, data, &options) else { continue };
        let Ok(written) = message.encode(&value, &EncodeOptions { wire }) else { continue };
        let again = decode(message, &written, &options).expect("what is written can be read");
        assert_eq!(message.encode(&again, &EncodeOptions { wire }), Ok(written), "what is kept comes back");
        // With `Defaults::Omit`, an explicit default value is decoded but not encoded again, so `again` may
        // lack it.
        if options.defaults != Defaults::Omit {
            assert_eq!(encoded(&again), encoded(&value), "what is kept comes back");
        }
    }
}

/// Reads with and without building a value. Both ways agree, and an error lies within the data.
fn decode(message: &Message, data: &[u8], options: &DecodeOptions) -> Option<Value> {
    let built = message.decode(data, options);
    let mut measure = Measure::counting(GodotOptions::default());
    let streamed = MessageDecoder::new(message, data, options).write_into(&mut measure);
    match built {
        Ok(value) => {
            assert_eq!(streamed.map(|()| measure.bytes()), value.encoded_size());
            Some(value)
        }
        Err(error) => {
            assert_eq!(streamed.as_ref(), Err(&error));
            check_error(&error, 0, data.len());
            None
        }
    }
}
