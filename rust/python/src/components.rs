//! The mathematical types, from Vector2 to Projection and Color.

use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyTuple};
use variant_codec::VariantType as T;
use variant_codec::stream::{Lanes, Precision};

use crate::numbers;
use crate::types::reduce;

/// The components as they are encoded. Those of most values take no memory of their own.
enum Stored {
    Inline(u8, [u8; 16]),
    Boxed(Box<[u8]>),
}

/// A value of components, such as a Vector3. It is a sequence of numbers, in the order in which they are encoded.
///
/// >>> position = Vector3(1, 2.5, 3)
/// >>> position.x, position[1], list(position)
/// (1.0, 2.5, [1.0, 2.5, 3.0])
/// >>> Transform3D([1, 0, 0, 0, 1, 0, 0, 0, 1, 7, 8, 9]).origin
/// Vector3(7.0, 8.0, 9.0)
///
/// Components of the engine's type `real_t` have 32 bits. With `double=True` they have 64 bits, as in an engine that
/// is compiled with `precision=double`.
#[pyclass(frozen, subclass, module = "godot_variant")]
pub struct Components {
    ty: T,
    precision: Precision,
    stored: Stored,
}

impl Components {
    fn of(ty: T, lanes: Lanes<'_>) -> Self {
        let mut inline = [0; 16];
        let stored = match inline.get_mut(..lanes.le.len()) {
            Some(start) => {
                start.copy_from_slice(lanes.le);
                Stored::Inline(lanes.le.len() as u8, inline)
            }
            None => Stored::Boxed(lanes.le.into()),
        };
        Self { ty, precision: lanes.precision, stored }
    }

    fn from_arguments(ty: T, components: &Bound<'_, PyTuple>, double: bool) -> PyResult<Self> {
        let (lane, count) = numbers::lane(ty);
        let precision = numbers::precision(ty, double)?;
        let mut le = Vec::new();
        numbers::put_all(&mut le, lane, precision, components.as_any())?;
        if le.is_empty() && components.is_empty() {
            le.resize(ty.lanes_bytes(precision), 0);
        }
        if le.len() != ty.lanes_bytes(precision) {
            return Err(PyTypeError::new_err(format!("{ty} takes {count} numbers")));
        }
        Ok(Self::of(ty, Lanes { precision, le: &le }))
    }

    /// The type.
    pub fn ty(&self) -> T {
        self.ty
    }

    /// The encoded components.
    pub fn lanes(&self) -> Lanes<'_> {
        let le = match &self.stored {
            Stored::Inline(len, bytes) => &bytes[..usize::from(*len)],
            Stored::Boxed(bytes) => bytes,
        };
        Lanes { precision: self.precision, le }
    }

    fn tuple<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, numbers::to_python(py, numbers::lane(self.ty).0, self.lanes()))
    }
}

#[pymethods]
impl Components {
    fn __len__(&self) -> usize {
        numbers::lane(self.ty).1
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.tuple(py)?.as_any().get_item(index)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.tuple(py)?.try_iter()
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let found = PARTS.iter().find(|(types, part, ..)| *part == name && types.contains(&self.ty));
        let Some((_, _, kind, indexes)) = found else {
            return Err(PyAttributeError::new_err(format!("{} has no attribute {name:?}", self.ty)));
        };
        let Lanes { precision, le } = self.lanes();
        let width = le.len() / numbers::lane(self.ty).1;
        let chosen: Vec<u8> = indexes.iter().flat_map(|at| &le[at * width..][..width]).copied().collect();
        let lanes = Lanes { precision, le: &chosen };
        match kind {
            Some(ty) => create(py, *ty, lanes),
            None => Ok(numbers::to_python(py, numbers::lane(self.ty).0, lanes).swap_remove(0)),
        }
    }

    /// The components as a NumPy array of one dimension.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            return Err(PyValueError::new_err(format!("the components of {} have to be copied", self.ty)));
        }
        let code = numbers::code(numbers::lane(self.ty).0, self.precision);
        let arguments = PyDict::new(py);
        arguments.set_item("dtype", dtype.unwrap_or(code.into_pyobject(py)?.into_any()))?;
        py.import("numpy")?.call_method("array", (self.tuple(py)?,), Some(&arguments))
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Self>() else { return Ok(false) };
        let other = other.get();
        Ok(self.ty == other.ty && self.tuple(py)?.eq(other.tuple(py)?)?)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        (self.ty.name(), self.tuple(py)?).into_pyobject(py)?.hash()
    }

    fn __repr__(&self) -> String {
        let numbers = numbers::to_text(numbers::lane(self.ty).0, self.lanes()).join(", ");
        let double = if self.precision == Precision::Double { ", double=True" } else { "" };
        format!("{}({numbers}{double})", self.ty)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        reduce(slf.as_any())
    }
}

/// A named part: the types that have it, its name, its type unless it is a number, and its components.
type Part = (&'static [T], &'static str, Option<T>, &'static [usize]);

#[rustfmt::skip]
static PARTS: &[Part] = &[
    (&VECTORS, "x", None, &[0]),
    (&VECTORS, "y", None, &[1]),
    (&[T::Vector3, T::Vector3i, T::Vector4, T::Vector4i, T::Quaternion, T::Plane], "z", None, &[2]),
    (&[T::Vector4, T::Vector4i, T::Quaternion], "w", None, &[3]),
    (&[T::Color], "r", None, &[0]), (&[T::Color], "g", None, &[1]), (&[T::Color], "b", None, &[2]),
    (&[T::Color], "a", None, &[3]),
    (&[T::Plane], "normal", Some(T::Vector3), &[0, 1, 2]), (&[T::Plane], "d", None, &[3]),
    (&[T::Rect2], "position", Some(T::Vector2), &[0, 1]), (&[T::Rect2], "size", Some(T::Vector2), &[2, 3]),
    (&[T::Rect2i], "position", Some(T::Vector2i), &[0, 1]), (&[T::Rect2i], "size", Some(T::Vector2i), &[2, 3]),
    (&[T::Aabb], "position", Some(T::Vector3), &[0, 1, 2]), (&[T::Aabb], "size", Some(T::Vector3), &[3, 4, 5]),
    (&[T::Transform2D], "x", Some(T::Vector2), &[0, 1]), (&[T::Transform2D], "y", Some(T::Vector2), &[2, 3]),
    (&[T::Transform2D], "origin", Some(T::Vector2), &[4, 5]),
    (&[T::Basis], "x", Some(T::Vector3), &[0, 3, 6]), (&[T::Basis], "y", Some(T::Vector3), &[1, 4, 7]),
    (&[T::Basis], "z", Some(T::Vector3), &[2, 5, 8]),
    (&[T::Transform3D], "basis", Some(T::Basis), &[0, 1, 2, 3, 4, 5, 6, 7, 8]),
    (&[T::Transform3D], "origin", Some(T::Vector3), &[9, 10, 11]),
    (&[T::Projection], "x", Some(T::Vector4), &[0, 1, 2, 3]), (&[T::Projection], "y", Some(T::Vector4), &[4, 5, 6, 7]),
    (&[T::Projection], "z", Some(T::Vector4), &[8, 9, 10, 11]),
    (&[T::Projection], "w", Some(T::Vector4), &[12, 13, 14, 15]),
];

const VECTORS: [T; 8] =
    [T::Vector2, T::Vector2i, T::Vector3, T::Vector3i, T::Vector4, T::Vector4i, T::Quaternion, T::Plane];

macro_rules! classes {
    ($($class:ident $name:literal)*) => {
        $(
            #[doc = concat!("Godot's `", $name, "`; see `Components`.")]
            #[pyclass(frozen, extends = Components, module = "godot_variant", name = $name)]
            pub struct $class;

            #[pymethods]
            impl $class {
                #[new]
                #[pyo3(signature = (*components, double=false))]
                fn new(components: &Bound<'_, PyTuple>, double: bool) -> PyResult<PyClassInitializer<Self>> {
                    let base = Components::from_arguments(T::$class, components, double)?;
                    Ok(PyClassInitializer::from(base).add_subclass($class))
                }
            }
        )*

        /// A value of a mathematical type.
        #[inline]
        pub fn create<'py>(py: Python<'py>, ty: T, lanes: Lanes<'_>) -> PyResult<Bound<'py, PyAny>> {
            let base = PyClassInitializer::from(Components::of(ty, lanes));
            match ty {
                $(T::$class => Ok(Bound::new(py, base.add_subclass($class))?.into_any()),)*
                _ => unreachable!("{ty} has no fixed components"),
            }
        }
    };
}

classes! {
    Vector2 "Vector2" Vector2i "Vector2i" Rect2 "Rect2" Rect2i "Rect2i" Vector3 "Vector3" Vector3i "Vector3i"
    Transform2D "Transform2D" Vector4 "Vector4" Vector4i "Vector4i" Plane "Plane" Quaternion "Quaternion" Aabb "AABB"
    Basis "Basis" Transform3D "Transform3D" Projection "Projection" Color "Color"
}
