//! [`Types`]: the classes of `godot_variant/_types.py`.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple, PyType};
use variant_codec::stream::{ElementType, Text};

macro_rules! classes {
    ($($kind:ident $name:literal)*) => {
        /// A class that is written in Python.
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub enum Kind {
            $($kind,)*
        }

        /// The classes with their names, in the order of [`Kind`].
        const CLASSES: &[(Kind, &str)] = &[$((Kind::$kind, $name),)*];
    };
}

classes! {
    StringName "StringName" TypedArray "TypedArray" TypedDictionary "TypedDictionary" Pairs "Pairs"
    Strings "PackedStringArray" NodePath "NodePath" Rid "RID" ObjectId "ObjectId" Callable "Callable" Signal "Signal"
    Object "Object" ClassName "ClassName" ScriptPath "ScriptPath" Error "VariantError"
}

/// The classes.
pub struct Types {
    /// The kinds by the address of the class.
    kinds: HashMap<usize, Kind>,
    /// The classes by their kind.
    classes: Vec<Py<PyAny>>,
}

impl Types {
    /// The classes, which are imported once.
    pub fn of(py: Python<'_>) -> PyResult<&'static Self> {
        static TYPES: PyOnceLock<Types> = PyOnceLock::new();
        TYPES.get_or_try_init(py, || {
            let module = py.import("godot_variant._types")?;
            let class = |(_, name): &(Kind, &str)| Ok(module.getattr(*name)?.unbind());
            let classes = CLASSES.iter().map(class).collect::<PyResult<Vec<_>>>()?;
            let kinds =
                classes.iter().zip(CLASSES).map(|(class, (kind, _))| (class.as_ptr() as usize, *kind));
            Ok(Self { kinds: kinds.collect(), classes })
        })
    }

    /// The class of a kind.
    #[inline]
    pub fn class<'a, 'py>(&'a self, py: Python<'py>, kind: Kind) -> &'a Bound<'py, PyAny> {
        self.classes[kind as usize].bind(py)
    }

    /// A text as a new object: a StringName if `is_name`, otherwise a `str`.
    pub fn text<'py>(&self, py: Python<'py>, text: &str, is_name: bool) -> PyResult<Bound<'py, PyAny>> {
        let text = PyString::new(py, text);
        if is_name { self.class(py, Kind::StringName).call1((text,)) } else { Ok(text.into_any()) }
    }

    /// The kind of a value, by its exact class or the first class that it inherits from.
    pub fn kind(&self, value: &Bound<'_, PyAny>) -> Option<Kind> {
        let exact = self.kinds.get(&(value.get_type_ptr() as usize)).copied();
        exact.or_else(|| self.inherited(&value.get_type()))
    }

    #[cold]
    fn inherited(&self, class: &Bound<'_, PyType>) -> Option<Kind> {
        class.mro().iter().find_map(|class| self.kinds.get(&(class.as_ptr() as usize)).copied())
    }

    /// The type that a container declares, as Python has it.
    pub fn element<'py>(&self, py: Python<'py>, element: ElementType<'_>) -> PyResult<Bound<'py, PyAny>> {
        let text = |text: Text<'_>| text.to_lossy();
        match element {
            ElementType::Untyped => Ok(py.None().into_bound(py)),
            ElementType::Builtin(ty) => Ok(PyString::intern(py, ty.name()).into_any()),
            ElementType::Class(name) => self.class(py, Kind::ClassName).call1((text(name),)),
            ElementType::Script(path) => self.class(py, Kind::ScriptPath).call1((text(path),)),
        }
    }
}

/// A value in the form that `pickle` needs: the function that decodes it, and its encoding.
pub fn reduce<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
    let native = value.py().import("godot_variant._native")?;
    (native.getattr("_restore")?, (native.call_method1("encode", (value,))?,)).into_pyobject(value.py())
}
