//! The parts of an object that the engine's format stores: its class, and the names of its properties.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use crate::objects::lost_objects;
use crate::objects::native_classes::check_class;
use crate::objects::scripts::script_path;
use godot::builtin::{AnyDictionary, GString, StringName, Variant};
use godot::classes::{ClassDb, Engine, Object, Script};
use godot::meta::ToGodot;
use godot::obj::{EngineBitfield, Gd, InstanceId, Singleton};
use godot::register::info::PropertyUsageFlags;
use variant_codec::error::quoted;
use variant_codec::{Error, Result};
use variant_engine::{class_name, get_property};

/// The stored properties of objects. If all objects of a class and script have the same properties, these are
/// queried once per call.
///
/// A query makes the engine create a Dictionary for each property. `cargo xtask bench objects` encodes on one thread at
/// 0.25 × the engine's speed with a query for each object, and at 2 × with one query.
#[derive(Default)]
pub struct StoredProperties(RefCell<HashMap<ClassAndScript, Option<Rc<Stored>>>>);

type ClassAndScript = (StringName, Option<InstanceId>);

pub(crate) struct Stored {
    pub(crate) class: GString,
    /// Whether readers accept the class; empty until this is checked.
    refusal: OnceCell<Result<()>>,
    pub(crate) properties: Vec<Property>,
}

pub(crate) struct Property {
    name: StringName,
    pub(crate) text: GString,
    /// For the property `script`: the path of the script.
    script: Option<Result<Variant>>,
}

/// Native classes whose own properties never depend on the object.
const PLAIN: [&str; 3] = ["RefCounted", "Resource", "Object"];

impl StoredProperties {
    /// The stored parts of this object.
    ///
    /// # Errors
    /// Fails if the class cannot be instantiated, because no reader could create the object.
    pub(crate) fn of(&self, object: &Gd<Object>) -> Result<Rc<Stored>> {
        let class = class_name(object);
        let script = object.get_script();
        let key = (class, script.as_ref().map(Gd::instance_id));
        let known = self.0.borrow().get(&key).cloned();
        let has_own = || !object.get_meta_list().is_empty();
        match known {
            Some(Some(stored)) if !has_own() => return Ok(stored),
            Some(_) => return Stored::of(object, &key.0, script.as_ref()).map(Rc::new),
            None => {}
        }
        if !ClassDb::singleton().can_instantiate(&key.0) {
            return Err(Error::object(format!(
                "class {} cannot be instantiated",
                quoted(&key.0.to_string())
            )));
        }
        let stored = Rc::new(Stored::of(object, &key.0, script.as_ref())?);
        let is_plain =
            PLAIN.iter().any(|plain| key.0 == *plain) && script.as_ref().is_none_or(has_fixed_properties);
        let shared = is_plain.then(|| Rc::clone(&stored));
        if !(is_plain && has_own()) {
            self.0.borrow_mut().insert(key, shared);
        }
        Ok(stored)
    }
}

/// Whether all objects with this script have the same properties. In the editor, objects whose script is not a tool
/// have only the properties of a placeholder.
fn has_fixed_properties(script: &Gd<Script>) -> bool {
    const DYNAMIC: [&str; 2] = ["_get_property_list", "_validate_property"];

    let is_dynamic = |method: &AnyDictionary| {
        let name = method.get("name").map(|name| name.stringify());
        DYNAMIC.iter().any(|dynamic| name.as_ref().is_some_and(|name| *name == *dynamic))
    };
    let methods = script.get_script_method_list();
    script.is_class("GDScript")
        && (!Engine::singleton().is_editor_hint() || script.is_tool())
        && !methods.iter_shared().any(|method| is_dynamic(&method))
}

impl Stored {
    fn of(object: &Gd<Object>, class: &StringName, script: Option<&Gd<Script>>) -> Result<Self> {
        let (mut variables, mut stored_variables) = (0, 0);
        let properties = object
            .get_property_list()
            .iter_shared()
            .filter(|property| {
                let usage = property.get("usage").and_then(|usage| usage.try_to::<i64>().ok()).unwrap_or(0);
                let has = |flag: PropertyUsageFlags| usage & flag.ord() as i64 != 0;
                let is_stored = has(PropertyUsageFlags::STORAGE);
                variables += usize::from(has(PropertyUsageFlags::SCRIPT_VARIABLE));
                stored_variables += usize::from(is_stored && has(PropertyUsageFlags::SCRIPT_VARIABLE));
                is_stored
            })
            .filter_map(|property| property.get("name")?.try_to::<GString>().ok())
            .map(|text| Property {
                name: StringName::from(&text),
                script: (text == "script").then(|| {
                    script.map_or(Ok(Variant::nil()), |script| Ok(script_path(script)?.to_variant()))
                }),
                text,
            })
            .collect();
        if let Some(script) = script
            && variables > 0
            && stored_variables == 0
        {
            lost_objects::note_empty(script);
        }
        Ok(Self { class: GString::from(class), refusal: OnceCell::new(), properties })
    }
}

impl Stored {
    /// Checks that readers accept the object.
    ///
    /// # Errors
    /// Fails for scripts and for engine singletons.
    pub fn check_readable(&self) -> Result<()> {
        self.refusal.get_or_init(|| check_class(&StringName::from(&self.class))).clone()
    }
}

impl Property {
    /// The value to write for the property. Getters run.
    ///
    /// # Errors
    /// Fails if a getter has freed the object, or the script has no path.
    pub fn value(&self, object: &Gd<Object>) -> Result<Variant> {
        match &self.script {
            Some(script) => script.clone(),
            None => get_property(object, &self.name)
                .ok_or_else(|| Error::object("object freed by its own getter")),
        }
    }
}
