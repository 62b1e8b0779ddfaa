//! Events → live Variant.

use godot::builtin::{GString, PackedByteArray, StringName, Variant};
use godot::classes::{EncodedObjectAsId, Node, Object};
use godot::global::bytes_to_var;
use godot::init::is_main_thread;
use godot::meta::ToGodot;
use godot::obj::{Gd, InstanceId, NewGd};
use variant_codec::error::{Oddity, quoted};
use variant_codec::format::{BOM, NODE_PATH_NEW_FORMAT};
use variant_codec::stream::{
    Decoder, ElementType, Encoder, Lanes, NodePathParts, Part, PartSink, Precision, Sink, Text,
};
use variant_codec::{EncodeOptions, Error, ErrorKind, Limits, Result, Strictness, VariantType};

use crate::codec::{Input, LARGE_BYTES, engine_is_as_fast};
use crate::collisions::{Buckets, Effort, FEW_KEYS};
use crate::engine::{
    Building, ContainerType, Conversions, Converted, LateValues, LeftValue, PRECISION, Reader, Slots,
    StringSlots, raw_string, run_bytes, string,
};
use crate::keys::{Kept, Keys, Progress};
use crate::objects;

/// Builds a live Variant.
pub struct VariantBuilder<'k> {
    building: Building,
    manner: Strictness,
    reader: Reader,
    conversions: &'static Conversions,
    keys: &'k mut Keys,
    refuses_colliding_keys: bool,
    /// How many keys what comes next lies in.
    key_level: u32,
    /// What is read, for what the engine can copy from it.
    input: &'k Input<'k>,
    /// The key that has just been poured.
    key: Key,
    /// Of the Dictionary whose key is next.
    progress: Progress,
    /// Memory to turn text into code units.
    units: Vec<u32>,
    misfits: usize,
    /// How many characters of text conversions have made of containers.
    converted_text: usize,
    made: Made,
    /// What is left to others. Boxed: most values are small.
    parts: Option<Box<Parts<'k>>>,
}

/// Parts that are left to another thread, and the places to fill.
pub struct Left {
    pub parts: Vec<Part>,
    pub places: Places,
}

/// Places to fill.
pub enum Places {
    Values(Slots),
    Strings(StringSlots),
}

/// What is left to other threads.
pub struct Parts<'k> {
    bytes: usize,
    take: &'k dyn Fn(Left),
    /// Values of entries that make no part yet, and how many bytes they take.
    values: Vec<(LeftValue, Part)>,
    value_bytes: usize,
    late: Vec<LateValues>,
}

impl<'k> Parts<'k> {
    /// Parts of so many bytes, each of which `take` takes with the places to fill.
    pub fn new(bytes: usize, take: &'k dyn Fn(Left)) -> Self {
        Self { bytes, take, values: Vec::new(), value_bytes: 0, late: Vec::new() }
    }

    fn add_value(&mut self, value: LeftValue, part: Part) -> Result<()> {
        self.value_bytes += part.bytes.len();
        self.values.push((value, part));
        if self.value_bytes >= self.bytes { self.give_values() } else { Ok(()) }
    }

    fn give_values(&mut self) -> Result<()> {
        self.value_bytes = 0;
        if self.values.is_empty() {
            return Ok(());
        }
        let (left, parts) = self.values.drain(..).unzip();
        let (late, slots) = LateValues::new(left)?;
        self.late.push(late);
        (self.take)(Left { parts, places: Places::Values(slots) });
        Ok(())
    }
}

/// A key that has been poured.
#[derive(Clone, Copy)]
enum Key {
    /// It has been put in its place.
    Put,
    /// It is one that is kept.
    Kept(Kept),
    /// It is the next one of the row that the Dictionary follows.
    Next,
}

/// Objects that nothing frees by itself: they are freed if the value that holds them goes to nobody.
#[derive(Default)]
pub struct Made(Vec<InstanceId>);

impl Made {
    /// Takes over those that `made` has got since it held so many.
    fn take_from(&mut self, made: &mut Self, start: usize) {
        self.0.extend(made.0.drain(start..));
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes over all of them.
    pub fn append(&mut self, mut made: Self) {
        self.0.append(&mut made.0);
    }

    /// Somebody has the value that holds them.
    pub fn leave(&mut self) {
        self.0.clear();
    }
}

impl Drop for Made {
    /// Newest first, so that parents outlive their children.
    fn drop(&mut self) {
        for id in self.0.drain(..).rev() {
            if let Ok(object) = Gd::<Object>::try_from_instance_id(id) {
                free(object);
            }
        }
    }
}

/// Frees an object. A job may be let go of by any thread, while a script of a Node may have put it into the tree, which is the
/// main thread's.
fn free(mut object: Gd<Object>) {
    let is_in_tree =
        |object: &Gd<Object>| object.clone().try_cast::<Node>().is_ok_and(|node| node.is_inside_tree());
    if !is_main_thread() && is_in_tree(&object) {
        object.call_deferred("free", &[]);
    } else {
        object.free();
    }
}

/// A finished value. Dropped before it is given to anybody, it frees all objects that were made for it.
pub struct Built {
    value: Variant,
    /// Elements and keys that were dropped, as the engine does, because their typed container does not take them.
    pub misfits: usize,
    /// How many characters of text conversions have made of containers.
    pub converted_text: usize,
    made: Made,
}

impl Built {
    /// The value, which somebody has from here on.
    #[inline(always)]
    pub fn give(mut self) -> Variant {
        self.made.leave();
        self.value
    }

    /// The value, which nobody has yet, and what is to be freed should that stay so.
    #[inline(always)]
    pub fn into_parts(self) -> (Variant, Made) {
        (self.value, self.made)
    }

    /// The same with what others filled in it.
    pub fn with(self, others: Fill) -> Self {
        let Fill { misfits, converted_text } = others;
        Self { misfits: self.misfits + misfits, converted_text: self.converted_text + converted_text, ..self }
    }
}

/// What conversions came to in values that had been left.
#[derive(Default)]
pub struct Fill {
    /// As in [`Built`].
    pub misfits: usize,
    /// As in [`Built`].
    pub converted_text: usize,
}

/// Refuses so much text that typed containers would make of other containers in input of so many bytes.
///
/// # Errors
/// That it is too much.
pub fn check_converted_text(characters: usize, bytes: usize) -> Result<()> {
    /// What the engine writes for one byte, at most, is far less.
    const PER_BYTE: usize = 16;
    const FREE: usize = 1 << 16;
    const MOST: usize = 1 << 28;

    let most = bytes.saturating_mul(PER_BYTE).saturating_add(FREE).min(MOST);
    if characters > most { Err(ErrorKind::TextTooLarge(most).into()) } else { Ok(()) }
}

impl<'k> VariantBuilder<'k> {
    /// A builder at its start. `keys` are worth keeping from value to value, on one thread and for one call.
    #[inline(always)]
    pub fn new(manner: Strictness, limits: &Limits, keys: &'k mut Keys, input: &'k Input<'k>) -> Self {
        Self {
            building: Building::new(),
            manner,
            reader: Reader::new(),
            conversions: Conversions::get(),
            keys,
            refuses_colliding_keys: limits.refuse_colliding_keys,
            key_level: 0,
            input,
            key: Key::Put,
            progress: Progress::start(0, false),
            units: Vec::new(),
            misfits: 0,
            converted_text: 0,
            made: Made::default(),
            parts: None,
        }
    }

    /// The same, with parts left to others.
    pub fn with_parts(self, parts: Parts<'k>) -> Self {
        Self { parts: Some(Box::new(parts)), ..self }
    }

    /// Fills what was left by another builder of the same input. Returns what conversions came to.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn fill(self, left: Left, decoder: &mut Decoder<'_>) -> Result<Fill> {
        let Left { parts, places } = left;
        match places {
            Places::Values(slots) => {
                let mut builder = Self { building: Building::of_elements(slots), ..self };
                let mut array = ArrayFrame(None);
                parts.iter().try_for_each(|part| decoder.pour_part(part, &mut builder, &mut array))?;
                Ok(Fill { misfits: builder.misfits, converted_text: builder.converted_text })
            }
            Places::Strings(mut strings) => {
                let mut builder = self;
                let mut pour = |part| decoder.pour_strings_part(part, &mut builder, &mut strings);
                parts.iter().try_for_each(&mut pour).map(|()| Fill::default())
            }
        }
    }

    /// The value, once it is complete but for what was left to others, and what is to be settled when they are done.
    pub fn finish_in_part(mut self) -> Result<(Built, Vec<LateValues>)> {
        let late = match self.parts.take() {
            Some(mut parts) => {
                parts.give_values()?;
                parts.late
            }
            None => Vec::new(),
        };
        Ok((self.finish(), late))
    }

    /// The value, once it is complete.
    #[inline(always)]
    pub fn finish(self) -> Built {
        let Self { misfits, converted_text, made, .. } = self;
        Built { value: self.building.finish(), misfits, converted_text, made }
    }

    /// Refuses the key that was put last if too many collide.
    #[inline(always)]
    fn check_key(&mut self, buckets: &mut Option<Box<Buckets>>) -> Result<()> {
        if !self.refuses_colliding_keys {
            return Ok(());
        }
        let key = self.building.last();
        // Even two of them may hold whatever takes long to compare.
        let is_container =
            || matches!(self.reader.ty(key), Some(VariantType::Array | VariantType::Dictionary));
        if buckets.is_none() && !is_container() {
            return Ok(());
        }
        let buckets = buckets.get_or_insert_default();
        self.keys.collisions.add_key(buckets, &key, self.key_level > 0)
    }

    /// Refuses a name if too many collide.
    #[inline(always)]
    pub fn check_name(&mut self, name: Text<'_>) -> Result<()> {
        if !self.refuses_colliding_keys {
            return Ok(());
        }
        match name {
            Text::Utf8(name) => self.keys.collisions.add_name(name),
            _ => self.keys.collisions.add_name(&name.to_lossy()),
        }
    }

    /// Refuses a path with such a name.
    #[inline(always)]
    pub fn check_names(&mut self, path: NodePathParts<'_>) -> Result<()> {
        path.names.iter().chain(path.subnames).try_for_each(|name| self.check_name(*name))
    }

    /// The next value goes nowhere but to [`VariantBuilder::close_aside`].
    pub fn open_aside(&mut self) {
        self.building.open_aside();
    }

    /// The value that has gone nowhere else.
    pub fn close_aside(&mut self) -> Variant {
        self.building.close_aside()
    }

    /// What the engine's own reader makes of a value that extensions have no other way to make.
    fn put_by_engine(&mut self, pour: impl FnOnce(&mut Encoder<Vec<u8>>) -> Result<()>) -> Result<()> {
        let mut encoder =
            Encoder::new(Vec::new(), EncodeOptions { precision: PRECISION, strict_text: false });
        pour(&mut encoder)?;
        self.building.put(bytes_to_var(&PackedByteArray::from(encoder.into_output().as_slice())));
        Ok(())
    }

    /// Where in the bytes that are read the value starts that says exactly this, which the engine's own reader may read.
    fn offset_of(&self, path: &NodePathParts<'_>) -> Option<usize> {
        /// A header, three counters, and the length of the first part.
        const START: usize = 20;

        let Text::Utf8(first) = path.names.iter().chain(path.subnames).next()? else { return None };
        let bytes = self.input.bytes();
        let offset = (first.as_ptr() as usize).checked_sub(bytes.as_ptr() as usize)?.checked_sub(START)?;
        let found = bytes.get(offset..)?.first_chunk::<START>()?;
        let expected = [
            u32::from(VariantType::NodePath.id()),
            path.names.len() as u32 | NODE_PATH_NEW_FORMAT,
            path.subnames.len() as u32,
            u32::from(path.absolute),
            first.len() as u32,
        ];
        (found == expected.map(u32::to_le_bytes).as_flattened()).then_some(offset)
    }

    /// A large packed array as the engine copies it out of the bytes that are read, where it does so as fast as possible.
    fn copied_by_engine(&self, ty: VariantType, elements: &[u8]) -> Option<Variant> {
        /// In front of the elements: a header and a count.
        const HEADER: usize = 8;

        if elements.len() < LARGE_BYTES || !engine_is_as_fast(ty) {
            return None;
        }
        let bytes = self.input.bytes();
        let start = (elements.as_ptr() as usize).checked_sub(bytes.as_ptr() as usize)?;
        let end = start.checked_add(elements.len()).filter(|end| *end <= bytes.len())?;
        let bytes = self.input.to_packed();
        if ty == VariantType::PackedByteArray {
            return Some(bytes.subarray(start..end).to_variant());
        }
        let header = i64::try_from(start.checked_sub(HEADER)?).ok()?;
        let value = bytes.to_variant().call("decode_var", &[header.to_variant(), false.to_variant()]);
        (self.reader.ty(&value) == Some(ty)).then_some(value)
    }

    /// The live form of a declared element type; loads the script it names.
    #[cold]
    #[inline(never)]
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
    #[inline(never)]
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
    ///
    /// # Errors
    /// That too much text would be made of containers.
    fn converted(&mut self, declared: &ContainerType, value: &Variant) -> Result<Option<Variant>> {
        let ContainerType::Builtin(target) = declared else { return Ok(None) };
        let Some(Converted { value, text }) = self.conversions.convert(*target, value) else {
            return Ok(None);
        };
        self.converted_text = self.converted_text.saturating_add(text);
        check_converted_text(self.converted_text, self.input.bytes().len())?;
        Ok(Some(value))
    }

    /// Puts what a typed Array becomes of elements that do not all fit: converted by the engine, or dropped.
    #[cold]
    #[inline(never)]
    fn sort_out(&mut self, declared: &ContainerType) -> Result<()> {
        let array = self.building.last().clone();
        let sorted = Building::empty_array_of(declared);
        let elements = self.reader.elements(&array);
        for value in (0..elements.len()).filter_map(|index| elements.get(index)) {
            let taken = if self.fits(declared, value) {
                Some(value.clone())
            } else {
                self.converted(declared, value)?
            };
            match taken {
                Some(value) => drop(sorted.call("append", &[value])),
                None => self.misfits += 1,
            }
        }
        self.building.put(sorted);
        Ok(())
    }

    /// The next key is not the one of the row that the open Dictionary has followed.
    #[cold]
    #[inline(never)]
    fn leave_row(&mut self, progress: &mut Progress) {
        self.building.give_up_copied();
        self.keys.disappoint(*progress);
        progress.leave();
    }

    /// Whether a typed Dictionary keeps the entry of the key that was put last, which the engine may convert.
    #[inline(never)]
    fn keep_key(&mut self, typed: &mut TypedDictionary) -> Result<bool> {
        if self.fits(&typed.key, self.building.last()) {
            return Ok(true);
        }
        if self.manner == Strictness::Strict {
            return Err(self.misfit("Dictionary's keys", &typed.key));
        }
        typed.unused.take_from(&mut self.made, typed.made_before);
        let key = self.building.last().clone();
        match self.converted(&typed.key, &key)? {
            Some(key) => self.building.put(key),
            None => {
                self.misfits += 1;
                typed.keeps_entry = false;
            }
        }
        Ok(typed.keeps_entry)
    }

    #[cold]
    #[inline(never)]
    fn misfit(&self, container: &'static str, declared: &ContainerType) -> Error {
        let found = self.building.last();
        let found = match found.try_to::<Gd<Object>>() {
            Ok(object) => object.get_class().to_string(),
            Err(_) => self.reader.ty(self.building.last()).map_or("value", VariantType::name).to_owned(),
        };
        ErrorKind::WrongElementType { container, expected: declared.to_string(), found }.into()
    }
}

/// An Array under construction; small, since one lies on the stack for each level of nesting.
pub struct ArrayFrame(Option<Box<TypedArray>>);

/// What is known of a typed Array.
struct TypedArray {
    element: ContainerType,
    fits: bool,
    /// How many objects had been made before the element.
    made_before: usize,
    /// Those of elements that do not fit.
    unused: Made,
}

/// A Dictionary under construction; small, since one lies on the stack for each level of nesting.
pub struct DictionaryFrame {
    typed: Option<Box<TypedDictionary>>,
    len: usize,
    progress: Progress,
    /// Where colliding keys are refused.
    buckets: Option<Box<Buckets>>,
}

/// What is known of a typed Dictionary.
struct TypedDictionary {
    key: ContainerType,
    value: ContainerType,
    keeps_entry: bool,
    /// How many objects had been made before the entry.
    made_before: usize,
    /// Those of keys that do not fit and of entries that are not kept.
    unused: Made,
}

/// An object whose properties are being set.
pub struct ObjectFrame {
    object: Gd<Object>,
    property: GString,
}

impl Sink for VariantBuilder<'_> {
    type Array = ArrayFrame;
    type Dictionary = DictionaryFrame;
    type Object = ObjectFrame;
    type Strings = StringSlots;
    const BUILDS: bool = true;

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
        refuse_nul(text)?;
        match (ty, text) {
            (VariantType::StringName, _) => {
                self.check_name(text)?;
                self.building.put_string_name(text);
            }
            (_, Text::Utf8(utf8)) if self.building.is_at_key() => {
                if self.keys.is_next(self.progress, utf8.as_bytes()) {
                    self.key = Key::Next;
                } else if let Some(kept) = self.keys.keep(utf8) {
                    self.key = Key::Kept(kept);
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
            // What is kept has been looked at.
            if self.keys.is_next(self.progress, bytes) {
                self.key = Key::Next;
            } else if let Some(kept) = self.keys.find(bytes) {
                self.key = Key::Kept(kept);
            } else {
                return Ok(false);
            }
            return Ok(true);
        }
        let Some(string) = raw_string(bytes, &mut self.units) else { return Ok(false) };
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
        self.check_names(path)?;
        if let Some(offset) = self.offset_of(&path)
            && self.input.with_packed(|bytes| self.building.put_decoded(VariantType::NodePath, bytes, offset))
        {
            return Ok(());
        }
        if path.names.is_empty() && path.subnames.is_empty() {
            self.building.put_node_path(if path.absolute { "/" } else { "" });
            return Ok(());
        }
        // Parts may hold separators, so the path cannot be made from one text.
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
        self.check_name(name)?;
        if self.building.put_signal(name, object) {
            return Ok(());
        }
        // The object need not exist, which only the engine's own reader allows.
        let name = marked(&[name]);
        self.put_by_engine(|encoder| encoder.signal(texts(&name)[0], object))
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
        let typed = match element {
            ElementType::Untyped => None,
            _ => Some(Box::new(TypedArray {
                element: Self::declared(element)?,
                fits: true,
                made_before: self.made.0.len(),
                unused: Made::default(),
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
            if !self.fits(&typed.element, self.building.last()) {
                // What does not fit is sorted out at the end, when other threads may still be at their parts.
                if self.manner == Strictness::Strict || self.parts.is_some() {
                    return Err(self.misfit("Array", &typed.element));
                }
                typed.fits = false;
                typed.unused.take_from(&mut self.made, typed.made_before);
            }
            typed.made_before = self.made.0.len();
        }
        Ok(())
    }

    #[inline(always)]
    fn end_array(&mut self, array: ArrayFrame) -> Result<()> {
        self.building.close_array();
        if let Some(typed) = array.0
            && !typed.fits
        {
            self.sort_out(&typed.element)?;
        }
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
                let (key, value) = (Self::declared(key)?, Self::declared(value)?);
                self.building.open_dictionary(&key, &value);
                let (made_before, unused) = (self.made.0.len(), Made::default());
                Some(Box::new(TypedDictionary { key, value, keeps_entry: true, made_before, unused }))
            }
        };
        let progress = Progress::start(len, typed.is_none() && self.reader.is_direct());
        let counts_keys = self.refuses_colliding_keys && (len > FEW_KEYS || self.key_level > 0);
        let buckets = counts_keys.then(Box::default);
        Ok(DictionaryFrame { typed, len, progress, buckets })
    }

    #[inline(always)]
    fn begin_key(&mut self, dictionary: &mut DictionaryFrame) -> Result<()> {
        self.building.next_key();
        self.progress = dictionary.progress;
        self.key_level += 1;
        Ok(())
    }

    #[inline(always)]
    fn begin_value(&mut self, dictionary: &mut DictionaryFrame) -> Result<()> {
        let DictionaryFrame { typed, len, progress, buckets } = dictionary;
        self.key_level -= 1;
        let key = std::mem::replace(&mut self.key, Key::Put);
        if progress.is_copied() {
            if let Key::Next = key {
                progress.advance();
                self.building.next_copied_value();
                return Ok(());
            }
            self.leave_row(progress);
        }
        match (typed, key) {
            (None, Key::Kept(kept)) => {
                if let Some((template, effort)) = self.keys.note(progress, kept, *len) {
                    self.building.copy_entries(template);
                    self.keys.collisions.add_effort(effort)?;
                    self.building.next_copied_value();
                } else {
                    if let Some(buckets) = buckets {
                        self.keys.check(kept, buckets, self.key_level > 0)?;
                    }
                    if let Some(key) = self.keys.kept(kept) {
                        self.building.next_value_of(key);
                    }
                }
            }
            (None, _) => {
                progress.leave();
                self.check_key(buckets)?;
                self.building.next_value(true);
            }
            (Some(typed), key) => {
                if let Key::Kept(kept) = key
                    && let Some(key) = self.keys.kept(kept)
                {
                    self.building.put(key.clone());
                }
                let kept = self.keep_key(typed)?;
                self.check_key(buckets)?;
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
        if let Some(typed) = &mut dictionary.typed {
            // A typed script would take the value for what it is not.
            if typed.keeps_entry && !self.fits(&typed.value, self.building.last()) {
                return Err(self.misfit("Dictionary's values", &typed.value));
            }
            if !std::mem::replace(&mut typed.keeps_entry, true) {
                typed.unused.take_from(&mut self.made, typed.made_before);
            }
            typed.made_before = self.made.0.len();
        }
        Ok(())
    }

    #[inline(always)]
    fn end_dictionary(&mut self, dictionary: DictionaryFrame) -> Result<()> {
        // Values of repeated keys would come in any order.
        let counted = self.manner == Strictness::Strict || self.parts.is_some();
        if counted && self.building.dictionary_len() != dictionary.len {
            return Err(ErrorKind::NotCanonical(Oddity::DuplicateKey).into());
        }
        self.building.close_dictionary();
        if dictionary.progress.is_copied() {
            self.keys.confirm(dictionary.progress);
        } else {
            let effort = dictionary.buckets.map_or_else(Effort::default, |buckets| buckets.effort());
            self.keys.sight(dictionary.progress, self.reader, self.building.last(), effort);
        }
        Ok(())
    }

    fn begin_object(&mut self, class: Text<'_>, _properties: usize) -> Result<ObjectFrame> {
        let value = objects::instantiate(&StringName::from(&string(class)))?;
        let object = value.try_to::<Gd<Object>>().map_err(|_| {
            Error::object(format!("the engine made no object of class {}", quoted(&class.to_lossy())))
        })?;
        if !object.is_class("RefCounted") {
            self.made.0.push(object.instance_id());
        }
        self.building.put(value);
        Ok(ObjectFrame { object, property: GString::new() })
    }

    fn begin_property(&mut self, object: &mut ObjectFrame, name: Text<'_>) -> Result<()> {
        object.property = string(name);
        self.open_aside();
        Ok(())
    }

    fn end_property(&mut self, frame: &mut ObjectFrame) -> Result<()> {
        let value = self.close_aside();
        objects::set_property(&mut frame.object, &frame.property, &value, self.manner)
    }

    fn end_object(&mut self, _object: ObjectFrame) -> Result<()> {
        Ok(())
    }

    fn begin_strings(&mut self, len: usize) -> Result<StringSlots> {
        StringSlots::new(len)
    }

    #[inline(always)]
    fn string(&mut self, strings: &mut StringSlots, text: Text<'_>) -> Result<()> {
        refuse_nul(text)?;
        strings.put(string(text));
        Ok(())
    }

    #[inline(always)]
    fn raw_string(&mut self, strings: &mut StringSlots, bytes: &[u8]) -> Result<bool> {
        let Some(string) = raw_string(bytes, &mut self.units) else { return Ok(false) };
        strings.put(string);
        Ok(true)
    }

    fn end_strings(&mut self, strings: StringSlots) -> Result<()> {
        self.building.put(strings.into_array());
        Ok(())
    }
}

impl PartSink<Self> for VariantBuilder<'_> {
    #[inline(always)]
    fn part_bytes(&self) -> usize {
        self.parts.as_ref().map_or(usize::MAX, |parts| parts.bytes)
    }

    fn part(&mut self, _array: &mut ArrayFrame, part: Part) -> Result<()> {
        let Some(parts) = &self.parts else { return Err(Error::argument("parts without a taker")) };
        let left = self.building.leave_elements(part.count);
        (parts.take)(Left { parts: vec![part], places: Places::Values(left) });
        Ok(())
    }

    fn value_part(&mut self, _dictionary: &mut DictionaryFrame, part: Part) -> Result<()> {
        let (Some(parts), Some(value)) = (&mut self.parts, self.building.leave_value()) else {
            return Err(Error::argument("parts without a taker"));
        };
        parts.add_value(value, part)?;
        Ok(())
    }

    fn strings_part(&mut self, strings: &mut StringSlots, part: Part) -> Result<()> {
        let Some(parts) = &self.parts else { return Err(Error::argument("parts without a taker")) };
        let left = strings.leave(part.count);
        (parts.take)(Left { parts: vec![part], places: Places::Strings(left) });
        Ok(())
    }
}

/// The engine's functions end a text at a NUL. Its own format has none by here; messages may.
#[inline(always)]
fn refuse_nul(text: Text<'_>) -> Result<()> {
    match text {
        Text::Utf8(text) if text.as_bytes().contains(&0) => Err(ErrorKind::InvalidCodeUnit(0).into()),
        _ => Ok(()),
    }
}

/// Texts for the engine's own reader, which drops a byte-order mark from the start of each: where there is one already,
/// there must be two.
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
