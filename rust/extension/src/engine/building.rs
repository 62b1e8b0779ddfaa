//! A Variant under construction.
//!
//! Arrays are sized once and filled in place, Dictionaries entry by entry. Only the construction can reach what it has
//! not finished, so the place where the next value goes stays where it is, and an abandoned construction frees everything
//! with its root.

use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Range;

use godot::builtin::{
    Color, GString, NodePath, PackedArray, PackedByteArray, StringName, Variant, Vector2, Vector3, Vector4,
};
use godot::meta::{PackedElement, ToGodot};
use godot::sys::{GodotFfi, interface_fn};
use variant_codec::format::{Lane, Shape};
use variant_codec::lanes::convert as convert_lanes;
use variant_codec::stream::{Lanes, Precision, Text};
use variant_codec::text::{is_ascii_without_nul, to_utf32};
use variant_codec::{ErrorKind, Result, VariantType};

use super::PRECISION;
use super::interface::{Interface, TypePtr, interface, variant_ptr};
use super::layout::{self, Layout, LinkedEntries};
use super::read::{ContainerType, is_same_width, run_bytes};
use super::slots::{LeftValue, Slots};

/// The largest mathematical value, in components.
const MAX_LANES: usize = 16;

/// A Variant under construction, and the containers in it that are still open.
pub struct Building {
    interface: &'static Interface,
    layout: Option<&'static Layout>,
    root: Variant,
    open: Vec<Open>,
    /// Where the next value goes: into the innermost open container, or to the root if null.
    place: *mut Variant,
}

/// A second handle to a container that is in its place, for as long as it is open.
///
/// Neither counted nor dropped: the place owns the container, and nothing else can reach it before it is closed.
type Borrowed = ManuallyDrop<Variant>;

/// A container that is still open.
enum Open {
    /// `place` is the element that is next, or was last; null before the first.
    Array { array: Borrowed, first: *mut Variant, len: usize, index: usize, place: *mut Variant, typed: bool },
    /// `value` is the place of the entry's value in the Dictionary; null while the key is on its way, and where the key
    /// was refused: then the value goes where the key was, and from there nowhere. `copied` are the entries copied from
    /// another Dictionary whose values have not come yet.
    Dictionary {
        dictionary: Borrowed,
        key: Variant,
        value: *mut Variant,
        at_key: bool,
        copied: LinkedEntries,
    },
    /// A value outside of every container.
    Aside(Variant),
}

impl Open {
    /// Where values for this container go now.
    fn place(&mut self) -> *mut Variant {
        match self {
            Self::Array { place, .. } => *place,
            Self::Dictionary { key, value, .. } => {
                if value.is_null() {
                    key
                } else {
                    *value
                }
            }
            Self::Aside(value) => value,
        }
    }
}

impl Building {
    /// A construction at its start.
    #[inline(always)]
    pub fn new() -> Self {
        let layout = layout::layout();
        Self {
            interface: interface(),
            layout,
            root: nil(layout),
            open: Vec::new(),
            place: std::ptr::null_mut(),
        }
    }

    /// The finished value.
    ///
    /// # Panics
    /// If a container is still open.
    #[inline(always)]
    pub fn finish(self) -> Variant {
        assert!(self.open.is_empty(), "a container is still open");
        self.root
    }

    /// Where the next value goes: to a live Variant that this construction owns: the root, a part of `open`, or an
    /// element of a container that only `open` can reach.
    #[inline(always)]
    fn place(&mut self) -> *mut Variant {
        if self.place.is_null() {
            assert!(self.open.is_empty(), "no element has been begun");
            return &raw mut self.root;
        }
        self.place
    }

    /// A container has been opened: nothing has a place in it yet.
    #[inline(always)]
    fn push(&mut self, open: Open) {
        self.open.push(open);
        self.place = std::ptr::null_mut();
    }

    /// The innermost open container, which is closed now: the next value goes where it went before.
    #[inline(always)]
    fn pop(&mut self) -> Option<Open> {
        let closed = self.open.pop();
        self.place = self.open.last_mut().map_or(std::ptr::null_mut(), Open::place);
        closed
    }

    /// Whether the next value is a key.
    #[inline(always)]
    pub fn is_at_key(&self) -> bool {
        matches!(self.open.last(), Some(Open::Dictionary { at_key: true, .. }))
    }

    /// Puts a finished value in its place.
    #[inline(always)]
    pub fn put(&mut self, value: Variant) {
        let place = self.place();
        // SAFETY: see `place`.
        unsafe { *place = value };
    }

    /// The value that was put last.
    #[inline(always)]
    pub fn last(&self) -> &Variant {
        // SAFETY: see `place`.
        unsafe { self.place.as_ref() }.unwrap_or(&self.root)
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
        if self.layout.is_some() {
            let place = self.place();
            // SAFETY: `place` points to a Variant that is Nil, as in `construct`.
            unsafe { layout::move_name(place, VariantType::StringName, name) };
        } else {
            // SAFETY: godot-rust's StringName is transparent over the engine's.
            unsafe { self.construct(VariantType::StringName, &mut name) };
        }
    }

    /// Puts a Signal. The object need not exist. Says whether it could: there is no documented way.
    pub fn put_signal(&mut self, name: Text<'_>, object: u64) -> bool {
        if self.layout.is_none() {
            return false;
        }
        let name = StringName::from(&string(name));
        let place = self.place();
        // SAFETY: `place` points to a Variant that is Nil, as in `construct`.
        unsafe { layout::move_signal(place, name, object) };
        true
    }

    /// Puts the NodePath of a text.
    pub fn put_node_path(&mut self, text: &str) {
        let mut path = NodePath::from(&string(Text::Utf8(text)));
        // SAFETY: godot-rust's NodePath is transparent over the engine's.
        unsafe { self.construct(VariantType::NodePath, &mut path) };
    }

    /// Puts what the engine's own reader makes of the value that starts at `offset` of `bytes`. Says whether it has the
    /// type given; if not, nothing is put.
    ///
    /// # Panics
    /// If the offset is beyond the end.
    pub fn put_decoded(&mut self, ty: VariantType, bytes: &PackedByteArray, offset: usize) -> bool {
        assert!(offset <= bytes.len(), "there is no such offset");
        let (interface, layout, place) = (self.interface, self.layout, self.place());
        // SAFETY: see `place`; the offset has just been checked.
        let value = unsafe {
            interface.decode_var(bytes, offset, &mut *place);
            &mut *place
        };
        let is_right = interface.type_of(value) == Some(ty);
        if !is_right {
            clear(layout, value);
        }
        is_right
    }

    /// Puts a packed array.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`].
    pub fn put_packed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
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
        self.put(value?);
        Ok(())
    }

    /// Makes an empty value of a type in its place, and gives a second handle to it.
    #[inline(always)]
    fn put_empty(&mut self, ty: VariantType) -> Borrowed {
        let place = self.place();
        // SAFETY: `place` points to a Variant that is Nil, as in `construct`. The handle is used only while `place` holds
        // the value.
        unsafe {
            match (ty, self.layout) {
                (VariantType::Array | VariantType::Dictionary, Some(_)) => {
                    layout::write_plain(place, ty, &[]);
                    self.interface.construct_empty(ty, layout::payload(&*place).cast_mut().cast());
                }
                _ => self.interface.construct_default(ty, place),
            }
            ManuallyDrop::new(place.read())
        }
    }

    /// The engine's pointer to the container that a handle holds.
    ///
    /// # Safety
    /// - `container` holds a value of type `ty`, which is Array or Dictionary.
    #[inline(always)]
    unsafe fn container(&self, container: &Variant, ty: VariantType) -> TypePtr {
        match self.layout {
            Some(_) => layout::payload(container).cast_mut().cast(),
            // SAFETY: the caller vouches for the type.
            None => unsafe { self.interface.payload(container, ty) },
        }
    }

    /// Opens an Array of `len` elements in its place. Says whether the engine could make it.
    #[inline(always)]
    pub fn open_array(&mut self, len: usize, element: &ContainerType) -> bool {
        let array = self.put_empty(VariantType::Array);
        let typed = !matches!(element, ContainerType::Untyped);
        // SAFETY: `array` is an Array that nothing else uses yet, as setting its type and its size want it.
        unsafe {
            let container = self.container(&array, VariantType::Array);
            if typed {
                set_type(container, element);
            }
            if len > 0 && !self.interface.resize_array(container, len) {
                return false;
            }
        }
        // Just made, so that nothing shares its elements: see `behaviour.rs`.
        let first = self.layout.map_or(std::ptr::null(), |layout| layout.elements(&array).0);
        let first = first.cast_mut();
        self.push(Open::Array { array, first, len, index: 0, place: std::ptr::null_mut(), typed });
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
        self.place = *place;
        if *typed {
            // A typed Array's new elements are defaults of its type.
            // SAFETY: `place` is an element of the Array, and therefore a live Variant.
            clear(self.layout, unsafe { &mut **place });
        }
    }

    /// Puts values that need no destructor into the next elements of the open Array, from their bytes. Says whether it
    /// has taken all of them: otherwise none, since elements cannot be reached in place or are no place for such values.
    ///
    /// # Panics
    /// If there are more values than elements, or values of this type do not have so many bytes.
    #[inline(always)]
    pub fn put_run<const N: usize>(
        &mut self,
        ty: VariantType,
        values: &mut impl Iterator<Item = [u8; N]>,
    ) -> bool {
        let (Some(layout), Some(Open::Array { array, first, len, index, place, typed })) =
            (self.layout, self.open.last_mut())
        else {
            return false;
        };
        assert_eq!(plain_bytes(ty), Some(N));
        // A typed Array's new elements are defaults of its type, which need no destructor if it is this one.
        let is_room = layout::PAYLOAD + N <= layout::VARIANT;
        if !is_room || first.is_null() || (*typed && layout.array_type(array) != u32::from(ty.id())) {
            return false;
        }
        for bytes in values {
            assert!(*index < *len, "the Array has no more elements");
            // SAFETY: the index lies within, the elements are one after the other, and nothing else resizes them. The
            // element has been Nil or a default of this type since the Array was made, which `behaviour.rs` verifies. A Variant holds such a value, of
            // as many bytes.
            unsafe {
                *place = first.add(*index);
                layout::write_plain(*place, ty, &bytes);
            }
            *index += 1;
        }
        self.place = *place;
        true
    }

    /// Closes the open Array, which is in its place already.
    #[inline(always)]
    pub fn close_array(&mut self) {
        assert!(matches!(self.pop(), Some(Open::Array { .. })), "no Array is open");
    }

    /// Leaves the next `count` elements of the open Array, which must be filled, or come to nothing with the value, before
    /// anyone else uses it.
    ///
    /// # Panics
    /// If no Array is open, or it has fewer elements left.
    pub fn leave_elements(&mut self, count: usize) -> Slots {
        let Some(Open::Array { array, len, index, .. }) = self.open.last_mut() else {
            panic!("no Array is open");
        };
        let range = *index..*index + count;
        assert!(range.end <= *len, "the Array has no more elements");
        *index = range.end;
        self.place = std::ptr::null_mut();
        // SAFETY: these elements have not been begun and never will be: only the construction can reach the Array.
        unsafe { Slots::new(Variant::clone(array), range) }
    }

    /// A construction at the start of elements that were left to it.
    pub fn of_elements(slots: Slots) -> Self {
        let mut building = Self::new();
        let (array, Range { start, end }) = slots.into_parts();
        building.root = array;
        // SAFETY: a second handle, which is used only while the root holds the Array.
        let array = ManuallyDrop::new(unsafe { std::ptr::from_ref(&building.root).read() });
        let first = building.layout.map_or(std::ptr::null(), |layout| layout.elements(&array).0).cast_mut();
        // Defaults of a typed Array are replaced in either case.
        let (index, len, typed) = (start, end, true);
        building.push(Open::Array { array, first, len, index, place: std::ptr::null_mut(), typed });
        building
    }

    /// Leaves the value of the open entry, which must be settled before anyone else uses the Dictionary. `None` where the
    /// key has been refused.
    pub fn leave_value(&mut self) -> Option<LeftValue> {
        match self.open.last() {
            Some(Open::Dictionary { dictionary, value, .. }) if !value.is_null() => {
                Some(LeftValue { dictionary: Variant::clone(dictionary), place: *value })
            }
            _ => None,
        }
    }

    /// Opens a Dictionary in its place.
    #[inline(always)]
    pub fn open_dictionary(&mut self, key: &ContainerType, value: &ContainerType) {
        let dictionary = self.put_empty(VariantType::Dictionary);
        if !matches!((key, value), (ContainerType::Untyped, ContainerType::Untyped)) {
            // SAFETY: `dictionary` is a Dictionary that nothing else uses yet, as setting its types wants it.
            unsafe { set_types(self.container(&dictionary, VariantType::Dictionary), key, value) };
        }
        let key = nil(self.layout);
        self.push(Open::Dictionary {
            dictionary,
            key,
            value: std::ptr::null_mut(),
            at_key: false,
            copied: LinkedEntries::OVER,
        });
    }

    /// The next value is the key of the open Dictionary's next entry.
    #[inline(always)]
    pub fn next_key(&mut self) {
        let layout = self.layout;
        let Some(Open::Dictionary { key, value, at_key, .. }) = self.open.last_mut() else {
            panic!("no Dictionary is open");
        };
        clear(layout, key);
        *value = std::ptr::null_mut();
        *at_key = true;
        self.place = key;
    }

    /// The next value belongs to the key that was put; if it is not to be `kept`, entry and value come to nothing.
    #[inline(always)]
    pub fn next_value(&mut self, kept: bool) {
        let layout = self.layout;
        let Some(Open::Dictionary { key, at_key: at_key @ true, .. }) = self.open.last_mut() else {
            panic!("no key is open");
        };
        if kept {
            // A second handle, used only while the key stays where it is.
            // SAFETY: `key` is a live Variant.
            let key = ManuallyDrop::new(unsafe { std::ptr::from_ref(key).read() });
            self.next_value_of(&key);
        } else {
            *at_key = false;
            clear(layout, key);
        }
    }

    /// The next value belongs to this key, whatever was put.
    #[inline(always)]
    pub fn next_value_of(&mut self, key: &Variant) {
        let (interface, layout) = (self.interface, self.layout);
        let Some(Open::Dictionary { dictionary, value, at_key: at_key @ true, .. }) = self.open.last_mut()
        else {
            panic!("no key is open");
        };
        *at_key = false;
        // SAFETY: `dictionary` holds a Dictionary that only this construction can reach; the engine answers with the
        // place of the key's value, which stays where it is as long as the entry exists.
        unsafe {
            let container = match layout {
                Some(_) => layout::payload(dictionary).cast_mut().cast(),
                None => interface.payload(dictionary, VariantType::Dictionary),
            };
            *value = interface_fn!(dictionary_operator_index)(container, variant_ptr(key)).cast::<Variant>();
            // An earlier entry's value, or the default of a typed Dictionary's value type.
            clear(layout, &mut **value);
        }
        self.place = *value;
    }

    /// Copies all entries of another Dictionary, whose values are all Nil, into the open Dictionary, which is untyped and
    /// has none yet. Values are then put into them one by one, with [`Building::next_copied_value`].
    ///
    /// Only where memory is reached directly.
    ///
    /// # Panics
    /// If no Dictionary is open.
    #[inline(always)]
    pub fn copy_entries(&mut self, template: &Variant) {
        let (interface, Some(layout)) = (self.interface, self.layout) else {
            unreachable!("copied entries are reached directly");
        };
        let Some(Open::Dictionary { dictionary, copied, .. }) = self.open.last_mut() else {
            panic!("no Dictionary is open");
        };
        assert!(layout::tag(template) == u32::from(VariantType::Dictionary.id()), "no Dictionary is copied");
        // SAFETY: both hold Dictionaries, in Variants that hold them themselves; only this construction can reach the one
        // that is open.
        unsafe {
            interface.assign_dictionary(
                layout::payload(dictionary).cast_mut().cast(),
                layout::payload(template).cast_mut().cast(),
            );
        }
        *copied = layout.entries(dictionary);
    }

    /// The next value belongs to the next copied entry, which has the key that is next.
    ///
    /// # Panics
    /// If there is none.
    #[inline(always)]
    pub fn next_copied_value(&mut self) {
        let Some(Open::Dictionary { value, at_key: at_key @ true, copied, .. }) = self.open.last_mut() else {
            panic!("no key is open");
        };
        *at_key = false;
        // SAFETY: only this construction can reach the Dictionary, and it neither adds nor erases entries before the last
        // of the copied ones has its value, or they are given up.
        *value = unsafe { copied.next_place() }.expect("an entry is left");
        self.place = *value;
    }

    /// Takes out the copied entries whose values have not come.
    #[cold]
    #[inline(never)]
    pub fn give_up_copied(&mut self) {
        let interface = self.interface;
        let Some(Open::Dictionary { dictionary, copied, .. }) = self.open.last_mut() else {
            panic!("no Dictionary is open");
        };
        // SAFETY: as in `next_copied_value`; the walk is past an entry before that is taken out.
        unsafe {
            let container = layout::payload(dictionary).cast_mut().cast();
            while let Some((key, _)) = copied.next() {
                interface.erase_entry(container, key);
            }
        }
    }

    /// The number of entries of the open Dictionary.
    pub fn dictionary_len(&self) -> usize {
        let Some(Open::Dictionary { dictionary, .. }) = self.open.last() else {
            panic!("no Dictionary is open");
        };
        // SAFETY: `dictionary` holds a Dictionary.
        unsafe {
            let container = self.container(dictionary, VariantType::Dictionary);
            self.interface.size(container, VariantType::Dictionary)
        }
    }

    /// Closes the open Dictionary, which is in its place already.
    #[inline(always)]
    pub fn close_dictionary(&mut self) {
        let Some(Open::Dictionary { mut key, .. }) = self.pop() else { panic!("no Dictionary is open") };
        clear(self.layout, &mut key);
        if self.layout.is_some() {
            // A Nil needs no destructor.
            std::mem::forget(key);
        }
    }

    /// The next value goes nowhere until it is taken by [`Building::close_aside`].
    pub fn open_aside(&mut self) {
        let aside = nil(self.layout);
        self.push(Open::Aside(aside));
        self.place = self.open.last_mut().map_or(std::ptr::null_mut(), Open::place);
    }

    /// The value that was put aside.
    pub fn close_aside(&mut self) -> Variant {
        match self.pop() {
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

/// How many bytes a value of this type has, if a Variant holds it itself and it needs no destructor.
#[inline(always)]
pub(super) fn plain_bytes(ty: VariantType) -> Option<usize> {
    match ty.shape() {
        Shape::Int | Shape::Float => Some(8),
        _ => run_bytes(ty),
    }
}

/// A Nil, without a call where it is known what one looks like.
#[inline(always)]
fn nil(layout: Option<&Layout>) -> Variant {
    match layout {
        // SAFETY: verification has seen that a Nil has the tag 0; the rest of it means nothing.
        Some(_) => unsafe { MaybeUninit::zeroed().assume_init() },
        None => Variant::nil(),
    }
}

/// Makes a Variant Nil, without a call where it is one already.
#[inline(always)]
pub(super) fn clear(layout: Option<&Layout>, variant: &mut Variant) {
    if layout.is_none() || layout::tag(variant) != 0 {
        *variant = nil(layout);
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
fn packed<T>(ty: VariantType, lanes: Lanes<'_>) -> Result<Variant>
where
    T: PackedElement,
    PackedArray<T>: ToGodot,
{
    let Shape::Packed(lane, per_element) = ty.shape() else { unreachable!("{ty} is no packed array") };
    let wide = lanes.precision == Precision::Double;
    let mut array = PackedArray::<T>::new();
    let len = lanes.le.len() / (lane.width(wide) * per_element);
    array.resize(len);
    if array.len() != len {
        return Err(ErrorKind::OutOfMemory(len.saturating_mul(size_of::<T>())).into());
    }
    let elements = array.as_mut_slice();
    // SAFETY: the elements are plain numbers without gaps, for which any bytes are valid; the size is theirs.
    let bytes =
        unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast::<u8>(), size_of_val(elements)) };
    copy_lanes(bytes, lane, lanes);
    Ok(array.to_variant())
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
        Text::Utf8(text) if layout::layout().is_some() => layout::string(text),
        Text::Utf8(text) => documented_string(text),
        Text::Utf32(units) => string_of_units(units),
    }
}

/// The String of bytes that should be UTF-8 without NULs; `None` if they are not, or a longer way has to be gone.
/// `units` is memory to work in, which is best kept.
#[inline]
pub fn raw_string(bytes: &[u8], units: &mut Vec<u32>) -> Option<GString> {
    /// Longer text is not worth the memory to work in.
    const LONGEST: usize = 1 << 14;

    layout::layout()?;
    if is_ascii_without_nul(bytes) {
        return layout::string_of_ascii(bytes);
    }
    if bytes.len() > LONGEST {
        return None;
    }
    if units.len() < bytes.len() {
        units.resize(bytes.len().next_power_of_two(), 0);
    }
    let count = to_utf32(bytes, units)?;
    layout::string_of_units(&units[..count])
}

/// A String of this text by the engine's own conversion.
pub(super) fn documented_string(text: &str) -> GString {
    // The engine would take a byte-order mark away.
    if text.starts_with(variant_codec::format::BOM) {
        let units: Vec<u32> = text.chars().map(u32::from).collect();
        return string_of_units(&units);
    }
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

fn string_of_units(units: &[u32]) -> GString {
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
