//! Parts that another decoder writes: put together, they are what one decoder makes of the same bytes.

use conformance::fuzzing::everything;
use conformance::fuzzing::parts::in_parts;
use conformance::{Values, damaged_bytes, transcode};
use proptest::prelude::*;
use variant_codec::stream::Precision;
use variant_codec::{Strictness, Value};

fn part_sizes() -> impl Strategy<Value = usize> {
    prop_oneof![Just(1), 2_usize..40, 40_usize..400]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn values_survive(value in Values { full_objects: true, ..Values::default() }.any(), size in part_sizes()) {
        let bytes = value.encode().unwrap();
        for strictness in [Strictness::Lenient, Strictness::Strict] {
            let (again, _) = in_parts(&bytes, strictness, size).unwrap();
            prop_assert_eq!(&again, &bytes);
        }
    }

    #[test]
    fn what_is_accepted_in_parts_is_accepted_whole(
        bytes in damaged_bytes(Values::default()),
        size in part_sizes(),
    ) {
        for strictness in [Strictness::Lenient, Strictness::Strict] {
            let whole = transcode(&bytes, strictness, &everything(), Precision::Single);
            prop_assert_eq!(in_parts(&bytes, strictness, size).map(|(again, _)| again).ok(), whole.ok());
        }
    }
}

#[test]
fn large_values_come_in_parts() {
    let texts: Vec<Value> = (0..1000).map(|i| Value::from(format!("text {i}").as_str())).collect();
    let bytes =
        Value::from(vec![Value::from(texts.clone()), Value::from(7), Value::from(texts)]).encode().unwrap();
    let (again, count) = in_parts(&bytes, Strictness::Strict, 1000).unwrap();
    assert_eq!(again, bytes);
    assert!(count > 20, "only {count} parts");
}

/// What the engine takes for no strings at all is not skimmed as many.
#[test]
fn negative_counts_hide_nothing() {
    let bytes = |count| {
        let hex = format!("1c000000 03000000 22000000 {count} 04000000 00000000 00000000");
        hex::decode(hex.replace(' ', "")).unwrap()
    };
    let (again, _) = in_parts(&bytes("01000080"), Strictness::Lenient, 16).unwrap();
    assert_eq!(again, bytes("00000000"));
}

/// Skimming each level anew must not take time that grows with the square of the input.
#[test]
fn deep_values_are_not_skimmed_at_each_level() {
    let mut value = Value::from(vec![Value::from(1), Value::from("x".repeat(1 << 20).as_str())]);
    for _ in 0..1000 {
        value = Value::from(vec![Value::from("a"), value]);
    }
    let bytes = value.encode().unwrap();
    let (again, _) = in_parts(&bytes, Strictness::Lenient, 1).unwrap();
    assert_eq!(again, bytes);
}
