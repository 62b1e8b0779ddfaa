//! Strict reading with limits.

use variant_codec::limits::{ALL_TYPES, Limit, Names};
use variant_codec::stream::{Decoder, Measure, ValueBuilder};
use variant_codec::{
    EncodeOptions, ErrorKind, Limits, Object, PackedReals, QuickCheck, Strictness, Value, quick_check,
};

use super::{Tail, encoded, everything, one_value, read};
use crate::visit;

/// Accepted bytes stay within the limits, and lenient reading gives the same value.
pub fn check(data: &[u8]) {
    let limits = limits(data);
    check_at_once(data, &limits);
    check_at_once(data, &one_value());
    check_at_once(data, &everything());
    if let Ok(value) = read(data, Strictness::Strict, &limits) {
        check_held(&value, &limits, data);
    }
    let other_writers = Limits { allow_non_canonical: true, ..one_value() };
    let Ok(lenient) = read(data, Strictness::Strict, &other_writers) else { return };
    let engine = read(data, Strictness::Lenient, &everything()).expect("what strict reads");
    assert_eq!(encoded(&engine), encoded(&lenient));
    let Ok(value) = read(data, Strictness::Strict, &one_value()) else { return };
    assert_eq!(encoded(&engine), encoded(&value));
    check_limits(data, &value);
}

/// Bytes that `quick_check` accepts can be read, repeat no key, and end at the reported offset. `QuickCheck`
/// finds the same, whether or not it knows the keys.
pub fn check_at_once(data: &[u8], limits: &Limits) {
    let found = quick_check(data, limits);
    let mut check = QuickCheck::default();
    assert_eq!([check.check(data, limits), check.check(data, limits)], [found; 2]);
    let Some(end) = found else { return };
    let read = Decoder::new(data, Strictness::Strict, limits).decode_only(&mut ValueBuilder::strict());
    assert_eq!(read, Ok(end));
}

/// Checks that an accepted value stays within the limits.
pub(super) fn check_held(value: &Value, limits: &Limits, data: &[u8]) {
    let held = Held::by(value);
    assert!(held.depth <= limits.max_depth, "{held:?}");
    assert!(held.elements <= limits.max_elements, "{held:?}");
    assert!(held.least_memory <= limits.max_memory, "{held:?}");
    assert_eq!(held.types & !limits.allowed_types, 0, "{held:?}");
    assert!(data.len() <= limits.max_bytes);
}

/// Limits of all kinds, derived from the last bytes.
pub(super) fn limits(data: &[u8]) -> Limits {
    let mut tail = Tail::of(data);
    let mut up_to = |end: u64| tail.below(end + 1);
    Limits {
        max_bytes: data.len().saturating_sub(1) + up_to(3) as usize,
        max_depth: up_to(8) as u32,
        max_elements: up_to(64),
        max_memory: 1 << up_to(14),
        max_key_comparisons: u64::MAX,
        allow_trailing_bytes: up_to(1) == 1,
        lost_objects_as_null: false,
        allow_objects: up_to(1) == 1,
        allow_non_canonical: up_to(1) == 1,
        allowed_classes: Names::NONE,
        allowed_scripts: Names::NONE,
        // All types, or all types except one.
        allowed_types: ALL_TYPES & !(1 << up_to(63)),
    }
}

/// Limits that just suffice for the value of `data` accept it; each limit reduced by one refuses it.
fn check_limits(data: &[u8], value: &Value) {
    let held = Held::by(value);
    let enough = Limits {
        max_bytes: data.len(),
        max_depth: held.depth,
        max_elements: held.elements,
        allowed_types: held.types,
        ..one_value()
    };
    let validate = |limits: &Limits| {
        let mut measure = Measure::counting(EncodeOptions::default());
        Decoder::new(data, Strictness::Strict, limits).decode_only(&mut measure)
    };
    let refused =
        |limits: Limits| validate(&limits).err().unwrap_or_else(|| panic!("accepted with {limits:?}"));
    assert!(validate(&enough).is_ok(), "refused with {enough:?}");
    let by_limit = [
        (Limit::Bytes, Some(Limits { max_bytes: data.len() - 1, ..enough.clone() })),
        (Limit::Elements, Some(Limits { max_elements: held.elements - 1, ..enough.clone() })),
        (Limit::Memory, Some(Limits { max_memory: held.least_memory - 1, ..enough.clone() })),
    ];
    for (expected, limits) in by_limit {
        let Some(error) = limits.map(refused) else { continue };
        assert!(matches!(error.kind(), ErrorKind::LimitExceeded(limit, _) if *limit == expected), "{error}");
    }
    if let Some(max_depth) = held.depth.checked_sub(1) {
        let error = refused(Limits { max_depth, ..enough.clone() });
        assert_eq!(error.kind(), &ErrorKind::LimitExceeded(Limit::Depth, max_depth.into()));
    }
    for ty in (0..u64::BITS).filter(|ty| held.types >> ty & 1 == 1) {
        let error = refused(Limits { allowed_types: ALL_TYPES & !(1 << ty), ..enough.clone() });
        assert!(matches!(error.kind(), ErrorKind::TypeNotAllowed(found) if u32::from(found.id()) == ty));
    }
    let of_any_value = |per_byte| Limits {
        max_elements: data.len() as u64,
        max_memory: data.len() as u64 * per_byte,
        ..one_value()
    };
    let admitting = (1..).map(of_any_value).find(|limits| limits.admit_all_of(data.len()));
    assert!(admitting.is_some_and(|limits| validate(&limits).is_ok()));
}

/// The actual contents of a value.
#[derive(Debug, Default)]
struct Held {
    depth: u32,
    elements: u64,
    types: u64,
    /// The minimum memory that the engine needs.
    least_memory: u64,
}

impl Held {
    fn by(value: &Value) -> Self {
        let mut held = Self { depth: depth(value), ..Self::default() };
        visit(value, &mut |value| held.add(value));
        held
    }

    fn add(&mut self, value: &Value) {
        /// The size of a Variant.
        const SLOT: u64 = 24;
        let text = |text: &String| text.chars().count() * size_of::<char>();
        let texts = |texts: &[String]| texts.iter().map(text).sum::<usize>();
        let (elements, bytes) = match value {
            Value::String(value) | Value::StringName(value) | Value::Signal { name: value, .. } => {
                (0, text(value))
            }
            Value::Object(Object::Full { class, properties }) => {
                (0, text(class) + properties.iter().map(|(name, _)| text(name)).sum::<usize>())
            }
            Value::NodePath(path) => {
                (path.names.len() + path.subnames.len(), texts(&path.names) + texts(&path.subnames))
            }
            Value::PackedByteArray(values) => (values.len(), values.len()),
            Value::PackedInt32Array(values) => (values.len(), size_of_val(values.as_slice())),
            Value::PackedInt64Array(values) => (values.len(), size_of_val(values.as_slice())),
            Value::PackedFloat32Array(values) => (values.len(), size_of_val(values.as_slice())),
            Value::PackedFloat64Array(values) => (values.len(), size_of_val(values.as_slice())),
            Value::PackedColorArray(values) => (values.len(), size_of_val(values.as_slice())),
            Value::PackedStringArray(values) => (values.len(), texts(values)),
            Value::PackedVector2Array(values) => packed(values),
            Value::PackedVector3Array(values) => packed(values),
            Value::PackedVector4Array(values) => packed(values),
            _ => (0, 0),
        };
        self.elements += 1 + elements as u64;
        self.least_memory += SLOT + bytes as u64;
        self.types |= 1 << value.ty().id();
    }
}

fn packed<const N: usize>(reals: &PackedReals<N>) -> (usize, usize) {
    match reals {
        PackedReals::Single(values) => (values.len(), size_of_val(values.as_slice())),
        PackedReals::Double(values) => (values.len(), size_of_val(values.as_slice())),
    }
}

/// The number of levels below this value.
fn depth(value: &Value) -> u32 {
    let below = |values: &mut dyn Iterator<Item = &Value>| values.map(|inner| 1 + depth(inner)).max();
    let deepest = match value {
        Value::Array(array) => below(&mut array.values.iter()),
        Value::Dictionary(dictionary) => {
            below(&mut dictionary.entries.iter().flat_map(|(key, value)| [key, value]))
        }
        Value::Object(Object::Full { properties, .. }) => {
            below(&mut properties.iter().map(|(_, value)| value))
        }
        _ => None,
    };
    deepest.unwrap_or(0)
}
