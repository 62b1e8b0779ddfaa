//! Errors of the codec as Python's exceptions, and back.

use std::io;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use variant_codec::{Error, ErrorKind};

use crate::types::{Kind, Types};

/// An exception as an error of the codec, which carries it out of the codec's calls.
#[cold]
pub fn raised(error: PyErr) -> Error {
    Error::other(error)
}

/// Where an error happened, beyond what the codec knows.
#[derive(Clone, Copy, Default)]
pub struct Place<'a> {
    pub file: Option<&'a str>,
    pub record: Option<u64>,
}

impl Place<'_> {
    /// The exception for an error: a `VariantError`, unless the error carries another exception.
    #[cold]
    pub fn exception(self, py: Python<'_>, error: &Error) -> PyErr {
        if let ErrorKind::Other(other) = error.kind() {
            if let Some(error) = other.downcast_ref::<PyErr>() {
                return error.clone_ref(py);
            }
            if let Some(error) = other.downcast_ref::<io::Error>() {
                return self.failed(py, "FILE_ERROR", &error.to_string());
            }
        }
        self.build(py, error.kind().code().unwrap_or("INTERNAL_ERROR"), &error.to_string(), Some(error))
    }

    /// The exception for a file that cannot be read or written.
    #[cold]
    pub fn failed(self, py: Python<'_>, code: &str, message: &str) -> PyErr {
        self.build(py, code, message, None)
    }

    fn build(self, py: Python<'_>, code: &str, message: &str, error: Option<&Error>) -> PyErr {
        let record = self.record.map_or(String::new(), |record| format!("record {record}: "));
        let file = self.file.map_or(String::new(), |file| format!("{file}: "));
        let made = || {
            let known = PyDict::new(py);
            known.set_item("code", code)?;
            known.set_item("offset", error.and_then(Error::offset))?;
            known.set_item("path", error.map(Error::path).unwrap_or_default())?;
            known.set_item("record", self.record)?;
            known.set_item("file", self.file)?;
            let message = format!("{file}{record}{message}");
            Types::of(py)?.class(py, Kind::Error).call((message,), Some(&known))
        };
        made().map_or_else(|error: PyErr| error, PyErr::from_value)
    }
}
