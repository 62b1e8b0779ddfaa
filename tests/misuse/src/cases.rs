//! The cases, each a misuse of `variant_engine`.
#![forbid(unsafe_code)]

use godot::builtin::{Array, GString, PackedInt32Array, VarDictionary, Variant, array, vdict};
use godot::classes::{Engine, RefCounted};
use godot::meta::ToGodot;
use godot::obj::{NewGd, Singleton as _};
use variant_codec::{ErrorKind, VariantType as T};
use variant_engine::{Building, ContainerType, Reader, Slots, StringSlots, new_bytes, with_gaps};

/// The expected outcome.
pub enum Case {
    /// A panic before any invalid access.
    Refused(fn()),
    /// An intact value. The function returns this value and the expected value, both as the engine prints
    /// them.
    Harmless(fn() -> (String, String)),
}

use Case::{Harmless, Refused};

const ANY: ContainerType = ContainerType::Untyped;
const STRING: ContainerType = ContainerType::Builtin(T::String);
const INT: ContainerType = ContainerType::Builtin(T::Int);

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

/// Copies two entries. Without direct access, `copy_entries` panics.
fn copied(building: &mut Building<'_>) {
    building.copy_entries(&template());
}

fn varray(texts: &[&str]) -> Variant {
    texts.iter().map(|text| GString::from(*text)).collect::<Array<GString>>().to_variant()
}

/// An Array whose elements are all left out; `fill` gets their slots.
fn with_left_elements(len: usize, element: &ContainerType, fill: impl FnOnce(Slots<'_>)) -> String {
    let made = with_gaps(|_| {
        let mut building = in_array(len, element);
        let left = building.leave_elements(len);
        building.close_array();
        fill(left);
        Some((building.finish_with_gaps(), ()))
    });
    printed(&made.expect("it is made").0)
}

fn one_entry(value: i64) -> String {
    let mut entry = VarDictionary::new();
    entry.set("a", value);
    printed(&entry.to_variant())
}

macro_rules! cases {
    ($($outcome:ident $name:literal $run:block)*) => {
        pub const CASES: &[(&str, Case)] = &[$(($name, $outcome(|| $run)),)*];
    };
}

cases! {
    Refused "copied entries, then an entry by its key" {
        let mut building = in_dictionary(&ANY, &ANY);
        copied(&mut building);
        building.next_key();
        building.put("b".to_variant());
        building.next_value(true);
    }
    Refused "entries copied under an open value" {
        let mut building = in_dictionary(&ANY, &ANY);
        put_key(&mut building, "k");
        copied(&mut building);
    }
    Refused "entries copied from another type" {
        let mut building = in_dictionary(&ANY, &ANY);
        building.copy_entries(&1.to_variant());
    }
    Refused "more values than copied entries" {
        let mut building = in_dictionary(&ANY, &ANY);
        copied(&mut building);
        for _ in 0..3 {
            building.next_key();
            building.next_copied_value();
            building.put_int(1);
        }
    }
    Refused "an int as the element of an Array[String]" {
        let mut building = in_array(1, &STRING);
        building.next_element();
        building.put_int(1);
        building.close_array();
    }
    Refused "no value as the element of an Array[String]" {
        let mut building = in_array(1, &STRING);
        building.next_element();
        building.close_array();
    }
    Refused "an int as the second element of an Array[String]" {
        let mut building = in_array(3, &STRING);
        building.next_element();
        building.put_string(GString::from("a"));
        building.next_element();
        building.put_int(1);
        building.next_element();
    }
    Refused "an int after a run of ints in an Array[int]" {
        let mut building = in_array(2, &INT);
        // There are no runs without direct access.
        assert!(building.put_run(T::Int, &mut [1_i64.to_le_bytes()].into_iter()), "no run");
        building.put(long());
    }
    Refused "a RefCounted as the element of an Array[Node]" {
        let class = ContainerType::Object { class: "Node".into(), script: None };
        let mut building = in_array(1, &class);
        building.next_element();
        building.put(RefCounted::new_gd().to_variant());
        building.close_array();
    }
    Refused "elements of an Array[Node], left to another thread" {
        let class = ContainerType::Object { class: "Node".into(), script: None };
        in_array(1, &class).leave_elements(1);
    }
    Refused "elements left after one was dropped" {
        let mut building = in_array(3, &STRING);
        building.next_element();
        building.drop_element();
        building.leave_elements(1);
    }
    Refused "an element dropped after others were left" {
        let mut building = in_array(3, &STRING);
        let _left = building.leave_elements(1);
        building.next_element();
        building.drop_element();
    }
    Refused "another element after all, one of which was dropped" {
        let mut building = in_array(1, &STRING);
        building.next_element();
        building.drop_element();
        building.next_element();
    }
    Refused "no element to drop" {
        in_array(3, &STRING).drop_element();
    }
    Refused "an int among the keys of a Dictionary[String, int]" {
        let mut building = in_dictionary(&STRING, &INT);
        building.next_key();
        building.put_int(1);
        building.next_value(true);
    }
    Refused "another Dictionary's key" {
        let mut building = in_dictionary(&STRING, &INT);
        building.next_key();
        building.next_value_of(&1.to_variant());
    }
    Refused "a String among the values of a Dictionary[String, int]" {
        let mut building = in_dictionary(&STRING, &INT);
        put_key(&mut building, "a");
        building.put(long());
        building.next_key();
    }
    Refused "a String as the last value of a Dictionary[String, int]" {
        let mut building = in_dictionary(&STRING, &INT);
        put_key(&mut building, "a");
        building.put(long());
        building.close_dictionary();
    }
    Refused "a key that others are filling" {
        let mut building = in_dictionary(&ANY, &ANY);
        building.next_key();
        assert!(building.open_array(1, &ANY), "there is memory");
        let _left = building.leave_elements(1);
        building.close_array();
        building.next_value(true);
    }
    Refused "an Array finished while others fill it" {
        let mut building = in_array(1, &ANY);
        let _left = building.leave_elements(1);
        building.close_array();
        building.finish();
    }
    Refused "a value set aside while others fill it" {
        let mut building = Building::new();
        building.open_detached();
        assert!(building.open_array(1, &ANY), "there is memory");
        let _left = building.leave_elements(1);
        building.close_array();
        building.close_detached();
    }
    Refused "an open container finished" {
        in_array(1, &ANY).finish();
    }
    Refused "more elements than there are" {
        let mut building = in_array(1, &ANY);
        building.next_element();
        building.next_element();
    }
    Refused "more elements left than there are" {
        in_array(1, &ANY).leave_elements(2);
    }
    Refused "a run longer than the Array" {
        let mut building = in_array(1, &ANY);
        assert!(building.put_run(T::Int, &mut [[0; 8]; 2].into_iter()), "no run");
    }
    Refused "a run of another width" {
        let mut building = in_array(1, &ANY);
        assert!(building.put_run(T::Int, &mut [[0; 16]].into_iter()), "no run");
    }
    Refused "a value before the first element" {
        in_array(1, &ANY).put_int(1);
    }
    Refused "a value before the first key" {
        in_dictionary(&ANY, &ANY).put_int(1);
    }
    Refused "a key in an Array" {
        in_array(1, &ANY).next_key();
    }
    Refused "an element in a Dictionary" {
        in_dictionary(&ANY, &ANY).next_element();
    }
    Refused "a value in the slots of a typed Array" {
        Slots::of_buffers(1, |mut slots| slots.put(1.to_variant())).expect("there is memory");
    }
    Refused "bytes in the slots of an untyped Array" {
        Slots::of_variants(1, |mut slots| slots.next_bytes().len()).expect("there is memory");
    }
    Refused "more values than slots" {
        Slots::of_variants(0, |mut slots| slots.put(Variant::nil())).expect("there is memory");
    }
    Refused "more texts than slots" {
        StringSlots::new(0).expect("there is memory").put(GString::new());
    }
    Refused "more texts left than slots" {
        StringSlots::new(1).expect("there is memory").leave(2);
    }
    Refused "elements of an int" {
        Reader::new().elements(&1.to_variant());
    }
    Refused "entries of an Array" {
        _ = Reader::new().entries(&array().to_variant(), false);
    }
    Refused "the type of an int's elements" {
        Reader::new().array_type(&1.to_variant());
    }
    Refused "the strings of a PackedInt32Array" {
        Reader::new().strings(&PackedInt32Array::from([1]).to_variant());
    }
    Harmless "an element dropped" {
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
    Harmless "elements dropped at the end" {
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
    Harmless "an element that is never completed" {
        let found = with_left_elements(1, &ANY, |left| {
            let mut other = Building::of_elements(left);
            other.next_element();
            other.put_int(1);
        });
        (found, printed(&array![&Variant::nil()].to_variant()))
    }
    Harmless "a typed Dictionary that is never completed" {
        let found = with_left_elements(1, &ANY, |left| {
            let mut other = Building::of_elements(left);
            other.next_element();
            other.open_dictionary(&STRING, &INT);
            put_key(&mut other, "a");
            other.put(long());
        });
        (found, printed(&array![&Variant::nil()].to_variant()))
    }
    Harmless "a wrong element of an Array that others fill" {
        let found = with_left_elements(2, &STRING, |left| {
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
        });
        (found, printed(&varray(&["a", ""])))
    }
    Harmless "copied entries given up" {
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
    Harmless "bytes for which there is no memory" {
        let mut engine = Engine::singleton();
        engine.set_print_error_messages(false);
        let made = new_bytes(1 << 46);
        engine.set_print_error_messages(true);
        (format!("{:?}", made.map_err(|error| error.kind().clone()).err()), format!("{:?}", Some(ErrorKind::OutOfMemory(1 << 46))))
    }
    Harmless "a value of each kind in an Array of ints" {
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
}
