//! The class FastVariantClass: how one class is registered.

use std::sync::{Arc, Mutex};

use godot::builtin::{Callable, GString, PackedStringArray};
use godot::classes::{IRefCounted, RefCounted};
use godot::obj::{Base, Gd};
use godot::prelude::{GodotClass, PhantomVar, VarDictionary, godot_api};
use variant_codec::error::quoted;
use variant_codec::sync::lock;
use variant_codec::{Error, Result};
use variant_engine::text_of;
use variant_live::classes::class::{Class, Registration};
use variant_live::classes::registry::Registry;

use super::guard::guard;
use super::{report, summary};

/// A class registered with [method FastVariantClasses.register]: what is written, and how older data is read.
///
/// ```gdscript
/// extends RefCounted
///
/// class Hero:
///     var name := ""
///     var health := 100
///
/// func hero_class(classes: FastVariantClasses) -> void:
///     var hero := classes.register(Hero, "Hero")
///     hero.version = 2
///     hero.renamed = {"hp": "health"}
///     hero.upgrade = func(data: Dictionary, _version: int) -> Dictionary:
///         data["health"] *= 10
///         return data
/// ```
///
/// If a property is set to a value that cannot be used, one error is printed and the property keeps its value. A call of
/// [FastVariantClasses] uses the properties as they were when it began.
#[derive(GodotClass)]
#[class(tool, base=RefCounted)]
pub struct FastVariantClass {
    /// The name in the data.
    #[var(get, no_set)]
    name: PhantomVar<GString>,
    /// The version of the class that is written, at least 1.
    #[var(get, set)]
    version: PhantomVar<i64>,
    /// The names of the properties that are written. At first, these are all variables of the script and of the scripts
    /// that it extends, as they were at the call of [method FastVariantClasses.register]. Native properties, such as
    /// [code]position[/code], are written only if listed. See [method include] and [method exclude].
    #[var(get, set)]
    properties: PhantomVar<PackedStringArray>,
    /// The present name of each property that had another name earlier. Former names are read in data of any version.
    #[var(get, set)]
    renamed: PhantomVar<VarDictionary>,
    /// Takes a Dictionary with the data of an earlier version, and the number of that version; returns the Dictionary
    /// for [member version]. Without it, data of an earlier version is refused. Objects among the values exist, but their
    /// properties still have their defaults. A lambda that uses the [FastVariantClasses]
    /// keeps it alive; use a method instead.
    #[var(get, set)]
    upgrade: PhantomVar<Callable>,
    /// Returns a new object, for a class whose [code]_init[/code] needs arguments.
    #[var(get, set)]
    create: PhantomVar<Callable>,
    /// If [code]true[/code], properties that are in the data but not in the class are kept and written back, instead of
    /// refused. The Dictionary [code]_fast_variant_unknown[/code] in the object's metadata holds them.
    #[var(get, set)]
    keep_unknown: PhantomVar<bool>,
    /// If [code]true[/code], properties that are in the data but not in the class are ignored, instead of refused, so that
    /// saves from before a variable was deleted can still be loaded. [member keep_unknown] has priority.
    #[var(get, set)]
    ignore_unknown: PhantomVar<bool>,
    /// The registry and the script's id in it; `None` if a script made the object with `new()`, or the editor recreated
    /// it.
    place: Option<(SharedRegistry, u64)>,
}

/// The registry of a [`FastVariantClasses`](super::classes_class::FastVariantClasses). A change copies it if calls are
/// using it, so each call keeps the registry that it started with.
pub type SharedRegistry = Arc<Mutex<Arc<Registry>>>;

#[godot_api]
impl IRefCounted for FastVariantClass {
    fn init(_base: Base<RefCounted>) -> Self {
        Self::at(None)
    }

    #[func(gd_self)]
    fn to_string(this: Gd<Self>) -> GString {
        guard("FastVariantClass.to_string", || {
            let holds = this.bind().class().map_or_else(
                |error| error.to_string(),
                |class| format!("{}, version {}", class.name, class.registration().version),
            );
            summary::of(&this, summary::short(holds))
        })
    }
}

#[godot_api]
impl FastVariantClass {
    #[func]
    fn get_name(&self) -> GString {
        guard("FastVariantClass.name", || {
            self.class().map_or_else(|_| GString::new(), |class| GString::from(&class.name))
        })
    }

    #[func]
    fn get_version(&self) -> i64 {
        guard("FastVariantClass.version", || {
            self.class().map_or_else(|_| 0, |class| class.registration().version)
        })
    }

    #[func]
    fn set_version(&self, version: i64) {
        self.set("FastVariantClass.version", |registration| registration.version = version);
    }

    #[func]
    fn get_properties(&self) -> PackedStringArray {
        guard("FastVariantClass.properties", || {
            self.class().map_or_else(|_| PackedStringArray::new(), |class| class.property_names())
        })
    }

    #[func]
    fn set_properties(&self, properties: PackedStringArray) {
        self.set("FastVariantClass.properties", |registration| registration.properties = Some(properties));
    }

    #[func]
    fn get_renamed(&self) -> VarDictionary {
        guard("FastVariantClass.renamed", || {
            self.class().map_or_else(
                |_| VarDictionary::new(),
                |class| class.registration().renamed.duplicate_shallow(),
            )
        })
    }

    #[func]
    fn set_renamed(&self, renamed: VarDictionary) {
        self.set("FastVariantClass.renamed", |registration| {
            registration.renamed = renamed.duplicate_shallow()
        });
    }

    #[func]
    fn get_upgrade(&self) -> Callable {
        guard("FastVariantClass.upgrade", || {
            self.class().map_or_else(|_| Callable::invalid(), |class| class.registration().upgrade.clone())
        })
    }

    #[func]
    fn set_upgrade(&self, upgrade: Callable) {
        self.set("FastVariantClass.upgrade", |registration| registration.upgrade = upgrade);
    }

    #[func]
    fn get_create(&self) -> Callable {
        guard("FastVariantClass.create", || {
            self.class().map_or_else(|_| Callable::invalid(), |class| class.registration().create.clone())
        })
    }

    #[func]
    fn set_create(&self, create: Callable) {
        self.set("FastVariantClass.create", |registration| registration.create = create);
    }

    #[func]
    fn get_keep_unknown(&self) -> bool {
        guard("FastVariantClass.keep_unknown", || {
            self.class().map_or_else(|_| false, |class| class.registration().keep_unknown)
        })
    }

    #[func]
    fn set_keep_unknown(&self, keep_unknown: bool) {
        self.set("FastVariantClass.keep_unknown", |registration| registration.keep_unknown = keep_unknown);
    }

    #[func]
    fn get_ignore_unknown(&self) -> bool {
        guard("FastVariantClass.ignore_unknown", || {
            self.class().map_or_else(|_| false, |class| class.registration().ignore_unknown)
        })
    }

    #[func]
    fn set_ignore_unknown(&self, ignore_unknown: bool) {
        self.set("FastVariantClass.ignore_unknown", |registration| {
            registration.ignore_unknown = ignore_unknown;
        });
    }
}

#[godot_api(secondary)]
impl FastVariantClass {
    /// Adds properties to [member properties], such as native ones: [code]hero.include(["position"])[/code]. If one of the
    /// [param names] does not exist, or is written already, one error is printed and nothing changes.
    #[func]
    fn include(&self, names: PackedStringArray) {
        self.change("FastVariantClass.include", |class, registration| {
            let mut properties = class.property_names();
            properties.extend_array(&names);
            registration.properties = Some(properties);
            Ok(())
        });
    }

    /// Removes properties from [member properties], such as a cache:
    /// [code]hero.exclude(["route"])[/code]. If one of the [param names] is not written, one error is printed and nothing
    /// changes.
    #[func]
    fn exclude(&self, names: PackedStringArray) {
        self.change("FastVariantClass.exclude", |class, registration| {
            let mut properties = class.property_names().to_vec();
            for name in names.as_slice() {
                let found = properties.iter().position(|property| property == name);
                let found = found.ok_or_else(|| {
                    let name = quoted(&text_of(name));
                    Error::argument(format!("{}: the property {name} is not written", class.name))
                })?;
                properties.remove(found);
            }
            registration.properties = Some(properties.into_iter().collect());
            Ok(())
        });
    }
}

impl FastVariantClass {
    /// The class of the script with this id in a registry.
    pub fn of(registry: SharedRegistry, script_id: u64) -> Gd<Self> {
        Gd::from_object(Self::at(Some((registry, script_id))))
    }

    fn at(place: Option<(SharedRegistry, u64)>) -> Self {
        Self {
            name: PhantomVar::default(),
            version: PhantomVar::default(),
            properties: PhantomVar::default(),
            renamed: PhantomVar::default(),
            upgrade: PhantomVar::default(),
            create: PhantomVar::default(),
            keep_unknown: PhantomVar::default(),
            ignore_unknown: PhantomVar::default(),
            place,
        }
    }

    fn class(&self) -> Result<Arc<Class>> {
        let found = self.place.as_ref().and_then(|(registry, id)| lock(registry).of_script(*id).cloned());
        found.ok_or_else(not_registered)
    }

    /// Sets one property, or prints why that is impossible.
    fn set(&self, method: &'static str, set: impl FnOnce(&mut Registration)) {
        self.change(method, |_, registration| {
            set(registration);
            Ok(())
        });
    }

    /// Changes how the class is registered, or prints why that is impossible.
    fn change(&self, method: &'static str, change: impl FnOnce(&Class, &mut Registration) -> Result<()>) {
        guard(method, || {
            let changed = self.place.as_ref().ok_or_else(not_registered).and_then(|(registry, id)| {
                // Other threads may change other properties meanwhile.
                let mut registry = lock(registry);
                let class = Arc::clone(registry.of_script(*id).ok_or_else(not_registered)?);
                let mut registration = class.registration().clone();
                change(&class, &mut registration)?;
                let changed = Class::of(registration)?;
                drop(class);
                Ok(Arc::make_mut(&mut *registry).replace(changed))
            });
            // The registry is free again: dropping the old class, and printing, may run scripts.
            if let Err(error) = changed {
                report::failure(method, &error);
            }
        });
    }
}

#[cold]
fn not_registered() -> Error {
    Error::argument(
        "not registered: created by a script with new(), or emptied when the editor reloaded the extension; call `register` of FastVariantClasses",
    )
}
