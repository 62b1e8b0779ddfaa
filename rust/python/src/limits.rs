//! [`Limits`]: what a reader accepts.

use pyo3::IntoPyObjectExt as _;
use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use variant_codec::{VariantType, limits};

use crate::stack::SHALLOW;

/// Limits on what a reader accepts.
///
/// `Limits.network()` is for bytes from strangers, and `Limits.files()` for your own files. Both take changes:
///
/// >>> decode(encode([1, 2, 3]), limits=Limits.network(max_elements=2))
/// Traceback (most recent call last):
/// godot_variant.VariantError: more than 2 values; raise `max_elements` if this is expected (at byte 4)
///
/// - `max_bytes`, `max_depth`, `max_elements`, `max_memory`, `max_key_comparisons`: maximum numbers of bytes of input,
///   levels of nesting, values, bytes of memory in an engine, and comparisons of keys there.
/// - `allow_trailing_bytes`: whether bytes may follow the value.
/// - `allow_non_canonical`: whether harmless encodings of other writers are read.
/// - `allow_objects`: whether objects with class and properties are read, as an `Object`. `allowed_classes` and
///   `allowed_scripts` restrict them, unless they are empty.
/// - `allowed_types`: the names of the types that are read.
#[pyclass(frozen, module = "godot_variant")]
pub struct Limits {
    /// The limits themselves.
    pub full: limits::Limits,
    /// The same limits with fewer levels, if there are too many for an unknown stack.
    pub shallow: limits::Limits,
}

const NAMES: [&str; 11] = [
    "max_bytes",
    "max_depth",
    "max_elements",
    "max_memory",
    "max_key_comparisons",
    "allow_trailing_bytes",
    "allow_non_canonical",
    "allow_objects",
    "allowed_classes",
    "allowed_scripts",
    "allowed_types",
];

/// Matches a name with those of the plain fields of `limits`, and with the arms that follow.
macro_rules! by_name {
    ($name:expr, $limits:ident, |$field:ident| $use:expr, $($other:tt)*) => {
        match $name {
            "max_bytes" => { let $field = &mut $limits.max_bytes; $use }
            "max_depth" => { let $field = &mut $limits.max_depth; $use }
            "max_elements" => { let $field = &mut $limits.max_elements; $use }
            "max_memory" => { let $field = &mut $limits.max_memory; $use }
            "max_key_comparisons" => { let $field = &mut $limits.max_key_comparisons; $use }
            "allow_trailing_bytes" => { let $field = &mut $limits.allow_trailing_bytes; $use }
            "allow_non_canonical" => { let $field = &mut $limits.allow_non_canonical; $use }
            "allow_objects" => { let $field = &mut $limits.allow_objects; $use }
            $($other)*
        }
    };
}

impl Limits {
    fn with(mut full: limits::Limits, changes: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        for (name, value) in changes.into_iter().flatten() {
            let names = || value.extract::<Vec<String>>();
            by_name!(name.extract::<&str>()?, full, |field| *field = value.extract()?,
                "allowed_classes" => full.allowed_classes = names()?.into_iter().collect(),
                "allowed_scripts" => full.allowed_scripts = names()?.into_iter().collect(),
                "allowed_types" => full.allowed_types = types(&names()?)?,
                name => return Err(PyTypeError::new_err(format!("unknown limit {name:?}"))),
            );
        }
        Ok(Self::of(full))
    }

    pub fn of(full: limits::Limits) -> Self {
        let shallow = limits::Limits { max_depth: full.max_depth.min(SHALLOW), ..full.clone() };
        Self { full, shallow }
    }
}

fn types(names: &[String]) -> PyResult<u64> {
    names.iter().try_fold(0, |types, name| match VariantType::ALL.iter().find(|ty| ty.name() == name) {
        Some(ty) => Ok(types | 1 << ty.id()),
        None => Err(PyValueError::new_err(format!("unknown type {name:?}"))),
    })
}

#[pymethods]
impl Limits {
    /// Limits for packets from strangers: 1 MiB, 32 levels, 100,000 values, 16 MiB of memory.
    #[staticmethod]
    #[pyo3(signature = (**changes))]
    fn network(changes: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Self::with(limits::Limits::for_network(), changes)
    }

    /// Limits for your own files: everything that the format holds, except objects with properties.
    #[staticmethod]
    #[pyo3(signature = (**changes))]
    fn files(changes: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Self::with(limits::Limits::for_save_files(), changes)
    }

    fn __getattr__(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        let mut limits = self.full.clone();
        by_name!(name, limits, |field| (*field).into_py_any(py),
            "allowed_classes" => limits.allowed_classes.to_vec().into_py_any(py),
            "allowed_scripts" => limits.allowed_scripts.to_vec().into_py_any(py),
            "allowed_types" => {
                let allowed = VariantType::ALL.iter().filter(|ty| limits.allowed_types >> ty.id() & 1 == 1);
                allowed.map(|ty| ty.name()).collect::<Vec<_>>().into_py_any(py)
            }
            _ => Err(PyAttributeError::new_err(format!("Limits has no attribute {name:?}"))),
        )
    }

    /// For pickle, and so for other processes: a call of `Limits.files` with all fields.
    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        let (py, fields) = (this.py(), PyDict::new(this.py()));
        NAMES.iter().try_for_each(|name| fields.set_item(name, this.get().__getattr__(py, name)?))?;
        let call = py.import("operator")?.getattr("methodcaller")?.call(("files",), Some(&fields))?;
        Ok((call, (py.get_type::<Self>().into_any(),)))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().full == self.full)
    }
}
