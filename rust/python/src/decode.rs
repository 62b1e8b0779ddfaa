//! Bytes to Python's values: [`Builder`] is a sink of the codec's events.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, MutexGuard};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMemoryView, PyModule, PyString, PyTuple,
};
use variant_codec::stream::{Decoder, ElementType, Lanes, NodePathParts, Sink, Text};
use variant_codec::{Result, Strictness, VariantType, frames, validate};

use crate::error::{Place, raised};
use crate::keys::Keys;
use crate::limits::Limits;
use crate::stack::with_room;
use crate::types::{Kind, Types};
use crate::{components, packed};

/// Builds Python's objects. Completed values wait on `values` until their container takes them.
pub struct Builder<'a, 'py> {
    py: Python<'py>,
    types: &'static Types,
    /// The object with the bytes that are decoded, which packed arrays share.
    source: Option<&'a Bound<'py, PyBytes>>,
    values: Vec<Bound<'py, PyAny>>,
    keys: Option<MutexGuard<'static, Keys>>,
    /// Whether the next value is a key.
    is_key: bool,
    /// Whether a Dictionary had keys that Python takes for one or cannot hash, so that the codec must look for keys that
    /// repeat.
    pub may_repeat_keys: bool,
}

/// An open container: the number of values before it, and the types that it declares.
pub struct Open<'py, const TYPES: usize>(usize, Option<[Bound<'py, PyAny>; TYPES]>);

impl<'a, 'py> Builder<'a, 'py> {
    pub fn new(py: Python<'py>, source: Option<&'a Bound<'py, PyBytes>>) -> Result<Self> {
        let types = Types::of(py).map_err(raised)?;
        let (values, keys) = (Vec::with_capacity(32), Keys::lock());
        Ok(Self { py, types, source, values, keys, is_key: false, may_repeat_keys: false })
    }

    /// The value that was built.
    pub fn into_value(mut self) -> Py<PyAny> {
        self.values.pop().map_or_else(|| self.py.None(), Bound::unbind)
    }

    #[inline(always)]
    fn push(&mut self, value: Bound<'py, PyAny>) -> Result<()> {
        self.is_key = false;
        self.values.push(value);
        Ok(())
    }

    #[inline(always)]
    fn push_made(&mut self, made: PyResult<Bound<'py, PyAny>>) -> Result<()> {
        self.push(made.map_err(raised)?)
    }

    /// The object for a text that is likely to repeat.
    #[inline]
    fn known(&mut self, text: Text<'_>, is_name: bool) -> Result<Bound<'py, PyAny>> {
        let lossy;
        let text = match text {
            Text::Utf8(text) => text,
            Text::Utf32(_) => {
                lossy = text.to_lossy();
                &lossy
            }
        };
        match &mut self.keys {
            Some(keys) => keys.get(self.py, text, is_name, self.types),
            None => self.types.text(self.py, text, is_name),
        }
        .map_err(raised)
    }

    /// A container of this kind, made of a plain one, unless it has no types.
    #[inline(always)]
    fn typed<const TYPES: usize>(
        &self,
        kind: Kind,
        plain: Bound<'py, PyAny>,
        types: Option<[Bound<'py, PyAny>; TYPES]>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match types {
            None => Ok(plain),
            Some(types) => {
                let arguments =
                    PyTuple::new(self.py, std::iter::once(plain).chain(types).collect::<Vec<_>>())?;
                self.types.class(self.py, kind).call1(arguments)
            }
        }
    }

    fn dictionary(&mut self, Open(start, types): Open<'py, 2>) -> PyResult<Bound<'py, PyAny>> {
        let (entries, dict) = (self.values[start..].as_chunks::<2>().0, PyDict::new(self.py));
        let mut holds_all = true;
        for [key, value] in entries {
            match dict.set_item(key, value) {
                Err(error) if error.is_instance_of::<PyTypeError>(self.py) => holds_all = false,
                set => set?,
            }
        }
        let built = if holds_all && dict.len() == entries.len() {
            self.typed(Kind::TypedDictionary, dict.into_any(), types)?
        } else {
            self.may_repeat_keys = true;
            let pairs = PyList::new(self.py, entries.iter().map(|[key, value]| (key, value)))?;
            let none = || self.py.None().into_bound(self.py);
            self.typed(Kind::Pairs, pairs.into_any(), Some(types.unwrap_or_else(|| [none(), none()])))?
        };
        self.values.truncate(start);
        Ok(built)
    }
}

impl<'py> Sink for Builder<'_, 'py> {
    type Array = Open<'py, 1>;
    type Dictionary = Open<'py, 2>;
    type Object = (usize, Bound<'py, PyAny>);
    type Strings = usize;

    fn nil(&mut self) -> Result<()> {
        self.push(self.py.None().into_bound(self.py))
    }

    fn bool(&mut self, value: bool) -> Result<()> {
        self.push(PyBool::new(self.py, value).to_owned().into_any())
    }

    fn int(&mut self, value: i64) -> Result<()> {
        self.push(PyInt::new(self.py, value).into_any())
    }

    fn float(&mut self, value: f64) -> Result<()> {
        self.push(PyFloat::new(self.py, value).into_any())
    }

    fn text(&mut self, ty: VariantType, text: Text<'_>) -> Result<()> {
        let is_name = ty == VariantType::StringName;
        let object = match text {
            Text::Utf8(text) if !is_name && !self.is_key => PyString::new(self.py, text).into_any(),
            text => self.known(text, is_name)?,
        };
        self.push(object)
    }

    fn fixed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        self.push_made(components::create(self.py, ty, lanes))
    }

    fn packed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        self.push_made(packed::of_lanes(self.py, ty, lanes, self.source))
    }

    fn node_path(&mut self, path: NodePathParts<'_>) -> Result<()> {
        let texts = |parts: &[Text<'_>]| PyTuple::new(self.py, parts.iter().map(|part| part.to_lossy()));
        let made = || {
            let parts = (path.absolute, texts(path.names)?, texts(path.subnames)?);
            self.types.class(self.py, Kind::NodePath).call_method1("_of", parts)
        };
        self.push_made(made())
    }

    fn rid(&mut self, id: u64) -> Result<()> {
        self.push_made(self.types.class(self.py, Kind::Rid).call1((id,)))
    }

    fn callable(&mut self) -> Result<()> {
        self.push_made(self.types.class(self.py, Kind::Callable).call0())
    }

    fn signal(&mut self, name: Text<'_>, object: u64) -> Result<()> {
        self.push_made(self.types.class(self.py, Kind::Signal).call1((name.to_lossy(), object)))
    }

    fn object_id(&mut self, id: u64) -> Result<()> {
        match id {
            0 => self.nil(),
            id => self.push_made(self.types.class(self.py, Kind::ObjectId).call1((id,))),
        }
    }

    fn begin_array(&mut self, _len: usize, element: ElementType<'_>) -> Result<Self::Array> {
        self.is_key = false;
        let types = match element {
            ElementType::Untyped => None,
            element => Some([self.types.element(self.py, element).map_err(raised)?]),
        };
        Ok(Open(self.values.len(), types))
    }

    fn end_array(&mut self, Open(start, types): Self::Array) -> Result<()> {
        let list = PyList::new(self.py, self.values.drain(start..)).map_err(raised)?;
        self.push_made(self.typed(Kind::TypedArray, list.into_any(), types))
    }

    fn begin_dictionary(
        &mut self,
        _len: usize,
        key: ElementType<'_>,
        value: ElementType<'_>,
    ) -> Result<Self::Dictionary> {
        self.is_key = false;
        let types = match (key, value) {
            (ElementType::Untyped, ElementType::Untyped) => None,
            (key, value) => {
                let element = |element| self.types.element(self.py, element).map_err(raised);
                Some([element(key)?, element(value)?])
            }
        };
        Ok(Open(self.values.len(), types))
    }

    fn begin_key(&mut self, _dictionary: &mut Self::Dictionary) -> Result<()> {
        self.is_key = true;
        Ok(())
    }

    fn end_dictionary(&mut self, open: Self::Dictionary) -> Result<()> {
        let built = self.dictionary(open);
        self.push_made(built)
    }

    fn begin_object(&mut self, class: Text<'_>, _properties: usize) -> Result<Self::Object> {
        self.is_key = false;
        Ok((self.values.len(), self.known(class, false)?))
    }

    fn begin_property(&mut self, _object: &mut Self::Object, name: Text<'_>) -> Result<()> {
        let name = self.known(name, false)?;
        self.push(name)
    }

    fn end_object(&mut self, (start, class): Self::Object) -> Result<()> {
        let properties = self.values[start..].as_chunks::<2>().0.iter().map(|[name, value]| (name, value));
        let made = PyTuple::new(self.py, properties)
            .and_then(|properties| self.types.class(self.py, Kind::Object).call1((class, properties)));
        self.values.truncate(start);
        self.push_made(made)
    }

    fn begin_strings(&mut self, _len: usize) -> Result<usize> {
        self.is_key = false;
        Ok(self.values.len())
    }

    fn end_strings(&mut self, start: usize) -> Result<()> {
        let made = PyList::new(self.py, self.values.drain(start..))
            .and_then(|texts| self.types.class(self.py, Kind::Strings).call1((texts,)));
        self.push_made(made)
    }
}

/// The bytes of an object with the buffer protocol. They are copied unless they are `bytes`, since others may change
/// all other buffers meanwhile, or later.
pub fn bytes_of<'py>(data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    match data.cast::<PyBytes>() {
        Ok(bytes) => Ok(bytes.clone()),
        Err(_) => Ok(PyMemoryView::from(data)?.call_method0("tobytes")?.cast_into()?),
    }
}

/// Keeps Python's garbage collector from running while a large input is decoded. What is built has no cycles, but the
/// collector would walk it again and again: of 50,000 Dictionaries in 175 ms, that is 125 ms.
struct NoCollector<'py>(Option<Bound<'py, PyModule>>);

impl<'py> NoCollector<'py> {
    /// The number of bytes from which it pays.
    const LARGE: usize = 64 << 10;

    fn during(py: Python<'py>, bytes: usize) -> PyResult<Self> {
        if bytes < Self::LARGE {
            return Ok(Self(None));
        }
        let collector = py.import("gc")?;
        if !collector.call_method0("isenabled")?.is_truthy()? {
            return Ok(Self(None));
        }
        collector.call_method0("disable")?;
        PAUSED.store(true, Ordering::Relaxed);
        Ok(Self(Some(collector)))
    }
}

impl Drop for NoCollector<'_> {
    fn drop(&mut self) {
        if let Some(collector) = &self.0 {
            PAUSED.store(false, Ordering::Relaxed);
            // It fails in no version of Python.
            drop(collector.call_method0("enable"));
        }
    }
}

static PAUSED: AtomicBool = AtomicBool::new(false);

/// Lets the collector run in a process that was forked while another thread decoded.
#[pyfunction(name = "_after_fork")]
pub fn after_fork(py: Python<'_>) -> PyResult<()> {
    match PAUSED.swap(false, Ordering::Relaxed) {
        true => py.import("gc")?.call_method0("enable").map(drop),
        false => Ok(()),
    }
}

/// Decodes the only value in `bytes`, which are those of `source` if there is one.
pub fn read(
    py: Python<'_>,
    bytes: &[u8],
    source: Option<&Bound<'_, PyBytes>>,
    limits: &Limits,
    strictness: Strictness,
) -> Result<Py<PyAny>> {
    let _paused = NoCollector::during(py, bytes.len()).map_err(raised)?;
    let source = source.map(|source| source.clone().unbind());
    with_room(py, limits.full.deepest(), |py, has_room| {
        let limits = if has_room { &limits.full } else { &limits.shallow };
        let source = source.as_ref().map(|source| source.bind(py));
        let mut builder = Builder::new(py, source)?;
        Decoder::new(bytes, strictness, limits).decode_only(&mut builder)?;
        if builder.may_repeat_keys && strictness == Strictness::Strict {
            validate(bytes, limits)?;
        }
        Ok(builder.into_value())
    })
}

/// The limits that a call was given, or those for packets.
fn or_network<'a>(limits: Option<&'a Bound<'_, Limits>>) -> &'a Limits {
    static NETWORK: LazyLock<Limits> = LazyLock::new(|| Limits::of(variant_codec::Limits::for_network()));
    limits.map_or(&NETWORK, |limits| limits.get())
}

/// Makes dataclasses of the tagged dicts in a value, if classes are given.
pub fn with_classes<'py>(
    value: Bound<'py, PyAny>,
    classes: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    match classes {
        Some(classes) => value.py().import("godot_variant._classes")?.call_method1("untag", (value, classes)),
        None => Ok(value),
    }
}

/// Decodes one value, which `data` must hold and nothing else.
///
/// >>> decode(encode({"name": "Ada", "position": Vector2(1, 2)}))
/// {'name': 'Ada', 'position': Vector2(1.0, 2.0)}
///
/// `limits` are those for bytes from strangers unless you pass others; `Limits.files()` is for your own files. With
/// `lenient`, all that the engine reads is read, not only what it writes. `classes` are dataclasses for objects of
/// registered classes, by their names; without, such objects are dicts with the key `@class`.
///
/// Packed arrays share the memory of `data` if it is `bytes`; any other buffer is copied first. Python's garbage
/// collector is off while a large value is decoded.
#[pyfunction]
#[pyo3(signature = (data, *, limits=None, lenient=false, classes=None))]
pub fn decode<'py>(
    data: &Bound<'py, PyAny>,
    limits: Option<&Bound<'py, Limits>>,
    lenient: bool,
    classes: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, bytes) = (data.py(), bytes_of(data)?);
    let strictness = if lenient { Strictness::Lenient } else { Strictness::Strict };
    let value = read(py, bytes.as_bytes(), Some(&bytes), or_network(limits), strictness);
    let value = value.map_err(|error| Place::default().exception(py, &error))?;
    with_classes(value.into_bound(py), classes)
}

/// Decodes a batch of values, each after its length, as `FileAccess.store_var` and `FastVariantCodec.pack_batch` write
/// them. The limits apply to each value.
///
/// >>> decode_batch(encode_batch([1, "two"]))
/// [1, 'two']
///
/// It runs on one core, like `decode`: five sixths of the time go into Python's objects, which need the interpreter's
/// lock. For more cores, use processes.
#[pyfunction]
#[pyo3(signature = (data, *, limits=None, lenient=false, classes=None))]
pub fn decode_batch<'py>(
    data: &Bound<'py, PyAny>,
    limits: Option<&Bound<'py, Limits>>,
    lenient: bool,
    classes: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let (py, bytes) = (data.py(), bytes_of(data)?);
    let strictness = if lenient { Strictness::Lenient } else { Strictness::Strict };
    let (ranges, damage) = frames::records(bytes.as_bytes(), &variant_codec::Limits::unlimited());
    let place = |record: usize| Place { record: Some(record as u64), file: None };
    if let Some(damage) = damage {
        return Err(place(ranges.len()).exception(py, &damage));
    }
    let _paused = NoCollector::during(py, bytes.as_bytes().len())?;
    let values = PyList::empty(py);
    for (index, range) in ranges.into_iter().enumerate() {
        let start = range.start;
        let value = read(py, &bytes.as_bytes()[range], Some(&bytes), or_network(limits), strictness);
        let value = value.map_err(|error| place(index).exception(py, &error.shifted(start)))?;
        values.append(with_classes(value.into_bound(py), classes)?)?;
    }
    Ok(values)
}

/// Restores a pickled value.
#[pyfunction(name = "_restore")]
pub fn restore<'py>(data: &Bound<'py, PyBytes>) -> PyResult<Bound<'py, PyAny>> {
    let limits = Limits::of(variant_codec::Limits::for_save_files());
    let value = read(data.py(), data.as_bytes(), Some(data), &limits, Strictness::Lenient);
    let value = value.map_err(|error| Place::default().exception(data.py(), &error))?;
    Ok(value.into_bound(data.py()))
}
