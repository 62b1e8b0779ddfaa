//! Verifies at start-up how the engine treats new memory, as `probe.rs` verifies the layout.
//!
//! Several threads fill elements of an Array. Both access paths then rely on a fact: a resized Array or packed array
//! does not share its buffer, so mutable access to an element copies nothing and returns the same address each time. If
//! it does not hold, every call uses only the calling thread.
//!
//! Writing elements in place relies on a second fact: new elements need no destructor. New elements of an
//! Array are Nil, or the default of a number or math type. New elements of a PackedStringArray are null
//! pointers.

use std::sync::OnceLock;

use godot::builtin::{GString, PackedStringArray, Variant};
use godot::meta::ToGodot;
use godot::sys::interface_fn;
use variant_codec::VariantType;

use crate::building::Building;
use crate::documented::{documented_elements, element_address};
use crate::interface::interface;
use crate::layout;
use crate::types::{is_inline, plain_bytes};

/// The name of a fact that does not hold, as printed in the warning.
type Fact = &'static str;

const LENGTHS: [usize; 3] = [1, 3, 77];

static OWN_PLACES: OnceLock<Result<(), Fact>> = OnceLock::new();

/// Whether several threads may fill a container. False before start-up.
pub fn can_share_out() -> bool {
    OWN_PLACES.get().is_some_and(Result::is_ok)
}

/// Verifies that buffers are unshared. `spoils` returns whether a test makes a fact wrong.
pub(crate) fn own_places(spoils: impl Fn(&str) -> bool) -> Result<(), Fact> {
    *OWN_PLACES.get_or_init(|| unshared(spoils("own_buffers")))
}

fn resized(element: VariantType, len: usize) -> Variant {
    let array = match element {
        VariantType::Nil => Building::default_value(VariantType::Array),
        _ => Building::empty_array(element),
    };
    array.call("resize", &[(len as i64).to_variant()]);
    array
}

/// Checks that mutable and const access return the same address. `spoilt` shares the buffers, to make the
/// check fail.
fn unshared(spoilt: bool) -> Result<(), Fact> {
    let fact = Err("buffer of a new Array");
    for len in LENGTHS {
        for element in [VariantType::Nil, VariantType::Int, VariantType::PackedByteArray] {
            let array = resized(element, len);
            let _shared = spoilt.then(|| array.call("duplicate", &[]));
            let read = element_address(&array, 0);
            // SAFETY: the Array has this element.
            let changed = unsafe {
                let payload = interface().payload(&array, VariantType::Array);
                interface_fn!(array_operator_index)(payload, 0) as usize
            };
            if read != changed {
                return fact;
            }
        }
        let array = strings(len);
        // SAFETY: the Variant holds a PackedStringArray with this element.
        let (read, changed) = unsafe {
            let payload = interface().payload(&array, VariantType::PackedStringArray);
            let (read, _) = documented_elements(payload, VariantType::PackedStringArray);
            (read as usize, interface_fn!(packed_string_array_operator_index)(payload, 0) as usize)
        };
        if read != changed {
            return fact;
        }
    }
    Ok(())
}

/// A PackedStringArray, resized as in `StringSlots`.
fn strings(len: usize) -> Variant {
    let mut strings = PackedStringArray::new();
    strings.resize(len);
    strings.to_variant()
}

/// Checks the contents of new elements, for direct access. `spoilt` uses another type, to make the check
/// fail.
pub(crate) fn new_elements(spoilt: bool) -> Result<(), Fact> {
    let fact = Err("elements of a new Array");
    for ty in VariantType::ALL {
        let is_plain = plain_bytes(ty).is_some_and(|bytes| layout::PAYLOAD + bytes <= layout::VARIANT);
        if ty != VariantType::Nil && !is_plain {
            continue;
        }
        let array = resized(if spoilt { VariantType::String } else { ty }, LENGTHS[1]);
        for index in 0..LENGTHS[1] {
            // SAFETY: the Array has this element; godot-rust's Variant is transparent over the engine's.
            let element = unsafe { &*(element_address(&array, index) as *const Variant) };
            let is_right =
                interface().type_of(element) == Some(ty) && layout::tag(element) == u32::from(ty.id());
            if !is_right || ty != VariantType::Nil && !is_inline(ty) {
                return fact;
            }
        }
    }
    for len in LENGTHS {
        let array = strings(len);
        // SAFETY: the Variant holds a PackedStringArray with `count` elements; each is a String, which is one pointer
        // (asserted here).
        let words = unsafe {
            let payload = interface().payload(&array, VariantType::PackedStringArray);
            let (first, count) = documented_elements(payload, VariantType::PackedStringArray);
            assert_eq!(size_of::<GString>(), size_of::<usize>());
            std::slice::from_raw_parts(first.cast::<usize>(), count)
        };
        if words.iter().any(|word| *word != 0) {
            return fact;
        }
    }
    Ok(())
}
