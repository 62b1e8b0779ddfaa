//! Types of Rust programs as the engine writes the same: `vectors/serde.tsv` holds what it wrote for each name used here.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::net::IpAddr;
use std::path::Path;

use conformance::Values;
use proptest::{prop_assert, prop_assert_eq, proptest};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use variant_codec::serde::{from_bytes, from_value, to_bytes, to_value};
use variant_codec::stream::Precision;
use variant_codec::value::OwnedElementType;
use variant_codec::{Array, Dictionary, Error, ErrorKind, Limits, Object, Reals, Value, VariantType};

/// What the engine wrote, by name, and which names have been asked for.
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

    /// A type writes what the engine writes, and reads it back.
    fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(&self, name: &str, value: T) {
        let bytes = self.bytes(name);
        assert_eq!(hex::encode(to_bytes(&value).unwrap()), hex::encode(bytes), "{name}");
        self.reads(name, value);
    }

    fn reads<T: DeserializeOwned + PartialEq + Debug>(&self, name: &str, value: T) {
        let read: T = from_bytes(self.bytes(name), &Limits::for_network())
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

/// Bytes, which serde does not tell from a sequence of its own accord.
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

/// A field of a type that Rust has no name for, as the engine writes it.
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
        // As the engine makes it of an angle of 0.
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
    engine.check("save", save());
    engine.reads::<Value>("save", to_value(&save()).unwrap());
    types_of_godot(&engine);
    let known: BTreeSet<String> = engine.bytes.keys().cloned().collect();
    assert_eq!(*engine.asked.borrow(), known, "a row that nothing looked at");
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
    // What the engine leaves out of a path does not come back.
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
fn errors_say_where() {
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

/// What nests without an end is an error, not a crash.
#[test]
fn nesting_ends() {
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
    std::thread::Builder::new()
        .stack_size(16 << 20)
        .spawn(move || too_deep(Endless))
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn other_types_are_read_too() {
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
    // Readable forms, since scripts read them.
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

/// A Dictionary that looks like a form of another value is none.
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

/// Whether there is a float in it that JSON has no form for.
fn has_no_json(value: &Value) -> bool {
    let bytes = serde_json::to_string(value);
    bytes.is_err() || format!("{value:?}").contains("NaN") || format!("{value:?}").contains("inf")
}

#[test]
fn any_value_comes_back() {
    for precision in [Precision::Single, Precision::Double] {
        proptest!(|(value in Values { precision, full_objects: true }.any())| {
            let bytes = value.encode().unwrap();
            let same = to_value(&value).unwrap();
            let has_nan = format!("{:?}", value).contains("NaN");
            prop_assert!(same == value || has_nan);
            let same = from_value::<Value>(value.clone()).unwrap();
            let has_nan = format!("{:?}", value).contains("NaN");
            prop_assert!(same == value || has_nan);
            if !has_no_json(&value) {
                let json = serde_json::to_string(&value).unwrap();
                let read: Value = serde_json::from_str(&json).unwrap();
                prop_assert_eq!(read.encode().unwrap(), bytes, "{}", json);
            }
        });
    }
}
