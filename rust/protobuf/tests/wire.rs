//! The examples of the official encoding page, <https://protobuf.dev/programming-guides/encoding/>, and the same
//! messages in this crate's wire format.

use crate::support::{decoded, dictionary, encoded, schema};
use variant_codec::value::OwnedElementType;
use variant_codec::{Array, Value, VariantType};
use variant_protobuf::Wire;

/// The messages of the page.
const PAGE: &str = r#"
    syntax = "proto2";
    message Test1 { optional int32 a = 1; }
    message Test2 { optional string b = 2; }
    message Test3 { optional Test1 c = 3; }
    message Test4 { optional string d = 4; repeated int32 e = 6; }
    message Test5 { repeated int32 f = 6 [packed = true]; }
    message Test6 { map<string, int32> g = 7; }
"#;

fn int32s(values: &[i32]) -> Value {
    Value::PackedInt32Array(values.to_vec())
}

/// The examples: a message's name, its fields, and its bytes in both wire formats.
fn examples() -> Vec<(&'static str, Value, &'static str, &'static str)> {
    vec![
        // "A Simple Message".
        ("Test1", dictionary([("a", 150.into())]), "089601", "089601"),
        // "Length-Delimited Records".
        ("Test2", dictionary([("b", "testing".into())]), "120774657374696e67", "160774657374696e67"),
        // "Submessages".
        ("Test3", dictionary([("c", dictionary([("a", 150.into())]))]), "1a03089601", "1e03089601"),
        // "Repeated Elements".
        (
            "Test4",
            dictionary([("d", "hello".into()), ("e", int32s(&[1, 2, 3]))]),
            "220568656c6c6f300130023003",
            "260568656c6c6f300130023003",
        ),
        // "Packed Repeated Fields". This crate's wire format encodes the numbers in zigzag, as 6, 540 and
        // 173884.
        ("Test5", dictionary([("f", int32s(&[3, 270, 86942]))]), "3206038e029ea705", "3606069c04bcce0a"),
    ]
}

#[test]
fn examples_of_the_page_are_written_and_read() {
    let schema = schema(PAGE);
    for (message, value, protobuf, own) in examples() {
        for (wire, hex) in [(Wire::Protobuf, protobuf), (Wire::Own, own)] {
            assert_eq!(hex::encode(encoded(&schema, message, wire, &value)), hex, "{message} {wire:?}");
            let read = decoded(&schema, message, wire, &hex::decode(hex).unwrap());
            // Absent lists decode as empty.
            let Value::Dictionary(mut read) = read else { panic!("{read:?}") };
            read.entries.retain(|(_, value)| *value != int32s(&[]));
            assert_eq!(Value::Dictionary(read), value, "{message} {wire:?}");
        }
    }
}

/// "More Integer Types": −2 takes ten bytes as int64, and one byte as sint64. In this crate's wire format,
/// both take one byte.
#[test]
fn negative_numbers() {
    let schema =
        schema("syntax = \"proto3\"; message M { int64 plain = 1; sint64 zigzag = 2; int32 small = 3; }");
    let value = dictionary([("plain", (-2).into()), ("zigzag", (-2).into()), ("small", (-1).into())]);
    let protobuf = encoded(&schema, "M", Wire::Protobuf, &value);
    assert_eq!(hex::encode(&protobuf), "08feffffffffffffffff01100318ffffffffffffffffff01");
    let own = encoded(&schema, "M", Wire::Own, &value);
    assert_eq!(hex::encode(&own), "091211021901".replace("0912", "0902"));
    for (wire, bytes) in [(Wire::Protobuf, protobuf), (Wire::Own, own)] {
        assert_eq!(decoded(&schema, "M", wire, &bytes), value);
    }
}

/// "Packed Repeated Fields": both forms of a list are accepted, even mixed. "Last One Wins": the last scalar wins,
/// and messages are merged.
#[test]
fn parsers_accept_non_canonical_messages() {
    let schema = schema(PAGE);
    let read = |message, hex: &str| decoded(&schema, message, Wire::Protobuf, &hex::decode(hex).unwrap());
    let list = dictionary([("f", int32s(&[3, 270, 86942]))]);
    assert_eq!(read("Test5", "3003308e02309ea705"), list);
    assert_eq!(read("Test5", "320103308e0232039ea705"), list);
    assert_eq!(read("Test1", "08960108010802"), dictionary([("a", 2.into())]));
    let merged = dictionary([("d", "b".into()), ("e", int32s(&[1, 2]))]);
    assert_eq!(read("Test4", "2201612201623001 3002".replace(' ', "").as_str()), merged);
}

/// "Maps": entries are encoded as messages with a key and a value.
#[test]
fn maps_are_entries() {
    let schema = schema(PAGE);
    let value = dictionary([("g", dictionary([("a", 1.into()), ("bc", (-1).into())]))]);
    let bytes = encoded(&schema, "Test6", Wire::Protobuf, &value);
    assert_eq!(hex::encode(&bytes), "3a050a01611001 3a0f0a02626310ffffffffffffffffff01".replace(' ', ""));
    assert_eq!(decoded(&schema, "Test6", Wire::Protobuf, &bytes), value);
    let bytes = encoded(&schema, "Test6", Wire::Own, &value);
    assert_eq!(hex::encode(&bytes), "3e050e01611001 3e060e0262631101".replace(' ', ""));
    assert_eq!(decoded(&schema, "Test6", Wire::Own, &bytes), value);
}

/// Every scalar type with its boundary values: single, packed and unpacked.
#[test]
fn numbers_at_their_bounds() {
    let types: [(&str, &[i64]); 11] = [
        ("int32", &[0, 1, -1, i32::MAX as i64, i32::MIN as i64]),
        ("int64", &[0, 1, -1, i64::MAX, i64::MIN, i64::MIN + 1]),
        ("uint32", &[0, 1, u32::MAX as i64]),
        // Numbers from 2⁶³ on are given as their two's complement.
        ("uint64", &[0, 1, i64::MAX, i64::MIN, -1]),
        ("sint32", &[0, 1, -1, i32::MAX as i64, i32::MIN as i64]),
        ("sint64", &[0, 1, -1, i64::MAX, i64::MIN]),
        ("fixed32", &[0, 1, u32::MAX as i64]),
        ("fixed64", &[0, 1, i64::MAX, i64::MIN, -1]),
        ("sfixed32", &[0, 1, -1, i32::MAX as i64, i32::MIN as i64]),
        ("sfixed64", &[0, 1, -1, i64::MAX, i64::MIN]),
        ("E", &[0, 1, -1, i32::MAX as i64, i32::MIN as i64]),
    ];
    for (ty, values) in types {
        let schema = schema(&format!(
            "syntax = \"proto3\"; enum E {{ ZERO = 0; }} message M {{ {ty} a = 1; optional {ty} b = 2;
             repeated {ty} c = 3; repeated {ty} d = 4 [packed = false]; map<string, {ty}> e = 5; }}"
        ));
        let list = match ty {
            "int32" | "sint32" | "sfixed32" | "E" => {
                Value::PackedInt32Array(values.iter().map(|value| *value as i32).collect())
            }
            _ => Value::PackedInt64Array(values.to_vec()),
        };
        for &value in values {
            let value = dictionary([
                ("a", value.into()),
                ("b", value.into()),
                ("c", list.clone()),
                ("d", list.clone()),
                ("e", dictionary([("", value.into())])),
            ]);
            for wire in [Wire::Protobuf, Wire::Own] {
                let bytes = encoded(&schema, "M", wire, &value);
                assert_eq!(decoded(&schema, "M", wire, &bytes), value, "{ty} {wire:?}");
            }
        }
    }
}

/// In this crate's wire format, bools take no byte besides their tag, and a zero has the wire type 0.
#[test]
fn bools_and_zeros() {
    let schema = schema(
        "syntax = \"proto3\"; message M { optional bool a = 1; optional bool b = 2; optional sint32 c = 3;
         repeated bool d = 4; repeated bool e = 5 [packed = false]; bool f = 6; }",
    );
    let bools = |bools: [bool; 2]| {
        let element = OwnedElementType::Builtin(VariantType::Bool);
        Value::Array(Array { element, values: bools.map(Value::from).to_vec() })
    };
    let value = dictionary([
        ("a", true.into()),
        ("b", false.into()),
        ("c", 0.into()),
        ("d", bools([true, false])),
        ("e", bools([true, false])),
        ("f", false.into()),
    ]);
    for (wire, hex) in
        [(Wire::Protobuf, "080110001800220201002801 2800"), (Wire::Own, "0a1318002602 01002a2b")]
    {
        let bytes = encoded(&schema, "M", wire, &value);
        assert_eq!(hex::encode(&bytes), hex.replace(' ', ""), "{wire:?}");
        assert_eq!(decoded(&schema, "M", wire, &bytes), value);
    }
    // A bool encoded as a number is an alternative form, and so is a negative zero. Lenient decoding accepts
    // both.
    let other = decoded(&schema, "M", Wire::Own, &hex::decode("080110001900").unwrap());
    let Value::Dictionary(other) = other else { panic!("{other:?}") };
    assert_eq!(
        other.entries[..3],
        [("a".into(), true.into()), ("b".into(), false.into()), ("c".into(), 0.into())]
    );
}
