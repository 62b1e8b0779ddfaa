//! Events → live Variant.

use godot::builtin::{GString, PackedByteArray, PackedStringArray, StringName, Variant};
use godot::classes::{EncodedObjectAsId, Object};
use godot::global::bytes_to_var;
use godot::meta::ToGodot;
use godot::obj::{Gd, InstanceId, NewGd};
use variant_codec::{
    ElementType, EncodeOptions, Encoder, Error, ErrorKind, Lanes, Manner, NodePathParts, Oddity, Result,
    Sink, Text, VariantType,
};

use crate::engine::{Building, ContainerType, Conversions, PRECISION, Reader, string};
use crate::objects;

/// Builds a live Variant.
pub struct VariantBuilder {
    building: Building,
    manner: Manner,
    reader: Reader,
    conversions: &'static Conversions,
    misfits: usize,
    /// Objects that nothing frees by itself if the value is abandoned.
    made: Vec<InstanceId>,
}

/// A finished value.
pub struct Built {
    /// The value.
    pub value: Variant,
    /// Elements and keys that were dropped, as the engine does, because their typed container does not take them.
    pub misfits: usize,
}

impl VariantBuilder {
    /// A builder at its start.
    pub fn new(manner: Manner) -> Self {
        Self {
            building: Building::new(),
            manner,
            reader: Reader::new(),
            conversions: Conversions::get(),
            misfits: 0,
            made: Vec::new(),
        }
    }

    /// The value, once it is complete.
    pub fn finish(mut self) -> Built {
        self.made.clear();
        let building = std::mem::replace(&mut self.building, Building::new());
        Built { value: building.finish(), misfits: self.misfits }
    }

    /// What the engine's own reader makes of a value that extensions have no other way to make.
    fn put_by_engine(&mut self, pour: impl FnOnce(&mut Encoder<Vec<u8>>) -> Result<()>) -> Result<()> {
        let mut encoder = Encoder::new(Vec::new(), EncodeOptions { precision: PRECISION, strict_text: true });
        pour(&mut encoder)?;
        self.building.put(bytes_to_var(&PackedByteArray::from(encoder.into_output().as_slice())));
        Ok(())
    }

    /// The live form of a declared element type; loads the script it names.
    fn declared(element: ElementType<'_>) -> Result<ContainerType> {
        Ok(match element {
            ElementType::Untyped => ContainerType::Untyped,
            ElementType::Builtin(ty) => ContainerType::Builtin(ty),
            ElementType::Class(name) => {
                ContainerType::Object { class: StringName::from(&string(name)), script: None }
            }
            ElementType::Script(path) => {
                let script = objects::load_script(&string(path))?;
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

    /// Whether a container takes the value as it is.
    #[inline(always)]
    fn fits(&self, declared: &ContainerType, value: &Variant) -> bool {
        match declared {
            ContainerType::Untyped => true,
            ContainerType::Builtin(VariantType::Object) => {
                matches!(self.reader.ty(value), Some(VariantType::Object | VariantType::Nil))
            }
            ContainerType::Builtin(declared) => self.reader.ty(value) == Some(*declared),
            ContainerType::Object { class, script } => match self.reader.ty(value) {
                Some(VariantType::Nil) => true,
                Some(VariantType::Object) => objects::is_instance(value, class, script.as_ref()),
                _ => false,
            },
        }
    }

    /// The value as the engine's typed append converts it without complaint; `None` if it would not take it.
    fn converted(&self, declared: &ContainerType, value: Variant) -> Option<Variant> {
        let ContainerType::Builtin(target) = declared else { return None };
        let source = self.reader.ty(&value)?;
        self.conversions.takes(*target, source).then(|| self.conversions.quieten(*target, value))
    }

    /// What a typed Array becomes of elements that do not all fit: converted by the engine, or dropped.
    #[cold]
    fn sort_out(&mut self, declared: &ContainerType, array: &Variant) -> Variant {
        let sorted = Building::empty_array_of(declared);
        let elements = self.reader.elements(array);
        for value in (0..elements.len()).filter_map(|index| elements.get(index)) {
            let taken = if self.fits(declared, value) {
                Some(value.clone())
            } else {
                self.converted(declared, value.clone())
            };
            match taken {
                Some(value) => drop(sorted.call("append", &[value])),
                None => self.misfits += 1,
            }
        }
        sorted
    }

    #[cold]
    fn misfit(&self, container: &'static str, declared: &ContainerType) -> Error {
        let found = self.building.last();
        let expected = match declared {
            ContainerType::Object { class, script: None } => class.to_string(),
            ContainerType::Object { script: Some(script), .. } => script.get_path().to_string(),
            ContainerType::Builtin(ty) => ty.to_string(),
            ContainerType::Untyped => "Variant".to_owned(),
        };
        let found = match found.try_to::<Gd<Object>>() {
            Ok(object) => object.get_class().to_string(),
            Err(_) => self.reader.ty(self.building.last()).map_or("value", VariantType::name).to_owned(),
        };
        ErrorKind::WrongElementType { container, expected, found }.into()
    }
}

impl Drop for VariantBuilder {
    /// Frees what an abandoned value leaves behind; newest first, so that parents outlive their children.
    fn drop(&mut self) {
        for id in self.made.drain(..).rev() {
            if let Ok(object) = Gd::<Object>::try_from_instance_id(id) {
                object.free();
            }
        }
    }
}

/// A typed or plain Array under construction.
pub struct ArrayFrame {
    declared: ContainerType,
    fits: bool,
}

/// A typed or plain Dictionary under construction.
pub struct DictionaryFrame {
    key: ContainerType,
    value: ContainerType,
    len: usize,
}

/// An object whose properties are being set.
pub struct ObjectFrame {
    object: Gd<Object>,
    property: GString,
}

impl Sink for VariantBuilder {
    type Array = ArrayFrame;
    type Dictionary = DictionaryFrame;
    type Object = ObjectFrame;
    type Strings = (PackedStringArray, usize);

    #[inline(always)]
    fn nil(&mut self) -> Result<()> {
        // Places are Nil until something is put there.
        Ok(())
    }

    #[inline(always)]
    fn bool(&mut self, value: bool) -> Result<()> {
        self.building.put_bool(value);
        Ok(())
    }

    #[inline(always)]
    fn int(&mut self, value: i64) -> Result<()> {
        self.building.put_int(value);
        Ok(())
    }

    #[inline(always)]
    fn float(&mut self, value: f64) -> Result<()> {
        self.building.put_float(value);
        Ok(())
    }

    #[inline(always)]
    fn text(&mut self, ty: VariantType, text: Text<'_>) -> Result<()> {
        if ty == VariantType::StringName {
            self.building.put_string_name(text);
        } else {
            self.building.put_string(text);
        }
        Ok(())
    }

    #[inline(always)]
    fn fixed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        self.building.put_lanes(ty, lanes);
        Ok(())
    }

    fn packed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        self.building.put_packed(ty, lanes);
        Ok(())
    }

    fn node_path(&mut self, path: NodePathParts<'_>) -> Result<()> {
        // Parts may hold separators, so the path cannot be made from one text.
        self.put_by_engine(|encoder| encoder.node_path(path))
    }

    #[inline(always)]
    fn rid(&mut self, id: u64) -> Result<()> {
        self.building.put_rid(id);
        Ok(())
    }

    fn callable(&mut self) -> Result<()> {
        self.building.put(Building::default_value(VariantType::Callable));
        Ok(())
    }

    fn signal(&mut self, name: Text<'_>, object: u64) -> Result<()> {
        // The object need not exist, which only the engine's own constructor allows.
        self.put_by_engine(|encoder| encoder.signal(name, object))
    }

    fn object_id(&mut self, id: u64) -> Result<()> {
        if id == 0 {
            self.building.put_null_object();
        } else {
            let mut stand_in = EncodedObjectAsId::new_gd();
            stand_in.set_object_id(id);
            self.building.put(stand_in.to_variant());
        }
        Ok(())
    }

    #[inline(always)]
    fn begin_array(&mut self, len: usize, element: ElementType<'_>) -> Result<ArrayFrame> {
        let declared = Self::declared(element)?;
        if !self.building.open_array(len, &declared) {
            return Err(Error::object(format!("no memory for an Array of {len} elements")));
        }
        Ok(ArrayFrame { declared, fits: true })
    }

    #[inline(always)]
    fn begin_element(&mut self, _array: &mut ArrayFrame) -> Result<()> {
        self.building.next_element();
        Ok(())
    }

    #[inline(always)]
    fn end_element(&mut self, array: &mut ArrayFrame) -> Result<()> {
        if !self.fits(&array.declared, self.building.last()) {
            if self.manner == Manner::Strict {
                return Err(self.misfit("Array", &array.declared));
            }
            array.fits = false;
        }
        Ok(())
    }

    #[inline(always)]
    fn end_array(&mut self, frame: ArrayFrame) -> Result<()> {
        let array = self.building.close_array();
        if !frame.fits {
            let sorted = self.sort_out(&frame.declared, &array);
            self.building.put(sorted);
        }
        Ok(())
    }

    #[inline(always)]
    fn begin_dictionary(
        &mut self,
        len: usize,
        key: ElementType<'_>,
        value: ElementType<'_>,
    ) -> Result<DictionaryFrame> {
        let (key, value) = (Self::declared(key)?, Self::declared(value)?);
        self.building.open_dictionary(&key, &value);
        Ok(DictionaryFrame { key, value, len })
    }

    #[inline(always)]
    fn begin_key(&mut self, _dictionary: &mut DictionaryFrame) -> Result<()> {
        self.building.next_key();
        Ok(())
    }

    #[inline(always)]
    fn begin_value(&mut self, dictionary: &mut DictionaryFrame) -> Result<()> {
        let mut kept = true;
        if !self.fits(&dictionary.key, self.building.last()) {
            if self.manner == Manner::Strict {
                return Err(self.misfit("Dictionary's keys", &dictionary.key));
            }
            match self.converted(&dictionary.key, self.building.last().clone()) {
                Some(key) => self.building.put(key),
                None => {
                    kept = false;
                    self.misfits += 1;
                }
            }
        }
        self.building.next_value(kept);
        Ok(())
    }

    #[inline(always)]
    fn end_entry(&mut self, dictionary: &mut DictionaryFrame) -> Result<()> {
        if !self.fits(&dictionary.value, self.building.last()) {
            // A typed script would take the value for what it is not.
            return Err(self.misfit("Dictionary's values", &dictionary.value));
        }
        Ok(())
    }

    #[inline(always)]
    fn end_dictionary(&mut self, dictionary: DictionaryFrame) -> Result<()> {
        let len = self.building.close_dictionary();
        if self.manner == Manner::Strict && len != dictionary.len {
            return Err(ErrorKind::NotCanonical(Oddity::DuplicateKey).into());
        }
        Ok(())
    }

    fn begin_object(&mut self, class: Text<'_>, _properties: usize) -> Result<ObjectFrame> {
        let value = objects::instantiate(&StringName::from(&string(class)))?;
        let object = value
            .try_to::<Gd<Object>>()
            .map_err(|_| Error::object(format!("the engine made no object of class {}", class.to_lossy())))?;
        if !object.is_class("RefCounted") {
            self.made.push(object.instance_id());
        }
        self.building.put(value);
        Ok(ObjectFrame { object, property: GString::new() })
    }

    fn begin_property(&mut self, object: &mut ObjectFrame, name: Text<'_>) -> Result<()> {
        object.property = string(name);
        self.building.open_aside();
        Ok(())
    }

    fn end_property(&mut self, frame: &mut ObjectFrame) -> Result<()> {
        let value = self.building.close_aside();
        objects::set_property(&mut frame.object, &frame.property, &value)
    }

    fn end_object(&mut self, _object: ObjectFrame) -> Result<()> {
        Ok(())
    }

    fn begin_strings(&mut self, len: usize) -> Result<Self::Strings> {
        let mut strings = PackedStringArray::new();
        strings.resize(len);
        Ok((strings, 0))
    }

    #[inline(always)]
    fn string(&mut self, (strings, at): &mut Self::Strings, text: Text<'_>) -> Result<()> {
        strings.as_mut_slice()[*at] = string(text);
        *at += 1;
        Ok(())
    }

    fn end_strings(&mut self, (strings, _): Self::Strings) -> Result<()> {
        self.building.put(strings.to_variant());
        Ok(())
    }
}
