//! An object of a registered class whose properties are not set yet.

use std::collections::HashSet;
use std::sync::Arc;

use godot::builtin::{AnyDictionary, GString, StringName, VarDictionary, Variant};
use godot::meta::ToGodot;
use variant_codec::error::{Step, quoted};
use variant_codec::{Error, ErrorKind, Result, VariantType, tag};
use variant_engine::{ContainerType, HeldObject, Reader, text_of};

use super::class::{Class, FIRST_VERSION, UNKNOWN};
use super::declared::Declared;
use super::fitting::{Fitting, held_types, is_half_typed};
use super::host::Host;

/// An object whose properties are not set yet.
pub(super) struct NewObject {
    pub(super) object: HeldObject,
    pub(super) class: Arc<Class>,
    pub(super) at: usize,
    pub(super) version: i64,
    /// The properties in the order of the data: their positions, whether their values were made by this call, and the
    /// values.
    pub(super) values: Vec<(u32, bool, Variant)>,
    /// The position after the last one in `values`.
    pub(super) next: usize,
    /// The positions in `values`, once one was out of order.
    pub(super) known: Option<HashSet<u32>>,
    /// Positions of properties that were set to objects.
    pub(super) set_objects: Vec<u32>,
    /// The data of an earlier version.
    pub(super) data: Option<VarDictionary>,
    /// Properties that the class does not have.
    pub(super) unknown: Option<VarDictionary>,
    pub(super) is_target: bool,
    /// The index of the object at `@objects` that contains it, or `u32::MAX`.
    pub(super) inside: u32,
    /// Whether only the values of properties that are ignored have it.
    pub(super) is_ignored: bool,
}

/// The meaning of a value in an object's Dictionary.
pub(super) enum Meaning {
    Class,
    Version,
    Property(usize),
    /// A property of an earlier version.
    Former(GString),
    /// An unknown property that is kept.
    Unknown(GString),
    /// An unknown property that is ignored.
    Ignored,
}

impl NewObject {
    /// The meaning of the value at this key; `entry` is the number of the entry, counted from 1.
    pub(super) fn part(&mut self, key: &str, entry: usize) -> Result<Meaning> {
        if key == tag::VERSION && entry == 2 {
            return Ok(Meaning::Version);
        }
        self.check_version()?;
        if tag::is_tag(key) {
            return Err(Error::object(format!("unexpected tag {} in an object", quoted(key))));
        }
        if self.version < self.class.version {
            return Ok(Meaning::Former(GString::from(key)));
        }
        if self.class.keeps_unknown && self.class.position(key).is_none() {
            return Ok(Meaning::Unknown(GString::from(key)));
        }
        if self.class.ignores_unknown && self.class.position(key).is_none() {
            return Ok(Meaning::Ignored);
        }
        let position = self.class.position(key).ok_or_else(|| {
            let (class, key) = (quoted(&self.class.name), quoted(key));
            Error::object(format!(
                "class {class} has no property {key}; name it in `renamed`, set `ignore_unknown`, or raise `version` and remove it in `upgrade`"
            ))
        })?;
        Ok(Meaning::Property(position))
    }

    pub(super) fn set_version(&mut self, version: i64) -> Result<()> {
        if version < FIRST_VERSION {
            return Err(Error::object(format!("expected a version of at least 1, found {version}")));
        }
        self.version = version;
        self.check_version()
    }

    /// Fails if data of this version cannot be read.
    pub(super) fn check_version(&self) -> Result<()> {
        let is_readable = self.version == self.class.version
            || self.version < self.class.version && self.class.upgrade.is_some();
        if is_readable { Ok(()) } else { Err(self.class.wrong_version(self.version)) }
    }

    /// Checks the value of a property, and keeps it until all data is valid.
    pub(super) fn keep(
        &mut self,
        position: usize,
        value: Variant,
        fitting: &Fitting,
        host: Host<'_>,
    ) -> Result<()> {
        let property = &self.class.properties[position];
        if position < self.next || self.known.is_some() {
            let values = &self.values;
            let known = self.known.get_or_insert_with(|| values.iter().map(|(known, ..)| *known).collect());
            if !known.insert(position as u32) {
                return Err(Error::object(format!("duplicate property {}", quoted(&property.text))));
            }
        }
        // Containers that `upgrade` returns may be the game's, but not their typed copies.
        let is_upgraded = self.version != self.class.version;
        let given = (is_upgraded && is_container(&value)).then(|| value.clone());
        let fitted =
            fitting.fit(&property.declared, value, (&self.object, self.is_target), &property.name, host);
        let value = fitted.map_err(|error| if is_upgraded { error } else { advised(error) })?;
        let is_made = given.map_or(!is_upgraded, |given| !godot::global::is_same(&given, &value));
        self.values.push((position as u32, is_made, value));
        self.next = self.next.max(position + 1);
        Ok(())
    }

    /// Upgrades data of an earlier version.
    pub(super) fn upgrade(&mut self, fitting: &Fitting) -> Result<()> {
        let Some(data) = self.data.take() else { return Ok(()) };
        let (class, version) = (Arc::clone(&self.class), self.version);
        let Some(upgrade) = &class.upgrade else { return Err(class.wrong_version(version)) };
        let data = data.to_variant();
        let returned = upgrade.call(&[data.clone(), version.to_variant()]);
        let name = quoted(&class.name);
        let at = self.at;
        let fail = |error: Error| error.at(at);
        let Ok(upgraded) = returned.try_to::<AnyDictionary>() else {
            let found = Reader::new().ty(&returned).map_or("a newer type", VariantType::name);
            let reason = format!(
                "`upgrade` of class {name} from version {version} returned {found}; expected a Dictionary"
            );
            return Err(fail(Error::object(reason)));
        };
        // The engine returns an empty Dictionary if a function with a declared return type fails.
        if upgraded.is_empty() && !godot::global::is_same(&data, &returned) {
            let reason = format!(
                "`upgrade` of class {name} from version {version} failed, or returned a new empty Dictionary; return the one that it gets"
            );
            return Err(fail(Error::object(reason)));
        }
        for (key, value) in upgraded.iter_shared() {
            let key = text_of(&key.stringify());
            let Some(position) = class.position(&key) else {
                if class.keeps_unknown && !tag::is_tag(&key) {
                    put(&mut self.unknown, &GString::from(&key), &value).map_err(fail)?;
                    continue;
                }
                if class.ignores_unknown && !tag::is_tag(&key) {
                    continue;
                }
                let reason = format!(
                    "`upgrade` of class {name} from version {version} returned {}, which is not a property of the class; erase it, or set `ignore_unknown`",
                    quoted(&key)
                );
                return Err(fail(Error::object(reason)));
            };
            self.keep(position, value, fitting, Host::CALLER)
                .map_err(|error| fail(error.inside(Step::property(&key))))?;
        }
        Ok(())
    }

    /// Sets the properties, and adds the containers among their values to `containers`.
    pub(super) fn set_properties(&mut self, fitting: &Fitting, containers: &mut Vec<Variant>) -> Result<()> {
        let class = Arc::clone(&self.class);
        for (position, is_made, value) in std::mem::take(&mut self.values) {
            let property = &class.properties[position as usize];
            let fail = |error: Error| error.inside(Step::property(&property.text)).at(self.at);
            let ty = Reader::new().ty(&value);
            match ty {
                Some(_) if is_made && is_container(&value) => containers.push(value.clone()),
                Some(VariantType::Object) => self.set_objects.push(position),
                _ => {}
            }
            let set = |value: &Variant| match self.object.set(&property.name, value) {
                Some(is_taken) => Ok(is_taken),
                None => Err(fail(self.freed())),
            };
            let held_types = || held_types(&self.object, &property.name);
            // The engine puts a Dictionary with only one of the two types into any typed property, but no untyped one.
            let is_doubtful = matches!(property.declared, Declared::Container(..))
                && is_half_typed(&value)
                && !held_types().contains(&ContainerType::Untyped);
            let is_typed = is_doubtful && !set(&VarDictionary::new().to_variant())?;
            let mut is_taken = !is_typed && set(&value)?;
            match property.declared {
                // The engine's description of a property may hide element types.
                Declared::Container(..) if !is_taken => {
                    let typed = fitting.with_types(value, &held_types(), Host::CALLER).map_err(fail)?;
                    containers.push(typed.clone());
                    is_taken = set(&typed)?;
                }
                // The description lacks scripts without a global name.
                Declared::Object(_) if ty == Some(VariantType::Object) => {}
                // A `_set` that sets a property may return false.
                _ => is_taken = true,
            }
            if !is_taken {
                let name = quoted(&class.name);
                let reason = format!(
                    "class {name}: the property rejected the value: it has another type, or the property is read-only"
                );
                return Err(fail(Error::object(reason)));
            }
        }
        if self.object.is_freed() {
            return Err(self.freed().at(self.at));
        }
        self.keep_unknown();
        Ok(())
    }

    #[cold]
    fn freed(&self) -> Error {
        Error::object(format!("a setter freed an object of class {}", quoted(&self.class.name)))
    }

    /// Stores unknown properties in the metadata. If the object is the target, they replace earlier ones.
    pub(super) fn keep_unknown(&self) {
        if self.unknown.is_some() || self.is_target && self.class.keeps_unknown {
            let kept = self.unknown.as_ref().map_or_else(Variant::nil, ToGodot::to_variant);
            self.object.set(&StringName::from(UNKNOWN), &kept);
        }
    }

    /// Unsets references that were set, so that objects that refer to each other are freed.
    pub(super) fn unset(&self) {
        for position in &self.set_objects {
            self.object.set(&self.class.properties[*position as usize].name, &Variant::nil());
        }
        self.unknown.iter().for_each(|unknown| empty(&unknown.to_variant()));
    }
}

/// The error of a value that does not fit its property, with what to do if the class has changed.
#[cold]
fn advised(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Object(reason) if reason.starts_with("expected ") => {
            let advice = "if the class has changed, raise `version` and convert the value in `upgrade`";
            let kind = ErrorKind::Object(format!("{reason}; {advice}").into());
            error.with_kind(kind)
        }
        _ => error,
    }
}

/// Empties a container that this call has made.
pub(super) fn empty(container: &Variant) {
    if !container.call("is_read_only", &[]).booleanize() {
        container.call("clear", &[]);
    }
}

pub(super) fn is_container(value: &Variant) -> bool {
    matches!(Reader::new().ty(value), Some(VariantType::Array | VariantType::Dictionary))
}

pub(super) fn put(kept: &mut Option<VarDictionary>, name: &GString, value: &Variant) -> Result<()> {
    let kept = kept.get_or_insert_with(VarDictionary::new);
    if kept.contains_key(name) {
        return Err(Error::object(format!("duplicate property {}", quoted(&text_of(name)))));
    }
    kept.set(name, value);
    Ok(())
}
