//! Python's values to bytes: [`Tree`] is a source of the codec's events.

use std::cell::Cell;

use pyo3::PyTypeCheck;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMemoryView, PyNone, PyString, PyTuple,
};
use variant_codec::error::{ErrorKind, Step, quoted};
use variant_codec::format::MAX_DEPTH;
use variant_codec::stream::{ElementType, Encoder, Lanes, NodePathParts, Precision, Sink, Source, Text};
use variant_codec::{EncodeOptions, Error, Limits, NodePath, Result, VariantType, frames, validate};

use crate::components::Components;
use crate::error::{Place, raised};
use crate::packed::Packed;
use crate::stack::{SHALLOW, too_deep, with_room};
use crate::types::{Kind, Types};

/// A value of Python.
pub struct Tree<'a, 'py> {
    types: &'static Types,
    value: &'a Bound<'py, PyAny>,
    /// The deepest level that is written.
    deepest: u32,
    /// Whether code of Python has run, which may have changed containers. Only that releases the interpreter's lock.
    has_run: Cell<bool>,
}

impl<'a, 'py> Tree<'a, 'py> {
    /// A value of the format's 1024 levels if there is room on the stack.
    pub fn new(value: &'a Bound<'py, PyAny>, has_room: bool) -> Result<Self> {
        let types = Types::of(value.py()).map_err(raised)?;
        Ok(Self {
            types,
            value,
            deepest: if has_room { MAX_DEPTH } else { SHALLOW },
            has_run: Cell::new(false),
        })
    }
}

impl Source for Tree<'_, '_> {
    fn write_into<S: Sink>(&mut self, sink: &mut S) -> Result<()> {
        self.write(sink, self.value, 0)
    }
}

fn text<'a>(text: &'a Bound<'_, PyString>) -> Result<&'a str> {
    text.to_str().map_err(|_| surrogate(text).map_or_else(raised, Error::from))
}

/// The reason of the error for text with a surrogate, the only text without UTF-8.
#[cold]
fn surrogate(text: &Bound<'_, PyString>) -> PyResult<ErrorKind> {
    let utf16 = text.call_method1("encode", ("utf-16-le", "surrogatepass"))?;
    let units = utf16.cast::<PyBytes>()?.as_bytes().as_chunks().0.iter().map(|le| u16::from_le_bytes(*le));
    let lone = char::decode_utf16(units).find_map(std::result::Result::err);
    Ok(ErrorKind::InvalidCodeUnit(lone.map_or(0xD800, |lone| lone.unpaired_surrogate().into())))
}

/// A value, or a part of one of our classes, that has to be of this type.
fn cast<'a, 'py, T: PyTypeCheck>(value: &'a Bound<'py, PyAny>) -> Result<&'a Bound<'py, T>> {
    value.cast().map_err(|_| wrong())
}

fn wrong() -> Error {
    Error::argument("a part of a value of godot_variant has a wrong type")
}

/// The value of one of NumPy's scalars.
fn item<'py>(value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let item = value.call_method0("item").ok()?;
    let is_plain = item.is_exact_instance_of::<PyBool>()
        || item.is_exact_instance_of::<PyInt>()
        || item.is_exact_instance_of::<PyFloat>();
    is_plain.then_some(item)
}

fn int(value: &Bound<'_, PyAny>) -> Result<i64> {
    value.extract().map_err(|_| Error::argument("int beyond 64 bits"))
}

/// The error for a container that another thread, or code of its elements, has changed.
#[cold]
fn changed() -> Error {
    Error::argument("container changed while it was encoded")
}

impl Tree<'_, '_> {
    fn write<S: Sink>(&self, sink: &mut S, value: &Bound<'_, PyAny>, depth: u32) -> Result<()> {
        if depth > self.deepest {
            return Err(if self.deepest == MAX_DEPTH { ErrorKind::TooDeep } else { too_deep() }.into());
        }
        if let Ok(value) = value.cast_exact::<PyString>() {
            sink.text(VariantType::String, Text::Utf8(text(value)?))
        } else if value.is_exact_instance_of::<PyInt>() {
            sink.int(int(value)?)
        } else if let Ok(value) = value.cast_exact::<PyFloat>() {
            sink.float(value.value())
        } else if let Ok(value) = value.cast_exact::<PyDict>() {
            self.write_dict(sink, value, [ElementType::Untyped; 2], depth)
        } else if let Ok(value) = value.cast_exact::<PyList>() {
            self.write_list(sink, value, ElementType::Untyped, depth)
        } else if value.is_exact_instance_of::<PyNone>() {
            sink.nil()
        } else if let Ok(value) = value.cast_exact::<PyBool>() {
            sink.bool(value.is_true())
        } else {
            self.write_other(sink, value, depth)
        }
    }

    fn write_list<S: Sink>(
        &self,
        sink: &mut S,
        list: &Bound<'_, PyList>,
        element: ElementType<'_>,
        depth: u32,
    ) -> Result<()> {
        let count = list.len();
        let mut array = sink.begin_array(count, element)?;
        for index in 0..count {
            sink.begin_element(&mut array)?;
            let value = list.get_item(index).map_err(|_| changed())?;
            let written = self.write(sink, &value, depth + 1);
            written.map_err(|error| error.inside(Step::Index(index)))?;
            sink.end_element(&mut array)?;
        }
        sink.end_array(array)
    }

    fn write_dict<S: Sink>(
        &self,
        sink: &mut S,
        dict: &Bound<'_, PyDict>,
        [key, value]: [ElementType<'_>; 2],
        depth: u32,
    ) -> Result<()> {
        let count = dict.len();
        let mut dictionary = sink.begin_dictionary(count, key, value)?;
        let mut entries = dict.iter();
        for index in 0..count {
            // The iterator panics if the size has changed.
            if self.has_run.get() && dict.len() != count {
                return Err(changed());
            }
            let (key, value) = entries.next().ok_or_else(changed)?;
            self.write_entry(sink, &mut dictionary, &key, &value, (index, depth))?;
        }
        sink.end_dictionary(dictionary)
    }

    #[inline(always)]
    fn write_entry<S: Sink>(
        &self,
        sink: &mut S,
        dictionary: &mut S::Dictionary,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        (index, depth): (usize, u32),
    ) -> Result<()> {
        sink.begin_key(dictionary)?;
        self.write(sink, key, depth + 1).map_err(|error| error.inside(Step::KeyAt(index)))?;
        sink.begin_value(dictionary)?;
        self.write(sink, value, depth + 1).map_err(|error| error.inside(step(key, index)))?;
        sink.end_entry(dictionary)
    }

    #[inline(never)]
    fn write_other<S: Sink>(&self, sink: &mut S, value: &Bound<'_, PyAny>, depth: u32) -> Result<()> {
        if let Ok(value) = value.cast::<Components>() {
            return sink.fixed(value.get().ty(), value.get().lanes());
        }
        if let Ok(value) = value.cast::<Packed>() {
            return sink.packed(value.get().ty(), value.get().lanes(value.py()));
        }
        self.has_run.set(true);
        if let Some(kind) = self.types.kind(value) {
            return self.write_kind(sink, value, kind, depth);
        }
        let has = |name: &str| value.hasattr(name).map_err(raised);
        if let Ok(value) = value.cast::<PyString>() {
            sink.text(VariantType::String, Text::Utf8(text(value)?))
        } else if value.is_instance_of::<PyInt>() {
            sink.int(int(value)?)
        } else if let Ok(value) = value.cast::<PyFloat>() {
            sink.float(value.value())
        } else if let Ok(value) = value.cast::<PyDict>() {
            self.write_dict(sink, value, [ElementType::Untyped; 2], depth)
        } else if let Ok(value) = value.cast::<PyList>() {
            self.write_list(sink, value, ElementType::Untyped, depth)
        } else if let Ok(value) = value.cast::<PyTuple>() {
            self.write_list(sink, &value.to_list(), ElementType::Untyped, depth)
        } else if let Ok(value) = value.cast::<PyBytes>() {
            put_bytes(sink, value.as_bytes())
        } else if value.is_instance_of::<PyByteArray>() || value.is_instance_of::<PyMemoryView>() {
            put_bytes(sink, crate::decode::bytes_of(value).map_err(raised)?.as_bytes())
        } else if has("dtype")?
            && !has("__len__")?
            && let Some(item) = item(value)
        {
            self.write(sink, &item, depth)
        } else if has("__index__")? && !has("__len__")? {
            let index = value.call_method0("__index__").map_err(raised)?;
            sink.int(int(&index)?)
        } else if has("__float__")?
            && !has("__len__")?
            && let Ok(float) = value.extract()
        {
            sink.float(float)
        } else {
            let class = value.get_type().name().map_err(raised)?;
            let advice = match has("__dataclass_fields__")? {
                true => "; pass its class in `classes`",
                false => "",
            };
            Err(Error::argument(format!("cannot encode a value of type {class}{advice}")))
        }
    }

    #[inline(never)]
    fn write_kind<S: Sink>(
        &self,
        sink: &mut S,
        value: &Bound<'_, PyAny>,
        kind: Kind,
        depth: u32,
    ) -> Result<()> {
        let part = |name: &str| value.getattr(name).map_err(raised);
        match kind {
            Kind::StringName => sink.text(VariantType::StringName, Text::Utf8(text(cast(value)?)?)),
            Kind::TypedArray => {
                let element = part("element")?;
                self.write_list(sink, cast(value)?, self.declared(&element)?, depth)
            }
            Kind::TypedDictionary => {
                let types = [part("key")?, part("value")?];
                self.write_dict(
                    sink,
                    cast(value)?,
                    [self.declared(&types[0])?, self.declared(&types[1])?],
                    depth,
                )
            }
            Kind::Pairs => {
                let types = [part("key")?, part("value")?];
                let pairs: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)> =
                    value.extract().map_err(|_| wrong())?;
                let [key, element] = [self.declared(&types[0])?, self.declared(&types[1])?];
                let mut dictionary = sink.begin_dictionary(pairs.len(), key, element)?;
                for (index, (key, value)) in pairs.iter().enumerate() {
                    self.write_entry(sink, &mut dictionary, key, value, (index, depth))?;
                }
                sink.end_dictionary(dictionary)
            }
            Kind::Strings => {
                let texts = cast::<PyTuple>(value)?;
                let mut strings = sink.begin_strings(texts.len())?;
                for (index, value) in texts.iter().enumerate() {
                    let value = cast(&value).and_then(text);
                    let written = value.and_then(|value| sink.string(&mut strings, Text::Utf8(value)));
                    written.map_err(|error| error.inside(Step::Index(index)))?;
                }
                sink.end_strings(strings)
            }
            Kind::NodePath => {
                let absolute = part("absolute")?.extract().map_err(|_| wrong())?;
                let texts = |name| part(name)?.extract::<Vec<String>>().map_err(|_| wrong());
                let (names, subnames) = (texts("names")?, texts("subnames")?);
                let (names, subnames): (Vec<_>, Vec<_>) = (
                    names.iter().map(|part| Text::Utf8(part)).collect(),
                    subnames.iter().map(|part| Text::Utf8(part)).collect(),
                );
                sink.node_path(NodePathParts { absolute, names: &names, subnames: &subnames })
            }
            Kind::Rid => sink.rid(part("id")?.extract().map_err(|_| wrong())?),
            Kind::ObjectId => sink.object_id(part("id")?.extract().map_err(|_| wrong())?),
            Kind::Callable => sink.callable(),
            Kind::ClassName | Kind::ScriptPath => {
                sink.text(VariantType::String, Text::Utf8(text(cast(value)?)?))
            }
            Kind::Error => Err(Error::argument("cannot encode a value of type VariantError")),
            Kind::Signal => {
                let name: String = part("name")?.extract().map_err(|_| wrong())?;
                sink.signal(Text::Utf8(&name), part("object")?.extract().map_err(|_| wrong())?)
            }
            Kind::Object => {
                let class: String = part("class_name")?.extract().map_err(|_| wrong())?;
                let properties: Vec<(String, Bound<'_, PyAny>)> =
                    part("properties")?.extract().map_err(|_| wrong())?;
                let mut object = sink.begin_object(Text::Utf8(&class), properties.len())?;
                for (name, value) in &properties {
                    sink.begin_property(&mut object, Text::Utf8(name))?;
                    self.write(sink, value, depth + 1).map_err(|error| error.inside(Step::property(name)))?;
                    sink.end_property(&mut object)?;
                }
                sink.end_object(object)
            }
        }
    }

    /// The type that a container declares, from Python's form.
    fn declared<'e>(&self, element: &'e Bound<'_, PyAny>) -> Result<ElementType<'e>> {
        let py = element.py();
        if element.is_none() {
            return Ok(ElementType::Untyped);
        }
        let name =
            element.cast::<PyString>().map_err(|_| Error::argument("type of elements is not a str"))?;
        let name = text(name)?;
        let is = |kind| element.is_instance(self.types.class(py, kind)).map_err(raised);
        if is(Kind::ClassName)? {
            Ok(ElementType::Class(Text::Utf8(name)))
        } else if is(Kind::ScriptPath)? {
            Ok(ElementType::Script(Text::Utf8(name)))
        } else {
            let ty = VariantType::ALL.into_iter().find(|ty| ty.name() == name);
            let unknown = || Error::argument(format!("unknown type of elements {}", quoted(name)));
            ty.map(ElementType::Builtin).ok_or_else(unknown)
        }
    }
}

/// The step to the value at a key.
#[cold]
fn step(key: &Bound<'_, PyAny>, index: usize) -> Step {
    match (key.extract::<&str>(), key.extract::<i64>()) {
        (Ok(text), _) => Step::text_key(text),
        (_, Ok(int)) => Step::int_key(int),
        _ => Step::KeyAt(index),
    }
}

fn put_bytes<S: Sink>(sink: &mut S, le: &[u8]) -> Result<()> {
    sink.packed(VariantType::PackedByteArray, Lanes { precision: Precision::Single, le })
}

/// The encoded bytes of a value, as `take` returns them.
pub fn encoded<T: Send>(
    py: Python<'_>,
    value: &Bound<'_, PyAny>,
    take: impl Fn(Python<'_>, &[u8]) -> Result<T> + Sync,
) -> Result<T> {
    thread_local! {
        /// Memory for small values, so that they need only that of the result.
        static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    }
    /// The most that stays allocated.
    const KEPT: usize = 1 << 20;
    // As the engine: each value keeps its precision, and text that would not come back is refused.
    let options = EncodeOptions { precision: None, strict_text: true };
    let value = value.clone().unbind();
    with_room(py, MAX_DEPTH, |py, has_room| {
        let mut scratch = SCRATCH.take();
        scratch.clear();
        let mut encoder = Encoder::new(scratch, options);
        Tree::new(value.bind(py), has_room)?.write_into(&mut encoder)?;
        let scratch = encoder.into_output();
        let taken = take(py, &scratch);
        if scratch.capacity() <= KEPT {
            SCRATCH.set(scratch);
        }
        taken
    })
}

/// Makes tagged dicts of the dataclasses in a value, if classes are given.
pub fn without_classes<'py>(
    value: &Bound<'py, PyAny>,
    classes: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    match classes {
        Some(classes) => value.py().import("godot_variant._classes")?.call_method1("tag", (value, classes)),
        None => Ok(value.clone()),
    }
}

/// Encodes one value, as the engine's `var_to_bytes` does.
///
/// >>> encode([1, 2.5]).hex(" ", 4)
/// '1c000000 02000000 02000000 01000000 03000000 00002040'
///
/// `None`, `bool`, `int`, `float`, `str`, `bytes`, `list`, `tuple` and `dict` are written as Godot's types, besides the
/// classes of this module. `classes` are dataclasses whose instances are written as objects of registered classes. A
/// list or dict that contains itself is an error.
#[pyfunction]
#[pyo3(signature = (value, *, classes=None))]
pub fn encode<'py>(
    value: &Bound<'py, PyAny>,
    classes: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let py = value.py();
    let value = without_classes(value, classes)?;
    let bytes = encoded(py, &value, |py, bytes| Ok(PyBytes::new(py, bytes).unbind()));
    bytes.map(|bytes| bytes.into_bound(py)).map_err(|error| Place::default().exception(py, &error))
}

/// Fails if `load` and `records` would refuse the bytes, of a typed container that holds something else, for example.
pub fn readable(bytes: &[u8]) -> Result<()> {
    let limits = Limits { allow_objects: true, ..Limits::for_save_files() };
    validate(bytes, &limits).map(drop).map_err(Error::without_offset)
}

/// Each value as a record, which `add` appends. Those of a file have to be readable.
pub fn batch(
    values: &Bound<'_, PyAny>,
    classes: Option<&Bound<'_, PyAny>>,
    is_file: bool,
    add: fn(&mut Vec<u8>, &[u8]) -> Result<()>,
) -> PyResult<Vec<u8>> {
    let (py, mut batch) = (values.py(), Vec::new());
    for (index, value) in values.try_iter()?.enumerate() {
        let value = without_classes(&value?, classes)?;
        let record = encoded(py, &value, |_, bytes| {
            if is_file { readable(bytes) } else { Ok(()) }?;
            Ok(bytes.to_vec())
        });
        let added = record.and_then(|record| add(&mut batch, &record));
        added.map_err(|error| Place { record: Some(index as u64), file: None }.exception(py, &error))?;
    }
    Ok(batch)
}

/// Encodes a batch of values, each after its length: the inverse of `decode_batch`.
#[pyfunction]
#[pyo3(signature = (values, *, classes=None))]
pub fn encode_batch<'py>(
    values: &Bound<'py, PyAny>,
    classes: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(values.py(), &batch(values, classes, false, frames::try_append)?))
}

/// Whether a NodePath is absolute, its names and its subnames.
#[pyfunction(name = "_parse_node_path")]
pub fn parse_node_path(path: &str) -> PyResult<(bool, Vec<String>, Vec<String>)> {
    let parsed: Result<NodePath> = path.parse();
    let NodePath { absolute, names, subnames } =
        parsed.map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?;
    Ok((absolute, names, subnames))
}
