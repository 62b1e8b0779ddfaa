//! Finds the engine's memory layout from a few values at start-up, and verifies it on others, of every type.

use std::sync::OnceLock;

use godot::builtin::{GString, Signal, StringName, Variant};
use godot::classes::Os;
use godot::global::godot_warn;
use godot::meta::ToGodot;
use godot::obj::Singleton;
use variant_codec::VariantType;
use variant_codec::format::Shape;
use variant_codec::stream::Precision;

use crate::behaviour;
use crate::building::Building;
use crate::documented::{
    documented_elements, documented_string, documented_units, element_address, value_address,
};
use crate::interface::{TypePtr, interface};
use crate::layout::{
    ENTRY_KEY, LAYOUT, Layout, VARIANT, block, layout, move_name, move_signal, move_string, number, payload,
    tag, word, write_plain,
};
use crate::read::ContainerType;
use crate::strings::string_in_place;
use crate::types::{PRECISION, is_boxed, is_inline};

/// The number of bytes searched in each block, before anything is verified. These sizes are assumptions: on
/// 64-bit systems, engines from 4.4 to 4.6 have no shorter blocks, and no documented function returns the
/// size. In an engine with shorter blocks, the search would read up to this many bytes of heap memory beyond
/// a block. The search writes nothing, and the facts that it finds are verified.
const ARRAY_BLOCK: usize = 64;
const PACKED_BLOCK: usize = 32;
const DICTIONARY_BLOCK: usize = 120;
const NAME_BLOCK: usize = 32;

/// The name of a fact that does not hold, as printed in the warning.
type Fact = &'static str;

/// The configured access to engine memory.
#[derive(Debug, Default)]
pub struct Access {
    is_portable: bool,
    #[cfg(feature = "fault-injection")]
    wrong_fact: Option<String>,
}

impl Access {
    /// Direct access if it can be verified; only documented functions if `is_portable`.
    pub fn new(is_portable: bool) -> Self {
        Self {
            is_portable,
            #[cfg(feature = "fault-injection")]
            wrong_fact: None,
        }
    }

    /// This access with one fact made wrong, to test that verification detects it.
    #[cfg(feature = "fault-injection")]
    pub fn with_wrong_fact(self, wrong_fact: Option<String>) -> Self {
        Self { wrong_fact, ..self }
    }

    /// Whether a test makes this fact wrong.
    #[cfg(feature = "fault-injection")]
    pub(crate) fn spoils(&self, fact: &str) -> bool {
        self.wrong_fact.as_deref() == Some(fact)
    }

    /// Returns false: only tests make facts wrong.
    #[cfg(not(feature = "fault-injection"))]
    pub(crate) fn spoils(&self, _fact: &str) -> bool {
        false
    }
}

/// The findings of `measure`, for reports.
#[derive(Clone, Copy, Default)]
pub struct Findings {
    offsets: Option<Layout>,
    /// The name of the first fact that does not hold, as printed in the warning.
    pub failed: Option<&'static str>,
}

static FINDINGS: OnceLock<Findings> = OnceLock::new();

/// The findings at start-up.
pub fn findings() -> Findings {
    FINDINGS.get().copied().unwrap_or_default()
}

impl Findings {
    /// Whether engine memory is accessed directly.
    pub fn is_direct(&self) -> bool {
        layout().is_some()
    }

    /// The facts that were found, verified or not: names, and offsets in bytes.
    pub fn offsets(&self) -> impl Iterator<Item = (&'static str, usize)> {
        self.offsets
            .into_iter()
            .flat_map(|mut found| found.facts().map(|Offset { name, offset, .. }| (name, *offset)))
    }
}

/// A fact of a [`Layout`].
struct Offset<'l> {
    name: &'static str,
    offset: &'l mut usize,
    /// The number that makes the fact wrong, when added to the offset.
    wrong: isize,
}

/// Verifies the facts of `behaviour.rs`. If direct access is allowed, also finds and verifies the layout.
pub(crate) fn measure(access: &Access) {
    LAYOUT.get_or_init(|| {
        let is_direct = !access.is_portable && cfg!(target_pointer_width = "64");
        let mut offsets = None;
        let layout = behaviour::own_places(|fact| access.spoils(fact)).and_then(|()| match is_direct {
            true => {
                let found = offsets.insert(Layout::find()?.perturbed(access));
                found.verified(access).map(Some)
            }
            false => Ok(None),
        });
        FINDINGS.get_or_init(|| Findings { offsets, failed: layout.err() });
        layout.unwrap_or_else(|fact| {
            godot_warn!(
                "FastVariantCodec: unexpected memory layout in this engine: {fact}. Falling back to the slower portable access path."
            );
            None
        })
    });
}

/// The first offset, in steps of `step` bytes, at which `holds` is true for all blocks.
fn offset_where<const N: usize>(
    fact: Fact,
    bytes: usize,
    step: usize,
    blocks: [*const u8; N],
    holds: impl Fn(usize, *const u8, usize) -> bool,
) -> Result<usize, Fact> {
    let last = bytes - step;
    (0..=last)
        .step_by(step)
        .find(|&offset| blocks.iter().enumerate().all(|(index, &block)| holds(index, block, offset)))
        .ok_or(fact)
}

/// The address at `offset` in the block of an Array, packed array or StringName. If the offset is right, this
/// is the address of the first element or code unit.
fn first_address(container: &Variant, offset: usize) -> usize {
    // SAFETY: all callers pass a value of these types and an offset within its block.
    unsafe { word(block(container), offset) }
}

fn ints(len: i64) -> Variant {
    let array = Building::default_value(VariantType::Array);
    for index in 0..len {
        array.call("append", &[index.to_variant()]);
    }
    array
}

/// A StringName of this text, and the address and number of the code units of its String, from documented
/// functions.
fn name(text: &str) -> (Variant, (*const u32, usize)) {
    let name = StringName::from(text);
    let shared = GString::from(&name);
    (name.to_variant(), documented_units(&shared))
}

/// A Dictionary whose keys are the ints below `len`, and the keys in order. If there are more than two keys,
/// one of them is erased and added again.
fn dictionary(len: i64) -> (Variant, Vec<Variant>) {
    let dictionary = Building::default_value(VariantType::Dictionary);
    let mut keys: Vec<i64> = (0..len).collect();
    for key in &keys {
        dictionary.call("set", &[key.to_variant(), Variant::nil()]);
    }
    if len > 2 {
        let moved = keys.remove(1);
        keys.push(moved);
        dictionary.call("erase", &[moved.to_variant()]);
        dictionary.call("set", &[moved.to_variant(), Variant::nil()]);
    }
    (dictionary, keys.iter().map(ToGodot::to_variant).collect())
}

fn copied(dictionary: &Variant) -> Variant {
    let copy = Building::default_value(VariantType::Dictionary);
    // SAFETY: both are Dictionaries, and nothing else uses the new one, which is untyped.
    unsafe {
        let payload = |value| interface().payload(value, VariantType::Dictionary);
        interface().assign_dictionary(payload(&copy), payload(dictionary));
    }
    copy
}

/// A packed array of `len` default elements, and the address of the first element.
fn packed(ty: VariantType, len: i64) -> (Variant, *const u8) {
    let array = Building::default_value(ty);
    array.call("resize", &[len.to_variant()]);
    // SAFETY: the array has this type.
    let (first, _) = unsafe { documented_elements(interface().payload(&array, ty), ty) };
    (array, first)
}

fn typed_dictionary(key: VariantType, value: VariantType) -> Variant {
    let mut building = Building::new();
    building.open_dictionary(&ContainerType::Builtin(key), &ContainerType::Builtin(value));
    building.close_dictionary();
    building.finish()
}

fn packed_types() -> impl Iterator<Item = VariantType> {
    VariantType::ALL.into_iter().filter(|ty| ty.shape().is_packed())
}

impl Layout {
    /// Finds each fact by examining a few values.
    // Not inlined, because valgrind's suppression looks for this function's name in stacks.
    #[inline(never)]
    fn find() -> Result<Self, Fact> {
        for ty in VariantType::ALL {
            tag_and_payload(&Building::default_value(ty), ty)?;
        }

        let arrays = [ints(1), ints(2), ints(300)];
        let array_elements = offset_where(
            "elements of an Array",
            ARRAY_BLOCK,
            size_of::<usize>(),
            arrays.each_ref().map(block),
            // SAFETY: `offset_where` stays within the block.
            |index, block, offset| unsafe { word(block, offset) } == element_address(&arrays[index], 0),
        )?;
        let types = [VariantType::Int, VariantType::String, VariantType::PackedVector4Array];
        let typed = types.map(Building::empty_array);
        let array_type = offset_where(
            "element type of an Array",
            ARRAY_BLOCK,
            size_of::<u32>(),
            typed.each_ref().map(block),
            // SAFETY: `offset_where` stays within the block.
            |index, block, offset| unsafe { number(block, offset) } == u32::from(types[index].id()),
        )?;

        let bytes = [1, 2, 300].map(|len| packed(VariantType::PackedByteArray, len));
        let packed_elements = offset_where(
            "elements of a packed array",
            PACKED_BLOCK,
            size_of::<usize>(),
            bytes.each_ref().map(|(array, _)| block(array)),
            // SAFETY: `offset_where` stays within the block.
            |index, block, offset| unsafe { word(block, offset) } == bytes[index].1 as usize,
        )?;
        let count = (1..=3)
            .map(|words| words * size_of::<usize>())
            .find(|&back| {
                // SAFETY: a non-empty buffer has its header of three words before the elements.
                bytes
                    .iter()
                    .zip([1, 2, 300])
                    .all(|((_, first), len)| unsafe { word(first.sub(back), 0) } == len)
            })
            .ok_or("element count of a buffer")?;

        let names = ["fast_variant_codec/a", "fast_variant_codec/some other name"].map(name);
        let name_text = offset_where(
            "text of a StringName",
            NAME_BLOCK,
            size_of::<usize>(),
            names.each_ref().map(|(name, _)| block(name)),
            // SAFETY: `offset_where` stays within the block.
            |index, block, offset| unsafe { word(block, offset) } == names[index].1.0 as usize,
        )?;

        let dictionaries = [dictionary(1), dictionary(2), dictionary(300)];
        let dictionary_first = offset_where(
            "entries of a Dictionary",
            DICTIONARY_BLOCK,
            size_of::<usize>(),
            dictionaries.each_ref().map(|(dictionary, _)| block(dictionary)),
            |index, block, offset| {
                let (dictionary, keys) = &dictionaries[index];
                let entry = value_address(dictionary, &keys[0]) - VARIANT - ENTRY_KEY;
                // SAFETY: `offset_where` stays within the block.
                unsafe { word(block, offset) == entry }
            },
        )?;
        let dictionary_size = offset_where(
            "size of a Dictionary",
            DICTIONARY_BLOCK,
            size_of::<u32>(),
            dictionaries.each_ref().map(|(dictionary, _)| block(dictionary)),
            // SAFETY: `offset_where` stays within the block.
            |index, block, offset| unsafe { number(block, offset) } as usize == dictionaries[index].1.len(),
        )?;
        let pairs = [
            (VariantType::Int, VariantType::String),
            (VariantType::PackedVector4Array, VariantType::Color),
            (VariantType::Rid, VariantType::Array),
        ];
        let typed = pairs.map(|(key, value)| typed_dictionary(key, value));
        let type_of = |fact, of: fn((VariantType, VariantType)) -> VariantType| {
            offset_where(
                fact,
                DICTIONARY_BLOCK,
                size_of::<u32>(),
                typed.each_ref().map(block),
                // SAFETY: `offset_where` stays within the block.
                |index, block, offset| unsafe { number(block, offset) } == u32::from(of(pairs[index]).id()),
            )
        };
        Ok(Self {
            array_elements,
            array_type,
            packed_elements,
            name_text,
            count,
            dictionary_first,
            dictionary_size,
            dictionary_key_type: type_of("key type of a Dictionary", |(key, _)| key)?,
            dictionary_value_type: type_of("value type of a Dictionary", |(_, value)| value)?,
        })
    }

    fn facts(&mut self) -> [Offset<'_>; 9] {
        let fact = |name, offset, wrong| Offset { name, offset, wrong };
        [
            fact("array_elements", &mut self.array_elements, 8),
            fact("array_type", &mut self.array_type, -4),
            fact("packed_elements", &mut self.packed_elements, -8),
            fact("count", &mut self.count, 8),
            fact("name_text", &mut self.name_text, 8),
            fact("dictionary_first", &mut self.dictionary_first, 8),
            fact("dictionary_size", &mut self.dictionary_size, -4),
            fact("dictionary_key_type", &mut self.dictionary_key_type, 4),
            fact("dictionary_value_type", &mut self.dictionary_value_type, 4),
        ]
    }

    /// Falsifies one fact, if a test asks for it.
    fn perturbed(mut self, access: &Access) -> Self {
        for Offset { offset, wrong, .. } in self.facts().into_iter().filter(|fact| access.spoils(fact.name)) {
            *offset = offset.wrapping_add_signed(wrong);
        }
        self
    }

    /// Compares each fact with the documented functions, on values that were not used to find it.
    fn verified(self, access: &Access) -> Result<Self, Fact> {
        let check = |holds: bool, fact: Fact| if holds { Ok(()) } else { Err(fact) };

        for len in [0, 3, 4, 5, 77] {
            let array = ints(len);
            // Addresses are compared before anything is read through them, here and below.
            let expected = if len == 0 { 0 } else { element_address(&array, 0) };
            check(first_address(&array, self.array_elements) == expected, "elements of an Array")?;
            check(self.elements(&array).1 == len as usize, "size of an Array")?;
            for index in 0..len as usize {
                let address = self.elements(&array).0 as usize + index * VARIANT;
                check(address == element_address(&array, index), "elements of an Array")?;
            }
            for ty in packed_types() {
                let (array, first) = packed(ty, len);
                let found = first_address(&array, self.packed_elements);
                check(found == first as usize, "elements of a packed array")?;
                check(self.packed(&array).1 == len as usize, "size of a packed array")?;
            }
            let (name, documented) = name(&"n".repeat(len as usize));
            let text = if len == 0 { 0 } else { documented.0 as usize };
            check(len == 0 || first_address(&name, self.name_text) == text, "text of a StringName")?;
            let found = self.name_text(&name.to::<StringName>());
            check(found == Some(documented), "text of a StringName")?;
            let (dictionary, keys) = dictionary(len);
            check(self.dictionary_size(&dictionary) == keys.len(), "size of a Dictionary")?;
            let mut entries = self.entries(&dictionary);
            for key in &keys {
                let expected = value_address(&dictionary, key) - VARIANT - ENTRY_KEY;
                check(entries.0 as usize == expected, "entries of a Dictionary")?;
                // SAFETY: the address has just been compared with the documented one.
                let entry = unsafe { entries.next() };
                let found = entry.map(|(key, _)| key.to_variant());
                check(found.as_ref() == Some(key), "entries of a Dictionary")?;
            }
            check(entries.0.is_null(), "entries of a Dictionary")?;
            let copy = copied(&dictionary);
            let mut entries = self.entries(&copy);
            for key in &keys {
                let expected = value_address(&copy, key);
                check(entries.0 as usize == expected - VARIANT - ENTRY_KEY, "entries of a Dictionary")?;
                // SAFETY: the address has just been compared with the documented one; nothing else uses the copy.
                let place = unsafe { entries.next_place() };
                check(place.map(|place| place as usize) == Some(expected), "entries of a Dictionary")?;
            }
            check(entries.0.is_null(), "entries of a Dictionary")?;
            let text = GString::from("x".repeat(len as usize).as_str());
            check(self.text(&text) == documented_units(&text), "code units of a String")?;
        }
        for ty in VariantType::ALL.into_iter().skip(1) {
            check(
                self.array_type(&Building::empty_array(ty)) == u32::from(ty.id()),
                "element type of an Array",
            )?;
            for other in [VariantType::Nil, VariantType::Bool, VariantType::StringName] {
                let id = |ty: VariantType| u32::from(ty.id());
                let types = self.dictionary_types(&typed_dictionary(ty, other));
                check(types == (id(ty), id(other)), "key and value types of a Dictionary")?;
                let types = self.dictionary_types(&typed_dictionary(other, ty));
                check(types == (id(other), id(ty)), "key and value types of a Dictionary")?;
            }
            written(ty)?;
        }
        behaviour::new_elements(access.spoils("new_elements"))?;
        check(self.array_type(&ints(3)) == 0, "element type of an Array")?;
        check(self.dictionary_types(&dictionary(3).0) == (0, 0), "key and value types of a Dictionary")?;
        Ok(self)
    }
}

/// Checks that a Variant has its tag and its payload at the expected offsets.
fn tag_and_payload(variant: &Variant, ty: VariantType) -> Result<(), Fact> {
    if tag(variant) != u32::from(ty.id()) {
        return Err("type tag of a Variant");
    }
    if ty == VariantType::Nil {
        return Ok(());
    }
    // SAFETY: the Variant has this type.
    let documented: TypePtr = unsafe { interface().payload(variant, ty) };
    let expected = match ty.shape() {
        // Packed arrays are behind two pointers, and are verified with their elements.
        Shape::Packed(..) | Shape::PackedStrings => return Ok(()),
        // Objects are always read with documented functions, because they may have been freed.
        Shape::Object => return Ok(()),
        _ if is_boxed(ty) => block(variant),
        _ => payload(variant),
    };
    if documented.cast_const().cast() == expected { Ok(()) } else { Err("payload of a Variant") }
}

/// Checks that the engine correctly reads values written to memory.
fn written(ty: VariantType) -> Result<(), Fact> {
    let bytes = match ty.shape() {
        Shape::Bool => 1,
        Shape::Int | Shape::Float | Shape::Rid => 8,
        Shape::Fixed(lane, count) if is_inline(ty) => count * lane.width(PRECISION == Precision::Double),
        Shape::Text => return written_text(),
        Shape::Signal => return written_signal(),
        _ => return Ok(()),
    };
    let pattern: Vec<u8> = (1..=bytes as u8).collect();
    let mut variant = Variant::nil();
    // SAFETY: a Nil needs no destructor, nor does a value of this type. A value of another type is forgotten.
    // Only documented functions read the value.
    unsafe {
        write_plain(&raw mut variant, ty, &pattern);
        if interface().type_of(&variant) != Some(ty) {
            std::mem::forget(variant);
            return Err("type tag of a Variant");
        }
        let payload = interface().payload(&variant, ty).cast::<u8>();
        if std::slice::from_raw_parts(payload, bytes) != pattern {
            return Err("payload of a Variant");
        }
    }
    Ok(())
}

/// Checks that the engine finds a String or StringName moved into a Variant.
fn written_text() -> Result<(), Fact> {
    if block_of_empty_string() != 0 {
        return Err("empty String");
    }
    for text in ["", "a", "hello", "日本語", "a byte-order mark: \u{FEFF}", "\u{FEFF}first", "😀"] {
        let made = string_in_place(text);
        let documented = documented_string(text);
        if made != documented || made.len() != text.chars().count() {
            return Err("buffer of a String");
        }
        let mut variant = Variant::nil();
        // SAFETY: a Nil needs no destructor.
        unsafe { move_string(&raw mut variant, made) };
        if interface().type_of(&variant) != Some(VariantType::String) {
            std::mem::forget(variant);
            return Err("type tag of a Variant");
        }
        if variant.to::<GString>() != documented {
            return Err("String in a Variant");
        }

        let mut variant = Variant::nil();
        let name = StringName::from(&documented);
        // SAFETY: a Nil needs no destructor.
        unsafe { move_name(&raw mut variant, VariantType::StringName, name.clone()) };
        if interface().type_of(&variant) != Some(VariantType::StringName) {
            std::mem::forget(variant);
            return Err("type tag of a Variant");
        }
        if variant.to::<StringName>() != name {
            return Err("StringName in a Variant");
        }
    }
    Ok(())
}

/// Checks that the engine finds a Signal written into a Variant, for a live object and a freed one.
fn written_signal() -> Result<(), Fact> {
    let living = Os::singleton().instance_id().to_i64() as u64;
    for (name, object) in
        [("", 0), ("changed", living), ("no such signal", living), ("of nothing", 1 << 40 | 77)]
    {
        let name = StringName::from(name);
        let mut variant = Variant::nil();
        // SAFETY: a Nil needs no destructor.
        unsafe { move_signal(&raw mut variant, name.clone(), object) };
        if interface().type_of(&variant) != Some(VariantType::Signal) {
            std::mem::forget(variant);
            return Err("type tag of a Variant");
        }
        let signal = variant.to::<Signal>();
        let found = signal.object_id().map_or(0, |id| id.to_i64() as u64);
        if signal.name() != name || found != object {
            // If the layout differs, this may not be a Signal that can be freed.
            std::mem::forget((variant, signal));
            return Err("Signal in a Variant");
        }
    }
    Ok(())
}

/// The pointer that represents an empty String.
fn block_of_empty_string() -> usize {
    let empty = GString::new();
    // SAFETY: a String is one pointer, and GString is transparent over the String.
    unsafe { std::ptr::from_ref(&empty).cast::<usize>().read() }
}
