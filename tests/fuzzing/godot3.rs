//! Godot 3's format.

use variant_codec::godot3::{Downgrade, Loss};
use variant_codec::stream::{Decoder, Encoder, Measure};
use variant_codec::{EncodeOptions, ErrorKind, Limits, Object, Result, Strictness, Value};

use super::{check_error, everything, one_value, strict};
use crate::any_inside;
use crate::godot3;

/// All readers agree on the value or on the error, which lies within the data. All writers agree on the
/// value's bytes, also after a round trip through Godot 4's format. A value of Godot 4 can be written for
/// Godot 3.
pub fn check(data: &[u8]) {
    let random = strict::limits(data);
    for lossy in [false, true] {
        // The limits apply to the types in the bytes. Lossy reading turns objects into Dictionaries, so its
        // values are not checked.
        if let Ok(value) = read(data, Strictness::Strict, &random, lossy)
            && !lossy
        {
            strict::check_held(&value, &random, data);
        }
        let engine = read(data, Strictness::Lenient, &everything(), lossy);
        if let Ok(value) = &engine {
            check_written(data, value, Strictness::Lenient, lossy);
        }
        if let Ok(value) = read(data, Strictness::Strict, &one_value(), lossy) {
            let engine = engine.expect("what strict reads");
            assert_eq!(engine.encode(), value.encode());
            check_written(data, &value, Strictness::Strict, lossy);
        }
    }
    if let Ok(value) = Value::decode_as(data, Strictness::Lenient, &everything()) {
        check_downgrade(data, &value);
    }
}

/// Reads with every reader. All readers agree on the value or on the error, which lies within the data.
fn read(data: &[u8], strictness: Strictness, limits: &Limits, lossy: bool) -> Result<Value> {
    let decoder = || Decoder::of_godot3(data, strictness, limits, Loss::accepted_if(lossy));
    let built = godot3::read(data, strictness, limits, lossy);
    let mut encoder = Encoder::new(Vec::new(), EncodeOptions::default());
    let streamed = decoder().decode_only(&mut encoder);
    let mut measure = Measure::counting(EncodeOptions::default());
    let measured = decoder().decode_only(&mut measure);
    match &built {
        Ok(value) => {
            assert!(streamed.is_ok() && measured.is_ok(), "{streamed:?}, {measured:?}");
            assert_eq!(value.encode().as_deref(), Ok(encoder.output().as_slice()));
            assert_eq!(measure.bytes(), encoder.output().len());
        }
        Err(error) => {
            assert_eq!(streamed.as_ref(), Err(error));
            assert_eq!(measured.as_ref(), Err(error));
            check_error(error, 0, data.len());
        }
    }
    built
}

/// Checks that a value that was read can be written, and survives another round trip.
fn check_written(data: &[u8], value: &Value, strictness: Strictness, lossy: bool) {
    let limits = if strictness == Strictness::Strict { one_value() } else { everything() };
    let written = value.encode_godot3(Loss::Accepted).expect("what was read can be written");
    assert_eq!(godot3::transcode(data, strictness, &limits, true).as_ref(), Ok(&written));
    match value.encode_godot3(Loss::Refused) {
        Ok(same) => assert_eq!(same, written),
        Err(error) => {
            // The text starts with a byte-order mark that this reading kept, but that the next reading would
            // drop.
            assert!(matches!(error.kind(), ErrorKind::InvalidCodeUnit(0xFEFF)), "{error}");
            return;
        }
    }
    if !lossy {
        assert_eq!(godot3::transcode(data, strictness, &limits, false).as_ref(), Ok(&written));
    }
    let in_4 = value.encode().expect("what was read can be written");
    let again = read(&written, Strictness::Strict, &one_value(), false).expect("what was written");
    assert_eq!(again.encode().as_ref(), Ok(&in_4));
    // Reads leniently, because strict reading refuses repeated keys.
    let by_way_of_4 = Value::decode_as(&in_4, Strictness::Lenient, &one_value()).expect("what was written");
    assert_eq!(by_way_of_4.encode_godot3(Loss::Refused).as_ref(), Ok(&written));
}

/// Writes a value of Godot 4 for Godot 3. Lossy writing refuses only full objects. The bytes survive a round
/// trip.
fn check_downgrade(data: &[u8], value: &Value) {
    for lossy in [false, true] {
        let mut downgrade = Downgrade::new(Vec::new(), Loss::accepted_if(lossy));
        let streamed = Decoder::new(data, Strictness::Lenient, &everything()).decode_only(&mut downgrade);
        let written = match (value.encode_godot3(Loss::accepted_if(lossy)), streamed) {
            (Ok(written), Ok(_)) => written,
            (Err(error), Err(streamed)) => {
                assert_eq!(error.kind(), streamed.kind());
                assert!(streamed.offset().is_none_or(|at| at <= data.len()), "{streamed}");
                let is_object = |inner: &Value| matches!(inner, Value::Object(Object::Full { .. }));
                assert!(!lossy || any_inside(value, is_object), "{error}");
                continue;
            }
            (built, streamed) => panic!("{built:?}, {streamed:?}"),
        };
        assert_eq!(downgrade.into_output(), written);
        match read(&written, Strictness::Strict, &one_value(), false) {
            Ok(again) => assert_eq!(again.encode_godot3(Loss::Accepted).as_ref(), Ok(&written)),
            // The value may contain text that strict reading refuses, such as text that starts with a
            // byte-order mark. Lossy writing keeps such text.
            Err(error) => assert!(lossy, "{error}"),
        }
    }
}
