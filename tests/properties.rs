//! What must hold for every value, and for every sequence of bytes.

use conformance::{Values, any_inside, damaged_bytes, measure, transcode};
use proptest::prelude::*;
use variant_codec::stream::{Decoder, Measure, Precision, Source, ValueBuilder};
use variant_codec::{EncodeOptions, Limits, Object, Strictness, Value, format};

/// Objects as well, whatever they are.
fn limits() -> Limits {
    Limits { allow_objects: true, ..Limits::for_save_files() }
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 20_000, ..ProptestConfig::default() }
}

fn damaged() -> impl Strategy<Value = Vec<u8>> {
    damaged_bytes(Values { full_objects: true, ..Values::default() })
}

/// A value of either precision, and the options that write it as it is.
fn values() -> impl Strategy<Value = (EncodeOptions, Value)> {
    prop_oneof![Just(Precision::Single), Just(Precision::Double)].prop_flat_map(|precision| {
        let options = EncodeOptions { precision, strict_text: true };
        (Just(options), Values { precision, full_objects: true }.any())
    })
}

/// Whether components of both widths are inside, which no one engine writes.
fn has_both_widths(value: &Value) -> bool {
    let text = format!("{value:?}");
    text.contains("(Single(") && text.contains("(Double(")
}

/// How many zeros end the value's bytes that the engine can do without: those of a PackedByteArray that comes last.
fn dispensable_padding(value: &Value) -> usize {
    match value {
        Value::PackedByteArray(bytes) => format::padding(bytes.len()),
        Value::Array(array) => array.values.last().map_or(0, dispensable_padding),
        Value::Dictionary(dictionary) => {
            dictionary.entries.last().map_or(0, |(_, value)| dispensable_padding(value))
        }
        Value::Object(Object::Full { properties, .. }) => {
            properties.last().map_or(0, |(_, value)| dispensable_padding(value))
        }
        _ => 0,
    }
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn values_survive((options, value) in values()) {
        let bytes = value.encode_as(options).unwrap();
        prop_assert_eq!(measure(&value, options.precision), Ok(bytes.len()));
        prop_assert_eq!(bytes.len() % 4, 0);
        let again = Value::decode(&bytes, &limits()).unwrap();
        // NaNs differ from themselves, but not in words.
        prop_assert_eq!(format!("{again:?}"), format!("{value:?}"));
        prop_assert_eq!(again.encode_as(options), Ok(bytes));
        if options.precision == Precision::Single {
            prop_assert_eq!(value.encode().map(|bytes| bytes.len()), value.encoded_size());
        }
    }

    #[test]
    fn both_strictnesses_agree_on_canonical_bytes((options, value) in values()) {
        let bytes = value.encode_as(options).unwrap();
        let strict = Value::decode_as(&bytes, Strictness::Strict, &limits()).unwrap();
        let engine = Value::decode_as(&bytes, Strictness::Lenient, &limits()).unwrap();
        prop_assert_eq!(format!("{strict:?}"), format!("{engine:?}"));
    }
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn every_truncation_is_noticed((options, value) in values()) {
        let bytes = value.encode_as(options).unwrap();
        prop_assume!(bytes.len() <= 2000);
        let needed = bytes.len() - dispensable_padding(&value);
        for end in 0..bytes.len() {
            let cut = &bytes[..end];
            prop_assert!(Value::decode(cut, &limits()).is_err(), "strict reads {} bytes", end);
            let mut builder = ValueBuilder::default();
            let limits = limits();
            let read = Decoder::new(cut, Strictness::Lenient, &limits).decode_only(&mut builder);
            prop_assert_eq!(read.is_ok(), end >= needed, "the engine's strictness, {} bytes: {:?}", end, read);
            if let Ok(position) = read {
                prop_assert_eq!(position, bytes.len());
            }
        }
    }
}

proptest! {
    #![proptest_config(config(5000))]

    #[test]
    fn damaged_bytes_are_read_the_same_way_by_all(bytes in damaged()) {
        let limits = Limits { allow_objects: true, ..Limits::unlimited() };
        for strictness in [Strictness::Lenient, Strictness::Strict] {
            let built = Value::decode_as(&bytes, strictness, &limits);
            let streamed = transcode(&bytes, strictness, &limits, Precision::Single);
            let mut decoder = Decoder::new(&bytes, strictness, &limits);
            let counted = measure_with(&mut decoder);
            match built {
                Ok(value) => {
                    let written = value.encode().unwrap();
                    prop_assert_eq!(streamed.as_ref(), Ok(&written));
                    prop_assert_eq!(counted, Ok(written.len()));
                }
                Err(error) => {
                    prop_assert_eq!(streamed.as_ref(), Err(&error));
                    prop_assert_eq!(counted.as_ref(), Err(&error));
                    prop_assert!(error.offset().is_some(), "{}", error);
                }
            }
        }
    }

    #[test]
    fn what_is_read_is_written_stably(bytes in damaged()) {
        // Each reading drops one byte-order mark.
        prop_assume!(!bytes.windows(6).any(|window| window == "\u{FEFF}\u{FEFF}".as_bytes()));
        let limits = Limits { allow_objects: true, ..Limits::unlimited() };
        if let Ok(once) = transcode(&bytes, Strictness::Lenient, &limits, Precision::Single) {
            let twice = transcode(&once, Strictness::Lenient, &limits, Precision::Single);
            prop_assert_eq!(twice.as_ref(), Ok(&once));
        }
    }

    #[test]
    fn what_strict_reads_is_canonical(bytes in damaged()) {
        let limits = limits();
        if let Ok(value) = Value::decode(&bytes, &limits) {
            let written = [Precision::Single, Precision::Double].map(|precision| {
                value.encode_as(EncodeOptions { precision, ..EncodeOptions::default() }).unwrap()
            });
            if any_inside(&value, |inner| matches!(inner, Value::NodePath(_))) {
                // Older engines leave the padding of its parts as it was in memory.
                let is_as_long = written.iter().any(|written| written.len() == bytes.len());
                prop_assert!(is_as_long || has_both_widths(&value));
            } else {
                prop_assert!(written.contains(&bytes) || has_both_widths(&value), "written as {:x?}", written[0]);
            }
        }
    }

    #[test]
    fn random_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        for strictness in [Strictness::Lenient, Strictness::Strict] {
            if let Err(error) = Value::decode_as(&bytes, strictness, &limits()) {
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}

fn measure_with(decoder: &mut Decoder<'_>) -> variant_codec::Result<usize> {
    let mut measure = Measure::counting(EncodeOptions::default());
    decoder.write_into(&mut measure)?;
    Ok(measure.bytes())
}

/// The most memory that reading takes at any time, for each byte of input.
const PER_BYTE: u64 = 100;
/// What reading may take beside that: the elements set aside for containers that are still open.
const BESIDE: u64 = 1 << 20;
/// What the reader asks for, and gives back at once, to see whether there is memory for more.
const ASKED: u64 = 41 << 20;

#[test]
fn announcements_cost_nothing() {
    let claims = [
        "1b000000ffffff0f",
        "1c000000ffffff7f",
        "1d000000ffffff7f",
        "1e000000ffffff1f",
        "22000000ffffff7f",
        "16000000ffffff80ffffff0000000000",
        "04000000ffffff7f",
    ];
    for claim in claims {
        let bytes = hex::decode(claim).unwrap();
        for tail in [0, 1000, 1 << 20] {
            let bytes = [bytes.clone(), vec![0; tail]].concat();
            let (result, memory) = reading(&bytes);
            assert!(result.is_err(), "{claim}");
            assert!(memory < 4096, "{claim} and {tail} bytes: {memory} bytes of memory");
        }
    }
}

fn reading(bytes: &[u8]) -> (variant_codec::Result<()>, u64) {
    let mut result = Ok(());
    let limits = Limits::unlimited();
    let memory = allocation_counter::measure(|| {
        result = Value::decode_as(bytes, Strictness::Lenient, &limits).map(drop);
    });
    (result, memory.bytes_max)
}

#[test]
fn memory_grows_with_the_input_alone() {
    let array = |count: u32| [28_u32.to_le_bytes(), count.to_le_bytes()].concat();
    let nils = |count: usize| vec![0; count * 4];
    // Each opener announces more than it holds, and is still open when the bytes end.
    let openers = [array(100_000).repeat(64), nils(100_000)].concat();
    let cases: [(&str, Vec<u8>); 5] = [
        ("nils", [array(1_000_000), nils(1_000_000)].concat()),
        ("empty arrays", [array(500_000), array(0).repeat(500_000)].concat()),
        ("empty strings", [array(500_000), [4, 0, 0, 0, 0, 0, 0, 0].repeat(500_000)].concat()),
        (
            "empty packed strings",
            [[34, 0, 0, 0].to_vec(), 1_000_000_u32.to_le_bytes().to_vec(), nils(1_000_000)].concat(),
        ),
        ("nested announcements", openers),
    ];
    for (name, bytes) in cases {
        let (_, memory) = reading(&bytes);
        assert!(
            memory < PER_BYTE * bytes.len() as u64 + BESIDE + ASKED,
            "{name}: {} bytes take {memory}",
            bytes.len()
        );
    }
}
