//! Values other than containers.

use godot::builtin::{
    Color, GString, NodePath, PackedArray, PackedByteArray, StringName, Variant, Vector2, Vector3, Vector4,
};
use godot::meta::{PackedElement, ToGodot};
use variant_codec::format::{Lane, Shape};
use variant_codec::lanes::convert as convert_lanes;
use variant_codec::stream::{Lanes, Precision, Text};
use variant_codec::{ErrorKind, Result, VariantType};

use super::Building;
use crate::layout::{self, clear};
use crate::slots::StringSlots;
use crate::strings::string;
use crate::types::{PRECISION, is_inline, is_same_width};

/// The number of components of the largest math type.
const MAX_LANES: usize = 16;

impl<'s> Building<'s> {
    /// # Safety
    /// - `value` points to a live value of type `ty` in the engine's own layout.
    #[inline(always)]
    unsafe fn construct<T>(&mut self, ty: VariantType, value: &mut T) {
        let place = self.place();
        // SAFETY: `place` returns a live Variant that this construction owns. It is Nil before its value is put, and a
        // Nil needs no destructor. Any other value would only leak. `value` is of type `ty` (`# Safety`).
        unsafe { self.interface.construct(place, ty, std::ptr::from_mut(value).cast()) };
    }

    /// Puts a value that needs no destructor, given as bytes.
    ///
    /// # Safety
    /// - `bytes` hold a value of type `ty` in the engine's own layout, aligned for that type.
    #[inline(always)]
    unsafe fn put_plain(&mut self, ty: VariantType, bytes: &mut [u8]) {
        let place = self.place();
        // SAFETY: `place` returns a Variant of this construction, which is Nil until its value is written (see
        // `construct`). The bytes hold a value of type `ty` (`# Safety`).
        unsafe {
            if self.layout.is_some() && is_inline(ty) {
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

    /// Puts a float; a NaN keeps all its bits.
    #[inline(always)]
    pub fn put_float(&mut self, value: f64) {
        // SAFETY: the engine's float is an f64.
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

    /// Puts a value of a math type.
    #[inline(always)]
    pub fn put_lanes(&mut self, ty: VariantType, lanes: Lanes<'_>) {
        let Shape::Fixed(lane, count) = ty.shape() else { unreachable!("{ty} has no fixed components") };
        if self.layout.is_some() && is_inline(ty) && is_same_width(lane, lanes.precision) {
            let place = self.place();
            assert_eq!(lanes.le.len(), count * lane.width(PRECISION == Precision::Double));
            // SAFETY: `place` returns a Variant of this construction, which is Nil before its value is put
            // (see `construct`). A value of the type consists of exactly its components, in this order.
            unsafe { layout::write_plain(place, ty, lanes.le) };
        } else {
            self.put_aligned_lanes(ty, lane, count, lanes);
        }
    }

    /// Puts a value of a math type through aligned memory.
    #[inline(never)]
    fn put_aligned_lanes(&mut self, ty: VariantType, lane: Lane, count: usize, lanes: Lanes<'_>) {
        let width = lane.width(PRECISION == Precision::Double);
        let mut memory = Aligned([0; MAX_LANES]);
        let bytes = &mut memory.bytes()[..count * width];
        copy_lanes(bytes, lane, lanes);
        // SAFETY: a value of the type consists of exactly its components, in this order.
        unsafe { self.put_plain(ty, bytes) };
    }

    /// Puts a String.
    #[inline(always)]
    pub fn put_string(&mut self, mut string: GString) {
        if self.layout.is_some() {
            let place = self.place();
            // SAFETY: `place` returns a Variant of this construction, which is Nil until its value is written (see
            // `construct`).
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
            // SAFETY: `place` returns a Variant of this construction, which is Nil until its value is written (see
            // `construct`).
            unsafe { layout::move_name(place, VariantType::StringName, name) };
        } else {
            // SAFETY: godot-rust's StringName is transparent over the engine's.
            unsafe { self.construct(VariantType::StringName, &mut name) };
        }
    }

    /// Puts a Signal, whose object need not exist. Returns false without direct access, since no documented
    /// function makes such a Signal.
    pub fn put_signal(&mut self, name: Text<'_>, object: u64) -> bool {
        if self.layout.is_none() {
            return false;
        }
        let name = StringName::from(&string(name));
        let place = self.place();
        // SAFETY: `place` returns a Variant of this construction, which is Nil until its value is written (see
        // `construct`).
        unsafe { layout::move_signal(place, name, object) };
        true
    }

    /// Puts the NodePath with this text.
    pub fn put_node_path(&mut self, text: &str) {
        let mut path = NodePath::from(&string(Text::Utf8(text)));
        // SAFETY: godot-rust's NodePath is transparent over the engine's.
        unsafe { self.construct(VariantType::NodePath, &mut path) };
    }

    /// Lets the engine decode the value at `offset` in `bytes`, and puts the value if its type is `ty`.
    /// Returns whether the value has this type.
    ///
    /// # Panics
    /// Panics if the offset is beyond the end.
    pub fn put_decoded(&mut self, ty: VariantType, bytes: &PackedByteArray, offset: usize) -> bool {
        assert!(offset <= bytes.len(), "there is no such offset");
        let (interface, layout, place) = (self.interface, self.layout, self.place());
        // SAFETY: `place` returns a live Variant that this construction owns; the assertion has checked the offset.
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

    /// Puts a PackedStringArray.
    pub fn put_strings(&mut self, strings: StringSlots<'s>) {
        let (array, is_shared) = strings.into_array();
        self.gaps += usize::from(is_shared);
        self.put(array);
    }
}

/// Bytes aligned for every type.
struct Aligned<const N: usize>([u64; N]);

impl<const N: usize> Aligned<N> {
    #[inline(always)]
    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: bytes and integers may have any bit pattern; the length is the same.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), N * size_of::<u64>()) }
    }
}

/// Copies components to the engine's layout, converting between float widths.
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
    // SAFETY: the elements are plain numbers without padding, for which any bytes are valid; the length is their size.
    let bytes =
        unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast::<u8>(), size_of_val(elements)) };
    copy_lanes(bytes, lane, lanes);
    Ok(array.to_variant())
}
