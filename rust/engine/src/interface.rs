//! The engine functions that this crate uses, looked up once through godot-rust's `sys` layer.

use std::sync::OnceLock;

use godot::builtin::{PackedByteArray, StringName, Variant};
use godot::classes::Os;
use godot::obj::Singleton;
use godot::sys::{self, GdextBuild, GodotFfi, interface_fn};
use variant_codec::VariantType;

/// The engine's pointer to a value of a built-in type.
pub(crate) type TypePtr = sys::GDExtensionTypePtr;

type Method = unsafe extern "C" fn(TypePtr, *const sys::GDExtensionConstTypePtr, TypePtr, i32);

/// Hashes of method signatures, as the engine's API description lists them; the engine keeps them stable.
mod hash {
    /// `func() -> int`, const.
    pub const GET_INT: i64 = 3173160232;
    /// `func(int) -> int`.
    pub const RESIZE: i64 = 848867239;
    /// `func(Dictionary)`.
    pub const ASSIGN_DICTIONARY: i64 = 3642266950;
    /// `func(Variant) -> bool`.
    pub const ERASE: i64 = 1776646889;
    /// `func() -> bool`, const.
    pub const GET_BOOL: i64 = 3918633141;
    /// `func(int, bool) -> Variant`, const.
    pub const DECODE_VAR: i64 = 1740420038;
    /// `Object.get(StringName) -> Variant`, const.
    pub const OBJECT_GET: i64 = 2760726917;
    /// `Object.set(StringName, Variant)`.
    pub const OBJECT_SET: i64 = 3776071444;
    /// `GDScript.new(...) -> Variant`.
    pub const GDSCRIPT_NEW: i64 = 1545262638;
    /// `Object.get_script() -> Variant`, const.
    pub const OBJECT_GET_SCRIPT: i64 = 1214101251;
}

/// A method of a class. The engine keeps the method until the process ends.
#[derive(Clone, Copy)]
pub(crate) struct MethodBind(pub sys::GDExtensionMethodBindPtr);

// SAFETY: the engine's methods are immutable, and may be called on any thread.
unsafe impl Send for MethodBind {}
// SAFETY: as for `Send`.
unsafe impl Sync for MethodBind {}

impl MethodBind {
    fn of(class: &str, name: &str, hash: i64) -> Option<Self> {
        let (class, name) = (StringName::from(class), StringName::from(name));
        // SAFETY: the interface is initialised, and both names live through the call.
        let found =
            unsafe { interface_fn!(classdb_get_method_bind)(class.sys().cast(), name.sys().cast(), hash) };
        (!found.is_null()).then_some(Self(found))
    }

    pub fn gdscript_new() -> Option<Self> {
        Self::of("GDScript", "new", hash::GDSCRIPT_NEW)
    }
}

/// The engine functions, all of them documented parts of the GDExtension interface.
pub(crate) struct Interface {
    /// By type id: the function that returns a pointer to a Variant's payload; `None` for Nil.
    payload: [sys::GDExtensionVariantGetInternalPtrFunc; VariantType::COUNT],
    /// By type id: the function that makes a Variant from a value of this type; `None` for Nil.
    from_type: [sys::GDExtensionVariantFromTypeConstructorFunc; VariantType::COUNT],
    /// By type id: the `size` method of containers and packed arrays.
    size: [Option<Method>; VariantType::COUNT],
    empty_array: sys::GDExtensionPtrConstructor,
    empty_dictionary: sys::GDExtensionPtrConstructor,
    array_resize: Method,
    bytes_resize: Method,
    empty_bytes: EmptyBytes,
    array_type: Method,
    dictionary_assign: Method,
    dictionary_erase: Method,
    dictionary_key_type: Method,
    dictionary_value_type: Method,
    path_is_absolute: Method,
    decode_var: Method,
    pub object_get: MethodBind,
    pub object_set: MethodBind,
    pub object_get_script: MethodBind,
    shares_read_only_elements: bool,
    is_debug_build: bool,
}

/// An empty PackedByteArray, from which others are copied.
struct EmptyBytes(PackedByteArray);

// SAFETY: the array is only copied, and an empty array has neither a buffer nor a reference count.
unsafe impl Send for EmptyBytes {}
// SAFETY: the array is only copied, and an empty array has neither a buffer nor a reference count.
unsafe impl Sync for EmptyBytes {}

static INTERFACE: OnceLock<Interface> = OnceLock::new();

#[inline(always)]
pub(crate) fn interface() -> &'static Interface {
    INTERFACE.get().expect("the extension has been initialised by the engine")
}

/// Whether the engine is an editor or debug build. Such builds check more, and copy packed arrays element by
/// element.
#[inline(always)]
pub fn is_debug_build() -> bool {
    interface().is_debug_build
}

/// Looks up the engine functions. A second call, after a reload, has no effect.
pub(crate) fn load() {
    INTERFACE.get_or_init(|| {
        let by_type = |id: usize| id as sys::GDExtensionVariantType;
        let method = |ty: VariantType, name: &str, hash: i64| {
            let name = StringName::from(name);
            // SAFETY: the interface is initialised (this runs in the extension's init callback), and `name` lives
            // through the call.
            let method = unsafe {
                interface_fn!(variant_get_ptr_builtin_method)(
                    by_type(ty.id().into()),
                    name.sys().cast(),
                    hash,
                )
            };
            method.unwrap_or_else(|| panic!("this engine has no {ty}.{name} as of Godot 4.4: it is older, or so new that this addon must be updated"))
        };
        let object_method = |name: &str, hash: i64| {
            MethodBind::of("Object", name, hash).unwrap_or_else(|| panic!("this engine has no Object.{name} as of Godot 4.4"))
        };
        let sized = |ty: VariantType| {
            use variant_codec::format::Shape;
            ty.shape().is_list() || ty.shape() == Shape::Dictionary
        };
        Interface {
            payload: std::array::from_fn(|id| match id {
                0 => None,
                // SAFETY: the interface is initialised, and `id` is the id of a type other than Nil.
                _ => unsafe { interface_fn!(variant_get_ptr_internal_getter)(by_type(id)) },
            }),
            from_type: std::array::from_fn(|id| match id {
                0 => None,
                // SAFETY: the interface is initialised, and `id` is the id of a type other than Nil.
                _ => unsafe { interface_fn!(get_variant_from_type_constructor)(by_type(id)) },
            }),
            size: std::array::from_fn(|id| {
                let ty = VariantType::ALL[id];
                sized(ty).then(|| method(ty, "size", hash::GET_INT))
            }),
            // SAFETY: the interface is initialised; an Array's first constructor takes no arguments.
            empty_array: unsafe {
                interface_fn!(variant_get_ptr_constructor)(by_type(VariantType::Array.id().into()), 0)
            },
            // SAFETY: the interface is initialised; a Dictionary's first constructor takes no arguments.
            empty_dictionary: unsafe {
                interface_fn!(variant_get_ptr_constructor)(by_type(VariantType::Dictionary.id().into()), 0)
            },
            array_resize: method(VariantType::Array, "resize", hash::RESIZE),
            bytes_resize: method(VariantType::PackedByteArray, "resize", hash::RESIZE),
            empty_bytes: EmptyBytes(PackedByteArray::new()),
            array_type: method(VariantType::Array, "get_typed_builtin", hash::GET_INT),
            dictionary_assign: method(VariantType::Dictionary, "assign", hash::ASSIGN_DICTIONARY),
            dictionary_erase: method(VariantType::Dictionary, "erase", hash::ERASE),
            dictionary_key_type: method(VariantType::Dictionary, "get_typed_key_builtin", hash::GET_INT),
            dictionary_value_type: method(VariantType::Dictionary, "get_typed_value_builtin", hash::GET_INT),
            path_is_absolute: method(VariantType::NodePath, "is_absolute", hash::GET_BOOL),
            decode_var: method(VariantType::PackedByteArray, "decode_var", hash::DECODE_VAR),
            object_get: object_method("get", hash::OBJECT_GET),
            object_set: object_method("set", hash::OBJECT_SET),
            object_get_script: object_method("get_script", hash::OBJECT_GET_SCRIPT),
            shares_read_only_elements: GdextBuild::godot_runtime_version_triple() < (4, 5, 0),
            is_debug_build: Os::singleton().is_debug_build(),
        }
    });
}

/// The major and minor version of the running engine.
pub fn engine_version() -> (u8, u8) {
    let (major, minor, _) = GdextBuild::godot_runtime_version_triple();
    (major, minor)
}

impl Interface {
    /// The type of a Variant; `None` for types that are newer than this library.
    #[inline(always)]
    pub fn type_of(&self, variant: &Variant) -> Option<VariantType> {
        // SAFETY: the interface is initialised, and the reference is to a live Variant.
        let ty = unsafe { interface_fn!(variant_get_type)(variant_ptr(variant)) };
        u8::try_from(ty).ok().and_then(VariantType::from_id)
    }

    /// A pointer to the payload of `variant`, valid while the Variant is borrowed.
    ///
    /// # Panics
    /// Panics if the type is Nil, which has no payload.
    ///
    /// # Safety
    /// - `variant` holds a value of type `ty`.
    #[inline(always)]
    pub unsafe fn payload(&self, variant: &Variant, ty: VariantType) -> TypePtr {
        let payload = self.payload[usize::from(ty.id())].expect("every type but Nil has a payload");
        // SAFETY: the getter is the one for `ty`, which `variant` holds (`# Safety`).
        unsafe { payload(variant_ptr(variant).cast_mut()).cast() }
    }

    /// Constructs a Variant of type `ty` at `slot` from the value at `value`.
    ///
    /// # Safety
    /// - `slot` is valid for writing a Variant, and its old contents need no destructor.
    /// - `value` points to a live value of type `ty` in the engine's own layout.
    #[inline(always)]
    pub unsafe fn construct(&self, slot: *mut Variant, ty: VariantType, value: TypePtr) {
        let construct = self.from_type[usize::from(ty.id())].expect("every type but Nil has a constructor");
        // SAFETY: `slot` is valid for writing, and `value` is of type `ty` (`# Safety`).
        unsafe { construct(slot.cast(), value) };
    }

    /// # Safety
    /// - `slot` is valid for writing a Variant, and its old contents need no destructor.
    #[inline(always)]
    pub unsafe fn construct_default(&self, ty: VariantType, slot: *mut Variant) {
        let mut error = sys::default_call_error();
        // SAFETY: `slot` is valid for writing (`# Safety`), and every type has a constructor without arguments.
        unsafe {
            interface_fn!(variant_construct)(
                ty.id().into(),
                slot.cast(),
                std::ptr::null(),
                0,
                &raw mut error,
            );
        }
    }

    /// # Safety
    /// - `container` is valid for writing a value of type `ty`, which is Array or Dictionary.
    #[inline(always)]
    pub unsafe fn construct_empty(&self, ty: VariantType, container: TypePtr) {
        let construct = if ty == VariantType::Array { self.empty_array } else { self.empty_dictionary };
        let construct = construct.expect("containers have a constructor");
        // SAFETY: `container` is valid for writing (`# Safety`); the constructor takes no arguments.
        unsafe { construct(container.cast(), std::ptr::null()) };
    }

    /// # Safety
    /// - `slot` is valid for writing a Variant, and its old contents need no destructor.
    #[inline(always)]
    pub unsafe fn construct_empty_bytes(&self, slot: *mut Variant) {
        // SAFETY: `slot` is valid for writing (`# Safety`); the constructor only reads the value, which is of this
        // type.
        unsafe { self.construct(slot, VariantType::PackedByteArray, self.empty_bytes.0.sys().cast_mut()) };
    }

    /// Replaces the contents of a PackedByteArray with these bytes. Returns false if the engine cannot
    /// allocate them.
    #[inline(always)]
    pub fn set_bytes(&self, array: &mut PackedByteArray, bytes: &[u8]) -> bool {
        let len = bytes.len() as i64;
        let arguments = [(&raw const len).cast()];
        let mut error = 0_i64;
        let array = array.sys_mut();
        // SAFETY: `resize` takes one int and returns one, and the array is borrowed exclusively. The resized array has
        // `bytes.len()` contiguous elements, which the mutable accessor has made unshared.
        unsafe {
            (self.bytes_resize)(array, arguments.as_ptr(), (&raw mut error).cast(), 1);
            if error != 0 || bytes.is_empty() {
                return error == 0;
            }
            let first = interface_fn!(packed_byte_array_operator_index)(array, 0);
            first.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
        true
    }

    #[inline(always)]
    pub fn bytes<'a>(&self, array: &'a PackedByteArray) -> &'a [u8] {
        // SAFETY: the array is live; it is only read.
        let len = unsafe { self.size(array.sys().cast_mut(), VariantType::PackedByteArray) };
        if len == 0 {
            return &[];
        }
        // SAFETY: the elements are contiguous and live as long as the array is borrowed.
        unsafe {
            let first = interface_fn!(packed_byte_array_operator_index_const)(array.sys(), 0);
            std::slice::from_raw_parts(first, len)
        }
    }

    /// # Safety
    /// - `container` points to a live value of type `ty`.
    #[inline(always)]
    pub unsafe fn size(&self, container: TypePtr, ty: VariantType) -> usize {
        let size = self.size[usize::from(ty.id())].expect("only types with elements are asked for a size");
        let mut count = 0_i64;
        // SAFETY: `size` takes no arguments and returns an int; it does not change the value.
        unsafe {
            size(container, std::ptr::null(), (&raw mut count).cast(), 0);
        }
        usize::try_from(count).unwrap_or(0)
    }

    /// Resizes an Array; new elements are Nil, or the default of a typed Array's type. Returns whether it succeeded.
    ///
    /// # Safety
    /// - `array` points to a live Array that nothing else uses.
    #[inline(always)]
    pub unsafe fn resize_array(&self, array: TypePtr, len: usize) -> bool {
        let len = len as i64;
        let arguments = [(&raw const len).cast()];
        let mut error = 0_i64;
        // SAFETY: `array` is a live Array (`# Safety`); `resize` takes one int and returns one.
        unsafe {
            (self.array_resize)(array, arguments.as_ptr(), (&raw mut error).cast(), 1);
        }
        error == 0
    }

    /// The id of an Array's element type.
    ///
    /// # Safety
    /// - `array` points to a live Array.
    pub unsafe fn array_type(&self, array: TypePtr) -> u32 {
        // SAFETY: `array` is a live Array (`# Safety`); the method takes no arguments and returns an int.
        unsafe { get_int(self.array_type, array) }
    }

    /// Replaces the entries of a Dictionary with the entries of another Dictionary, in the same order.
    ///
    /// # Safety
    /// - `dictionary` points to a live untyped Dictionary that nothing else uses.
    /// - `other` points to another live Dictionary.
    #[inline(always)]
    pub unsafe fn assign_dictionary(&self, dictionary: TypePtr, other: TypePtr) {
        let arguments = [other.cast_const()];
        // SAFETY: `assign` takes a Dictionary, returns nothing, and changes only `dictionary`.
        unsafe { (self.dictionary_assign)(dictionary, arguments.as_ptr(), std::ptr::null_mut(), 1) };
    }

    /// # Safety
    /// - `dictionary` points to a live Dictionary that nothing else uses.
    pub unsafe fn erase_entry(&self, dictionary: TypePtr, key: &Variant) {
        let arguments = [variant_ptr(key).cast()];
        let mut erased = 0_u8;
        // SAFETY: `erase` takes a Variant, which it copies, and returns a bool.
        unsafe { (self.dictionary_erase)(dictionary, arguments.as_ptr(), (&raw mut erased).cast(), 1) };
    }

    /// The ids of a Dictionary's key and value types.
    ///
    /// # Safety
    /// - `dictionary` points to a live Dictionary.
    pub unsafe fn dictionary_types(&self, dictionary: TypePtr) -> (u32, u32) {
        // SAFETY: `dictionary` is a live Dictionary (`# Safety`); the methods take no arguments and return an int.
        unsafe {
            (get_int(self.dictionary_key_type, dictionary), get_int(self.dictionary_value_type, dictionary))
        }
    }

    /// # Safety
    /// - `path` points to a live NodePath.
    pub unsafe fn path_is_absolute(&self, path: TypePtr) -> bool {
        let mut absolute = 0_u8;
        // SAFETY: `is_absolute` takes no arguments and returns a bool, which is one byte; it does not change
        // the path.
        unsafe { (self.path_is_absolute)(path, std::ptr::null(), (&raw mut absolute).cast(), 0) };
        absolute != 0
    }

    /// Lets the engine decode the value at `offset`, without objects, and stores it in `value`.
    ///
    /// # Safety
    /// - The offset is within the bytes.
    pub unsafe fn decode_var(&self, bytes: &PackedByteArray, offset: usize, value: &mut Variant) {
        let (offset, allow_objects) = (offset as i64, 0_u8);
        let arguments = [(&raw const offset).cast(), (&raw const allow_objects).cast()];
        // SAFETY: `decode_var` takes an int and a bool, returns a Variant, and does not change the array.
        // godot-rust's Variant is transparent over the engine's. The offset is within the bytes (`# Safety`).
        unsafe {
            (self.decode_var)(
                bytes.sys().cast_mut(),
                arguments.as_ptr(),
                std::ptr::from_mut(value).cast(),
                2,
            );
        }
    }

    /// Whether reading an element of a read-only Array copies the element to memory that all readers share.
    pub fn shares_read_only_elements(&self) -> bool {
        self.shares_read_only_elements
    }
}

/// # Safety
/// - `method` belongs to the type of the value at `value`, takes no arguments, returns an int, and does not
///   change the value.
unsafe fn get_int(method: Method, value: TypePtr) -> u32 {
    let mut int = 0_i64;
    // SAFETY: `method` belongs to the type of the value, takes no arguments and returns an int (`# Safety`).
    unsafe { method(value, std::ptr::null(), (&raw mut int).cast(), 0) };
    u32::try_from(int).unwrap_or(0)
}

#[inline(always)]
pub(crate) fn variant_ptr(variant: &Variant) -> sys::GDExtensionConstVariantPtr {
    // godot-rust's Variant is `repr(transparent)` over the engine's.
    std::ptr::from_ref(variant).cast()
}
