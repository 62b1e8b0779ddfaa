//! Groups: messages between two tags. The bytes come from Python's protobuf 7.36.2 (upb).

use crate::support::{decoded, dictionary, encoded, schema};
use variant_codec::value::OwnedElementType;
use variant_codec::{Array, Strictness, Value, VariantType};
use variant_protobuf::{DecodeOptions, Defaults, EncodeOptions, Schema, UNKNOWN_KEY, Wire};

const OLD: &str = r#"
    syntax = "proto2";
    message M {
        optional group Pair = 1 { optional int32 left = 1; optional group Inner = 2 { optional int32 x = 3; } }
        repeated group Items = 2 { optional string name = 1; }
        oneof choice { int32 a = 3; group Taken = 4 { optional int32 x = 9; } string s = 5; group Other = 6 {} }
        optional M nested = 7;
        map<int32, M> by_number = 8;
        optional group Far = 536870911 { optional M back = 1; }
    }
    message Needs { required group Part = 1 { required int32 x = 1; } }
"#;

/// The messages of `OLD` in an edition.
const NEW: &str = r#"
    edition = "2023";
    import "google/protobuf/go_features.proto";
    option features.(pb.go).api_level = API_OPAQUE;
    option features.message_encoding = DELIMITED;
    option features.repeated_field_encoding = EXPANDED;
    message M {
        message Pair { message Inner { int32 x = 3; } int32 left = 1; Inner inner = 2; }
        message Items { string name = 1; } message Taken { int32 x = 9; } message Other {} message Far { M back = 1
            [features = { message_encoding: LENGTH_PREFIXED }]; }
        reserved foo, bar;
        Pair pair = 1; repeated Items items = 2;
        oneof choice { int32 a = 3; Taken taken = 4; string s = 5; Other other = 6; }
        M nested = 7 [features.message_encoding = LENGTH_PREFIXED];
        map<int32, M> by_number = 8;
        .M.Far far = 536870911;
    }
    message Needs {
        message Part { int32 x = 1 [features.field_presence = LEGACY_REQUIRED]; }
        Part part = 1 [features.field_presence = LEGACY_REQUIRED];
    }
"#;

fn sparse() -> DecodeOptions {
    DecodeOptions { defaults: Defaults::Omit, ..DecodeOptions::default() }
}

fn read(schema: &Schema, hex: &str, options: &DecodeOptions) -> Result<Value, String> {
    let bytes = hex::decode(hex.replace(' ', "")).unwrap();
    schema.message("M").unwrap().decode(&bytes, options).map_err(|error| error.to_string())
}

fn items(names: &[&str]) -> Value {
    let values = names.iter().map(|name| dictionary([("name", (*name).into())])).collect();
    Value::Array(Array { element: OwnedElementType::Builtin(VariantType::Dictionary), values })
}

#[test]
fn groups_are_messages() {
    let x = |x: i64| dictionary([("x", x.into())]);
    let inner = dictionary([("left", 7.into()), ("inner", x(-1))]);
    let far = dictionary([("back", dictionary([("pair", dictionary([]))]))]);
    let map = Value::from(vec![(Value::Int(1), dictionary([("taken", x(1))]))]);
    for schema in [schema(OLD), schema(NEW)] {
        for (value, hex, own) in [
            (dictionary([("pair", dictionary([]))]), "0b0c", "0e00"),
            (
                dictionary([("pair", inner.clone())]),
                "0b 0807 13 18ffffffffffffffffff01 14 0c",
                "0e06 0807 1602 1901",
            ),
            (
                dictionary([("items", items(&["a", "b"]))]),
                "13 0a0161 14 13 0a0162 14",
                "1603 0e0161 1603 0e0162",
            ),
            (dictionary([("taken", x(20))]), "23 4814 24", "2602 4814"),
            (dictionary([("nested", dictionary([("other", dictionary([]))]))]), "3a02 3334", "3e02 3600"),
            (dictionary([("by_number", map.clone())]), "4208 0801 1204 23480124", "4608 0801 1604 26024801"),
            (dictionary([("far", far.clone())]), "fbffffff0f 0a02 0b0c fcffffff0f", "feffffff0f04 0e02 0e00"),
        ] {
            for (wire, hex) in [(Wire::Protobuf, hex), (Wire::Own, own)] {
                let bytes = hex::decode(hex.replace(' ', "")).unwrap();
                assert_eq!(
                    hex::encode(encoded(&schema, "M", wire, &value)),
                    hex::encode(&bytes),
                    "{value:?}"
                );
                let options = DecodeOptions { wire, strictness: Strictness::Strict, ..sparse() };
                assert_eq!(schema.message("M").unwrap().decode(&bytes, &options), Ok(value.clone()));
                decoded(&schema, "M", wire, &bytes);
            }
        }
    }
}

#[test]
fn required_groups() {
    for schema in [schema(OLD), schema(NEW)] {
        let needs = schema.message("Needs").unwrap();
        let strict = DecodeOptions { strictness: Strictness::Strict, ..sparse() };
        for (value, bytes, error) in [
            (dictionary([]), &b""[..], "missing required field part of Needs"),
            (dictionary([("part", dictionary([]))]), b"\x0b\x0c", "missing required field x of Needs.Part"),
        ] {
            let refused = needs.encode(&value, &EncodeOptions::default()).unwrap_err().to_string();
            assert!(refused.starts_with(error), "{refused}");
            let refused = needs.decode(bytes, &strict).unwrap_err().to_string();
            assert!(refused.starts_with(error), "{refused}");
            assert_eq!(needs.decode(bytes, &sparse()), Ok(value));
        }
        let value = dictionary([("part", dictionary([("x", 0.into())]))]);
        assert_eq!(needs.encode(&value, &EncodeOptions::default()).unwrap(), b"\x0b\x08\x00\x0c");
        assert_eq!(needs.decode(b"\x0b\x08\x00\x0c", &strict), Ok(value));
    }
}

/// Bytes that the official implementation reads, and the bytes that it then writes, unknown fields included.
#[test]
fn groups_are_read_like_the_official_implementation() {
    let schema = schema(OLD);
    let message = schema.message("M").unwrap();
    let (a, g, s, h) = ("1807", "23480124", "2a0178", "3334");
    for (given, written) in [
        // Pieces of one message are merged.
        ("0b 0807 0c 0b 13 1801 14 0c 0b 0808 13 14 0c".to_owned(), "0b 0808 13 1801 14 0c".to_owned()),
        // The last member of a oneof wins, whatever its type.
        (format!("{g}{a}"), a.to_owned()),
        (format!("{a}{g}"), g.to_owned()),
        (format!("{a}{g}{s}"), s.to_owned()),
        (format!("{h}{a}{g}"), g.to_owned()),
        (format!("{g}2324"), g.to_owned()),
        (format!("{g}{h}2324"), "2324".to_owned()),
        (format!("3a04{g} 3a02{a}"), format!("3a02{a}")),
        // Records of another wire type are unknown fields, as are groups that the schema does not have.
        ("0a02 0807".to_owned(), "0a02 0807".to_owned()),
        (
            "1b 1c 3b 3c 0b 0b 0c 0807 7b 0b 0c 7c 0c".to_owned(),
            "0b 0807 0b0c 7b0b0c7c 0c 1b1c 3b3c".to_owned(),
        ),
    ] {
        let value = read(&schema, &given, &DecodeOptions { keep_unknown: true, ..sparse() }).unwrap();
        let bytes = message.encode(&value, &EncodeOptions::default()).unwrap();
        assert_eq!(hex::encode(bytes), written.replace(' ', ""), "{given}: {value:?}");
    }
    let unknown = dictionary([(UNKNOWN_KEY, Value::PackedByteArray(vec![0x0b]))]);
    assert!(message.encode(&unknown, &EncodeOptions::default()).is_err());
}

#[test]
fn invalid_groups() {
    let schema = schema(OLD);
    for (hex, expected) in [
        ("0b", "unexpected end of data: need 1 byte, 0 left (at byte 1)"),
        ("0b 0807", "unexpected end of data: need 1 byte, 0 left (at byte 3)"),
        ("0b 14", "end-group tag of field 2 without a start-group tag (at byte 1)"),
        ("0b 13 0c 14", "end-group tag of field 1 without a start-group tag (at byte 2)"),
        ("0c", "end-group tag of field 1 without a start-group tag (at byte 0)"),
        ("0b 0c 0c", "end-group tag of field 1 without a start-group tag (at byte 2)"),
        ("0b 0f", "field 1 has invalid wire type 7 (at byte 1)"),
        ("0b 0c 0b 0a05 0c", "unexpected end of data: need 5 bytes, 1 left (at byte 5)"),
        // A group must end in the message that it starts in.
        ("3a01 0b", r#"unexpected end of data: need 1 byte, 0 left (at byte 3) (at ."nested")"#),
        ("0b 3a01 0c", "unexpected end of data: need 1 byte, 0 left (at byte 4)"),
        ("13 0a01ff 14", r#"invalid UTF-8 (at byte 1) (at ."items"[0]."name")"#),
        ("23 4814 24 23 0b", "unexpected end of data: need 1 byte, 0 left (at byte 6)"),
    ] {
        assert_eq!(read(&schema, hex, &sparse()), Err(expected.to_owned()), "{hex}");
    }
}

#[test]
fn groups_nest_as_messages_do() {
    let schema = schema(
        "message M { optional group G = 1 { optional group H = 1 { optional M m = 2; } } optional M m = 2; }",
    );
    let message = schema.message("M").unwrap();
    let nested = |levels: usize| {
        let group = |inner, level: usize| dictionary([(["g", "h", "m"][(levels - level - 1) % 3], inner)]);
        (0..levels).fold(dictionary([]), group)
    };
    for wire in [Wire::Protobuf, Wire::Own] {
        let bytes = message.encode(&nested(100), &EncodeOptions { wire }).unwrap();
        let options = DecodeOptions { wire, ..sparse() };
        assert_eq!(message.decode(&bytes, &options), Ok(nested(100)));
        let error = message.encode(&nested(101), &EncodeOptions { wire }).unwrap_err();
        assert!(error.to_string().starts_with("message nesting exceeds 100 levels"), "{error}");
    }
    for levels in [101, 1_000_000] {
        let bytes = [[0x0b].repeat(levels), [0x0c].repeat(levels)].concat();
        let error = message.decode(&bytes, &sparse()).unwrap_err();
        assert!(error.to_string().starts_with("message nesting exceeds 100 levels"), "{error}");
    }
}
