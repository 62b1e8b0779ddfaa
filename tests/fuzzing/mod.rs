//! What must hold for any bytes: the bodies of the fuzz targets in `tests/fuzz`.
//!
//! Here rather than there, so that an ordinary test can run them, too: on what fuzzing has found, and on a few more.

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
pub mod strict;
pub mod text;
pub mod transcode;
pub mod values;
pub mod views;

use variant_codec::error::Oddity;
use variant_codec::stream::{Decoder, Measure, Precision};
use variant_codec::{EncodeOptions, ErrorKind, Limits, Result, Strictness, Value};

/// Limits that say no to nothing.
pub fn everything() -> Limits {
    Limits { allow_objects: true, ..Limits::unlimited() }
}

/// Limits that say no to nothing but bytes behind the value.
fn one_value() -> Limits {
    Limits { allow_trailing_bytes: false, ..everything() }
}

/// The last bytes of an input, of which limits and sizes are made as well, so that inputs need no form of their own.
struct Tail(u64);

impl Tail {
    fn of(data: &[u8]) -> Self {
        Self(data.iter().rev().take(8).fold(0, |tail, &byte| tail << 8 | u64::from(byte)))
    }

    /// A number below `end`, another one each time.
    fn below(&mut self, end: u64) -> u64 {
        let number = self.0 % end;
        self.0 /= end;
        number
    }
}

/// Reads in every way; all agree on the value's size or on the error, which lies within the data. Only what is built has repeated keys
/// refused.
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

/// An error is somewhere between `start` and `end`, and can be shown.
fn check_error(error: &variant_codec::Error, start: usize, end: usize) {
    assert!(error.offset().is_some_and(|offset| (start..=end).contains(&offset)), "{error}");
    assert!(!error.to_string().is_empty());
}

/// A value's bytes in both precisions: equal for values that are the same, NaNs included.
fn encoded(value: &Value) -> [Vec<u8>; 2] {
    [Precision::Single, Precision::Double].map(|precision| {
        let options = EncodeOptions { precision, ..EncodeOptions::default() };
        value.encode_as(options).expect("what was read can be written")
    })
}
