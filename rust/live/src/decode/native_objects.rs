//! Creates objects from data, and decides which classes and scripts are allowed.
//!
//! This code runs only if the caller has allowed objects. It runs scripts and setters, so everything happens
//! on the calling thread.

use std::cell::RefCell;
use std::rc::Rc;

use godot::builtin::{GString, StringName, Variant};
use godot::classes::{ClassDb, Object, Script};
use godot::obj::{Gd, InstanceId, Singleton};
use variant_codec::error::quoted;
use variant_codec::stream::Text;
use variant_codec::{Error, Result, Strictness, VariantType};
use variant_engine::{Reader, set_property, string, text_of};

use crate::objects::native_classes::{check_class, inherits};
use crate::objects::scripts::{Methods, load_script};

/// The classes and scripts of objects, and the names of their properties: each is looked up once in a call.
#[derive(Default)]
pub struct KnownObjects {
    /// The engine's ClassDB, kept because looking up a singleton takes as long as setting two properties.
    db: Option<Gd<ClassDb>>,
    classes: Vec<Rc<Class>>,
    scripts: Vec<Rc<KnownScript>>,
}

/// A native class that may be instantiated.
struct Class {
    text: String,
    name: StringName,
    is_counted: bool,
    /// The names of properties, by their position in an object.
    properties: RefCell<Vec<(String, StringName)>>,
}

/// A script, and the native class that it extends.
struct KnownScript {
    path: String,
    script: Gd<Script>,
    base: StringName,
    /// Whether its `_init` needs arguments. The engine prints an error for such a script, and does not attach it.
    needs_arguments: bool,
    /// The class of the last object that the script was attached to.
    class: RefCell<StringName>,
}

/// The maximum position of a property whose name is remembered.
const MOST: usize = 256;

/// An object whose properties are being set.
pub struct NewObject {
    object: Gd<Object>,
    class: Rc<Class>,
    /// The position of the next property, and the name of the current one.
    position: usize,
    name: StringName,
    is_script: bool,
    has_script: bool,
}

impl KnownObjects {
    /// A new object of a native class, and its Variant.
    ///
    /// # Errors
    /// Fails for classes that do not exist or cannot be instantiated; for scripts, which would
    /// run code from the data; and for engine singletons, because a second instance breaks the engine.
    pub fn instantiate(&mut self, class: Text<'_>) -> Result<(NewObject, Variant)> {
        let class = self.class(class)?;
        let value = self.db.get_or_insert_with(ClassDb::singleton).instantiate(&class.name);
        let object = value.try_to::<Gd<Object>>().map_err(|_| {
            Error::object(format!("the engine failed to create an object of class {}", quoted(&class.text)))
        })?;
        Ok((
            NewObject {
                object,
                class,
                position: 0,
                name: StringName::default(),
                is_script: false,
                has_script: false,
            },
            value,
        ))
    }

    fn class(&mut self, text: Text<'_>) -> Result<Rc<Class>> {
        if let Text::Utf8(text) = text
            && let Some(known) = self.classes.iter().find(|class| class.text == text)
        {
            return Ok(Rc::clone(known));
        }
        let name = StringName::from(&string(text));
        check_class(&name)?;
        let is_counted = name == "RefCounted" || ClassDb::singleton().is_parent_class(&name, "RefCounted");
        let class =
            Rc::new(Class { text: text.to_lossy(), name, is_counted, properties: RefCell::default() });
        self.classes.push(Rc::clone(&class));
        Ok(class)
    }

    /// Sets the property that was begun last. For `script`, the value is null or the path of the script to load.
    ///
    /// # Errors
    /// Fails if `script` is neither null nor the path of a script of this project, or a setter has freed the object. If
    /// strict, also fails if the script cannot be attached, for example because it extends another class. The
    /// engine only prints an error for such a script.
    pub fn set_property(
        &mut self,
        object: &mut NewObject,
        value: &Variant,
        strictness: Strictness,
    ) -> Result<()> {
        let NewObject { object, class, name, is_script, has_script, .. } = object;
        match Reader::new().ty(value) {
            Some(VariantType::Nil) if *is_script && !*has_script => {}
            Some(ty) if *is_script && ty != VariantType::Nil => {
                if ty != VariantType::String {
                    return Err(Error::object("property `script` is not a script path"));
                }
                let script = self.script(&value.to())?;
                let is_known = *script.class.borrow() == class.name;
                if strictness == Strictness::Strict && !is_known && !inherits(&class.name, &script.base) {
                    return Err(Error::object(format!(
                        "script for {} does not fit an object of class {}",
                        script.base,
                        quoted(&class.text)
                    )));
                }
                if !object.is_instance_valid() {
                    return Err(freed());
                }
                if strictness == Strictness::Strict && script.needs_arguments {
                    let path = quoted(&script.path);
                    return Err(Error::object(format!(
                        "script {path} cannot be attached: its _init needs arguments; give them defaults"
                    )));
                }
                script.class.replace(class.name.clone());
                object.set_script(&script.script);
                if strictness == Strictness::Strict && object.get_script().is_none() {
                    let path = quoted(&script.path);
                    return Err(Error::object(format!("script {path} cannot be attached: it has errors")));
                }
                *has_script = true;
            }
            _ if set_property(object, name, value) => {}
            _ => return Err(freed()),
        }
        Ok(())
    }

    fn script(&mut self, path: &GString) -> Result<Rc<KnownScript>> {
        let text = text_of(path);
        if let Some(known) = self.scripts.iter().find(|script| script.path == text) {
            return Ok(Rc::clone(known));
        }
        let script = load_script(path)?;
        let base = script.get_instance_base_type();
        let needs_arguments = Methods::of(&script).init_arguments > 0;
        let class = RefCell::default();
        let script = Rc::new(KnownScript { path: text, script, base, needs_arguments, class });
        self.scripts.push(Rc::clone(&script));
        Ok(script)
    }
}

impl NewObject {
    /// The object's id, if it is not reference-counted.
    pub fn uncounted_id(&self) -> Option<InstanceId> {
        (!self.class.is_counted).then(|| self.object.instance_id())
    }

    pub fn begin_property(&mut self, text: Text<'_>) {
        self.is_script = matches!(text, Text::Utf8("script"));
        let mut names = self.class.properties.borrow_mut();
        match names.get(self.position) {
            Some((known, name)) if matches!(text, Text::Utf8(text) if *known == *text) => {
                self.name = name.clone();
            }
            known => {
                self.name = StringName::from(&string(text));
                if known.is_none() && names.len() < MOST {
                    names.push((text.to_lossy(), self.name.clone()));
                }
            }
        }
        self.position += 1;
    }
}

#[cold]
fn freed() -> Error {
    Error::object("object freed by its own setter")
}
