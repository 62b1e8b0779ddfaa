//! Live Variant → events.

use std::ops::Range;

use godot::builtin::{Callable, GString, NodePath, Signal, StringName, Variant};
use godot::classes::Object;
use godot::obj::Gd;
use variant_codec::error::Step;
use variant_codec::format::{self, Shape};
use variant_codec::stream::{ElementType, Measure, NodePathParts, Sink, Source, Text};
use variant_codec::{EncodeOptions, Error, ErrorKind, Result, VariantType};
use variant_engine::{
    Building, ContainerType, Elements, Entries, EntriesInPlace, PRECISION, Reader, Run, Strings, is_instance,
    run_bytes, text_of,
};

use crate::encode::splitter::{Splitter, Tail, TailItems};
use crate::encode::stored::StoredProperties;
use crate::nested::Nested;
use crate::objects::labels::type_label;
use crate::objects::lost_objects;
use crate::objects::scripts::script_path;
use crate::thresholds::SMALL_BYTES;

/// How objects are written, and containers that hold objects.
pub(crate) trait ObjectForm: Copy {
    /// Whether getters run while a value is written.
    fn runs_getters(self) -> bool;

    /// Whether a reader gets objects of the classes that containers declare.
    fn keeps_classes(self) -> bool;

    /// Whether values that have a meaning only in the running game are errors.
    fn refuses_ids(self) -> bool;

    /// The declared element type as it is written.
    ///
    /// # Errors
    /// Fails if no reader could use the type.
    fn declared(self, declared: ContainerType) -> Result<WrittenType>;

    /// Writes an object that is neither null nor freed.
    ///
    /// # Errors
    /// Fails if the object cannot be written.
    fn write_object<S: Sink>(
        walker: Walker<'_, '_, Self>,
        object: &Variant,
        id: u64,
        sink: &mut S,
        depth: u32,
    ) -> Result<()>;

    /// Writes an Array.
    ///
    /// # Errors
    /// Fails if an element cannot be written.
    #[inline(always)]
    fn write_array<'a, S: Sink>(
        walker: Walker<'a, '_, Self>,
        array: &'a Variant,
        sink: &mut S,
        depth: u32,
    ) -> Result<()> {
        walker.write_bare_array(array, sink, depth)
    }

    /// Writes a Dictionary.
    ///
    /// # Errors
    /// Fails if a key or a value cannot be written.
    #[inline(always)]
    fn write_dictionary<'a, S: Sink>(
        walker: Walker<'a, '_, Self>,
        dictionary: &'a Variant,
        sink: &mut S,
        depth: u32,
    ) -> Result<()> {
        walker.write_bare_dictionary(dictionary, sink, depth)
    }
}

/// The forms of the engine's own format.
#[derive(Clone, Copy)]
pub enum Objects<'c> {
    /// By instance id.
    AsIds {
        /// Whether a warning is noted for the script of each such object.
        warns: bool,
    },
    /// Not at all. Values that have a meaning only in the running game are errors, including Callables and
    /// Signals.
    Refused,
    /// With class and properties. Getters run, so this is for the calling thread only.
    Full(&'c StoredProperties),
}

impl<'c> Objects<'c> {
    /// `Full` with `stored` if `full`, or else `otherwise`. The same `stored` serves a whole call.
    pub fn full_or(otherwise: Self, full: bool, stored: &'c StoredProperties) -> Self {
        if full { Self::Full(stored) } else { otherwise }
    }

    /// Counts the call as nested if getters run.
    ///
    /// # Errors
    /// As [`Nested::enter`].
    pub(crate) fn enter(self) -> Result<Option<Nested>> {
        self.runs_getters().then(Nested::enter).transpose()
    }
}

impl ObjectForm for Objects<'_> {
    fn runs_getters(self) -> bool {
        matches!(self, Self::Full(_))
    }

    fn keeps_classes(self) -> bool {
        matches!(self, Self::Full(_))
    }

    fn refuses_ids(self) -> bool {
        matches!(self, Self::Refused)
    }

    fn declared(self, declared: ContainerType) -> Result<WrittenType> {
        match (declared, self) {
            (ContainerType::Object { .. }, Self::AsIds { .. }) => Ok(WrittenType::EncodedObject),
            (ContainerType::Object { class, script: None }, Self::Refused)
                if class == "EncodedObjectAsID" =>
            {
                Ok(WrittenType::EncodedObject)
            }
            (declared @ ContainerType::Object { .. }, Self::Refused) => Err(Error::object(format!(
                "a container with elements of type {} would be read as one of EncodedObjectAsID; save it untyped or with FastVariantClasses, or pass `full_objects`, which saves exported variables only",
                type_label(&declared)
            ))),
            (declared, _) => WrittenType::of(declared),
        }
    }

    fn write_object<S: Sink>(
        walker: Walker<'_, '_, Self>,
        object: &Variant,
        id: u64,
        sink: &mut S,
        depth: u32,
    ) -> Result<()> {
        match walker.objects {
            Self::AsIds { warns } => {
                if warns {
                    lost_objects::note_id(object);
                }
                sink.object_id(id)
            }
            Self::Refused => Err(lost_objects::refused(object)),
            Self::Full(stored) => walker.write_full_object(stored, object, sink, depth),
        }
    }
}

/// A live Variant as a source.
#[derive(Clone, Copy)]
pub struct Live<'a, 's> {
    variant: &'a Variant,
    walker: Walker<'a, 's, Objects<'s>>,
}

impl<'a, 's> Live<'a, 's> {
    /// This Variant. If `strict`, a value that would decode to a different value is an error.
    #[inline(always)]
    pub fn new(variant: &'a Variant, objects: Objects<'s>, strict: bool) -> Self {
        Self { variant, walker: Walker::new(objects, strict) }
    }

    /// This source, splitting large containers among threads. Full objects rule this out: while getters run, no
    /// other thread may read.
    pub fn with_splitter(self, splitter: &'s Splitter<'a>) -> Self {
        let splitter = (!self.walker.objects.runs_getters()).then_some(splitter);
        Self { walker: Walker { splitter, ..self.walker }, ..self }
    }

    pub(crate) fn variant(&self) -> &'a Variant {
        self.variant
    }

    /// Whether the value certainly takes few bytes, judged by its type and length alone.
    #[inline(always)]
    pub fn is_small(&self) -> bool {
        use VariantType as T;

        /// The maximum length of a small String; a code unit takes up to six bytes of UTF-8.
        const FEW_UNITS: usize = (SMALL_BYTES - 8) / 6;

        let reader = self.walker.reader;
        let Some(ty) = reader.ty(self.variant) else { return false };
        match ty {
            T::String => reader.string_units(self.variant).len() <= FEW_UNITS,
            T::Nil | T::Bool | T::Int | T::Float => true,
            _ => matches!(ty.shape(), Shape::Fixed(..)),
        }
    }

    /// The type, if it is a packed array with elements of a fixed size.
    pub fn packed_type(&self) -> Option<VariantType> {
        self.walker.reader.ty(self.variant).filter(|ty| matches!(ty.shape(), Shape::Packed(..)))
    }
}

impl Source for Live<'_, '_> {
    fn write_into<S: Sink>(&mut self, sink: &mut S) -> Result<()> {
        self.walker.write_into(self.variant, sink, 0)
    }
}

/// Writes a tail into a sink of its own.
///
/// # Errors
/// Fails if a value cannot be encoded; the error's path starts at the container.
pub fn write_tail<'a, S>(tail: &Tail<'a>, sink: &mut S, splitter: &Splitter<'a>) -> Result<()>
where
    S: Sink<Array = (), Dictionary = (), Strings = ()>,
{
    let objects = if tail.refuses_ids { Objects::Refused } else { Objects::AsIds { warns: false } };
    let walker = Walker { splitter: Some(splitter), ..Walker::new(objects, tail.strict) };
    match &tail.items {
        TailItems::Elements(elements, range) => {
            walker.write_elements(*elements, range.clone(), &mut (), sink, tail.depth)
        }
        TailItems::Strings(texts, range) => walker.write_strings(*texts, range.clone(), &mut (), sink),
        TailItems::Entries(entries, count) => {
            let keys = &mut StrictKeys::default();
            walker.write_entries_in_place(*entries, *count, keys, &mut (), sink, tail.depth)
        }
    }
}

/// Writes a Variant and what it holds, recursively.
#[derive(Clone, Copy)]
pub(crate) struct Walker<'a, 's, F> {
    pub(crate) objects: F,
    /// Whether a value that would decode to a different value is an error.
    strict: bool,
    pub(crate) reader: Reader,
    splitter: Option<&'s Splitter<'a>>,
    /// The deepest allowed level of a container. Strict readers limit levels in keys further.
    deepest: u32,
    /// Whether a freed or null object is an error. Strict mode sets this inside a container that is a key,
    /// because two such keys may decode to the same key.
    refuses_nulls: bool,
}

/// The number of elements or entries between two checks of the output's size.
const CHECK_INTERVAL: usize = 8;
/// The maximum number of elements of one type that are passed to the sink in one call.
const MAX_RUN: usize = 4096;

impl<'a, 's, F: ObjectForm> Walker<'a, 's, F> {
    pub(crate) fn new(objects: F, strict: bool) -> Self {
        let reader = Reader::new();
        Self { objects, strict, reader, splitter: None, deepest: format::MAX_DEPTH, refuses_nulls: false }
    }

    /// This walker without a splitter, for Variants that do not live long enough for other threads.
    pub fn without_splitter<'b>(self) -> Walker<'b, 's, F> {
        let Self { objects, strict, reader, deepest, refuses_nulls, .. } = self;
        Walker { objects, strict, reader, splitter: None, deepest, refuses_nulls }
    }

    /// This walker for a key at this level. If strict, it has no splitter, because another thread would not
    /// know that it writes a part of a key.
    fn in_key(self, key: &Variant, depth: u32) -> Self {
        if !self.strict {
            return self;
        }
        let deepest = self.deepest.min(depth + format::MAX_KEY_DEPTH);
        // A key that is itself a null object is counted instead; see `StrictKeys`.
        let refuses_nulls = self.refuses_nulls || self.reader.ty(key) != Some(VariantType::Object);
        Self { splitter: None, deepest, refuses_nulls, ..self }
    }

    /// Refuses a container that is too deep inside a key.
    #[inline(always)]
    pub fn check_key_depth(self, depth: u32) -> Result<()> {
        if depth > self.deepest {
            return Err(ErrorKind::KeyTooDeep { limit: format::MAX_KEY_DEPTH }.into());
        }
        Ok(())
    }

    /// Writes a value of a fixed size or a String; `None` for others. Not inlined in WebAssembly: its locals
    /// would enlarge the frame of [`Self::write_into`], once for each level of nesting.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    #[cfg_attr(target_family = "wasm", inline(never))]
    fn write_small<S: Sink>(self, variant: &Variant, sink: &mut S) -> Option<Result<()>> {
        use VariantType as T;

        let reader = self.reader;
        // One arm for each type, so that each arm is compiled for the size of its type.
        macro_rules! fixed {
            ($($ty:ident)*) => {
                match reader.ty(variant)? {
                    T::Nil => sink.nil(),
                    T::Bool => sink.bool(reader.bool(variant)),
                    T::Int => sink.int(reader.int(variant)),
                    T::Float => sink.float(reader.float(variant)),
                    T::String => sink.text(T::String, Text::Utf32(reader.string_units(variant))),
                    $(T::$ty => sink.fixed(T::$ty, reader.lanes(variant, T::$ty)),)*
                    T::Rid => sink.rid(reader.rid(variant)),
                    T::Callable => self.check_callable(variant).and_then(|()| sink.callable()),
                    _ => return None,
                }
            };
        }
        Some(fixed! {
            Vector2 Vector2i Rect2 Rect2i Vector3 Vector3i Transform2D Vector4 Vector4i Plane Quaternion Aabb Basis
            Transform3D Projection Color
        })
    }

    /// Whether values that have a meaning only in the running game are errors; for full objects, only if strict.
    fn refuses_losses(self) -> bool {
        self.objects.refuses_ids() || self.strict && self.objects.runs_getters()
    }

    /// Fails for a Callable that would be read as an empty one, if losses are refused.
    #[inline(never)]
    fn check_callable(self, variant: &Variant) -> Result<()> {
        let is_lost = self.refuses_losses() && !variant.to::<Callable>().is_null();
        if is_lost {
            Err(Error::object("a Callable would be read as an empty one; leave it out"))
        } else {
            Ok(())
        }
    }

    /// Writes a value.
    ///
    /// # Errors
    /// Fails if the value cannot be written; the error has the path.
    pub fn write_into<S: Sink>(self, variant: &'a Variant, sink: &mut S, depth: u32) -> Result<()> {
        if depth > format::MAX_DEPTH {
            return Err(ErrorKind::TooDeep.into());
        }
        match self.reader.ty(variant) {
            Some(VariantType::Array) => self.write_array(variant, sink, depth),
            Some(VariantType::Dictionary) => F::write_dictionary(self, variant, sink, depth),
            Some(VariantType::Object) => self.write_object(variant, sink, depth),
            _ => match self.write_small(variant, sink) {
                Some(written) => written,
                None => self.write_rest(variant, sink),
            },
        }
    }

    /// Writes a value of one of the remaining types, which contain no Variants.
    #[inline(never)]
    fn write_rest<S: Sink>(self, variant: &'a Variant, sink: &mut S) -> Result<()> {
        use VariantType as T;

        let reader = self.reader;
        let Some(ty) = reader.ty(variant) else {
            return Err(Error::object("unsupported type: newer than this version of FastVariantCodec"));
        };
        match ty {
            T::StringName => {
                let name = reader.string_name(variant);
                match reader.name_units(name) {
                    Some(units) => sink.text(ty, Text::Utf32(units)),
                    None => sink.text(ty, Text::Utf32(reader.units(&GString::from(name)))),
                }
            }
            T::NodePath => self.write_node_path(variant, sink),
            T::Signal => self.write_signal(variant, sink),
            T::PackedStringArray => self.write_packed_strings(variant, sink),
            _ => sink.packed(ty, reader.packed(variant, ty)),
        }
    }

    #[inline(never)]
    fn write_packed_strings<S: Sink>(self, variant: &'a Variant, sink: &mut S) -> Result<()> {
        let texts = self.reader.strings(variant);
        let mut strings = sink.begin_strings(texts.get().len())?;
        self.write_strings(texts, 0..texts.get().len(), &mut strings, sink)?;
        sink.end_strings(strings)
    }

    /// Writes texts, and may split off the remaining ones for other threads.
    #[inline(always)]
    fn write_strings<S: Sink>(
        self,
        texts: Strings<'a>,
        range: Range<usize>,
        strings: &mut S::Strings,
        sink: &mut S,
    ) -> Result<()> {
        let start = sink.written();
        for (index, text) in texts.get().iter().enumerate().take(range.end).skip(range.start) {
            let rest = || TailItems::Strings(texts, index..range.end);
            if index % CHECK_INTERVAL == CHECK_INTERVAL - 1
                && self.split_off(sink.written(), start, index - range.start, range.end - index, 0, rest)
            {
                return Ok(());
            }
            sink.string(strings, Text::Utf32(self.reader.units(text)))
                .map_err(|error| error.inside(Step::Index(index)))?;
        }
        Ok(())
    }

    /// Splits off the remaining elements or entries of a container for other threads if that is worth it, and
    /// returns whether it did. The `done` elements or entries before them have filled the output from `start`
    /// to `written`.
    #[inline(always)]
    fn split_off(
        self,
        written: usize,
        start: usize,
        done: usize,
        left: usize,
        depth: u32,
        items: impl FnOnce() -> TailItems<'a>,
    ) -> bool {
        let Some(splitter) = self.splitter else { return false };
        let Some(per_part) = Splitter::per_part(written - start, done, left) else { return false };
        let refuses_ids = self.objects.refuses_ids();
        splitter.add(written, Tail { items: items(), strict: self.strict, refuses_ids, depth, per_part });
        true
    }

    /// Whether getters may run while this container is written.
    fn runs_getters(self, container: &Variant) -> bool {
        let may_hold_objects = |value: &Variant| {
            use VariantType::{Array, Dictionary, Object};
            self.reader.ty(value).is_none_or(|ty| matches!(ty, Array | Dictionary | Object))
        };
        if !self.objects.runs_getters() {
            return false;
        }
        if self.reader.ty(container) == Some(VariantType::Array) {
            let elements = self.reader.elements(container);
            return (0..elements.len()).any(|index| elements.get(index).is_none_or(may_hold_objects));
        }
        let (mut entries, _) = self.reader.entries(container, false);
        while let Some((key, value)) = self.reader.next_entry(&mut entries) {
            if may_hold_objects(key) || may_hold_objects(value) {
                return true;
            }
        }
        false
    }

    // Inlined, so that a level of nesting takes one stack frame besides the frame of `write_into`.
    #[inline(always)]
    fn write_array<S: Sink>(self, variant: &'a Variant, sink: &mut S, depth: u32) -> Result<()> {
        // Getters may change any container, and reading a read-only Array may modify it, so write a copy.
        if self.runs_getters(variant) || self.reader.reading_changes(variant) {
            let copy = variant.call("duplicate", &[]);
            return F::write_array(self.without_splitter(), &copy, sink, depth);
        }
        F::write_array(self, variant, sink, depth)
    }

    /// Writes an Array as its elements.
    ///
    /// # Errors
    /// Fails if an element cannot be written.
    #[inline(never)]
    pub fn write_bare_array<S: Sink>(self, variant: &'a Variant, sink: &mut S, depth: u32) -> Result<()> {
        self.check_key_depth(depth)?;
        let elements = self.reader.elements(variant);
        let mut array = match self.reader.array_type(variant) {
            ContainerType::Untyped => sink.begin_array(elements.len(), ElementType::Untyped)?,
            declared => self.begin_typed_array(sink, elements.len(), declared)?,
        };
        self.write_elements(elements, 0..elements.len(), &mut array, sink, depth + 1)?;
        sink.end_array(array)
    }

    /// Writes elements, and may split off the remaining ones for other threads.
    #[inline(always)]
    fn write_elements<S: Sink>(
        self,
        elements: Elements<'a>,
        range: Range<usize>,
        array: &mut S::Array,
        sink: &mut S,
        depth: u32,
    ) -> Result<()> {
        let start = sink.written();
        let mut index = range.start;
        let mut next_check = index + CHECK_INTERVAL;
        while index < range.end {
            if index >= next_check {
                let rest = || TailItems::Elements(elements, index..range.end);
                if self.split_off(sink.written(), start, index - range.start, range.end - index, depth, rest)
                {
                    return Ok(());
                }
                next_check = index + CHECK_INTERVAL;
            }
            if depth <= format::MAX_DEPTH
                && let Some(run) = self.reader.run(&elements, index..range.end.min(index + MAX_RUN))
            {
                index += write_run(run, index, sink, array)?;
                continue;
            }
            sink.begin_element(array)?;
            self.write_into(element(&elements, index)?, sink, depth)
                .map_err(|error| error.inside(Step::Index(index)))?;
            sink.end_element(array)?;
            index += 1;
        }
        Ok(())
    }

    #[inline(never)]
    fn begin_typed_array<S: Sink>(
        self,
        sink: &mut S,
        len: usize,
        declared: ContainerType,
    ) -> Result<S::Array> {
        let declared = self.objects.declared(declared)?;
        sink.begin_array(len, declared.borrowed(self.reader))
    }

    #[inline(never)]
    fn begin_dictionary<S: Sink>(self, variant: &Variant, sink: &mut S, len: usize) -> Result<S::Dictionary> {
        let (key, value) = self.reader.dictionary_types(variant);
        let (key, value) = (self.objects.declared(key)?, self.objects.declared(value)?);
        sink.begin_dictionary(len, key.borrowed(self.reader), value.borrowed(self.reader))
    }

    /// Writes a Dictionary as its entries.
    ///
    /// # Errors
    /// Fails if a key or a value cannot be written.
    #[inline(never)]
    pub fn write_bare_dictionary<S: Sink>(
        self,
        variant: &'a Variant,
        sink: &mut S,
        depth: u32,
    ) -> Result<()> {
        self.check_key_depth(depth)?;
        if self.strict {
            self.check_values(variant)?;
        }
        let (mut entries, len) = self.reader.entries(variant, self.runs_getters(variant));
        let mut dictionary = self.begin_dictionary(variant, sink, len)?;
        let mut keys = StrictKeys::default();
        match entries.in_place() {
            Some(entries) => {
                self.write_entries_in_place(*entries, len, &mut keys, &mut dictionary, sink, depth + 1)?;
            }
            None => {
                self.write_copied_entries(&mut entries, len, &mut keys, &mut dictionary, sink, depth + 1)?
            }
        }
        if keys.containers > 1 {
            self.check_containers(variant)?;
        }
        sink.end_dictionary(dictionary)
    }

    /// Refuses container keys that have become equal because they were changed after they became keys.
    #[cold]
    #[inline(never)]
    fn check_containers(self, dictionary: &Variant) -> Result<()> {
        let mut building = Building::new();
        building.open_dictionary(&ContainerType::Untyped, &ContainerType::Untyped);
        let (mut entries, len) = self.reader.entries(dictionary, false);
        let mut containers = 0;
        for index in 0..len {
            let (key, _) = self.reader.next_entry(&mut entries).ok_or_else(dictionary_changed)?;
            if self.may_change(key) {
                building.next_key();
                building.put(key.clone());
                building.next_value(true);
                building.put(Variant::nil());
                containers += 1;
            }
            if building.dictionary_len() < containers {
                return Err(same_keys().inside(Step::KeyAt(index)));
            }
        }
        building.close_dictionary();
        drop(building.finish());
        Ok(())
    }

    /// Returns whether a key can change after it has been added to a Dictionary.
    #[inline(always)]
    fn may_change(self, key: &Variant) -> bool {
        self.reader.ty(key).is_some_and(|ty| ty >= VariantType::Dictionary)
    }

    /// Refuses values that do not have the type that their Dictionary declares. They come from non-canonical
    /// bytes, which the engine decodes and strict readers refuse.
    #[inline(never)]
    fn check_values(self, variant: &Variant) -> Result<()> {
        let (_, declared) = self.reader.dictionary_types(variant);
        if matches!(declared, ContainerType::Untyped) {
            return Ok(());
        }
        let (mut entries, len) = self.reader.entries(variant, false);
        for index in 0..len {
            let (key, value) = self.reader.next_entry(&mut entries).ok_or_else(dictionary_changed)?;
            if !self.fits(&declared, value) {
                let found = self.reader.ty(value).map_or("value", VariantType::name).to_owned();
                let expected = type_label(&declared);
                let kind = ErrorKind::WrongElementType { container: "Dictionary's values", expected, found };
                return Err(Error::from(kind).inside(self.step(key, index)));
            }
        }
        Ok(())
    }

    fn fits(self, declared: &ContainerType, value: &Variant) -> bool {
        let found =
            if self.is_written_as_nil(value) { Some(VariantType::Nil) } else { self.reader.ty(value) };
        declared.accepts_type(found, |class, script| {
            !self.objects.keeps_classes() || is_instance(value, class, script)
        })
    }

    /// Writes entries, and may split off the remaining ones for other threads.
    #[inline(always)]
    fn write_entries_in_place<S: Sink>(
        self,
        mut entries: EntriesInPlace<'a>,
        count: usize,
        keys: &mut StrictKeys,
        dictionary: &mut S::Dictionary,
        sink: &mut S,
        depth: u32,
    ) -> Result<()> {
        let start = sink.written();
        for index in 0..count {
            let rest = || TailItems::Entries(entries, count - index);
            // Strict mode counts all keys, so it does not split.
            if !self.strict
                && index % CHECK_INTERVAL == CHECK_INTERVAL - 1
                && self.split_off(sink.written(), start, index, count - index, depth, rest)
            {
                return Ok(());
            }
            let (key, value) = entries.next().ok_or_else(dictionary_changed)?;
            self.write_entry(index, (key, value), keys, dictionary, sink, depth)?;
        }
        Ok(())
    }

    #[inline(never)]
    fn write_copied_entries<S: Sink>(
        self,
        entries: &mut Entries<'_>,
        count: usize,
        keys: &mut StrictKeys,
        dictionary: &mut S::Dictionary,
        sink: &mut S,
        depth: u32,
    ) -> Result<()> {
        for index in 0..count {
            let (key, value) = self.reader.next_entry(entries).ok_or_else(dictionary_changed)?;
            self.without_splitter().write_entry(index, (key, value), keys, dictionary, sink, depth)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn write_entry<S: Sink>(
        self,
        index: usize,
        (key, value): (&'a Variant, &'a Variant),
        keys: &mut StrictKeys,
        dictionary: &mut S::Dictionary,
        sink: &mut S,
        depth: u32,
    ) -> Result<()> {
        if self.strict {
            keys.nils += u32::from(self.is_written_as_nil(key));
            keys.callables += u32::from(self.reader.ty(key) == Some(VariantType::Callable));
            keys.containers += u32::from(self.may_change(key));
            if keys.nils > 1 || keys.callables > 1 {
                return Err(same_keys());
            }
        }
        sink.begin_key(dictionary)?;
        let walker = self.in_key(key, depth);
        walker.write_into(key, sink, depth).map_err(|error| error.inside(Step::KeyAt(index)))?;
        sink.begin_value(dictionary)?;
        self.write_into(value, sink, depth).map_err(|error| error.inside(self.step(key, index)))?;
        sink.end_entry(dictionary)
    }

    fn is_written_as_nil(self, variant: &Variant) -> bool {
        match self.reader.ty(variant) {
            Some(VariantType::Nil) => true,
            Some(VariantType::Object) => self.reader.live_object_id(variant) == 0,
            _ => false,
        }
    }

    /// The step in an error path that leads to the value at this key.
    #[cold]
    #[inline(never)]
    fn step(self, key: &Variant, index: usize) -> Step {
        match self.reader.ty(key) {
            Some(VariantType::String | VariantType::StringName) => Step::text_key(&text_of(&key.stringify())),
            Some(VariantType::Int) => Step::int_key(self.reader.int(key)),
            _ => Step::KeyAt(index),
        }
    }

    #[inline(never)]
    fn write_node_path<S: Sink>(self, variant: &Variant, sink: &mut S) -> Result<()> {
        let path = variant.to::<NodePath>();
        let names: Vec<Name> = (0..path.get_name_count()).map(|i| self.name(path.get_name(i))).collect();
        let subnames: Vec<Name> =
            (0..path.get_subname_count()).map(|i| self.name(path.get_subname(i))).collect();
        let text = |name| Text::Utf32(self.units_of(name));
        let names: Vec<Text<'_>> = names.iter().map(text).collect();
        let subnames: Vec<Text<'_>> = subnames.iter().map(text).collect();
        let absolute = self.reader.is_absolute(variant);
        sink.node_path(NodePathParts { absolute, names: &names, subnames: &subnames })
    }

    /// A name whose code units can be read.
    fn name(self, name: StringName) -> Name {
        if self.reader.name_units(&name).is_some() {
            Name::InPlace(name)
        } else {
            Name::Text(GString::from(&name))
        }
    }

    fn units_of(self, name: &Name) -> &[u32] {
        match name {
            Name::InPlace(name) => self.reader.name_units(name).unwrap_or_default(),
            Name::Text(text) => self.reader.units(text),
        }
    }

    #[inline(never)]
    fn write_signal<S: Sink>(self, variant: &Variant, sink: &mut S) -> Result<()> {
        let signal = variant.to::<Signal>();
        let name = self.name(signal.name());
        let object = signal.object_id().map_or(0, |id| id.to_i64() as u64);
        if self.refuses_losses() && object != 0 {
            return Err(Error::object("a Signal has no meaning to a reader; connect it after loading"));
        }
        sink.signal(Text::Utf32(self.units_of(&name)), object)
    }

    #[inline(never)]
    fn write_object<S: Sink>(self, variant: &Variant, sink: &mut S, depth: u32) -> Result<()> {
        let id = self.reader.live_object_id(variant);
        if id == 0 {
            if self.refuses_nulls {
                return Err(Error::object(
                    "a freed or null object in a key would be read as null; leave it out",
                ));
            }
            // Null or freed: written as Nil, as the engine does.
            return sink.nil();
        }
        F::write_object(self, variant, id, sink, depth)
    }

    /// Writes an object with its class and properties.
    fn write_full_object<S: Sink>(
        self,
        stored: &StoredProperties,
        variant: &Variant,
        sink: &mut S,
        depth: u32,
    ) -> Result<()> {
        let Ok(object) = variant.try_to::<Gd<Object>>() else {
            return sink.nil();
        };
        let stored = stored.of(&object)?;
        if self.strict {
            stored.check_readable()?;
        }
        let class = Text::Utf32(self.reader.units(&stored.class));
        let mut open = sink.begin_object(class, stored.properties.len())?;
        for property in &stored.properties {
            sink.begin_property(&mut open, Text::Utf32(self.reader.units(&property.text)))?;
            property
                .value(&object)
                .and_then(|value| {
                    // A reader creates a new object for each one in a key, so no two such keys become equal.
                    // Null objects are therefore allowed in its properties.
                    let walker = Walker { refuses_nulls: false, ..self.without_splitter() };
                    walker.write_into(&value, sink, depth + 1)
                })
                .map_err(|error| error.inside(Step::property(&text_of(&property.text))))?;
            sink.end_property(&mut open)?;
        }
        sink.end_object(open)
    }
}

/// The encoded size of a value, in bytes.
///
/// # Errors
/// Fails if the value cannot be encoded; the error has the path.
pub fn encoded_size(value: &Variant, objects: Objects<'_>) -> Result<usize> {
    let _running = objects.enter()?;
    let mut measure = Measure::counting(EncodeOptions { precision: Some(PRECISION), strict_text: false });
    Live::new(value, objects, false).write_into(&mut measure)?;
    Ok(measure.bytes())
}

/// The counts, by kind, of those keys of a Dictionary that may decode to the same key.
#[derive(Default)]
struct StrictKeys {
    nils: u32,
    callables: u32,
    containers: u32,
}

#[cold]
fn same_keys() -> Error {
    Error::object("two Dictionary keys that decode to the same key")
}

#[cold]
fn dictionary_changed() -> Error {
    Error::argument("Dictionary changed by another thread during the call")
}

/// Writes a run that starts at `index`. Returns the number of its elements.
#[inline(never)]
fn write_run<S: Sink>(mut run: Run<'_>, index: usize, sink: &mut S, array: &mut S::Array) -> Result<usize> {
    let (ty, left) = (run.ty(), run.left());
    macro_rules! fixed {
        ($bytes:literal) => {
            sink.fixed_run::<$bytes>(array, ty, PRECISION, &mut run.lanes())
        };
    }
    let written = match (ty, run_bytes(ty)) {
        (VariantType::Int, _) => sink.ints(array, &mut run.ints()),
        (VariantType::Float, _) => sink.floats(array, &mut run.floats()),
        (_, Some(8)) => fixed!(8),
        (_, Some(12)) => fixed!(12),
        (_, Some(16)) => fixed!(16),
        #[cfg(feature = "double")]
        (_, Some(24)) => fixed!(24),
        #[cfg(feature = "double")]
        (_, Some(32)) => fixed!(32),
        _ => unreachable!("{ty} does not come in runs"),
    };
    let taken = left - run.left();
    // The element that was taken last is the one that failed.
    written.map_err(|error| error.inside(Step::Index(index + taken.saturating_sub(1))))?;
    Ok(taken)
}

/// The element at `index`, which exists unless another thread has shortened the Array.
///
/// # Errors
/// Fails if it does not exist.
#[inline(always)]
pub fn element<'a>(elements: &Elements<'a>, index: usize) -> Result<&'a Variant> {
    elements.get(index).ok_or_else(|| Error::argument("Array changed by another thread during the call"))
}

/// A StringName whose text is read in place, or a copy of the text.
enum Name {
    InPlace(StringName),
    Text(GString),
}

/// A declared element type as it is written.
pub(crate) enum WrittenType {
    Untyped,
    Builtin(VariantType),
    EncodedObject,
    Class(GString),
    Script(GString),
}

impl WrittenType {
    /// The type under its own name.
    ///
    /// # Errors
    /// Fails if it is a script that no reader could load.
    pub fn of(declared: ContainerType) -> Result<Self> {
        Ok(match declared {
            ContainerType::Untyped => Self::Untyped,
            ContainerType::Builtin(ty) => Self::Builtin(ty),
            ContainerType::Object { class, script: None } => Self::Class(GString::from(&class)),
            ContainerType::Object { script: Some(script), .. } => Self::Script(script_path(&script)?),
        })
    }

    fn borrowed(&self, reader: Reader) -> ElementType<'_> {
        match self {
            Self::Untyped => ElementType::Untyped,
            Self::Builtin(ty) => ElementType::Builtin(*ty),
            Self::EncodedObject => ElementType::Class(format::ENCODED_OBJECT_AS_ID.into()),
            Self::Class(name) => ElementType::Class(Text::Utf32(reader.units(name))),
            Self::Script(path) => ElementType::Script(Text::Utf32(reader.units(path))),
        }
    }
}
