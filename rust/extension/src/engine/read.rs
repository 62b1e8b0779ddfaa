//! What a live Variant holds, borrowed from it.

use godot::builtin::{AnyArray, AnyDictionary, GString, StringName, Variant};
use godot::classes::Script;
use godot::obj::Gd;
use godot::sys::{self, GodotFfi, interface_fn};
use variant_codec::format::{Lane, Shape};
use variant_codec::{Lanes, Precision, VariantType};

use super::PRECISION;
use super::batch::Elements;
use super::interface::{Interface, TypePtr, interface, variant_ptr};

/// Reads Variants. Each method names the type that the Variant must have, and checks it.
#[derive(Clone, Copy)]
pub struct Reader(&'static Interface);

/// The declared element type of a live container.
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

impl Reader {
    /// A reader of this engine's Variants.
    pub fn new() -> Self {
        Self(interface())
    }

    /// The type of a Variant; `None` for types that are newer than this library.
    #[inline(always)]
    pub fn ty(self, variant: &Variant) -> Option<VariantType> {
        self.0.type_of(variant)
    }

    /// A pointer to the payload, after a check of the type.
    #[inline(always)]
    fn payload(self, variant: &Variant, ty: VariantType) -> TypePtr {
        assert_eq!(self.ty(variant), Some(ty), "a Variant is read as a type that it does not have");
        // SAFETY: the type has just been checked.
        unsafe { self.0.payload(variant, ty) }
    }

    /// The value of a bool.
    #[inline(always)]
    pub fn bool(self, variant: &Variant) -> bool {
        // SAFETY: the payload of a bool is one byte, read as a number since its value comes from elsewhere.
        unsafe { *self.payload(variant, VariantType::Bool).cast::<u8>() != 0 }
    }

    /// The value of an int.
    #[inline(always)]
    pub fn int(self, variant: &Variant) -> i64 {
        // SAFETY: the payload of an int is an i64.
        unsafe { *self.payload(variant, VariantType::Int).cast() }
    }

    /// The value of a float.
    #[inline(always)]
    pub fn float(self, variant: &Variant) -> f64 {
        // SAFETY: the payload of a float is an f64.
        unsafe { *self.payload(variant, VariantType::Float).cast() }
    }

    /// The id of an RID.
    #[inline(always)]
    pub fn rid(self, variant: &Variant) -> u64 {
        // SAFETY: the payload of an RID is its u64 id.
        unsafe { *self.payload(variant, VariantType::Rid).cast() }
    }

    /// The components of a mathematical value; memory has them in the order of the wire.
    #[inline(always)]
    pub fn lanes(self, variant: &Variant, ty: VariantType) -> Lanes<'_> {
        let Shape::Fixed(lane, count) = ty.shape() else { unreachable!("{ty} has no fixed components") };
        let bytes = count * lane.width(PRECISION == Precision::Double);
        // SAFETY: the payload of such a type is exactly its components, and lives as long as the borrowed Variant.
        let le = unsafe { std::slice::from_raw_parts(self.payload(variant, ty).cast(), bytes) };
        Lanes { precision: PRECISION, le }
    }

    /// The code units of a String.
    #[inline(always)]
    pub fn string_units(self, variant: &Variant) -> &[u32] {
        let string = self.payload(variant, VariantType::String).cast::<GString>();
        // SAFETY: the payload is a String, over which GString is transparent; it lives as long as the Variant.
        units(unsafe { &*string })
    }

    /// The text of a StringName.
    #[inline(always)]
    pub fn string_name(self, variant: &Variant) -> GString {
        let name = self.payload(variant, VariantType::StringName).cast::<StringName>();
        // SAFETY: the payload is a StringName, over which godot-rust's is transparent; it lives as long as the Variant.
        GString::from(unsafe { &*name })
    }

    /// The instance id of an object that is alive; 0 for a null or freed one.
    #[inline(always)]
    pub fn live_object_id(self, variant: &Variant) -> u64 {
        // SAFETY: the reference is to a live Variant; other types give 0.
        let id = unsafe { interface_fn!(variant_get_object_instance_id)(variant_ptr(variant)) };
        // SAFETY: any number may be asked for; the pointer is only compared.
        let alive = id != 0 && unsafe { !interface_fn!(object_get_instance_from_id)(id).is_null() };
        if alive { id } else { 0 }
    }

    /// The elements of a packed array, as bytes; memory has them in the order of the wire.
    #[inline(always)]
    pub fn packed(self, variant: &Variant, ty: VariantType) -> Lanes<'_> {
        let Shape::Packed(lane, per_element) = ty.shape() else { unreachable!("{ty} is no packed array") };
        let array = self.payload(variant, ty);
        // SAFETY: `array` points to a live value of type `ty`, as `payload` checked.
        let count = unsafe { self.0.size(array, ty) };
        if count == 0 {
            return Lanes { precision: PRECISION, le: &[] };
        }
        // SAFETY: as above; element 0 exists.
        let first = unsafe { first_element(array, ty, lane) };
        let bytes = count * per_element * lane.width(PRECISION == Precision::Double);
        // SAFETY: packed arrays hold their elements one after the other, without gaps, and this one lives as long as
        // the borrowed Variant.
        Lanes { precision: PRECISION, le: unsafe { std::slice::from_raw_parts(first, bytes) } }
    }

    /// The elements of a PackedStringArray.
    #[inline(always)]
    pub fn strings(self, variant: &Variant) -> &[GString] {
        let ty = VariantType::PackedStringArray;
        let array = self.payload(variant, ty);
        // SAFETY: `array` points to a live value of type `ty`, as `payload` checked.
        let count = unsafe { self.0.size(array, ty) };
        if count == 0 {
            return &[];
        }
        // SAFETY: element 0 exists; the elements are Strings, over which GString is transparent, one after the other.
        unsafe {
            let first = interface_fn!(packed_string_array_operator_index_const)(array.cast_const(), 0);
            std::slice::from_raw_parts(first.cast(), count)
        }
    }

    /// The elements of an Array.
    #[inline(always)]
    pub fn elements(self, variant: &Variant) -> Elements<'_> {
        let array = self.payload(variant, VariantType::Array);
        // SAFETY: the payload is an Array that lives as long as the borrowed Variant.
        unsafe { Elements::new(self.0, array) }
    }

    /// The keys and the values of a Dictionary, in insertion order, in Arrays of their own.
    pub fn entries(self, variant: &Variant) -> (AnyArray, AnyArray) {
        let dictionary = variant.to::<AnyDictionary>();
        (dictionary.keys_array(), dictionary.values_array())
    }

    /// The declared type of an Array's elements.
    #[inline(always)]
    pub fn array_type(self, variant: &Variant) -> ContainerType {
        let array = self.payload(variant, VariantType::Array);
        // SAFETY: `array` points to a live Array, as `payload` checked.
        if unsafe { self.0.is_typed(array, VariantType::Array) } {
            declared(variant, "get_typed_builtin", "get_typed_class_name", "get_typed_script")
        } else {
            ContainerType::Untyped
        }
    }

    /// The declared types of a Dictionary's keys and values.
    #[inline(always)]
    pub fn dictionary_types(self, variant: &Variant) -> (ContainerType, ContainerType) {
        let dictionary = self.payload(variant, VariantType::Dictionary);
        // SAFETY: `dictionary` points to a live Dictionary, as `payload` checked.
        if unsafe { self.0.is_typed(dictionary, VariantType::Dictionary) } {
            (
                declared(
                    variant,
                    "get_typed_key_builtin",
                    "get_typed_key_class_name",
                    "get_typed_key_script",
                ),
                declared(
                    variant,
                    "get_typed_value_builtin",
                    "get_typed_value_class_name",
                    "get_typed_value_script",
                ),
            )
        } else {
            (ContainerType::Untyped, ContainerType::Untyped)
        }
    }
}

/// The declared type that the container's own methods tell.
#[cold]
fn declared(container: &Variant, builtin: &str, class: &str, script: &str) -> ContainerType {
    let builtin = container.call(builtin, &[]).to::<i64>();
    let class = container.call(class, &[]).to::<StringName>();
    match u8::try_from(builtin).ok().and_then(VariantType::from_id) {
        None | Some(VariantType::Nil) => ContainerType::Untyped,
        Some(VariantType::Object) if class != StringName::default() => {
            ContainerType::Object { class, script: container.call(script, &[]).try_to::<Gd<Script>>().ok() }
        }
        Some(ty) => ContainerType::Builtin(ty),
    }
}

/// The code units of a String: any 32-bit numbers, since scripts can make Strings of lone surrogates.
#[inline(always)]
pub fn units(string: &GString) -> &[u32] {
    let string = string.sys().cast::<sys::__GdextString>();
    // SAFETY: `string` is a live String; with no room to write to, the first function only counts.
    let (count, first) = unsafe {
        (
            interface_fn!(string_to_utf32_chars)(string, std::ptr::null_mut(), 0),
            interface_fn!(string_operator_index_const)(string, 0),
        )
    };
    let count = usize::try_from(count).unwrap_or(0);
    if count == 0 || first.is_null() {
        return &[];
    }
    // SAFETY: a String holds its code units one after the other, and lives as long as it is borrowed.
    unsafe { std::slice::from_raw_parts(first.cast(), count) }
}

/// A pointer to the first element of a packed array.
///
/// # Safety
/// - `array` points to a live packed array of type `ty` with at least one element.
#[inline(always)]
unsafe fn first_element(array: TypePtr, ty: VariantType, lane: Lane) -> *const u8 {
    use VariantType as T;
    let array = array.cast_const();
    // SAFETY: each function is the one for the array's type, which the caller vouches for, and index 0 exists.
    unsafe {
        match ty {
            T::PackedByteArray => interface_fn!(packed_byte_array_operator_index_const)(array, 0).cast(),
            T::PackedInt32Array => interface_fn!(packed_int32_array_operator_index_const)(array, 0).cast(),
            T::PackedInt64Array => interface_fn!(packed_int64_array_operator_index_const)(array, 0).cast(),
            T::PackedFloat32Array => {
                interface_fn!(packed_float32_array_operator_index_const)(array, 0).cast()
            }
            T::PackedFloat64Array => {
                interface_fn!(packed_float64_array_operator_index_const)(array, 0).cast()
            }
            T::PackedVector2Array => {
                interface_fn!(packed_vector2_array_operator_index_const)(array, 0).cast::<u8>().cast_const()
            }
            T::PackedVector3Array => {
                interface_fn!(packed_vector3_array_operator_index_const)(array, 0).cast::<u8>().cast_const()
            }
            T::PackedVector4Array => {
                interface_fn!(packed_vector4_array_operator_index_const)(array, 0).cast::<u8>().cast_const()
            }
            T::PackedColorArray => {
                interface_fn!(packed_color_array_operator_index_const)(array, 0).cast::<u8>().cast_const()
            }
            _ => unreachable!("{ty} holds no {lane:?} components"),
        }
    }
}

impl<'a> From<&'a AnyArray> for Elements<'a> {
    fn from(array: &'a AnyArray) -> Self {
        // SAFETY: the reference is to a live Array.
        unsafe { Elements::new(interface(), array.sys().cast_mut()) }
    }
}
