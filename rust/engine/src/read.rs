//! Borrows the contents of live Variants.

use std::marker::PhantomData;
use std::ops::Range;

use godot::builtin::{AnyDictionary, GString, StringName, Variant};
use godot::classes::{ClassDb, Script};
use godot::meta::ToGodot;
use godot::obj::{Gd, Singleton};
use godot::sys::{self, interface_fn};
use variant_codec::VariantType;
use variant_codec::format::Shape;
use variant_codec::stream::{Lanes, Precision};

use crate::documented::{documented_elements, documented_units};
use crate::elements::Elements;
use crate::interface::{Interface, TypePtr, interface, variant_ptr};
use crate::layout::{self, Layout, LinkedEntries};
use crate::objects::HeldObject;
use crate::types::{PRECISION, is_inline, run_bytes};

/// Reads Variants. Each method checks that the Variant has the type that the method reads.
///
/// While a Variant is borrowed here, no script may run on this thread, and no other thread may change shared
/// containers. Borrowed memory then does not move.
#[derive(Clone, Copy)]
pub struct Reader {
    interface: &'static Interface,
    layout: Option<&'static Layout>,
}

/// The declared element type of a live container.
#[derive(Clone, PartialEq)]
pub enum ContainerType {
    /// Any Variant.
    Untyped,
    /// A built-in type; for Object, objects of any class.
    Builtin(VariantType),
    /// Objects of a class, perhaps with a script.
    Object {
        /// The native class.
        class: StringName,
        /// The script.
        script: Option<Gd<Script>>,
    },
}

impl ContainerType {
    /// Whether the values are objects.
    #[inline(always)]
    pub(crate) fn of_objects(&self) -> bool {
        matches!(self, Self::Builtin(VariantType::Object) | Self::Object { .. })
    }

    /// Whether a container of this type accepts a value without converting it. A typed container accepts
    /// values of its type; a container of objects also accepts Nil.
    pub fn accepts(&self, value: &Variant) -> bool {
        self.accepts_type(Reader::new().ty(value), |class, script| is_instance(value, class, script))
    }

    /// Like [`ContainerType::takes`], for a value of type `found`. `is_instance` checks an object's class and
    /// script.
    #[inline(always)]
    pub fn accepts_type(
        &self,
        found: Option<VariantType>,
        is_instance: impl FnOnce(&StringName, Option<&Gd<Script>>) -> bool,
    ) -> bool {
        use VariantType::{Nil, Object};
        match (self, found) {
            (Self::Untyped, _) => true,
            (Self::Builtin(Object) | Self::Object { .. }, Some(Nil)) => true,
            (Self::Builtin(declared), found) => found == Some(*declared),
            (Self::Object { class, script }, Some(Object)) => is_instance(class, script.as_ref()),
            (Self::Object { .. }, _) => false,
        }
    }
}

/// Whether an object is an instance of a class and, if a script is given, of that script or a script that
/// extends it. True for a null object.
pub fn is_instance(value: &Variant, class: &StringName, script: Option<&Gd<Script>>) -> bool {
    let Some(object) = HeldObject::of(value.clone()) else {
        return value.is_nil();
    };
    let Some(wanted) = script else {
        let actual = object.class_name();
        return actual == *class || ClassDb::singleton().is_parent_class(&actual, class);
    };
    // A script is attached only to objects of the class that it extends, so the class needs no check.
    object.has_script(wanted)
}

/// The entries of a Dictionary, in insertion order.
pub struct Entries<'a>(EntriesKind<'a>);

enum EntriesKind<'a> {
    /// Entries that are read in place.
    InPlace(EntriesInPlace<'a>),
    /// Entries that were copied to Arrays of keys and values. Boxed to save stack space, because each level
    /// of nesting has an `Entries` on the stack.
    Copied(Box<Copied>),
}

/// The elements of a PackedStringArray.
#[derive(Clone, Copy)]
pub struct Strings<'a>(&'a [GString]);

// SAFETY: the engine allows several threads to read; see `Elements`.
unsafe impl Send for Strings<'_> {}

impl<'a> Strings<'a> {
    /// The elements.
    #[inline(always)]
    pub fn get(self) -> &'a [GString] {
        self.0
    }
}

/// The remaining entries of a Dictionary, read in place.
#[derive(Clone, Copy)]
pub struct EntriesInPlace<'a> {
    entries: LinkedEntries,
    borrowed: PhantomData<&'a Variant>,
}

// SAFETY: the engine allows several threads to read; see `Elements`.
unsafe impl Send for EntriesInPlace<'_> {}

impl<'a> Iterator for EntriesInPlace<'a> {
    type Item = (&'a Variant, &'a Variant);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        // SAFETY: the Dictionary is borrowed for `'a`, and nothing changes it meanwhile (see [`Reader`]).
        unsafe { self.entries.next() }
    }
}

impl<'a> Entries<'a> {
    /// The entries, if they are read in place.
    #[inline(always)]
    pub fn in_place(&mut self) -> Option<&mut EntriesInPlace<'a>> {
        match &mut self.0 {
            EntriesKind::InPlace(entries) => Some(entries),
            EntriesKind::Copied(_) => None,
        }
    }
}

struct Copied {
    keys: Variant,
    values: Variant,
    next: usize,
}

impl Default for Reader {
    fn default() -> Self {
        Self::new()
    }
}

impl Reader {
    /// A reader of this engine's Variants.
    #[inline(always)]
    pub fn new() -> Self {
        Self { interface: interface(), layout: layout::layout() }
    }

    /// Whether direct access is used.
    #[inline(always)]
    pub fn is_direct(self) -> bool {
        self.layout.is_some()
    }

    /// The type of a Variant; `None` for types that are newer than this library.
    #[inline(always)]
    pub fn ty(self, variant: &Variant) -> Option<VariantType> {
        match self.layout {
            Some(_) => u8::try_from(layout::tag(variant)).ok().and_then(VariantType::from_id),
            None => self.interface.type_of(variant),
        }
    }

    /// Panics if the Variant does not have this type, because its memory must not be read as another type.
    #[inline(always)]
    fn check(self, variant: &Variant, ty: VariantType) {
        assert!(self.ty(variant) == Some(ty), "a Variant is read as a type that it does not have");
    }

    #[inline(always)]
    fn payload(self, variant: &Variant, ty: VariantType) -> TypePtr {
        self.check(variant, ty);
        match self.layout {
            Some(_) if is_inline(ty) => layout::payload(variant).cast_mut().cast(),
            // SAFETY: `check` has verified the type.
            _ => unsafe { self.interface.payload(variant, ty) },
        }
    }

    /// A number that two Variants share only if they hold the same Array or the same Dictionary. 0 for other types.
    pub fn identity(self, container: &Variant) -> usize {
        const {
            assert!(size_of::<sys::types::OpaqueArray>() == size_of::<usize>());
            assert!(size_of::<sys::types::OpaqueDictionary>() == size_of::<usize>());
        }
        let Some(ty @ (VariantType::Array | VariantType::Dictionary)) = self.ty(container) else { return 0 };
        // SAFETY: `payload` has checked the type. The assertions above keep the read within the container. Its bytes
        // are initialised, and are only compared.
        unsafe { self.payload(container, ty).cast::<usize>().read() }
    }

    /// The value of a bool.
    #[inline(always)]
    pub fn bool(self, variant: &Variant) -> bool {
        // SAFETY: `payload` has checked the type. A bool is one byte, read as a number because its value is not trusted
        // to be 0 or 1.
        unsafe { *self.payload(variant, VariantType::Bool).cast::<u8>() != 0 }
    }

    /// The value of an int.
    #[inline(always)]
    pub fn int(self, variant: &Variant) -> i64 {
        // SAFETY: `payload` has checked the type; an int is an i64.
        unsafe { *self.payload(variant, VariantType::Int).cast() }
    }

    /// The value of a float.
    #[inline(always)]
    pub fn float(self, variant: &Variant) -> f64 {
        // SAFETY: `payload` has checked the type; a float is an f64.
        unsafe { *self.payload(variant, VariantType::Float).cast() }
    }

    /// The id of an RID.
    #[inline(always)]
    pub fn rid(self, variant: &Variant) -> u64 {
        // SAFETY: `payload` has checked the type; an RID is its u64 id.
        unsafe { *self.payload(variant, VariantType::Rid).cast() }
    }

    /// The components of a math type. Memory holds them in wire order.
    #[inline(always)]
    pub fn lanes(self, variant: &Variant, ty: VariantType) -> Lanes<'_> {
        let Shape::Fixed(lane, count) = ty.shape() else { unreachable!("{ty} has no fixed components") };
        let bytes = count * lane.width(PRECISION == Precision::Double);
        // SAFETY: `payload` has checked the type, whose values consist of exactly their components. The
        // components live as long as the borrowed Variant.
        let le = unsafe { std::slice::from_raw_parts(self.payload(variant, ty).cast(), bytes) };
        Lanes { precision: PRECISION, le }
    }

    /// The code units of a String.
    #[inline(always)]
    pub fn string_units(self, variant: &Variant) -> &[u32] {
        let string = self.payload(variant, VariantType::String).cast::<GString>();
        // SAFETY: `payload` has checked the type. GString is transparent over the String, which lives as long as the
        // Variant.
        self.units(unsafe { &*string })
    }

    /// The StringName in a Variant.
    #[inline(always)]
    pub fn string_name(self, variant: &Variant) -> &StringName {
        let name = self.payload(variant, VariantType::StringName).cast::<StringName>();
        // SAFETY: `payload` has checked the type. godot-rust's StringName is transparent over the engine's, which lives
        // as long as the Variant.
        unsafe { &*name }
    }

    /// The code units of a StringName; `None` if they cannot be read in place.
    #[inline(always)]
    pub fn name_units(self, name: &StringName) -> Option<&[u32]> {
        let (first, count) = self.layout?.name_text(name)?;
        if count == 0 {
            return Some(&[]);
        }
        // SAFETY: a String holds its code units contiguously. The String of a StringName never changes, and lives as
        // long as the StringName, which is borrowed.
        Some(unsafe { std::slice::from_raw_parts(first, count) })
    }

    /// Whether a NodePath starts at the root.
    pub fn is_absolute(self, variant: &Variant) -> bool {
        // SAFETY: `payload` has checked the type; the NodePath lives as long as the Variant.
        unsafe { self.interface.path_is_absolute(self.payload(variant, VariantType::NodePath)) }
    }

    /// The code units of a String. Not all of them are characters, because scripts can put lone surrogates
    /// into Strings.
    #[inline(always)]
    pub fn units(self, string: &GString) -> &[u32] {
        let (first, count) = match self.layout {
            Some(layout) => layout.text(string),
            None => documented_units(string),
        };
        if count == 0 {
            return &[];
        }
        // SAFETY: a String holds its code units one after the other, and lives as long as it is borrowed.
        unsafe { std::slice::from_raw_parts(first, count) }
    }

    /// The instance id of a live object; 0 for a null or freed one.
    #[inline(always)]
    pub fn live_object_id(self, variant: &Variant) -> u64 {
        // SAFETY: the reference is to a live Variant; the engine returns 0 for other types.
        let id = unsafe { interface_fn!(variant_get_object_instance_id)(variant_ptr(variant)) };
        // SAFETY: the engine takes any number as an id; the pointer is only compared with null.
        let alive = id != 0 && unsafe { !interface_fn!(object_get_instance_from_id)(id).is_null() };
        if alive { id } else { 0 }
    }

    /// A pointer to a packed array's first element, and the count.
    #[inline(always)]
    pub(crate) fn packed_elements(self, variant: &Variant, ty: VariantType) -> (*const u8, usize) {
        self.check(variant, ty);
        match self.layout {
            Some(layout) => layout.packed(variant),
            // SAFETY: `check` has verified the type.
            None => unsafe { documented_elements(self.interface.payload(variant, ty), ty) },
        }
    }

    /// The elements of a packed array as bytes. Memory holds them in wire order.
    #[inline(always)]
    pub fn packed(self, variant: &Variant, ty: VariantType) -> Lanes<'_> {
        let Shape::Packed(lane, per_element) = ty.shape() else { unreachable!("{ty} is no packed array") };
        let (first, count) = self.packed_elements(variant, ty);
        if count == 0 {
            return Lanes { precision: PRECISION, le: &[] };
        }
        let bytes = count * per_element * lane.width(PRECISION == Precision::Double);
        // SAFETY: `packed_elements` has checked the type. Packed arrays hold their elements contiguously, and this one
        // lives as long as the borrowed Variant.
        Lanes { precision: PRECISION, le: unsafe { std::slice::from_raw_parts(first, bytes) } }
    }

    /// The elements of a PackedStringArray.
    #[inline(always)]
    pub fn strings(self, variant: &Variant) -> Strings<'_> {
        let (first, count) = self.packed_elements(variant, VariantType::PackedStringArray);
        if count == 0 {
            return Strings(&[]);
        }
        // SAFETY: `packed_elements` has checked the type. The elements are contiguous Strings, and GString is
        // transparent over a String.
        Strings(unsafe { std::slice::from_raw_parts(first.cast(), count) })
    }

    /// The elements of an Array.
    #[inline(always)]
    pub fn elements(self, variant: &Variant) -> Elements<'_> {
        let array = self.payload(variant, VariantType::Array);
        match self.layout {
            Some(layout) => {
                let (first, len) = layout.elements(variant);
                // SAFETY: `payload` has checked the type; the elements live as long as the borrowed Variant.
                unsafe { Elements::in_place(array, first, len) }
            }
            // SAFETY: `payload` has checked the type; the Array lives as long as the borrowed Variant.
            None => unsafe { Elements::documented(self.interface, array) },
        }
    }

    /// The run at the start of a range: consecutive elements of one type, which is a number or math type.
    /// `None` if the run has fewer than two elements or cannot be read in place.
    #[inline(always)]
    pub fn run<'a>(self, elements: &Elements<'a>, range: Range<usize>) -> Option<Run<'a>> {
        let slots @ [first, second, ..] = elements.slice(range)? else { return None };
        let tag = layout::tag(first);
        if tag >= u64::BITS || RUN_TYPES >> tag & 1 == 0 || layout::tag(second) != tag {
            return None;
        }
        Some(Run { ty: self.ty(first)?, slots })
    }

    /// Whether reading this Array modifies it, so that only one thread may read it.
    ///
    /// Before Godot 4.5, the documented function copies an element of a read-only Array to memory that all readers
    /// share.
    pub fn reading_changes(self, array: &Variant) -> bool {
        self.layout.is_none()
            && self.interface.shares_read_only_elements()
            && array.call("is_read_only", &[]).booleanize()
    }

    /// The entries of a Dictionary and their number. Set `as_copy` if scripts may run while the entries are
    /// read.
    #[inline(always)]
    pub fn entries(self, variant: &Variant, as_copy: bool) -> (Entries<'_>, usize) {
        self.check(variant, VariantType::Dictionary);
        match self.layout {
            Some(layout) if !as_copy => {
                let entries = EntriesInPlace { entries: layout.entries(variant), borrowed: PhantomData };
                (Entries(EntriesKind::InPlace(entries)), layout.dictionary_size(variant))
            }
            _ => copied_entries(variant),
        }
    }

    /// The next entry's key and value.
    #[inline(always)]
    pub fn next_entry<'e>(self, entries: &'e mut Entries<'_>) -> Option<(&'e Variant, &'e Variant)> {
        match &mut entries.0 {
            EntriesKind::InPlace(entries) => entries.next(),
            EntriesKind::Copied(copied) => {
                let index = copied.next;
                copied.next += 1;
                Some((self.elements(&copied.keys).get(index)?, self.elements(&copied.values).get(index)?))
            }
        }
    }

    /// The declared type of an Array's elements.
    #[inline(always)]
    pub fn array_type(self, variant: &Variant) -> ContainerType {
        self.check(variant, VariantType::Array);
        let id = match self.layout {
            Some(layout) => layout.array_type(variant),
            // SAFETY: `check` has verified the type.
            None => unsafe { self.interface.array_type(self.interface.payload(variant, VariantType::Array)) },
        };
        declared(id, variant, ["get_typed_class_name", "get_typed_script"])
    }

    /// The declared types of an Array's elements, or of a Dictionary's keys and values. Untyped for other values.
    pub fn declared_types(self, variant: &Variant) -> [ContainerType; 2] {
        match self.ty(variant) {
            Some(VariantType::Array) => [self.array_type(variant), ContainerType::Untyped],
            Some(VariantType::Dictionary) => self.dictionary_types(variant).into(),
            _ => [ContainerType::Untyped, ContainerType::Untyped],
        }
    }

    /// The declared types of a Dictionary's keys and values.
    #[inline(always)]
    pub fn dictionary_types(self, variant: &Variant) -> (ContainerType, ContainerType) {
        self.check(variant, VariantType::Dictionary);
        let (key, value) = match self.layout {
            Some(layout) => layout.dictionary_types(variant),
            // SAFETY: `check` has verified the type.
            None => unsafe {
                self.interface.dictionary_types(self.interface.payload(variant, VariantType::Dictionary))
            },
        };
        (
            declared(key, variant, ["get_typed_key_class_name", "get_typed_key_script"]),
            declared(value, variant, ["get_typed_value_class_name", "get_typed_value_script"]),
        )
    }
}

/// Consecutive elements of one type in an Array. Each iterator continues where the previous one stopped.
pub struct Run<'a> {
    ty: VariantType,
    /// The elements not yet read, of any type.
    slots: &'a [Variant],
}

impl Run<'_> {
    /// The type.
    #[inline(always)]
    pub fn ty(&self) -> VariantType {
        self.ty
    }

    /// The number of elements left in the range, of any type.
    #[inline(always)]
    pub fn left(&self) -> usize {
        self.slots.len()
    }

    /// The next elements, up to the first one that is not an int.
    #[inline(always)]
    pub fn ints(&mut self) -> impl Iterator<Item = i64> {
        self.payloads(VariantType::Int).map(i64::from_le_bytes)
    }

    /// The next elements, up to the first one that is not a float.
    #[inline(always)]
    pub fn floats(&mut self) -> impl Iterator<Item = f64> {
        self.payloads(VariantType::Float).map(f64::from_le_bytes)
    }

    /// The components of the next elements, up to the first one of another type. Each element takes `N`
    /// bytes.
    ///
    /// # Panics
    /// Panics if the components of this type do not take `N` bytes, or a Variant does not hold them inline.
    #[inline(always)]
    pub fn lanes<const N: usize>(&mut self) -> impl Iterator<Item = [u8; N]> {
        assert_eq!(run_bytes(self.ty), Some(N));
        self.payloads(self.ty)
    }

    #[inline(always)]
    fn payloads<const N: usize>(&mut self, ty: VariantType) -> impl Iterator<Item = [u8; N]> {
        const { assert!(layout::PAYLOAD + N <= layout::VARIANT) };
        std::iter::from_fn(move || {
            let (first, rest) = self.slots.split_first()?;
            if layout::tag(first) != u32::from(ty.id()) {
                return None;
            }
            self.slots = rest;
            // SAFETY: the assertion above keeps the read within the Variant. The bytes are initialised
            // because the callers check that the type has `N` bytes.
            Some(unsafe { layout::payload(first).cast::<[u8; N]>().read() })
        })
    }
}

/// The set of types that form runs, as one bit per type id.
const RUN_TYPES: u64 = {
    let mut types = 0;
    let mut id = 0;
    while id < VariantType::COUNT {
        let ty = VariantType::ALL[id];
        if matches!(ty, VariantType::Int | VariantType::Float) || run_bytes(ty).is_some() {
            types |= 1 << id;
        }
        id += 1;
    }
    types
};

#[inline(never)]
fn copied_entries(dictionary: &Variant) -> (Entries<'_>, usize) {
    let dictionary = dictionary.to::<AnyDictionary>();
    let (keys, values) = (dictionary.keys_array(), dictionary.values_array());
    let len = keys.len();
    let (keys, values) = (keys.to_variant(), values.to_variant());
    (Entries(EntriesKind::Copied(Box::new(Copied { keys, values, next: 0 }))), len)
}

/// The declared type with this id. Class and script come from the container's own methods.
#[inline(always)]
fn declared(id: u32, container: &Variant, methods: [&str; 2]) -> ContainerType {
    match u8::try_from(id).ok().and_then(VariantType::from_id) {
        None | Some(VariantType::Nil) => ContainerType::Untyped,
        Some(VariantType::Object) => declared_object(container, methods),
        Some(ty) => ContainerType::Builtin(ty),
    }
}

#[cold]
#[inline(never)]
fn declared_object(container: &Variant, [class, script]: [&str; 2]) -> ContainerType {
    let class = container.call(class, &[]).to::<StringName>();
    if class == StringName::default() {
        return ContainerType::Builtin(VariantType::Object);
    }
    ContainerType::Object { class, script: container.call(script, &[]).try_to::<Gd<Script>>().ok() }
}
