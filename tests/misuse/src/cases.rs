//! The cases, each a misuse of `variant_engine`.
#![forbid(unsafe_code)]

use godot::builtin::{Array, GString, PackedInt32Array, VarDictionary, Variant, array, vdict};
use godot::classes::RefCounted;
use godot::meta::ToGodot;
use godot::obj::NewGd;
use variant_codec::VariantType as T;
use variant_engine::{Building, ContainerType, Reader, Slots, StagedValues, StringSlots, with_gaps};

/// The expected outcome.
pub enum Case {
    /// A panic, before any invalid access.
    Refused(fn()),
    /// An intact value. The function returns it and the expected one, both as the engine prints them.
    Harmless(fn() -> (String, String)),
}

use Case::{Harmless, Refused};

const ANY: ContainerType = ContainerType::Untyped;
const STRING: ContainerType = ContainerType::Builtin(T::String);
const INT: ContainerType = ContainerType::Builtin(T::Int);

pub const CASES: &[(&str, Case)] = &[
    ("copied entries, then an entry by its key", Refused(entry_among_copied)),
    ("entries copied under an open value", Refused(copied_under_a_value)),
    ("entries copied from another type", Refused(copied_from_an_int)),
    ("more values than copied entries", Refused(too_many_copied)),
    ("an int as the element of an Array[String]", Refused(wrong_element)),
    ("no value as the element of an Array[String]", Refused(missing_element)),
    ("an int as the second element of an Array[String]", Refused(wrong_next_element)),
    ("an int after a run of ints in an Array[int]", Refused(put_after_run)),
    ("a RefCounted as the element of an Array[Node]", Refused(wrong_object)),
    ("elements of an Array[Node], left to another thread", Refused(left_objects)),
    ("elements left after one was dropped", Refused(left_after_drop)),
    ("an element dropped after others were left", Refused(dropped_after_left)),
    ("another element after all, one of which was dropped", Refused(one_too_many)),
    ("no element to drop", Refused(nothing_to_drop)),
    ("an int among the keys of a Dictionary[String, int]", Refused(wrong_key)),
    ("another Dictionary's key", Refused(wrong_key_of)),
    ("a String among the values of a Dictionary[String, int]", Refused(wrong_value)),
    ("a String as the last value of a Dictionary[String, int]", Refused(wrong_last_value)),
    ("a key that others are filling", Refused(key_with_gaps)),
    ("a value put after it was left", Refused(put_after_left)),
    ("an Array finished while others fill it", Refused(finished_with_gaps)),
    ("a value set aside while others fill it", Refused(aside_with_gaps)),
    ("an open container finished", Refused(finished_while_open)),
    ("more elements than there are", Refused(too_many_elements)),
    ("more elements left than there are", Refused(too_many_left)),
    ("a run longer than the Array", Refused(run_too_long)),
    ("a run of another width", Refused(run_too_wide)),
    ("a value before the first element", Refused(no_element)),
    ("a value before the first key", Refused(no_key)),
    ("a key in an Array", Refused(key_in_array)),
    ("an element in a Dictionary", Refused(element_in_dictionary)),
    ("a value in the slots of a typed Array", Refused(wrong_slot)),
    ("bytes in the slots of an untyped Array", Refused(no_bytes)),
    ("more values than slots", Refused(too_many_slots)),
    ("more texts than slots", Refused(too_many_strings)),
    ("more texts left than slots", Refused(too_many_strings_left)),
    ("elements of an int", Refused(elements_of_int)),
    ("entries of an Array", Refused(entries_of_array)),
    ("the type of an int's elements", Refused(type_of_int)),
    ("the strings of a PackedInt32Array", Refused(wrong_packed)),
    ("an element dropped", Harmless(dropped_element)),
    ("elements dropped at the end", Harmless(dropped_last)),
    ("an element that is never completed", Harmless(incomplete_element)),
    ("a typed Dictionary that is never completed", Harmless(incomplete_dictionary)),
    ("a wrong element of an Array that others fill", Harmless(wrong_left_element)),
    ("a value of a typed Dictionary that is never filled", Harmless(unfilled_value)),
    ("a value of a typed Dictionary that is filled with another type", Harmless(wrong_left_value)),
    ("a value of a typed Dictionary that is filled", Harmless(left_value)),
    ("copied entries given up", Harmless(given_up)),
    ("a value of each kind in an Array of ints", Harmless(mixed_run)),
];

fn array() -> Array<Variant> {
    array![]
}

fn long() -> Variant {
    "x".repeat(100).to_variant()
}

fn template() -> Variant {
    vdict! { "a" => &Variant::nil(), "b" => &Variant::nil() }.to_variant()
}

fn printed(value: &Variant) -> String {
    value.stringify().to_string()
}

fn in_array<'s>(len: usize, element: &ContainerType) -> Building<'s> {
    let mut building = Building::new();
    assert!(building.open_array(len, element), "there is memory");
    building
}

fn in_dictionary<'s>(key: &ContainerType, value: &ContainerType) -> Building<'s> {
    let mut building = Building::new();
    building.open_dictionary(key, value);
    building
}

fn put_key(building: &mut Building<'_>, key: &str) {
    building.next_key();
    building.put_string(GString::from(key));
    building.next_value(true);
}

fn entry_among_copied() {
    let mut building = in_dictionary(&ANY, &ANY);
    copied(&mut building);
    building.next_key();
    building.put("b".to_variant());
    building.next_value(true);
}

/// Copies two entries. Without direct access, `copy_entries` panics.
fn copied(building: &mut Building<'_>) {
    building.copy_entries(&template());
}

fn copied_under_a_value() {
    let mut building = in_dictionary(&ANY, &ANY);
    put_key(&mut building, "k");
    copied(&mut building);
}

fn copied_from_an_int() {
    let mut building = in_dictionary(&ANY, &ANY);
    building.copy_entries(&1.to_variant());
}

fn too_many_copied() {
    let mut building = in_dictionary(&ANY, &ANY);
    copied(&mut building);
    for _ in 0..3 {
        building.next_key();
        building.next_copied_value();
        building.put_int(1);
    }
}

fn wrong_element() {
    let mut building = in_array(1, &STRING);
    building.next_element();
    building.put_int(1);
    building.close_array();
}

fn missing_element() {
    let mut building = in_array(1, &STRING);
    building.next_element();
    building.close_array();
}

fn wrong_next_element() {
    let mut building = in_array(3, &STRING);
    building.next_element();
    building.put_string(GString::from("a"));
    building.next_element();
    building.put_int(1);
    building.next_element();
}

fn put_after_run() {
    let mut building = in_array(2, &INT);
    // Without direct access, there are no runs.
    assert!(building.put_run(T::Int, &mut [1_i64.to_le_bytes()].into_iter()), "no run");
    building.put(long());
}

fn wrong_object() {
    let class = ContainerType::Object { class: "Node".into(), script: None };
    let mut building = in_array(1, &class);
    building.next_element();
    building.put(RefCounted::new_gd().to_variant());
    building.close_array();
}

fn left_objects() {
    let class = ContainerType::Object { class: "Node".into(), script: None };
    in_array(1, &class).leave_elements(1);
}

fn left_after_drop() {
    let mut building = in_array(3, &STRING);
    building.next_element();
    building.drop_element();
    building.leave_elements(1);
}

fn dropped_after_left() {
    let mut building = in_array(3, &STRING);
    let _left = building.leave_elements(1);
    building.next_element();
    building.drop_element();
}

fn one_too_many() {
    let mut building = in_array(1, &STRING);
    building.next_element();
    building.drop_element();
    building.next_element();
}

fn nothing_to_drop() {
    in_array(3, &STRING).drop_element();
}

fn wrong_key() {
    let mut building = in_dictionary(&STRING, &INT);
    building.next_key();
    building.put_int(1);
    building.next_value(true);
}

fn wrong_key_of() {
    let mut building = in_dictionary(&STRING, &INT);
    building.next_key();
    building.next_value_of(&1.to_variant());
}

fn wrong_value() {
    let mut building = in_dictionary(&STRING, &INT);
    put_key(&mut building, "a");
    building.put(long());
    building.next_key();
}

fn wrong_last_value() {
    let mut building = in_dictionary(&STRING, &INT);
    put_key(&mut building, "a");
    building.put(long());
    building.close_dictionary();
}

fn key_with_gaps() {
    let mut building = in_dictionary(&ANY, &ANY);
    building.next_key();
    assert!(building.open_array(1, &ANY), "there is memory");
    let _left = building.leave_elements(1);
    building.close_array();
    building.next_value(true);
}

fn put_after_left() {
    let mut building = in_dictionary(&ANY, &ANY);
    put_key(&mut building, "a");
    let _left = building.leave_value();
    building.put_int(1);
}

fn finished_with_gaps() {
    let mut building = in_array(1, &ANY);
    let _left = building.leave_elements(1);
    building.close_array();
    building.finish();
}

fn aside_with_gaps() {
    let mut building = Building::new();
    building.open_aside();
    assert!(building.open_array(1, &ANY), "there is memory");
    let _left = building.leave_elements(1);
    building.close_array();
    building.close_aside();
}

fn finished_while_open() {
    in_array(1, &ANY).finish();
}

fn too_many_elements() {
    let mut building = in_array(1, &ANY);
    building.next_element();
    building.next_element();
}

fn too_many_left() {
    in_array(1, &ANY).leave_elements(2);
}

fn run_too_long() {
    let mut building = in_array(1, &ANY);
    assert!(building.put_run(T::Int, &mut [[0; 8]; 2].into_iter()), "no run");
}

fn run_too_wide() {
    let mut building = in_array(1, &ANY);
    assert!(building.put_run(T::Int, &mut [[0; 16]].into_iter()), "no run");
}

fn no_element() {
    in_array(1, &ANY).put_int(1);
}

fn no_key() {
    in_dictionary(&ANY, &ANY).put_int(1);
}

fn key_in_array() {
    in_array(1, &ANY).next_key();
}

fn element_in_dictionary() {
    in_dictionary(&ANY, &ANY).next_element();
}

fn wrong_slot() {
    Slots::of_buffers(1, |mut slots| slots.put(1.to_variant())).expect("there is memory");
}

fn no_bytes() {
    Slots::of_variants(1, |mut slots| slots.next_bytes().len()).expect("there is memory");
}

fn too_many_slots() {
    Slots::of_variants(0, |mut slots| slots.put(Variant::nil())).expect("there is memory");
}

fn too_many_strings() {
    StringSlots::new(0).expect("there is memory").put(GString::new());
}

fn too_many_strings_left() {
    StringSlots::new(1).expect("there is memory").leave(2);
}

fn elements_of_int() {
    Reader::new().elements(&1.to_variant());
}

fn entries_of_array() {
    Reader::new().entries(&array().to_variant(), false);
}

fn type_of_int() {
    Reader::new().array_type(&1.to_variant());
}

fn wrong_packed() {
    Reader::new().strings(&PackedInt32Array::from([1]).to_variant());
}

fn dropped_element() -> (String, String) {
    let mut building = in_array(4, &STRING);
    for text in ["a", "b"] {
        building.next_element();
        building.put_string(GString::from(text));
        building.next_element();
        building.put_int(1);
        if text == "b" {
            building.put_string(GString::from("c"));
        } else {
            building.drop_element();
        }
    }
    building.close_array();
    (printed(&building.finish()), printed(&varray(&["a", "b", "c"])))
}

fn dropped_last() -> (String, String) {
    let mut building = in_array(3, &STRING);
    building.next_element();
    building.put_string(GString::from("a"));
    for _ in 0..2 {
        building.next_element();
        building.put(long().to_variant());
        building.drop_element();
    }
    building.close_array();
    (printed(&building.finish()), printed(&varray(&["a"])))
}

fn varray(texts: &[&str]) -> Variant {
    texts.iter().map(|text| GString::from(*text)).collect::<Array<GString>>().to_variant()
}

fn incomplete_element() -> (String, String) {
    let made = with_gaps(|_| {
        let mut building = in_array(1, &ANY);
        let left = building.leave_elements(1);
        building.close_array();
        let mut other = Building::of_elements(left);
        other.next_element();
        other.put_int(1);
        drop(other);
        Some((building.finish_with_gaps(Vec::new()), ()))
    });
    (printed(&made.expect("it is made").0), printed(&array![&Variant::nil()].to_variant()))
}

fn incomplete_dictionary() -> (String, String) {
    let made = with_gaps(|_| {
        let mut building = in_array(1, &ANY);
        let left = building.leave_elements(1);
        building.close_array();
        let mut other = Building::of_elements(left);
        other.next_element();
        other.open_dictionary(&STRING, &INT);
        put_key(&mut other, "a");
        other.put(long());
        drop(other);
        Some((building.finish_with_gaps(Vec::new()), ()))
    });
    (printed(&made.expect("it is made").0), printed(&array![&Variant::nil()].to_variant()))
}

fn wrong_left_element() -> (String, String) {
    let made = with_gaps(|_| {
        let mut building = in_array(2, &STRING);
        let left = building.leave_elements(2);
        building.close_array();
        std::thread::scope(|threads| {
            let thread = threads.spawn(|| {
                let mut other = Building::of_elements(left);
                other.next_element();
                other.put_string(GString::from("a"));
                other.next_element();
                other.put_int(1);
                other.close_array();
            });
            assert!(thread.join().is_err(), "another type is refused");
        });
        Some((building.finish_with_gaps(Vec::new()), ()))
    });
    (printed(&made.expect("it is made").0), printed(&varray(&["a", ""])))
}

/// A Dictionary[String, int] with one entry, whose value is left; `fill` gets a slot for it.
fn with_left_value(fill: impl FnOnce(Slots<'_>)) -> String {
    let made = with_gaps(|_| {
        let mut building = in_dictionary(&STRING, &INT);
        put_key(&mut building, "a");
        let left = building.leave_value().expect("there is a value");
        building.close_dictionary();
        let (staged, slots) = StagedValues::new(vec![left]).expect("there is memory");
        fill(slots);
        Some((building.finish_with_gaps(vec![staged]), ()))
    });
    printed(&made.expect("it is made").0)
}

fn one_entry(value: i64) -> String {
    let mut entry = VarDictionary::new();
    entry.set("a", value);
    printed(&entry.to_variant())
}

fn unfilled_value() -> (String, String) {
    (with_left_value(|slots| drop(slots)), one_entry(0))
}

fn wrong_left_value() -> (String, String) {
    (with_left_value(|mut slots| slots.put(long())), one_entry(0))
}

fn left_value() -> (String, String) {
    (with_left_value(|mut slots| slots.put(7_i64.to_variant())), one_entry(7))
}

fn given_up() -> (String, String) {
    let mut building = in_dictionary(&ANY, &ANY);
    let is_direct = Reader::new().is_direct();
    if is_direct {
        copied(&mut building);
        building.next_key();
        building.next_copied_value();
        building.put_int(7);
        building.discard_copied();
    } else {
        put_key(&mut building, "a");
        building.put_int(7);
    }
    building.close_dictionary();
    (printed(&building.finish()), one_entry(7))
}

fn mixed_run() -> (String, String) {
    let mut building = in_array(3, &INT);
    for value in [1_i64, 2, 3] {
        if value == 2 && building.put_run(T::Int, &mut [value.to_le_bytes()].into_iter()) {
            continue;
        }
        building.next_element();
        building.put_int(value);
    }
    building.close_array();
    let expected: Array<i64> = array![1, 2, 3];
    (printed(&building.finish()), printed(&expected.to_variant()))
}
