//! A Variant under construction.
//!
//! Arrays are sized once and filled in place, Dictionaries entry by entry. Only the construction can reach what it has
//! not finished, so the place where the next value goes stays where it is, and an abandoned construction frees everything
//! with its root.

use std::mem::ManuallyDrop;

use godot::builtin::{Color, GString, PackedArray, StringName, Variant, Vector2, Vector3, Vector4};
use godot::meta::{PackedElement, ToGodot};
use godot::sys::{self, GodotFfi, interface_fn};
use variant_codec::VariantType;
use variant_codec::format::{Lane, Shape};
use variant_codec::{Lanes, Precision, Text, convert_lanes};

use super::PRECISION;
use super::interface::{Interface, TypePtr, interface, variant_ptr};
use super::layout::{self, Layout};
use super::read::{ContainerType, is_same_width};

/// The largest mathematical value, in components.
const MAX_LANES: usize = 16;

/// A Variant under construction, and the containers in it that are still open.
pub struct Building {
    interface: &'static Interface,
    layout: Option<&'static Layout>,
    root: Variant,
    open: Vec<Open>,
}

/// A second handle to a container that is in its place, for as long as it is open.
///
/// Neither counted nor dropped: the place owns the container, and nothing else can reach it before it is closed.
type Borrowed = ManuallyDrop<Variant>;

/// A container that is still open; values go to its place.
enum Open {
    /// `place` is the element that is next, or was last; null before the first.
    Array { array: Borrowed, first: *mut Variant, len: usize, index: usize, place: *mut Variant, typed: bool },
    /// The key is on its way.
    Key { dictionary: Borrowed, key: Variant },
    /// The value of the entry is on its way, to its place in the Dictionary, or nowhere if the key was refused.
    Value { dictionary: Borrowed, place: *mut Variant, dropped: Variant },
    /// A value outside of every container.
    Aside(Variant),
}

impl Building {
    /// A construction at its start.
    pub fn new() -> Self {
        Self { interface: interface(), layout: layout::layout(), root: Variant::nil(), open: Vec::new() }
    }

    /// The finished value.
    ///
    /// # Panics
    /// If a container is still open.
    pub fn finish(self) -> Variant {
        assert!(self.open.is_empty(), "a container is still open");
        self.root
    }

    /// Where the next value goes.
    #[inline(always)]
    fn place(&mut self) -> *mut Variant {
        match self.open.last_mut() {
            None => &raw mut self.root,
            Some(Open::Array { place, .. }) => {
                assert!(!place.is_null(), "no element has been begun");
                *place
            }
            Some(Open::Key { key, .. }) => key,
            Some(Open::Value { place, dropped, .. }) => {
                if place.is_null() {
                    dropped
                } else {
                    *place
                }
            }
            Some(Open::Aside(value)) => value,
        }
    }

    /// Whether the next value is a key.
    #[inline(always)]
    pub fn is_at_key(&self) -> bool {
        matches!(self.open.last(), Some(Open::Key { .. }))
    }

    /// Puts a finished value in its place.
    #[inline(always)]
    pub fn put(&mut self, value: Variant) {
        let place = self.place();
        // SAFETY: `place` points to a live Variant that this construction owns: the root, a part of `open`, or an
        // element of a container that only `open` can reach.
        unsafe { *place = value };
    }

    /// The value that was put last.
    #[inline(always)]
    pub fn last(&self) -> &Variant {
        match self.open.last() {
            None => &self.root,
            // SAFETY: as in `put`; null before the first element.
            Some(Open::Array { place, .. }) => unsafe { place.as_ref() }.expect("an element has been begun"),
            Some(Open::Key { key, .. }) => key,
            // SAFETY: as in `put`; null if the key was refused.
            Some(Open::Value { place, dropped, .. }) => unsafe { place.as_ref() }.unwrap_or(dropped),
            Some(Open::Aside(value)) => value,
        }
    }

    /// Makes a value of a type in its place, from the engine's own layout of such a value.
    ///
    /// # Safety
    /// - `value` points to a live value of type `ty` in the engine's own layout.
    #[inline(always)]
    unsafe fn construct<T>(&mut self, ty: VariantType, value: &mut T) {
        let place = self.place();
        // SAFETY: `place` points to a Variant as in `put`. Every place is Nil when its value begins, which needs no
        // destructor (what else it held would leak, no worse). The caller vouches for the value.
        unsafe { self.interface.construct(place, ty, std::ptr::from_mut(value).cast()) };
    }

    /// Makes a value that needs no destructor in its place, from its bytes.
    ///
    /// # Safety
    /// - `bytes` are those of a value of type `ty` in the engine's own layout, aligned for it.
    #[inline(always)]
    unsafe fn put_plain(&mut self, ty: VariantType, bytes: &mut [u8]) {
        let place = self.place();
        // SAFETY: `place` points to a Variant that is Nil, as in `construct`. The caller vouches for the bytes.
        unsafe {
            if self.layout.is_some() && layout::is_inline(ty) {
                layout::write_plain(place, ty, bytes);
            } else {
                self.interface.construct(place, ty, bytes.as_mut_ptr().cast());
            }
        }
    }

    /// Puts a bool.
    #[inline(always)]
    pub fn put_bool(&mut self, value: bool) {
        // SAFETY: the engine's bool is one byte.
        unsafe { self.put_plain(VariantType::Bool, &mut [u8::from(value)]) };
    }

    /// Puts an int.
    #[inline(always)]
    pub fn put_int(&mut self, value: i64) {
        // SAFETY: the engine's int is an i64.
        unsafe { self.put_plain(VariantType::Int, &mut Aligned([value as u64]).bytes()[..8]) };
    }

    /// Puts a float; every bit of a NaN arrives.
    #[inline(always)]
    pub fn put_float(&mut self, value: f64) {
        // SAFETY: the engine's float is an f64; it is only copied.
        unsafe { self.put_plain(VariantType::Float, &mut Aligned([value.to_bits()]).bytes()[..8]) };
    }

    /// Puts an RID.
    #[inline(always)]
    pub fn put_rid(&mut self, id: u64) {
        // SAFETY: the engine's RID is its u64 id.
        unsafe { self.put_plain(VariantType::Rid, &mut Aligned([id]).bytes()[..8]) };
    }

    /// Puts a null object: not Nil, but an Object without an instance.
    pub fn put_null_object(&mut self) {
        // SAFETY: the engine's object is a pointer, which may be null.
        unsafe { self.construct(VariantType::Object, &mut std::ptr::null_mut::<u8>()) };
    }

    /// Puts a mathematical value.
    #[inline(always)]
    pub fn put_lanes(&mut self, ty: VariantType, lanes: Lanes<'_>) {
        let Shape::Fixed(lane, count) = ty.shape() else { unreachable!("{ty} has no fixed components") };
        if self.layout.is_some() && layout::is_inline(ty) && is_same_width(lane, lanes.precision) {
            let place = self.place();
            assert_eq!(lanes.le.len(), count * lane.width(PRECISION == Precision::Double));
            // SAFETY: `place` points to a Variant that is Nil, as in `construct`. The type is exactly its components, in
            // this order.
            unsafe { layout::write_plain(place, ty, lanes.le) };
        } else {
            self.put_aligned_lanes(ty, lane, count, lanes);
        }
    }

    /// Puts a mathematical value by way of memory that is aligned for it.
    #[inline(never)]
    fn put_aligned_lanes(&mut self, ty: VariantType, lane: Lane, count: usize, lanes: Lanes<'_>) {
        let width = lane.width(PRECISION == Precision::Double);
        let mut memory = Aligned([0; MAX_LANES]);
        let bytes = &mut memory.bytes()[..count * width];
        copy_lanes(bytes, lane, lanes);
        // SAFETY: the type is exactly its components, in this order.
        unsafe { self.put_plain(ty, bytes) };
    }

    /// Puts a String.
    #[inline(always)]
    pub fn put_string(&mut self, mut string: GString) {
        if self.layout.is_some() {
            let place = self.place();
            // SAFETY: `place` points to a Variant that is Nil, as in `construct`.
            unsafe { layout::move_string(place, string) };
        } else {
            // SAFETY: GString is transparent over the engine's String.
            unsafe { self.construct(VariantType::String, &mut string) };
        }
    }

    /// Puts a StringName.
    #[inline(always)]
    pub fn put_string_name(&mut self, text: Text<'_>) {
        let mut name = StringName::from(&string(text));
        // SAFETY: godot-rust's StringName is transparent over the engine's.
        unsafe { self.construct(VariantType::StringName, &mut name) };
    }

    /// Puts a packed array.
    pub fn put_packed(&mut self, ty: VariantType, lanes: Lanes<'_>) {
        use VariantType as T;
        let value = match ty {
            T::PackedByteArray => packed::<u8>(ty, lanes),
            T::PackedInt32Array => packed::<i32>(ty, lanes),
            T::PackedInt64Array => packed::<i64>(ty, lanes),
            T::PackedFloat32Array => packed::<f32>(ty, lanes),
            T::PackedFloat64Array => packed::<f64>(ty, lanes),
            T::PackedVector2Array => packed::<Vector2>(ty, lanes),
            T::PackedVector3Array => packed::<Vector3>(ty, lanes),
            T::PackedVector4Array => packed::<Vector4>(ty, lanes),
            T::PackedColorArray => packed::<Color>(ty, lanes),
            _ => unreachable!("{ty} is no packed array"),
        };
        self.put(value);
    }

    /// Makes an empty container in its place, and gives a second handle to it.
    #[inline(always)]
    fn put_empty(&mut self, ty: VariantType) -> Borrowed {
        let place = self.place();
        // SAFETY: `place` points to a Variant that is Nil, as in `construct`; the type has a constructor without
        // arguments. The handle is used only while `place` holds the container.
        unsafe {
            let mut error = sys::default_call_error();
            interface_fn!(variant_construct)(
                ty.id().into(),
                place.cast(),
                std::ptr::null(),
                0,
                &raw mut error,
            );
            ManuallyDrop::new(place.read())
        }
    }

    /// Opens an Array of `len` elements in its place. Says whether the engine could make it.
    #[inline(always)]
    pub fn open_array(&mut self, len: usize, element: &ContainerType) -> bool {
        let array = self.put_empty(VariantType::Array);
        let typed = !matches!(element, ContainerType::Untyped);
        // SAFETY: `array` is an Array that nothing else uses yet, as setting its type and its size want it.
        let first = unsafe {
            let payload = self.interface.payload(&array, VariantType::Array);
            if typed {
                set_type(payload, element);
            }
            if len > 0 && !self.interface.resize_array(payload, len) {
                return false;
            }
            match self.layout {
                Some(_) => interface_fn!(array_operator_index)(payload, 0).cast::<Variant>(),
                None => std::ptr::null_mut(),
            }
        };
        self.open.push(Open::Array { array, first, len, index: 0, place: std::ptr::null_mut(), typed });
        true
    }

    /// The next value is the next element of the open Array.
    ///
    /// # Panics
    /// If no Array is open, or all of its elements have been begun.
    #[inline(always)]
    pub fn next_element(&mut self) {
        let interface = self.interface;
        let Some(Open::Array { array, first, len, index, place, typed }) = self.open.last_mut() else {
            panic!("no Array is open");
        };
        assert!(*index < *len, "the Array has no more elements");
        // SAFETY: the index lies within. `array` holds an Array, whose elements are one after the other; nothing else
        // resizes it. godot-rust's Variant is transparent over the engine's.
        *place = unsafe {
            if first.is_null() {
                let payload = interface.payload(array, VariantType::Array);
                interface_fn!(array_operator_index)(payload, *index as i64).cast()
            } else {
                first.add(*index)
            }
        };
        *index += 1;
        if *typed {
            // A typed Array's new elements are defaults of its type.
            // SAFETY: `place` is an element of the Array, and therefore a live Variant.
            unsafe { **place = Variant::nil() };
        }
    }

    /// Closes the open Array, which is in its place already.
    #[inline(always)]
    pub fn close_array(&mut self) {
        assert!(matches!(self.open.pop(), Some(Open::Array { .. })), "no Array is open");
    }

    /// Opens a Dictionary and puts it in its place.
    pub fn open_dictionary(&mut self, key: &ContainerType, value: &ContainerType) {
        let dictionary = self.put_empty(VariantType::Dictionary);
        if !matches!((key, value), (ContainerType::Untyped, ContainerType::Untyped)) {
            // SAFETY: `dictionary` is a Dictionary that nothing else uses yet, as setting its types wants it.
            unsafe { set_types(self.interface.payload(&dictionary, VariantType::Dictionary), key, value) };
        }
        self.open.push(Open::Key { dictionary, key: Variant::nil() });
    }

    /// The next value is the key of the open Dictionary's next entry.
    #[inline(always)]
    pub fn next_key(&mut self) {
        let open = self.open.last_mut().expect("a Dictionary is open");
        if let Open::Value { dictionary, .. } = open {
            let dictionary = std::mem::replace(dictionary, ManuallyDrop::new(Variant::nil()));
            *open = Open::Key { dictionary, key: Variant::nil() };
        }
    }

    /// The next value belongs to the key that was put; if it is not to be `kept`, entry and value come to nothing.
    #[inline(always)]
    pub fn next_value(&mut self, kept: bool) {
        let interface = self.interface;
        let open = self.open.last_mut().expect("a Dictionary is open");
        let Open::Key { dictionary, key } = open else { panic!("no key is open") };
        let mut place = std::ptr::null_mut();
        if kept {
            // SAFETY: `dictionary` holds a Dictionary that only this construction can reach; the engine answers with
            // the place of the key's value, which stays where it is as long as the entry exists.
            unsafe {
                let payload = interface.payload(dictionary, VariantType::Dictionary);
                place = interface_fn!(dictionary_operator_index)(payload, variant_ptr(key)).cast::<Variant>();
                // An earlier entry's value, or the default of a typed Dictionary's value type.
                *place = Variant::nil();
            }
        }
        let dictionary = std::mem::replace(dictionary, ManuallyDrop::new(Variant::nil()));
        *open = Open::Value { dictionary, place, dropped: Variant::nil() };
    }

    /// Closes the open Dictionary and gives the number of its entries; it is in its place already.
    pub fn close_dictionary(&mut self) -> usize {
        match self.open.pop() {
            Some(Open::Key { dictionary, .. } | Open::Value { dictionary, .. }) => {
                // SAFETY: `dictionary` holds a Dictionary.
                unsafe {
                    let payload = self.interface.payload(&dictionary, VariantType::Dictionary);
                    self.interface.size(payload, VariantType::Dictionary)
                }
            }
            _ => panic!("no Dictionary is open"),
        }
    }

    /// The next value goes nowhere until it is taken by [`Building::close_aside`].
    pub fn open_aside(&mut self) {
        self.open.push(Open::Aside(Variant::nil()));
    }

    /// The value that was put aside.
    pub fn close_aside(&mut self) -> Variant {
        match self.open.pop() {
            Some(Open::Aside(value)) => value,
            _ => panic!("nothing is put aside"),
        }
    }

    /// An empty Array of one element type.
    pub fn empty_array(element: VariantType) -> Variant {
        Self::empty_array_of(&ContainerType::Builtin(element))
    }

    /// An empty Array of the element type given.
    pub fn empty_array_of(element: &ContainerType) -> Variant {
        let mut building = Self::new();
        building.open_array(0, element);
        building.close_array();
        building.finish()
    }

    /// The value that a type has by default.
    pub fn default_value(ty: VariantType) -> Variant {
        if ty == VariantType::Nil { Variant::nil() } else { Self::empty(ty) }
    }

    fn empty(ty: VariantType) -> Variant {
        let mut building = Self::new();
        // The second handle is not needed.
        let _ = building.put_empty(ty);
        building.finish()
    }
}

/// Memory aligned for every value, seen as bytes.
struct Aligned<const N: usize>([u64; N]);

impl<const N: usize> Aligned<N> {
    #[inline(always)]
    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: any bytes are valid as integers and the other way round; the length is the same.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), N * size_of::<u64>()) }
    }
}

/// Copies components into memory of the engine's layout, converted where the widths differ.
#[inline(always)]
fn copy_lanes(memory: &mut [u8], lane: Lane, lanes: Lanes<'_>) {
    if is_same_width(lane, lanes.precision) {
        memory.copy_from_slice(lanes.le);
        return;
    }
    let mut at = 0;
    convert_lanes(lanes.le, lanes.precision, |lane| {
        memory[at..at + lane.len()].copy_from_slice(lane);
        at += lane.len();
    });
}

/// Declares the type of an Array's elements.
///
/// # Safety
/// - `array` points to an empty Array that nothing else uses.
#[cold]
#[inline(never)]
unsafe fn set_type(array: TypePtr, element: &ContainerType) {
    let (ty, class, script) = declaration(element);
    // SAFETY: the caller vouches for the Array; class and script live through the call.
    unsafe { interface_fn!(array_set_typed)(array, ty, class.sys().cast(), variant_ptr(&script)) };
}

/// Declares the types of a Dictionary's keys and values.
///
/// # Safety
/// - `dictionary` points to an empty Dictionary that nothing else uses.
#[cold]
#[inline(never)]
unsafe fn set_types(dictionary: TypePtr, key: &ContainerType, value: &ContainerType) {
    let (key_type, key_class, key_script) = declaration(key);
    let (value_type, value_class, value_script) = declaration(value);
    // SAFETY: the caller vouches for the Dictionary; classes and scripts live through the call.
    unsafe {
        interface_fn!(dictionary_set_typed)(
            dictionary,
            key_type,
            key_class.sys().cast(),
            variant_ptr(&key_script),
            value_type,
            value_class.sys().cast(),
            variant_ptr(&value_script),
        );
    }
}

/// A packed array with these elements, as a Variant.
fn packed<T>(ty: VariantType, lanes: Lanes<'_>) -> Variant
where
    T: PackedElement,
    PackedArray<T>: ToGodot,
{
    let Shape::Packed(lane, per_element) = ty.shape() else { unreachable!("{ty} is no packed array") };
    let wide = lanes.precision == Precision::Double;
    let mut array = PackedArray::<T>::new();
    array.resize(lanes.le.len() / (lane.width(wide) * per_element));
    let elements = array.as_mut_slice();
    // SAFETY: the elements are plain numbers without gaps, for which any bytes are valid; the size is theirs.
    let bytes =
        unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast::<u8>(), size_of_val(elements)) };
    copy_lanes(bytes, lane, lanes);
    array.to_variant()
}

/// An element type in the form that the engine takes.
fn declaration(element: &ContainerType) -> (i32, StringName, Variant) {
    match element {
        ContainerType::Untyped => (0, StringName::default(), Variant::nil()),
        ContainerType::Builtin(ty) => (ty.id().into(), StringName::default(), Variant::nil()),
        ContainerType::Object { class, script } => {
            let script = script.as_ref().map_or_else(Variant::nil, |script| script.to_variant());
            (VariantType::Object.id().into(), class.clone(), script)
        }
    }
}

/// A String of exactly this text.
#[inline]
pub fn string(text: Text<'_>) -> GString {
    match text {
        // The engine would take a byte-order mark away.
        Text::Utf8(text) if text.is_ascii() => {
            // SAFETY: the engine copies so many characters, one byte each, from the address given.
            unsafe {
                GString::new_with_uninit(|place| {
                    interface_fn!(string_new_with_latin1_chars_and_len)(
                        place.cast(),
                        text.as_ptr().cast(),
                        text.len() as i64,
                    );
                })
            }
        }
        Text::Utf8(text) if !text.starts_with(variant_codec::format::BOM) => {
            // SAFETY: the engine copies so many bytes of UTF-8 from the address given.
            unsafe {
                GString::new_with_uninit(|place| {
                    interface_fn!(string_new_with_utf8_chars_and_len2)(
                        place.cast(),
                        text.as_ptr().cast(),
                        text.len() as i64,
                    );
                })
            }
        }
        Text::Utf8(text) => {
            let units: Vec<u32> = text.chars().map(u32::from).collect();
            string(Text::Utf32(&units))
        }
        Text::Utf32(units) => {
            // SAFETY: the engine copies so many code units from the address given.
            unsafe {
                GString::new_with_uninit(|place| {
                    interface_fn!(string_new_with_utf32_chars_and_len)(
                        place.cast(),
                        units.as_ptr().cast(),
                        units.len() as i64,
                    );
                })
            }
        }
    }
}
