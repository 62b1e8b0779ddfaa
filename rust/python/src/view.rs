//! [`View`]: parts of encoded values, without the rest.

use std::ops::Range;
use std::sync::Arc;

use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyIterator, PyList, PyString};
use variant_codec::limits::Spent;
use variant_codec::stream::{Source as _, ValueBuilder};
use variant_codec::view::{self, Fields, Key, KnownOffsets, Spot};
use variant_codec::{Error, ErrorKind, Result, Value, VariantType, validate};

use crate::decode::{Builder, bytes_of};
use crate::encode::Tree;
use crate::error::{Place, raised};
use crate::files::{Values, Whole, or_files};
use crate::limits::Limits;
use crate::stack::with_room;

/// A view of an encoded value, or of a file of records as an Array: finds parts without decoding the others.
///
/// >>> view = View(encode({"players": [{"hp": 87}, {"hp": 12}], "day": 3}))
/// >>> view["players"][0]["hp"], view["day"]
/// (87, 3)
/// >>> view["players"].column("hp")
/// [87, 12]
///
/// A step leads to a view if the value is an Array, Dictionary or Object, otherwise to the value itself. In data of
/// registered classes, steps follow references. What is read is checked as strictly as by `decode`, the rest is not.
#[pyclass(frozen, module = "godot_variant")]
pub struct View {
    bytes: Py<PyBytes>,
    place: Viewed,
    limits: Option<Py<Limits>>,
    known: Arc<KnownOffsets>,
    file: Option<Arc<str>>,
}

enum Viewed {
    Value(Spot),
    Records(Vec<Range<usize>>),
}

impl View {
    fn limits<'a>(&'a self, py: Python<'a>) -> &'a Limits {
        or_files(self.limits.as_ref().map(|limits| limits.bind(py)))
    }

    fn exception(&self, py: Python<'_>, error: &Error) -> PyErr {
        Place { file: self.file.as_deref(), record: None }.exception(py, error)
    }

    fn at(&self, py: Python<'_>, spot: Spot) -> Self {
        Self {
            bytes: self.bytes.clone_ref(py),
            place: Viewed::Value(spot),
            limits: self.limits.as_ref().map(|limits| limits.clone_ref(py)),
            known: Arc::clone(&self.known),
            file: self.file.clone(),
        }
    }

    /// Calls `look` with the codec's view of a value.
    fn look<'a, T>(
        &'a self,
        py: Python<'a>,
        spot: Spot,
        look: impl FnOnce(view::View<'a>) -> Result<T>,
    ) -> PyResult<T> {
        let found = view::View::at_spot(self.bytes.as_bytes(py), &self.limits(py).full, spot)
            .and_then(|view| look(view.remembering(&self.known).following_tags()?));
        found.map_err(|error| self.exception(py, &error))
    }

    /// A value as a step returns it.
    fn present<'py>(&self, py: Python<'py>, found: view::View<'_>) -> PyResult<Bound<'py, PyAny>> {
        match found.ty() {
            VariantType::Array | VariantType::Dictionary | VariantType::Object if found.has_header() => {
                Ok(Bound::new(py, self.at(py, found.spot()))?.into_any())
            }
            _ => self.decoded(py, found, &mut Spent::default()),
        }
    }

    fn decoded<'py>(
        &self,
        py: Python<'py>,
        found: view::View<'_>,
        spent: &mut Spent,
    ) -> PyResult<Bound<'py, PyAny>> {
        let limits = self.limits(py);
        let (before, spot) = (spent.clone(), found.spot());
        let value = with_room(py, limits.full.deepest(), |py, has_room| {
            let limits = if has_room { &limits.full } else { &limits.shallow };
            let found: view::View<'_> = view::View::at_spot(self.bytes.as_bytes(py), limits, spot)?;
            let mut builder = Builder::new(py, Some(self.bytes.bind(py)))?;
            let mut spent = before.clone();
            found.write_part_into(&mut builder, &mut spent)?;
            if builder.may_repeat_keys {
                validate(found.bytes()?, limits)?;
            }
            Ok((builder.into_value(), spent))
        });
        let (value, after) = value.map_err(|error| self.exception(py, &error))?;
        *spent = after;
        Ok(value.into_bound(py))
    }

    fn find<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let other;
        let key = match (key.cast::<PyString>(), key.extract::<i64>()) {
            (Ok(text), _) => Key::Text(text.to_str()?),
            (_, Ok(int)) if !key.is_instance_of::<PyBool>() => Key::Int(int),
            _ => {
                other = value_of(key).map_err(|error| self.exception(py, &error))?;
                Key::from(&other)
            }
        };
        let spot = match &self.place {
            Viewed::Value(spot) => {
                let found = self.look(py, *spot, |view| view.find(&key))?;
                return found.map(|found| self.present(py, found)).transpose();
            }
            Viewed::Records(records) => key.index().and_then(|index| {
                let back = || records.len().checked_add_signed(isize::try_from(index).ok()?);
                let index = usize::try_from(index).ok().or_else(back)?;
                Some(Spot::of(records.get(index)?.clone()))
            }),
        };
        let Some(spot) = spot else { return Ok(None) };
        self.look(py, spot, Ok).and_then(|view| self.present(py, view)).map(Some)
    }

    /// The rows of a column: the records, or the elements of the value.
    fn elements<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        match &self.place {
            Viewed::Records(records) => {
                let view = |range: &Range<usize>| self.look(py, Spot::of(range.clone()), Ok);
                records.iter().map(|range| self.present(py, view(range)?)).collect()
            }
            Viewed::Value(spot) => {
                let elements = self.look(py, *spot, |view| view.elements()?.collect::<Result<Vec<_>>>())?;
                elements.into_iter().map(|element| self.present(py, element)).collect()
            }
        }
    }
}

/// A key of another type than text and int.
fn value_of(key: &Bound<'_, PyAny>) -> Result<Value> {
    let mut builder = ValueBuilder::default();
    Tree::new(key, false)?.write_into(&mut builder)?;
    Ok(builder.into_value())
}

#[pymethods]
impl View {
    #[new]
    #[pyo3(signature = (data_or_path, *, limits=None))]
    fn new(data_or_path: &Bound<'_, PyAny>, limits: Option<Py<Limits>>) -> PyResult<Self> {
        let py = data_or_path.py();
        let is_path = data_or_path.is_instance_of::<PyString>() || data_or_path.hasattr("__fspath__")?;
        let (bytes, values, file) = if is_path {
            let given = or_files(limits.as_ref().map(|limits| limits.bind(py)));
            let Whole { bytes, values, file } = Whole::of(data_or_path, given)?;
            (bytes, values, file)
        } else {
            let bytes = bytes_of(data_or_path)?;
            let all = 0..bytes.as_bytes().len();
            (bytes, Values::One(all), None)
        };
        let place = match values {
            Values::One(range) => Viewed::Value(Spot::of(range)),
            Values::Records(records) => Viewed::Records(records),
        };
        let known = Arc::new(KnownOffsets::default());
        let view = Self { bytes: bytes.unbind(), place, limits, known, file: file.map(Into::into) };
        match &view.place {
            Viewed::Value(spot) => {
                let spot = view.look(py, *spot, |view| Ok(view.spot()))?;
                Ok(Self { place: Viewed::Value(spot), ..view })
            }
            Viewed::Records(_) => Ok(view),
        }
    }

    /// The name of the value's type, such as "Dictionary".
    #[getter]
    fn r#type(&self, py: Python<'_>) -> PyResult<&'static str> {
        match &self.place {
            Viewed::Records(_) => Ok(VariantType::Array.name()),
            Viewed::Value(spot) => self.look(py, *spot, |view| Ok(view.ty().name())),
        }
    }

    /// The value, decoded.
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.place {
            Viewed::Value(spot) => {
                let view = self.look(py, *spot, Ok)?;
                self.decoded(py, view, &mut Spent::default())
            }
            Viewed::Records(records) => {
                let values = records.iter().map(|range| {
                    let view = self.look(py, Spot::of(range.clone()), Ok)?;
                    self.decoded(py, view, &mut Spent::default())
                });
                Ok(PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)?.into_any())
            }
        }
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        match &self.place {
            Viewed::Records(records) => Ok(records.len()),
            Viewed::Value(spot) => self.look(py, *spot, |view| view.len()),
        }
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match self.find(py, key)? {
            Some(found) => Ok(found),
            None if self.r#type(py)?.ends_with("Array") => {
                let advice = match (&self.place, key.is_instance_of::<PyString>()) {
                    (Viewed::Records(_), true) => {
                        "; the file has records, so begin with the index of one: view[0]"
                    }
                    _ => "",
                };
                Err(PyIndexError::new_err(format!("no element {}{advice}", key.repr()?)))
            }
            None => Err(PyKeyError::new_err(key.clone().unbind())),
        }
    }

    fn __contains__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<bool> {
        Ok(self.find(py, key)?.is_some())
    }

    /// The value at a key or index, or `default`.
    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.find(py, key)?.or(default))
    }

    /// The keys of a Dictionary, or the names of an Object's properties.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let Viewed::Value(spot) = &self.place else { return Ok(PyList::empty(py).into_any()) };
        let keys = self.look(py, *spot, |view| {
            let mut builder = Builder::new(py, Some(self.bytes.bind(py)))?;
            view.decode_keys(&mut builder)?;
            Ok(builder.into_value())
        })?;
        Ok(keys.into_bound(py))
    }

    /// Iterates over the elements of an Array, or the keys of a Dictionary.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        match self.r#type(py)?.ends_with("Array") {
            true => PyList::new(py, self.elements(py)?)?.try_iter(),
            false => self.keys(py)?.try_iter(),
        }
    }

    /// The values at a key, or at several keys as one list each, of all Dictionaries or Objects in an Array. Rows
    /// without the key have `default`.
    #[pyo3(signature = (*keys, default=None))]
    fn column<'py>(
        &self,
        py: Python<'py>,
        keys: Vec<Bound<'py, PyString>>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let names = keys.iter().map(|key| key.to_str()).collect::<PyResult<Vec<_>>>()?;
        let mut fields = Fields::new(names.iter().map(|name| Key::Text(name)).collect());
        let columns: Vec<_> = names.iter().map(|_| PyList::empty(py)).collect();
        let mut spent = Spent::default();
        let mut add = |found: &[Option<view::View<'_>>]| -> PyResult<()> {
            for (column, found) in columns.iter().zip(found) {
                let missing = || default.clone().unwrap_or_else(|| py.None().into_bound(py));
                let value = found.map(|found| self.decoded(py, found, &mut spent)).transpose()?;
                column.append(value.unwrap_or_else(missing))?;
            }
            Ok(())
        };
        match &self.place {
            Viewed::Value(spot) => {
                self.look(py, *spot, |view| view.rows(&mut fields, |_, found| add(found).map_err(raised)))?;
            }
            Viewed::Records(records) => {
                let mut found = Vec::new();
                for range in records {
                    self.look(py, Spot::of(range.clone()), |row| fields.read(&row, &mut found))?;
                    add(&found)?;
                }
            }
        }
        match &columns[..] {
            [] => Err(self.exception(py, &ErrorKind::Argument("a column needs a key".into()).into())),
            [column] => Ok(column.clone().into_any()),
            columns => Ok(PyList::new(py, columns)?.into_any()),
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<View of {}>", self.r#type(py)?))
    }
}
