//! Objects: their classes and properties.

use godot::builtin::{StringName, Variant};
use godot::classes::Object;
use godot::obj::Gd;
use godot::sys::{self, GodotFfi, interface_fn};

use crate::interface::{MethodBind, interface, variant_ptr};

/// The native class of an object; empty if it has been freed. `Object::get_class` makes a String.
pub fn class_name(object: &Gd<Object>) -> StringName {
    let mut name = StringName::default();
    if let Some(object) = live(object) {
        // SAFETY: the object is live: no script has run since `live` found it. An empty StringName is a null pointer, which the
        // engine overwrites.
        unsafe { interface_fn!(object_get_class_name)(object, sys::get_library(), name.sys_mut().cast()) };
    }
    name
}

/// A property of an object; `None` if the object has been freed. Its getter, a script, may run.
///
/// `Object::get` of godot-rust takes 40 ns more, and fails for freed objects.
pub fn get_property(object: &Gd<Object>, name: &StringName) -> Option<Variant> {
    let object = live(object)?;
    let mut value = Variant::nil();
    // SAFETY: `live` as in `class_name`; `Object.get` takes a StringName and returns a Variant, which is initialised.
    unsafe { call(interface().object_get, object, &[name.sys()], value.sys_mut()) };
    Some(value)
}

/// Sets a property of an object, unless the object has been freed; returns whether it was there. Its setter, a script, may run.
pub fn set_property(object: &Gd<Object>, name: &StringName, value: &Variant) -> bool {
    let Some(object) = live(object) else { return false };
    // SAFETY: `live` as in `class_name`; `Object.set` takes a StringName and a Variant, and returns nothing.
    unsafe {
        let arguments = [name.sys(), variant_ptr(value).cast()];
        call(interface().object_set, object, &arguments, std::ptr::null_mut());
    }
    true
}

/// The engine's pointer to an object that has not been freed.
fn live(object: &Gd<Object>) -> Option<sys::GDExtensionObjectPtr> {
    // SAFETY: the engine's function takes any id.
    let found =
        unsafe { interface_fn!(object_get_instance_from_id)(object.instance_id_unchecked().to_i64() as u64) };
    (!found.is_null()).then_some(found)
}

/// # Safety
/// - The object is live, and the method takes these arguments and writes such a result.
unsafe fn call(
    method: MethodBind,
    object: sys::GDExtensionObjectPtr,
    arguments: &[sys::GDExtensionConstTypePtr],
    result: sys::GDExtensionTypePtr,
) {
    // SAFETY: see above.
    unsafe { interface_fn!(object_method_bind_ptrcall)(method.0, object, arguments.as_ptr(), result) };
}
