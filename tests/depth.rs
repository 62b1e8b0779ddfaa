//! The depth limit: at most 1025 containers nest, and 1025 only if the innermost one is empty.

use conformance::{measure, transcode, with_stack};
use variant_codec::stream::Precision;
use variant_codec::{Array, Dictionary, Error, ErrorKind, Limits, Object, Strictness, Value};

/// The stack size of the smallest worker threads. Unoptimised stack frames are up to sixty times as large.
const STACK: usize = if cfg!(debug_assertions) { 32 << 20 } else { 512 << 10 };

/// Headers and counts of containers that each hold one value.
const OPENERS: [(&str, &[u8]); 5] = [
    ("Array", &[28, 0, 0, 0, 1, 0, 0, 0]),
    ("typed Array", &[28, 0, 1, 0, 28, 0, 0, 0, 1, 0, 0, 0]),
    ("Dictionary's values", &[27, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]),
    ("typed Dictionary's values", &[27, 0, 4, 0, 27, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]),
    ("Object's properties", &[24, 0, 0, 0, 1, 0, 0, 0, b'A', 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, b'b', 0, 0, 0]),
];
const EMPTY_ARRAY: [u8; 8] = [28, 0, 0, 0, 0, 0, 0, 0];
const EMPTY_DICTIONARY: [u8; 8] = [27, 0, 0, 0, 0, 0, 0, 0];
const NIL: [u8; 4] = [0; 4];

fn limits() -> Limits {
    Limits { allow_objects: true, ..Limits::unlimited() }
}

fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    with_stack(STACK, test);
}

/// `count` openers around `inside`. In typed containers, `inside` must match the type.
fn nested(opener: &[u8], count: usize, inside: &[u8]) -> Vec<u8> {
    [opener.repeat(count), inside.to_vec()].concat()
}

/// Reads in every way, and checks that all ways agree.
fn read(bytes: &[u8], strictness: Strictness) -> Result<Vec<u8>, Error> {
    let limits = limits();
    let built = Value::decode_as(bytes, strictness, &limits);
    let streamed = transcode(bytes, strictness, &limits, Precision::Single);
    match built {
        Ok(value) => {
            let written = value.encode()?;
            assert_eq!(streamed.as_ref(), Ok(&written));
            assert_eq!(measure(&value, Precision::Single), Ok(written.len()));
        }
        Err(error) => assert_eq!(streamed.as_ref(), Err(&error)),
    }
    streamed
}

#[test]
fn reading_stops_below_level_1024() {
    on_a_small_stack(|| {
        for (name, opener) in OPENERS {
            let innermost: &[u8] = if opener[0] == 27 { &EMPTY_DICTIONARY } else { &EMPTY_ARRAY };
            for strictness in [Strictness::Lenient, Strictness::Strict] {
                let deepest = nested(opener, 1024, innermost);
                assert_eq!(read(&deepest, strictness).as_ref(), Ok(&deepest), "{name}");
                let too_deep = nested(opener, 1025, innermost);
                let error = read(&too_deep, strictness).unwrap_err();
                assert_eq!(error.kind(), &ErrorKind::TooDeep, "{name}");
                // The offset of the first value in the innermost container. In a Dictionary, this value is a
                // key.
                let first = if opener[0] == 27 { opener.len() - 4 } else { opener.len() };
                assert_eq!(error.offset(), Some(opener.len() * 1024 + first), "{name}");
            }
        }
        let leaf = nested(OPENERS[0].1, 1025, &NIL);
        assert_eq!(read(&leaf, Strictness::Lenient).unwrap_err().kind(), &ErrorKind::TooDeep);
    });
}

#[test]
fn writing_stops_below_level_1024() {
    type Wrap = fn(Value) -> Value;
    let wraps: [(Wrap, Value, &[u8]); 3] = [
        (|value| vec![value].into(), Value::Array(Array::default()), OPENERS[0].1),
        (|value| vec![(Value::Nil, value)].into(), Value::Dictionary(Dictionary::default()), OPENERS[2].1),
        (
            |value| {
                let properties = vec![("b".to_owned(), value)];
                Value::Object(Object::Full { class: "A".to_owned(), properties })
            },
            Value::Array(Array::default()),
            OPENERS[4].1,
        ),
    ];
    on_a_small_stack(move || {
        for (wrap, innermost, opener) in wraps {
            let inside = innermost.encode().unwrap();
            let mut value = innermost;
            for _ in 0..1024 {
                value = wrap(value);
            }
            assert_eq!(value.encode(), Ok(nested(opener, 1024, &inside)));
            assert_eq!(value.encoded_size(), Ok(opener.len() * 1024 + inside.len()));
            let value = wrap(value);
            for error in [value.encode().unwrap_err(), value.encoded_size().unwrap_err()] {
                assert_eq!(error.kind(), &ErrorKind::TooDeep);
                assert!(error.path().contains("…(993 more)…"), "{error}");
            }
        }
    });
}

#[test]
fn unlimited_nesting_is_an_error() {
    on_a_small_stack(|| {
        for (name, opener) in OPENERS {
            let bytes = nested(opener, (128 << 10) / opener.len(), &[]);
            for strictness in [Strictness::Lenient, Strictness::Strict] {
                let error = read(&bytes, strictness).unwrap_err();
                assert_eq!(error.kind(), &ErrorKind::TooDeep, "{name}");
                assert!(error.to_string().len() < 400, "{name}: {error}");
            }
        }
        let keys = nested(&OPENERS[2].1[..8], 16 << 10, &[]);
        for strictness in [Strictness::Lenient, Strictness::Strict] {
            assert_eq!(read(&keys, strictness).unwrap_err().kind(), &ErrorKind::KeyTooDeep { limit: 49 });
        }
    });
}

/// The engine compares keys of 50 nested Arrays, whatever the innermost Array contains. For 51 nested Arrays,
/// Godot 4.6.3 reports "Max recursion reached" and compares only a part of the keys.
#[test]
fn keys_that_the_engine_cannot_compare_are_refused() {
    let dictionary_of = |arrays: usize, inside: &[u8]| {
        let key = nested(OPENERS[0].1, arrays - 1, inside);
        [&[27, 0, 0, 0, 1, 0, 0, 0], key.as_slice(), &NIL].concat()
    };
    // Dictionaries count as levels, like Arrays.
    let keys = |count| [nested(&OPENERS[2].1[..8], count, &EMPTY_DICTIONARY), NIL.repeat(count)].concat();
    assert_eq!(read(&keys(50), Strictness::Lenient).as_ref(), Ok(&keys(50)));
    let error = read(&keys(51), Strictness::Lenient).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (&ErrorKind::KeyTooDeep { limit: 49 }, Some(408)));
    let full: &[u8] = &[28, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0];
    for (what, inside) in
        [("empty", EMPTY_ARRAY.as_slice()), ("a Dictionary", &EMPTY_DICTIONARY), ("with an int", full)]
    {
        let compared = dictionary_of(50, inside);
        let not_compared = dictionary_of(51, inside);
        for strictness in [Strictness::Lenient, Strictness::Strict] {
            let error = read(&compared, strictness).err().map(|error| error.to_string());
            assert_eq!(error, None, "50 Arrays, the innermost {what}");
            let error = read(&not_compared, strictness).unwrap_err();
            let found = (error.kind(), error.offset());
            let expected = (&ErrorKind::KeyTooDeep { limit: 49 }, Some(408));
            assert_eq!(found, expected, "51 Arrays, the innermost {what}");
        }
    }
}
