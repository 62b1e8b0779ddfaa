//! The declared types of properties, which values are checked against before a property is set.

use std::cell::Cell;
use std::sync::{Arc, OnceLock};

use godot::builtin::{GString, StringName, VarDictionary, Variant};
use godot::classes::{ClassDb, Object, Script};
use godot::obj::{EngineBitfield, Gd, Singleton};
use godot::register::info::PropertyUsageFlags;
use variant_codec::error::Step;
use variant_codec::memory::check_memory;
use variant_codec::{Error, ErrorKind, Result, VariantType};
use variant_engine::{Building, ContainerType, HeldObject, Reader, class_name, text_of};

use super::Registry;
use crate::variant::source::element;
use crate::variant::stored::label;

/// The declared type of a property.
pub enum Declared {
    /// Any Variant.
    Any,
    /// A built-in type other than Object.
    Type(VariantType),
    /// An int of this enum.
    Enum(String, Vec<i64>),
    /// Objects of a native class, or of a script with this global name; for a script without one, of the native class that it extends.
    Object(StringName),
    /// A container. Its element types are read from the first object of the class: the engine's description lacks scripts, and does not
    /// always say that there are any. True if it does.
    Container(VariantType, OnceLock<[ContainerType; 2]>, bool),
}

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
        match ty {
            None | Some(VariantType::Nil) => Self::Any,
            Some(VariantType::Int) if int("usage") as u64 & PropertyUsageFlags::CLASS_IS_ENUM.ord() != 0 => {
                enum_values(&class, script)
                    .map_or(Self::Type(VariantType::Int), |values| Self::Enum(text_of(&class), values))
            }
            Some(VariantType::Object) => Self::Object(StringName::from(&class)),
            Some(ty @ (VariantType::Array | VariantType::Dictionary)) => {
                Self::Container(ty, OnceLock::new(), is_typed)
            }
            Some(ty) => Self::Type(ty),
        }
    }

    /// Returns whether the property declares element types.
    pub fn is_typed(&self) -> bool {
        matches!(self, Self::Container(_, _, true))
    }

    /// Returns whether the engine may refuse an object that passed [`Declared::check`]: the description of a property does not name a
    /// script without a global name.
    pub fn may_be_refused(&self) -> bool {
        matches!(self, Self::Object(class) if ClassDb::singleton().class_exists(class))
    }

    /// Checks that an int is a value of its enum: no reader would accept another.
    ///
    /// # Errors
    /// Fails if it is not.
    pub fn check_enum(&self, value: &Variant) -> Result<()> {
        let Self::Enum(name, values) = self else { return Ok(()) };
        let int = Reader::new().int(value);
        // A variable without a value is 0.
        if int == 0 || values.contains(&int) {
            return Ok(());
        }
        Err(Error::object(format!("{int} is not a value of the enum {name}; declare flags as int")))
    }

    /// Converts a value to the type of a property of `object`.
    ///
    /// # Errors
    /// Fails if that would change the value.
    pub fn check(
        &self,
        value: Variant,
        object: &HeldObject,
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
                let int = Variant::from(int);
                self.check_enum(&int).map(|()| int)
            }
            (Self::Object(_), Some(T::Nil)) => Ok(value),
            (Self::Object(class), Some(T::Object)) => {
                let Some(held) = HeldObject::of(value) else { return Ok(Variant::nil()) };
                if checks.registry.of_script(held.script_id()).is_some_and(|known| known.is(class)) {
                    return Ok(held.into_value());
                }
                let Ok(object) = held.value().try_to::<Gd<Object>>() else { return Ok(Variant::nil()) };
                if is_of(&object, class) {
                    Ok(held.into_value())
                } else {
                    Err(wrong(&class.to_string(), &label(&object)))
                }
            }
            (Self::Container(ty, known, _), Some(found)) if *ty == found => {
                let known = match known.get() {
                    Some(known) => known,
                    // Without a lock: the getter may decode, too.
                    None => {
                        let types = sample(object, property);
                        known.get_or_init(|| types)
                    }
                };
                let is_untyped = *known == [ContainerType::Untyped, ContainerType::Untyped];
                if is_untyped || Reader::new().declared_types(&value) == *known {
                    Ok(value)
                } else {
                    typed(&value, known, checks)
                }
            }
            (_, found) => Err(wrong(&self.expected(), found.map_or("a newer type", VariantType::name))),
        }
    }

    fn expected(&self) -> String {
        match self {
            Self::Any => "Variant".into(),
            Self::Type(ty) | Self::Container(ty, ..) => ty.name().into(),
            Self::Enum(name, _) => name.clone(),
            Self::Object(class) => class.to_string(),
        }
    }
}

fn wrong(expected: &str, found: &str) -> Error {
    Error::object(format!("expected {expected}, found {found}"))
}

/// The int that a Variant holds, also as a float without a fraction.
pub fn exact_int(value: &Variant) -> Option<i64> {
    match Reader::new().ty(value) {
        Some(VariantType::Int) => Some(Reader::new().int(value)),
        Some(VariantType::Float) => {
            let float = Reader::new().float(value);
            let int = float as i64;
            // The largest i64 is no float.
            (int as f64 == float && int != i64::MAX).then_some(int)
        }
        _ => None,
    }
}

/// What checks need beside the value.
pub struct Checks {
    pub registry: Arc<Registry>,
    /// Conversions that are left. Their results may be crafted to collide in hash tables, and nothing else counts them.
    pub conversions: Cell<usize>,
}

/// Limit on conversions where colliding keys are refused.
pub const FEW_CONVERSIONS: usize = 256;

impl Checks {
    /// Converts a value as [`converted`] does.
    ///
    /// # Errors
    /// Fails if there have been too many conversions.
    fn converted(&self, value: &Variant, ty: VariantType) -> Result<Option<Variant>> {
        let Some(same) = converted(value, ty) else { return Ok(None) };
        let Some(left) = self.conversions.get().checked_sub(1) else {
            return Err(Error::object(format!(
                "more than {FEW_CONVERSIONS} values of other types than their properties; clear `refuse_colliding_keys` for data that you trust"
            )));
        };
        self.conversions.set(left);
        Ok(Some(same))
    }
}

/// Converts a number or a text to another type without changing it. JSON has one type of number, and no StringName.
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

/// Returns whether an object is of a native class, or has a script with this global name.
fn is_of(object: &Gd<Object>, class: &StringName) -> bool {
    let native = class_name(object);
    let mut scripts = std::iter::successors(object.get_script(), |script| script.get_base_script());
    native == *class
        || ClassDb::singleton().is_parent_class(&native, class)
        || scripts.any(|script| script.get_global_name() == *class)
}

/// The element types of a property of a new object.
fn sample(object: &HeldObject, property: &StringName) -> [ContainerType; 2] {
    let held = object.get(property).unwrap_or_default();
    Reader::new().declared_types(&held)
}

/// Approximate memory of a Dictionary's entry, in bytes.
const ENTRY_BYTES: usize = 128;

/// Copies a container into one with these element types.
///
/// # Errors
/// Fails if an element has another type, or two keys become one.
pub fn typed(container: &Variant, types: &[ContainerType; 2], checks: &Checks) -> Result<Variant> {
    let reader = Reader::new();
    let mut building = Building::new();
    let fitting = |declared: &ContainerType, value: &Variant| match declared {
        _ if declared.takes(value) => Ok(value.clone()),
        ContainerType::Builtin(ty) if let Some(same) = checks.converted(value, *ty)? => Ok(same),
        _ => {
            let found = match value.try_to::<Gd<Object>>() {
                Ok(object) => label(&object),
                Err(_) => reader.ty(value).map_or("a newer type", VariantType::name).into(),
            };
            Err(wrong(&format!("elements of type {declared}"), &found))
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
        check_memory(len.saturating_mul(ENTRY_BYTES))?;
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
            return Err(Error::object(format!("{len} keys become {kept} as {}", types[0])));
        }
    }
    Ok(building.finish())
}

/// The values of an enum by the name in a property's description, such as `Hero.Kind`. Searches the script, its bases and native
/// classes.
fn enum_values(name: &GString, script: &Gd<Script>) -> Option<Vec<i64>> {
    let name = text_of(name);
    let (class, name) = name.rsplit_once('.')?;
    let mut current = Some(script.clone());
    while let Some(script) = current {
        let is_named = script.get_global_name() == class || script.get_path() == class;
        if is_named && let Some(constants) = script.get_script_constant_map().get(name) {
            let values = constants.try_to::<VarDictionary>().ok()?;
            return values.values_array().iter_shared().map(|value| value.try_to::<i64>().ok()).collect();
        }
        current = script.get_base_script();
    }
    let (db, class) = (ClassDb::singleton(), StringName::from(class));
    if !db.class_exists(&class) {
        return None;
    }
    // Flags can be combined.
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
