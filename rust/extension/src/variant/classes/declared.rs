//! The declared types of properties: a value is checked against them before a property is set.

use std::cell::Cell;
use std::sync::{Arc, OnceLock};

use godot::builtin::{AnyArray, GString, StringName, VarDictionary, Variant};
use godot::classes::{ClassDb, Engine, Object, ResourceLoader, Script};
use godot::obj::{EngineBitfield, Gd, Singleton};
use godot::register::info::PropertyUsageFlags;
use variant_codec::error::Step;
use variant_codec::limits::{Budget, Spent};
use variant_codec::{Error, ErrorKind, Limits, Result, VariantType};
use variant_engine::{Building, ContainerType, HeldObject, Reader, class_name, text_of};

use super::{Class, Registry};
use crate::variant::source::element;

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
pub struct ElementTypes(OnceLock<[ContainerType; 2]>);

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

    /// Checks that a reader would accept what a getter has returned. Some getters, also of the engine, return another
    /// type than their property declares.
    ///
    /// # Errors
    /// Fails if a reader would refuse the value.
    #[inline(always)]
    pub fn check_readable(
        &self,
        value: &Variant,
        found: Option<VariantType>,
        registry: &Registry,
    ) -> Result<()> {
        match self {
            Self::Any => Ok(()),
            Self::Type(ty) | Self::Container(ty, _) if found == Some(*ty) => Ok(()),
            _ => self.check_unlike(value, found, registry),
        }
    }

    #[inline(never)]
    fn check_unlike(&self, value: &Variant, found: Option<VariantType>, registry: &Registry) -> Result<()> {
        match self {
            Self::Enum(..) if let Some(int) = exact_int(value) => {
                self.check_enum(int, "declare flags as int")
            }
            Self::Type(ty) if converted(value, *ty).is_some() => Ok(()),
            Self::Object(_) if found == Some(VariantType::Nil) => Ok(()),
            Self::Object(classes) if found == Some(VariantType::Object) => match value.try_to() {
                Ok(object) if !classes.is_empty() && !classes.iter().any(|class| is_of(&object, class)) => {
                    Err(wrong(&self.expected(), &registry.label(&object)))
                }
                // A freed object is written as null.
                _ => Ok(()),
            },
            _ => Err(self.refused(value)),
        }
    }

    /// Returns whether the property takes objects of this class.
    pub fn takes(&self, class: &Class) -> bool {
        matches!(self, Self::Object(classes) if classes.is_empty() || classes.iter().any(|name| class.is(name)))
    }

    /// Checks that an int is a value of the property's enum, because no reader would accept any other int.
    fn check_enum(&self, int: i64, advice: &str) -> Result<()> {
        let Self::Enum(name, values) = self else { return Ok(()) };
        // A variable without an initial value is 0.
        if int == 0 || values.contains(&int) {
            return Ok(());
        }
        Err(Error::object(format!("{int} is not a value of the enum {name}; {advice}")))
    }

    fn refused(&self, value: &Variant) -> Error {
        let is_int = matches!(self, Self::Enum(..) | Self::Type(VariantType::Int));
        wrong(&self.expected(), found(value, is_int))
    }

    /// Converts a value to the type of a property of `object`, which is new unless it is the target.
    ///
    /// # Errors
    /// Fails if the value has another type, and converting it is impossible or would change it.
    pub fn check(
        &self,
        value: Variant,
        (object, is_target): (&HeldObject, bool),
        property: &StringName,
        checks: &Checks,
    ) -> Result<Variant> {
        use VariantType as T;

        let found = Reader::new().ty(&value);
        match (self, found) {
            (Self::Any, _) => Ok(value),
            (Self::Type(ty), Some(found)) if *ty == found => Ok(value),
            (Self::Type(ty), _) if let Some(same) = checks.converted(&value, *ty)? => Ok(same),
            (Self::Enum(..), _) if let Some(int) = exact_int(&value) => {
                let advice =
                    "if the enum has changed, raise \"version\" and convert the value in \"upgrade\"";
                self.check_enum(int, advice).map(|()| Variant::from(int))
            }
            (Self::Object(_), Some(T::Nil)) => Ok(value),
            (Self::Object(classes), Some(T::Object)) => {
                let Some(held) = HeldObject::of(value) else { return Ok(Variant::nil()) };
                let known = checks.registry.of_script(held.script_id());
                if known.is_some_and(|known| classes.iter().any(|class| known.is(class))) {
                    return Ok(held.into_value());
                }
                let Ok(object) = held.value().try_to::<Gd<Object>>() else { return Ok(Variant::nil()) };
                if classes.is_empty() || classes.iter().any(|class| is_of(&object, class)) {
                    Ok(held.into_value())
                } else {
                    Err(wrong(&self.expected(), &checks.registry.label(&object)))
                }
            }
            (Self::Container(ty, types), Some(found)) if *ty == found => match types {
                None => Ok(value),
                Some(ElementTypes(known)) => match known.get() {
                    Some(known) => with_types(value, known, checks),
                    // The getter runs without a lock, because it may decode, too.
                    None => {
                        let types = held_types(object, property);
                        let typed = with_types(value, &types, checks);
                        if !is_target && types != UNTYPED {
                            let _ = known.set(types);
                        }
                        typed
                    }
                },
            },
            _ => Err(self.refused(&value)),
        }
    }

    fn expected(&self) -> String {
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

fn wrong(expected: &str, found: &str) -> Error {
    Error::object(format!("expected {expected}, found {found}"))
}

/// The type of a value for messages, where an int was expected if `is_int`.
fn found(value: &Variant, is_int: bool) -> &'static str {
    match Reader::new().ty(value) {
        Some(VariantType::Float) if is_int && Reader::new().float(value).abs() > MOST_EXACT => {
            "a float beyond ±(2^53 − 1), where floats skip ints; write an int"
        }
        found => found.map_or("a newer type", VariantType::name),
    }
}

/// 2^53 − 1. Beyond it, several ints become the same float.
const MOST_EXACT: f64 = 9_007_199_254_740_991.0;

/// The int that a Variant holds, or a float without a fraction as an int.
pub fn exact_int(value: &Variant) -> Option<i64> {
    match Reader::new().ty(value) {
        Some(VariantType::Int) => Some(Reader::new().int(value)),
        Some(VariantType::Float) => {
            let float = Reader::new().float(value);
            let int = float as i64;
            let is_exact = float.abs() <= MOST_EXACT && int as f64 == float;
            // No int equals −0.0.
            (is_exact && (int != 0 || float.is_sign_positive())).then_some(int)
        }
        _ => None,
    }
}

/// The context of the checks in a call.
pub struct Checks {
    pub registry: Arc<Registry>,
    pub limits: Limits,
    /// The cost of the names made from Strings. The decoder has charged the Strings only.
    pub spent: Cell<Spent>,
}

impl Checks {
    /// Like [`converted`], but charges a new name.
    ///
    /// # Errors
    /// Fails if the limits do not cover the name.
    fn converted(&self, value: &Variant, ty: VariantType) -> Result<Option<Variant>> {
        let Some(same) = converted(value, ty) else { return Ok(None) };
        if ty == VariantType::StringName {
            let mut budget = Budget::after(self.spent.take(), &self.limits);
            budget.name(value.stringify().to_string().as_bytes())?;
            self.spent.set(budget.spent());
        }
        Ok(Some(same))
    }
}

/// Converts a number or a text to another type without changing its value. Data from JSON needs this: JSON
/// has only one type of number, and no StringName.
fn converted(value: &Variant, ty: VariantType) -> Option<Variant> {
    use VariantType as T;

    match (ty, Reader::new().ty(value)?) {
        (T::Int, T::Int | T::Float) => exact_int(value).map(Variant::from),
        (T::Float, T::Int) => {
            let int = Reader::new().int(value);
            ((int as f64) as i128 == i128::from(int)).then(|| Variant::from(int as f64))
        }
        (T::StringName, T::String) => Some(Variant::from(StringName::from(&value.to::<GString>()))),
        (T::String, T::StringName) => Some(Variant::from(value.stringify())),
        _ => None,
    }
}

/// Returns whether an object is of the native class or the script with this name, or of one that extends it.
pub fn is_of(object: &Gd<Object>, class: &StringName) -> bool {
    let native = class_name(object);
    let mut scripts = std::iter::successors(object.get_script(), |script| script.get_base_script());
    native == *class
        || ClassDb::singleton().is_parent_class(&native, class)
        || scripts.any(|script| script.get_global_name() == *class)
}

const UNTYPED: [ContainerType; 2] = [ContainerType::Untyped, ContainerType::Untyped];

/// Gives a container these element types, unless it has them.
pub fn with_types(value: Variant, types: &[ContainerType; 2], checks: &Checks) -> Result<Variant> {
    if *types == UNTYPED || Reader::new().declared_types(&value) == *types {
        Ok(value)
    } else {
        typed(&value, types, checks)
    }
}

/// Returns whether a Dictionary declares a type for its keys or its values, but not for both.
pub fn is_half_typed(value: &Variant) -> bool {
    let types = Reader::new().declared_types(value).map(|ty| ty == ContainerType::Untyped);
    Reader::new().ty(value) == Some(VariantType::Dictionary) && types[0] != types[1]
}

/// The element types of the container that a property of an object holds.
pub fn held_types(object: &HeldObject, property: &StringName) -> [ContainerType; 2] {
    let held = object.get(property).unwrap_or_default();
    Reader::new().declared_types(&held)
}

/// Copies a container into one with these element types.
///
/// # Errors
/// Fails if an element cannot be converted, or two keys become one.
pub fn typed(container: &Variant, types: &[ContainerType; 2], checks: &Checks) -> Result<Variant> {
    let reader = Reader::new();
    let mut building = Building::new();
    let fitting = |declared: &ContainerType, value: &Variant| match declared {
        _ if declared.takes(value) => Ok(value.clone()),
        ContainerType::Builtin(ty) if let Some(same) = checks.converted(value, *ty)? => Ok(same),
        _ => {
            let found = match value.try_to::<Gd<Object>>() {
                Ok(object) => checks.registry.label(&object),
                Err(_) => found(value, *declared == ContainerType::Builtin(VariantType::Int)).into(),
            };
            let expected = format!("elements of type {}", checks.registry.type_label(declared));
            Err(wrong(&expected, &found))
        }
    };
    if reader.ty(container) == Some(VariantType::Array) {
        let elements = reader.elements(container);
        if !building.open_array(elements.len(), &types[0]) {
            return Err(ErrorKind::OutOfMemory(elements.len() * size_of::<Variant>()).into());
        }
        for index in 0..elements.len() {
            let element = fitting(&types[0], element(&elements, index)?);
            building.next_element();
            building.put(element.map_err(|error| error.inside(Step::Index(index)))?);
        }
        building.close_array();
    } else {
        let (mut entries, len) = reader.entries(container, false);
        building.open_dictionary(&types[0], &types[1]);
        for index in 0..len {
            let Some((key, value)) = reader.next_entry(&mut entries) else { break };
            let at = |error: Error| error.inside(Step::KeyAt(index));
            let (key, value) = (fitting(&types[0], key).map_err(at)?, fitting(&types[1], value).map_err(at)?);
            building.next_key();
            building.put(key);
            building.next_value(true);
            building.put(value);
        }
        let kept = building.dictionary_len();
        building.close_dictionary();
        if kept != len {
            return Err(Error::object(format!(
                "{len} keys become {kept} as {}",
                checks.registry.type_label(&types[0])
            )));
        }
    }
    Ok(building.finish())
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
