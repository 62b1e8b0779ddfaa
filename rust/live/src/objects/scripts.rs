//! Scripts and resources of the project: their paths, and how they are found.

use godot::builtin::{AnyArray, GString, VarDictionary};
use godot::classes::{Engine, Resource, ResourceLoader, Script};
use godot::obj::{EngineBitfield, Gd, Singleton};
use godot::register::info::PropertyUsageFlags;
use variant_codec::error::quoted;
use variant_codec::format::SCRIPT_PATH_PREFIX;
use variant_codec::{Error, Result};
use variant_engine::text_of;

/// The start of all paths in the project.
pub const PROJECT: &str = SCRIPT_PATH_PREFIX;

/// The maximum length of a path, in bytes. No system has longer paths.
const MOST_PATH: usize = 4096;

/// The reason why a path from data is not passed to the engine, if there is one. The engine would simplify other
/// spellings of a path, in time that grows with the square of their length.
pub fn fault_of_path(path: &str) -> Option<&'static str> {
    let inside = path.strip_prefix(PROJECT);
    if path.len() > MOST_PATH {
        Some("is longer than 4096 bytes")
    } else if inside.is_none_or(|inside| inside.split(['/', '\\']).any(|part| part == "..")) {
        Some("is outside the project")
    } else if inside.is_some_and(|inside| inside.split(['/', '\\']).any(|part| matches!(part, "" | "."))) {
        Some("has an empty or \".\" part; write it in its shortest form")
    } else {
        None
    }
}

/// The path of the resource's own file in the project, if it has one. Resources inside other files have none.
pub fn file_of(resource: &Gd<Resource>) -> Option<String> {
    let path = text_of(&resource.get_path());
    (fault_of_path(&path).is_none() && !path.contains("::")).then_some(path)
}

/// The variables of a script and of the scripts that it extends, as the engine describes properties.
pub fn variables(script: &Gd<Script>) -> impl Iterator<Item = VarDictionary> {
    let infos: Vec<VarDictionary> = script.get_script_property_list().iter_shared().collect();
    infos.into_iter().filter(|info| usage_of(info) & PropertyUsageFlags::SCRIPT_VARIABLE.ord() != 0)
}

/// The name in the engine's description of a property.
pub fn name_of(info: &VarDictionary) -> GString {
    info.get("name").map(|name| name.stringify()).unwrap_or_default()
}

/// The flags in the engine's description of a property.
pub fn usage_of(info: &VarDictionary) -> u64 {
    info.get("usage").and_then(|usage| usage.try_to::<i64>().ok()).unwrap_or(0) as u64
}

/// The path by which a reader can load this script.
///
/// # Errors
/// Fails if the script has no such path.
pub fn script_path(script: &Gd<Script>) -> Result<GString> {
    let path = script.get_path();
    if path.begins_with(SCRIPT_PATH_PREFIX) {
        Ok(path)
    } else {
        Err(Error::object("script has no res:// path, so no reader could load it"))
    }
}

/// The script at a path of this project.
///
/// # Errors
/// Fails if [`fault_of_path`] finds a fault, or the path names no script that can be loaded.
pub fn load_script(path: &GString) -> Result<Gd<Script>> {
    let text = path.to_string();
    let shown = quoted(&text);
    if let Some(fault) = fault_of_path(&text) {
        return Err(Error::object(format!("script path {shown} {fault}")));
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

/// The path of the script with this global name.
pub fn global_class(name: &str) -> Option<String> {
    let mut settings = Engine::singleton().get_singleton("ProjectSettings")?;
    let classes = settings.call("get_global_class_list", &[]).try_to::<AnyArray>().ok()?;
    let found = classes
        .iter_shared()
        .filter_map(|known| known.try_to::<VarDictionary>().ok())
        .find(|known| known.get("class").is_some_and(|class| class.stringify() == name))?;
    Some(text_of(&found.get("path")?.stringify()))
}

/// A script by its path or global name, followed by the names of inner classes, such as `res://hero.gd.Bag`.
pub fn script_named(class: &str) -> Option<Gd<Script>> {
    let mut loader = ResourceLoader::singleton();
    let (path, inner) = if class.starts_with("res://") {
        // Folder names may contain dots, too.
        let mut ends = class.match_indices('.').map(|(dot, _)| dot).chain([class.len()]);
        let end = ends.find(|end| loader.exists(&class[..*end]))?;
        (class[..end].to_owned(), &class[end..])
    } else {
        let (global, inner) = class.split_at(class.find('.').unwrap_or(class.len()));
        (global_class(global)?, inner)
    };
    let script = loader.load(&path)?.try_cast::<Script>().ok()?;
    inner.split('.').filter(|name| !name.is_empty()).try_fold(script, |script, name| {
        script.get_script_constant_map().get(name)?.try_to::<Gd<Script>>().ok()
    })
}

pub struct Methods {
    /// The number of arguments that `_init` needs.
    pub init_arguments: usize,
    pub has_loaded: bool,
    pub loaded_arguments: usize,
    pub has_dynamic_properties: bool,
}

impl Methods {
    /// The methods of a script and of its base scripts.
    pub fn of(script: &Gd<Script>) -> Self {
        let mut methods =
            Self { init_arguments: 0, has_loaded: false, loaded_arguments: 0, has_dynamic_properties: false };
        let mut has_init = false;
        for script in std::iter::successors(Some(script.clone()), |script| script.get_base_script()) {
            for method in script.get_script_method_list().iter_shared() {
                let count = |key: &str| {
                    let list = method.get(key).and_then(|list| list.try_to::<AnyArray>().ok());
                    list.map_or(0, |list| list.len())
                };
                match method.get("name").map(|name| text_of(&name.stringify())).as_deref() {
                    // The method of the most derived script comes first.
                    Some("_init") if !has_init => {
                        has_init = true;
                        methods.init_arguments = count("args").saturating_sub(count("default_args"));
                    }
                    Some("_loaded") if !methods.has_loaded => {
                        methods.has_loaded = true;
                        methods.loaded_arguments = count("args").saturating_sub(count("default_args"));
                    }
                    Some("_get_property_list") => methods.has_dynamic_properties = true,
                    _ => {}
                }
            }
        }
        methods
    }
}
