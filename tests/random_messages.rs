//! Random messages with every kind of field.

use fastrand::Rng;
use variant_codec::Value;
use variant_protobuf::{Field, Message, Schema};

/// A schema with every kind of field, and with tags of one, two and five bytes.
pub const EVERYTHING: &str = r#"
    syntax = "proto3";
    package test;
    enum Color { NONE = 0; RED = 1; GREEN = 2; BLUE = 127; FAR = 100000; BELOW = -1; }
    message Everything {
        double a_double = 1; float a_float = 2; int32 an_int32 = 3; int64 an_int64 = 4; uint32 a_uint32 = 5;
        uint64 a_uint64 = 6; sint32 a_sint32 = 7; sint64 a_sint64 = 8; fixed32 a_fixed32 = 9; fixed64 a_fixed64 = 10;
        sfixed32 an_sfixed32 = 11; sfixed64 an_sfixed64 = 12; bool a_bool = 13; string a_string = 14; bytes a_bytes = 15;
        Color a_color = 16; Everything a_message = 17;
        optional int32 may_int32 = 18; optional bool may_bool = 19; optional string may_string = 20;
        optional double may_double = 21; optional sint64 may_sint64 = 22;
        repeated double doubles = 31; repeated float floats = 32; repeated int32 int32s = 33; repeated int64 int64s = 34;
        repeated uint32 uint32s = 35; repeated uint64 uint64s = 36; repeated sint32 sint32s = 37; repeated sint64 sint64s = 38;
        repeated fixed32 fixed32s = 39; repeated fixed64 fixed64s = 40; repeated sfixed32 sfixed32s = 41;
        repeated sfixed64 sfixed64s = 42; repeated bool bools = 43; repeated string strings = 44; repeated bytes byteses = 45;
        repeated Color colors = 46; repeated Everything messages = 47;
        repeated int32 loose_int32s = 48 [packed = false]; repeated bool loose_bools = 49 [packed = false];
        repeated double loose_doubles = 50 [packed = false]; repeated Color loose_colors = 51 [packed = false];
        map<string, int32> by_string = 61; map<int32, string> by_int32 = 62; map<bool, bytes> by_bool = 63;
        map<uint64, Everything> by_uint64 = 64; map<sint64, Color> by_sint64 = 65; map<fixed32, double> by_fixed32 = 66;
        map<sfixed64, bool> by_sfixed64 = 67;
        oneof choice { int32 choice_int = 1000; string choice_text = 1001; Everything choice_message = 2000000; }
        oneof other { bool other_bool = 71; Color other_color = 536870911; }
    }
"#;

/// A random message with fields in random order. Nested messages get smaller.
pub fn random_message(rng: &mut Rng, message: &Message, size: u32) -> Value {
    let mut fields: Vec<&Field> = message.fields().iter().collect();
    rng.shuffle(&mut fields);
    let (mut choice, mut entries) = (Vec::new(), Vec::new());
    for field in fields {
        // Each oneof, whose fields share its prefix, gets at most one member.
        let oneof = field.name().split_once('_').filter(|(start, _)| ["choice", "other"].contains(start));
        if rng.u32(..100) >= size || oneof.is_some_and(|(oneof, _)| choice.contains(&oneof)) {
            continue;
        }
        choice.extend(oneof.map(|(oneof, _)| oneof));
        let ty = field.type_name();
        let len = [0, 1, 2, 3, 10, 200][rng.usize(..if size > 20 { 6 } else { 4 })];
        let value = if let Some((key, value)) =
            ty.strip_prefix("map<").and_then(|ty| ty.strip_suffix('>')?.split_once(", "))
        {
            let mut map: Vec<(Value, Value)> = Vec::new();
            for _ in 0..len.min(10) {
                let key = random_value(rng, message, key, size);
                if map.iter().all(|(other, _)| *other != key) {
                    map.push((key, random_value(rng, message, value, size)));
                }
            }
            Value::from(map)
        } else if field.is_repeated() {
            let len = if ty == message.name() { len.min(3) } else { len };
            Value::from((0..len).map(|_| random_value(rng, message, ty, size)).collect::<Vec<_>>())
        } else {
            random_value(rng, message, ty, size)
        };
        entries.push((Value::from(field.name()), value));
    }
    Value::from(entries)
}

fn random_value(rng: &mut Rng, message: &Message, ty: &str, size: u32) -> Value {
    let bits = rng.u32(..=64);
    let mut number = || rng.u64(..).checked_shr(bits).unwrap_or(0) as i64 * [1, -1][rng.usize(..2)];
    match ty {
        "int32" | "sint32" | "sfixed32" => i64::from(number() as i32).into(),
        "uint32" | "fixed32" => i64::from(number() as u32).into(),
        "int64" | "sint64" | "sfixed64" | "uint64" | "fixed64" => number().into(),
        "float" => f64::from(f32::from_bits(number() as u32 & !0x0040_0000)).into(),
        "double" => f64::from_bits(number() as u64).into(),
        "bool" => rng.bool().into(),
        "bytes" => Value::PackedByteArray((0..bits % 20).map(|_| rng.u8(..)).collect()),
        "string" => (0..bits % 20)
            .map(|_| if rng.u8(..8) > 0 { rng.alphanumeric() } else { rng.char(..) })
            .collect::<String>()
            .into(),
        "test.Color" => [0, 1, 2, 127, 100_000, -1, i64::from(i32::MIN)][rng.usize(..7)].into(),
        _ => random_message(rng, message, size / 4),
    }
}

/// Compiles a schema from `text`, for the tests with random messages and fuzzed bytes.
pub fn schema(text: &str) -> Schema {
    let text = text.to_owned();
    let resolve = move |name: &str| (name == "test.proto").then(|| text.clone());
    Schema::compile("test.proto", resolve).unwrap_or_else(|error| panic!("{error}"))
}

/// A schema with the features that only proto2 has.
pub const OLD: &str = r#"
    syntax = "proto2";
    enum Team { RED = 1; BLUE = 2; BELOW = -1; }
    message Old {
        required int32 id = 1;
        optional Team team = 2;
        repeated Team teams = 3;
        repeated Team packed_teams = 4 [packed = true];
        map<string, Team> by_name = 5;
        optional group Pair = 6 { optional int32 left = 6; }
        optional string name = 7 [default = "?"];
        optional bytes data = 8 [default = "\\001"];
        optional Old inner = 9;
        oneof choice { Team choice_team = 10; Old choice_old = 11; group Chosen = 14 { optional int32 left = 1; } }
        repeated group Node = 13 { optional Old inner = 1; repeated group Leaf = 2 { required int32 x = 1; } }
        map<int32, Old> by_number = 12;
        optional double ratio = 2047 [default = -inf];
        optional bool alive = 2048 [default = true];
    }
"#;
