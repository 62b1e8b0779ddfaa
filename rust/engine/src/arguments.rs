//! Refuses invalid arguments to methods registered by godot-rust, as the engine does for its own methods.
//!
//! For an invalid argument, godot-rust 0.5.5 prints its own error and returns a code that the engine does not know
//! ("Invalid call error code 1337"). If the argument is a typed Dictionary, which decoded bytes may hold, the process
//! ends: `Debug` of such a `Variant` panics. This module wraps the methods that godot-rust registers, and checks
//! arguments first. It accepts all arguments that godot-rust converts. It also clears the const flag of methods that
//! return nothing.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use godot::builtin::{StringName, Variant};
use godot::classes::ClassDb;
use godot::obj::{EngineBitfield, Singleton};
use godot::register::info::PropertyUsageFlags;
use godot::sys::{self, GodotFfi, interface_fn};
use variant_codec::sync::lock;

use crate::interface::variant_ptr;
use crate::refusal::{Refused, refused};

/// The maximum number of wrapped methods and property accessors; this library has fewer. godot-rust
/// checks the arguments of any methods beyond this number.
const MOST_METHODS: usize = 256;

type Call = unsafe extern "C" fn(
    *mut c_void,
    sys::GDExtensionClassInstancePtr,
    *const sys::GDExtensionConstVariantPtr,
    sys::GDExtensionInt,
    sys::GDExtensionVariantPtr,
    *mut sys::GDExtensionCallError,
);

struct Method {
    call: Call,
    parameters: Vec<Parameter>,
    /// The number of arguments without a default.
    needed: usize,
}

#[derive(PartialEq)]
struct Parameter {
    /// The type; Nil for any type.
    ty: sys::GDExtensionVariantType,
    /// The class of objects; empty for any class.
    class: String,
    /// The address of the class's interned name, which stays the same while the class exists.
    class_name: usize,
}

/// Static, because the engine unregisters methods only after it has deinitialised the library.
static METHODS: [OnceLock<Method>; MOST_METHODS] = [const { OnceLock::new() }; MOST_METHODS];

static ENGINE: Mutex<sys::GDExtensionInterfaceGetProcAddress> = Mutex::new(None);
static REGISTER: Mutex<Option<sys::GDExtensionInterfaceClassdbRegisterExtensionClassMethod>> =
    Mutex::new(None);
static CHECKS_ITSELF: AtomicBool = AtomicBool::new(false);

/// Wraps `engine`, which looks up the engine's functions by name. godot-rust must be started with the result.
///
/// # Safety
/// - `engine` is the pointer that the engine passed to the entry point.
pub unsafe fn with_checked_arguments(
    engine: sys::GDExtensionInterfaceGetProcAddress,
) -> sys::GDExtensionInterfaceGetProcAddress {
    *lock(&ENGINE) = engine;
    Some(find)
}

/// Calls `register`, which registers a method that checks its arguments itself.
pub(crate) fn unchecked(register: impl FnOnce()) {
    CHECKS_ITSELF.store(true, Ordering::Relaxed);
    register();
    CHECKS_ITSELF.store(false, Ordering::Relaxed);
}

/// # Safety
/// - `name` is a C string.
unsafe extern "C" fn find(name: *const c_char) -> sys::GDExtensionInterfaceFunctionPtr {
    let engine = (*lock(&ENGINE))?;
    // SAFETY: `name` is a C string (`# Safety`), as the engine's function requires.
    let (found, name) = unsafe { (engine(name), CStr::from_ptr(name)) };
    if name != c"classdb_register_extension_class_method" {
        return found;
    }
    // SAFETY: the engine's function with this name has this type, and so does its replacement.
    unsafe {
        *lock(&REGISTER) = Some(std::mem::transmute::<
            unsafe extern "C" fn(),
            sys::GDExtensionInterfaceClassdbRegisterExtensionClassMethod,
        >(found?));
        Some(std::mem::transmute::<
            sys::GDExtensionInterfaceClassdbRegisterExtensionClassMethod,
            unsafe extern "C" fn(),
        >(register))
    }
}

/// # Safety
/// - `method` points to the description of a method, as the engine's function requires.
unsafe extern "C" fn register(
    library: sys::GDExtensionClassLibraryPtr,
    class: sys::GDExtensionConstStringNamePtr,
    method: *const sys::GDExtensionClassMethodInfo,
) {
    let Some(register) = *lock(&REGISTER) else { return };
    // SAFETY: `method` describes a method (`# Safety`). godot-rust's functions ignore the user data, so this
    // function may replace it.
    unsafe {
        let mut method = *method;
        // godot-rust registers methods with `&self` as const, but those that return nothing change state
        // behind a mutex.
        if returns_nothing(&method) {
            method.method_flags &= !(sys::GDEXTENSION_METHOD_FLAG_CONST as u32);
        }
        if let Some(checked) = Method::of(&method).and_then(kept) {
            method.call_func = Some(call);
            method.method_userdata = std::ptr::from_ref(checked).cast_mut().cast();
        }
        register(library, class, &raw const method);
    }
}

/// A method that returns a Variant also declares Nil, but with the flag `NIL_IS_VARIANT`.
///
/// # Safety
/// - `method` is a live description.
unsafe fn returns_nothing(method: &sys::GDExtensionClassMethodInfo) -> bool {
    let is_variant = PropertyUsageFlags::NIL_IS_VARIANT.ord() as u32;
    // SAFETY: `has_return_value` is checked first; if it is set, the description has a return value (`# Safety`).
    let declared = || unsafe { &*method.return_value_info };
    method.has_return_value == 0
        || declared().type_ == sys::GDEXTENSION_VARIANT_TYPE_NIL && declared().usage & is_variant == 0
}

/// Stores a method in static memory, unless it is there already after a reload that kept the library. Returns
/// `None` if the memory is full.
fn kept(method: Method) -> Option<&'static Method> {
    let mut method = Some(method);
    for place in &METHODS {
        let kept = place.get_or_init(|| method.take().expect("it is put in one place only"));
        if method.as_ref().is_none_or(|method| kept.is(method)) {
            return Some(kept);
        }
    }
    None
}

impl Method {
    /// The described method, unless its arguments are checked elsewhere.
    ///
    /// # Safety
    /// - `method` points to a live description.
    unsafe fn of(method: &sys::GDExtensionClassMethodInfo) -> Option<Self> {
        if CHECKS_ITSELF.load(Ordering::Relaxed) || !method.method_userdata.is_null() {
            return None;
        }
        let count = method.argument_count as usize;
        let parameter = |index: usize| {
            // SAFETY: the description has `argument_count` arguments (`# Safety`); StringName is transparent over the
            // engine's.
            let (declared, class) = unsafe {
                let declared = &*method.arguments_info.add(index);
                (declared.type_, &*declared.class_name.cast::<StringName>())
            };
            Parameter { ty: declared, class: class.to_string(), class_name: address(class) }
        };
        let parameters = (0..count).map(parameter).collect();
        let needed = count.saturating_sub(method.default_argument_count as usize);
        Some(Self { call: method.call_func?, parameters, needed })
    }

    fn is(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.call, other.call)
            && self.parameters == other.parameters
            && self.needed == other.needed
    }

    fn refusal(&self, arguments: &[&Variant]) -> Option<Refused> {
        if arguments.len() < self.needed {
            return Some(refused(sys::GDEXTENSION_CALL_ERROR_TOO_FEW_ARGUMENTS, 0, self.needed as i32));
        }
        if arguments.len() > self.parameters.len() {
            let most = self.parameters.len() as i32;
            return Some(refused(sys::GDEXTENSION_CALL_ERROR_TOO_MANY_ARGUMENTS, 0, most));
        }
        let mut pairs = arguments.iter().zip(&self.parameters);
        let wrong = pairs.position(|(argument, parameter)| !parameter.accepts(argument))?;
        let expected = self.parameters[wrong].ty;
        Some(refused(sys::GDEXTENSION_CALL_ERROR_INVALID_ARGUMENT, wrong as i32, expected))
    }
}

impl Parameter {
    /// Whether a value has the parameter's type, or [`Variant::try_to_relaxed`] can convert it to that type.
    fn accepts(&self, argument: &Variant) -> bool {
        let own = argument.get_type().sys();
        if own == sys::GDEXTENSION_VARIANT_TYPE_OBJECT && self.ty == own {
            return self.takes_object(argument);
        }
        // SAFETY: the engine's function takes any two type ids.
        self.ty == sys::GDEXTENSION_VARIANT_TYPE_NIL
            || self.ty == own
            || unsafe { interface_fn!(variant_can_convert_strict)(own, self.ty) } != 0
    }

    fn takes_object(&self, argument: &Variant) -> bool {
        let mut name = StringName::default();
        // SAFETY: the argument is a live Variant and, through it, the object stays alive. An empty StringName is a null
        // pointer, which the engine overwrites with the object's class.
        unsafe {
            let id = interface_fn!(variant_get_object_instance_id)(variant_ptr(argument));
            if id == 0 {
                return true;
            }
            let object = interface_fn!(object_get_instance_from_id)(id);
            if object.is_null() {
                return false;
            }
            if self.class.is_empty() {
                return true;
            }
            interface_fn!(object_get_class_name)(object, sys::get_library(), name.sys_mut().cast());
        }
        address(&name) == self.class_name || ClassDb::singleton().is_parent_class(&name, &self.class)
    }
}

/// The address of a name's interned text, which equal names share.
fn address(name: &StringName) -> usize {
    const { assert!(size_of::<StringName>() == size_of::<usize>()) };
    // SAFETY: a StringName is a pointer, whose size is asserted; godot-rust's StringName is transparent over
    // the engine's.
    unsafe { std::ptr::from_ref(name).cast::<usize>().read() }
}

/// The function that the engine calls with Variants.
///
/// # Safety
/// - `method` is the registered user data, `arguments` points to `count` pointers to live Variants.
/// - `result` and `error` are as the method's own function requires.
unsafe extern "C" fn call(
    method: *mut c_void,
    instance: sys::GDExtensionClassInstancePtr,
    arguments: *const sys::GDExtensionConstVariantPtr,
    count: sys::GDExtensionInt,
    result: sys::GDExtensionVariantPtr,
    error: *mut sys::GDExtensionCallError,
) {
    // SAFETY: the engine passes the registered user data and `count` Variants (`# Safety`). godot-rust's Variant is
    // transparent over the engine's.
    unsafe {
        let method = &*method.cast::<Method>();
        let given: &[&Variant] = match usize::try_from(count) {
            Ok(count) if count > 0 => std::slice::from_raw_parts(arguments.cast(), count),
            _ => &[],
        };
        match method.refusal(given) {
            Some(refused) => error.write(refused),
            None => (method.call)(std::ptr::null_mut(), instance, arguments, count, result, error),
        }
    }
}
