//! The conversions that the engine applies when a value of another type is put into a typed container.
//!
//! The engine's typed append converts a value of another type, or prints an error if it cannot. So that many invalid
//! values print only one error, this module predicts the result from a table measured on the running engine, and passes
//! only valid values to the engine.

use std::sync::OnceLock;

use godot::builtin::{Color, GString, NodePath, PackedStringArray, Quaternion, Signal, StringName, Variant};
use godot::meta::ToGodot;
use godot::prelude::VarArray;
use godot::sys::interface_fn;
use variant_codec::VariantType;

use crate::building::Building;
use crate::interface::is_debug_build;
use crate::read::Reader;

/// The table of conversions.
pub struct Conversions {
    /// By target type id: a bit for each source type id that the engine converts from.
    sources: [u64; VariantType::COUNT],
    /// Whether ints become 64-bit rather than 32-bit floats.
    widens_ints: bool,
}

/// A converted value.
pub struct Converted {
    /// The value.
    pub value: Variant,
    /// The number of characters in the value, if it is a PackedStringArray converted from an Array;
    /// otherwise 0.
    pub text: usize,
}

static CONVERSIONS: OnceLock<Conversions> = OnceLock::new();

pub(crate) fn measure() {
    CONVERSIONS.get_or_init(|| {
        let is_broad = converts_broadly();
        let candidates: fn(VariantType, VariantType) -> bool = if is_broad {
            |target, source| {
                let id = |ty: VariantType| i32::from(ty.id());
                // SAFETY: the interface is initialised, and both are ids of types.
                unsafe { interface_fn!(variant_can_convert_strict)(id(source), id(target)) != 0 }
            }
        } else {
            use VariantType::{Float, Int, String, StringName};
            |target, source| {
                matches!((target, source), (String, StringName) | (StringName, String) | (Float, Int))
            }
        };
        let sources = std::array::from_fn(|id| {
            let target = VariantType::ALL[id];
            let candidates = VariantType::ALL.iter().filter(|&&source| {
                source != target && target != VariantType::Nil && candidates(target, source)
            });
            candidates
                .filter(|&&source| is_taken(target, source))
                .fold(0, |bits, source| bits | 1 << source.id())
        });
        Conversions { sources, widens_ints: is_broad }
    });
}

/// Whether this engine converts everything that its strict rules allow (4.6 and newer), rather than only text
/// and ints.
///
/// One conversion reveals this: older engines round an int to a 32-bit float.
fn converts_broadly() -> bool {
    let probe = Building::empty_array(VariantType::Float);
    probe.call("append", &[16_777_217_i64.to_variant()]);
    probe.call("front", &[]).to::<f64>() == 16_777_217.0
}

/// Whether the engine's typed append really accepts a value of type `source`.
fn is_taken(target: VariantType, source: VariantType) -> bool {
    let value = match source {
        // The default, an empty String, is not a color, so the engine would print an error.
        VariantType::String => GString::from("red").to_variant(),
        _ => Building::default_value(source),
    };
    let probe = Building::empty_array(target);
    probe.call("append", &[value]);
    probe.call("size", &[]).to::<i64>() == 1
}

impl Conversions {
    /// The table for the running engine.
    #[inline(always)]
    pub fn get() -> &'static Self {
        CONVERSIONS.get().expect("the extension has been initialised by the engine")
    }

    fn accepts(&self, target: VariantType, source: VariantType) -> bool {
        target == source || self.sources[usize::from(target.id())] >> source.id() & 1 != 0
    }

    /// Converts a value as the engine's typed append does, without printing errors. Returns `None` if the
    /// engine would refuse the value.
    pub fn convert(&self, target: VariantType, value: &Variant) -> Option<Converted> {
        let source = Reader::new().ty(value)?;
        // This is the only conversion of containers to text. Each level of nesting escapes the text again,
        // which doubles its length.
        let is_text = target == VariantType::PackedStringArray && source == VariantType::Array;
        if !self.accepts(target, source) || is_text && may_print_as_text(value) {
            return None;
        }
        let value = match (target, source) {
            (VariantType::Float, VariantType::Int) if self.widens_ints => {
                (value.to::<i64>() as f64).to_variant()
            }
            (VariantType::String, VariantType::StringName) => {
                GString::from(&value.to::<StringName>()).to_variant()
            }
            (VariantType::StringName, VariantType::String) => {
                StringName::from(&value.to::<GString>()).to_variant()
            }
            _ => {
                let array = Building::empty_array(target);
                array.call("append", &[self.replace_invalid(target, value.clone())]);
                array.call("front", &[])
            }
        };
        let text = if is_text { characters(&value) } else { 0 };
        Some(Converted { value, text })
    }

    /// Replaces invalid parts with the defaults that the engine would use after printing an error.
    fn replace_invalid(&self, target: VariantType, value: Variant) -> Variant {
        match (target, Reader::new().ty(&value)) {
            (VariantType::Color, Some(VariantType::String)) => valid_color(value),
            (VariantType::NodePath, Some(VariantType::String))
                if !is_path(&value.to::<GString>().to_string()) =>
            {
                NodePath::default().to_variant()
            }
            (VariantType::PackedColorArray, Some(VariantType::Array)) => {
                let elements = Reader::new().elements(&value);
                let mut quiet = VarArray::new();
                for element in (0..elements.len()).filter_map(|index| elements.get(index)) {
                    quiet.push(&valid_color(element.clone()));
                }
                quiet.to_variant()
            }
            // Debug builds print an error for a Basis that is not a rotation; release builds do not check.
            (VariantType::Quaternion, Some(VariantType::Basis)) if is_debug_build() => {
                if is_rotation(&value) { value } else { Quaternion::default().to_variant() }
            }
            _ => value,
        }
    }
}

fn characters(texts: &Variant) -> usize {
    texts.to::<PackedStringArray>().as_slice().iter().fold(0, |sum, text| sum.saturating_add(text.len()))
}

/// The deepest level of containers that the engine converts to text.
const MAX_TEXT_DEPTH: usize = 101;

/// Whether the engine may print errors when it converts this Array to text. It prints them for containers
/// nested too deeply, and for Signals, whose objects it looks up.
fn may_print_as_text(array: &Variant) -> bool {
    has_inside(array, |value, ty, level| match ty {
        VariantType::Signal => value.to::<Signal>().object_id().is_some(),
        _ => level > MAX_TEXT_DEPTH,
    })
}

/// Whether containers are nested more than `levels` levels below this Array or Dictionary.
pub fn is_nested_deeper(container: &Variant, levels: usize) -> bool {
    has_inside(container, |_, _, level| level > levels)
}

/// Whether `test` holds for a value in this Array or Dictionary, at any level. `test` gets the value, its
/// type and a level: the level of the value if the value is a container, otherwise the level of the container
/// that holds it. `container` itself has level 0.
fn has_inside(container: &Variant, test: impl Fn(&Variant, VariantType, usize) -> bool) -> bool {
    let reader = Reader::new();
    let mut pending = vec![(container.clone(), 0)];
    while let Some((container, level)) = pending.pop() {
        let mut look = |value: &Variant| {
            let Some(ty) = reader.ty(value) else { return false };
            let is_container = matches!(ty, VariantType::Array | VariantType::Dictionary);
            let level = level + usize::from(is_container);
            if test(value, ty, level) {
                return true;
            }
            if is_container {
                pending.push((value.clone(), level));
            }
            false
        };
        if reader.ty(&container) == Some(VariantType::Dictionary) {
            let (mut entries, _) = reader.entries(&container, false);
            while let Some((key, value)) = reader.next_entry(&mut entries) {
                if look(key) || look(value) {
                    return true;
                }
            }
        } else {
            let elements = reader.elements(&container);
            if (0..elements.len()).filter_map(|index| elements.get(index)).any(look) {
                return true;
            }
        }
    }
    false
}

/// Whether this text is a valid NodePath: only the last subname may be empty.
fn is_path(text: &str) -> bool {
    let Some((_, subnames)) = text.split_once(':') else { return true };
    let mut subnames = subnames.split(':').rev();
    subnames.next();
    subnames.all(|subname| !subname.is_empty())
}

/// The value, or black for a String that is not a color name or code, as in the engine.
fn valid_color(value: Variant) -> Variant {
    match value.try_to::<GString>() {
        Ok(text) if Color::from_string(&text).is_none() => Color::from_rgba(0.0, 0.0, 0.0, 1.0).to_variant(),
        _ => value,
    }
}

/// Whether a Basis passes the engine's own test for conversion to a Quaternion.
fn is_rotation(basis: &Variant) -> bool {
    /// The engine's `UNIT_EPSILON`.
    const TOLERANCE: f64 = 0.001;
    let determinant = basis.call("determinant", &[]).to::<f64>();
    basis.call("is_conformal", &[]).booleanize() && (determinant - 1.0).abs() < TOLERANCE
}
