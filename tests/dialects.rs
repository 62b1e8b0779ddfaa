//! Godot 3's format compared with Godot 4's and with `docs/migrating-from-godot-3.md`. The bytes in
//! `godot_3_reads_and_writes_this` come from Godot 3.2.3. `godot3_vectors.rs`
//! compares with Godot 3's own answers.

use std::collections::BTreeMap;

use variant_codec::dialect::GODOT3_TYPES;
use variant_codec::error::Oddity;
use variant_codec::godot3::{COUNTERPARTS, Downgrade, Loss};
use variant_codec::stream::{Decoder, Sink as _, Text, ValueBuilder};
use variant_codec::{
    ErrorKind, Limits, NodePath, Object, PackedReals, Reals, Strictness, Value, VariantType,
};

const DOCUMENT: &str = include_str!("../docs/migrating-from-godot-3.md");

/// The cells of the document's table with this head, row by row.
fn table(head: &str) -> Vec<Vec<&'static str>> {
    let (_, rows) = DOCUMENT.split_once(head).expect("the table is there");
    let rows = rows.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    hex::decode(hex.replace(' ', "")).expect("valid hex")
}

fn decode(hex: &str, strictness: Strictness, lossy: bool) -> variant_codec::Result<Value> {
    let (bytes, limits) = (bytes(hex), Limits::unlimited());
    let mut builder = ValueBuilder::default();
    Decoder::of_godot3(&bytes, strictness, &limits, Loss::accepted_if(lossy)).decode_only(&mut builder)?;
    Ok(builder.into_value())
}

fn strict(hex: &str) -> variant_codec::Result<Value> {
    decode(hex, Strictness::Strict, false)
}

/// A non-empty value of the type, with numbers that every float represents exactly.
fn example(ty: VariantType) -> Value {
    use VariantType as T;
    let text = || "hp".to_owned();
    match ty {
        T::Nil => Value::Nil,
        T::Bool => Value::Bool(true),
        T::Int => Value::Int(7),
        T::Float => Value::Float(0.5),
        T::String => Value::String(text()),
        T::Vector2 => Value::Vector2(Reals::Single([1.0, 2.0])),
        T::Vector2i => Value::Vector2i([1, -2]),
        T::Rect2 => Value::Rect2(Reals::Single([1.0; 4])),
        T::Rect2i => Value::Rect2i([1, 2, 3, -4]),
        T::Vector3 => Value::Vector3(Reals::Single([1.0; 3])),
        T::Vector3i => Value::Vector3i([1, 2, -3]),
        T::Transform2D => Value::Transform2D(Reals::Single([1.0; 6])),
        T::Vector4 => Value::Vector4(Reals::Single([1.0, 2.0, 3.0, 4.0])),
        T::Vector4i => Value::Vector4i([1, 2, 3, -4]),
        T::Plane => Value::Plane(Reals::Single([1.0; 4])),
        T::Quaternion => Value::Quaternion(Reals::Single([1.0; 4])),
        T::Aabb => Value::Aabb(Reals::Single([1.0; 6])),
        T::Basis => Value::Basis(Reals::Single([1.0; 9])),
        T::Transform3D => Value::Transform3D(Reals::Single([1.0; 12])),
        T::Projection => Value::Projection(Reals::Single([1.0; 16])),
        T::Color => Value::Color([1.0; 4]),
        T::StringName => Value::StringName(text()),
        T::NodePath => {
            Value::NodePath(NodePath { absolute: true, names: vec![text()], subnames: vec![text()] })
        }
        T::Rid => Value::Rid(0),
        T::Object => Value::Object(Object::Id(7)),
        T::Callable => Value::Callable,
        T::Signal => Value::Signal { name: text(), object: 7 },
        T::Dictionary => vec![(text().into(), 7.into())].into(),
        T::Array => vec![Value::Int(7)].into(),
        T::PackedByteArray => Value::PackedByteArray(vec![1, 2, 3]),
        T::PackedInt32Array => Value::PackedInt32Array(vec![1, -2]),
        T::PackedInt64Array => Value::PackedInt64Array(vec![1, i64::MIN]),
        T::PackedFloat32Array => Value::PackedFloat32Array(vec![1.0, 2.0]),
        T::PackedFloat64Array => Value::PackedFloat64Array(vec![1.0, 0.1]),
        T::PackedStringArray => Value::PackedStringArray(vec![text()]),
        T::PackedVector2Array => Value::PackedVector2Array(PackedReals::Single(vec![[1.0; 2]])),
        T::PackedVector3Array => Value::PackedVector3Array(PackedReals::Single(vec![[1.0; 3]])),
        T::PackedColorArray => Value::PackedColorArray(vec![[1.0; 4]]),
        T::PackedVector4Array => Value::PackedVector4Array(PackedReals::Single(vec![[1.0, 2.0, 3.0, 4.0]])),
    }
}

#[test]
fn types_of_godot3_are_those_of_the_document() {
    let rows = table("| Godot 3 | Godot 4 |");
    assert_eq!(rows.len(), GODOT3_TYPES.len());
    for (id, (row, ty)) in rows.iter().zip(GODOT3_TYPES).enumerate() {
        assert_eq!(row[1], ty.name());
        let value = example(ty);
        let bytes = value.encode_godot3(Loss::Refused).unwrap();
        assert_eq!(usize::from(bytes[0]), id, "{ty}");
        assert_eq!(Value::decode_godot3(&bytes, &Limits::for_network(), Loss::Refused).unwrap(), value);
        // The payload is the same, except for RIDs and the contents of containers.
        if !matches!(ty, VariantType::Rid | VariantType::Array | VariantType::Dictionary) {
            assert_eq!(bytes[1..], value.encode().unwrap()[1..], "{ty}");
        }
    }
}

#[test]
fn other_types_are_converted_as_documented() {
    let ids: BTreeMap<&str, usize> =
        table("| Godot 3 | Godot 4 |").iter().enumerate().map(|(id, row)| (row[0], id)).collect();
    let rows = table("| Godot 4 | in Godot 3 | without `lossy` |");
    assert_eq!(rows.len(), COUNTERPARTS.len());
    for (row, counterpart) in rows.iter().zip(COUNTERPARTS) {
        let ty = counterpart.ty;
        assert_eq!((row[0], row[1]), (ty.name(), counterpart.becomes));
        assert_eq!(row[2] == "error", counterpart.loss.is_accepted(), "{ty}");
        let value = example(ty);
        let written = value.encode_godot3(Loss::Accepted).unwrap();
        let godot_3 = counterpart.becomes.split(' ').next().unwrap();
        assert_eq!(usize::from(written[0]), ids[godot_3], "{ty}");
        match value.encode_godot3(Loss::Refused) {
            Ok(kept) => assert!(!counterpart.loss.is_accepted() && kept == written, "{ty}"),
            Err(error) => {
                assert!(
                    counterpart.loss.is_accepted() && matches!(error.kind(), ErrorKind::NoCounterpart(_)),
                    "{ty}"
                );
                assert!(error.to_string().contains(ty.name()), "{error}");
            }
        }
    }
    let both = GODOT3_TYPES.len() + COUNTERPARTS.len();
    assert_eq!(both, VariantType::COUNT, "every type is in one of the tables");
}

#[test]
fn numbers_and_characters_are_converted() {
    let array = |values: Vec<Value>| Value::from(values);
    let quat = Value::Quaternion(Reals::Single([1.0, 2.0, 3.0, 4.0]));
    let ints = |ints: &[i64]| array(ints.iter().map(|&int| int.into()).collect());
    let expected = [
        (VariantType::Vector2i, Value::Vector2(Reals::Single([1.0, -2.0]))),
        (VariantType::Rect2i, Value::Rect2(Reals::Single([1.0, 2.0, 3.0, -4.0]))),
        (VariantType::Vector3i, Value::Vector3(Reals::Single([1.0, 2.0, -3.0]))),
        (VariantType::Vector4, quat.clone()),
        (VariantType::Vector4i, ints(&[1, 2, 3, -4])),
        (VariantType::Projection, Value::PackedFloat32Array(vec![1.0; 16])),
        (VariantType::StringName, Value::String("hp".to_owned())),
        (VariantType::Callable, Value::Nil),
        (VariantType::Signal, Value::Nil),
        (VariantType::PackedInt64Array, ints(&[1, i64::MIN])),
        (VariantType::PackedFloat64Array, array(vec![Value::Float(1.0), Value::Float(0.1)])),
        (VariantType::PackedVector4Array, array(vec![quat])),
    ];
    assert_eq!(expected.len(), COUNTERPARTS.len());
    for (ty, expected) in expected {
        let written = example(ty).encode_godot3(Loss::Accepted).unwrap();
        assert_eq!(written, expected.encode_godot3(Loss::Refused).unwrap(), "{ty}");
    }
}

#[test]
fn rounding_needs_the_lossy_option() {
    for (int, exact) in [(1 << 24, true), ((1 << 24) + 1, false), (i32::MIN, true), (i32::MAX, false)] {
        let value = Value::from(vec![Value::Vector2i([0, int])]);
        assert_eq!(value.encode_godot3(Loss::Refused).is_ok(), exact, "{int}");
        assert!(value.encode_godot3(Loss::Accepted).is_ok());
        if let Err(error) = value.encode_godot3(Loss::Refused) {
            assert_eq!(error.path(), "[0]");
        }
    }
    let wide = |real: f64| Value::Vector2(Reals::Double([real, f64::NAN]));
    let narrow = Value::Vector2(Reals::Single([0.5, f32::NAN]));
    assert_eq!(wide(0.5).encode_godot3(Loss::Refused).unwrap(), narrow.encode_godot3(Loss::Refused).unwrap());
    assert!(
        wide(0.1).encode_godot3(Loss::Refused).is_err() && wide(0.1).encode_godot3(Loss::Accepted).is_ok()
    );
}

#[test]
fn lossy_conversions_are_refused() {
    let entries =
        |keys: &[Value]| Value::from(keys.iter().map(|key| (key.clone(), Value::Nil)).collect::<Vec<_>>());
    let (ints, reals) = (example(VariantType::Vector2i), example(VariantType::Vector2));
    let root = NodePath { absolute: true, names: Vec::new(), subnames: Vec::new() };
    let array = || Value::from(Vec::<Value>::new());
    let (wide_ints, wide_floats) = (Value::PackedInt64Array(vec![]), Value::PackedFloat64Array(vec![]));
    for value in [
        entries(&[ints.clone(), reals.clone()]),
        entries(&[array(), wide_ints.clone()]),
        entries(&[wide_floats.clone(), array()]),
        entries(&[wide_floats, wide_ints]),
        Value::Rid(7),
        Value::NodePath(root),
        Value::String("\u{FEFF}x".to_owned()),
    ] {
        assert!(value.encode_godot3(Loss::Refused).is_err(), "{value:?}");
        assert!(value.encode_godot3(Loss::Accepted).is_ok(), "{value:?}");
    }
    assert!(entries(&[ints.clone(), Value::Int(1)]).encode_godot3(Loss::Refused).is_ok());
    assert!(Value::from(vec![entries(&[ints]), entries(&[reals])]).encode_godot3(Loss::Refused).is_ok());
    let object = Object::Full { class: "Node".to_owned(), properties: Vec::new() };
    assert!(Value::Object(object).encode_godot3(Loss::Accepted).is_err());
}

/// Godot 3.2.3 reads these bytes as this test expects. Godot 3.2.3 also wrote the bytes of the objects.
#[test]
fn godot_3_reads_and_writes_this() {
    let text = |hex: &str| format!("04000000 {:02x}000000 {hex:0<8}", hex.len() / 2);
    let string = |text: &str| Value::String(text.to_owned());
    // UTF-8: refused bytes, and accepted bytes with their meaning.
    for refused in ["c080", "c1bf", "e08080", "f0808080", "fe", "ff", "80", "c3", "c328"] {
        let error = decode(&text(refused), Strictness::Lenient, true).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::InvalidUtf8, "{refused}");
    }
    for (accepted, meaning) in [("e08181", "A"), ("e09fbf", "\u{7FF}"), ("f08fbfbf", "\u{FFFF}")] {
        assert_eq!(
            decode(&text(accepted), Strictness::Strict, false).unwrap(),
            string(meaning),
            "{accepted}"
        );
    }
    let pair = "04000000 06000000 eda0bdedb880 0000";
    assert_eq!(strict(pair).unwrap(), string("😀"));
    let path = "0f000000 01000080 00000000 00000000 06000000 eda0bdedb880 0000";
    let emoji = NodePath { absolute: false, names: vec!["😀".to_owned()], subnames: Vec::new() };
    assert_eq!(strict(path).unwrap(), Value::NodePath(emoji));
    for (units, first) in [("eda080", 0xD800), ("f4908080", 0x11_0000), ("f7bfbfbf", 0x1F_FFFF)] {
        let error = strict(&text(units)).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::InvalidCodeUnit(first));
        assert_eq!(decode(&text(units), Strictness::Strict, true).unwrap(), string("\u{FFFD}"));
    }
    // A RID is only a header. The 64-bit flag matters only for int, float and Object.
    assert_eq!(strict("10000000").unwrap(), Value::Rid(0));
    let wide = "05000100 0000003f 0000803f";
    assert_eq!(decode(wide, Strictness::Lenient, false).unwrap(), Value::Vector2(Reals::Single([0.5, 1.0])));
    assert_eq!(strict(wide).unwrap_err().kind(), &ErrorKind::NotCanonical(Oddity::HeaderBits));
    assert_eq!(strict("1b000000 00000000").unwrap_err().kind(), &ErrorKind::UnknownGodot3Type(27));
    // Godot 3.0 wrote every int this way. Before 3.1.2 and 3.0.3, padding was uninitialised.
    assert_eq!(strict("02000100 05000000 00000000").unwrap(), Value::Int(5));
    assert_eq!(strict("14000000 01000000 07ffffff").unwrap(), Value::PackedByteArray(vec![7]));
    assert_eq!(strict("04000000 01000000 78ffffff").unwrap(), string("x"));
    // The reader reads the root path without names as the empty path.
    let root = "0f000000 00000080 00000000 01000000";
    let empty = NodePath { absolute: false, names: Vec::new(), subnames: Vec::new() };
    assert_eq!(strict(root).unwrap(), Value::NodePath(empty));
    // An object with properties.
    let object = "11000000 09000000 5265666572656e6365000000 01000000 06000000 7363726970740000 00000000";
    assert_eq!(strict(object).unwrap_err().kind(), &ErrorKind::Godot3Object("Reference".to_owned()));
    let entries = vec![(string("class"), string("Reference")), (string("script"), Value::Nil)];
    assert_eq!(decode(object, Strictness::Strict, true).unwrap(), Value::from(entries));
}

#[test]
fn nesting_has_the_engines_limit() {
    let nested = |levels: usize| (0..levels).fold(Value::Nil, |inner, _| vec![inner].into());
    let bytes = |levels: usize| [[0x13, 0, 0, 0, 1, 0, 0, 0].repeat(levels), vec![0; 4]].concat();
    let read = |levels: usize| Value::decode_godot3(&bytes(levels), &Limits::for_save_files(), Loss::Refused);
    assert_eq!(nested(1024).encode_godot3(Loss::Refused).unwrap(), bytes(1024));
    assert_eq!(read(1024).unwrap(), nested(1024));
    for lossy in [false, true] {
        assert_eq!(
            nested(1025).encode_godot3(Loss::accepted_if(lossy)).unwrap_err().kind(),
            &ErrorKind::TooDeep
        );
    }
    assert_eq!(read(1025).unwrap_err().kind(), &ErrorKind::TooDeep);
}

/// An engine's String may contain code units that no Rust text can contain.
#[test]
fn invalid_code_units_are_refused_or_kept() {
    for (unit, written) in [(0xD800, "eda080"), (0x11_0000, "f4908080")] {
        let write = |lossy| {
            let mut downgrade = Downgrade::new(Vec::new(), Loss::accepted_if(lossy));
            downgrade.text(VariantType::String, Text::Utf32(&[unit])).map(|()| downgrade.into_output())
        };
        assert_eq!(write(false).unwrap_err().kind(), &ErrorKind::InvalidCodeUnit(unit));
        assert_eq!(hex::encode(&write(true).unwrap()[8..][..written.len() / 2]), written);
    }
}
