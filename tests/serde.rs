//! Rust types serialize to the engine's bytes, which `vectors/serde.tsv` lists by name.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::net::IpAddr;
use std::path::Path;

use conformance::Values;
use proptest::prelude::Strategy;
use proptest::{prop_assert, prop_assert_eq, prop_oneof, proptest};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use variant_codec::serde::{from_bytes, from_value, to_bytes, to_value};
use variant_codec::stream::Precision;
use variant_codec::value::OwnedElementType;
use variant_codec::{
    Array, Dictionary, Error, ErrorKind, Limits, NodePath, Object, PackedReals, Reals, Value, VariantType,
};

/// The engine's bytes by name, and the names that were used.
struct Engine {
    bytes: HashMap<String, Vec<u8>>,
    asked: RefCell<BTreeSet<String>>,
}

impl Engine {
    fn read() -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/serde.tsv");
        let text = std::fs::read_to_string(file).unwrap();
        let row = |row: &str| {
            let columns: Vec<&str> = row.split('\t').collect();
            (columns[1].to_owned(), hex::decode(columns[2]).unwrap())
        };
        Self { bytes: text.lines().skip(1).map(row).collect(), asked: RefCell::default() }
    }

    fn bytes(&self, name: &str) -> &[u8] {
        self.asked.borrow_mut().insert(name.to_owned());
        &self.bytes[name]
    }

    /// Checks that a value serializes to the engine's bytes, and reads back.
    fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(&self, name: &str, value: T) {
        let bytes = self.bytes(name);
        assert_eq!(hex::encode(to_bytes(&value).unwrap()), hex::encode(bytes), "{name}");
        self.reads(name, value);
    }

    fn reads<T: DeserializeOwned + PartialEq + Debug>(&self, name: &str, value: T) {
        let read: T = from_bytes(self.bytes(name), &Limits::for_save_files())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(read, value, "{name}");
    }
}

#[derive(Debug, PartialEq, Deserialize, Serialize)]
struct Unit;

#[derive(Debug, PartialEq, Deserialize, Serialize)]
struct Level(u8);

#[derive(Debug, PartialEq, Deserialize, Serialize)]
struct Pair(i32, i32);

#[derive(Debug, PartialEq, Deserialize, Serialize)]
struct Point<T> {
    x: T,
    y: T,
}

#[derive(Debug, PartialEq, Deserialize, Serialize)]
enum State {
    Idle,
    Walk(u32),
    Jump(u32, f32),
    Attack { target: String, damage: i32 },
    Own(Point<i64>),
}

/// Bytes, which serde by itself does not distinguish from a sequence.
#[derive(Debug, PartialEq)]
struct Bytes(Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Bytes;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(Visitor)
    }
}

/// Checks fields that need `#[serde(with = …)]` against the engine's bytes.
macro_rules! fields {
    ($engine:ident; $($path:literal $name:literal: $ty:ty = $value:expr;)*) => {
        $({
            #[derive(Debug, PartialEq, Deserialize, Serialize)]
            struct Field(#[serde(with = $path)] $ty);
            $engine.check($name, Field($value));
        })*
    };
}

#[derive(Debug, PartialEq, Deserialize, Serialize)]
struct Save {
    name: String,
    hp: i32,
    #[serde(with = "variant_codec::serde::vector2")]
    position: Point<f32>,
    #[serde(with = "variant_codec::serde::transform2d")]
    transform: [[f32; 2]; 3],
    #[serde(with = "variant_codec::serde::node_path")]
    spawn: String,
    state: State,
    #[serde(with = "variant_codec::serde::string_name")]
    animation: String,
    inventory: Vec<Item>,
    visited: BTreeMap<String, bool>,
    icon: Bytes,
    score: f64,
    parent: Option<Box<Save>>,
}

#[derive(Debug, PartialEq, Deserialize, Serialize)]
struct Item {
    id: u16,
    count: u8,
    #[serde(with = "variant_codec::serde::color")]
    tint: Option<[f32; 4]>,
}

fn save() -> Save {
    Save {
        name: "Ada".into(),
        hp: 87,
        position: Point { x: 3.0, y: 4.0 },
        // The engine's transform for an angle of 0.
        transform: [[1.0, 0.0], [-0.0, 1.0], [1.0, 2.0]],
        spawn: "/root/World/Spawn".into(),
        state: State::Attack { target: "orc".into(), damage: 5 },
        animation: "run".into(),
        inventory: vec![
            Item { id: 1, count: 3, tint: None },
            Item { id: 2, count: 1, tint: Some([1.0, 0.0, 0.0, 1.0]) },
        ],
        visited: BTreeMap::from([("cave".into(), true), ("lake".into(), false)]),
        icon: Bytes(vec![137, 80]),
        score: 0.1,
        parent: None,
    }
}

#[test]
fn types_are_written_and_read_as_the_engine_does() {
    let engine = Engine::read();
    engine.check("bool", true);
    engine.check("i8", -5_i8);
    engine.check("i64", i64::MIN);
    engine.check("i64 of 32 bits", i64::from(i32::MIN));
    engine.check("i64 of 32 bits", i32::MIN);
    engine.check("u32", u32::MAX);
    engine.check("u32", u64::from(u32::MAX));
    engine.check("u32", i128::from(u32::MAX));
    engine.check("f32", 0.1_f32);
    engine.check("f32", f64::from(0.1_f32));
    engine.check("f32 of a half", 0.5_f32);
    engine.check("f32 of a half", 0.5_f64);
    engine.check("f64", 0.1_f64);
    engine.check("f64 without a fraction", 7.0_f64);
    engine.check("char", 'é');
    engine.check("text", "größer".to_owned());
    engine.check("bytes", Bytes(vec![1, 2, 255]));
    engine.reads("bytes", vec![1_u8, 2, 255]);
    engine.reads("bytes", [1_u8, 2, 255]);
    engine.check("unit", ());
    engine.check("none", None::<u8>);
    engine.check("some", Some(7));
    engine.reads("some", 7.0_f32);
    engine.check("unit struct", Unit);
    engine.check("newtype struct", Level(3));
    engine.check("tuple", (1, "a".to_owned(), 0.5));
    engine.check("tuple struct", Pair(1, 2));
    engine.check("sequence", vec![1, 2, 3]);
    engine.check("sequence", [1_u8, 2, 3]);
    engine.check("empty sequence", Vec::<u8>::new());
    engine.check("nested options", vec![None, Some(1), None]);
    engine.check("map of texts", BTreeMap::from([("a".to_owned(), 1), ("b".to_owned(), 2)]));
    engine.check("map of ints", BTreeMap::from([(-1, 'a'), (7, 'b')]));
    engine.check("map of tuples", HashMap::from([((1, 2), true)]));
    engine.check("empty map", HashMap::<u8, u8>::new());
    engine.check("unit variant", State::Idle);
    engine.check("newtype variant", State::Walk(3));
    engine.check("newtype variant of a struct", State::Own(Point { x: 1, y: 2 }));
    engine.check("tuple variant", State::Jump(1, 2.5));
    engine.check("struct variant", State::Attack { target: "orc".into(), damage: 5 });
    engine.check(
        "variants",
        vec![
            State::Idle,
            State::Walk(1),
            State::Jump(2, 0.5),
            State::Attack { target: String::new(), damage: 0 },
        ],
    );
    objects_of_classes(&engine);
    engine.check("save", save());
    engine.reads::<Value>("save", to_value(&save()).unwrap());
    types_of_godot(&engine);
    let known: BTreeSet<String> = engine.bytes.keys().cloned().collect();
    assert_eq!(*engine.asked.borrow(), known, "a row that nothing looked at");
}

/// The format of `FastVariantClasses`, see docs/classes.md.
fn objects_of_classes(engine: &Engine) {
    #[derive(Debug, PartialEq, Deserialize, Serialize)]
    #[serde(tag = "@class")]
    enum Object {
        Hero {
            #[serde(rename = "@version", default, skip_serializing_if = "Option::is_none")]
            version: Option<u32>,
            name: String,
            bag: Reference<Bag>,
        },
    }
    #[derive(Debug, PartialEq, Deserialize, Serialize)]
    #[serde(tag = "@class")]
    struct Bag {
        items: Vec<i32>,
    }
    #[derive(Debug, PartialEq, Deserialize, Serialize)]
    #[serde(untagged)]
    enum Reference<T> {
        Shared {
            #[serde(rename = "@ref")]
            index: usize,
        },
        Here(T),
    }
    let objects = vec![
        Object::Hero { version: None, name: "Ren".into(), bag: Reference::Here(Bag { items: vec![1, 2] }) },
        Object::Hero { version: Some(2), name: "Mia".into(), bag: Reference::Shared { index: 0 } },
    ];
    // The engine writes a tag as a StringName, and serde writes it as a String. Readers accept both.
    let written: Value = to_value(&objects).unwrap();
    assert_eq!(from_value::<Vec<Object>>(written).unwrap(), objects);
    engine.reads("objects of classes", objects);
}

fn types_of_godot(engine: &Engine) {
    fields! { engine;
        "variant_codec::serde::string_name" "string_name": String = "idle".into();
        "variant_codec::serde::node_path" "node_path": String = "/root/Player:position:x".into();
        "variant_codec::serde::node_path" "node_path of names": String = "a/../b".into();
        "variant_codec::serde::node_path" "node_path of a property": String = ":hp".into();
        "variant_codec::serde::node_path" "node_path of the root": String = "/".into();
        "variant_codec::serde::vector2" "vector2": [f32; 2] = [1.5, -2.0];
        "variant_codec::serde::vector2" "vector2": (f64, f64) = (1.5, -2.0);
        "variant_codec::serde::vector2" "vector2": Point<f32> = Point { x: 1.5, y: -2.0 };
        "variant_codec::serde::vector2" "vector2": Value = Value::Vector2(Reals::Single([1.5, -2.0]));
        "variant_codec::serde::vector2i" "vector2i": Point<i32> = Point { x: 1, y: -2 };
        "variant_codec::serde::rect2" "rect2": [Point<f32>; 2] = [Point { x: 1.0, y: 2.0 }, Point { x: 3.0, y: 4.0 }];
        "variant_codec::serde::rect2" "rect2": [f32; 4] = [1.0, 2.0, 3.0, 4.0];
        "variant_codec::serde::rect2i" "rect2i": Point<Point<i32>> = Point { x: Point { x: 1, y: 2 }, y: Point { x: 3, y: 4 } };
        "variant_codec::serde::vector3" "vector3": [f32; 3] = [1.0, 2.0, 3.0];
        "variant_codec::serde::vector3i" "vector3i": Vec<i32> = vec![1, 2, 3];
        "variant_codec::serde::transform2d" "transform2d": [[f32; 2]; 3] = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
        "variant_codec::serde::vector4" "vector4": [f32; 4] = [1.0, 2.0, 3.0, 4.0];
        "variant_codec::serde::vector4i" "vector4i": [i32; 4] = [1, 2, 3, 4];
        "variant_codec::serde::plane" "plane": [f32; 4] = [0.0, 1.0, 0.0, 5.0];
        "variant_codec::serde::quaternion" "quaternion": [f32; 4] = [0.0, 0.0, 0.0, 1.0];
        "variant_codec::serde::aabb" "aabb": [[f32; 3]; 2] = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
        "variant_codec::serde::basis" "basis": [[f32; 3]; 3] = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]];
        "variant_codec::serde::transform3d" "transform3d": [[f32; 3]; 4] =
            [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0], [10.0, 11.0, 12.0]];
        "variant_codec::serde::projection" "projection": [[f32; 4]; 4] =
            [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0], [13.0, 14.0, 15.0, 16.0]];
        "variant_codec::serde::color" "color": [f32; 4] = [1.0, 0.5, 0.25, 0.1];
        "variant_codec::serde::byte_array" "byte_array": Vec<u8> = vec![1, 2, 3];
        "variant_codec::serde::int32_array" "int32_array": Vec<i32> = vec![1, -2];
        "variant_codec::serde::int64_array" "int64_array": Vec<i64> = vec![1, i64::MIN];
        "variant_codec::serde::float32_array" "float32_array": Vec<f32> = vec![0.1, 2.0];
        "variant_codec::serde::float64_array" "float64_array": Vec<f64> = vec![0.1, 2.0];
        "variant_codec::serde::string_array" "string_array": Vec<String> = vec!["a".into(), "größer".into()];
        "variant_codec::serde::vector2_array" "vector2_array": Vec<Point<f32>> =
            vec![Point { x: 1.0, y: 2.0 }, Point { x: 3.0, y: 4.0 }];
        "variant_codec::serde::vector3_array" "vector3_array": Vec<[f32; 3]> = vec![[1.0, 2.0, 3.0]];
        "variant_codec::serde::vector4_array" "vector4_array": Vec<[f32; 4]> = vec![[1.0, 2.0, 3.0, 4.0]];
        "variant_codec::serde::color_array" "color_array": Vec<[f32; 4]> = vec![[1.0, 0.5, 0.25, 0.1]];
        "variant_codec::serde::vector2" "no vector": Option<[f32; 2]> = None;
    }
    // Empty parts of a path, which the engine drops, do not come back.
    for (name, path) in
        [("node_path with empty names", "a//b/"), ("node_path with a colon at its end", "a:b:")]
    {
        let made = Value::from(path.parse::<variant_codec::NodePath>().unwrap());
        assert_eq!(hex::encode(made.encode().unwrap()), hex::encode(engine.bytes(name)), "{name}");
    }
}

fn fails<T: DeserializeOwned + Debug>(value: Value) -> (String, ErrorKind) {
    let error = from_value::<T>(value).expect_err("it fits");
    (error.path(), error.kind().clone())
}

#[test]
fn errors_have_paths() {
    let mut value = to_value(&save()).unwrap();
    *value.get_mut("inventory").unwrap().get_mut(1).unwrap().get_mut("count").unwrap() = 256.into();
    let message = |text: &str| ErrorKind::Message(text.into());
    let expected = message("invalid value: integer `256`, expected u8");
    assert_eq!(fails::<Save>(value.clone()), (r#"."inventory"[1]."count""#.into(), expected));
    let error = from_bytes::<Save>(&value.encode().unwrap(), &Limits::for_network()).unwrap_err();
    assert_eq!(error.path(), r#"."inventory"[1]."count""#);
    let damaged = &to_bytes(&save()).unwrap()[..40];
    let error = from_bytes::<Save>(damaged, &Limits::for_network()).unwrap_err();
    assert_eq!(error.offset(), Value::decode(damaged, &Limits::for_network()).unwrap_err().offset());
    assert!(error.offset().is_some());
    let shallow = Limits { max_depth: 1, ..Limits::for_network() };
    let error = from_bytes::<Save>(&to_bytes(&save()).unwrap(), &shallow).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::LimitExceeded(_, 1)), "{error}");

    let (path, kind) = fails::<Vec<i32>>(Value::from_iter([Value::Int(1), "two".into()]));
    assert_eq!((path.as_str(), kind), ("[1]", message("invalid type: string \"two\", expected i32")));
    let (path, _) = fails::<State>(Value::from_iter([("Jump", Value::from_iter([1.into(), Value::Nil]))]));
    assert_eq!(path, r#"."Jump"[1]"#);
    let (_, kind) = fails::<State>(7.into());
    assert_eq!(
        kind,
        ErrorKind::UnexpectedType {
            expected: "String or Dictionary with one entry",
            found: VariantType::Int
        }
    );
    let (_, kind) = fails::<State>("Fly".into());
    assert!(matches!(kind, ErrorKind::Message(text) if text.contains("unknown variant `Fly`")));
    let (path, _) = fails::<BTreeMap<u8, u8>>(Value::from_iter([("a", 1)]));
    assert_eq!(path, ".<key 0>");
    assert!(from_value::<(i32, i32)>([1, 2, 3].into()).is_err());
    assert!(from_value::<[f32; 3]>(Value::Vector2(Reals::Single([1.0, 2.0]))).is_err());

    let too_large = HashMap::from([("bytes", vec![1, u64::MAX])]);
    let error = to_value(&too_large).unwrap_err();
    assert_eq!(error.path(), r#"."bytes"[1]"#);
    assert!(matches!(error.kind(), ErrorKind::OutOfRange { expected: "int", .. }));
    #[derive(Serialize)]
    struct Field(#[serde(with = "variant_codec::serde::vector3")] [f32; 2]);
    let error = to_value(&[Field([1.0, 2.0])]).unwrap_err();
    assert_eq!((error.path().as_str(), error.kind()), ("[0]", &message("expected 3 numbers, found 2")));
}

/// Endless nesting is an error, not a crash.
#[test]
fn endless_nesting_is_an_error() {
    struct Endless;
    impl Serialize for Endless {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_seq([Endless])
        }
    }
    let too_deep = |endless| {
        let error: Error = to_value(&endless).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::TooDeep);
    };
    conformance::with_stack(16 << 20, move || too_deep(Endless));
}

#[test]
fn related_types_are_converted() {
    let object = Object::Full {
        class: "Item".into(),
        properties: vec![("id".into(), 1.into()), ("count".into(), 2.into()), ("tint".into(), Value::Nil)],
    };
    assert_eq!(from_value::<Item>(object.into()).unwrap(), Item { id: 1, count: 2, tint: None });
    let names = Value::from_iter([(Value::StringName("x".into()), 1), (Value::StringName("y".into()), 2)]);
    assert_eq!(from_value::<Point<u8>>(names).unwrap(), Point { x: 1, y: 2 });
    assert_eq!(from_value::<u64>(Value::Rid(u64::MAX)).unwrap(), u64::MAX);
    assert_eq!(from_value::<u64>(Value::Object(Object::Id(7))).unwrap(), 7);
    assert_eq!(from_value::<Option<u64>>(Value::Object(Object::Null)).unwrap(), None);
    assert_eq!(from_value::<Vec<i64>>(Value::PackedInt32Array(vec![1, 2])).unwrap(), [1, 2]);
    assert_eq!(from_value::<State>(Value::StringName("Idle".into())).unwrap(), State::Idle);
    // Addresses use their readable form, because scripts read them.
    let address: IpAddr = [127, 0, 0, 1].into();
    assert_eq!(to_value(&address).unwrap(), Value::from("127.0.0.1"));
    assert_eq!(from_value::<IpAddr>("127.0.0.1".into()).unwrap(), address);
    #[derive(Debug, PartialEq, Deserialize)]
    struct OnlyX {
        x: i32,
    }
    let more = Value::from_iter([("w", Value::Callable), ("x", 1.into())]);
    assert_eq!(from_value::<OnlyX>(more.clone()).unwrap(), OnlyX { x: 1 });
    from_value::<IgnoredAny>(more).unwrap();
}

/// A Dictionary that resembles the form of another type stays a Dictionary.
#[test]
fn forms_are_not_mistaken() {
    for value in [
        Value::from_iter([("Vector2", Value::from([1.0, 2.0]))]),
        Value::from_iter([("Nil", 1)]),
        Value::from_iter([("Vector2", 1), ("b", 2)]),
        Value::from_iter([(1, 2)]),
        Value::Array(Array { element: OwnedElementType::Class("Node".into()), ..Array::default() }),
        Value::Dictionary(Dictionary {
            key: OwnedElementType::Builtin(VariantType::Int),
            value: OwnedElementType::Script("res://a.gd".into()),
            ..Dictionary::default()
        }),
        Value::Object(Object::Null),
    ] {
        let json = serde_json::to_string(&value).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), value, "{json}");
        assert_eq!(to_value(&value).unwrap(), value);
        assert_eq!(from_value::<Value>(value.clone()).unwrap(), value);
    }
    for wrong in [
        r#"{"Vector2":[1]}"#,
        r#"{"Vector2":7}"#,
        r#"{"Vector2i":[1,2147483648]}"#,
        r#"{"PackedVector2Array":[1,2,3]}"#,
        r#"{"Array":{"element":{"builtin":"Vektor"},"values":[]}}"#,
        r#"{"Dictionary":{"key":null,"value":null,"entries":[[1]]}}"#,
        r#"{"Signal":{"name":"hit"}}"#,
        "18446744073709551615",
    ] {
        assert!(serde_json::from_str::<Value>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn any_value_round_trips() {
    for precision in [Precision::Single, Precision::Double] {
        proptest!(|(value in Values { precision, full_objects: true }.any())| {
            let bytes = value.encode().unwrap();
            prop_assert_eq!(to_value(&value).unwrap().encode().unwrap(), &bytes[..]);
            prop_assert_eq!(from_value::<Value>(value.clone()).unwrap().encode().unwrap(), &bytes[..]);
            let json = serde_json::to_string(&value).unwrap();
            let read: Value = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(read.encode().unwrap(), bytes, "{}", json);
        });
    }
}

fn trusted() -> Limits {
    Limits { allow_objects: true, ..Limits::for_save_files() }
}

/// A value that strict decoding refuses, and the path to the cause.
fn spoilt() -> impl Strategy<Value = (Value, &'static str)> {
    let texts = prop_oneof!["[a-z]{0,3}\0[a-z]{0,3}", "\u{FEFF}[a-z]{0,3}"];
    let path = |name: String| NodePath { names: vec![name], ..NodePath::default() };
    let misfits = |text: String| Array {
        element: OwnedElementType::Builtin(VariantType::Int),
        values: vec![text.into()],
    };
    prop_oneof![
        texts.clone().prop_map(|text| (Value::String(text), "")),
        texts.clone().prop_map(|text| (Value::StringName(text), "")),
        texts.clone().prop_map(move |text| (path(text).into(), "")),
        texts.clone().prop_map(|name| (Value::Signal { name, object: 1 }, "")),
        texts.clone().prop_map(|text| (Value::PackedStringArray(vec![String::new(), text]), "[1]")),
        texts.clone().prop_map(|text| (Value::from_iter([(text, 1)]), ".<key 0>")),
        texts.clone().prop_map(|text| (Value::from_iter([("a", text)]), ".\"a\"")),
        texts.prop_map(|class| (Object::Full { class, properties: Vec::new() }.into(), "")),
        "[a-z]".prop_map(move |text| (misfits(text).into(), "[0]")),
        (0..9_i64).prop_map(|key| (
            nested(Value::from(key), 103, |value| Value::from_iter([(value, 1)])),
            ".<key 0>"
        )),
        "[a-z]".prop_map(|path| {
            let element = OwnedElementType::Script(path);
            (Array { element, ..Array::default() }.into(), "")
        }),
    ]
}

fn nested(mut value: Value, levels: u32, wrap: impl Fn(Value) -> Value) -> Value {
    for _ in 0..levels {
        value = wrap(value);
    }
    value
}

/// Every written value can be read. Other values are refused on writing, with the path to the cause.
#[test]
fn what_is_written_can_be_read() {
    proptest!(|(value in Values { full_objects: true, ..Values::default() }.any())| {
        let bytes = to_bytes(&value).unwrap();
        prop_assert_eq!(from_bytes::<Value>(&bytes, &trusted()).unwrap().encode().unwrap(), bytes);
    });
    proptest!(|((value, path) in spoilt())| {
        prop_assert!(Value::decode(&value.encode().unwrap(), &trusted()).is_err());
        let error = to_bytes(&[Value::Nil, value]).unwrap_err();
        prop_assert!(error.path().starts_with(&format!("[1]{path}")), "{}", error);
        prop_assert_eq!(error.offset(), None);
    });
    proptest!(|(text in proptest::prelude::any::<String>(), unit: char, wide: u64, widest: i128, key: f64)| {
        fn comes_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T, is_written: bool) {
            match to_bytes(&value) {
                Ok(bytes) => assert_eq!(from_bytes::<T>(&bytes, &trusted()).unwrap(), value),
                Err(error) => assert!(!is_written, "{error}"),
            }
            assert_eq!(to_bytes(&value).is_ok(), is_written);
        }
        let is_text = !text.contains('\0') && !text.starts_with('\u{FEFF}');
        comes_back(text.clone(), is_text);
        comes_back(BTreeMap::from([(text, 1)]), is_text);
        comes_back(unit, unit != '\0' && unit != '\u{FEFF}');
        comes_back(wide, i64::try_from(wide).is_ok());
        comes_back(widest, i64::try_from(widest).is_ok());
        comes_back(key.to_bits() as i64, true);
        let map = Value::from_iter([(key, 1)]);
        prop_assert_eq!(Value::decode(&to_bytes(&map).unwrap(), &trusted()).unwrap().encode().unwrap(), map.encode().unwrap());
    });
    let error = to_bytes(&BTreeMap::from([("name", vec!["a", "b\0c"])])).unwrap_err();
    assert_eq!(error.to_string(), r#"text contains U+0000, which readers reject or drop (at ."name"[1])"#);
}

#[derive(Debug, PartialEq, Deserialize, Serialize)]
struct Known {
    hp: i32,
    #[serde(flatten)]
    more: BTreeMap<String, Value>,
}

/// Values come back even at the format's maximum depth. As forms, they would nest too deeply.
#[test]
fn the_deepest_values_round_trip() {
    let typed = |value| {
        let element = OwnedElementType::Builtin(VariantType::Array);
        Value::Array(Array { element, values: vec![value] })
    };
    let dictionary = |value| {
        let key = OwnedElementType::Builtin(VariantType::Int);
        Value::Dictionary(Dictionary { key, entries: vec![(1.into(), value)], ..Dictionary::default() })
    };
    let object =
        |value| Value::Object(Object::Full { class: "A".into(), properties: vec![("a".into(), value)] });
    let check = move |value: Value| {
        let bytes = to_bytes(&value).unwrap();
        assert_eq!(bytes, value.encode().unwrap());
        assert_eq!(from_bytes::<Value>(&bytes, &trusted()).unwrap().encode().unwrap(), bytes);
    };
    let run = move || {
        let innermost = || typed(Value::from(Vec::<Value>::new()));
        check(nested(innermost(), 1023, typed));
        check(nested(Value::Nil, 1024, dictionary));
        check(nested(Value::Nil, 1024, object));
        check(nested(Value::PackedVector2Array(PackedReals::Double(vec![[1.0, 2.0]])), 1024, dictionary));
        assert_eq!(to_bytes(&nested(innermost(), 1024, typed)).unwrap_err().kind(), &ErrorKind::TooDeep);
        assert_eq!(to_bytes(&nested(Value::Nil, 1025, object)).unwrap_err().kind(), &ErrorKind::TooDeep);
    };
    conformance::with_stack(16 << 20, run);
}

#[derive(Debug, PartialEq, Deserialize, Serialize)]
struct Transform {
    #[serde(with = "variant_codec::serde::vector2")]
    position: Point<f32>,
    #[serde(with = "variant_codec::serde::vector3i")]
    cell: [i32; 3],
    #[serde(with = "variant_codec::serde::rect2")]
    area: [[f32; 2]; 2],
    #[serde(with = "variant_codec::serde::string_name")]
    animation: String,
    #[serde(with = "variant_codec::serde::node_path")]
    path: String,
    #[serde(with = "variant_codec::serde::byte_array")]
    icon: Vec<u8>,
    #[serde(with = "variant_codec::serde::float64_array")]
    times: Vec<f64>,
    #[serde(with = "variant_codec::serde::vector3_array")]
    points: Vec<[f32; 3]>,
    #[serde(with = "variant_codec::serde::color")]
    tint: Option<[f32; 4]>,
}

fn transform() -> Transform {
    Transform {
        position: Point { x: 0.1, y: f32::NEG_INFINITY },
        cell: [1, -2, i32::MAX],
        area: [[1.0, 2.0], [3.0, 4.0]],
        animation: "run".into(),
        path: "/root/A:b".into(),
        icon: vec![0, 255],
        times: vec![0.1, f64::INFINITY],
        points: vec![[0.1, 0.2, 0.3]],
        tint: None,
    }
}

#[derive(Debug, PartialEq, Deserialize, Serialize)]
struct Flattened {
    id: u8,
    #[serde(flatten)]
    transform: Transform,
}

#[derive(Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind")]
enum Tagged {
    Moved(Transform),
    Other { id: u8 },
}

#[derive(Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
enum Untagged {
    Moved(Transform),
    Other(u8),
}

/// Flattened, tagged and untagged types lose Variant types in serde's buffer. The modules of
/// `variant_codec::serde` restore them.
#[test]
fn buffered_fields_keep_their_types() {
    fn comes_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T) {
        let bytes = to_bytes(&value).unwrap();
        assert_eq!(from_bytes::<T>(&bytes, &trusted()).unwrap(), value);
        let json = serde_json::to_string(&value).unwrap();
        assert_eq!(serde_json::from_str::<T>(&json).unwrap(), value, "{json}");
        // serde_json sorts the maps of its values.
        let json = serde_json::to_value(&value).unwrap();
        assert_eq!(serde_json::from_value::<T>(json).unwrap(), value);
    }
    comes_back(transform());
    comes_back(Flattened { id: 1, transform: transform() });
    comes_back(Tagged::Moved(transform()));
    comes_back(Untagged::Moved(transform()));
    assert_eq!(
        to_value(&Flattened { id: 1, transform: transform() }).unwrap()["position"].ty(),
        VariantType::Vector2
    );

    // The types that a buffered Value loses are documented.
    let read: [(Value, Value); 9] = [
        (Value::StringName("a".into()), "a".into()),
        (NodePath { names: vec!["a".into()], ..NodePath::default() }.into(), "a".into()),
        (Value::Rid(7), 7.into()),
        (Value::Callable, Value::Nil),
        (Value::Vector2(Reals::Double([1.0, 2.0])), Value::from([1.0, 2.0])),
        (Value::PackedInt64Array(vec![1]), Value::from([1])),
        (Value::PackedFloat64Array(vec![1.0]), Value::from([1.0])),
        (Value::PackedStringArray(vec!["a".into()]), Value::from(["a"])),
        (
            Array { element: OwnedElementType::Builtin(VariantType::Int), values: vec![1.into()] }.into(),
            Value::from([1]),
        ),
    ];
    for (value, read) in read {
        let save = Value::from_iter([("hp", Value::Int(1)), ("value", value.clone())]);
        let found = from_value::<Known>(save).map(|known| known.more["value"].clone());
        assert_eq!(found.unwrap(), read, "{value:?}");
    }
}

/// Forms that hand-written JSON uses.
#[test]
fn plain_forms_are_read_from_other_formats() {
    let json = r#"{"position": {"y": 2, "x": 1.5}, "cell": [1, 2, 3], "area": [1, 2, 3, 4], "animation": "run",
        "path": "a/b:c", "icon": [0, 255], "times": [0.1], "points": [[1, 2, 3]], "tint": [1, 0.5, 0, 1]}"#;
    let read: Transform = serde_json::from_str(json).unwrap();
    assert_eq!((read.position, read.cell), (Point { x: 1.5, y: 2.0 }, [1, 2, 3]));
    assert_eq!((read.area, read.points), ([[1.0, 2.0], [3.0, 4.0]], vec![[1.0, 2.0, 3.0]]));
    assert_eq!((read.tint, read.icon, read.times), (Some([1.0, 0.5, 0.0, 1.0]), vec![0, 255], vec![0.1]));
    #[derive(Debug, PartialEq, Deserialize)]
    struct Wide(#[serde(with = "variant_codec::serde::vector2")] [f64; 2]);
    assert_eq!(serde_json::from_str::<Wide>("[0.1, 16777217]").unwrap(), Wide([0.1, 16_777_217.0]));
    for wrong in
        ["[1]", "[1, 2, 3]", "7", r#""a""#, r#"[1, "a"]"#, r#"[1, null]"#, r#"{"Vector3": [1, 2, 3]}"#]
    {
        assert!(serde_json::from_str::<Wide>(wrong).is_err(), "{wrong}");
    }
    // A Variant must have the same type; fitting content is not enough.
    let array = Value::from([1.0, 2.0]);
    let error = from_value::<BTreeMap<String, Wide>>(Value::from_iter([("a", array)])).unwrap_err();
    assert_eq!(error.to_string(), r#"expected Vector2, found Array (at ."a")"#);
}

/// JSON has no numbers for these floats, and `null` is not a float.
#[test]
fn floats_that_are_not_finite_come_back_from_json() {
    let odd = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN, f64::from_bits(0x7FF0_0000_0000_0001)];
    for float in odd {
        let value = Value::from_iter([Value::Float(float), Value::Vector2(Reals::Double([1.0, float]))]);
        let json = serde_json::to_string(&value).unwrap();
        let read: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(read.encode().unwrap(), value.encode().unwrap(), "{json}");
    }
    let value = Value::from([f64::NEG_INFINITY, f64::from_bits(0x7FF8 << 48)]);
    assert_eq!(serde_json::to_string(&value).unwrap(), r#"[{"float":"-inf"},{"float":"nan"}]"#);
    for wrong in [
        r#"{"Vector2":null}"#,
        r#"{"Vector2":[null,1.0]}"#,
        r#"{"PackedFloat32Array":null}"#,
        r#"{"NodePath":null}"#,
        r#"{"float":null}"#,
        r#"{"float":1.5}"#,
        r#"{"float":"nan:3ff0000000000000"}"#,
        // The fields of a JSON object have no order.
        r#"{"Vector2":{"x":1.0,"y":2.0}}"#,
    ] {
        assert!(serde_json::from_str::<Value>(wrong).is_err(), "{wrong}");
    }
}

/// Keys that are not text are ignored, like unknown fields.
#[test]
fn keys_that_are_not_text_are_ignored() {
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Exact {
        hp: i32,
    }
    #[derive(Debug, PartialEq, Deserialize)]
    struct Hp {
        hp: i32,
    }
    #[derive(Debug, PartialEq, Deserialize)]
    struct Outer {
        #[serde(flatten)]
        inner: Hp,
    }
    #[derive(Debug, PartialEq, Deserialize)]
    enum Event {
        Hit { hp: i32 },
    }
    let path = NodePath { names: vec!["hp".into()], ..NodePath::default() };
    for key in [
        Value::Int(0),
        Value::Nil,
        true.into(),
        0.5.into(),
        Value::Rid(0),
        Value::Callable,
        path.into(),
        Value::PackedByteArray(b"hp".to_vec()),
        Value::Vector2i([1, 2]),
        Value::from(["hp"]),
        Value::from_iter([("hp", 1)]),
    ] {
        let save = Value::from_iter([(key.clone(), Value::Nil), (Value::StringName("hp".into()), 7.into())]);
        assert_eq!(from_value::<Hp>(save.clone()).unwrap(), Hp { hp: 7 }, "{key:?}");
        assert_eq!(from_value::<Outer>(save.clone()).unwrap(), Outer { inner: Hp { hp: 7 } }, "{key:?}");
        let event = Value::from_iter([("Hit", save.clone())]);
        assert_eq!(from_value::<Event>(event).unwrap(), Event::Hit { hp: 7 }, "{key:?}");
        let error = from_value::<Exact>(save).unwrap_err().to_string();
        assert_eq!(error, format!("unknown field `<key of type {}>`, expected `hp` (at .<key 0>)", key.ty()));
        from_value::<Exact>(Value::from_iter([(Value::StringName("hp".into()), 7)])).unwrap();
    }
    // A flattened map with String keys refuses ints and vectors.
    for key in [Value::Int(1), Value::Vector2i([1, 2])] {
        let save = Value::from_iter([("hp".into(), Value::Int(1)), (key, 2.into())]);
        assert!(from_value::<Known>(save).is_err());
    }
}

#[derive(Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "type")]
enum Message {
    Spawn(Value),
    At(#[serde(with = "variant_codec::serde::vector2")] [f32; 2]),
    Move(Position),
    Named(Tagless),
}

#[derive(Debug, PartialEq, Deserialize, Serialize)]
struct Position {
    #[serde(with = "variant_codec::serde::vector2")]
    position: [f32; 2],
}

#[derive(Debug, PartialEq, Deserialize, Serialize)]
struct Tagless {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Debug, PartialEq, Deserialize, Serialize)]
struct Rest {
    hp: i32,
    #[serde(flatten)]
    rest: Value,
}

#[derive(Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    Any(Value),
}

#[derive(Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
enum Any {
    Any(Value),
}

fn values_that_are_no_maps() -> Vec<Value> {
    vec![
        Value::Vector2(Reals::Single([1.0, 2.0])),
        Value::PackedInt32Array(vec![1]),
        Value::StringName("a".into()),
        Value::Rid(7),
        Value::Callable,
        1.into(),
        "a".into(),
        [1, 2].into(),
        f64::INFINITY.into(),
        Dictionary { key: OwnedElementType::Builtin(VariantType::String), ..Dictionary::default() }.into(),
    ]
}

/// Tags and flattened fields need Dictionaries. Other values are an error, and leave no state behind.
#[test]
fn failed_calls_leave_no_state() {
    let secret = || Value::from_iter([("secret", Value::Vector2(Reals::Single([1.0, 2.0])))]);
    let calls: [&dyn Fn(Value) -> Result<Value, Error>; 2] =
        [&|value| to_value(&Message::Spawn(value)), &|rest| to_value(&Rest { hp: 1, rest })];
    for call in calls {
        for value in values_that_are_no_maps() {
            let error = call(value.clone()).expect_err("a form or nothing would be written").to_string();
            let is_ours = error.starts_with("only untyped Dictionaries can be flattened");
            let is_of_serde = error.contains("cannot serialize tagged newtype variant")
                || error.starts_with("can only flatten structs and maps");
            assert!(is_ours || is_of_serde, "{value:?}: {error}");
            assert_eq!(serde_json::from_str::<Value>("null").unwrap(), Value::Nil);
        }
        assert_eq!(call(secret()).unwrap()["secret"], secret()["secret"]);
        let nil = Value::from_iter([("hp", Value::Int(1)), ("b", Value::Nil)]);
        assert_eq!(from_value::<Known>(nil).unwrap().more["b"], Value::Nil);
        assert_eq!(serde_json::from_str::<Value>("null").unwrap(), Value::Nil);
    }
    let both = vec![Message::Spawn(secret()), Message::Move(Position { position: [3.0, 4.0] })];
    let value = to_value(&both).unwrap();
    assert_eq!(value[1]["position"], Value::Vector2(Reals::Single([3.0, 4.0])));
    assert_eq!(from_value::<Vec<Message>>(value).unwrap(), both);
    to_value(&Message::At([1.0, 2.0])).expect_err("a form would be written");
    let error = to_value(&Message::Named(Tagless { kind: "a".into() })).unwrap_err();
    assert_eq!(error.to_string(), r#"duplicate key (at ."type")"#);

    // A type that serializes its value in a newtype variant, as wrappers of other crates do.
    struct Around<S>(S);
    impl Serialize for Around<Value> {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_newtype_variant("Outer", 0, "inner", &self.0)
        }
    }
    let inner = to_value(&Around(secret())).unwrap();
    assert_eq!(inner["inner"], secret());
}

/// Flattened Dictionaries come back unchanged, whatever they resemble.
#[test]
fn flattened_values_stay_dictionaries() {
    for rest in [
        Value::from_iter([("Vector2", [1, 2])]),
        Value::from_iter([("a", 1), ("b", 2)]),
        Value::from_iter([(Value::Int(3), 1)]),
        Value::from_iter([("Object", Value::from_iter([("class", "Node")]))]),
        Value::from_iter([("points", Value::PackedVector2Array(PackedReals::Single(vec![[1.0, 2.0]])))]),
    ] {
        let value = to_value(&Rest { hp: 1, rest: rest.clone() }).unwrap();
        assert_eq!(
            value.as_dictionary().unwrap().len(),
            1 + rest.as_dictionary().unwrap().len(),
            "{value:?}"
        );
        assert_eq!(from_value::<Rest>(value).unwrap(), Rest { hp: 1, rest });
    }
    let named = Rest { hp: 1, rest: Value::from_iter([(Value::StringName("a".into()), 1)]) };
    let read: Rest = from_value(to_value(&named).unwrap()).unwrap();
    assert_eq!(read.rest, Value::from_iter([("a", 1)]));
}

/// If packets could contain forms, a sender could turn Dictionaries into types that the limits do not allow.
#[test]
fn forms_are_not_read_from_packets() {
    fn read<T: DeserializeOwned>(value: &Value) -> T {
        from_bytes(&value.encode().unwrap(), &Limits::for_network()).unwrap()
    }
    let node = Value::from_iter([
        ("class", Value::from("Node")),
        ("properties", Value::from_iter([Value::from(["name", "A"])])),
    ]);
    for (name, content) in [
        ("Object", node),
        ("Object", 7.into()),
        ("RID", 77.into()),
        ("Vector2", [1.0, 2.0].into()),
        ("Color", "boo".into()),
        ("Callable", Value::Nil),
        ("Signal", Value::from_iter([("name", Value::from("hit")), ("object", 7.into())])),
        ("float", "nan".into()),
    ] {
        let forged = Value::from_iter([(name, content)]);
        let inside = Value::from_iter([("a", forged.clone())]);
        for forged in [forged, inside] {
            let packet = Value::from_iter([("hp", Value::Int(1)), ("x", forged.clone())]);
            assert_eq!(read::<Known>(&packet).more["x"], forged);
            assert_eq!(read::<Rest>(&packet).rest, Value::from_iter([("x", forged.clone())]));
            assert_eq!(read::<Any>(&forged), Any::Any(forged.clone()));
            assert_eq!(read::<Vec<Any>>(&Value::from_iter([forged.clone()])), [Any::Any(forged.clone())]);
            for names in [["t", "c"], ["c", "t"]] {
                let content = |name| if name == "t" { "Any".into() } else { forged.clone() };
                let packet = names.into_iter().map(|name| (name, content(name)));
                assert_eq!(read::<Adjacent>(&Value::from_iter(packet)), Adjacent::Any(forged.clone()));
            }
            let mut tagged = forged.as_dictionary().unwrap().clone();
            tagged.entries.insert(0, ("type".into(), "Spawn".into()));
            assert_eq!(read::<Message>(&tagged.into()), Message::Spawn(forged.clone()));
        }
    }
}

/// Every type survives serde's buffer, at the top and in containers, except the types in the module's table.
#[test]
fn types_survive_the_buffer() {
    const LOSSY: [&str; 14] = [
        "Double(",
        "StringName(",
        "NodePath(",
        "Rid(",
        "Object(",
        "Callable",
        "Signal",
        "PackedInt64Array",
        "PackedFloat64Array",
        "PackedStringArray",
        "Builtin(",
        "Class(",
        "32Array([])",
        "ColorArray([])",
    ];
    let lossy = |value: &Value| {
        let text = format!("{value:?}");
        LOSSY.iter().any(|word| text.contains(word)) || text.contains("Single([])")
    };
    let types = RefCell::new(BTreeSet::new());
    // Under emulation, PROPTEST_CASES may be too small to meet most types.
    for _ in 0..100 {
        proptest!(|(value in Values { precision: Precision::Single, full_objects: false }.any())| {
            if !lossy(&value) {
                let Any::Any(read) = from_value(value.clone()).unwrap();
                prop_assert_eq!(read.encode().unwrap(), value.encode().unwrap(), "{:?}", value);
                types.borrow_mut().insert(value.ty().name());
            }
        });
        if types.borrow().len() > 15 {
            return;
        }
    }
    panic!("only these types were met: {types:?}");
}

#[derive(Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
enum Shape {
    Area(#[serde(with = "variant_codec::serde::rect2")] [f32; 4]),
    Tint(#[serde(with = "variant_codec::serde::color")] [f32; 4]),
    Plane(#[serde(with = "variant_codec::serde::plane")] [f32; 4]),
    Turn(#[serde(with = "variant_codec::serde::quaternion")] [f32; 4]),
    Vector(#[serde(with = "variant_codec::serde::vector4")] [f32; 4]),
    Cells(#[serde(with = "variant_codec::serde::vector4i")] [i32; 4]),
    Grid(#[serde(with = "variant_codec::serde::rect2i")] [i32; 4]),
    Box(#[serde(with = "variant_codec::serde::aabb")] [f32; 6]),
    Place(#[serde(with = "variant_codec::serde::transform2d")] [[f32; 2]; 3]),
    Colors(#[serde(with = "variant_codec::serde::color_array")] Vec<[f32; 4]>),
    Vectors(#[serde(with = "variant_codec::serde::vector4_array")] Vec<[f32; 4]>),
    Floats(#[serde(with = "variant_codec::serde::float32_array")] Vec<f32>),
    Ints(#[serde(with = "variant_codec::serde::int32_array")] Vec<i32>),
    Plain([f32; 4]),
    Nested(Vec<Shape>),
}

/// A module reads only its own type from serde's buffer.
#[test]
fn modules_read_only_their_type_from_the_buffer() {
    let shapes = || {
        vec![
            Shape::Area([1.0; 4]),
            Shape::Tint([0.0; 4]),
            Shape::Plane([-0.0, f32::INFINITY, 0.1, 1.0]),
            Shape::Turn([1.0; 4]),
            Shape::Vector([1.0; 4]),
            Shape::Cells([1, -2, i32::MIN, 0]),
            Shape::Grid([1; 4]),
            Shape::Box([1.0; 6]),
            Shape::Place([[1.0; 2]; 3]),
            Shape::Colors(vec![[1.0; 4]]),
            Shape::Vectors(vec![[1.0; 4]; 2]),
            Shape::Floats(vec![1.0; 4]),
            Shape::Ints(vec![1; 4]),
            Shape::Plain([1.0; 4]),
        ]
    };
    for shape in shapes().into_iter().chain([Shape::Nested(shapes())]) {
        let value = to_value(&shape).unwrap();
        assert_eq!(from_value::<Shape>(value).unwrap(), shape);
        let json = serde_json::to_string(&shape).unwrap();
        assert!(serde_json::from_str::<Shape>(&json).is_ok(), "{json}");
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Outer {
        #[serde(flatten)]
        inner: Position,
    }
    for wrong in [
        Value::Vector2i([1, 2]),
        [1, 2].into(),
        [1.0, 2.0].into(),
        Value::PackedFloat64Array(vec![1.0, 2.0]),
        Value::PackedFloat32Array(vec![1.0, 2.0]),
        Value::Vector2(Reals::Double([1.0, 2.0])),
        Value::from_iter([("Vector2", [1, 2])]),
        Value::from_iter([("x", 1), ("y", 2)]),
        "a".into(),
    ] {
        let error = from_value::<Outer>(Value::from_iter([("position", wrong.clone())])).unwrap_err();
        assert!(error.to_string().starts_with("expected Vector2, found "), "{wrong:?}: {error}");
    }
}

/// The engine keeps one of two equal keys. Each pair of keys comes with the number of entries that a
/// Dictionary has in Godot 4.6.3 after both are inserted.
#[test]
fn equal_keys_match_the_engine() {
    let twice = Known { hp: 1, more: BTreeMap::from([("a".into(), 1.into()), ("hp".into(), 2.into())]) };
    let error = to_bytes(&[twice]).unwrap_err();
    assert_eq!(error.to_string(), r#"duplicate key (at [0]."hp")"#);
    struct Entries([(Value, i32); 2]);
    impl Serialize for Entries {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
        }
    }
    let map = |key: Value, value: Value| Value::from_iter([(key, value)]);
    let name = |text: &str| Value::StringName(text.into());
    let vector = |x| Value::Vector2(Reals::Single([x, 1.0]));
    let list = |value: Value| Value::from_iter([value]);
    let ints = |values: Vec<Value>| -> Value {
        Array { element: OwnedElementType::Builtin(VariantType::Int), values }.into()
    };
    let nan = f64::NAN;
    let path = NodePath { names: vec!["a".into()], ..NodePath::default() };
    for (first, second, entries) in [
        ("a".into(), name("a"), 1),
        (0.0.into(), (-0.0).into(), 1),
        (nan.into(), (-nan).into(), 1),
        (list(nan.into()), list(nan.into()), 2),
        (list(0.0.into()), list((-0.0).into()), 1),
        (list(vector(f32::NAN)), list(vector(-f32::NAN)), 1),
        (list(vector(0.0)), list(vector(-0.0)), 1),
        (ints(vec![1.into()]), list(1.into()), 1),
        (list(ints(vec![1.into()])), list(list(1.into())), 1),
        (list("a".into()), list(name("a")), 2),
        (map("a".into(), 1.into()), map(name("a"), 1.into()), 1),
        (map("a".into(), "x".into()), map("a".into(), name("x")), 2),
        (map("a".into(), nan.into()), map("a".into(), nan.into()), 2),
        (map(nan.into(), 1.into()), map((-nan).into(), 1.into()), 1),
        (map("a".into(), 0.0.into()), map("a".into(), (-0.0).into()), 1),
        (map(0.0.into(), 1.into()), map((-0.0).into(), 1.into()), 1),
        (list(map("a".into(), 1.into())), list(map(name("a"), 1.into())), 1),
        (vector(0.0), vector(-0.0), 1),
        (vector(f32::NAN), vector(-f32::NAN), 1),
        (Value::Color([0.0; 4]), Value::Color([-0.0; 4]), 1),
        (Value::PackedFloat32Array(vec![0.0]), Value::PackedFloat32Array(vec![-0.0]), 1),
        (Value::PackedFloat64Array(vec![nan]), Value::PackedFloat64Array(vec![-nan]), 1),
        (Value::PackedColorArray(vec![[0.0; 4]]), Value::PackedColorArray(vec![[-0.0; 4]]), 1),
        (
            Value::PackedVector2Array(PackedReals::Single(vec![[0.0, 1.0]])),
            Value::PackedVector2Array(PackedReals::Single(vec![[-0.0, 1.0]])),
            1,
        ),
        (Value::Projection(Reals::Single([0.0; 16])), Value::Projection(Reals::Single([-0.0; 16])), 1),
        ("a".into(), path.into(), 2),
        (1.into(), 1.0.into(), 2),
        (Value::Callable, Value::Callable, 1),
    ] {
        let message = format!("{first:?} {second:?}");
        let written = to_bytes(&Entries([(first, 1), (second, 2)]));
        assert_eq!(written.is_ok(), entries == 2, "{message}");
        if let Err(error) = written {
            assert!(error.to_string().starts_with("duplicate key (at "), "{error}");
        }
    }
}
