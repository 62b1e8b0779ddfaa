//! Views of parts of values.

use std::borrow::Cow;

use variant_codec::dialect::Dialect;
use variant_codec::godot3::Loss;
use variant_codec::view::{Fields, Key, KnownOffsets};
use variant_codec::{Dictionary, Object, PackedReals, Reals, Strictness, Value, View};

use super::{check_error, everything};

/// The maximum number of levels to visit.
const LEVELS: u32 = 12;
/// The maximum number of elements to visit in one container.
const ELEMENTS: usize = 20;

/// If the bytes can be decoded, a view finds the same values. If only lenient reading succeeds, a view finds
/// the same values or an error. For other bytes, a view may find any values, or report an error.
pub fn check(data: &[u8]) {
    let limits = everything();
    if let Ok(view) = View::within(data, &limits) {
        match Value::decode(data, &limits) {
            Ok(value) => compare_all(data, &view, &value),
            Err(_) => touch(data, &view, 0),
        }
        match view.following_tags() {
            Ok(view) => touch(data, &view, 0),
            Err(error) => check_error(&error, 0, data.len()),
        }
        if let Ok(value) = Value::decode_as(data, Strictness::Lenient, &limits) {
            let known = KnownOffsets::default();
            check_agrees(&view, &value, 0);
            check_agrees(&view.remembering(&known), &value, 0);
        }
    }
    if let Ok(view) = View::of_godot3(data, &limits) {
        match Value::decode_godot3(data, &limits, Loss::Refused) {
            Ok(value) => compare_all(data, &view, &value),
            Err(_) => touch(data, &view, 0),
        }
    }
}

/// Compares the view with the value: without remembered offsets, while offsets are recorded, and with
/// recorded offsets.
pub fn compare_all<D: Dialect>(data: &[u8], view: &View<'_, D>, value: &Value) {
    let known = KnownOffsets::default();
    compare(view, value);
    compare(&view.remembering(&known), value);
    compare(&view.remembering(&known), value);
    let (containers, keys) = counted(value);
    let most = 4096 + data.len() / 16 + 160 * containers + 24 * keys;
    assert!(known.memory() <= most, "{} bytes, not at most {most}", known.memory());
}

/// The numbers of containers and of keys in a value.
fn counted(value: &Value) -> (usize, usize) {
    let sum = |parts: &mut dyn Iterator<Item = &Value>, keys: usize| {
        parts.map(counted).fold((1, keys), |sum, part| (sum.0 + part.0, sum.1 + part.1))
    };
    match value {
        Value::Array(array) => sum(&mut array.iter(), 0),
        Value::Dictionary(Dictionary { entries, .. }) => {
            sum(&mut entries.iter().flat_map(|(key, value)| [key, value]), entries.len())
        }
        Value::Object(Object::Full { properties, .. }) => {
            sum(&mut properties.iter().map(|(_, value)| value), properties.len())
        }
        _ => (0, 0),
    }
}

/// A text for comparison: a NaN does not equal itself, but its text does.
fn words(value: &Value) -> String {
    format!("{value:?}")
}

fn shown<D: Dialect>(view: &View<'_, D>) -> String {
    words(&view.value().expect("it has been decoded"))
}

/// The elements of a packed array, as values.
fn unpacked(value: &Value) -> Option<Vec<Value>> {
    fn all<T: Clone, V>(values: &[T], of: impl Fn(T) -> V) -> Option<Vec<V>> {
        Some(values.iter().cloned().map(of).collect())
    }
    macro_rules! reals {
        ($values:expr, $ty:ident) => {
            match $values {
                PackedReals::Single(values) => all(values, |value| Value::$ty(Reals::Single(value))),
                PackedReals::Double(values) => all(values, |value| Value::$ty(Reals::Double(value))),
            }
        };
    }
    match value {
        Value::PackedByteArray(values) => all(values, |value| Value::Int(value.into())),
        Value::PackedInt32Array(values) => all(values, |value| Value::Int(value.into())),
        Value::PackedInt64Array(values) => all(values, Value::Int),
        Value::PackedFloat32Array(values) => all(values, |value| Value::Float(value.into())),
        Value::PackedFloat64Array(values) => all(values, Value::Float),
        Value::PackedStringArray(values) => all(values, Value::String),
        Value::PackedVector2Array(values) => reals!(values, Vector2),
        Value::PackedVector3Array(values) => reals!(values, Vector3),
        Value::PackedVector4Array(values) => reals!(values, Vector4),
        Value::PackedColorArray(values) => all(values, Value::Color),
        _ => None,
    }
}

/// Compares everything in a value with the view.
fn compare<D: Dialect>(view: &View<'_, D>, value: &Value) {
    assert_eq!(shown(view), words(value));
    assert_eq!(view.ty(), value.ty());
    assert_eq!((view.as_bool().ok(), view.as_i64().ok()), (value.as_bool(), value.as_i64()));
    assert_eq!(view.as_bytes().ok(), value.as_bytes());
    if let Value::Float(float) = value {
        assert_eq!(view.as_f64().map(f64::to_bits), Ok(float.to_bits()));
    }
    // A copy at each level of a deep value would take much memory.
    let elements: Cow<'_, [Value]> = match value {
        Value::Array(array) => Cow::Borrowed(&array.values),
        _ => unpacked(value).unwrap_or_default().into(),
    };
    let entries: Vec<(Cow<'_, Value>, &Value)> = match value {
        Value::Dictionary(dictionary) => {
            dictionary.entries.iter().map(|(key, value)| (Cow::Borrowed(key), value)).collect()
        }
        Value::Object(Object::Full { properties, .. }) => properties
            .iter()
            .map(|(name, value)| (Cow::Owned(Value::StringName(name.clone())), value))
            .collect(),
        _ => Vec::new(),
    };
    let len = view.len().expect("it has been decoded");
    assert_eq!(len, elements.len() + entries.len());
    let mut count = 0;
    for (element, found) in elements.iter().zip(view.elements().expect("it has been decoded")) {
        let found = found.expect("it has been decoded");
        let range = found.range().expect("it has been decoded");
        for key in [Key::from(count as i64), Key::from(count as i64 - len as i64)] {
            assert_eq!(view.get(key).and_then(|view| view.range()), Ok(range.clone()));
        }
        compare(&found, element);
        count += 1;
    }
    for ((key, held), found) in entries.iter().zip(view.entries().expect("it has been decoded")) {
        let key = key.as_ref();
        let (found_key, found) = found.expect("it has been decoded");
        assert_eq!(shown(&found_key), words(key));
        compare(&found, held);
        count += 1;
        // As in the engine, an Array or Dictionary that contains a float NaN is never found again as a key.
        let is_same = |found: &Value| Value::from_iter([(found.clone(), 0)]).get(key).is_some();
        match entries.iter().rfind(|(found, _)| is_same(found)).map(|(_, value)| *value) {
            None => assert!(view.get(key).is_err()),
            Some(last) => {
                let at_key = view.get(key).expect("it is there");
                assert_eq!(shown(&at_key), words(last));
                let mut fields = Fields::new(vec![Key::from(key)]);
                let mut row = Vec::new();
                let end = fields.read(view, &mut row).expect("it has been decoded");
                assert_eq!(row[0].map(|view| view.range()), Some(at_key.range()));
                assert_eq!(view.range().map(|range| range.end), Ok(end));
            }
        }
    }
    assert_eq!(count, len);
    let mut row = Vec::new();
    if !entries.is_empty() {
        let keys: Vec<Key<'_>> = entries.iter().map(|(key, _)| Key::from(key.as_ref())).collect();
        Fields::new(keys.clone()).read(view, &mut row).expect("it has been decoded");
        for (key, found) in keys.into_iter().zip(&row) {
            assert_eq!(found.map(|view| view.range()), view.get(key).ok().map(|view| view.range()));
        }
    }
    for key in [Key::from("no such key"), Key::from(i64::MAX), Key::from(i64::MIN)] {
        let is_there = |(found, _): &(Cow<'_, Value>, &Value)| match key {
            Key::Int(int) => found.as_i64() == Some(int),
            _ => found.as_str() == Some("no such key"),
        };
        assert_eq!(view.get(key).is_ok(), entries.iter().any(is_there));
    }
}

/// Every value found equals the engine's value, which is the last one for repeated keys and properties.
fn check_agrees(view: &View<'_>, value: &Value, level: u32) {
    if let Ok(found) = view.value() {
        assert_eq!(words(&found), words(value));
    }
    if level == LEVELS {
        return;
    }
    match value {
        Value::Array(array) => {
            for (index, element) in array.iter().enumerate().take(ELEMENTS) {
                view.index(index).into_iter().for_each(|found| check_agrees(&found, element, level + 1));
            }
        }
        Value::Dictionary(dictionary) => {
            let distinct = Dictionary::from_iter(dictionary.entries.iter().cloned());
            assert!(view.len().is_err() || view.len() == Ok(distinct.len()));
            for key in dictionary.keys().take(ELEMENTS) {
                let found = view.get(key).ok();
                let mut row = Vec::new();
                let fields = Fields::new(vec![Key::from(key)]).read(view, &mut row);
                let of_row = fields.ok().and(row.pop()).flatten();
                if let (Some(found), Some(of_row)) = (&found, &of_row) {
                    assert_eq!(found.range().ok(), of_row.range().ok());
                }
                if let Some(found) = found.or(of_row) {
                    check_agrees(&found, dictionary.get(key).expect("a key that is found"), level + 1);
                }
            }
        }
        Value::Object(Object::Full { properties, .. }) => {
            for (name, _) in properties.iter().take(ELEMENTS) {
                let last = value.get(name).expect("a property");
                view.get(name.as_str()).into_iter().for_each(|found| check_agrees(&found, last, level + 1));
            }
        }
        _ => {}
    }
}

/// Visits everything reachable, within [`LEVELS`] and [`ELEMENTS`].
fn touch<D: Dialect>(data: &[u8], view: &View<'_, D>, level: u32) {
    let errors = [view.range().err(), view.value().err(), view.get("a").err(), view.get(-1).err()];
    errors.iter().flatten().for_each(|error| check_error(error, 0, data.len()));
    if level == LEVELS {
        return;
    }
    for element in view.elements().into_iter().flatten().flatten().take(ELEMENTS) {
        touch(data, &element, level + 1);
    }
    for (key, value) in view.entries().into_iter().flatten().flatten().take(ELEMENTS) {
        touch(data, &key, level + 1);
        touch(data, &value, level + 1);
    }
}
