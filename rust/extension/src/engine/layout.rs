//! Where the engine keeps things in memory: found at start-up, then verified on other values of every type.
//!
//! The engine documents functions, not memory. Reading and writing plain memory is several times faster, so each fact
//! that doing so relies on is looked for in the running engine and held against what the documented functions answer.
//! The first fact that does not hold switches the direct path off for the whole run, with one warning, and everything
//! goes through the documented functions.
//!
//! ```text
//! Variant            tag u32 at 0, payload at 8
//!   plain types      the value itself, String, StringName, NodePath … likewise
//!   boxed types      a pointer to the value (Transform2D, AABB, Basis, Transform3D, Projection)
//!   Array            a pointer to its block, which points to its elements
//!   packed arrays    a pointer to a block, which points to its elements
//!   Dictionary       a pointer to its block, which points to its first entry
//! entry              next entry, previous entry, key, value
//! elements           one after the other; their count stands before the first
//! ```
//!
//! What the engine does with that memory, `behaviour.rs` holds against it.

use std::mem::MaybeUninit;
use std::sync::OnceLock;

use godot::builtin::{GString, Signal, StringName, Variant};
use godot::classes::Os;
use godot::global::godot_warn;
use godot::meta::ToGodot;
use godot::obj::Singleton;
use godot::sys::{GodotFfi, interface_fn};
use variant_codec::VariantType;
use variant_codec::format::Shape;

use super::Building;
use super::behaviour;
use super::building::documented_string;
use super::interface::{TypePtr, interface, variant_ptr};
use super::read::{documented_elements, documented_units};
use crate::settings;

/// Bytes from the start of a Variant to its payload.
pub const PAYLOAD: usize = 8;
/// Bytes of a Variant.
pub const VARIANT: usize = size_of::<Variant>();
/// Bytes of the blocks that are searched: none is shorter in any engine that this library supports.
const ARRAY_BLOCK: usize = 64;
const PACKED_BLOCK: usize = 32;
const DICTIONARY_BLOCK: usize = 120;
const NAME_BLOCK: usize = 32;
/// A key and a value are next to each other, behind two pointers.
const ENTRY_KEY: usize = 16;

/// The facts that were found, as offsets in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// From an Array's block to the pointer to its elements.
    array_elements: usize,
    /// From an Array's block to the id of its element type.
    array_type: usize,
    /// From a packed array's block to the pointer to its elements.
    packed_elements: usize,
    /// From the first element of a buffer back to its count, a u64.
    count: usize,
    /// From a StringName's block to its String.
    name_text: usize,
    /// From a Dictionary's block to the pointer to its first entry.
    dictionary_first: usize,
    /// From a Dictionary's block to its number of entries, a u32.
    dictionary_size: usize,
    /// From a Dictionary's block to the id of its key type.
    dictionary_key_type: usize,
    /// From a Dictionary's block to the id of its value type.
    dictionary_value_type: usize,
}

static LAYOUT: OnceLock<Option<Layout>> = OnceLock::new();

/// The facts, if all of them hold and the direct path is wanted.
#[inline(always)]
pub fn layout() -> Option<&'static Layout> {
    LAYOUT.get().and_then(Option::as_ref)
}

/// What came of [`measure`], for reports.
#[derive(Clone, Copy, Default)]
pub struct Findings {
    offsets: Option<Layout>,
    /// The first fact that does not hold, in words.
    pub failed: Option<&'static str>,
}

static FINDINGS: OnceLock<Findings> = OnceLock::new();

/// What was found at start-up.
pub fn findings() -> Findings {
    FINDINGS.get().copied().unwrap_or_default()
}

impl Findings {
    /// Whether engine memory is reached directly.
    pub fn is_direct(&self) -> bool {
        layout().is_some()
    }

    /// The facts that were found, whether or not they proved right: names, and offsets in bytes.
    pub fn offsets(&self) -> impl Iterator<Item = (&'static str, usize)> {
        self.offsets.into_iter().flat_map(|found| {
            [
                ("array_elements", found.array_elements),
                ("array_type", found.array_type),
                ("packed_elements", found.packed_elements),
                ("count", found.count),
                ("name_text", found.name_text),
                ("dictionary_first", found.dictionary_first),
                ("dictionary_size", found.dictionary_size),
                ("dictionary_key_type", found.dictionary_key_type),
                ("dictionary_value_type", found.dictionary_value_type),
            ]
        })
    }
}

/// Finds and verifies the facts.
pub(super) fn measure() {
    LAYOUT.get_or_init(|| {
        let is_direct = settings::portable_access().is_none() && cfg!(target_pointer_width = "64");
        let mut offsets = None;
        let layout = behaviour::own_places().and_then(|()| match is_direct {
            true => Layout::find().and_then(|found| offsets.insert(found).verified()).map(Some),
            false => Ok(None),
        });
        FINDINGS.get_or_init(|| Findings { offsets, failed: layout.err() });
        layout.unwrap_or_else(|fact| {
            godot_warn!(
                "FastVariantCodec: this engine keeps {fact} elsewhere than expected. Everything works, more slowly."
            );
            None
        })
    });
}

/// What does not hold, in words for people.
pub(super) type Fact = &'static str;

/// The word at `offset` from `block`.
///
/// # Safety
/// - That many bytes and eight more are readable at `block`.
unsafe fn word(block: *const u8, offset: usize) -> usize {
    // SAFETY: as the caller vouches for; unaligned reads are allowed here.
    unsafe { block.add(offset).cast::<usize>().read_unaligned() }
}

/// The four-byte number at `offset` from `block`.
///
/// # Safety
/// - That many bytes and four more are readable at `block`.
unsafe fn number(block: *const u8, offset: usize) -> u32 {
    // SAFETY: as the caller vouches for; unaligned reads are allowed here.
    unsafe { block.add(offset).cast::<u32>().read_unaligned() }
}

/// The tag of a Variant: the id of its type.
#[inline(always)]
pub fn tag(variant: &Variant) -> u32 {
    // SAFETY: a Variant starts with at least four bytes.
    unsafe { variant_ptr(variant).cast::<u32>().read() }
}

/// The payload of a Variant.
#[inline(always)]
pub fn payload(variant: &Variant) -> *const u8 {
    // SAFETY: a Variant is longer than its payload's offset.
    unsafe { variant_ptr(variant).cast::<u8>().add(PAYLOAD) }
}

/// What the payload of a Variant points to, if it is a pointer.
#[inline(always)]
fn block(variant: &Variant) -> *const u8 {
    // SAFETY: a Variant is longer than its payload's offset and a pointer; whether this is one is for the caller.
    unsafe { payload(variant).cast::<*const u8>().read() }
}

/// The first offset in a block, in steps of a word, at which `holds` is true of all blocks.
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

/// The address that stands at `offset` in the block of an Array or packed array: that of its first element, if the
/// offset is right.
fn first_address(container: &Variant, offset: usize) -> usize {
    // SAFETY: every caller passes such a container and an offset within its block.
    unsafe { word(block(container), offset) }
}

/// The documented address of an Array's element.
pub(super) fn element_address(array: &Variant, index: usize) -> usize {
    // SAFETY: every caller passes an Array.
    unsafe {
        let payload = interface().payload(array, VariantType::Array);
        interface_fn!(array_operator_index_const)(payload, index as i64) as usize
    }
}

/// The documented address of the value at a key that a Dictionary has.
pub(super) fn value_address(dictionary: &Variant, key: &Variant) -> usize {
    // SAFETY: every caller passes a Dictionary with this key.
    unsafe {
        let payload = interface().payload(dictionary, VariantType::Dictionary);
        interface_fn!(dictionary_operator_index_const)(payload, variant_ptr(key)) as usize
    }
}

/// An Array of `len` ints.
fn ints(len: i64) -> Variant {
    let array = Building::default_value(VariantType::Array);
    for index in 0..len {
        array.call("append", &[index.to_variant()]);
    }
    array
}

/// A StringName of this text, and the documented code units of the String that the engine shares with it.
fn name(text: &str) -> (Variant, (*const u32, usize)) {
    let name = StringName::from(text);
    let shared = GString::from(&name);
    (name.to_variant(), documented_units(&shared))
}

/// A Dictionary whose keys are the ints below `len`, some of them taken out and put in again, and those keys in order.
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

/// A Dictionary that has got the entries of another one in one go.
fn copied(dictionary: &Variant) -> Variant {
    let copy = Building::default_value(VariantType::Dictionary);
    // SAFETY: both are Dictionaries, and nothing else uses the new one, which is untyped.
    unsafe {
        let payload = |value| interface().payload(value, VariantType::Dictionary);
        interface().assign_dictionary(payload(&copy), payload(dictionary));
    }
    copy
}

/// A packed array of `len` default elements, and the address of its first.
fn packed(ty: VariantType, len: i64) -> (Variant, *const u8) {
    let array = Building::default_value(ty);
    array.call("resize", &[len.to_variant()]);
    // SAFETY: the array has this type.
    let (first, _) = unsafe { documented_elements(interface().payload(&array, ty), ty) };
    (array, first)
}

/// An empty Dictionary of these types.
fn typed_dictionary(key: VariantType, value: VariantType) -> Variant {
    use super::read::ContainerType::Builtin;
    let mut building = Building::new();
    building.open_dictionary(&Builtin(key), &Builtin(value));
    building.close_dictionary();
    building.finish()
}

fn packed_types() -> impl Iterator<Item = VariantType> {
    VariantType::ALL.into_iter().filter(|ty| matches!(ty.shape(), Shape::Packed(..) | Shape::PackedStrings))
}

impl Layout {
    /// Looks for each fact on a few values.
    // A name of its own in the stacks that valgrind's suppression looks for.
    #[inline(never)]
    fn find() -> Result<Self, Fact> {
        for ty in VariantType::ALL {
            tag_and_payload(&Building::default_value(ty), ty)?;
        }

        let arrays = [ints(1), ints(2), ints(300)];
        let array_elements = offset_where(
            "the elements of Arrays",
            ARRAY_BLOCK,
            size_of::<usize>(),
            arrays.each_ref().map(block),
            // SAFETY: the search stays within the block.
            |index, block, offset| unsafe { word(block, offset) } == element_address(&arrays[index], 0),
        )?;
        let types = [VariantType::Int, VariantType::String, VariantType::PackedVector4Array];
        let typed = types.map(Building::empty_array);
        let array_type = offset_where(
            "the types of Arrays",
            ARRAY_BLOCK,
            size_of::<u32>(),
            typed.each_ref().map(block),
            // SAFETY: the search stays within the block.
            |index, block, offset| unsafe { number(block, offset) } == u32::from(types[index].id()),
        )?;

        let bytes = [1, 2, 300].map(|len| packed(VariantType::PackedByteArray, len));
        let packed_elements = offset_where(
            "the elements of packed arrays",
            PACKED_BLOCK,
            size_of::<usize>(),
            bytes.each_ref().map(|(array, _)| block(array)),
            // SAFETY: the search stays within the block.
            |index, block, offset| unsafe { word(block, offset) } == bytes[index].1 as usize,
        )?;
        // Three words in front of the elements hold the buffer's own numbers.
        let count = (1..=3)
            .map(|words| words * size_of::<usize>())
            .find(|&back| {
                // SAFETY: a buffer with elements has its header in front of them.
                bytes
                    .iter()
                    .zip([1, 2, 300])
                    .all(|((_, first), len)| unsafe { word(first.sub(back), 0) } == len)
            })
            .ok_or("the counts of buffers")?;

        let names = ["fast_variant_codec/a", "fast_variant_codec/some other name"].map(name);
        let name_text = offset_where(
            "the texts of StringNames",
            NAME_BLOCK,
            size_of::<usize>(),
            names.each_ref().map(|(name, _)| block(name)),
            // SAFETY: the search stays within the block.
            |index, block, offset| unsafe { word(block, offset) } == names[index].1.0 as usize,
        )?;

        let dictionaries = [dictionary(1), dictionary(2), dictionary(300)];
        let dictionary_first = offset_where(
            "the entries of Dictionaries",
            DICTIONARY_BLOCK,
            size_of::<usize>(),
            dictionaries.each_ref().map(|(dictionary, _)| block(dictionary)),
            |index, block, offset| {
                let (dictionary, keys) = &dictionaries[index];
                let entry = value_address(dictionary, &keys[0]) - VARIANT - ENTRY_KEY;
                // SAFETY: the search stays within the block.
                unsafe { word(block, offset) == entry }
            },
        )?;
        let dictionary_size = offset_where(
            "the sizes of Dictionaries",
            DICTIONARY_BLOCK,
            size_of::<u32>(),
            dictionaries.each_ref().map(|(dictionary, _)| block(dictionary)),
            // SAFETY: the search stays within the block.
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
                // SAFETY: the search stays within the block.
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
            dictionary_key_type: type_of("the key types of Dictionaries", |(key, _)| key)?,
            dictionary_value_type: type_of("the value types of Dictionaries", |(_, value)| value)?,
        }
        .perturbed())
    }

    /// One fact wrong, if the test for that asks for it.
    fn perturbed(mut self) -> Self {
        let Some(fact) = settings::wrong_fact() else { return self };
        match fact.as_str() {
            "array_elements" => self.array_elements += 8,
            "array_type" => self.array_type -= 4,
            "packed_elements" => self.packed_elements -= 8,
            "count" => self.count += 8,
            "name_text" => self.name_text += 8,
            "dictionary_first" => self.dictionary_first += 8,
            "dictionary_size" => self.dictionary_size -= 4,
            "dictionary_key_type" => self.dictionary_key_type += 4,
            "dictionary_value_type" => self.dictionary_value_type += 4,
            _ => {}
        }
        self
    }

    /// Holds each fact against the documented functions, on values that were not used to find it.
    fn verified(self) -> Result<Self, Fact> {
        let check = |holds: bool, fact: Fact| if holds { Ok(()) } else { Err(fact) };

        for len in [0, 3, 4, 5, 77] {
            let array = ints(len);
            // Addresses are compared before anything is read through them, here and below.
            let expected = if len == 0 { 0 } else { element_address(&array, 0) };
            check(first_address(&array, self.array_elements) == expected, "the elements of Arrays")?;
            check(self.elements(&array).1 == len as usize, "the sizes of Arrays")?;
            for index in 0..len as usize {
                let address = self.elements(&array).0 as usize + index * VARIANT;
                check(address == element_address(&array, index), "the elements of Arrays")?;
            }
            for ty in packed_types() {
                let (array, first) = packed(ty, len);
                let found = first_address(&array, self.packed_elements);
                check(found == first as usize, "the elements of packed arrays")?;
                check(self.packed(&array).1 == len as usize, "the sizes of packed arrays")?;
            }
            let (name, documented) = name(&"n".repeat(len as usize));
            let text = if len == 0 { 0 } else { documented.0 as usize };
            check(len == 0 || first_address(&name, self.name_text) == text, "the texts of StringNames")?;
            let found = self.name_text(&name.to::<StringName>());
            check(found == Some(documented), "the texts of StringNames")?;
            let (dictionary, keys) = dictionary(len);
            check(self.dictionary_size(&dictionary) == keys.len(), "the sizes of Dictionaries")?;
            let mut entries = self.entries(&dictionary);
            for key in &keys {
                let expected = value_address(&dictionary, key) - VARIANT - ENTRY_KEY;
                check(entries.0 as usize == expected, "the entries of Dictionaries")?;
                // SAFETY: the address has just been compared with the documented one.
                let entry = unsafe { entries.next() };
                let found = entry.map(|(key, _)| key.to_variant());
                check(found.as_ref() == Some(key), "the entries of Dictionaries")?;
            }
            check(entries.0.is_null(), "the entries of Dictionaries")?;
            let copy = copied(&dictionary);
            let mut entries = self.entries(&copy);
            for key in &keys {
                let expected = value_address(&copy, key);
                check(entries.0 as usize == expected - VARIANT - ENTRY_KEY, "the entries of Dictionaries")?;
                // SAFETY: the address has just been compared with the documented one; nothing else uses the copy.
                let place = unsafe { entries.next_place() };
                check(place.map(|place| place as usize) == Some(expected), "the entries of Dictionaries")?;
            }
            check(entries.0.is_null(), "the entries of Dictionaries")?;
            let text = GString::from("x".repeat(len as usize).as_str());
            check(self.text(&text) == documented_units(&text), "Strings")?;
        }
        for ty in VariantType::ALL.into_iter().skip(1) {
            check(self.array_type(&Building::empty_array(ty)) == u32::from(ty.id()), "the types of Arrays")?;
            for other in [VariantType::Nil, VariantType::Bool, VariantType::StringName] {
                let id = |ty: VariantType| u32::from(ty.id());
                let types = self.dictionary_types(&typed_dictionary(ty, other));
                check(types == (id(ty), id(other)), "the types of Dictionaries")?;
                let types = self.dictionary_types(&typed_dictionary(other, ty));
                check(types == (id(other), id(ty)), "the types of Dictionaries")?;
            }
            written(ty)?;
        }
        behaviour::new_elements()?;
        check(self.array_type(&ints(3)) == 0, "the types of Arrays")?;
        check(self.dictionary_types(&dictionary(3).0) == (0, 0), "the types of Dictionaries")?;
        Ok(self)
    }

    /// The elements of an Array: the first and their number.
    #[inline(always)]
    pub fn elements(&self, array: &Variant) -> (*const Variant, usize) {
        let (first, count) = self.buffer(array, self.array_elements);
        (first.cast(), count)
    }

    /// The elements of a packed array: the first and their number.
    #[inline(always)]
    pub fn packed(&self, array: &Variant) -> (*const u8, usize) {
        self.buffer(array, self.packed_elements)
    }

    #[inline(always)]
    fn buffer(&self, variant: &Variant, elements: usize) -> (*const u8, usize) {
        // SAFETY: the payload points to a block of such a type, whose offset has been verified, and a buffer that is
        // there has its count in front.
        unsafe {
            let first = word(block(variant), elements) as *const u8;
            (first, if first.is_null() { 0 } else { word(first.sub(self.count), 0) })
        }
    }

    /// The code units of a String: the first and their number.
    #[inline(always)]
    pub fn text(&self, string: &GString) -> (*const u32, usize) {
        // SAFETY: a String is one pointer, over which GString is transparent.
        let first = unsafe { std::ptr::from_ref(string).cast::<*const u8>().read() };
        if first.is_null() {
            return (std::ptr::null(), 0);
        }
        // SAFETY: a String that is not empty points to its code units, which have their count in front; a closing zero
        // is counted.
        let count = unsafe { word(first.sub(self.count), 0) }.saturating_sub(1);
        if count == 0 { (std::ptr::null(), 0) } else { (first.cast(), count) }
    }

    /// The code units of a StringName: the first and their number. `None` where the engine has no String of it, as older
    /// ones may not have for names that are written in their code.
    #[inline(always)]
    pub fn name_text(&self, name: &StringName) -> Option<(*const u32, usize)> {
        // SAFETY: a StringName is one pointer, over which godot-rust's is transparent.
        let block = unsafe { std::ptr::from_ref(name).cast::<*const u8>().read() };
        if block.is_null() {
            return Some((std::ptr::null(), 0));
        }
        // SAFETY: a StringName that is not empty points to its block, whose offset has been verified; there is a String,
        // over which GString is transparent.
        let text = self.text(unsafe { &*block.add(self.name_text).cast::<GString>() });
        (text.1 > 0).then_some(text)
    }

    /// The id of an Array's element type.
    #[inline(always)]
    pub fn array_type(&self, array: &Variant) -> u32 {
        // SAFETY: the payload points to an Array's block, and the offset lies within.
        unsafe { number(block(array), self.array_type) }
    }

    /// The ids of a Dictionary's key and value types.
    #[inline(always)]
    pub fn dictionary_types(&self, dictionary: &Variant) -> (u32, u32) {
        let block = block(dictionary);
        // SAFETY: the payload points to a Dictionary's block, and the offsets lie within.
        unsafe { (number(block, self.dictionary_key_type), number(block, self.dictionary_value_type)) }
    }

    /// The number of a Dictionary's entries.
    #[inline(always)]
    pub fn dictionary_size(&self, dictionary: &Variant) -> usize {
        // SAFETY: the payload points to a Dictionary's block, and the offset lies within.
        unsafe { number(block(dictionary), self.dictionary_size) as usize }
    }

    /// The entries of a Dictionary, in insertion order.
    #[inline(always)]
    pub fn entries(&self, dictionary: &Variant) -> LinkedEntries {
        // SAFETY: the payload points to a Dictionary's block, and the offset lies within.
        LinkedEntries(unsafe { word(block(dictionary), self.dictionary_first) } as *const u8)
    }
}

/// A walk from entry to entry of a Dictionary.
#[derive(Clone, Copy)]
pub struct LinkedEntries(*const u8);

impl LinkedEntries {
    /// A walk that is over.
    pub const OVER: Self = Self(std::ptr::null());

    /// The current entry's key and value; goes on to the next entry.
    ///
    /// # Safety
    /// - The Dictionary lives for `'a`, and nobody changes it meanwhile.
    #[inline(always)]
    pub unsafe fn next<'a>(&mut self) -> Option<(&'a Variant, &'a Variant)> {
        // SAFETY: as the caller vouches for.
        unsafe { self.step().map(|(key, value)| (&*key, &*value)) }
    }

    /// The place of the current entry's value; goes on to the next entry.
    ///
    /// # Safety
    /// - The Dictionary is alive, and nobody else changes it.
    #[inline(always)]
    pub unsafe fn next_place(&mut self) -> Option<*mut Variant> {
        // SAFETY: as the caller vouches for.
        unsafe { self.step().map(|(_, value)| value) }
    }

    /// # Safety
    /// - The Dictionary is alive.
    #[inline(always)]
    unsafe fn step(&mut self) -> Option<(*mut Variant, *mut Variant)> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: an entry starts with the pointer to the next one; key and value are where verification found them.
        unsafe {
            let key = self.0.add(ENTRY_KEY).cast::<Variant>().cast_mut();
            self.0 = word(self.0, 0) as *const u8;
            Some((key, key.add(1)))
        }
    }
}

/// Whether a Variant holds values of this type itself.
#[inline(always)]
pub const fn is_inline(ty: VariantType) -> bool {
    !is_boxed(ty) && !matches!(ty.shape(), Shape::Packed(..) | Shape::PackedStrings | Shape::Object)
}

/// Whether values of this type are boxed: too large for a Variant, which points to them.
#[inline(always)]
pub const fn is_boxed(ty: VariantType) -> bool {
    use VariantType as T;
    matches!(ty, T::Transform2D | T::Aabb | T::Basis | T::Transform3D | T::Projection)
}

/// Checks that a Variant has its tag and its payload where expected.
fn tag_and_payload(variant: &Variant, ty: VariantType) -> Result<(), Fact> {
    if tag(variant) != u32::from(ty.id()) {
        return Err("the tag of Variants");
    }
    if ty == VariantType::Nil {
        return Ok(());
    }
    // SAFETY: the Variant has this type.
    let documented: TypePtr = unsafe { interface().payload(variant, ty) };
    let expected = match ty.shape() {
        // Reached through two pointers, and verified with elements.
        Shape::Packed(..) | Shape::PackedStrings => return Ok(()),
        // Always asked for through documented functions, since the object may be gone.
        Shape::Object => return Ok(()),
        _ if is_boxed(ty) => block(variant),
        _ => payload(variant),
    };
    if documented.cast_const().cast() == expected { Ok(()) } else { Err("the payload of Variants") }
}

/// Checks that what is written to memory is what the engine takes it for.
fn written(ty: VariantType) -> Result<(), Fact> {
    let bytes = match ty.shape() {
        Shape::Bool => 1,
        Shape::Int | Shape::Float | Shape::Rid => 8,
        Shape::Fixed(lane, count) if is_inline(ty) => {
            count * lane.width(size_of::<godot::builtin::real>() == size_of::<f64>())
        }
        Shape::Text => return written_text(),
        Shape::Signal => return written_signal(),
        _ => return Ok(()),
    };
    let pattern: Vec<u8> = (1..=bytes as u8).collect();
    let mut variant = Variant::nil();
    // SAFETY: a Nil needs no destructor. A value of this type, if the facts hold, needs none either, and is looked at
    // only through documented functions; if they do not, it is not destroyed.
    unsafe {
        write_plain(&raw mut variant, ty, &pattern);
        if interface().type_of(&variant) != Some(ty) {
            std::mem::forget(variant);
            return Err("the tag of Variants");
        }
        let payload = interface().payload(&variant, ty).cast::<u8>();
        if std::slice::from_raw_parts(payload, bytes) != pattern {
            return Err("the payload of Variants");
        }
    }
    Ok(())
}

/// Checks that a String moved into a Variant is there.
fn written_text() -> Result<(), Fact> {
    if block_of_empty_string() != 0 {
        return Err("empty Strings");
    }
    for text in ["", "a", "hello", "日本語", "a byte-order mark: \u{FEFF}", "\u{FEFF}first", "😀"] {
        let made = string(text);
        let documented = documented_string(text);
        if made != documented || made.len() != text.chars().count() {
            return Err("the room of Strings");
        }
        let mut variant = Variant::nil();
        // SAFETY: a Nil needs no destructor.
        unsafe { move_string(&raw mut variant, made) };
        if interface().type_of(&variant) != Some(VariantType::String) {
            std::mem::forget(variant);
            return Err("the tag of Variants");
        }
        if variant.to::<GString>() != documented {
            return Err("the Strings in Variants");
        }

        let mut variant = Variant::nil();
        let name = StringName::from(&documented);
        // SAFETY: a Nil needs no destructor.
        unsafe { move_name(&raw mut variant, VariantType::StringName, name.clone()) };
        if interface().type_of(&variant) != Some(VariantType::StringName) {
            std::mem::forget(variant);
            return Err("the tag of Variants");
        }
        if variant.to::<StringName>() != name {
            return Err("the StringNames in Variants");
        }
    }
    Ok(())
}

/// Checks that a Signal written into a Variant is there, of an object that lives and of one that does not.
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
            return Err("the tag of Variants");
        }
        let signal = variant.to::<Signal>();
        let found = signal.object_id().map_or(0, |id| id.to_i64() as u64);
        if signal.name() != name || found != object {
            // What is not where it is expected may be no Signal that can be freed.
            std::mem::forget((variant, signal));
            return Err("the Signals in Variants");
        }
    }
    Ok(())
}

/// What the one pointer of an empty String is.
fn block_of_empty_string() -> usize {
    let empty = GString::new();
    // SAFETY: a String is one pointer, over which GString is transparent.
    unsafe { std::ptr::from_ref(&empty).cast::<usize>().read() }
}

/// Writes a value that needs no destructor into a Variant that is Nil.
///
/// # Safety
/// - `place` is valid for writing a Variant, and what it holds needs no destructor.
/// - `ty` is held by the Variant itself, and has exactly these bytes.
#[inline(always)]
pub unsafe fn write_plain(place: *mut Variant, ty: VariantType, bytes: &[u8]) {
    // SAFETY: the caller vouches for the place, and a payload that is not boxed fits in a Variant.
    unsafe {
        place.cast::<u32>().write(u32::from(ty.id()));
        place.cast::<u8>().add(PAYLOAD).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
    }
}

/// A String of exactly this text, written where the engine keeps it.
#[inline(always)]
pub fn string(text: &str) -> GString {
    if text.is_ascii() {
        return string_of_ascii(text.as_bytes()).unwrap_or_else(|| documented_string(text));
    }
    let fill = |room: &mut [u32]| {
        room.iter_mut().zip(text.chars()).for_each(|(unit, character)| *unit = character.into());
    };
    string_of(characters(text), fill).unwrap_or_else(|| documented_string(text))
}

/// A String of these bytes, each a code unit; `None` without memory.
#[inline(always)]
pub fn string_of_ascii(bytes: &[u8]) -> Option<GString> {
    string_of(bytes.len(), |room| {
        room.iter_mut().zip(bytes).for_each(|(unit, byte)| *unit = (*byte).into());
    })
}

/// A String of these code units; `None` without memory.
#[inline(always)]
pub fn string_of_units(units: &[u32]) -> Option<GString> {
    string_of(units.len(), |room| room.copy_from_slice(units))
}

/// A String of `count` code units, which `fill` writes where the engine keeps them; `None` without memory.
#[inline(always)]
fn string_of(count: usize, fill: impl FnOnce(&mut [u32])) -> Option<GString> {
    // SAFETY: verification has seen that an empty String is a null pointer.
    let mut string: GString = unsafe { MaybeUninit::zeroed().assume_init() };
    if count == 0 {
        return Some(string);
    }
    // SAFETY: the String is live; the engine makes room for so many code units, the closing zero included, and says
    // whether it could. A String is one pointer to that room, over which GString is transparent, and nobody shares it.
    let room = unsafe {
        interface_fn!(string_resize)(string.sys_mut().cast(), count as i64 + 1);
        let first = std::ptr::from_ref(&string).cast::<*mut u32>().read();
        if first.is_null() {
            return None;
        }
        first.add(count).write(0);
        std::slice::from_raw_parts_mut(first, count)
    };
    fill(room);
    Some(string)
}

/// How many characters a text has: as many as it has bytes that start one.
fn characters(text: &str) -> usize {
    text.as_bytes().iter().filter(|byte| **byte as i8 >= -0x40).count()
}

/// Moves a String into a Variant that is Nil.
///
/// # Safety
/// - `place` is valid for writing a Variant, and what it holds needs no destructor.
#[inline(always)]
pub unsafe fn move_string(place: *mut Variant, string: GString) {
    // SAFETY: the caller vouches for the place. A Variant holds a String as the one pointer that a String is; it is moved,
    // so its destructor runs once, with the Variant's.
    unsafe {
        place.cast::<u32>().write(u32::from(VariantType::String.id()));
        place.cast::<u8>().add(PAYLOAD).cast::<GString>().write(string);
    }
}

/// Moves a StringName to the start of the payload of a Variant that is Nil; `ty` says what the Variant is then.
///
/// # Safety
/// - `place` is valid for writing a Variant, and what it holds needs no destructor.
/// - A `ty` is what starts with a StringName, and the caller writes the rest.
#[inline(always)]
pub unsafe fn move_name(place: *mut Variant, ty: VariantType, name: StringName) {
    // SAFETY: the caller vouches for the place. A Variant holds a StringName as the one pointer that a StringName is; it is
    // moved, so its destructor runs once, with the Variant's.
    unsafe {
        place.cast::<u32>().write(u32::from(ty.id()));
        place.cast::<u8>().add(PAYLOAD).cast::<StringName>().write(name);
    }
}

/// Makes a Variant that is Nil a Signal of the object with this id, which need not exist.
///
/// # Safety
/// - `place` is valid for writing a Variant, and what it holds needs no destructor.
#[inline(always)]
pub unsafe fn move_signal(place: *mut Variant, name: StringName, object: u64) {
    // SAFETY: the caller vouches for the place. Verification has seen that a Variant holds a Signal as its name and, behind
    // it, the id of its object.
    unsafe {
        move_name(place, VariantType::Signal, name);
        place.cast::<u8>().add(PAYLOAD + size_of::<StringName>()).cast::<u64>().write(object);
    }
}
