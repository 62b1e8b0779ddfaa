//! The Python module `godot_variant._native`: `variant_codec` for Python.
//!
//! Objects of Python are made by a sink of the codec's events and read by a source of them, without a tree in between.
//! The classes that need no speed are in Python, in `godot_variant/_types.py`; `_classes.py` there turns tagged dicts
//! into dataclasses.
//!
//! | file | purpose |
//! |---|---|
//! | `table/` | records as columns, in Arrow's form |
//! | `view.rs` | parts of encoded values |
//! | `files.rs` | records and saves |
//! | `encode.rs` | objects of Python → events |
//! | `decode.rs` | events → objects of Python |
//! | `packed.rs`, `components.rs`, `numbers.rs` | packed arrays, vectors, their numbers |
//! | `limits.rs`, `keys.rs`, `error.rs` | limits, repeated keys, exceptions |
//! | `types.rs`, `stack.rs` | the classes in Python, a stack for deep values |
//!
//! Each file imports only from rows below its own, or from files after its own in its row.
#![forbid(unsafe_code)]

#[cfg(target_endian = "big")]
compile_error!("packed arrays are views of little-endian bytes");

mod components;
mod decode;
mod encode;
mod error;
mod files;
mod keys;
mod limits;
mod numbers;
mod packed;
mod stack;
mod table;
mod types;
mod view;

/// Godot's binary Variant format, compiled. Import `godot_variant` instead.
#[pyo3::pymodule(name = "_native")]
mod native {
    use pyo3::exceptions::PyImportError;
    use pyo3::prelude::*;

    /// Refuses to be imported anywhere but in the main interpreter, since the classes are made once for the process.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        let is_main = match py.import("_thread")?.getattr("_is_main_interpreter") {
            Ok(is_main) => is_main.call0()?.is_truthy()?,
            Err(_) => match py.import("_xxsubinterpreters") {
                Ok(ids) => ids.call_method0("get_current")?.eq(ids.call_method0("get_main")?)?,
                Err(_) => true,
            },
        };
        match is_main {
            true => Ok(()),
            false => Err(PyImportError::new_err("godot_variant works in the main interpreter only")),
        }
    }

    #[pymodule_export]
    use crate::components::{
        Aabb, Basis, Color, Components, Plane, Projection, Quaternion, Rect2, Rect2i, Transform2D,
        Transform3D, Vector2, Vector2i, Vector3, Vector3i, Vector4, Vector4i,
    };
    #[pymodule_export]
    use crate::decode::{after_fork, decode, decode_batch, restore};
    #[pymodule_export]
    use crate::encode::{encode, encode_batch, parse_node_path};
    #[pymodule_export]
    use crate::files::{Records, append, load, load_summary, records, save};
    #[pymodule_export]
    use crate::limits::Limits;
    #[pymodule_export]
    use crate::packed::{
        Packed, PackedByteArray, PackedColorArray, PackedFloat32Array, PackedFloat64Array, PackedInt32Array,
        PackedInt64Array, PackedVector2Array, PackedVector3Array, PackedVector4Array,
    };
    #[pymodule_export]
    use crate::table::{Table, read_table};
    #[pymodule_export]
    use crate::view::View;
}
