//! A registered class: the properties that are saved, and the factory of its objects.

use std::collections::HashMap;

use godot::builtin::{Callable, GString, PackedStringArray, StringName, VarDictionary, Variant};
use godot::classes::{ClassDb, Engine, Object, Script};
use godot::obj::{EngineBitfield, Gd, Singleton};
use godot::register::info::PropertyUsageFlags;
use variant_codec::error::quoted;
use variant_codec::{Error, Result, VariantType, tag};
use variant_engine::{Factory, HeldObject, Reader, text_of};

use crate::classes::declared::Declared;
use crate::objects::labels::script_label;
use crate::objects::scripts::{Methods, name_of, usage_of, variables};

/// The default version, which is not written.
pub const FIRST_VERSION: i64 = 1;

/// The property path of the metadata that holds an object's unknown properties.
pub const UNKNOWN: &str = "metadata/_fast_variant_unknown";

/// How a class is registered.
#[derive(Clone)]
pub struct Registration {
    /// A script that makes objects.
    pub script: Gd<Script>,
    /// The name that is written.
    pub name: String,
    /// The version that is written, at least 1.
    pub version: i64,
    /// The names of the properties that are written, in order; `None` for all variables of the script.
    pub properties: Option<PackedStringArray>,
    /// Former names of properties, with the present ones.
    pub renamed: VarDictionary,
    /// Makes data of an earlier version current; null if none can be.
    pub upgrade: Callable,
    /// Makes an object; null for the script's own `new()`.
    pub create: Callable,
    /// Whether to keep unknown properties in the metadata [`UNKNOWN`], and write them back.
    pub keep_unknown: bool,
    /// Whether to ignore unknown properties.
    pub ignore_unknown: bool,
}

impl Registration {
    /// The registration of a script with the defaults. Without a `name`, the class has the script's `class_name`.
    ///
    /// # Errors
    /// Fails if the script has errors, or the name is missing or a type of the engine.
    pub fn of(script: Gd<Script>, name: String) -> Result<Self> {
        let shown = script_label(&script);
        let fail = |reason: String| Err(Error::argument(format!("{shown}: {reason}")));
        if script.get_instance_base_type() == StringName::default() {
            return fail("the script has errors".into());
        }
        let name = if name.is_empty() { script.get_global_name().to_string() } else { name };
        if name.is_empty() {
            return fail("the script has no class_name; pass a name as the second argument".into());
        }
        let is_type = VariantType::ALL.iter().any(|ty| ty.name() == name);
        if is_type || ClassDb::singleton().class_exists(&StringName::from(&name)) {
            return fail(format!("{} is the name of a type of the engine; pass another name", quoted(&name)));
        }
        Ok(Self {
            script,
            name,
            version: FIRST_VERSION,
            properties: None,
            renamed: VarDictionary::new(),
            upgrade: Callable::invalid(),
            create: Callable::invalid(),
            keep_unknown: false,
            ignore_unknown: false,
        })
    }
}

/// A registered class.
pub struct Class {
    /// The name that is written.
    pub name: String,
    pub(crate) script: Gd<Script>,
    pub(crate) script_id: u64,
    factory: Factory,
    /// The global names of the script and of the scripts that it extends, and the names of its native
    /// classes.
    lineage: Vec<StringName>,
    /// The native class that the script extends.
    pub native: StringName,
    pub(crate) version: i64,
    pub(crate) properties: Vec<Property>,
    pub(crate) has_loaded: bool,
    /// Whether to keep unknown properties in the metadata [`UNKNOWN`], and write them back.
    pub keeps_unknown: bool,
    /// Whether to ignore unknown properties.
    pub(crate) ignores_unknown: bool,
    pub(crate) upgrade: Option<Callable>,
    create: Option<Callable>,
    /// Whether the script's `new()` needs arguments, so that only `create` can make objects.
    needs_create: bool,
    /// Whether the objects are resources, which may have files.
    pub(crate) is_resource: bool,
    /// Whether the objects are Nodes, which may refer to Nodes outside the value.
    pub(crate) is_node: bool,
    /// Whether the editor may create objects that do not run their script.
    may_be_placeholder: bool,
    /// The positions of properties, by their names and former names.
    positions: HashMap<String, usize>,
    registration: Registration,
}

pub(crate) struct Property {
    pub(crate) name: StringName,
    pub(crate) text: String,
    pub(crate) declared: Declared,
}

impl Class {
    /// The class for a registration.
    ///
    /// # Errors
    /// Fails if a part of the registration is invalid, or a property does not exist.
    pub fn of(registration: Registration) -> Result<Self> {
        let Registration { script, name, version, .. } = registration.clone();
        let shown = script_label(&script);
        let fail = |reason: String| Err(Error::argument(format!("{shown}: {reason}")));
        if version < FIRST_VERSION {
            return fail(format!("expected a version of at least {FIRST_VERSION}, found {version}"));
        }
        let native = script.get_instance_base_type();
        let (upgrade, create) =
            (callable(&registration.upgrade, "upgrade")?, callable(&registration.create, "create")?);
        // The engine reports no error for a call with the wrong number of arguments, and returns an empty
        // Dictionary. For a custom Callable, an argument count of 0 may also mean that the count is unknown.
        let takes = |callable: &Callable| callable.get_argument_count();
        if upgrade
            .as_ref()
            .is_some_and(|upgrade| takes(upgrade) == 1 || takes(upgrade) == 0 && !upgrade.is_custom())
        {
            return fail(
                "`upgrade` must take two arguments: the data, a Dictionary, and its version, an int".into(),
            );
        }
        let methods = Methods::of(&script);
        if methods.loaded_arguments > 0 {
            return fail("_loaded must not need arguments".into());
        }
        let properties = properties(&script, &native, registration.properties.as_ref(), &methods)?;
        let mut positions: HashMap<String, usize> =
            properties.iter().enumerate().map(|(index, property)| (property.text.clone(), index)).collect();
        for (former, present) in registration.renamed.iter_shared() {
            let (former, present) = (text("renamed", &former)?, text("renamed", &present)?);
            let Some(&position) = positions.get(&present) else {
                return fail(format!(
                    "`renamed` names {}, which is not a property that is written; expected {{former name: present name}}",
                    quoted(&present)
                ));
            };
            if positions.insert(former.clone(), position).is_some() {
                return fail(format!(
                    "`renamed` gives {} as a former name, but a property has that name now",
                    quoted(&former)
                ));
            }
        }
        let factory = Factory::of(&script);
        let lineage = lineage(&script, &native);
        let is_a = |class: &str| lineage.iter().any(|name| *name == class);
        Ok(Self {
            name,
            script_id: factory.script_id(),
            factory,
            native,
            version,
            properties,
            has_loaded: methods.has_loaded,
            keeps_unknown: registration.keep_unknown,
            ignores_unknown: registration.ignore_unknown,
            upgrade,
            needs_create: create.is_none() && methods.init_arguments > 0,
            create,
            is_resource: is_a("Resource"),
            is_node: is_a("Node"),
            lineage,
            may_be_placeholder: Engine::singleton().is_editor_hint() && !script.is_tool(),
            positions,
            script,
            registration,
        })
    }

    /// The instance id of the script.
    pub fn script_id(&self) -> u64 {
        self.script_id
    }

    /// How the class is registered.
    pub fn registration(&self) -> &Registration {
        &self.registration
    }

    /// The names of the properties that are written, in order.
    pub fn property_names(&self) -> PackedStringArray {
        self.properties.iter().map(|property| GString::from(&property.text)).collect()
    }

    /// The position of the property with this name or former name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.positions.get(name).copied()
    }

    /// Creates an object, and runs its `_init`.
    ///
    /// # Errors
    /// Fails if the script or `create` does not create an object of the class.
    pub fn create(&self) -> Result<HeldObject> {
        self.check_create()?;
        let value = match &self.create {
            Some(create) => create.call(&[]),
            None => self.factory.create(),
        };
        let object = HeldObject::of(value).filter(|object| object.script_id() == self.script_id);
        object
            .ok_or_else(|| Error::object(format!("cannot create an object of class {}", quoted(&self.name))))
    }

    fn check_create(&self) -> Result<()> {
        if !self.needs_create {
            return Ok(());
        }
        Err(Error::object(format!(
            "the _init of class {} takes arguments; give what `register` returned a `create`, a Callable that returns a new object",
            quoted(&self.name)
        )))
    }

    /// Checks that a reader would make the same kind of object.
    ///
    /// # Errors
    /// Fails if the object's native class is not the one that the script extends, or its `_init` takes arguments,
    /// unless the class has a `create`. In the editor, also fails if the object's script does not run.
    pub fn check_kind(&self, object: &HeldObject) -> Result<()> {
        self.check_create()?;
        let native = object.class_name();
        if native != self.native && self.create.is_none() {
            return Err(Error::object(format!(
                "{native} with the script of class {}, which makes objects of {}; give what `register` returned a `create`",
                quoted(&self.name),
                self.native
            )));
        }
        if self.may_be_placeholder {
            let object = object.value().try_to::<Gd<Object>>().ok();
            if object.is_none_or(|object| !self.script.instance_has(&object)) {
                let name = quoted(&self.name);
                return Err(Error::object(format!(
                    "an object of class {name} has no variables in the editor, where only scripts with @tool run"
                )));
            }
        }
        Ok(())
    }

    /// Returns whether `class` names the script, a script that it extends, or one of its native classes.
    pub fn is(&self, class: &StringName) -> bool {
        self.lineage.contains(class)
    }

    #[cold]
    pub(crate) fn wrong_version(&self, found: i64) -> Error {
        let (name, version) = (quoted(&self.name), self.version);
        Error::object(if found > version {
            format!(
                "class {name} has version {version}, but the data has version {found}: it is from a newer game"
            )
        } else {
            format!(
                "class {name} has version {version}, but the data has version {found}; give what `register` returned an `upgrade`"
            )
        })
    }
}

fn lineage(script: &Gd<Script>, native: &StringName) -> Vec<StringName> {
    let scripts = std::iter::successors(Some(script.clone()), |script| script.get_base_script());
    let named = scripts.map(|script| script.get_global_name()).filter(|name| !name.is_empty());
    let natives = std::iter::successors(Some(native.clone()), |class| {
        Some(ClassDb::singleton().get_parent_class(class)).filter(|parent| !parent.is_empty())
    });
    named.chain(natives).collect()
}

/// The listed properties, or all variables of the script.
fn properties(
    script: &Gd<Script>,
    native: &StringName,
    listed: Option<&PackedStringArray>,
    methods: &Methods,
) -> Result<Vec<Property>> {
    let variables = variables(script);
    let Some(listed) = listed else {
        return Ok(variables
            .map(|info| Property::of(&name_of(&info), Declared::of(&info, script)))
            .collect());
    };
    let mut variables: HashMap<String, VarDictionary> =
        variables.map(|info| (text_of(&name_of(&info)), info)).collect();
    for info in ClassDb::singleton().class_get_property_list(native).iter_shared() {
        let is_property =
            usage_of(&info) & (PropertyUsageFlags::STORAGE | PropertyUsageFlags::EDITOR).ord() != 0;
        if is_property {
            variables.entry(text_of(&name_of(&info))).or_insert(info);
        }
    }
    let mut properties: Vec<Property> = Vec::new();
    for text in listed.as_slice().iter().map(text_of) {
        if properties.iter().any(|property| property.text == text) {
            return Err(Error::argument(format!("`properties` has {} twice", quoted(&text))));
        }
        let declared = match variables.get(&text) {
            _ if text == "script" || tag::is_tag(&text) => {
                return Err(Error::argument(format!("the property {} cannot be written", quoted(&text))));
            }
            Some(info) => Declared::of(info, script),
            None if methods.has_dynamic_properties => Declared::Any,
            None => {
                let class = script_label(script);
                return Err(Error::argument(format!("{class} has no property {}", quoted(&text))));
            }
        };
        properties.push(Property::of(&GString::from(&text), declared));
    }
    Ok(properties)
}

impl Property {
    fn of(name: &GString, declared: Declared) -> Self {
        Self { name: StringName::from(name), text: text_of(name), declared }
    }
}

fn text(list: &str, value: &Variant) -> Result<String> {
    match Reader::new().ty(value) {
        Some(VariantType::String | VariantType::StringName) => Ok(text_of(&value.stringify())),
        _ => Err(Error::argument(format!("`{list}`: expected a String, found {}", value.stringify()))),
    }
}

fn callable(callable: &Callable, name: &str) -> Result<Option<Callable>> {
    match callable {
        none if none.is_null() => Ok(None),
        callable if callable.is_valid() => Ok(Some(callable.clone())),
        _ => Err(Error::argument(format!("`{name}` must be a valid Callable"))),
    }
}
