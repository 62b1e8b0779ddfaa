//! Native classes: which data may name, and which an object is of.

use godot::builtin::StringName;
use godot::classes::{ClassDb, Engine, Object};
use godot::obj::{Gd, Singleton};
use variant_codec::error::quoted;
use variant_codec::{Error, Result};
use variant_engine::class_name;

/// Fails for native classes that are never created from data.
pub fn check_class(class: &StringName) -> Result<()> {
    let db = ClassDb::singleton();
    let name = quoted(&class.to_string());
    // Checked first: `can_instantiate` would load the script of a global script class.
    if !db.class_exists(class) {
        return Err(Error::object(format!("unknown native class {name}")));
    }
    if inherits(class, &StringName::from("Script")) {
        return Err(Error::object(format!("class {name} refused: scripts are never created from data")));
    }
    if is_singleton(class) {
        return Err(Error::object(format!("class {class} refused: it is an engine singleton")));
    }
    if !db.can_instantiate(class) {
        return Err(Error::object(format!("class {name} cannot be instantiated")));
    }
    Ok(())
}

/// Whether a native class is `base`, or inherits from it.
pub fn inherits(class: &StringName, base: &StringName) -> bool {
    class == base || ClassDb::singleton().is_parent_class(class, base)
}

/// Whether the class, or one that it inherits from, is an engine singleton. Singletons have the names of their classes.
fn is_singleton(class: &StringName) -> bool {
    let (db, engine) = (ClassDb::singleton(), Engine::singleton());
    let mut class = class.clone();
    while class != StringName::default() {
        if engine.has_singleton(&class) {
            return true;
        }
        class = db.get_parent_class(&class);
    }
    false
}

/// Returns whether an object is of the native class or the script with this name, or of one that extends it.
pub fn is_of(object: &Gd<Object>, class: &StringName) -> bool {
    let native = class_name(object);
    let mut scripts = std::iter::successors(object.get_script(), |script| script.get_base_script());
    native == *class
        || ClassDb::singleton().is_parent_class(&native, class)
        || scripts.any(|script| script.get_global_name() == *class)
}
