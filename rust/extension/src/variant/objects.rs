//! Creating objects from data: which classes and scripts are allowed.
//!
//! Only reached when the caller has allowed objects. Scripts and setters run here, so all of it happens on the calling
//! thread.

use godot::builtin::{GString, StringName, Variant};
use godot::classes::{ClassDb, Engine, Object, ResourceLoader, Script};
use godot::obj::{Gd, Singleton};
use variant_codec::error::quoted;
use variant_codec::format::SCRIPT_PATH_PREFIX;
use variant_codec::{Error, Result, Strictness, VariantType};
use variant_engine::Reader;

/// A new object of a native class.
///
/// # Errors
/// For classes that do not exist or cannot be instantiated; for scripts, which would run code from the data; and for
/// engine singletons, a second of which breaks the engine.
pub fn instantiate(class: &StringName) -> Result<Variant> {
    let db = ClassDb::singleton();
    let name = quoted(&class.to_string());
    // Checked first: `can_instantiate` would load the script of a global script class.
    if !db.class_exists(class) {
        return Err(Error::object(format!("unknown native class {name}")));
    }
    if *class == "Script" || db.is_parent_class(class, "Script") {
        return Err(Error::object(format!("class {name} refused: scripts are never created from data")));
    }
    if is_singleton(class) {
        return Err(Error::object(format!("class {class} refused: it is an engine singleton")));
    }
    if !db.can_instantiate(class) {
        return Err(Error::object(format!("class {name} cannot be instantiated")));
    }
    Ok(db.instantiate(class))
}

/// Whether the class or one it inherits from is that of an engine singleton, which go by the names of their classes.
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

/// Sets a stored property; for `script`, the value is the path of the script to load.
///
/// # Errors
/// If `script` is not the path of a script of this project, or a setter has freed the object. If strict, also if the
/// script is for another class, for which the engine only prints an error.
pub fn set_property(
    object: &mut Gd<Object>,
    name: &GString,
    value: &Variant,
    strictness: Strictness,
) -> Result<()> {
    if !object.is_instance_valid() {
        return Err(Error::object("object freed by its own setter"));
    }
    match Reader::new().ty(value) {
        Some(ty) if *name == "script" && ty != VariantType::Nil => {
            if ty != VariantType::String {
                return Err(Error::object("property `script` is not a script path"));
            }
            let script = load_script(&value.to())?;
            let base = script.get_instance_base_type();
            if strictness == Strictness::Strict && !object.is_class(&base.to_string()) {
                let class = quoted(&object.get_class().to_string());
                return Err(Error::object(format!(
                    "script for {base} does not fit an object of class {class}"
                )));
            }
            object.set_script(&script);
        }
        _ => object.set(&StringName::from(name), value),
    }
    Ok(())
}

/// The script at a path of this project.
///
/// # Errors
/// If the path does not start with `res://`, leaves the project, or names no script that can be loaded.
pub fn load_script(path: &GString) -> Result<Gd<Script>> {
    let text = path.to_string();
    let shown = quoted(&text);
    let inside = text.strip_prefix(SCRIPT_PATH_PREFIX);
    if inside.is_none_or(|rest| rest.is_empty() || rest.split(['/', '\\']).any(|part| part == "..")) {
        return Err(Error::object(format!("script path {shown} is outside the project")));
    }
    let mut loader = ResourceLoader::singleton();
    if !loader.exists_ex(path).type_hint("Script").done() {
        return Err(Error::object(format!("no script at {shown}")));
    }
    loader
        .load_ex(path)
        .type_hint("Script")
        .done()
        .and_then(|resource| resource.try_cast::<Script>().ok())
        .ok_or_else(|| Error::object(format!("script {shown} cannot be loaded")))
}
