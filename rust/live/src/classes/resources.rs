//! Resources of the project, which are written as references.

use std::sync::Arc;

use godot::builtin::{GString, StringName, Variant};
use godot::classes::{ClassDb, Engine, Resource, ResourceLoader};
use godot::meta::ToGodot;
use godot::obj::{Gd, Singleton};
use variant_codec::error::quoted;
use variant_codec::{Error, Result};
use variant_engine::text_of;

use crate::objects::native_classes::is_of;
use crate::objects::scripts::{PROJECT, fault_of_path, file_of, global_class, script_named};

const UID: &str = "uid://";

/// A folder from which data may refer to resources of these types.
pub struct Folder {
    /// Ends with a slash.
    path: String,
    types: Vec<Type>,
}

/// An allowed type of resources.
struct Type {
    name: StringName,
    /// The type by which the engine's loaders find such resources. Most loaders know only native classes, and not all of
    /// them call their resources a Resource, so for that one the hint is empty.
    hint: StringName,
}

impl Type {
    fn of(name: &str) -> Self {
        let class = StringName::from(name);
        let script = if ClassDb::singleton().class_exists(&class) { None } else { script_named(name) };
        let hint = match script {
            Some(script) => script.get_instance_base_type(),
            None if name == "Resource" => StringName::default(),
            None => class.clone(),
        };
        Self { name: class, hint }
    }
}

impl Folder {
    /// A folder of the project, and the classes of its resources.
    ///
    /// # Errors
    /// Fails if the folder is outside the project, there are no types, or one is not a class.
    pub fn of(path: &str, types: Vec<String>) -> Result<Self> {
        let path = path.strip_suffix('/').filter(|_| path != PROJECT).unwrap_or(path);
        if path != PROJECT
            && let Some(fault) = fault_of_path(path)
        {
            return Err(Error::argument(format!("folder {} {fault}", quoted(path))));
        }
        if types.is_empty() {
            return Err(Error::argument(
                "no types: name the classes of the resources, such as \"Texture2D\"",
            ));
        }
        for ty in &types {
            let is_resource =
                ty == "Resource" || ClassDb::singleton().is_parent_class(&StringName::from(ty), "Resource");
            if !is_resource && global_class(ty).is_none() {
                return Err(Error::argument(format!("type {} is not a class of resources", quoted(ty))));
            }
        }
        let types = types.iter().map(|ty| Type::of(ty)).collect();
        let path = if path.ends_with('/') { path.to_owned() } else { format!("{path}/") };
        Ok(Self { path, types })
    }
}

impl Folder {
    /// The path, with a slash at its end.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether the folder has resources or folders, also in an exported game.
    pub fn has_resources(&self) -> bool {
        !ResourceLoader::singleton().list_directory(&self.path).is_empty()
    }
}

/// The UID, which may be empty, and the path of a resource; `None` unless its folder and type are allowed.
pub fn reference(folders: &[Arc<Folder>], object: &Variant) -> Option<(String, String)> {
    if folders.is_empty() {
        return None;
    }
    let resource = object.try_to::<Gd<Resource>>().ok()?;
    let path = file_of(&resource)?;
    let is_allowed = |folder: &Folder| {
        path.starts_with(&folder.path)
            && folder.types.iter().any(|ty| is_of(&resource.clone().upcast(), &ty.name))
    };
    if !folders.iter().any(|folder| is_allowed(folder)) {
        return None;
    }
    let uid = ResourceLoader::singleton().get_resource_uid(&path);
    let uid =
        if uid < 0 { String::new() } else { text_of(&uids("id_to_text", &[uid.to_variant()]).stringify()) };
    Some((uid, path))
}

/// The maximum length of a UID, in bytes.
const MOST_UID: usize = 64;

/// Loads the resource with this path.
///
/// # Errors
/// Fails if the resource does not exist, or its folder or type is not allowed.
pub fn load(folders: &[Arc<Folder>], path: &str) -> Result<Variant> {
    let shown = quoted(path);
    let refuse = |reason: &str| Err(Error::object(format!("resource {shown} {reason}")));
    if let Some(fault) = fault_of_path(path) {
        return refuse(fault);
    }
    let mut folders = folders.iter().filter(|folder| path.starts_with(&folder.path)).peekable();
    if path.contains("::") || folders.peek().is_none() {
        return refuse("is not in a folder of `allow_resources`");
    }
    let types: Vec<&Type> = folders.flat_map(|folder| &folder.types).collect();
    let mut loader = ResourceLoader::singleton();
    if !loader.exists(path) {
        return refuse("does not exist");
    }
    // A resource that cannot have an allowed type is not even loaded.
    let mut hints = types.iter().map(|ty| GString::from(&ty.hint));
    let hint = hints.find(|hint| loader.exists_ex(path).type_hint(hint).done());
    let loaded = hint.and_then(|hint| loader.load_ex(path).type_hint(&hint).done());
    match loaded {
        Some(resource) if types.iter().any(|ty| is_of(&resource.clone().upcast(), &ty.name)) => {
            Ok(resource.to_variant())
        }
        _ => {
            let types: Vec<String> = types.iter().map(|ty| ty.name.to_string()).collect();
            refuse(&format!("is not of type {}", types.join(" or ")))
        }
    }
}

/// The path of the resource with this UID; `None` if the UID is unknown.
pub fn current_path(uid: &str) -> Option<String> {
    if !uid.starts_with(UID) || uid.len() > MOST_UID {
        return None;
    }
    let id = uids("text_to_id", &[uid.to_variant()]);
    if id.try_to::<i64>().ok()? < 0 || !uids("has_id", std::slice::from_ref(&id)).booleanize() {
        return None;
    }
    Some(text_of(&uids("get_id_path", &[id]).stringify()))
}

fn uids(method: &str, arguments: &[Variant]) -> Variant {
    let singleton = Engine::singleton().get_singleton("ResourceUID");
    singleton.map_or_else(Variant::nil, |mut uids| uids.call(method, arguments))
}
