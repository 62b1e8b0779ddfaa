//! Live Variant → events, with objects of registered classes as the plain containers of `docs/classes.md`.

use godot::builtin::Variant;
use variant_codec::error::Step;
use variant_codec::stream::{ElementType, Sink, Source, Text};
use variant_codec::{Error, ErrorKind, Result, VariantType, format, tag};
use variant_engine::ContainerType;

use crate::classes::class::{Class, FIRST_VERSION};
use crate::classes::fitting::{check_readable, is_class_for};
use crate::classes::graph::{Form, Graph, GraphObject};
use crate::classes::registry::Registry;
use crate::encode::walker::{ObjectForm, Walker, WrittenType};

/// A value, and the objects in it.
pub struct Tagging<'a> {
    pub value: &'a Variant,
    pub graph: &'a Graph,
    pub registry: &'a Registry,
}

impl Source for Tagging<'_> {
    /// Writes the table of objects, unless it is empty, and then the value.
    // Not inlined, so that it does not enlarge the stack frame in which small values are written.
    #[inline(never)]
    fn write_into<S: Sink>(&mut self, sink: &mut S) -> Result<()> {
        let Self { value, graph, registry } = *self;
        let walker = Walker::new(Tagged { graph, registry }, true);
        let table = graph.table();
        if table.len() == 0 {
            return walker.write_into(value, sink, 0);
        }
        walker.write_tag(sink, (tag::OBJECTS, 2), 0, |sink, dictionary| {
            let mut array = sink.begin_array(table.len(), ElementType::Untyped)?;
            for (index, found) in table.enumerate() {
                sink.begin_element(&mut array)?;
                walker
                    .write_found(found, sink, 2)
                    .map_err(|error| error.inside(Step::Index(index)).inside(Step::text_key(tag::OBJECTS)))?;
                sink.end_element(&mut array)?;
            }
            sink.end_array(array)?;
            sink.end_entry(dictionary)?;
            begin_value(sink, dictionary, VariantType::String, tag::VALUE)?;
            walker.write_into(value, sink, 1)
        })
    }
}

/// Objects as tagged Dictionaries.
#[derive(Clone, Copy)]
struct Tagged<'c> {
    graph: &'c Graph,
    registry: &'c Registry,
}

impl ObjectForm for Tagged<'_> {
    /// The graph has run them.
    fn runs_getters(self) -> bool {
        false
    }

    fn keeps_classes(self) -> bool {
        true
    }

    fn refuses_ids(self) -> bool {
        true
    }

    fn declared(self, declared: ContainerType) -> Result<WrittenType> {
        if has_tag(&declared) { Ok(WrittenType::Untyped) } else { WrittenType::of(declared) }
    }

    /// Writes an object, or a reference to it if it is in the table.
    #[inline(never)]
    fn write_object<S: Sink>(
        walker: Walker<'_, '_, Self>,
        _object: &Variant,
        id: u64,
        sink: &mut S,
        depth: u32,
    ) -> Result<()> {
        let graph = walker.objects.graph;
        let Some(found) = graph.find(id) else { return Err(graph.missing()) };
        match found.slot() {
            None => walker.write_found(found, sink, depth),
            Some(slot) => walker.write_tag(sink, (tag::REFERENCE, 1), depth, |sink, _| sink.int(slot as i64)),
        }
    }

    /// Writes an Array, with the type of its elements in a tag if its header cannot hold the type.
    #[inline(never)]
    fn write_array<'a, S: Sink>(
        walker: Walker<'a, '_, Self>,
        array: &'a Variant,
        sink: &mut S,
        depth: u32,
    ) -> Result<()> {
        let element = walker.reader.array_type(array);
        if !has_tag(&element) {
            return walker.write_bare_array(array, sink, depth);
        }
        let name = walker.objects.registry.type_name(&element)?;
        walker.write_tag(sink, (tag::ARRAY, 2), depth, |sink, dictionary| {
            sink.text(VariantType::String, Text::Utf8(&name))?;
            sink.end_entry(dictionary)?;
            begin_value(sink, dictionary, VariantType::String, tag::VALUES)?;
            walker.write_bare_array(array, sink, depth + 1)
        })
    }

    /// Writes a Dictionary, with the types of its keys and values in a tag if its header cannot hold the
    /// types.
    #[inline(never)]
    fn write_dictionary<'a, S: Sink>(
        walker: Walker<'a, '_, Self>,
        dictionary: &'a Variant,
        sink: &mut S,
        depth: u32,
    ) -> Result<()> {
        let (key, value) = walker.reader.dictionary_types(dictionary);
        if !has_tag(&key) && !has_tag(&value) {
            return walker.write_untyped(dictionary, sink, depth);
        }
        let registry = walker.objects.registry;
        let names = [registry.type_name(&key)?, registry.type_name(&value)?];
        walker.write_tag(sink, (tag::DICTIONARY, 2), depth, |sink, entries| {
            let mut types = sink.begin_array(names.len(), ElementType::Untyped)?;
            for name in &names {
                sink.begin_element(&mut types)?;
                sink.text(VariantType::String, Text::Utf8(name))?;
                sink.end_element(&mut types)?;
            }
            sink.end_array(types)?;
            sink.end_entry(entries)?;
            begin_value(sink, entries, VariantType::String, tag::VALUES)?;
            walker.write_untyped(dictionary, sink, depth + 1)
        })
    }
}

impl<'s> Walker<'_, 's, Tagged<'s>> {
    fn write_found<S: Sink>(self, found: &'s GraphObject, sink: &mut S, depth: u32) -> Result<()> {
        let class = match &found.form {
            Form::Object(class) => class,
            Form::Refused(error) => return Err(Error::clone(error)),
            Form::Resource(place) => {
                let (uid, path) = &**place;
                return self.write_tag(sink, (tag::RESOURCE, 2), depth, |sink, dictionary| {
                    sink.text(VariantType::String, Text::Utf8(uid))?;
                    sink.end_entry(dictionary)?;
                    begin_value(sink, dictionary, VariantType::String, tag::PATH)?;
                    sink.text(VariantType::String, Text::Utf8(path))
                });
            }
        };
        let graph = self.objects.graph;
        let values = graph.values(found, class);
        let has_version = class.version != FIRST_VERSION;
        let unknown = graph.unknown(found, class);
        let left_out = found.left_out();
        let count = 1 + usize::from(has_version) + values.len() - left_out.len() + unknown.len();
        self.write_tag(sink, (tag::CLASS, count), depth, |sink, dictionary| {
            sink.text(VariantType::String, Text::Utf8(&class.name))?;
            if has_version {
                sink.end_entry(dictionary)?;
                begin_value(sink, dictionary, VariantType::String, tag::VERSION)?;
                sink.int(class.version)?;
            }
            self.write_properties((class, values, left_out), sink, dictionary, depth)?;
            for (name, value) in unknown {
                sink.end_entry(dictionary)?;
                begin_value(sink, dictionary, VariantType::String, name)?;
                self.without_splitter()
                    .write_into(value, sink, depth + 1)
                    .map_err(|error| error.inside(Step::property(name)))?;
            }
            Ok(())
        })
    }

    #[inline(always)]
    fn write_properties<S: Sink>(
        self,
        (class, values, left_out): (&'s Class, &'s [Variant], &'s [usize]),
        sink: &mut S,
        dictionary: &mut S::Dictionary,
        depth: u32,
    ) -> Result<()> {
        let (walker, Tagged { graph, registry }) = (self.without_splitter(), self.objects);
        for (position, (property, value)) in class.properties.iter().zip(values).enumerate() {
            if left_out.contains(&position) {
                continue;
            }
            sink.end_entry(dictionary)?;
            begin_value(sink, dictionary, VariantType::String, &property.text)?;
            let (declared, ty) = (&property.declared, walker.reader.ty(value));
            let is_taken = ty == Some(VariantType::Object)
                && graph.class_of(value).is_some_and(|class| is_class_for(declared, class));
            let checked = if is_taken { Ok(()) } else { check_readable(declared, value, ty, registry) };
            let written = checked.and_then(|()| match ty {
                Some(VariantType::Array) if declared.is_typed() => {
                    walker.write_bare_array(value, sink, depth + 1)
                }
                Some(VariantType::Dictionary) if declared.is_typed() => {
                    walker.write_untyped(value, sink, depth + 1)
                }
                _ => walker.write_into(value, sink, depth + 1),
            });
            written.map_err(|error| error.inside(Step::property(&property.text)))?;
        }
        Ok(())
    }

    /// Writes a Dictionary that starts with a tag and has `count` entries; `write` writes the value of the
    /// tag and the other entries.
    #[inline(always)]
    fn write_tag<S: Sink>(
        self,
        sink: &mut S,
        (tag, count): (&str, usize),
        depth: u32,
        write: impl FnOnce(&mut S, &mut S::Dictionary) -> Result<()>,
    ) -> Result<()> {
        if depth >= format::MAX_DEPTH {
            return Err(ErrorKind::TooDeep.into());
        }
        self.check_key_depth(depth)?;
        let mut dictionary = sink.begin_dictionary(count, ElementType::Untyped, ElementType::Untyped)?;
        begin_value(sink, &mut dictionary, VariantType::StringName, tag)?;
        write(sink, &mut dictionary)?;
        sink.end_entry(&mut dictionary)?;
        sink.end_dictionary(dictionary)
    }

    /// Writes a Dictionary without a tag for its types. If it has a key like a tag, wraps it: writes it as the value of
    /// [`tag::PLAIN`] in another Dictionary.
    fn write_untyped<S: Sink>(self, variant: &Variant, sink: &mut S, depth: u32) -> Result<()> {
        let walker = self.without_splitter();
        if !self.has_key_like_tag(variant) {
            return walker.write_bare_dictionary(variant, sink, depth);
        }
        self.write_tag(sink, (tag::PLAIN, 1), depth, |sink, _| {
            walker.write_bare_dictionary(variant, sink, depth + 1)
        })
    }

    /// Whether a Dictionary has a key like a tag. If the data becomes JSON, types are lost and any key may
    /// become the first one.
    fn has_key_like_tag(self, variant: &Variant) -> bool {
        use VariantType as T;

        let (declared, _) = self.reader.dictionary_types(variant);
        if !matches!(
            declared,
            ContainerType::Untyped | ContainerType::Builtin(T::String | T::StringName | T::NodePath)
        ) {
            return false;
        }
        let start = u32::from(tag::START);
        let is_like_tag = |key: &Variant| match self.reader.ty(key) {
            Some(T::String) => self.reader.string_units(key).first() == Some(&start),
            // JSON turns a NodePath into text.
            Some(T::StringName | T::NodePath) => {
                key.stringify().chars().first().is_some_and(|unit| u32::from(*unit) == start)
            }
            _ => false,
        };
        let (mut entries, _) = self.reader.entries(variant, false);
        while let Some((key, _)) = self.reader.next_entry(&mut entries) {
            if is_like_tag(key) {
                return true;
            }
        }
        false
    }
}

/// Writes a text as a key, and begins its value.
#[inline(always)]
fn begin_value<S: Sink>(
    sink: &mut S,
    dictionary: &mut S::Dictionary,
    ty: VariantType,
    key: &str,
) -> Result<()> {
    sink.begin_key(dictionary)?;
    sink.text(ty, Text::Utf8(key))?;
    sink.begin_value(dictionary)
}

/// Whether a type is written in a tag. Objects and typed Arrays of objects are written as Dictionaries, which
/// would not fit a header that declares the element type Object or Array.
fn has_tag(declared: &ContainerType) -> bool {
    use VariantType::{Array, Object};
    matches!(declared, ContainerType::Object { .. } | ContainerType::Builtin(Object | Array))
}
