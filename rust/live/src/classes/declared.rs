//! The declared types of properties, from the engine's description.

use std::sync::OnceLock;

use godot::builtin::{GString, StringName, VarDictionary};
use godot::classes::{ClassDb, Script};
use godot::obj::{EngineBitfield, Gd, Singleton};
use godot::register::info::PropertyUsageFlags;
use variant_codec::VariantType;
use variant_engine::{ContainerType, text_of};

use crate::objects::scripts::script_named;

pub enum Declared {
    Any,
    /// A built-in type other than Object.
    Type(VariantType),
    /// An int of this enum.
    Enum(String, Vec<i64>),
    /// Objects of one of these native classes, or of a script with one of these global names. A script
    /// without a global name appears as its native class. If the list is empty, any object.
    Object(Vec<StringName>),
    Container(VariantType, Option<ElementTypes>),
}

/// The element types of a property that has them according to the engine's description, which lacks scripts. They
/// are read from the property of the first new object that holds a typed container.
#[derive(Default)]
pub struct ElementTypes(pub OnceLock<[ContainerType; 2]>);

/// Values of `PropertyInfo.hint` for typed containers.
const HINT_TYPE_STRING: i64 = 23;
const HINT_ARRAY_TYPE: i64 = 31;
const HINT_DICTIONARY_TYPE: i64 = 38;

impl Declared {
    /// The type in the engine's description of a property.
    pub fn of(info: &VarDictionary, script: &Gd<Script>) -> Self {
        let int = |key: &str| info.get(key).and_then(|value| value.try_to::<i64>().ok()).unwrap_or(0);
        let class = info.get("class_name").map(|name| name.stringify()).unwrap_or_default();
        let ty = u8::try_from(int("type")).ok().and_then(VariantType::from_id);
        let is_typed = matches!(int("hint"), HINT_TYPE_STRING | HINT_ARRAY_TYPE | HINT_DICTIONARY_TYPE)
            && info.get("hint_string").is_some_and(|hint| !hint.stringify().is_empty());
        let has_usage = |flags: PropertyUsageFlags| int("usage") as u64 & flags.ord() != 0;
        match ty {
            None | Some(VariantType::Nil) => Self::Any,
            Some(VariantType::Int) if has_usage(PropertyUsageFlags::CLASS_IS_ENUM) => {
                enum_values(&class, script)
                    .map_or(Self::Type(VariantType::Int), |values| Self::Enum(text_of(&class), values))
            }
            // The engine's list marks excluded classes with a minus.
            Some(VariantType::Object) => Self::Object(
                text_of(&class)
                    .split(',')
                    .filter(|class| !class.is_empty() && !class.starts_with('-'))
                    .map(StringName::from)
                    .collect(),
            ),
            Some(ty @ (VariantType::Array | VariantType::Dictionary)) => {
                Self::Container(ty, is_typed.then(ElementTypes::default))
            }
            Some(ty) => Self::Type(ty),
        }
    }

    pub fn is_typed(&self) -> bool {
        matches!(self, Self::Container(_, Some(_)))
    }

    /// The type for messages.
    pub fn expected(&self) -> String {
        match self {
            Self::Any => "Variant".into(),
            Self::Type(ty) | Self::Container(ty, _) => ty.name().into(),
            Self::Enum(name, _) => name.clone(),
            Self::Object(classes) => {
                classes.iter().map(StringName::to_string).collect::<Vec<_>>().join(" or ")
            }
        }
    }
}

/// The values of an enum of a script or native class. `name` is from a property's description, such as
/// `Hero.Kind`.
fn enum_values(name: &GString, script: &Gd<Script>) -> Option<Vec<i64>> {
    let name = text_of(name);
    let (class, name) = name.rsplit_once('.')?;
    let is_named = |script: &Gd<Script>| script.get_global_name() == class || path_in_names(script) == class;
    let own = std::iter::successors(Some(script.clone()), |script| script.get_base_script()).find(is_named);
    if let Some(script) = own.or_else(|| script_named(class)) {
        let values = script.get_script_constant_map().get(name)?.try_to::<VarDictionary>().ok()?;
        return values.values_array().iter_shared().map(|value| value.try_to::<i64>().ok()).collect();
    }
    let (db, class) = (ClassDb::singleton(), StringName::from(class));
    if !db.class_exists(&class) {
        return None;
    }
    // The values of flags can be combined, so a list of them is not complete.
    if db.is_class_enum_bitfield(&class, name) {
        return None;
    }
    let constants = db.class_get_enum_constants(&class, name);
    let values: Vec<i64> = constants
        .as_slice()
        .iter()
        .map(|constant| db.class_get_integer_constant(&class, &StringName::from(constant)))
        .collect();
    (!values.is_empty()).then_some(values)
}

/// A script's path, as in the names of its enums. A script inside a scene has `::` in its path, and one that was
/// created by code has no path.
fn path_in_names(script: &Gd<Script>) -> String {
    match text_of(&script.get_path()) {
        path if path.is_empty() => format!("gdscript://{}.gd", script.instance_id().to_i64()),
        path => path.replace("::", "."),
    }
}
