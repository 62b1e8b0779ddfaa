//! Objects: their classes and properties.

use godot::builtin::{StringName, Variant};
use godot::classes::{Object, Script};
use godot::meta::ToGodot;
use godot::obj::{Gd, InstanceId};
use godot::sys::{self, GodotFfi, interface_fn};

use crate::interface::{MethodBind, interface, variant_ptr};

/// The native class of an object; empty if the object has been freed. `Object::get_class` would make a
/// String.
pub fn class_name(object: &Gd<Object>) -> StringName {
    live_class_name(live(object))
}

fn live_class_name(object: Option<sys::GDExtensionObjectPtr>) -> StringName {
    let mut name = StringName::default();
    if let Some(object) = object {
        // SAFETY: the object is live: no script has run since `live` found the object. An empty StringName is
        // a null pointer, which the engine overwrites.
        unsafe { interface_fn!(object_get_class_name)(object, sys::get_library(), name.sys_mut().cast()) };
    }
    name
}

/// A property of an object; `None` if the object has been freed. A script's getter may run.
///
/// `Object::get` of godot-rust takes 40 ns more, and fails for freed objects.
pub fn get_property(object: &Gd<Object>, name: &StringName) -> Option<Variant> {
    let object = live(object)?;
    let mut value = Variant::nil();
    // SAFETY: the object is live, as in `live_class_name`. `Object.get` takes a StringName and returns a
    // Variant; `value` is initialised.
    unsafe { call(interface().object_get, object, &[name.sys()], value.sys_mut()) };
    Some(value)
}

/// Sets a property of an object. Returns false if the object has been freed. A script's setter may run.
pub fn set_property(object: &Gd<Object>, name: &StringName, value: &Variant) -> bool {
    let Some(object) = live(object) else { return false };
    // SAFETY: the object is live, as in `live_class_name`. `Object.set` takes a StringName and a Variant, and
    // returns nothing.
    unsafe {
        let arguments = [name.sys(), variant_ptr(value).cast()];
        call(interface().object_set, object, &arguments, std::ptr::null_mut());
    }
    true
}

fn live(object: &Gd<Object>) -> Option<sys::GDExtensionObjectPtr> {
    // SAFETY: the engine's function takes any id.
    let found =
        unsafe { interface_fn!(object_get_instance_from_id)(object.instance_id_unchecked().to_i64() as u64) };
    (!found.is_null()).then_some(found)
}

/// The instance id of the object in a Variant; 0 for other types.
fn object_id(value: &Variant) -> u64 {
    // SAFETY: the reference is to a live Variant; for other types than Object, the engine returns 0.
    unsafe { interface_fn!(variant_get_object_instance_id)(variant_ptr(value)) }
}

/// An object in a Variant, looked up once.
pub struct HeldObject {
    value: Variant,
    object: sys::GDExtensionObjectPtr,
    id: u64,
}

impl HeldObject {
    /// The object in a Variant; `None` if the Variant holds no object, or a freed one.
    pub fn of(value: Variant) -> Option<Self> {
        let id = object_id(&value);
        // SAFETY: the engine's function takes any id.
        let object = unsafe { interface_fn!(object_get_instance_from_id)(id) };
        (!object.is_null()).then_some(Self { value, object, id })
    }

    /// The Variant that holds the object.
    pub fn value(&self) -> &Variant {
        &self.value
    }

    /// The Variant that held the object.
    pub fn into_value(self) -> Variant {
        self.value
    }

    /// The object's instance id.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The object's native class; empty if the object has been freed.
    pub fn class_name(&self) -> StringName {
        live_class_name(self.live())
    }

    /// Whether the object has been freed.
    pub fn is_freed(&self) -> bool {
        self.live().is_none()
    }

    /// Whether the object is reference-counted.
    #[inline(always)]
    pub fn is_counted(&self) -> bool {
        InstanceId::from_i64(self.id.cast_signed()).is_ref_counted()
    }

    /// The object's script; Nil if the object has no script or has been freed.
    fn script(&self) -> Variant {
        let mut script = Variant::nil();
        if let Some(object) = self.live() {
            // SAFETY: the object is live; `Object.get_script` takes no arguments and returns a Variant; `script`
            // is initialised.
            unsafe { call(interface().object_get_script, object, &[], script.sys_mut()) };
        }
        script
    }

    /// The instance id of the object's script; 0 if the object has no script or has been freed.
    pub fn script_id(&self) -> u64 {
        object_id(&self.script())
    }

    /// Whether the object's script is `wanted`, or extends it.
    pub fn has_script(&self, wanted: &Gd<Script>) -> bool {
        let script = self.script();
        let is_of = |script: Gd<Script>| script == *wanted;
        object_id(&script) == wanted.instance_id_unchecked().to_i64().cast_unsigned()
            || std::iter::successors(script.try_to().ok(), |script: &Gd<Script>| script.get_base_script())
                .any(is_of)
    }

    /// A property of the object; `None` if the object has been freed. A script's getter may run.
    pub fn get(&self, name: &StringName) -> Option<Variant> {
        let object = self.live()?;
        let mut value = Variant::nil();
        // SAFETY: the object is live; the rest is as in `get_property`.
        unsafe { call(interface().object_get, object, &[name.sys()], value.sys_mut()) };
        Some(value)
    }

    /// Sets a property of the object, which may run a script's setter. Returns whether the object took the value;
    /// `None` if the object has been freed.
    pub fn set(&self, name: &StringName, value: &Variant) -> Option<bool> {
        self.live()?;
        let mut is_taken = 0;
        // SAFETY: the Variant holds a live object, so the engine sets a property of the object and leaves the Variant
        // as it is.
        unsafe {
            let object = variant_ptr(&self.value).cast_mut();
            interface_fn!(variant_set_named)(
                object,
                name.sys().cast(),
                variant_ptr(value),
                &raw mut is_taken,
            );
        }
        Some(is_taken != 0)
    }

    /// Calls a method without arguments, which may run a script. Returns Nil if the call fails or the object
    /// has been freed.
    pub fn call(&self, method: &StringName) -> Variant {
        let mut returned = Variant::nil();
        if self.live().is_some() {
            let mut error = sys::default_call_error();
            // SAFETY: the Variant holds a live object. The engine overwrites `returned`, and a Nil needs no destructor.
            unsafe {
                let value = variant_ptr(&self.value).cast_mut();
                let no_arguments = std::ptr::null();
                interface_fn!(variant_call)(
                    value,
                    method.sys().cast(),
                    no_arguments,
                    0,
                    returned.sys_mut().cast(),
                    &raw mut error,
                );
            }
        }
        returned
    }

    #[inline(always)]
    fn live(&self) -> Option<sys::GDExtensionObjectPtr> {
        // A counted object lives as long as the Variant, which holds a reference to the object and never
        // changes.
        if self.is_counted() {
            return Some(self.object);
        }
        // SAFETY: the engine's function takes any id.
        let found = unsafe { interface_fn!(object_get_instance_from_id)(self.id) };
        (!found.is_null()).then_some(found)
    }
}

/// A script that makes objects.
pub struct Factory {
    script: HeldObject,
    new: StringName,
    /// `GDScript.new`, looked up once; `None` if the script is not a GDScript or the engine does
    /// not have the method.
    method: Option<MethodBind>,
}

impl Factory {
    /// The factory of a script.
    pub fn of(script: &Gd<Script>) -> Self {
        let held = HeldObject::of(script.to_variant()).expect("a script that is referred to is live");
        let is_gdscript = class_name(&script.clone().upcast()) == "GDScript";
        Self { script: held, new: "new".into(), method: is_gdscript.then(MethodBind::gdscript_new).flatten() }
    }

    /// The instance id of the script.
    pub fn script_id(&self) -> u64 {
        self.script.id
    }

    /// Creates an object and runs its `_init`. Returns Nil if the script creates none.
    pub fn create(&self) -> Variant {
        let Some(method) = self.method else { return self.script.call(&self.new) };
        let mut made = Variant::nil();
        let mut error = sys::default_call_error();
        // SAFETY: the script is live while `self` holds it, and the method belongs to its class. The engine
        // overwrites `made`, and a Nil needs no destructor.
        unsafe {
            let (object, no_arguments) = (self.script.object, std::ptr::null());
            let made = made.sys_mut().cast();
            interface_fn!(object_method_bind_call)(method.0, object, no_arguments, 0, made, &raw mut error);
        }
        made
    }
}

/// # Safety
/// - The object is live, and the method takes these arguments.
/// - `result` points to a value of the method's return type, or is null if the method returns nothing.
unsafe fn call(
    method: MethodBind,
    object: sys::GDExtensionObjectPtr,
    arguments: &[sys::GDExtensionConstTypePtr],
    result: sys::GDExtensionTypePtr,
) {
    // SAFETY: the object is live, and the arguments and the result fit the method (`# Safety`).
    unsafe { interface_fn!(object_method_bind_ptrcall)(method.0, object, arguments.as_ptr(), result) };
}
