//! Random messages with every kind of field, in both wires.

use conformance::random_messages::{EVERYTHING, random_message, schema};
use fastrand::Rng;
use proptest::prelude::*;
use variant_codec::stream::{Decoder, Encoder, Source, Text};
use variant_codec::{Limits, Strictness, Value, VariantType};
use variant_protobuf::{DecodeOptions, EncodeOptions, MessageDecoder, MessageEncoder, Wire};

const MESSAGES: u64 = 300;

fn options(wire: Wire) -> DecodeOptions {
    DecodeOptions { wire, strictness: Strictness::Strict, ..DecodeOptions::default() }
}

/// The bytes in Godot's format, in which NaNs are equal.
fn godot(value: &Value) -> Vec<u8> {
    value.encode().expect("small values can be written")
}

#[test]
fn all_sources_and_sinks_agree() {
    let schema = schema(EVERYTHING);
    let message = schema.message("Everything").unwrap();
    for seed in 0..MESSAGES {
        let value = random_message(&mut Rng::with_seed(seed), &message, 40);
        for wire in [Wire::Protobuf, Wire::Own] {
            let encode = EncodeOptions { wire };
            let bytes = message.encode(&value, &encode).unwrap();
            // Godot's bytes as a source and as a sink. As a source, their decoder passes lists of numbers on
            // as runs.
            let (written, limits) = (godot(&value), Limits::unlimited());
            let mut encoder = MessageEncoder::new(&message, &encode);
            Decoder::new(&written, Strictness::Strict, &limits).write_into(&mut encoder).unwrap();
            assert_eq!(encoder.written(), bytes, "seed {seed}");
            encoder.clear();
            (&value).write_into(&mut encoder).unwrap();
            assert_eq!(encoder.into_bytes(), bytes, "seed {seed}");

            let mut encoder = Encoder::new(Vec::new(), variant_codec::EncodeOptions::default());
            MessageDecoder::new(&message, &bytes, &options(wire)).write_into(&mut encoder).unwrap();
            let read = message.decode(&bytes, &options(wire)).unwrap();
            assert_eq!(encoder.into_output(), godot(&read), "seed {seed}");
        }
    }
}

/// The sizes of packed zigzag lists are not comparable; see `docs/protobuf.md`.
#[test]
fn the_own_wire_is_larger_only_for_zigzag() {
    let schema = schema(
        &EVERYTHING
            .replace("repeated int", "repeated sint")
            .replace("repeated Color colors", "repeated sint32 colors"),
    );
    let message = schema.message("Everything").unwrap();
    let mut smaller = 0;
    for seed in 0..MESSAGES {
        let value = random_message(&mut Rng::with_seed(seed), &message, 40);
        let [protobuf, own] = [Wire::Protobuf, Wire::Own]
            .map(|wire| message.encode(&value, &EncodeOptions { wire }).unwrap().len());
        assert!(own <= protobuf, "seed {seed}: {own} of {protobuf} bytes");
        smaller += u64::from(own < protobuf);
    }
    assert!(smaller > MESSAGES / 2, "{smaller} of {MESSAGES} are smaller");
}

/// Text as UTF-32 code units, as engines store it.
struct Units<'a>(&'a str);

impl Source for Units<'_> {
    fn write_into<S: variant_codec::stream::Sink>(&mut self, sink: &mut S) -> variant_codec::Result<()> {
        let units = |text: &str| text.chars().map(u32::from).collect::<Vec<u32>>();
        let untyped = variant_codec::stream::ElementType::Untyped;
        let mut dictionary = sink.begin_dictionary(2, untyped, untyped)?;
        for name in ["may_string", "a_string"] {
            sink.begin_key(&mut dictionary)?;
            sink.text(VariantType::StringName, Text::Utf32(&units(name)))?;
            sink.begin_value(&mut dictionary)?;
            sink.text(VariantType::String, Text::Utf32(&units(self.0)))?;
            sink.end_entry(&mut dictionary)?;
        }
        sink.end_dictionary(dictionary)
    }
}

#[test]
fn code_units_are_written_like_text() {
    let schema = schema(EVERYTHING);
    let message = schema.message("Everything").unwrap();
    proptest!(|(text in ".{0,200}")| {
        let mut encoder = MessageEncoder::new(&message, &EncodeOptions::default());
        Units(&text).write_into(&mut encoder).unwrap();
        let value = ["a_string", "may_string"].map(|name| (name.into(), text.as_str().into()));
        let value = Value::from(value.to_vec());
        prop_assert_eq!(encoder.into_bytes(), message.encode(&value, &EncodeOptions::default()).unwrap());
    });
}
