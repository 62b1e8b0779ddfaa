//! Bytes → events → bytes, without a value in between: what an encoder wrote comes out the same.

use conformance::{Row, Values, measure, rows, transcode};
use proptest::prelude::*;
use variant_codec::stream::{Decoder, Encoder, Precision, Source};
use variant_codec::{EncodeOptions, Limits, Strictness};

/// Objects as well, whatever they are.
fn limits() -> Limits {
    Limits { allow_objects: true, ..Limits::for_save_files() }
}

#[test]
fn the_engines_bytes_come_out_the_same() {
    for row in rows().into_iter().filter(Row::is_canonical) {
        let limits = row.limits();
        let Ok(bytes) = transcode(&row.bytes, Strictness::Lenient, &limits, Precision::Single) else {
            continue; // What the engine's strictness refuses is counted in vectors.rs.
        };
        assert_eq!(hex::encode(&bytes), hex::encode(&row.bytes), "{}", row.label);
        let counted = measure(Decoder::new(&row.bytes, Strictness::Lenient, &limits), Precision::Single);
        assert_eq!(counted, Ok(row.bytes.len()), "{}", row.label);
    }
}

#[test]
fn values_follow_one_another() {
    let rows: Vec<Row> = rows()
        .into_iter()
        .filter(|row| {
            row.is_canonical()
                && transcode(&row.bytes, Strictness::Strict, &row.limits(), Precision::Single).is_ok()
        })
        .collect();
    let bytes: Vec<u8> = rows.iter().flat_map(|row| row.bytes.clone()).collect();
    let limits = limits();
    let mut decoder = Decoder::new(&bytes, Strictness::Strict, &limits);
    let mut encoder = Encoder::new(Vec::new(), EncodeOptions::default());
    let mut end = 0;
    for row in &rows {
        decoder.write_into(&mut encoder).unwrap();
        end += row.bytes.len();
        assert_eq!(decoder.position(), end, "{}", row.label);
    }
    assert_eq!(encoder.into_output(), bytes);
}

/// Engines before 4.6.3 leave the padding of a NodePath's parts as it was in memory; it is written as zeros.
#[test]
fn paths_of_older_engines_are_canonical() {
    let parts = |padding: [&str; 3]| {
        let [a, b, c] = padding;
        let hex =
            format!("16000000 02000080 01000000 00000000 01000000 61{a} 03000000 626364{b} 02000000 6566{c}");
        hex::decode(hex.replace(' ', "")).expect("hexadecimal bytes")
    };
    let limits = limits();
    let written = transcode(&parts(["303036", "34", "ff01"]), Strictness::Strict, &limits, Precision::Single);
    assert_eq!(written, Ok(parts(["000000", "00", "0000"])));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_values_come_out_the_same(
        (precision, value) in prop_oneof![Just(Precision::Single), Just(Precision::Double)].prop_flat_map(
            |precision| (Just(precision), Values { precision, full_objects: true }.any())
        )
    ) {
        let options = EncodeOptions { precision, ..EncodeOptions::default() };
        let bytes = value.encode_as(options).unwrap();
        let limits = limits();
        for strictness in [Strictness::Lenient, Strictness::Strict] {
            let again = transcode(&bytes, strictness, &limits, precision);
            prop_assert_eq!(again.as_ref(), Ok(&bytes));
            let counted = measure(Decoder::new(&bytes, strictness, &limits), precision);
            prop_assert_eq!(counted, Ok(bytes.len()));
        }
    }
}
