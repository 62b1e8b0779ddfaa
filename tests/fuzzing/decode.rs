//! Reads values as the engine does.

use variant_codec::stream::{Decoder, Source, ValueBuilder};
use variant_codec::{Limits, Strictness};

use super::check_error;

/// Reads values until an error, and checks the offset of the error.
pub fn check(data: &[u8]) {
    for allow_objects in [false, true] {
        let limits = Limits { allow_objects, ..Limits::unlimited() };
        let mut decoder = Decoder::new(data, Strictness::Lenient, &limits);
        let mut start = 0;
        let error = loop {
            let mut builder = ValueBuilder::default();
            if let Err(error) = decoder.write_into(&mut builder) {
                break error;
            }
            let end = decoder.position();
            // The engine counts missing padding as read.
            assert!((start + 4..=data.len().next_multiple_of(4)).contains(&end), "{start} to {end}");
            start = end;
        };
        check_error(&error, start.min(data.len()), data.len());
    }
}
