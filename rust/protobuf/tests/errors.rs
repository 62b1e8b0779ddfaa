//! Refused input: the messages and locations of errors.

use crate::support::{dictionary, schema};
use variant_codec::stream::{Source, ValueBuilder};
use variant_codec::{Error as CodecError, ErrorKind, Limits, Strictness, Value};
use variant_protobuf::{
    DecodeOptions, EncodeOptions, Error, MessageDecoder, MessageEncoder, Oddity, Schema, Wire,
};

const GAME: &str = r#"
    syntax = "proto3";
    package game;
    enum Team { NONE = 0; RED = 1; }
    message Item { string name = 1; uint32 count = 2; }
    message Entity {
        int32 hp = 1;
        repeated Item items = 2;
        map<string, Item> worn = 3;
        Team team = 4;
        bool alive = 5;
        repeated float path = 6;
        oneof state { int32 asleep = 7; string walking = 8; }
        bytes blob = 9;
        map<int32, int32> scores = 10;
        repeated bool flags = 11;
    }
    message World { repeated Entity entities = 1; World inner = 2; }
"#;

const OLD: &str = r#"
    syntax = "proto2";
    enum Team { RED = 1; BLUE = 2; }
    message Old {
        required int32 id = 1;
        optional Team team = 2;
        repeated Team teams = 3 [packed = true];
        map<string, Team> by_name = 4;
        optional group Pair = 5 { optional int32 left = 6; optional group Need = 7 { required int32 must = 1; } }
        repeated group Pairs = 6 { required group Right = 1 {} }
        optional int32 lives = 7 [default = 3];
        optional string name = 8 [default = "?"];
    }
"#;

fn array(values: impl IntoIterator<Item = Value>) -> Value {
    Value::from(values.into_iter().collect::<Vec<_>>())
}

fn refused(schema: &Schema, message: &str, value: &Value) -> CodecError {
    let message = schema.message(message).unwrap();
    message.encode(value, &EncodeOptions::default()).expect_err("it is no such message")
}

#[test]
fn values_that_do_not_fit_the_schema() {
    let schema = schema(GAME);
    let entity = |key, value: Value| {
        let entity = dictionary([("hp", 1.into()), (key, value)]);
        dictionary([("entities", array([dictionary([]), dictionary([]), dictionary([]), entity]))])
    };
    let item = |key, value| entity("items", array([dictionary([(key, value)])]));
    for (value, expected) in [
        (Value::Nil, "expected Dictionary for message game.World, found Nil"),
        (dictionary([("hp", 1.into())]), r#"game.World has no field "hp" (at .<key 0>)"#),
        (Value::from(vec![(Value::Int(1), Value::Nil)]), "expected field name, found int (at .<key 0>)"),
        (entity("mana", 1.into()), r#"game.Entity has no field "mana" (at ."entities"[3].<key 1>)"#),
        (
            entity("items", 1.into()),
            r#"expected Array for repeated game.Item, found int (at ."entities"[3]."items")"#,
        ),
        (
            item("count", (-1).into()),
            r#"-1 is out of range: expected int for uint32 (at ."entities"[3]."items"[0]."count")"#,
        ),
        (
            item("count", 1.0.into()),
            r#"expected int for uint32, found float (at ."entities"[3]."items"[0]."count")"#,
        ),
        (
            item("name", Value::NodePath(Default::default())),
            r#"expected String, found NodePath (at ."entities"[3]."items"[0]."name")"#,
        ),
        (entity("hp", 1.into()), r#"duplicate field hp (at ."entities"[3])"#),
        (
            entity("hp", (1_i64 << 31).into()),
            r#"2147483648 is out of range: expected int for int32 (at ."entities"[3]."hp")"#,
        ),
        (entity("alive", 1.into()), r#"expected bool, found int (at ."entities"[3]."alive")"#),
        (entity("team", "BLUE".into()), r#"enum game.Team has no value "BLUE" (at ."entities"[3]."team")"#),
        (
            entity("team", true.into()),
            r#"expected int or a name of enum game.Team, found bool (at ."entities"[3]."team")"#,
        ),
        (
            entity("path", array([1.0.into(), "x".into()])),
            r#"expected float for float, found String (at ."entities"[3]."path"[1])"#,
        ),
        (
            entity("path", Value::PackedStringArray(vec!["x".into()])),
            r#"expected Array or packed array for repeated float, found PackedStringArray (at ."entities"[3]."path")"#,
        ),
        (
            entity("path", array([1.0.into(), Value::Nil])),
            r#"expected float for float, found Nil (at ."entities"[3]."path"[1])"#,
        ),
        (
            entity("flags", Value::PackedByteArray(vec![1])),
            r#"expected bool, found int (at ."entities"[3]."flags")"#,
        ),
        (
            entity("blob", "text".into()),
            r#"expected PackedByteArray for bytes, found String (at ."entities"[3]."blob")"#,
        ),
        (
            entity("worn", array([])),
            r#"expected Dictionary for map<string, game.Item>, found Array (at ."entities"[3]."worn")"#,
        ),
        (
            entity("worn", dictionary([("hat", Value::Nil)])),
            r#"expected Dictionary for message game.Item, found Nil (at ."entities"[3]."worn"."hat")"#,
        ),
        (
            entity("worn", Value::from(vec![(Value::Int(1), dictionary([]))])),
            r#"expected String, found int (at ."entities"[3]."worn".<key 0>)"#,
        ),
        (
            entity("worn", dictionary([("hat", dictionary([])), ("hat", dictionary([]))])),
            r#"duplicate key "hat" (at ."entities"[3]."worn")"#,
        ),
        (
            entity(
                "scores",
                Value::from(vec![(2.into(), 1.into()), (1.into(), 1.into()), (2.into(), 1.into())]),
            ),
            r#"duplicate key (at ."entities"[3]."scores")"#,
        ),
    ] {
        let value =
            if expected.contains("entities") || !matches!(value, Value::Nil) { value } else { Value::Nil };
        assert_eq!(refused(&schema, "World", &value).to_string(), expected);
    }
    let both = dictionary([("walking", "".into()), ("asleep", 0.into())]);
    assert_eq!(
        refused(&schema, "Entity", &both).to_string(),
        "asleep and walking are both set, but oneof state allows only one"
    );
    let one = dictionary([("walking", Value::Nil), ("asleep", 0.into())]);
    assert_eq!(schema.message("Entity").unwrap().encode(&one, &EncodeOptions::default()).unwrap(), [0x38, 0]);
}

#[test]
fn foreign_errors_keep_their_kind() {
    let schema = schema(GAME);
    let error = refused(&schema, "Entity", &dictionary([("hp", "full".into())]));
    let ErrorKind::Other(foreign) = error.kind() else { panic!("{error}") };
    let expected = Error::WrongType { expected: "int for int32".into(), found: "String".into() };
    assert_eq!(foreign.downcast_ref::<Error>(), Some(&expected));
    assert_eq!(error.path(), r#"."hp""#);
}

#[test]
fn required_fields_of_proto2() {
    let schema = schema(OLD);
    let id = ("id", 0.into());
    for (value, expected) in [
        (dictionary([]), "missing required field id of Old"),
        (dictionary([("id", Value::Nil)]), "missing required field id of Old"),
        (
            dictionary([id.clone(), ("team", 3.into())]),
            r#"3 is out of range: expected int or a name of enum Team (at ."team")"#,
        ),
        (
            dictionary([id.clone(), ("pair", 1.into())]),
            r#"expected Dictionary for message Old.Pair, found int (at ."pair")"#,
        ),
        (
            dictionary([id.clone(), ("pairs", array([dictionary([])]))]),
            r#"missing required field right of Old.Pairs (at ."pairs"[0])"#,
        ),
        (
            dictionary([id.clone(), ("pair", dictionary([("need", dictionary([]))]))]),
            r#"missing required field must of Old.Pair.Need (at ."pair"."need")"#,
        ),
        (
            dictionary([
                id.clone(),
                ("pairs", array([dictionary([("right", dictionary([])), ("Right", Value::Nil)])])),
            ]),
            r#"Old.Pairs has no field "Right" (at ."pairs"[0].<key 1>)"#,
        ),
    ] {
        assert_eq!(refused(&schema, "Old", &value).to_string(), expected);
    }
    let old = schema.message("Old").unwrap();
    let value = dictionary([id, ("team", "BLUE".into()), ("teams", Value::PackedInt32Array(vec![1, 2]))]);
    let bytes = old.encode(&value, &EncodeOptions::default()).unwrap();
    assert_eq!(hex::encode(&bytes), "080010021a020102");
}

#[test]
fn messages_that_are_nested_too_deeply() {
    let schema = schema(GAME);
    let nested = |levels| (0..levels).fold(dictionary([]), |inner, _| dictionary([("inner", inner)]));
    let world = schema.message("World").unwrap();
    for wire in [Wire::Protobuf, Wire::Own] {
        let bytes = world.encode(&nested(100), &EncodeOptions { wire }).unwrap();
        let options = DecodeOptions { wire, ..DecodeOptions::default() };
        world.decode(&bytes, &options).unwrap();
        let error = world.encode(&nested(101), &EncodeOptions { wire }).unwrap_err();
        assert!(error.to_string().starts_with("message nesting exceeds 100 levels"), "{error}");
        // The same message one level deeper, built by hand.
        let tag = if wire == Wire::Protobuf { 0x12 } else { 0x16 };
        let mut deeper = vec![tag];
        deeper.extend([0x80 | (bytes.len() & 0x7F) as u8, (bytes.len() >> 7) as u8]);
        deeper.extend(bytes);
        let error = world.decode(&deeper, &options).unwrap_err();
        assert!(error.to_string().starts_with("message nesting exceeds 100 levels"), "{error}");
    }
}

#[test]
fn invalid_bytes() {
    let schema = schema(GAME);
    let long = format!("7a{}01", "ff".repeat(10));
    for (message, hex, expected) in [
        ("Entity", "08", "unexpected end of data: need 1 byte, 0 left (at byte 1)"),
        ("Entity", "0880", "unexpected end of data: need 2 bytes, 1 left (at byte 1)"),
        ("Entity", "08ffffffffffffffffffffff01", "varint longer than 10 bytes (at byte 1)"),
        ("Entity", &long, "varint longer than 5 bytes (at byte 1)"),
        ("Entity", "0001", "invalid field number 0 (at byte 0)"),
        ("Entity", "ffffffff7f", "invalid tag 34359738367 (at byte 0)"),
        ("Entity", "4affffffff0f", "invalid length 4294967295 (at byte 1)"),
        ("Entity", "4a0500", "unexpected end of data: need 5 bytes, 1 left (at byte 2)"),
        ("Entity", "0f", "field 1 has invalid wire type 7 (at byte 0)"),
        ("Entity", "6c", "end-group tag of field 13 without a start-group tag (at byte 0)"),
        ("Entity", "6b74", "end-group tag of field 14 without a start-group tag (at byte 1)"),
        ("Entity", "6b0801", "unexpected end of data: need 1 byte, 0 left (at byte 3)"),
        (
            "World",
            "0a04120208ff",
            r#"unexpected end of data: need 2 bytes, 1 left (at byte 5) (at ."entities"[0]."items"[0])"#,
        ),
        ("World", "0a0512030a01ff", r#"invalid UTF-8 (at byte 4) (at ."entities"[0]."items"[0]."name")"#),
        (
            "Entity",
            "320500000000ff",
            r#"unexpected end of data: need 3 bytes, 0 left (at byte 7) (at ."path")"#,
        ),
        ("Entity", "520108", r#"unexpected end of data: need 1 byte, 0 left (at byte 3) (at ."scores")"#),
        (
            "Entity",
            "1a080a01611203080080",
            r#"unexpected end of data: need 2 bytes, 1 left (at byte 9) (at ."worn"."a")"#,
        ),
    ] {
        let bytes = hex::decode(hex).unwrap();
        let error = schema.message(message).unwrap().decode(&bytes, &DecodeOptions::default()).unwrap_err();
        assert_eq!(error.to_string(), expected, "{hex}");
    }
}

#[test]
fn invalid_bytes_of_the_own_wire() {
    let schema = schema(GAME);
    let options = DecodeOptions { wire: Wire::Own, ..DecodeOptions::default() };
    for (hex, expected) in [
        ("0f", "field 1 has invalid wire type 7 (at byte 0)"),
        ("09", "unexpected end of data: need 1 byte, 0 left (at byte 1)"),
        ("0c000000", "unexpected end of data: need 4 bytes, 3 left (at byte 1)"),
    ] {
        let error =
            schema.message("Entity").unwrap().decode(&hex::decode(hex).unwrap(), &options).unwrap_err();
        assert_eq!(error.to_string(), expected, "{hex}");
    }
}

#[test]
fn strict_reading_accepts_written_messages() {
    let (new, old) = (schema(GAME), schema(OLD));
    use Wire::{Own, Protobuf};
    for (schema, wire, message, hex, oddity) in [
        (&new, Protobuf, "Entity", "888000 01", Oddity::LongVarint),
        (&new, Protobuf, "Entity", "088100", Oddity::LongVarint),
        (&new, Protobuf, "Entity", "4a8100 00", Oddity::LongVarint),
        (&new, Protobuf, "Entity", "2801 0801", Oddity::Order),
        (&new, Protobuf, "Entity", "0801 0802", Oddity::Repeated),
        (&new, Protobuf, "Entity", "3801 42 00", Oddity::Repeated),
        (&new, Protobuf, "Entity", "3204 00000000 3204 00000000", Oddity::Repeated),
        (&new, Protobuf, "Entity", "7801", Oddity::UnknownField),
        (&new, Protobuf, "Entity", "0d00000000", Oddity::WireType),
        (&new, Protobuf, "Entity", "0880808080 10", Oddity::Range),
        (&new, Protobuf, "Entity", "2802", Oddity::Range),
        (&new, Protobuf, "Entity", "0800", Oddity::Default),
        (&new, Protobuf, "Entity", "4a00", Oddity::Default),
        (&new, Protobuf, "Entity", "3500000000", Oddity::Packing),
        (&new, Protobuf, "Entity", "3200", Oddity::Packing),
        (&new, Protobuf, "Entity", "5202 0801", Oddity::Map),
        (&new, Protobuf, "Entity", "5204 1001 0801", Oddity::Order),
        (&new, Protobuf, "Entity", "5204 0802 1001 5204 0801 1001", Oddity::Map),
        (&new, Protobuf, "Entity", "5204 0801 1001 5204 0801 1001", Oddity::Map),
        (&new, Own, "Entity", "0900", Oddity::Form),
        (&new, Own, "Entity", "0981808080808080808001", Oddity::Form),
        (&new, Own, "Entity", "08ffffffffffffffffff01", Oddity::Form),
        (&new, Own, "Entity", "2801", Oddity::Form),
        (&old, Protobuf, "Old", "0801 1003", Oddity::Range),
        (&old, Protobuf, "Old", "0801 1a0103", Oddity::Range),
        (&old, Protobuf, "Old", "0801 2205 0a0161 1003", Oddity::Range),
        (&old, Protobuf, "Old", "0801 2b ac00", Oddity::LongVarint),
        (&old, Protobuf, "Old", "0801 2b 2c 2b 2c", Oddity::Repeated),
        (&old, Protobuf, "Old", "0801 2b 0b 0c 2c", Oddity::UnknownField),
        (&old, Protobuf, "Old", "0801 2a 00", Oddity::WireType),
    ] {
        let bytes = hex::decode(hex.replace(' ', "")).unwrap();
        let message = schema.message(message).unwrap();
        let lenient = DecodeOptions { wire, ..DecodeOptions::default() };
        let taken = message.decode(&bytes, &lenient);
        assert!(taken.is_ok(), "{hex}: {taken:?}");
        let error =
            message.decode(&bytes, &DecodeOptions { strictness: Strictness::Strict, ..lenient }).unwrap_err();
        let ErrorKind::Other(foreign) = error.kind() else { panic!("{hex}: {error}") };
        assert_eq!(foreign.downcast_ref(), Some(&Error::NotCanonical(oddity)), "{hex}");
        assert!(error.offset().is_some(), "{hex}");
    }
    let strict = DecodeOptions { strictness: Strictness::Strict, ..DecodeOptions::default() };
    let error = old.message("Old").unwrap().decode(&[], &strict).unwrap_err();
    assert_eq!(error.to_string(), "missing required field id of Old (at byte 0)");
}

#[test]
fn limits_are_kept() {
    let schema = schema(GAME);
    let world = schema.message("World").unwrap();
    let item = dictionary([("name", "sword".into()), ("count", 1.into())]);
    let entity = dictionary([
        ("items", array([item.clone(), item])),
        ("path", Value::PackedFloat32Array(vec![0.0; 1000])),
    ]);
    let bytes =
        world.encode(&dictionary([("entities", array([entity]))]), &EncodeOptions::default()).unwrap();
    let decode = |limits| {
        let options = DecodeOptions { limits, ..DecodeOptions::default() };
        world.decode(&bytes, &options).map_err(|error| error.to_string())
    };
    let all = Limits::unlimited();
    // The six levels are World, list, Entity, list, Item and its fields.
    assert!(decode(Limits { max_depth: 5, ..all.clone() }).is_ok());
    for (limits, name) in [
        (Limits { max_depth: 4, ..all.clone() }, "max_depth"),
        (Limits { max_bytes: bytes.len() - 1, ..all.clone() }, "max_bytes"),
        (Limits { max_elements: 1000, ..all.clone() }, "max_elements"),
        (Limits { max_key_comparisons: 5, ..all.clone() }, "max_key_comparisons"),
        (Limits { max_memory: 4000, ..all.clone() }, "max_memory"),
        (Limits { allowed_types: 0, ..all.clone() }, "allowed_types"),
    ] {
        let error = decode(limits).unwrap_err();
        assert!(error.contains(name), "{error}");
    }
    // Many empty messages decode to many values, because fields without presence get defaults.
    let many = [0x0a, 0].repeat(20_000);
    let limits = Limits::for_network();
    let options = DecodeOptions { limits, ..DecodeOptions::default() };
    let error = world.decode(&many, &options).unwrap_err().to_string();
    assert!(error.contains("max_"), "{error}");
    let options = DecodeOptions { defaults: variant_protobuf::Defaults::Omit, ..options };
    assert!(world.decode(&many, &options).is_ok());
}

/// One encoder and one decoder process many messages, with errors in between.
#[test]
fn memory_is_reused_between_messages() {
    let schema = schema(GAME);
    let entity = schema.message("Entity").unwrap();
    let good =
        dictionary([("worn", dictionary([("hat", dictionary([("count", 1.into())]))])), ("hp", 7.into())]);
    let bad = dictionary([("worn", dictionary([("hat", dictionary([("count", (-1).into())]))]))]);
    let bytes = entity.encode(&good, &EncodeOptions::default()).unwrap();
    let mut encoder = MessageEncoder::new(&entity, &EncodeOptions::default());
    let options = DecodeOptions { keep_unknown: true, ..DecodeOptions::default() };
    let expected = entity.decode(&bytes, &options).unwrap();
    let torn = [b"\x7a\x00", &bytes[..], b"\x0a"].concat();
    let mut decoder = MessageDecoder::new(&entity, &bytes, &options);
    let mut spent = None;
    for _ in 0..3 {
        encoder.clear();
        (&good).write_into(&mut encoder).unwrap();
        assert_eq!(encoder.written(), bytes);
        encoder.clear();
        assert!((&bad).write_into(&mut encoder).is_err());

        decoder = decoder.with_bytes(&torn);
        assert!(decoder.write_into(&mut ValueBuilder::default()).is_err());
        decoder = decoder.with_bytes(&bytes);
        let mut builder = ValueBuilder::default();
        decoder.write_into(&mut builder).unwrap();
        assert_eq!(builder.into_value(), expected);
        let memory = decoder.spent().memory();
        assert_eq!(*spent.get_or_insert(memory), memory);
    }
    let limits = Limits { max_elements: 40, ..Limits::unlimited() };
    let options = DecodeOptions { limits, ..DecodeOptions::default() };
    let mut decoder = MessageDecoder::new(&entity, &bytes, &options);
    decoder.write_into(&mut ValueBuilder::default()).unwrap();
    let spent = decoder.spent();
    assert!(decoder.with_bytes(&bytes).after(spent).write_into(&mut ValueBuilder::default()).is_err());
}

#[test]
fn schemas_that_do_not_compile() {
    let compile = |text: &'static str| {
        let resolve = move |name: &str| match name {
            "a.proto" => Some(text.to_owned()),
            "b.proto" => Some("syntax = \"proto3\";\nimport \"a.proto\";\nmessage B { C c = 1; }".to_owned()),
            "c.proto" => Some("syntax = \"proto3\";\nmessage C {}".to_owned()),
            "d.proto" => Some("\nedition = \"2025\";".to_owned()),
            _ => None,
        };
        Schema::compile("a.proto", resolve).map(|_| ()).map_err(|error| error.to_string())
    };
    for (text, expected) in [
        ("syntax = \"proto3\";\nmessage A {\n  int32 hp;\n}", "a.proto:3:11: expected '=', but found ';'"),
        (
            "syntax = \"proto3\";\nmessage A {\n  Nothing x = 1;\n}",
            "a.proto:3:3: name 'Nothing' is not defined",
        ),
        (
            "syntax = \"proto3\";\nmessage A {\n  int32 x = 1;\n  int32 y = 1;\n}",
            "a.proto:4:13: field number '1' is already used",
        ),
        ("syntax = \"proto3\";\n\nimport \"gone.proto\";", "a.proto:3:1: import 'gone.proto' not found"),
        (
            "syntax = \"proto3\";\nimport \"b.proto\";",
            "b.proto:2:1: import cycle detected: a.proto -> b.proto -> a.proto",
        ),
        ("syntax = \"proto3\";\nimport \"d.proto\";", "d.proto:2:11: unknown edition \"2025\"; use"),
        ("edition = 2023;", "a.proto:1:1: no edition; use"),
        // Columns refer to the original file, although the compiled text has additional labels.
        (
            "edition = \"2023\"; message A { int32 x = 1; int32 y = 2; Nothing z = 3; }",
            "a.proto:1:57: name 'Nothing' is not defined",
        ),
        (
            "edition = \"2023\"; message A { int32 x = 1; int32 y = 1 [features.field_presence = LEGACY_REQUIRED]; }",
            "a.proto:1:54: field number '1' is already used",
        ),
        (
            "edition = \"2023\";\noption features.field_presence = IMPLICIT;\nmessage A { int32 x = 1; int32 y = 2 [default = 3]; }",
            "a.proto:3:26: A.y: field without presence cannot have a default",
        ),
        (
            "edition = \"2023\";\nmessage A { required int32 x = 1; }",
            "a.proto:2:13: label `required` in an edition; use features.field_presence",
        ),
        (
            "edition = \"2023\";\nmessage A { int32 x = 1 [features.field_presence = MAYBE]; }",
            "a.proto:2:26: expected a value of type",
        ),
    ] {
        let error = compile(text).unwrap_err();
        assert!(error.starts_with(expected), "{error}\n{expected}");
    }
    assert_eq!(
        compile(
            "syntax = \"proto3\";\nimport \"c.proto\"; import \"google/protobuf/timestamp.proto\";\n
        message A { C c = 1; google.protobuf.Timestamp at = 2; }"
        ),
        Ok(())
    );
    assert_eq!(
        compile(
            "edition = \"2024\"; import option \"google/protobuf/cpp_features.proto\";
        export message A { local enum E { reserved gone; ZERO = 0; } E e = 1; extensions 5 to 9; map<string, A> a = 2;
        option features.enforce_naming_style = STYLE_LEGACY; } local message B { extend A { .B export = 5; } }"
        ),
        Ok(())
    );
    let gone = Schema::compile("gone.proto", |_| None).unwrap_err();
    assert_eq!(gone.to_string(), "gone.proto: file not found");
    assert!(matches!(Schema::from_descriptor_set(b"\xff"), Err(Error::Schema { .. })));
}

/// Files that would exhaust the compiler's stack, time or memory.
#[test]
fn schemas_that_would_exhaust_the_compiler() {
    let compile = |resolve: &dyn Fn(usize) -> Option<String>| {
        let resolve = |name: &str| resolve(name.strip_suffix(".proto")?.parse().ok()?);
        Schema::compile("0.proto", resolve).map(|_| ()).map_err(|error| error.to_string())
    };
    let alone = |text: String| move |index: usize| (index == 0).then(|| text.clone());
    let nested = |depth: usize| format!("option (a) = {}{{}}{};", "{ a ".repeat(depth), "}".repeat(depth));
    let custom = "import \"google/protobuf/descriptor.proto\"; message A { optional A a = 1; }
        extend google.protobuf.FileOptions { optional A a = 50000; }\n";
    assert_eq!(compile(&alone(format!("{custom}{}", nested(50)))), Ok(()));
    let error = compile(&alone(format!("{custom}{}", nested(100_000)))).unwrap_err();
    assert_eq!(error, "0.proto:3:414: brackets nested deeper than 100 levels");
    let messages = |depth| format!("{}{}", "message M {".repeat(depth), "}".repeat(depth));
    assert_eq!(compile(&alone(messages(30))), Ok(()));
    assert!(compile(&alone(messages(50_000))).unwrap_err().contains("nested deeper"));
    // Brackets in comments and strings do not count.
    let texts = "[".repeat(200);
    let text = format!(
        "// {texts}\n/* {texts} */ message A {{ optional string a = 1 [default = \"{texts}\\\"\"]; }}"
    );
    assert_eq!(compile(&alone(text)), Ok(()));

    let chain = |length: usize| {
        move |index: usize| {
            Some(if index == length { String::new() } else { format!("import \"{}.proto\";", index + 1) })
        }
    };
    assert_eq!(compile(&chain(90)), Ok(()));
    assert_eq!(compile(&chain(20_000)).unwrap_err(), "99.proto:1:1: imports nested deeper than 100 levels");
    // Each file is imported publicly on many paths.
    let both = |index: usize| {
        let next = |index: usize| format!("import public \"{}.proto\";\n", index.min(90));
        Some(if index >= 89 { String::new() } else { next(index + 1) + &next(index + 2) })
    };
    assert_eq!(compile(&both), Ok(()));
    let large = format!("// {}", "-".repeat(Schema::MAX_BYTES - 3));
    assert_eq!(compile(&alone(large.clone())), Ok(()));
    assert_eq!(compile(&alone(large + "-")).unwrap_err(), "0.proto: schema larger than 4194304 bytes");
    // The name of each field would repeat the package.
    let long = format!("package {}; message M {{}}", vec!["p".repeat(500); 3].join("."));
    assert_eq!(compile(&alone(long)).unwrap_err(), "0.proto:1:1: full name longer than 1024 bytes");
    // Each of its packages would have a name, and all together a hundred gigabytes.
    let packages = format!("syntax = 'proto3'; package a{};", ".a".repeat(300_000));
    assert_eq!(compile(&alone(packages)).unwrap_err(), "0.proto:1:1: full name longer than 1024 bytes");
    // The compiler would take minutes to locate all of these errors.
    let wrong = format!("message M {{\n{}}}", "optional int32 f = 1;\n".repeat(30_000));
    assert_eq!(compile(&alone(wrong)).unwrap_err(), "0.proto:3:16: name 'M.f' is defined twice");
}

/// A file sees the public imports of its imports, and their public imports, but no others.
#[test]
fn public_imports() {
    let compile = |visible: bool| {
        let import = if visible { "import public" } else { "import" };
        Schema::compile("a.proto", |name| {
            Some(match name {
                "a.proto" => "import \"b.proto\"; message A { optional D d = 1; }".to_owned(),
                "b.proto" => "import public \"c.proto\";".to_owned(),
                "c.proto" => format!("{import} \"d.proto\";"),
                _ => "message D {}".to_owned(),
            })
        })
    };
    assert_eq!(compile(true).unwrap().messages().count(), 2);
    assert_eq!(compile(false).unwrap_err().to_string(), "a.proto:1:40: name 'D' is not defined");
}

#[test]
fn import_paths() {
    for path in ["/etc/passwd", "../x.proto", "a//b.proto", "", ".", "a/./b", "a\\\\b", "a/"] {
        let text = format!("syntax = \"proto3\";\nimport \"{path}\";");
        let error = Schema::compile("m.proto", |name| (name == "m.proto").then(|| text.clone())).unwrap_err();
        let expected =
            "m.proto:2:8: invalid import path: it must be relative, with names separated by single slashes";
        assert_eq!(error.to_string(), expected, "{path}");
    }
    // An unterminated string or an escaped multi-byte character must not cause a panic.
    for text in ["import \"", "import '\\", "import \"\\é\";", "c'\\t$\\$\\", "'\\"] {
        let error =
            Schema::compile("m.proto", |name| (name == "m.proto").then(|| text.to_owned())).unwrap_err();
        assert!(!error.to_string().contains("internal error"), "{text}: {error}");
    }
}

#[test]
fn invalid_descriptor_sets() {
    let refused = |set: &[u8]| Schema::from_descriptor_set(set).expect_err("it is no schema").to_string();
    let field = |tag: u8, bytes: &[u8]| [&[tag, u8::try_from(bytes.len()).unwrap()], bytes].concat();
    let file = |parts: &[&[u8]]| field(0x0a, &[&field(0x0a, b"m"), &parts.concat()[..]].concat());
    let message = |parts: &[&[u8]]| field(0x22, &[&field(0x0a, b"M"), &parts.concat()[..]].concat());
    // A field with the name "a" and the number 1: an optional int32.
    let int = [0x0a, 1, b'a', 0x18, 1, 0x20, 1, 0x28, 5];
    assert!(Schema::from_descriptor_set(&file(&[&message(&[&field(0x12, &int)])])).is_ok());
    let entry = |fields: &[&[u8]]| {
        let fields: Vec<u8> = fields.iter().flat_map(|parts| field(0x12, parts)).collect();
        // A map entry, to which the field of M refers.
        let nested = field(0x1a, &[&field(0x0a, b"E"), &fields[..], &field(0x3a, &[0x38, 1])].concat());
        let map = [&[0x0a, 1, b'm', 0x18, 2, 0x20, 3, 0x28, 11][..], &field(0x32, b".M.E")].concat();
        file(&[&message(&[&nested, &field(0x12, &map)])])
    };
    let key = [0x0a, 3, b'k', b'e', b'y', 0x18, 1, 0x20, 1, 0x28, 5];
    let value = [0x0a, 5, b'v', b'a', b'l', b'u', b'e', 0x18, 2, 0x20, 1, 0x28, 9];
    assert!(Schema::from_descriptor_set(&entry(&[&key, &value])).is_ok());
    let float_key = [0x0a, 3, b'k', b'e', b'y', 0x18, 1, 0x20, 1, 0x28, 2];
    let third = [0x0a, 1, b'a', 0x18, 3, 0x20, 1, 0x28, 5];
    let cases: [&[&[u8]]; 5] = [&[], &[&key], &[&value], &[&float_key, &value], &[&key, &value, &third]];
    for fields in cases {
        assert!(refused(&entry(fields)).starts_with("m: M.E"), "{fields:?}: {}", refused(&entry(fields)));
    }
    for (set, reason) in [
        (file(&[&field(0x62, b"editions"), &[0x70, 0xea, 0x07]]), "m: unknown syntax; use"),
        (file(&[&field(0x62, b"proto4")]), "m: unknown syntax"),
        (
            file(&[&message(&[&field(0x12, &[&field(0x0a, b"@unknown")[..], &int[3..]].concat())])]),
            "m: M has a field with an invalid name",
        ),
        (file(&[&message(&[]), &message(&[])]), "m: name 'M' is defined twice"),
        // A file with a public import of itself once made a library loop forever.
        (file(&[&field(0x1a, b"m"), &[0x50, 0]]), "m: import \"m\" is missing"),
        (file(&[&field(0x1a, b"x")]), "m: import \"x\" is missing; run protoc with --include_imports"),
    ] {
        assert!(refused(&set).starts_with(reason), "{}\n{reason}", refused(&set));
    }
    // A public import that does not exist once caused a panic.
    let set = hex::decode("0a055201616200").unwrap();
    assert_eq!(refused(&set), "missing or duplicate file name");
    let large = refused(&vec![0; Schema::MAX_BYTES + 1]);
    assert_eq!(large, "schema larger than 4194304 bytes");
}

#[test]
fn messages_are_found_by_name() {
    let schema = schema(
        "syntax = \"proto3\"; package a; message M { message N {} } message O { message N {} int32 x = 1; }",
    );
    assert_eq!(schema.message("a.M.N").unwrap().name(), "a.M.N");
    assert_eq!(schema.message("O").unwrap().name(), "a.O");
    assert_eq!(schema.message("N").unwrap_err().to_string(), r#"ambiguous message name "N": a.M.N or a.O.N"#);
    assert_eq!(schema.message("P").unwrap_err().to_string(), r#"no message "P" in the schema"#);
    let names: Vec<_> = schema.messages().map(|message| message.name().to_owned()).collect();
    assert_eq!(names, ["a.M", "a.M.N", "a.O", "a.O.N"]);
}
