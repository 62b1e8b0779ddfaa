//! The packed arrays of numbers and vectors.

use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyList, PyMemoryView, PySlice, PyTuple};
use variant_codec::VariantType as T;
use variant_codec::stream::{Lanes, Precision};

use crate::types::reduce;
use crate::{components, numbers};

/// A packed array: a read-only sequence over the bytes that it was decoded from, which are not copied.
///
/// >>> points = PackedVector2Array([(1, 2), (3, 4)])
/// >>> points[-1], len(points), points.view().tolist()
/// (Vector2(3.0, 4.0), 2, [[1.0, 2.0], [3.0, 4.0]])
///
/// `view()` and `numpy.asarray` share the bytes, too. They have the shape (n,), or (n, 3) for Vector3.
#[pyclass(frozen, subclass, module = "godot_variant")]
pub struct Packed {
    ty: T,
    precision: Precision,
    source: Py<PyBytes>,
    /// The range of the elements in `source`, in bytes.
    start: usize,
    end: usize,
}

impl Packed {
    fn from_values(py: Python<'_>, ty: T, values: Option<&Bound<'_, PyAny>>, double: bool) -> PyResult<Self> {
        let (lane, count) = numbers::lane(ty);
        let precision = numbers::precision(ty, double)?;
        let mut le = Vec::new();
        if let Some(values) = values {
            let copied = match numbers::code(lane, precision) {
                "B" => copy(values, &mut le, |byte: u8| [byte]),
                "i" => copy(values, &mut le, i32::to_le_bytes),
                "q" => copy(values, &mut le, i64::to_le_bytes),
                "f" => copy(values, &mut le, f32::to_le_bytes),
                _ => copy(values, &mut le, f64::to_le_bytes),
            };
            if copied.is_none() {
                numbers::put_all(&mut le, lane, precision, values)?;
            }
        }
        if le.len() % ty.lanes_bytes(precision) != 0 {
            return Err(PyValueError::new_err(format!("the elements of {ty} have {count} components")));
        }
        Ok(Self { ty, precision, source: PyBytes::new(py, &le).unbind(), start: 0, end: le.len() })
    }

    /// The type.
    pub fn ty(&self) -> T {
        self.ty
    }

    /// The encoded elements.
    pub fn lanes(&self, py: Python<'_>) -> Lanes<'_> {
        Lanes { precision: self.precision, le: &self.source.as_bytes(py)[self.start..self.end] }
    }

    fn width(&self) -> usize {
        self.ty.lanes_bytes(self.precision)
    }

    fn code(&self) -> &'static str {
        numbers::code(numbers::lane(self.ty).0, self.precision)
    }

    /// The element at an index within the length.
    fn element<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        let lanes = self.lanes(py);
        let lanes = Lanes { le: &lanes.le[index * self.width()..][..self.width()], ..lanes };
        match numbers::lane(self.ty) {
            (lane, 1) => Ok(numbers::to_python(py, lane, lanes).swap_remove(0)),
            _ => components::create(py, self.ty.element(), lanes),
        }
    }

    /// The shape, as Python's tuple.
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        match numbers::lane(self.ty).1 {
            1 => PyTuple::new(py, [self.__len__()]),
            count => PyTuple::new(py, [self.__len__(), count]),
        }
    }
}

/// Copies the elements of a buffer of this type; `None` for other values.
fn copy<E: Element, const N: usize>(
    values: &Bound<'_, PyAny>,
    le: &mut Vec<u8>,
    bytes: fn(E) -> [u8; N],
) -> Option<()> {
    let buffer = PyBuffer::<E>::get(values).ok()?;
    if buffer.format().to_bytes().starts_with(b">") || buffer.format().to_bytes().starts_with(b"!") {
        return None;
    }
    let elements = buffer.to_vec(values.py()).ok()?;
    le.extend(elements.into_iter().flat_map(bytes));
    Some(())
}

#[pymethods]
impl Packed {
    fn __len__(&self) -> usize {
        (self.end - self.start) / self.width()
    }

    fn __getitem__<'py>(slf: &Bound<'py, Self>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        let Ok(slice) = index.cast::<PySlice>() else {
            let index = index.extract::<isize>()?;
            let found =
                if index < 0 { this.__len__().checked_add_signed(index) } else { Some(index as usize) };
            return match found.filter(|found| *found < this.__len__()) {
                Some(index) => this.element(py, index),
                None => Err(PyIndexError::new_err(format!("{} index out of range", this.ty))),
            };
        };
        let chosen = slice.indices(this.__len__() as isize)?;
        if chosen.step != 1 {
            return Err(PyValueError::new_err("a slice of a packed array has no step; use view()"));
        }
        let start = this.start + chosen.start as usize * this.width();
        let end = start + chosen.slicelength * this.width();
        let source = this.source.clone_ref(py);
        create(py, Self { source, start, end, ..*this })
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let elements = (0..self.__len__()).map(|index| self.element(py, index));
        PyList::new(py, elements.collect::<PyResult<Vec<_>>>()?)?.try_iter()
    }

    /// The elements as a memoryview, which shares the bytes. An array without elements has one dimension.
    fn view<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let bytes = PyMemoryView::from(self.source.bind(py))?;
        let bytes = bytes.get_item(PySlice::new(py, self.start as isize, self.end as isize, 1))?;
        match (numbers::lane(self.ty).1, self.__len__()) {
            (1, _) | (_, 0) => bytes.call_method1("cast", (self.code(),)),
            _ => bytes.call_method1("cast", (self.code(), self.shape(py)?)),
        }
    }

    /// The elements as a NumPy array, which shares the bytes unless `dtype` or `copy` demand a copy.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let numpy = py.import("numpy")?;
        let shared = (self.shape(py)?, self.code(), &self.source, self.start);
        let array = numpy.call_method1("ndarray", shared)?;
        let arguments = PyDict::new(py);
        arguments.set_item("dtype", dtype)?;
        if copy.is_some() {
            arguments.set_item("copy", copy)?;
        }
        numpy.call_method(if copy.is_some() { "array" } else { "asarray" }, (array,), Some(&arguments))
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Self>() else { return Ok(false) };
        let other = other.get();
        Ok(self.ty == other.ty && self.view(py)?.eq(other.view(py)?)?)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        (self.ty.name(), self.view(py)?.call_method0("tolist")?.repr()?).into_pyobject(py)?.hash()
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        /// The number of components that are shown.
        const SHOWN: usize = 12;
        let (lane, count) = numbers::lane(self.ty);
        let lanes = self.lanes(py);
        let shown = lanes.le.len().min(SHOWN * self.width() / count);
        let mut numbers = numbers::to_text(lane, Lanes { le: &lanes.le[..shown], ..lanes });
        if shown < lanes.le.len() {
            numbers.push("...".to_owned());
        }
        let double = if self.precision == Precision::Double { ", double=True" } else { "" };
        format!("{}([{}]{double})", self.ty, numbers.join(", "))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        reduce(slf.as_any())
    }
}

/// A packed array of the elements in `le`, which is part of `source`, or is copied.
pub fn of_lanes<'py>(
    py: Python<'py>,
    ty: T,
    lanes: Lanes<'_>,
    source: Option<&Bound<'py, PyBytes>>,
) -> PyResult<Bound<'py, PyAny>> {
    let Lanes { precision, le } = lanes;
    let place = source.and_then(|source| {
        let bytes = source.as_bytes();
        let start = (le.as_ptr() as usize).checked_sub(bytes.as_ptr() as usize)?;
        (start + le.len() <= bytes.len()).then(|| (source.clone(), start))
    });
    let (source, start) = place.unwrap_or_else(|| (PyBytes::new(py, le), 0));
    create(py, Packed { ty, precision, source: source.unbind(), start, end: start + le.len() })
}

macro_rules! classes {
    ($($class:ident)*) => {
        $(
            #[doc = concat!("Godot's `", stringify!($class), "`; see `Packed`.")]
            ///
            /// It is made from a buffer of the same type, such as a NumPy array, or an iterable.
            #[pyclass(frozen, extends = Packed, module = "godot_variant")]
            pub struct $class;

            #[pymethods]
            impl $class {
                #[new]
                #[pyo3(signature = (values=None, *, double=false))]
                fn new(
                    py: Python<'_>,
                    values: Option<&Bound<'_, PyAny>>,
                    double: bool,
                ) -> PyResult<PyClassInitializer<Self>> {
                    let base = Packed::from_values(py, T::$class, values, double)?;
                    Ok(PyClassInitializer::from(base).add_subclass($class))
                }
            }
        )*

        fn create(py: Python<'_>, packed: Packed) -> PyResult<Bound<'_, PyAny>> {
            let ty = packed.ty;
            let base = PyClassInitializer::from(packed);
            match ty {
                $(T::$class => Ok(Bound::new(py, base.add_subclass($class))?.into_any()),)*
                _ => unreachable!("{ty} is no packed array of numbers"),
            }
        }
    };
}

classes! {
    PackedByteArray PackedInt32Array PackedInt64Array PackedFloat32Array PackedFloat64Array PackedVector2Array
    PackedVector3Array PackedColorArray PackedVector4Array
}
