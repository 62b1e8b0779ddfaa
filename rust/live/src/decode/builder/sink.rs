//! The builder as a sink of events.

use godot::builtin::Variant;
use godot::classes::ClassDb;
use godot::meta::ToGodot;
use godot::obj::Singleton;
use variant_codec::error::Oddity;
use variant_codec::format::BOM;
use variant_codec::stream::{
    Decoder, ElementType, Lanes, NodePathParts, Part, PartSink, Precision, Sink, Text,
};
use variant_codec::{Error, ErrorKind, Result, Strictness, VariantType};
use variant_engine::{Building, ContainerType, StringSlots, raw_string, run_bytes, string};

use crate::decode::builder::typed::{TypedArray, TypedDictionary};
use crate::decode::builder::{Key, VariantBuilder};
use crate::decode::built::{ConversionCounts, CreatedObjects};
use crate::decode::keys::RowCursor;
use crate::decode::native_objects::NewObject;
use crate::decode::part_tasks::{PartSlots, PartTask};

/// An Array under construction; small, because each level of nesting has one on the stack.
#[derive(Default)]
pub struct ArrayFrame(Option<Box<TypedArray>>);

/// A Dictionary under construction; small, because each level of nesting has one on the stack.
pub struct DictionaryFrame {
    typed: Option<Box<TypedDictionary>>,
    len: usize,
    cursor: RowCursor,
}

impl<'s> VariantBuilder<'_, 's> {
    /// Fills the slots of a task that another builder of the same input has handed over.
    ///
    /// # Errors
    /// Fails if the bytes are invalid.
    pub fn fill(self, task: PartTask<'s>, decoder: &mut Decoder<'_>) -> Result<ConversionCounts> {
        let PartTask { part, slots } = task;
        match slots {
            PartSlots::Values(slots) => {
                let mut builder = Self { building: Building::of_elements(slots), ..self };
                let mut array = ArrayFrame::default();
                decoder.decode_part(&part, &mut builder, &mut array)?;
                builder.building.close_array();
                Ok(ConversionCounts { dropped: builder.dropped, converted_text: builder.converted_text })
            }
            PartSlots::Strings(mut strings) => {
                let mut builder = self;
                decoder.decode_strings_part(&part, &mut builder, &mut strings)?;
                Ok(ConversionCounts::default())
            }
        }
    }
}

impl VariantBuilder<'_, '_> {
    /// Puts an EncodedObjectAsID, which equals no other value.
    pub fn put_stand_in(&mut self, id: u64) {
        let stand_in = ClassDb::singleton().instantiate("EncodedObjectAsID");
        stand_in.call("set_object_id", &[id.cast_signed().to_variant()]);
        self.building.put(stand_in);
    }
}

impl<'s> Sink for VariantBuilder<'_, 's> {
    type Array = ArrayFrame;
    type Dictionary = DictionaryFrame;
    type Object = NewObject;
    type Strings = StringSlots<'s>;

    #[inline(always)]
    fn nil(&mut self) -> Result<()> {
        // Slots are Nil until a value is put.
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
        refuse_nul(text)?;
        match (ty, text) {
            (VariantType::StringName, _) => self.building.put_string_name(text),
            (_, Text::Utf8(utf8)) if self.building.is_at_key() => {
                if self.keys.is_next(self.cursor, utf8.as_bytes()) {
                    self.key = Key::Next;
                } else if let Some(cached) = self.keys.keep(utf8) {
                    self.key = Key::Cached(cached);
                } else {
                    self.building.put_string(string(text));
                }
            }
            _ => self.building.put_string(string(text)),
        }
        Ok(())
    }

    #[inline(always)]
    fn raw_text(&mut self, ty: VariantType, bytes: &[u8]) -> Result<bool> {
        if ty == VariantType::StringName {
            return Ok(false);
        }
        if self.building.is_at_key() {
            // Bytes that equal a cached key are valid text, so they need no check.
            if self.keys.is_next(self.cursor, bytes) {
                self.key = Key::Next;
            } else if self.keys.passes(bytes) {
                let Some(string) = raw_string(bytes, &mut self.units) else { return Ok(false) };
                self.building.put_string(string);
            } else if let Some(cached) = self.keys.find(bytes) {
                self.key = Key::Cached(cached);
            } else {
                return Ok(false);
            }
            return Ok(true);
        }
        let Self { keys, units, .. } = self;
        let Some(string) = keys.texts.string(bytes, || raw_string(bytes, units)) else {
            return Ok(false);
        };
        self.building.put_string(string);
        Ok(true)
    }

    #[inline(always)]
    fn fixed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        self.building.put_lanes(ty, lanes);
        Ok(())
    }

    fn packed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        match self.copied_by_engine(ty, lanes.le) {
            Some(value) => self.building.put(value),
            None => self.building.put_packed(ty, lanes)?,
        }
        Ok(())
    }

    fn node_path(&mut self, path: NodePathParts<'_>) -> Result<()> {
        if let Some((input, offset)) = self.input.zip(self.offset_of(&path))
            && input.with_packed(|bytes| self.building.put_decoded(VariantType::NodePath, bytes, offset))
        {
            return Ok(());
        }
        if path.names.is_empty() && path.subnames.is_empty() {
            self.building.put_node_path(if path.absolute { "/" } else { "" });
            return Ok(());
        }
        // Names may contain separators, so the path cannot be made from one text.
        let (names, subnames) = (marked(path.names), marked(path.subnames));
        let (names, subnames) = (texts(&names), texts(&subnames));
        let path = NodePathParts { absolute: path.absolute, names: &names, subnames: &subnames };
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
        if self.building.put_signal(name, object) {
            return Ok(());
        }
        // Only the engine's own reader accepts a Signal whose object does not exist.
        let name = marked(&[name]);
        self.put_by_engine(|encoder| encoder.signal(texts(&name)[0], object))
    }

    fn object_id(&mut self, id: u64) -> Result<()> {
        if id == 0 {
            self.building.put_null_object();
        } else if self.lost_objects_as_null {
            return self.nil();
        } else {
            self.put_stand_in(id);
        }
        Ok(())
    }

    #[inline(always)]
    fn begin_array(&mut self, len: usize, element: ElementType<'_>) -> Result<ArrayFrame> {
        let typed = match element {
            ElementType::Untyped => None,
            _ => Some(Box::new(TypedArray {
                element: self.declared(element)?,
                created_before: self.created.len(),
                unused: CreatedObjects::default(),
            })),
        };
        let declared = typed.as_ref().map_or(&ContainerType::Untyped, |typed| &typed.element);
        if !self.building.open_array(len, declared) {
            return Err(ErrorKind::OutOfMemory(len.saturating_mul(size_of::<Variant>())).into());
        }
        Ok(ArrayFrame(typed))
    }

    #[inline(always)]
    fn begin_element(&mut self, _array: &mut ArrayFrame) -> Result<()> {
        self.building.next_element();
        Ok(())
    }

    #[inline(always)]
    fn end_element(&mut self, array: &mut ArrayFrame) -> Result<()> {
        if let Some(typed) = &mut array.0 {
            if !self.last_fits(&typed.element) {
                self.convert_element(typed)?;
            }
            typed.created_before = self.created.len();
        }
        Ok(())
    }

    #[inline(always)]
    fn end_array(&mut self, _array: ArrayFrame) -> Result<()> {
        self.building.close_array();
        Ok(())
    }

    #[inline(always)]
    fn in_parts(&mut self) -> Option<&mut impl PartSink<Self>> {
        self.parts.is_some().then_some(self)
    }

    #[inline(always)]
    fn ints(&mut self, array: &mut ArrayFrame, ints: &mut impl Iterator<Item = i64>) -> Result<()> {
        if self.building.put_run(VariantType::Int, &mut ints.map(i64::to_le_bytes)) {
            return Ok(());
        }
        ints.try_for_each(|int| {
            self.begin_element(array)?;
            self.int(int)?;
            self.end_element(array)
        })
    }

    #[inline(always)]
    fn floats(&mut self, array: &mut ArrayFrame, floats: &mut impl Iterator<Item = f64>) -> Result<()> {
        if self.building.put_run(VariantType::Float, &mut floats.map(f64::to_le_bytes)) {
            return Ok(());
        }
        floats.try_for_each(|float| {
            self.begin_element(array)?;
            self.float(float)?;
            self.end_element(array)
        })
    }

    #[inline(always)]
    fn fixed_run<const N: usize>(
        &mut self,
        array: &mut ArrayFrame,
        ty: VariantType,
        precision: Precision,
        values: &mut impl Iterator<Item = [u8; N]>,
    ) -> Result<()> {
        if run_bytes(ty) == Some(N) && self.building.put_run(ty, values) {
            return Ok(());
        }
        values.try_for_each(|le| {
            self.begin_element(array)?;
            self.fixed(ty, Lanes { precision, le: &le })?;
            self.end_element(array)
        })
    }

    #[inline(always)]
    fn begin_dictionary(
        &mut self,
        len: usize,
        key: ElementType<'_>,
        value: ElementType<'_>,
    ) -> Result<DictionaryFrame> {
        let typed = match (key, value) {
            (ElementType::Untyped, ElementType::Untyped) => {
                self.building.open_dictionary(&ContainerType::Untyped, &ContainerType::Untyped);
                None
            }
            _ => {
                let (key, value) = (self.declared(key)?, self.declared(value)?);
                self.building.open_dictionary(&key, &value);
                let (created_before, unused) = (self.created.len(), CreatedObjects::default());
                Some(Box::new(TypedDictionary { key, value, keeps_entry: true, created_before, unused }))
            }
        };
        let cursor = RowCursor::start(len, typed.is_none() && self.reader.is_direct());
        Ok(DictionaryFrame { typed, len, cursor })
    }

    #[inline(always)]
    fn begin_key(&mut self, dictionary: &mut DictionaryFrame) -> Result<()> {
        self.building.next_key();
        self.cursor = dictionary.cursor;
        Ok(())
    }

    #[inline(always)]
    fn begin_value(&mut self, dictionary: &mut DictionaryFrame) -> Result<()> {
        let DictionaryFrame { typed, len, cursor } = dictionary;
        let key = std::mem::replace(&mut self.key, Key::Put);
        if cursor.is_copied() {
            if let Key::Next = key {
                cursor.advance();
                self.building.next_copied_value();
                return Ok(());
            }
            self.leave_row(cursor);
        }
        match (typed, key) {
            (None, Key::Cached(cached)) => {
                if let Some(template) = self.keys.follow(cursor, cached, *len) {
                    self.building.copy_entries(template);
                    self.building.next_copied_value();
                } else if let Some(key) = self.keys.kept(cached) {
                    self.building.next_value_of(key);
                }
            }
            (None, _) => {
                cursor.leave();
                self.building.next_value(true);
            }
            (Some(typed), key) => {
                if let Key::Cached(cached) = key
                    && let Some(key) = self.keys.kept(cached)
                {
                    self.building.put(key.clone());
                }
                let kept = self.keep_key(typed)?;
                self.building.next_value(kept);
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn keeps_entry(&self, dictionary: &DictionaryFrame) -> bool {
        dictionary.typed.as_ref().is_none_or(|typed| typed.keeps_entry)
    }

    #[inline(always)]
    fn end_entry(&mut self, dictionary: &mut DictionaryFrame) -> Result<()> {
        let Some(typed) = &mut dictionary.typed else { return Ok(()) };
        // A statically typed script would assume that the value has the declared type, so a mismatch is always
        // an error.
        if typed.keeps_entry && !self.last_fits(&typed.value) {
            return Err(self.type_mismatch("Dictionary's values", &typed.value));
        }
        if !std::mem::replace(&mut typed.keeps_entry, true) {
            typed.unused.take_from(&mut self.created, typed.created_before);
        }
        typed.created_before = self.created.len();
        Ok(())
    }

    #[inline(always)]
    fn end_dictionary(&mut self, dictionary: DictionaryFrame) -> Result<()> {
        // With several threads, the values of duplicate keys would arrive in any order, so duplicates are
        // refused, too.
        let counted = self.strictness == Strictness::Strict || self.parts.is_some();
        if counted && self.building.dictionary_len() != dictionary.len {
            return Err(ErrorKind::NotCanonical(Oddity::DuplicateKey).into());
        }
        self.building.close_dictionary();
        if dictionary.cursor.is_copied() {
            self.keys.complete_row(dictionary.cursor);
        } else if let Some(complete) = self.building.last() {
            self.keys.learn(dictionary.cursor, self.reader, complete);
        }
        Ok(())
    }

    fn begin_object(&mut self, class: Text<'_>, _properties: usize) -> Result<NewObject> {
        let (object, value) = self.keys.objects.instantiate(class)?;
        if let Some(id) = object.uncounted_id() {
            self.created.push(id);
        }
        self.building.put(value);
        Ok(object)
    }

    fn begin_property(&mut self, object: &mut NewObject, name: Text<'_>) -> Result<()> {
        object.begin_property(name);
        self.building.open_detached();
        Ok(())
    }

    fn end_property(&mut self, object: &mut NewObject) -> Result<()> {
        let value = self.building.close_detached();
        self.keys.objects.set_property(object, &value, self.strictness)
    }

    fn end_object(&mut self, _object: NewObject) -> Result<()> {
        Ok(())
    }

    fn begin_strings(&mut self, len: usize) -> Result<StringSlots<'s>> {
        StringSlots::new(len)
    }

    #[inline(always)]
    fn string(&mut self, strings: &mut StringSlots<'s>, text: Text<'_>) -> Result<()> {
        refuse_nul(text)?;
        strings.put(string(text));
        Ok(())
    }

    #[inline(always)]
    fn raw_string(&mut self, strings: &mut StringSlots<'s>, bytes: &[u8]) -> Result<bool> {
        let Some(string) = raw_string(bytes, &mut self.units) else { return Ok(false) };
        strings.put(string);
        Ok(true)
    }

    fn end_strings(&mut self, strings: StringSlots<'s>) -> Result<()> {
        self.building.put_strings(strings);
        Ok(())
    }
}

impl<'s> PartSink<Self> for VariantBuilder<'_, 's> {
    #[inline(always)]
    fn part_bytes(&self) -> usize {
        self.parts.as_ref().map_or(usize::MAX, |parts| parts.bytes)
    }

    fn part(&mut self, _array: &mut ArrayFrame, part: Part) -> Result<()> {
        let Some(parts) = &self.parts else {
            return Err(Error::argument("no other thread decodes parts of this value"));
        };
        let slots = PartSlots::Values(self.building.leave_elements(part.count));
        (parts.take)(PartTask { part, slots });
        Ok(())
    }

    fn strings_part(&mut self, strings: &mut StringSlots<'s>, part: Part) -> Result<()> {
        let Some(parts) = &self.parts else {
            return Err(Error::argument("no other thread decodes parts of this value"));
        };
        let slots = PartSlots::Strings(strings.leave(part.count));
        (parts.take)(PartTask { part, slots });
        Ok(())
    }
}

/// Refuses a NUL, at which the engine's functions end text. Text in the engine's own format has no NUL here;
/// text in protobuf messages may have one.
#[inline(always)]
fn refuse_nul(text: Text<'_>) -> Result<()> {
    match text {
        Text::Utf8(text) if text.as_bytes().contains(&0) => Err(ErrorKind::InvalidCodeUnit(0).into()),
        _ => Ok(()),
    }
}

/// Text for the engine's decoder, which drops a leading byte-order mark: text that starts with one gets a second one.
fn marked(texts: &[Text<'_>]) -> Vec<String> {
    let marked = |text: &Text<'_>| {
        let text = text.to_lossy();
        if text.starts_with(BOM) { format!("{BOM}{text}") } else { text }
    };
    texts.iter().map(marked).collect()
}

fn texts(texts: &[String]) -> Vec<Text<'_>> {
    texts.iter().map(|text| Text::Utf8(text)).collect()
}
