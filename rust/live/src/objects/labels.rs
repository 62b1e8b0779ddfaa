//! Objects, scripts and declared types for messages.

use godot::builtin::GString;
use godot::classes::{Object, Script};
use godot::obj::Gd;
use variant_codec::error::quoted;
use variant_engine::{ContainerType, class_name, text_of};

use crate::objects::scripts::{name_of, variables};

/// An object's class for messages: the global name or the path of its script, else its native class.
pub fn label(object: &Gd<Object>) -> String {
    object.get_script().as_ref().map_or_else(|| class_name(object).to_string(), script_label)
}

/// A script for messages: its global name or its path, else the native class that it extends and its first variables. The
/// engine does not tell the name of an inner class.
pub fn script_label(script: &Gd<Script>) -> String {
    let (name, path) = (script.get_global_name(), script.get_path());
    match () {
        () if !name.is_empty() => text_of(&GString::from(&name)),
        () if !path.is_empty() => text_of(&path),
        () => {
            let base = script.get_instance_base_type();
            let names: Vec<String> = variables(script).map(|info| name_of(&info).to_string()).collect();
            match &names[..] {
                [] => format!("an inner class that extends {base}, without variables"),
                [name] => format!("an inner class that extends {base}, with the variable {name}"),
                names => {
                    let names = names[..names.len().min(SHOWN)].join(", ");
                    format!("an inner class that extends {base}, with the variables {names}")
                }
            }
        }
    }
}

/// The maximum number of variables that a message names.
const SHOWN: usize = 3;

/// A declared type for messages.
pub fn type_label(declared: &ContainerType) -> String {
    match declared {
        ContainerType::Untyped => "Variant".into(),
        ContainerType::Builtin(ty) => ty.name().into(),
        ContainerType::Object { class, script: None } => quoted(&class.to_string()),
        ContainerType::Object { script: Some(script), .. } => script_label(script),
    }
}
