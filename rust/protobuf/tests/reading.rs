//! Decoding of messages: defaults, presence, enums, oneofs, maps, unknown fields.

use crate::support::{decoded, dictionary, schema};
use variant_codec::value::OwnedElementType;
use variant_codec::{Array, Value, VariantType};
use variant_protobuf::{DecodeOptions, Defaults, EncodeOptions, Schema, UNKNOWN_KEY, Wire};

const NEW: &str = r#"
    syntax = "proto3";
    enum Team { NONE = 0; RED = 1; ROUGE = -1; }
    message Item { string name = 1; }
    message New {
        bool alive = 1; optional bool awake = 2; Item held = 3; repeated Item items = 4; map<int32, Team> teams = 5;
        Team team = 6; repeated Team all = 7;
        oneof state { int32 asleep = 8; Item using = 9; string walking = 10; }
        repeated bytes blobs = 11; map<string, Item> worn = 12; map<bool, string> answers = 13;
    }
"#;

const OLD: &str = r#"
    syntax = "proto2";
    enum Team { RED = 1; BLUE = 2; }
    message Old {
        optional int32 lives = 1 [default = 3]; optional Team team = 2; optional string name = 3 [default = "?"];
        optional bytes data = 4 [default = "\001"]; optional float ratio = 5 [default = inf]; repeated Team teams = 6;
        optional Old inner = 7; oneof choice { int32 left = 8; int32 right = 9; } repeated Team packed = 10 [packed = true];
        map<int32, Team> by_number = 11; required int32 id = 12; optional bool alive = 13 [default = true];
    }
"#;

fn read(schema: &Schema, message: &str, hex: &str, options: &DecodeOptions) -> Value {
    let bytes = hex::decode(hex.replace(' ', "")).unwrap();
    schema.message(message).unwrap().decode(&bytes, options).unwrap_or_else(|error| panic!("{error}: {hex}"))
}

fn typed(ty: VariantType, values: Vec<Value>) -> Value {
    Value::Array(Array { element: OwnedElementType::Builtin(ty), values })
}

fn sparse() -> DecodeOptions {
    DecodeOptions { defaults: Defaults::Omit, ..DecodeOptions::default() }
}

#[test]
fn absent_fields() {
    let new = schema(NEW);
    let empty = || Value::from(Vec::<(Value, Value)>::new());
    let implicit = dictionary([
        ("alive", false.into()),
        ("items", typed(VariantType::Dictionary, vec![])),
        ("teams", empty()),
        ("team", 0.into()),
        ("all", Value::PackedInt32Array(vec![])),
        ("blobs", typed(VariantType::PackedByteArray, vec![])),
        ("worn", empty()),
        ("answers", empty()),
    ]);
    assert_eq!(decoded(&new, "New", Wire::Protobuf, &[]), implicit);
    assert_eq!(read(&new, "New", "", &sparse()), dictionary([]));
    assert_eq!(
        read(&new, "New", "1000 1a00", &sparse()),
        dictionary([("awake", false.into()), ("held", dictionary([]))])
    );

    let old = schema(OLD);
    assert_eq!(read(&old, "Old", "", &sparse()), dictionary([]));
    let lists = ("teams", Value::PackedInt32Array(vec![]));
    let packed = ("packed", Value::PackedInt32Array(vec![]));
    let by_number = ("by_number", empty());
    let options = DecodeOptions::default();
    assert_eq!(
        read(&old, "Old", "", &options),
        dictionary([lists.clone(), packed.clone(), by_number.clone()])
    );
    let options = DecodeOptions { defaults: Defaults::All, ..options };
    assert_eq!(
        read(&old, "Old", "", &options),
        dictionary([
            ("lives", 3.into()),
            ("team", 1.into()),
            ("name", "?".into()),
            ("data", Value::PackedByteArray(vec![1])),
            ("ratio", f64::INFINITY.into()),
            lists,
            packed,
            by_number,
            ("id", 0.into()),
            ("alive", true.into()),
        ])
    );
}

#[test]
fn enums_by_name() {
    let new = schema(NEW);
    let options = DecodeOptions { enum_names: true, ..sparse() };
    let strings =
        |names: &[&str]| Value::PackedStringArray(names.iter().map(|name| (*name).to_owned()).collect());
    assert_eq!(
        read(&new, "New", "3001 3a0c 0100 ffffffffffffffffff01", &options),
        dictionary([("team", "RED".into()), ("all", strings(&["RED", "NONE", "ROUGE"]))])
    );
    // Numbers without a name stay numbers.
    let value = dictionary([("team", 7.into()), ("all", Value::from(vec![Value::from("RED"), 7.into()]))]);
    assert_eq!(read(&new, "New", "3007 3a02 0107", &options), value);
    let message = new.message("New").unwrap();
    assert_eq!(hex::encode(message.encode(&value, &EncodeOptions::default()).unwrap()), "30073a020107");
    let value = dictionary([("all", strings(&["RED", "ROUGE"]))]);
    let own = EncodeOptions { wire: Wire::Own };
    assert_eq!(hex::encode(message.encode(&value, &own).unwrap()), "3e020201");
}

#[test]
fn the_last_member_of_a_oneof_counts() {
    let new = schema(NEW);
    let read = |hex| read(&new, "New", hex, &sparse());
    let using = |name: &str| dictionary([("using", dictionary([("name", name.into())]))]);
    assert_eq!(read("4001 520178"), dictionary([("walking", "x".into())]));
    assert_eq!(read("520178 4001"), dictionary([("asleep", 1.into())]));
    // Pieces of a message in a oneof are merged, unless another member of the oneof comes between
    // them.
    assert_eq!(read("4a03 0a0161 4a00"), using("a"));
    assert_eq!(read("4a03 0a0161 4001 4a00"), dictionary([("using", dictionary([]))]));
    // Replaced values must be well-formed.
    for bytes in [&b"\x52\x01\xff\x40\x01"[..], b"\x4a\x02\x0a\x01\x40\x01", b"\x4a\x03\x0a\x01\xff\x40\x01"]
    {
        let error = new.message("New").unwrap().decode(bytes, &sparse()).unwrap_err();
        assert!(error.offset().is_some_and(|offset| offset < bytes.len()), "{error}");
    }
}

#[test]
fn maps() {
    let new = schema(NEW);
    let read = |hex| read(&new, "New", hex, &sparse());
    let pairs = |pairs: &[(i64, i64)]| {
        Value::from(pairs.iter().map(|&(k, v)| (k.into(), v.into())).collect::<Vec<_>>())
    };
    // Entries are sorted, the last entry of a repeated key wins, and missing parts get defaults.
    assert_eq!(
        read("2a04 08021001 2a0d 08ffffffffffffffffff01 1001 2a04 08021000 2a00 2a02 0805"),
        dictionary([("teams", pairs(&[(-1, 1), (0, 0), (2, 0), (5, 0)]))])
    );
    // Pieces of a message are merged within an entry, but not across entries.
    assert_eq!(
        read("620a 0a0161 12030a0178 1200 6203 0a0162 6203 0a0161"),
        dictionary([("worn", dictionary([("a", dictionary([])), ("b", dictionary([]))]))])
    );
    assert_eq!(
        read("620a 0a0161 12030a0178 1200"),
        dictionary([("worn", dictionary([("a", dictionary([("name", "x".into())]))]))])
    );
    let answers = Value::from(vec![(false.into(), "n".into()), (true.into(), "y".into())]);
    assert_eq!(read("6a05 0801120179 6a05 080012016e"), dictionary([("answers", answers)]));
}

#[test]
fn unknown_fields() {
    let (new, old) = (schema(NEW), schema(OLD));
    let options = DecodeOptions { keep_unknown: true, ..sparse() };
    let kept = |hex: &str| (UNKNOWN_KEY, Value::PackedByteArray(hex::decode(hex.replace(' ', "")).unwrap()));
    // A field of a later schema, a group and a record of another wire type precede known fields.
    let hex = "a00601 0b0801 0c 0d00000000 0801";
    let value = dictionary([("alive", true.into()), kept("a00601 0b08010c 0d00000000")]);
    assert_eq!(read(&new, "New", hex, &options), value);
    assert_eq!(read(&new, "New", hex, &sparse()), dictionary([("alive", true.into())]));
    let message = new.message("New").unwrap();
    let written = message.encode(&value, &EncodeOptions::default()).unwrap();
    assert_eq!(hex::encode(written), "0801a006010b08010c0d00000000");
    let broken = dictionary([(UNKNOWN_KEY, Value::PackedByteArray(vec![0x08]))]);
    assert!(message.encode(&broken, &EncodeOptions::default()).is_err());
    // Numbers that a closed enum does not list are unknown fields. Each unlisted number of a packed list gets
    // a tag of its own.
    assert_eq!(
        read(&old, "Old", "1003 3001 3003 5203 010302 5a04 08011003 5a04 08021002", &options),
        dictionary([
            ("teams", Value::PackedInt32Array(vec![1])),
            ("packed", Value::PackedInt32Array(vec![1, 2])),
            ("by_number", Value::from(vec![(2.into(), 2.into())])),
            kept("1003 3003 5003 5a0408011003"),
        ])
    );
}

#[test]
fn keys_may_be_string_names() {
    let new = schema(NEW);
    let options = DecodeOptions { string_name_keys: true, ..sparse() };
    let name = |text: &str| Value::StringName(text.to_owned());
    let value =
        Value::from(vec![(name("worn"), dictionary([("a", Value::from(vec![(name("name"), "x".into())]))]))]);
    assert_eq!(read(&new, "New", "6208 0a0161 12030a0178", &options), value);
    let bytes = new.message("New").unwrap().encode(&value, &EncodeOptions::default()).unwrap();
    assert_eq!(hex::encode(bytes), "62080a016112030a0178");
}

#[test]
fn descriptor_sets() {
    // `message M { optional int32 a = 1; }` in the file "m", proto2, as protoc writes it.
    let set = hex::decode("0a13 0a016d 220e 0a014d 1209 0a0161 1801 2001 2805".replace(' ', "")).unwrap();
    let schema = Schema::from_descriptor_set(&set).unwrap();
    assert_eq!(read(&schema, "M", "089601", &sparse()), dictionary([("a", 150.into())]));
}
