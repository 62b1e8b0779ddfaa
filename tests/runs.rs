//! Elements that are streamed in runs come out as if each had been streamed alone.

use variant_codec::error::Oddity;
use variant_codec::limits::Limit;
use variant_codec::stream::{Buffer, Decoder, Encoder, Measure, Precision, Source};
use variant_codec::{EncodeOptions, ErrorKind, Limits, PackedReals, Reals, Strictness, Value, VariantType};

/// More elements than any block holds, and every length around its end.
const LENGTHS: std::ops::Range<usize> = 0..140;

fn options() -> EncodeOptions {
    EncodeOptions::default()
}

/// What an Array of these must be: a header, a count, and each element as it is alone.
fn one_by_one(values: &[Value]) -> Vec<u8> {
    let mut bytes = vec![28, 0, 0, 0];
    bytes.extend((values.len() as u32).to_le_bytes());
    values.iter().for_each(|value| bytes.extend(value.encode().expect("a small value")));
    bytes
}

/// Holds every way to write and read an Array of these against one element after the other.
fn check(values: Vec<Value>) {
    let bytes = one_by_one(&values);
    let value = Value::from(values);
    assert_eq!(value.encode().expect("a small value"), bytes);
    assert_eq!(value.encoded_size().expect("a small value"), bytes.len());

    // A room of exactly the size, and one that grows.
    let mut exact = vec![0xAA; bytes.len()];
    let mut encoder = Encoder::new(Buffer::new(exact.as_mut_slice()), options());
    (&value).write_into(&mut encoder).expect("the room is large enough");
    assert_eq!(encoder.into_output().written(), bytes);
    let mut growing = Vec::new();
    let mut encoder = Encoder::new(Buffer::new(&mut growing), options());
    (&value).write_into(&mut encoder).expect("the room grows");
    assert_eq!(encoder.into_output().written(), bytes);

    let limits = Limits::for_save_files();
    for strictness in [Strictness::Strict, Strictness::Lenient] {
        // Encoded again, since no NaN equals itself.
        let read = Value::decode_as(&bytes, strictness, &limits).expect("canonical bytes");
        assert_eq!(read.encode().expect("a small value"), bytes);
        let mut measure = Measure::counting(options());
        Decoder::new(&bytes, strictness, &limits).decode_only(&mut measure).expect("canonical bytes");
        assert_eq!(measure.bytes(), bytes.len());
        let mut encoder = Encoder::new(Vec::new(), options());
        Decoder::new(&bytes, strictness, &limits).decode_only(&mut encoder).expect("canonical bytes");
        assert_eq!(encoder.into_output(), bytes);
    }
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
fn every_length() {
    for kind in kinds() {
        for len in LENGTHS {
            check(kind.iter().cycle().take(len).cloned().collect());
        }
    }
}

#[test]
fn broken_at_every_place() {
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

#[test]
fn other_precision() {
    let narrow = [1.0, 2.5, -3.0];
    let wide = EncodeOptions { precision: Precision::Double, ..options() };
    let values = |reals: Reals<3>| Value::from(vec![Value::Vector3(reals); 50]);
    let single = values(Reals::Single(narrow.map(|lane| lane as f32)));
    let double = values(Reals::Double(narrow));
    let bytes = double.encode_as(wide).expect("a small value");
    assert_eq!(bytes.len(), 8 + 50 * 28);
    assert_eq!(single.encode_as(wide).expect("a small value"), bytes);
    assert_eq!(Value::decode(&bytes, &Limits::for_save_files()).expect("canonical bytes"), double);
    for (options, expected) in [(wide, bytes.clone()), (options(), single.encode().expect("a small value"))] {
        let mut encoder = Encoder::new(Vec::new(), options);
        let limits = Limits::for_save_files();
        Decoder::new(&bytes, Strictness::Strict, &limits).decode_only(&mut encoder).expect("canonical bytes");
        assert_eq!(encoder.into_output(), expected);
    }
}

/// What is wrong inside of a run is told as it is of an element alone, with its place.
#[test]
fn errors_have_their_places() {
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

        // The Array itself is a value, too; its elements are announced.
        let few = Limits { max_elements: place as u64, ..limits.clone() };
        let error = decode(&ints, &few);
        assert!(matches!(error.kind(), ErrorKind::LimitExceeded(Limit::Elements, _)), "{error}");

        // Cut anywhere in the element.
        for cut in at..at + 8 {
            assert!(matches!(
                decode(&ints[..cut], &limits).kind(),
                ErrorKind::BadCount { .. } | ErrorKind::UnexpectedEnd { .. }
            ));
        }

        // A room that is too small says so, at the first element that does not fit.
        let mut small = vec![0; at + 7];
        let mut encoder = Encoder::new(Buffer::new(small.as_mut_slice()), options());
        let values = Value::from(vec![Value::Int(7); 100]);
        let error = (&values).write_into(&mut encoder).expect_err("too little room");
        assert!(matches!(error.kind(), ErrorKind::OutOfMemory(8)), "{error}");
        assert_eq!(error.path(), format!("[{place}]"));
    }
}

#[test]
fn types_that_are_not_allowed() {
    for kind in kinds() {
        let ty = kind[0].ty();
        let bytes = one_by_one(&vec![kind[0].clone(); 5]);
        let limits = Limits::for_save_files();
        let limits = Limits { allowed_types: limits.allowed_types & !(1 << ty.id()), ..limits };
        let error = Value::decode(&bytes, &limits).expect_err("a type that is not allowed");
        assert!(matches!(error.kind(), ErrorKind::TypeNotAllowed(found) if *found == ty), "{error}");
        assert_eq!((error.offset(), error.path()), (Some(8), "[0]".to_owned()));
    }
    assert_eq!(VariantType::Int.id(), 2);
}
