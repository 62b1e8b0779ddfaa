//! Elements written in runs equal elements written one by one.

use conformance::fuzzing::transcode;
use variant_codec::error::Oddity;
use variant_codec::stream::{Buffer, Encoder, Source};
use variant_codec::{EncodeOptions, ErrorKind, Limits, PackedReals, Reals, Value};

/// The lengths of the Arrays. The longest Arrays exceed the size of any block.
const LENGTHS: std::ops::Range<usize> = 0..140;

fn options() -> EncodeOptions {
    EncodeOptions::default()
}

/// The expected Array of these values: a header, a count, and each element encoded alone.
fn one_by_one(values: &[Value]) -> Vec<u8> {
    let mut bytes = vec![28, 0, 0, 0];
    bytes.extend((values.len() as u32).to_le_bytes());
    values.iter().for_each(|value| bytes.extend(value.encode().expect("a small value")));
    bytes
}

/// Checks that every way of writing an Array of these values gives the same bytes as writing its elements one
/// by one.
fn check(values: Vec<Value>) {
    let bytes = one_by_one(&values);
    assert_eq!(Value::from(values).encode().expect("a small value"), bytes);
    transcode::check(&bytes);
}

/// Numbers of one type, around every boundary of their encodings.
fn kinds() -> Vec<Vec<Value>> {
    let ints = [
        0,
        -1,
        i64::from(i32::MAX),
        i64::from(i32::MAX) + 1,
        i64::from(i32::MIN),
        i64::from(i32::MIN) - 1,
        i64::MAX,
        i64::MIN,
        1 << 32,
        u32::MAX.into(),
    ];
    let floats = [
        0.0,
        -0.0,
        0.5,
        0.1,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::from(f32::MAX),
        f64::MAX,
        f64::MIN_POSITIVE,
        f64::from(f32::MIN_POSITIVE) / 2.0,
        f64::NAN,
        f64::from_bits(0x7FF0_0000_2000_0000),
        f64::from_bits(0xFFF8_0000_0000_0001),
    ];
    vec![
        ints.map(Value::Int).to_vec(),
        floats.map(Value::Float).to_vec(),
        [[0.5, -1.0], [f32::NAN, 2.0]].map(|lanes| Value::Vector2(Reals::Single(lanes))).to_vec(),
        [[1, -2], [i32::MAX, i32::MIN]].map(Value::Vector2i).to_vec(),
        [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]].map(|lanes| Value::Vector3(Reals::Single(lanes))).to_vec(),
        [[1, 2, 3], [4, 5, 6]].map(Value::Vector3i).to_vec(),
        [[0.0, 0.25, 0.5, 1.0], [1.0; 4]].map(Value::Color).to_vec(),
        [[1.0, 2.0, 3.0, 4.0], [5.0; 4]].map(|lanes| Value::Plane(Reals::Single(lanes))).to_vec(),
        [[7.0; 6], [8.0; 6]].map(|lanes| Value::Aabb(Reals::Single(lanes))).to_vec(),
        [[7.0; 16], [8.0; 16]].map(|lanes| Value::Projection(Reals::Single(lanes))).to_vec(),
        [true, false].map(Value::Bool).to_vec(),
    ]
}

#[test]
fn runs_of_every_length() {
    for kind in kinds() {
        for len in LENGTHS {
            check(kind.iter().cycle().take(len).cloned().collect());
        }
    }
}

#[test]
fn runs_broken_at_every_byte() {
    let mut breaks: Vec<Value> = kinds().iter().map(|kind| kind[0].clone()).collect();
    breaks.extend([
        Value::Nil,
        Value::from("text"),
        Value::from(vec![Value::Int(1), Value::Int(2)]),
        Value::PackedVector2Array(PackedReals::Single(vec![[1.0, 2.0]])),
    ]);
    for kind in kinds() {
        for other in &breaks {
            for place in 0..12 {
                let mut values: Vec<Value> = kind.iter().cycle().take(12).cloned().collect();
                values[place] = other.clone();
                check(values);
            }
        }
    }
}

/// An error within a run is the same as for a single element, with its offset.
#[test]
fn errors_in_runs_have_offsets_and_paths() {
    let limits = Limits::for_save_files();
    for place in 0..100_usize {
        let at = 8 + place * 8;
        let ints = one_by_one(&vec![Value::Int(7); 100]);
        let decode = |bytes: &[u8], limits: &Limits| Value::decode(bytes, limits).expect_err("a bad element");

        let mut odd = ints.clone();
        odd[at + 1] = 1;
        let error = decode(&odd, &limits);
        assert!(matches!(error.kind(), ErrorKind::NotCanonical(Oddity::HeaderBits)), "{error}");
        assert_eq!((error.offset(), error.path()), (Some(at), format!("[{place}]")));

        let mut wide = one_by_one(&vec![Value::Int(1 << 40); 100]);
        let at_wide = 8 + place * 12;
        wide[at_wide + 9] = 0;
        let error = decode(&wide, &limits);
        assert!(matches!(error.kind(), ErrorKind::NotCanonical(Oddity::WideNumber)), "{error}");
        assert_eq!((error.offset(), error.path()), (Some(at_wide), format!("[{place}]")));

        let mut nan = one_by_one(&vec![Value::Float(0.5); 100]);
        nan[at + 4..at + 8].copy_from_slice(&f32::NAN.to_le_bytes());
        let error = decode(&nan, &limits);
        assert!(matches!(error.kind(), ErrorKind::NotCanonical(Oddity::NarrowNan)), "{error}");
        assert_eq!((error.offset(), error.path()), (Some(at), format!("[{place}]")));

        // A buffer that is too small causes an error at the first element that does not fit.
        let mut small = vec![0; at + 7];
        let mut encoder = Encoder::new(Buffer::new(small.as_mut_slice()), options());
        let values = Value::from(vec![Value::Int(7); 100]);
        let error = (&values).write_into(&mut encoder).expect_err("too little room");
        assert!(matches!(error.kind(), ErrorKind::OutOfMemory(8)), "{error}");
        assert_eq!(error.path(), format!("[{place}]"));
    }
}
