//! Typed containers: the values that they take, convert or drop.

use godot::builtin::{StringName, Variant};
use godot::classes::{Object, Script};
use godot::obj::Gd;
use variant_codec::stream::ElementType;
use variant_codec::{Error, ErrorKind, Result, Strictness, VariantType};
use variant_engine::{ContainerType, Converted, is_instance, string};

use crate::decode::builder::{VariantBuilder, unfinished};
use crate::decode::built::{CreatedObjects, check_converted_text};
use crate::objects::labels::{label, type_label};
use crate::objects::scripts::load_script;

pub(super) struct TypedArray {
    pub element: ContainerType,
    /// The number of objects created before the element.
    pub created_before: usize,
    /// Objects in elements that do not fit.
    pub unused: CreatedObjects,
}

pub(super) struct TypedDictionary {
    pub key: ContainerType,
    pub value: ContainerType,
    pub keeps_entry: bool,
    /// The number of objects created before the entry.
    pub created_before: usize,
    /// Objects in keys that do not fit, and objects in dropped entries.
    pub unused: CreatedObjects,
}

impl VariantBuilder<'_, '_> {
    /// The live form of a declared element type; loads the script it names.
    #[cold]
    #[inline(never)]
    pub(super) fn declared(&mut self, element: ElementType<'_>) -> Result<ContainerType> {
        Ok(match element {
            ElementType::Untyped => ContainerType::Untyped,
            ElementType::Builtin(ty) => ContainerType::Builtin(ty),
            ElementType::Class(name) => {
                ContainerType::Object { class: StringName::from(&string(name)), script: None }
            }
            ElementType::Script(path) => {
                let script = load_script(&string(path))?;
                let class = script.get_instance_base_type();
                if class == StringName::default() {
                    // A script with errors has no base class; the engine drops the type.
                    ContainerType::Untyped
                } else {
                    ContainerType::Object { class, script: Some(script) }
                }
            }
        })
    }

    #[inline(always)]
    pub(super) fn last_fits(&self, declared: &ContainerType) -> bool {
        declared.accepts_type(self.building.last_type(), |class, script| self.last_is_instance(class, script))
    }

    #[inline(never)]
    fn last_is_instance(&self, class: &StringName, script: Option<&Gd<Script>>) -> bool {
        self.building.last().is_some_and(|value| is_instance(value, class, script))
    }

    /// The value as the engine's typed append converts it, without printed errors; `None` if the engine would
    /// refuse the value.
    ///
    /// # Errors
    /// [`ErrorKind::TextTooLarge`].
    fn converted(&mut self, declared: &ContainerType, value: &Variant) -> Result<Option<Variant>> {
        let ContainerType::Builtin(target) = declared else { return Ok(None) };
        let Some(Converted { value, text }) = self.conversions.convert(*target, value) else {
            return Ok(None);
        };
        self.converted_text = self.converted_text.saturating_add(text);
        let bytes = self.input.map_or(0, |input| input.bytes().len());
        check_converted_text(self.converted_text, bytes)?;
        Ok(Some(value))
    }

    /// Converts a misfitting element as the engine does, or drops it.
    #[cold]
    #[inline(never)]
    pub(super) fn convert_element(&mut self, typed: &mut TypedArray) -> Result<()> {
        // Other threads fill elements by index, and dropping one would shift them.
        if self.strictness == Strictness::Strict || self.parts.is_some() {
            return Err(self.type_mismatch("Array", &typed.element));
        }
        typed.unused.take_from(&mut self.created, typed.created_before);
        let value = self.building.last().ok_or_else(unfinished)?.clone();
        match self.converted(&typed.element, &value)? {
            Some(value) => self.building.put(value),
            None => {
                self.dropped += 1;
                self.building.drop_element();
            }
        }
        Ok(())
    }

    /// Whether a typed Dictionary keeps the entry whose key was put last. Converts the key first if the
    /// engine would.
    #[inline(never)]
    pub(super) fn keep_key(&mut self, typed: &mut TypedDictionary) -> Result<bool> {
        if self.last_fits(&typed.key) {
            return Ok(true);
        }
        if self.strictness == Strictness::Strict {
            return Err(self.type_mismatch("Dictionary's keys", &typed.key));
        }
        typed.unused.take_from(&mut self.created, typed.created_before);
        let key = self.building.last().ok_or_else(unfinished)?.clone();
        match self.converted(&typed.key, &key)? {
            Some(key) => self.building.put(key),
            None => {
                self.dropped += 1;
                typed.keeps_entry = false;
            }
        }
        Ok(typed.keeps_entry)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn type_mismatch(&self, container: &'static str, declared: &ContainerType) -> Error {
        let object = self.building.last().and_then(|value| value.try_to::<Gd<Object>>().ok());
        let found = match object {
            Some(object) => label(&object),
            None => self.building.last_type().map_or("value", VariantType::name).to_owned(),
        };
        ErrorKind::WrongElementType { container, expected: type_label(declared), found }.into()
    }
}
