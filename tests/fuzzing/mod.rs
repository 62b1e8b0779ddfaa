//! Properties of any bytes: the bodies of the fuzz targets in `tests/fuzz`.
//!
//! The ordinary test `fuzz.rs` also runs these checks, on the inputs that the fuzzer found and on a few more
//! inputs.

pub mod commands;
pub mod decode;
pub mod frames;
pub mod godot3;
pub mod mutate;
pub mod outline;
pub mod parts;
pub mod patches;
pub mod protobuf;
pub mod schemas;
pub mod snapshots;
pub mod strict;
pub mod text;
pub mod transcode;
pub mod values;
pub mod views;

use variant_codec::error::Oddity;
use variant_codec::stream::{Decoder, Measure, Precision};
use variant_codec::{EncodeOptions, ErrorKind, Limits, Result, Strictness, Value};

/// Limits that allow everything.
pub fn everything() -> Limits {
    Limits { allow_objects: true, ..Limits::unlimited() }
}

/// Limits that allow everything except trailing bytes.
fn one_value() -> Limits {
    Limits { allow_trailing_bytes: false, ..everything() }
}

/// Numbers derived from the last bytes of an input. Limits and sizes come from these numbers, so that inputs
/// need no format of their own.
struct Tail(u64);

impl Tail {
    fn of(data: &[u8]) -> Self {
        Self(data.iter().rev().take(8).fold(0, |tail, &byte| tail << 8 | u64::from(byte)))
    }

    /// A new number below `end` on each call.
    fn below(&mut self, end: u64) -> u64 {
        let number = self.0 % end;
        self.0 /= end;
        number
    }
}

/// Reads in every way. All ways agree on the value's size or on the error, which lies within the data. Only
/// building a value detects repeated keys.
fn read(data: &[u8], strictness: Strictness, limits: &Limits) -> Result<Value> {
    let built = Value::decode_as(data, strictness, limits);
    let streamed = crate::transcode(data, strictness, limits, Precision::Single);
    let mut measure = Measure::counting(EncodeOptions::default());
    let measured = Decoder::new(data, strictness, limits).decode_only(&mut measure).map(|_| measure.bytes());
    match &built {
        Ok(_) => assert_eq!(measured, streamed.map(|bytes| bytes.len())),
        Err(error) if *error.kind() == ErrorKind::NotCanonical(Oddity::DuplicateKey) => {
            check_error(error, 0, data.len());
        }
        Err(error) => {
            assert_eq!(measured.as_ref(), Err(error));
            assert_eq!(streamed.as_ref(), Err(error));
            check_error(error, 0, data.len());
        }
    }
    built
}

/// Checks that an error lies between `start` and `end`, and can be displayed.
fn check_error(error: &variant_codec::Error, start: usize, end: usize) {
    assert!(error.offset().is_some_and(|offset| (start..=end).contains(&offset)), "{error}");
    assert!(!error.to_string().is_empty());
}

/// A value's bytes in both precisions. They are equal for equal values, including NaNs.
fn encoded(value: &Value) -> [Vec<u8>; 2] {
    [Precision::Single, Precision::Double].map(|precision| {
        let options = EncodeOptions { precision: Some(precision), ..EncodeOptions::default() };
        value.encode_as(options).expect("what was read can be written")
    })
}
