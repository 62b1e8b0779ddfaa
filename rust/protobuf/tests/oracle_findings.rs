//! Minimal inputs for bugs that `cargo xtask soak protobuf` found by comparison with the official
//! implementation.

use crate::support::{dictionary, schema};
use variant_codec::Value;
use variant_protobuf::{DecodeOptions, Defaults, EncodeOptions};

/// If a number has several names, it is decoded as the first name in the schema, whatever the order of the
/// numbers.
#[test]
fn aliases_decode_to_their_first_name() {
    let names = (0..30).map(|index| format!("V{index} = {};", 30 - index % 10)).collect::<String>();
    let text = format!("syntax = \"proto3\"; enum E {{ option allow_alias = true; ZERO = 0; {names} }}");
    let schema = schema(&format!("{text} message M {{ E e = 1; }}"));
    let options = DecodeOptions { enum_names: true, ..DecodeOptions::default() };
    for index in 0..10 {
        let read = schema.message("M").unwrap().decode(&[8, 30 - index], &options).unwrap();
        assert_eq!(read, dictionary([("e", format!("V{index}").into())]));
    }
}

/// A message at the deepest level may hold an empty map: only the entries of a map are a level deeper.
#[test]
fn an_empty_map_adds_no_level() {
    let schema = schema("syntax = \"proto3\"; message M { M inner = 1; map<int32, int32> map = 2; }");
    let message = schema.message("M").unwrap();
    let nested =
        |map: Value| (0..100).fold(dictionary([("map", map)]), |inner, _| dictionary([("inner", inner)]));
    let empty = nested(dictionary([]));
    let bytes = message.encode(&empty, &EncodeOptions::default()).unwrap();
    let read = message.decode(&bytes, &DecodeOptions::default()).unwrap();
    assert_eq!(message.encode(&read, &EncodeOptions::default()).unwrap(), bytes);
    let options = DecodeOptions { defaults: Defaults::Omit, ..DecodeOptions::default() };
    let sparse = (0..100).fold(dictionary([]), |inner, _| dictionary([("inner", inner)]));
    assert_eq!(message.decode(&bytes, &options).unwrap(), sparse);
    let full = nested(Value::from(vec![(Value::Int(1), Value::Int(1))]));
    assert!(message.encode(&full, &EncodeOptions::default()).is_err());
}
