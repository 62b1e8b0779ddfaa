//! Patches reproduce the new value byte for byte. The fuzz target `patches` tries damaged patches.

use conformance::Values;
use fastrand::Rng;
use proptest::prelude::*;
use variant_codec::error::Limit;
use variant_codec::stream::Precision;
use variant_codec::{Array, Dictionary, ErrorKind, Limits, Value, fingerprint, patch};

fn limits() -> Limits {
    Limits { allow_objects: true, ..Limits::for_save_files() }
}

fn edit(value: &mut Value, rng: &mut Rng, with: &Value) {
    let op = rng.u8(..7);
    match value {
        Value::Array(Array { values, .. }) if !values.is_empty() => {
            let [at, other] = [rng.usize(..values.len()), rng.usize(..values.len())];
            match op {
                0 => values.insert(at, with.clone()),
                1 => drop(values.remove(at)),
                2 => values.swap(at, other),
                _ => edit(&mut values[at], rng, with),
            }
        }
        Value::Dictionary(Dictionary { entries, .. }) if !entries.is_empty() => {
            let [at, other] = [rng.usize(..entries.len()), rng.usize(..entries.len())];
            match op {
                0 => entries.insert(at, ("a new key".into(), with.clone())),
                1 => drop(entries.remove(at)),
                2 => entries.swap(at, other),
                _ => edit(&mut entries[at].1, rng, with),
            }
        }
        Value::PackedByteArray(bytes) if !bytes.is_empty() => drop(bytes.remove(rng.usize(..bytes.len()))),
        Value::PackedInt32Array(ints) => ints.insert(rng.usize(..=ints.len()), 7),
        Value::PackedStringArray(texts) => texts.insert(rng.usize(..=texts.len()), "new".to_owned()),
        value => *value = with.clone(),
    }
}

fn check(old: &Value, new: &Value) {
    let (old, new, limits) = (from(old), from(new), limits());
    // A typed container may refuse the inserted value.
    if Value::decode(&old, &limits).is_err() || Value::decode(&new, &limits).is_err() {
        return;
    }
    let change = patch::diff(&old, &new, &limits).unwrap();
    assert_eq!(patch::apply(&old, &change, &limits).unwrap(), new);
    assert!(change.len() <= new.len() + HEADER);
    let found = patch::differences(&old, &new, 100, &limits).unwrap();
    assert!(!found.is_empty() || old.len() == new.len());
    assert_eq!(patch::diff(&new, &new, &limits).unwrap().len(), HEADER);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_patch_makes_the_new_value(
        [old, with] in [values(), values()],
        (seed, edits) in (any::<u64>(), 0..4),
    ) {
        let (mut new, mut rng) = (old.clone(), Rng::with_seed(seed));
        (0..edits).for_each(|_| edit(&mut new, &mut rng, &with));
        check(&old, &new);
        check(&new, &old);
        check(&old, &with);
    }
}

fn values() -> impl Strategy<Value = Value> {
    Values { precision: Precision::Single, full_objects: true }.any()
}

fn from(value: &Value) -> Vec<u8> {
    value.encode().unwrap()
}

/// The name, a byte for what follows, and the fingerprint of the old value.
const HEADER: usize = 12;

/// A patch for `old` that holds a change.
fn patch_of(old: &[u8], change: Value) -> Vec<u8> {
    let fingerprint = fingerprint(old, None, &limits()).unwrap();
    [b"FVP\x02", &fingerprint.to_le_bytes()[..], &from(&change)].concat()
}

#[test]
fn a_patch_has_the_documented_format() {
    let items = |items: &[&str]| Value::from(items.iter().map(|item| Value::from(*item)).collect::<Vec<_>>());
    let old = Value::from_iter([
        (
            "name",
            Value::from(
                "Ada of the long name that makes the Dictionary large, because a patch that is longer than the new value holds the value itself instead of a change",
            ),
        ),
        ("hp", Value::from(87)),
        ("items", items(&["sword", "rope", "lamp", "oil", "map", "coin", "ring"])),
        ("gone", Value::Nil),
    ]);
    let new = Value::from_iter([
        ("new", Value::from(true)),
        (
            "name",
            Value::from(
                "Ada of the long name that makes the Dictionary large, because a patch that is longer than the new value holds the value itself instead of a change",
            ),
        ),
        ("hp", Value::from(86)),
        ("items", items(&["sword", "lamp", "oil", "map", "coin", "key", "ring"])),
    ]);
    let change = patch::diff(&from(&old), &from(&new), &limits()).unwrap();
    let set = |value: Value| Value::from(vec![Value::from("set"), value]);
    let edit = |at: i32, removed: i32, items: Value| Value::from(vec![at.into(), removed.into(), items]);
    let list = Value::from(vec![
        Value::from("array"),
        Value::from(7),
        Value::from(vec![edit(1, 1, items(&[])), edit(6, 0, items(&["key"]))]),
    ]);
    let changes = Value::from_iter([("items", list), ("hp", set(86.into())), ("new", set(true.into()))]);
    let removed = items(&["gone"]);
    let order = Value::PackedInt32Array(vec![3, 0, 1, 2]);
    let expected = Value::from(vec![Value::from("dictionary"), changes, removed, order]);
    assert_eq!(change, patch_of(&from(&old), expected));
    let (one, other) = (from(&1.into()), from(&2.into()));
    let fingerprint = fingerprint(&one, None, &limits()).unwrap().to_le_bytes();
    let whole = [b"FVP\x01", &fingerprint[..], &other].concat();
    assert_eq!(patch::diff(&one, &other, &limits()).unwrap(), whole);
    let nothing = [b"FVP\x00", &fingerprint[..]].concat();
    assert_eq!(patch::diff(&one, &one, &limits()).unwrap(), nothing);
}

#[test]
fn a_change_in_a_large_value_is_small() {
    let entity = |hp: i32| Value::from_iter([("name", Value::from("a name")), ("hp", Value::from(hp))]);
    let world: Vec<Value> = (0..10_000).map(entity).collect();
    let old = from(&world.clone().into());
    let mut changed = world.clone();
    changed[7000] = entity(-1);
    assert!(patch::diff(&old, &from(&changed.into()), &limits()).unwrap().len() < 256);
    let mut inserted = world;
    inserted.insert(3000, entity(-1));
    assert!(patch::diff(&old, &from(&inserted.into()), &limits()).unwrap().len() < 256);
}

#[test]
fn misfitting_patches_are_refused_with_a_path() {
    let old = from(&Value::from_iter([("list", [1, 2, 3])]));
    let inside = |change: Value| {
        let changes = Value::from_iter([("list", change)]);
        patch_of(&old, Value::from(vec![Value::from("dictionary"), changes]))
    };
    let error = |patch: &[u8]| patch::apply(&old, patch, &limits()).unwrap_err().to_string();
    let array = |count: i32, edits: Value| Value::from(vec!["array".into(), count.into(), edits]);
    assert_eq!(
        error(&inside(array(4, Value::from(Vec::<Value>::new())))),
        r#"the patch does not fit the value: expected 4 elements, found 3 (at ."list")"#
    );
    let set = Value::from(vec![Value::from("set"), Value::Nil]);
    let far = Value::from(vec![Value::from(vec![Value::from(9), set])]);
    assert_eq!(
        error(&inside(array(3, far))),
        r#"the patch does not fit the value: element 9 not found (at ."list")"#
    );
    let missing = Value::from_iter([("x", Value::from(vec!["array".into(), 0.into(), Value::Nil]))]);
    assert_eq!(
        error(&patch_of(&old, Value::from(vec![Value::from("dictionary"), missing]))),
        r#"the patch does not fit the value: key "x" not found"#
    );
    let set_by_name = Value::from(vec![Value::StringName("set".into()), 5.into()]);
    let added = Value::from_iter([("x", set_by_name)]);
    let added = error(&patch_of(&old, Value::from(vec![Value::from("dictionary"), added])));
    assert!(added.starts_with(r#"not a patch: expected a change that starts with "set""#), "{added}");
    // A String in an Array[int].
    let typed = [28, 0, 1, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0];
    let edit = Value::from(vec![Value::from(0), Value::from(0), Value::from(vec!["x"])]);
    let invalid =
        patch::apply(&typed, &patch_of(&typed, array(1, Value::from(vec![edit]))), &limits()).unwrap_err();
    assert!(matches!(invalid.kind(), ErrorKind::Patch(_)) && invalid.offset().is_none(), "{invalid}");
    for other in [&from(&Value::from(7)), &b"FVP\x03\0\0\0\0\0\0\0\0"[..], b"FVP\x01\0\0"] {
        assert_eq!(
            error(other),
            r#"not a patch: expected "FVP", a byte from 0 to 2, and 8 bytes (at byte 0)"#
        );
    }
    let mut nothing = patch::diff(&old, &old, &limits()).unwrap();
    nothing.push(0);
    assert_eq!(error(&nothing), "not a patch: expected no bytes after the header (at byte 12)");
    assert_eq!(
        error(&patch_of(&old, 7.into())),
        "not a patch: expected a change: an Array of 2 to 4 elements (at byte 12)"
    );
    let for_another = patch_of(&typed, array(1, Value::from(Vec::<Value>::new())));
    assert_eq!(error(&for_another), "the patch does not fit the value: it was made for another value");
}

#[test]
fn the_deepest_value_has_a_patch() {
    let nested = |levels: usize, inner: Value| (0..levels).fold(inner, |value, _| Value::from(vec![value]));
    conformance::with_stack(64 << 20, move || {
        let (old, new) = (from(&nested(1024, 1.into())), from(&nested(1024, 2.into())));
        let change = patch::diff(&old, &new, &limits()).unwrap();
        assert_eq!(patch::apply(&old, &change, &limits()).unwrap(), new);
    });
}

/// The lists consist of equal values, except that every third value is a unique number in the old list and
/// nil in the new one. A search for the fewest changes would take a quarter of an hour.
#[test]
fn lists_are_compared_in_linear_time() {
    let list = |other: fn(i64) -> Value| {
        let element = |index| if index % 3 == 0 { other(index) } else { Value::Callable };
        from(&Value::from((0..1_600_000).map(element).collect::<Vec<_>>()))
    };
    let (old, new) = (list(Value::from), list(|_| Value::Nil));
    let change = patch::diff(&old, &new, &limits()).unwrap();
    assert!(patch::apply(&old, &change, &limits()).unwrap() == new);
    assert_eq!(patch::differences(&old, &new, 1, &limits()).unwrap().len(), 1);
}

#[test]
fn differences_keep_the_memory_limit() {
    let list = |last: i64| from(&Value::from((0..10_000).map(|index| index * last).collect::<Vec<i64>>()));
    let (old, new) = (list(1), list(2));
    let few = Limits { max_memory: 1 << 20, ..limits() };
    assert_eq!(patch::differences(&old, &new, 100, &few).unwrap().len(), 100);
    let error = patch::differences(&old, &new, usize::MAX, &few).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::LimitExceeded(Limit::Memory, 1 << 20));
}

#[test]
fn limits_apply_to_patched_values() {
    let old = from(&Value::from([1, 2]));
    let new = from(&Value::from([1, 2, 3, 4]));
    let change = patch::diff(&old, &new, &limits()).unwrap();
    let three = Limits { max_elements: 4, ..limits() };
    assert!(patch::apply(&old, &change, &three).is_err());
    assert!(patch::apply(&old, &change, &Limits { max_elements: 5, ..limits() }).is_ok());
    // A patch may exceed the limits many times over, but an error names the caller's limit.
    let long = patch_of(&old, Value::from(vec![Value::from("set"), vec![0; 1000].into()]));
    let refused = patch::apply(&old, &long, &Limits { max_elements: 5, ..limits() }).unwrap_err();
    assert_eq!(refused.kind(), &ErrorKind::LimitExceeded(Limit::Elements, 5));
}

#[test]
fn non_canonical_values_have_no_patch() {
    let limits = Limits { allow_non_canonical: true, ..limits() };
    // A 64-bit int that fits in 32 bits, and bytes without padding.
    let good = from(&Value::from(1));
    for odd in [&[2, 0, 1, 0, 7, 0, 0, 0, 0, 0, 0, 0][..], &[29, 0, 0, 0, 1, 0, 0, 0, 5]] {
        assert!(Value::decode(odd, &limits).is_ok());
        for (old, new) in [(&good[..], odd), (odd, &good[..])] {
            let error = patch::diff(old, new, &limits).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::NotComparable(_)), "{error}");
            assert!(patch::differences(old, new, 10, &limits).is_err());
        }
        let change = patch::diff(&good, &from(&Value::from(2)), &limits).unwrap();
        assert!(patch::apply(odd, &change, &limits).is_err());
    }
}
