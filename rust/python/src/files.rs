//! Files of records, and saves.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyString};
use variant_codec::error::SaveDamage;
use variant_codec::format::FRAME_BYTES;
use variant_codec::frames::{self, Block, Contents, Index, Layout, ReadAt};
use variant_codec::saves::{self, Content};
use variant_codec::{Error, ErrorKind, Result, Strictness};
use variant_disk::{self as disk, Failure, Journal};
use variant_zstd as zstd;

use crate::decode::{bytes_of, read, with_classes};
use crate::encode::{batch, encoded, readable, without_classes};
use crate::error::Place;
use crate::limits::Limits;

/// The limits that a call was given, or those for files.
pub fn or_files<'a>(limits: Option<&'a Bound<'_, Limits>>) -> &'a Limits {
    static FILES: LazyLock<Limits> = LazyLock::new(|| Limits::of(variant_codec::Limits::for_save_files()));
    limits.map_or(&FILES, |limits| limits.get())
}

/// The path in an argument; `None` for a buffer.
pub fn path_of(argument: &Bound<'_, PyAny>) -> PyResult<Option<PathBuf>> {
    let is_path = argument.is_instance_of::<PyString>() || argument.hasattr("__fspath__")?;
    is_path.then(|| argument.extract()).transpose()
}

pub fn name_of(path: &Path) -> String {
    path.display().to_string()
}

/// The exception for a file that cannot be read or written.
pub fn failed(py: Python<'_>, path: &Path, failure: &Failure) -> PyErr {
    let code = match failure {
        Failure::Truncated(_) => "UNEXPECTED_END",
        Failure::Foreign(_) | Failure::Save => "UNKNOWN_TYPE",
        _ => "FILE_ERROR",
    };
    Place { file: Some(&name_of(path)), record: None }.failed(py, code, &failure.to_string())
}

/// A whole input, and the values in it.
pub struct Whole<'py> {
    pub bytes: Bound<'py, PyBytes>,
    pub values: Values,
    pub file: Option<String>,
}

/// Where the values of an input are in its bytes.
pub enum Values {
    One(Range<usize>),
    Records(Vec<Range<usize>>),
}

impl<'py> Whole<'py> {
    /// Reads a file, or takes the bytes of a buffer. Decompresses a save.
    pub fn of(argument: &Bound<'py, PyAny>, limits: &Limits) -> PyResult<Self> {
        let py = argument.py();
        let (bytes, file) = match path_of(argument)? {
            None => (bytes_of(argument)?, None),
            Some(path) => (whole_file(py, &path)?, Some(name_of(&path))),
        };
        let found = Found::in_bytes(bytes.as_bytes(), &limits.full);
        match found.and_then(|found| found.damage.map_or(Ok((found.decompressed, found.values)), Err)) {
            Err(error) => Err(Place { file: file.as_deref(), record: None }.exception(py, &error)),
            Ok((None, values)) => Ok(Self { bytes, values, file }),
            Ok((Some(bytes), values)) => Ok(Self { bytes: PyBytes::new(py, &bytes), values, file }),
        }
    }
}

/// The values of an input.
pub struct Found {
    /// The bytes that have the values, if not those of the input.
    pub decompressed: Option<Vec<u8>>,
    pub values: Values,
    /// The error after the last whole record.
    pub damage: Option<Error>,
}

impl Found {
    /// Finds the values of an input.
    ///
    /// # Errors
    /// Fails if it is in another format, or a save that is damaged.
    pub fn in_bytes(input: &[u8], limits: &variant_codec::Limits) -> Result<Self> {
        let one = |decompressed, range| Self { decompressed, values: Values::One(range), damage: None };
        match saves::read(input, limits)?.map(|save| (save.content, save.at)) {
            Some((Content::Plain(value), at)) => return Ok(one(None, at..at + value.len())),
            Some((Content::Zstd { compressed, size }, _)) => {
                let changed = || Error::from(ErrorKind::Save(SaveDamage::Changed));
                return Ok(one(Some(zstd::decompress(compressed, size).ok_or_else(changed)?), 0..size));
            }
            None => {}
        }
        let contents = frames::recognise(input, |_| true)?;
        match contents {
            Contents::Values { layout: Layout { has_records: false, is_godot3: false }, .. } => {
                Ok(one(None, 0..input.len()))
            }
            _ => match contents.refusal() {
                Some(format) => Err(Error::from(ErrorKind::from(format)).at(0)),
                None => Self::records(input, limits),
            },
        }
    }

    /// The records of a file, with those of each block in its place.
    fn records(input: &[u8], limits: &variant_codec::Limits) -> Result<Self> {
        let index = blocks();
        let (records, torn) = frames::records(input, &variant_codec::Limits::unlimited());
        let whole = &input[..records.last().map_or(0, |record| record.end)];
        if !index.has_blocks(whole)? {
            return Ok(Self { decompressed: None, values: Values::Records(records), damage: torn });
        }
        let (mut contents, mut ranges) = (Vec::new(), Vec::new());
        let scanned = frames::scan(whole, &index, 0..u64::MAX, limits, |_, _, record| {
            frames::try_append(&mut contents, record)?;
            ranges.push(contents.len() - record.len()..contents.len());
            Ok(())
        });
        Ok(Self {
            decompressed: Some(contents),
            values: Values::Records(ranges),
            damage: scanned.err().or(torn),
        })
    }
}

/// An index that reads the records in blocks.
fn blocks() -> Index {
    Index::default().reading_blocks(zstd::decompress)
}

/// Opens a file that no other process writes meanwhile, and finds its length.
pub fn at_rest(path: &Path) -> std::result::Result<(File, usize), Failure> {
    let (file, stamp) = disk::open_at_rest(path, Instant::now() + disk::LONGEST_WAIT)?;
    let length = usize::try_from(stamp.length()).map_err(|error| Failure::System(io::Error::other(error)))?;
    Ok((file, length))
}

fn whole_file<'py>(py: Python<'py>, path: &Path) -> PyResult<Bound<'py, PyBytes>> {
    let (mut file, length) = py.detach(|| at_rest(path)).map_err(|failure| failed(py, path, &failure))?;
    PyBytes::new_with(py, length, |bytes| {
        file.read_exact(bytes).map_err(|error| failed(py, path, &Failure::System(error)))
    })
}

/// Loads the value of a save, or of a file with one record or one value. Checks the sum of a save.
///
/// >>> save(path, {"gold": 99}, summary={"day": 3})
/// >>> load(path)
/// {'gold': 99}
#[pyfunction]
#[pyo3(signature = (path, *, limits=None, classes=None))]
pub fn load<'py>(
    path: &Bound<'py, PyAny>,
    limits: Option<&Bound<'py, Limits>>,
    classes: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, limits) = (path.py(), or_files(limits));
    let Whole { bytes, values, file } = Whole::of(path, limits)?;
    let place = Place { file: file.as_deref(), record: None };
    let only = match &values {
        Values::One(range) => Ok(range),
        Values::Records(records) => match &records[..] {
            [record] => Ok(record),
            _ => Err(Error::argument(format!(
                "expected one value, found {} records; use `records`",
                records.len()
            ))),
        },
    };
    let value = only.and_then(|range| {
        let value = read(py, &bytes.as_bytes()[range.clone()], Some(&bytes), limits, Strictness::Strict);
        value.map_err(|error| error.shifted(range.start))
    });
    let value = value.map_err(|error| place.exception(py, &error))?;
    with_classes(value.into_bound(py), classes)
}

/// Loads the summary of a save, without the value.
///
/// >>> save(path, {"gold": 99}, summary={"day": 3})
/// >>> load_summary(path)
/// {'day': 3}
#[pyfunction]
#[pyo3(signature = (path, *, limits=None))]
pub fn load_summary(
    path: PathBuf,
    limits: Option<&Bound<'_, Limits>>,
    py: Python<'_>,
) -> PyResult<Py<PyAny>> {
    let limits = or_files(limits);
    let file = Journal::open(&path).map_err(|failure| failed(py, &path, &failure))?;
    let summary = saves::read_summary(&file, &limits.full).and_then(|summary| {
        let none = || Error::argument("the file has no summary, because `save` did not write it");
        read(py, &summary.ok_or_else(none)?, None, limits, Strictness::Strict)
    });
    summary.map_err(|error| Place { file: Some(&name_of(&path)), record: None }.exception(py, &error))
}

/// Saves one value, with a summary that can be read alone and a sum that finds damage. Replaces the file atomically.
/// A value that `load` would refuse, such as a typed container with other elements, is an error.
#[pyfunction]
#[pyo3(signature = (path, value, *, summary=None, compress=false, classes=None))]
pub fn save(
    path: PathBuf,
    value: &Bound<'_, PyAny>,
    summary: Option<&Bound<'_, PyDict>>,
    compress: bool,
    classes: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let py = value.py();
    let empty = PyDict::new(py);
    let checked = |value: &Bound<'_, PyAny>, classes| {
        let value = without_classes(value, classes)?;
        let bytes = encoded(py, &value, |_, bytes| readable(bytes).map(|()| bytes.to_vec()));
        bytes.map_err(|error| Place::default().exception(py, &error))
    };
    let summary = &checked(summary.unwrap_or(&empty).as_any(), None)?[..];
    let value = &checked(value, classes)?[..];
    let chunks = || {
        let content = match compress || saves::looks_compressed(value) {
            true => &saves::compressed(zstd::compress(value), value.len())?,
            false => value,
        };
        let [head, tail] = saves::around(summary, content)?;
        Ok([head, content.to_vec(), tail])
    };
    let chunks = py.detach(chunks).map_err(|error: Error| Place::default().exception(py, &error))?;
    written(py, &path, |place| disk::replace(place, &chunks))
}

/// Appends values to a file of records, which is created if it does not exist. Other processes may append, too.
///
/// >>> append(path, [1, "two"])
/// >>> list(records(path))
/// [1, 'two']
#[pyfunction]
#[pyo3(signature = (path, values, *, classes=None))]
pub fn append(path: PathBuf, values: &Bound<'_, PyAny>, classes: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let batch = batch(values, classes, true, append_record)?;
    written(values.py(), &path, |place| disk::append(place, &[batch]))
}

/// Appends a record, or the block of one that looks like a block.
fn append_record(batch: &mut Vec<u8>, record: &[u8]) -> Result<()> {
    if !saves::looks_compressed(record) {
        return frames::try_append(batch, record);
    }
    let mut framed = Vec::new();
    frames::try_append(&mut framed, record)?;
    Block::append(batch, 1, framed.len(), &zstd::compress(&framed));
    Ok(())
}

fn written(
    py: Python<'_>,
    path: &Path,
    write: impl FnOnce(&Path) -> std::result::Result<(), Failure> + Send,
) -> PyResult<()> {
    let done = py.detach(|| write(&disk::resolved(path.to_owned())?));
    done.map_err(|failure| failed(py, path, &failure))
}

/// The records of a file or a batch, from `start` up to `stop`, one after the other, in constant memory.
///
/// >>> append(path, ["a", "b", "c"])
/// >>> list(records(path, start=1))
/// ['b', 'c']
///
/// Records in compressed blocks are read, too. Values before damage come first; then, a `VariantError` has the record
/// and the offset of the damage.
#[pyfunction]
#[pyo3(signature = (path, *, start=0, stop=None, limits=None, lenient=false, classes=None))]
pub fn records(
    path: &Bound<'_, PyAny>,
    start: u64,
    stop: Option<u64>,
    limits: Option<Py<Limits>>,
    lenient: bool,
    classes: Option<Py<PyAny>>,
) -> PyResult<Records> {
    let py = path.py();
    let (source, file) = match path_of(path)? {
        None => (Source::Bytes(bytes_of(path)?.into()), None),
        Some(path) => {
            let journal = Journal::open(&path).map_err(|failure| failed(py, &path, &failure))?;
            (Source::File(journal), Some(name_of(&path)))
        }
    };
    let strictness = if lenient { Strictness::Lenient } else { Strictness::Strict };
    let next = start..stop.unwrap_or(u64::MAX);
    let records = Records {
        source,
        file,
        index: blocks(),
        limits,
        strictness,
        classes,
        next,
        ready: VecDeque::new(),
        error: None,
    };
    let refusal = frames::recognise(&records.source, |_| true).map(|contents| contents.refusal());
    match refusal.map_err(|error| records.exception(py, &error, None))? {
        None => Ok(records),
        Some(format) => Err(records.exception(py, &Error::from(ErrorKind::from(format)).at(0), None)),
    }
}

enum Source {
    Bytes(PyBackedBytes),
    File(Journal),
}

impl ReadAt for Source {
    fn size(&self) -> std::io::Result<u64> {
        match self {
            Self::Bytes(bytes) => bytes[..].size(),
            Self::File(journal) => journal.size(),
        }
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Bytes(bytes) => bytes[..].read_at(at, into),
            Self::File(journal) => journal.read_at(at, into),
        }
    }
}

/// The iterator that `records` returns.
#[pyclass(module = "godot_variant")]
pub struct Records {
    source: Source,
    file: Option<String>,
    index: Index,
    limits: Option<Py<Limits>>,
    strictness: Strictness,
    classes: Option<Py<PyAny>>,
    /// The records that have not been read.
    next: Range<u64>,
    ready: VecDeque<Py<PyAny>>,
    /// The error after the values that are ready.
    error: Option<PyErr>,
}

impl Records {
    fn exception(&self, py: Python<'_>, error: &Error, record: Option<u64>) -> PyErr {
        Place { file: self.file.as_deref(), record }.exception(py, error)
    }

    /// Reads the records of the next 256 KiB, or one.
    fn fill(&mut self, py: Python<'_>) {
        const AT_ONCE: usize = 256 << 10;

        let limits = or_files(self.limits.as_ref().map(|limits| limits.bind(py)));
        let (mut bytes, mut is_full, mut next, mut ready) = (0, false, self.next.start, VecDeque::new());
        let each = |index, _, record: &[u8]| {
            if bytes > AT_ONCE {
                is_full = true;
                return Err(Error::argument(""));
            }
            next = index;
            ready.push_back(read(py, record, None, limits, self.strictness)?);
            bytes += record.len() + FRAME_BYTES;
            next = index + 1;
            Ok(())
        };
        let scanned = frames::scan(&self.source, &self.index, self.next.clone(), &limits.full, each);
        let ended = self.next.end;
        (self.ready, self.next.start) = (ready, if is_full { next } else { ended });
        if !is_full {
            // The path begins with the record, which the exception has.
            self.error = scanned.err().map(|error| self.exception(py, &error.within(), Some(next)));
        }
    }
}

#[pymethods]
impl Records {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        while self.ready.is_empty() && self.error.is_none() && self.next.start < self.next.end {
            self.fill(py);
        }
        match (self.ready.pop_front(), self.error.take()) {
            (Some(value), error) => {
                self.error = error;
                let classes = self.classes.as_ref().map(|classes| classes.bind(py));
                with_classes(value.into_bound(py), classes).map(Some)
            }
            (None, Some(error)) => Err(error),
            (None, None) => Ok(None),
        }
    }
}
