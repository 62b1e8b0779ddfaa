//! Checks values against the declared types of properties, and converts them.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use godot::builtin::{GString, StringName, Variant};
use godot::classes::Object;
use godot::obj::Gd;
use variant_codec::error::Step;
use variant_codec::limits::{Budget, Spent};
use variant_codec::{Error, ErrorKind, Limits, Result, VariantType};
use variant_engine::{Building, ContainerType, HeldObject, Reader};

use crate::classes::class::Class;
use crate::classes::declared::{Declared, ElementTypes};
use crate::classes::host::Host;
use crate::classes::registry::Registry;
use crate::encode::walker::element;
use crate::objects::native_classes::is_of;

/// Fits the values of a call to the declared types.
pub struct Fitting {
    pub registry: Arc<Registry>,
    pub limits: Limits,
    /// The cost of the names made from Strings. The decoder has charged the Strings only.
    pub spent: Rc<Cell<Spent>>,
}

impl Fitting {
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

    /// Converts a value to the type of a property of `object`, which is new unless it is the target.
    ///
    /// # Errors
    /// Fails if the value has another type, and converting it is impossible or would change it.
    pub fn fit(
        &self,
        declared: &Declared,
        value: Variant,
        (object, is_target): (&HeldObject, bool),
        property: &StringName,
        host: Host<'_>,
    ) -> Result<Variant> {
        use VariantType as T;

        let found = Reader::new().ty(&value);
        match (declared, found) {
            (Declared::Any, _) => Ok(value),
            (Declared::Type(ty), Some(found)) if *ty == found => Ok(value),
            (Declared::Type(ty), _) if let Some(same) = self.converted(&value, *ty)? => Ok(same),
            (Declared::Enum(..), _) if let Some(int) = exact_int(&value) => {
                let advice = "if the enum has changed, raise `version` and convert the value in `upgrade`";
                check_enum(declared, int, advice).map(|()| Variant::from(int))
            }
            (Declared::Object(_), Some(T::Nil)) => Ok(value),
            (Declared::Object(classes), Some(T::Object)) => {
                let Some(held) = HeldObject::of(value) else { return Ok(Variant::nil()) };
                let known = self.registry.of_script(held.script_id());
                if known.is_some_and(|known| classes.iter().any(|class| known.is(class))) {
                    return Ok(held.into_value());
                }
                let Ok(object) = held.value().try_to::<Gd<Object>>() else { return Ok(Variant::nil()) };
                if classes.is_empty() || classes.iter().any(|class| is_of(&object, class)) {
                    Ok(held.into_value())
                } else {
                    Err(wrong(&declared.expected(), &self.registry.label(&object)))
                }
            }
            (Declared::Container(ty, types), Some(found)) if *ty == found => match types {
                None => Ok(value),
                Some(ElementTypes(known)) => match known.get() {
                    Some(known) => self.with_types(value, known, host),
                    // The getter runs without a lock, because it may decode, too.
                    None => {
                        let (held, name) = (object.value().clone(), property.clone());
                        let types = host.call(move || {
                            HeldObject::of(held).map_or(UNTYPED, |object| held_types(&object, &name))
                        });
                        let typed = self.with_types(value, &types, host);
                        if !is_target && types != UNTYPED {
                            let _ = known.set(types);
                        }
                        typed
                    }
                },
            },
            _ => Err(refused(declared, &value)),
        }
    }

    /// Gives a container these element types, unless it has them.
    pub fn with_types(&self, value: Variant, types: &[ContainerType; 2], host: Host<'_>) -> Result<Variant> {
        if *types == UNTYPED || Reader::new().declared_types(&value) == *types {
            Ok(value)
        } else {
            self.typed(&value, types, host)
        }
    }

    /// Copies a container into one with these element types. Pauses before each element.
    ///
    /// # Errors
    /// Fails if an element cannot be converted, or two keys become one.
    pub fn typed(&self, container: &Variant, types: &[ContainerType; 2], host: Host<'_>) -> Result<Variant> {
        let reader = Reader::new();
        let mut building = Building::new();
        let fitting = |declared: &ContainerType, value: &Variant| match declared {
            _ if declared.accepts(value) => Ok(value.clone()),
            ContainerType::Builtin(ty) if let Some(same) = self.converted(value, *ty)? => Ok(same),
            _ => {
                let found = match value.try_to::<Gd<Object>>() {
                    Ok(object) => self.registry.label(&object),
                    Err(_) => found(value, *declared == ContainerType::Builtin(VariantType::Int)).into(),
                };
                let expected = format!("elements of type {}", self.registry.type_label(declared));
                Err(wrong(&expected, &found))
            }
        };
        if reader.ty(container) == Some(VariantType::Array) {
            let elements = reader.elements(container);
            if !building.open_array(elements.len(), &types[0]) {
                return Err(ErrorKind::OutOfMemory(elements.len() * size_of::<Variant>()).into());
            }
            for index in 0..elements.len() {
                host.pause(None)?;
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
                host.pause(None)?;
                let inside = |error: Error| error.inside(Step::KeyAt(index));
                let (key, value) =
                    (fitting(&types[0], key).map_err(inside)?, fitting(&types[1], value).map_err(inside)?);
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
                    self.registry.type_label(&types[0])
                )));
            }
        }
        Ok(building.finish())
    }
}

/// Checks that a reader would accept what a getter has returned. Some getters, also of the engine, return another
/// type than their property declares.
///
/// # Errors
/// Fails if a reader would refuse the value.
#[inline(always)]
pub fn check_readable(
    declared: &Declared,
    value: &Variant,
    found: Option<VariantType>,
    registry: &Registry,
) -> Result<()> {
    match declared {
        Declared::Any => Ok(()),
        Declared::Type(ty) | Declared::Container(ty, _) if found == Some(*ty) => Ok(()),
        _ => check_unlike(declared, value, found, registry),
    }
}

#[inline(never)]
fn check_unlike(
    declared: &Declared,
    value: &Variant,
    found: Option<VariantType>,
    registry: &Registry,
) -> Result<()> {
    match declared {
        Declared::Enum(..) if let Some(int) = exact_int(value) => {
            check_enum(declared, int, "declare flags as int")
        }
        Declared::Type(ty) if converted(value, *ty).is_some() => Ok(()),
        Declared::Object(_) if found == Some(VariantType::Nil) => Ok(()),
        Declared::Object(classes) if found == Some(VariantType::Object) => match value.try_to() {
            Ok(object) if !classes.is_empty() && !classes.iter().any(|class| is_of(&object, class)) => {
                Err(wrong(&declared.expected(), &registry.label(&object)))
            }
            // A freed object is written as null.
            _ => Ok(()),
        },
        _ => Err(refused(declared, value)),
    }
}

/// Returns whether the property takes objects of this class.
pub fn is_class_for(declared: &Declared, class: &Class) -> bool {
    matches!(declared, Declared::Object(classes) if classes.is_empty() || classes.iter().any(|name| class.is(name)))
}

/// Checks that an int is a value of the property's enum, because no reader would accept any other int.
fn check_enum(declared: &Declared, int: i64, advice: &str) -> Result<()> {
    let Declared::Enum(name, values) = declared else { return Ok(()) };
    // A variable without an initial value is 0.
    if int == 0 || values.contains(&int) {
        return Ok(());
    }
    Err(Error::object(format!("{int} is not a value of the enum {name}; {advice}")))
}

fn refused(declared: &Declared, value: &Variant) -> Error {
    let is_int = matches!(declared, Declared::Enum(..) | Declared::Type(VariantType::Int));
    wrong(&declared.expected(), found(value, is_int))
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

const UNTYPED: [ContainerType; 2] = [ContainerType::Untyped, ContainerType::Untyped];

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
