//! Live Variant → events.

use godot::builtin::{GString, NodePath, Signal, StringName, Variant};
use godot::classes::{ClassDb, Object, Script};
use godot::obj::{EngineBitfield, Gd, Singleton};
use godot::register::info::PropertyUsageFlags;
use variant_codec::format::{self, Shape};
use variant_codec::{
    ElementType, Error, ErrorKind, NodePathParts, Result, Sink, Source, Step, Text, VariantType, quoted,
};

use crate::engine::{ContainerType, Elements, PRECISION, Reader, Run, run_bytes};

/// How objects are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objects {
    /// By instance id.
    AsIds,
    /// With class and properties. Getters run, so this is for the calling thread only.
    Full,
}

/// A live Variant as a source.
#[derive(Clone, Copy)]
pub struct Live<'a> {
    variant: &'a Variant,
    objects: Objects,
    /// Whether what does not come back as it is, is an error.
    strict: bool,
    reader: Reader,
}

impl<'a> Live<'a> {
    /// A source that walks `variant`.
    pub fn new(variant: &'a Variant, objects: Objects, strict: bool) -> Self {
        Self { variant, objects, strict, reader: Reader::new() }
    }

    /// The type of a packed array whose number of elements says its encoded size.
    pub fn packed_type(&self) -> Option<VariantType> {
        self.reader.ty(self.variant).filter(|ty| matches!(ty.shape(), Shape::Packed(..)))
    }

    /// The same walk for another Variant.
    fn of<'b>(&self, variant: &'b Variant) -> Live<'b> {
        Live { variant, ..*self }
    }

    /// Pours a value that takes few bytes; `None` for others, whose frames lie on the stack at each level of nesting.
    #[inline(always)]
    fn pour_small<S: Sink>(self, sink: &mut S) -> Option<Result<()>> {
        use VariantType as T;

        let Self { variant, reader, .. } = self;
        // One arm for each type, so that each is compiled for the size it has.
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
                    T::Callable => sink.callable(),
                    _ => return None,
                }
            };
        }
        Some(fixed! {
            Vector2 Vector2i Rect2 Rect2i Vector3 Vector3i Transform2D Vector4 Vector4i Plane Quaternion Aabb Basis
            Transform3D Projection Color
        })
    }

    fn pour_at<S: Sink>(self, sink: &mut S, depth: u32) -> Result<()> {
        if depth > format::MAX_DEPTH {
            return Err(ErrorKind::TooDeep { limit: format::MAX_DEPTH }.into());
        }
        match self.pour_small(sink) {
            Some(poured) => poured,
            None => self.pour_large(sink, depth),
        }
    }

    #[inline(never)]
    fn pour_large<S: Sink>(self, sink: &mut S, depth: u32) -> Result<()> {
        use VariantType as T;

        let Self { variant, reader, .. } = self;
        let Some(ty) = reader.ty(variant) else {
            return Err(Error::object("a type that is newer than this version of FastVariantCodec"));
        };
        match ty {
            T::StringName => {
                let name = reader.string_name(variant);
                match reader.name_units(name) {
                    Some(units) => sink.text(ty, Text::Utf32(units)),
                    None => sink.text(ty, Text::Utf32(reader.units(&GString::from(name)))),
                }
            }
            T::NodePath => self.pour_node_path(sink),
            T::Object => self.pour_object(sink, depth),
            T::Signal => self.pour_signal(sink),
            T::Dictionary => self.pour_dictionary(sink, depth),
            T::Array => self.pour_array(sink, depth),
            T::PackedStringArray => self.pour_strings(sink),
            _ => sink.packed(ty, reader.packed(variant, ty)),
        }
    }

    #[inline(never)]
    fn pour_strings<S: Sink>(self, sink: &mut S) -> Result<()> {
        let texts = self.reader.strings(self.variant);
        let mut strings = sink.begin_strings(texts.len())?;
        for (index, text) in texts.iter().enumerate() {
            sink.string(&mut strings, Text::Utf32(self.reader.units(text)))
                .map_err(|error| error.inside(Step::Index(index)))?;
        }
        sink.end_strings(strings)
    }

    #[inline(never)]
    fn pour_array<S: Sink>(self, sink: &mut S, depth: u32) -> Result<()> {
        // Getters may change any container, so those are walked in copies that scripts cannot reach.
        if self.objects == Objects::Full || self.reader.reading_changes(self.variant) {
            let copy = self.variant.call("duplicate", &[]);
            return self.of(&copy).pour_elements(sink, depth);
        }
        self.pour_elements(sink, depth)
    }

    #[inline(always)]
    fn pour_elements<S: Sink>(self, sink: &mut S, depth: u32) -> Result<()> {
        let elements = self.reader.elements(self.variant);
        let mut array = match self.reader.array_type(self.variant) {
            ContainerType::Untyped => sink.begin_array(elements.len(), ElementType::Untyped)?,
            declared => self.begin_typed_array(sink, elements.len(), declared)?,
        };
        let mut index = 0;
        while index < elements.len() {
            if depth < format::MAX_DEPTH
                && let Some(run) = self.reader.run(&elements, index)
            {
                index += pour_run(run, index, sink, &mut array)?;
                continue;
            }
            sink.begin_element(&mut array)?;
            let element = element(&elements, index)?;
            self.of(element).pour_at(sink, depth + 1).map_err(|error| error.inside(Step::Index(index)))?;
            sink.end_element(&mut array)?;
            index += 1;
        }
        sink.end_array(array)
    }

    #[inline(never)]
    fn begin_typed_array<S: Sink>(
        self,
        sink: &mut S,
        len: usize,
        declared: ContainerType,
    ) -> Result<S::Array> {
        let declared = self.declared(declared)?;
        sink.begin_array(len, declared.borrowed(self.reader))
    }

    #[inline(never)]
    fn begin_dictionary<S: Sink>(self, sink: &mut S, len: usize) -> Result<S::Dictionary> {
        let (key, value) = self.reader.dictionary_types(self.variant);
        let (key, value) = (self.declared(key)?, self.declared(value)?);
        sink.begin_dictionary(len, key.borrowed(self.reader), value.borrowed(self.reader))
    }

    #[inline(never)]
    fn pour_dictionary<S: Sink>(self, sink: &mut S, depth: u32) -> Result<()> {
        let (mut entries, len) = self.reader.entries(self.variant, self.objects == Objects::Full);
        let mut dictionary = self.begin_dictionary(sink, len)?;
        // Keys of these kinds all come back as one.
        let (mut nils, mut callables) = (0, 0);
        for index in 0..len {
            let Some((key, value)) = self.reader.next_entry(&mut entries) else {
                return Err(Error::argument("a Dictionary that another thread changed meanwhile"));
            };
            let key = self.of(key);
            if self.strict {
                nils += u32::from(key.is_written_as_nil());
                callables += u32::from(self.reader.ty(key.variant) == Some(VariantType::Callable));
                if nils > 1 || callables > 1 {
                    return Err(Error::object("two keys of a Dictionary that would come back as one"));
                }
            }
            sink.begin_key(&mut dictionary)?;
            key.pour_at(sink, depth + 1).map_err(|error| error.inside(Step::KeyAt(index)))?;
            sink.begin_value(&mut dictionary)?;
            self.of(value).pour_at(sink, depth + 1).map_err(|error| error.inside(key.step(index)))?;
            sink.end_entry(&mut dictionary)?;
        }
        sink.end_dictionary(dictionary)
    }

    fn is_written_as_nil(&self) -> bool {
        match self.reader.ty(self.variant) {
            Some(VariantType::Nil) => true,
            Some(VariantType::Object) => self.reader.live_object_id(self.variant) == 0,
            _ => false,
        }
    }

    /// How the value at this key is named in a path.
    #[cold]
    #[inline(never)]
    fn step(&self, index: usize) -> Step {
        match self.reader.ty(self.variant) {
            Some(VariantType::String | VariantType::StringName) => {
                Step::text_key(&self.variant.stringify().to_string())
            }
            Some(VariantType::Int) => Step::int_key(self.reader.int(self.variant)),
            _ => Step::KeyAt(index),
        }
    }

    #[inline(never)]
    fn pour_node_path<S: Sink>(self, sink: &mut S) -> Result<()> {
        let path = self.variant.to::<NodePath>();
        let names: Vec<Name> = (0..path.get_name_count()).map(|i| self.name(path.get_name(i))).collect();
        let subnames: Vec<Name> =
            (0..path.get_subname_count()).map(|i| self.name(path.get_subname(i))).collect();
        let text = |name| Text::Utf32(self.units_of(name));
        let names: Vec<Text<'_>> = names.iter().map(text).collect();
        let subnames: Vec<Text<'_>> = subnames.iter().map(text).collect();
        let absolute = self.reader.is_absolute(self.variant);
        sink.node_path(NodePathParts { absolute, names: &names, subnames: &subnames })
    }

    /// A name in the form in which its code units can be read.
    fn name(self, name: StringName) -> Name {
        if self.reader.name_units(&name).is_some() {
            Name::Itself(name)
        } else {
            Name::Text(GString::from(&name))
        }
    }

    fn units_of(self, name: &Name) -> &[u32] {
        match name {
            Name::Itself(name) => self.reader.name_units(name).unwrap_or_default(),
            Name::Text(text) => self.reader.units(text),
        }
    }

    #[inline(never)]
    fn pour_signal<S: Sink>(self, sink: &mut S) -> Result<()> {
        let signal = self.variant.to::<Signal>();
        let name = self.name(signal.name());
        let object = signal.object_id().map_or(0, |id| id.to_i64() as u64);
        sink.signal(Text::Utf32(self.units_of(&name)), object)
    }

    /// The element type to write for a declared one.
    fn declared(&self, declared: ContainerType) -> Result<Declared> {
        Ok(match (declared, self.objects) {
            (ContainerType::Untyped, _) => Declared::Untyped,
            (ContainerType::Builtin(ty), _) => Declared::Builtin(ty),
            (ContainerType::Object { .. }, Objects::AsIds) => Declared::EncodedObject,
            (ContainerType::Object { script: Some(script), .. }, Objects::Full) => {
                Declared::Script(script_path(&script)?)
            }
            (ContainerType::Object { class, script: None }, Objects::Full) => {
                Declared::Class(GString::from(&class))
            }
        })
    }

    #[inline(never)]
    fn pour_object<S: Sink>(self, sink: &mut S, depth: u32) -> Result<()> {
        let id = self.reader.live_object_id(self.variant);
        if id == 0 {
            // Null or freed: written as Nil, as the engine does.
            return sink.nil();
        }
        if self.objects == Objects::AsIds {
            return sink.object_id(id);
        }
        let Ok(object) = self.variant.try_to::<Gd<Object>>() else {
            return sink.nil();
        };
        let class = object.get_class();
        if !ClassDb::singleton().can_instantiate(&StringName::from(&class)) {
            let class = quoted(&class.to_string());
            return Err(Error::object(format!("an object of class {class}, which cannot be made again")));
        }
        let stored: Vec<GString> = object
            .get_property_list()
            .iter_shared()
            .filter(|property| {
                let usage = property.get("usage").and_then(|usage| usage.try_to::<i64>().ok());
                usage.unwrap_or(0) & PropertyUsageFlags::STORAGE.ord() as i64 != 0
            })
            .filter_map(|property| property.get("name")?.try_to::<GString>().ok())
            .collect();
        let mut open = sink.begin_object(Text::Utf32(self.reader.units(&class)), stored.len())?;
        for name in stored {
            sink.begin_property(&mut open, Text::Utf32(self.reader.units(&name)))?;
            stored_value(&object, &name)
                .and_then(|value| self.of(&value).pour_at(sink, depth + 1))
                .map_err(|error| error.inside(Step::property(&name.to_string())))?;
            sink.end_property(&mut open)?;
        }
        sink.end_object(open)
    }
}

impl Source for Live<'_> {
    fn pour<S: Sink>(&mut self, sink: &mut S) -> Result<()> {
        self.pour_at(sink, 0)
    }
}

/// Pours a run that starts at `index` and returns how many elements it had.
#[inline(never)]
fn pour_run<S: Sink>(mut run: Run<'_>, index: usize, sink: &mut S, array: &mut S::Array) -> Result<usize> {
    let (ty, left) = (run.ty(), run.left());
    macro_rules! fixed {
        ($bytes:literal) => {
            sink.fixed_run::<$bytes>(array, ty, PRECISION, &mut run.lanes())
        };
    }
    let poured = match (ty, run_bytes(ty)) {
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
    // The one that was refused is the one that was taken last.
    poured.map_err(|error| error.inside(Step::Index(index + taken.saturating_sub(1))))?;
    Ok(taken)
}

/// The element at `index`, which is there unless a caller's other thread has shortened the Array.
#[inline(always)]
fn element<'a>(elements: &Elements<'a>, index: usize) -> Result<&'a Variant> {
    elements.get(index).ok_or_else(|| Error::argument("an Array that another thread changed meanwhile"))
}

/// A StringName, or its text where that is not read in place.
enum Name {
    Itself(StringName),
    Text(GString),
}

/// An element type to write, with its text.
enum Declared {
    Untyped,
    Builtin(VariantType),
    EncodedObject,
    Class(GString),
    Script(GString),
}

impl Declared {
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

/// What is written for a stored property: for `script`, the path of the object's script.
fn stored_value(object: &Gd<Object>, name: &GString) -> Result<Variant> {
    if !object.is_instance_valid() {
        return Err(Error::object("the object was freed by one of its own getters"));
    }
    if *name != "script" {
        return Ok(object.get(&StringName::from(name)));
    }
    object.get_script().map_or(Ok(Variant::nil()), |script| Ok(Variant::from(script_path(&script)?)))
}

/// The path by which a reader can load this script.
fn script_path(script: &Gd<Script>) -> Result<GString> {
    let path = script.get_path();
    if path.begins_with(format::SCRIPT_PATH_PREFIX) {
        Ok(path)
    } else {
        Err(Error::object("a script without a path that starts with res://, which no reader could load"))
    }
}
