//! The registered classes.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use godot::builtin::StringName;
use godot::classes::{ClassDb, Object, Resource, Script};
use godot::obj::{Gd, Singleton};
use variant_codec::error::quoted;
use variant_codec::{Error, Result, VariantType};
use variant_engine::{ContainerType, HeldObject};

use crate::classes::class::Class;
use crate::classes::resources::Folder;
use crate::objects::labels::{label, script_label, type_label};
use crate::objects::lost_objects;
use crate::objects::scripts::file_of;

pub(crate) type ById<T> = HashMap<u64, T, BuildHasherDefault<IdHasher>>;

/// Spreads instance ids over all bits. The engine chooses the ids, so they need no protection against collisions.
#[derive(Default)]
pub struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, id: u64) {
        self.0 = (self.0 ^ id).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
    }
}

/// Any thread may use a class; the engine counts the references to the script and the Callables atomically.
#[expect(clippy::arc_with_non_send_sync, reason = "an `Rc` would count calls on several threads wrongly")]
fn shared(class: Class) -> Arc<Class> {
    Arc::new(class)
}

/// The registered classes. Each call keeps the registry that it started with, so scripts may register more
/// classes meanwhile.
#[derive(Clone, Default)]
pub struct Registry {
    classes: Vec<Arc<Class>>,
    by_script: ById<usize>,
    by_name: HashMap<String, usize>,
    folders: Vec<Arc<Folder>>,
}

impl Registry {
    /// Adds a class.
    ///
    /// # Errors
    /// Fails if the script or the name is registered already.
    pub fn add(&mut self, class: Class) -> Result<()> {
        if let Some(known) = self.of_script(class.script_id) {
            let name = quoted(&known.name);
            return Err(Error::argument(format!("the script is registered already, as {name}")));
        }
        if self.by_name.contains_key(&class.name) {
            let name = quoted(&class.name);
            return Err(Error::argument(format!(
                "another script is registered as {name}; pass another name as the second argument"
            )));
        }
        let index = self.classes.len();
        self.by_script.insert(class.script_id, index);
        self.by_name.insert(class.name.clone(), index);
        self.classes.push(shared(class));
        Ok(())
    }

    /// Replaces the class with the same script, and returns the old one. Dropping that may run scripts.
    pub fn replace(&mut self, class: Class) -> Option<Arc<Class>> {
        let index = *self.by_script.get(&class.script_id)?;
        Some(std::mem::replace(&mut self.classes[index], shared(class)))
    }

    /// The folders from which data may refer to resources.
    pub fn folders(&self) -> &[Arc<Folder>] {
        &self.folders
    }

    /// Adds a folder from which data may refer to resources.
    pub fn add_folder(&mut self, folder: Folder) {
        self.folders.push(Arc::new(folder));
    }

    /// The class with this name.
    ///
    /// # Errors
    /// Fails if no class has this name.
    pub fn named(&self, name: &str) -> Result<&Arc<Class>> {
        let found = self.by_name.get(name).map(|index| &self.classes[*index]);
        found.ok_or_else(|| Error::object(format!("no class is registered as {}", quoted(name))))
    }

    /// The class of the script with this instance id.
    pub fn of_script(&self, id: u64) -> Option<&Arc<Class>> {
        self.by_script.get(&id).map(|index| &self.classes[*index])
    }

    pub(crate) fn of(&self, script: &Gd<Script>) -> Option<&Arc<Class>> {
        self.of_script(script.instance_id().to_i64().cast_unsigned())
    }

    /// An object's class for messages: its registered name if there is one, or else that of its script or native class.
    pub fn label(&self, object: &Gd<Object>) -> String {
        let known = object.get_script().and_then(|script| self.of(&script));
        known.map_or_else(|| label(object), |class| quoted(&class.name))
    }

    /// A declared type for messages, with the registered name of its class if there is one.
    pub fn type_label(&self, declared: &ContainerType) -> String {
        let known = match declared {
            ContainerType::Object { script: Some(script), .. } => self.of(script),
            _ => None,
        };
        known.map_or_else(|| type_label(declared), |class| quoted(&class.name))
    }

    /// The class of an object.
    ///
    /// # Errors
    /// Fails if its class is not registered.
    pub fn of_object(&self, object: &HeldObject) -> Result<&Arc<Class>> {
        self.of_script(object.script_id()).ok_or_else(|| {
            let Ok(object) = object.value().try_to::<Gd<Object>>() else {
                return Error::object("freed by a getter");
            };
            let label = label(&object);
            let resource = object.clone().try_cast::<Resource>().ok();
            if let Some(path) = resource.as_ref().and_then(file_of) {
                return Error::object(format!(
                    "{label} has the file {}; call `allow_resources` with its folder and class",
                    quoted(&path)
                ));
            }
            if lost_objects::is_lost(&object) {
                return lost_objects::lost();
            }
            Error::object(match object.get_script() {
                Some(_) => format!("{label} is not registered; call `register` with its script"),
                None if object.is_class("Node") => format!(
                    "{label} is a Node without a script, so it cannot be saved; leave its property out with `exclude` of what `register` returned, or keep its NodePath"
                ),
                None => format!(
                    "{label} has no script, so its class cannot be registered; save the properties that you need, or save it with FastVariantCodec and `full_objects`"
                ),
            })
        })
    }

    /// The name of a declared type; empty if untyped.
    ///
    /// # Errors
    /// Fails for a script that is not registered.
    pub fn type_name(&self, declared: &ContainerType) -> Result<String> {
        Ok(match declared {
            ContainerType::Untyped => String::new(),
            ContainerType::Builtin(ty) => ty.name().to_owned(),
            ContainerType::Object { class, script: None } => class.to_string(),
            ContainerType::Object { script: Some(script), .. } => match self.of(script) {
                Some(class) => class.name.clone(),
                None => {
                    let script = script_label(script);
                    return Err(Error::object(format!(
                        "{script} is the type of a container, but is not registered"
                    )));
                }
            },
        })
    }

    /// The declared type with this name.
    ///
    /// # Errors
    /// Fails if no type has this name.
    pub fn type_named(&self, name: &str) -> Result<ContainerType> {
        let is_builtin =
            |ty: &VariantType| ty.name() == name && !matches!(ty, VariantType::Nil | VariantType::Object);
        let builtin = VariantType::ALL.into_iter().find(is_builtin);
        if name.is_empty() {
            return Ok(ContainerType::Untyped);
        }
        if let Some(ty) = builtin {
            return Ok(ContainerType::Builtin(ty));
        }
        if let Ok(class) = self.named(name) {
            let (class, script) = (class.native.clone(), Some(class.script.clone()));
            return Ok(ContainerType::Object { class, script });
        }
        let class = StringName::from(name);
        if ClassDb::singleton().class_exists(&class) {
            return Ok(ContainerType::Object { class, script: None });
        }
        Err(Error::object(format!("no class is registered as {}", quoted(name))))
    }

    /// The names of the classes, in the order in which they were added.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.classes.iter().map(|class| class.name.as_str())
    }
}
