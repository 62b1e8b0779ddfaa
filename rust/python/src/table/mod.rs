//! [`read_table`]: records as columns, in Arrow's form.

mod arrays;
mod column_type;
mod columns;
mod rows;

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::sync::Arc;

use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyCapsule, PyList, PyMemoryView};
use rayon::prelude::*;
use variant_codec::error::quoted;
use variant_codec::view::Key;
use variant_codec::{Error, ErrorKind, VariantType};

use crate::decode::bytes_of;
use crate::files::{or_files, path_of};
use crate::limits::Limits;
use arrays::Arrays;
use column_type::{ColumnType, StructType};
use columns::{Data, Padding, ROWS};
use rows::{Chunk, Input, Reading, Reason, Trouble};

/// A table, which libraries for Arrow take without a copy: `pyarrow.table(table)`, `polars.DataFrame(table)`.
#[pyclass(frozen, module = "godot_variant")]
pub struct Table {
    ty: ColumnType,
    arrow: SchemaRef,
    batches: Vec<RecordBatch>,
    damaged: Py<PyList>,
}

#[pymethods]
impl Table {
    /// A `VariantError` for each damaged file, in the order of the files, if `read_table` was told to report them.
    #[getter]
    fn damaged(&self, py: Python<'_>) -> Py<PyList> {
        self.damaged.clone_ref(py)
    }

    /// The types of the columns, in the form of the argument `schema` of `read_table`.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.ty.to_python(py)
    }

    /// The number of rows.
    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.arrow);
        let schema = schema.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The table as a stream of Arrow's C interface. It always has the table's own schema.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.arrow));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __repr__(&self) -> String {
        format!("<Table of {} rows and {} columns>", self.__len__(), self.arrow.fields().len())
    }
}

/// The name of the only column of rows that are no Dictionaries.
const VALUE: &str = "value";

/// Reads files, or buffers, as one table. Its rows are the records of the files; of a file with one value, the elements
/// of the Array, or the value itself.
///
/// >>> append(path, [{"name": "Ada", "hp": 87}, {"name": "Bob", "hp": 12.5, "at": Vector2(1, 2)}])
/// >>> table = read_table(path)
/// >>> len(table), list(table.schema)
/// (2, ['name', 'hp', 'at'])
///
/// The columns are the keys of the Dictionaries, and rows without a key have null. Rows of other types than Dictionary
/// have the one column `value`. The types of the columns follow from all rows. An int column that meets a float becomes
/// float, unless it has an int beyond 2**53.
///
/// - `paths`: a path, `bytes`, or an iterable of them.
/// - `columns`: the keys to read, which is faster. The other values are not checked.
/// - `schema`: a dict of the columns with their types, or the type of rows that are no Dictionaries, as `Table.schema` has
///   them. Other columns are not read.
/// - `rows`: the path to an Array in each record, such as "world/players". Its elements become the rows.
/// - `include_file_paths`: the name of one more column, for the path of the file of each row.
/// - `mixed`: "raise" if a column that cannot hold a value is an error, or "json" to get such columns as JSON, in the form
///   of `gdvar json`.
/// - `on_error`: "raise" if damage is an error, or "report" to keep the rows before the damage in each file and to list
///   the damage in `Table.damaged`.
/// - `threads`: the number of threads; all cores if it is left out.
#[pyfunction]
#[pyo3(signature = (paths, *, columns=None, schema=None, rows=None, include_file_paths=None, mixed="raise",
    on_error="raise", threads=None, limits=None))]
#[expect(clippy::too_many_arguments, reason = "the keywords of a function in Python")]
pub fn read_table(
    py: Python<'_>,
    paths: &Bound<'_, PyAny>,
    columns: Option<Vec<String>>,
    schema: Option<&Bound<'_, PyAny>>,
    rows: Option<&str>,
    include_file_paths: Option<&str>,
    mixed: &str,
    on_error: &str,
    threads: Option<NonZeroUsize>,
    limits: Option<&Bound<'_, Limits>>,
) -> PyResult<Table> {
    let inputs = inputs_of(paths)?;
    let ty = chosen(schema, columns)?;
    let padding = Padding::new();
    let keys = match &ty {
        ColumnType::Struct(of) if of.is_closed => {
            Some(of.fields.iter().map(|(name, _)| Key::Text(name)).collect())
        }
        _ => None,
    };
    let reading = Reading {
        limits: &or_files(limits).shallow,
        rows: rows.map(Key::path),
        keys,
        is_given: schema.is_some(),
        mixes: one_of("mixed", mixed, ["raise", "json"])?,
        keeps: one_of("on_error", on_error, ["raise", "report"])?,
        padding: &padding,
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.map_or(0, NonZeroUsize::get));
    // A pool of its own also works after `os.fork`.
    let pool = pool.build().map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    let read = py.detach(|| {
        pool.install(|| {
            let all = All::read(&reading, &inputs, ty.clone())?;
            let arrow = arrow_schema(&all.ty, include_file_paths);
            if let Some(name) = include_file_paths
                && arrow.fields().iter().filter(|field| field.name() == name).count() > 1
            {
                let reason = format!("`include_file_paths` {name:?} is the name of a column, too");
                return Err(about_data(0, Error::argument(reason)));
            }
            let batch = |chunk: Chunk| {
                let file = include_file_paths.map(|_| inputs[chunk.input].name().unwrap_or_default());
                let arrays = Arrays { columns: chunk.columns, padding: &padding };
                let batch = arrays.batch(&all.ty, Arc::clone(&arrow), file.as_deref());
                batch.map_err(|error| about_data(chunk.input, error))
            };
            let batches = all.chunks.into_par_iter().map(batch).collect::<Result<Vec<_>, _>>()?;
            Ok((all.ty, arrow, batches, all.damage))
        })
    });
    let (ty, arrow, batches, damage) = read.map_err(|trouble: Trouble| trouble.exception(py, &inputs))?;
    let damaged = PyList::new(py, damage.iter().map(|trouble| trouble.exception(py, &inputs)))?.unbind();
    Ok(Table { ty, arrow, batches, damaged })
}

fn about_data(input: usize, error: Error) -> Trouble {
    Trouble { input, record: None, reason: Reason::Data(error), is_misfit: true }
}

/// All rows.
struct All {
    ty: ColumnType,
    chunks: Vec<Chunk>,
    damage: Vec<Trouble>,
}

impl All {
    fn read(reading: &Reading<'_>, inputs: &[Input], ty: ColumnType) -> Result<Self, Trouble> {
        let all = Self::pass(reading, inputs, &ty)?;
        // The values of columns that turned out to be JSON have to be read again.
        let is_again = reading.mixes && all.ty.has_json() && all.ty != ty;
        if is_again { Self::read(reading, inputs, all.ty) } else { all.complete() }
    }

    fn pass(reading: &Reading<'_>, inputs: &[Input], start: &ColumnType) -> Result<Self, Trouble> {
        let each = |(index, input)| reading.input(index, input, start);
        let read: Vec<_> = inputs.par_iter().enumerate().map(each).collect();
        let mut all = Self { ty: start.clone(), chunks: Vec::new(), damage: Vec::new() };
        for (index, (chunks, trouble)) in read.into_iter().enumerate() {
            for chunk in chunks {
                all.ty = match all.ty.clone().merged(chunk.ty.clone(), reading.mixes) {
                    Some(ty) => ty,
                    None => return Err(clash(reading, index, &inputs[index], &all.ty)),
                };
                all.chunks.push(chunk);
            }
            match trouble {
                Some(trouble) if trouble.is_misfit || !reading.keeps => return Err(trouble),
                trouble => all.damage.extend(trouble),
            }
        }
        Ok(all)
    }

    /// Fails if a column was asked for by its key alone, and no row has it.
    fn complete(self) -> Result<Self, Trouble> {
        let Some(first) = self.chunks.first() else {
            let none = || ColumnType::Struct(StructType::default());
            return Ok(Self { ty: if self.ty == ColumnType::Unknown { none() } else { self.ty }, ..self });
        };
        let ColumnType::Struct(of) = &self.ty else { return Ok(self) };
        for (place, (name, ty)) in of.fields.iter().enumerate() {
            let is_missing = |chunk: &Chunk| match &chunk.columns[ROWS as usize].data {
                Data::Struct(of) => {
                    of.fields.get(place).is_none_or(|(_, column)| chunk.columns[*column as usize].len == 0)
                }
                _ => true,
            };
            if of.is_closed && *ty == ColumnType::Unknown && self.chunks.iter().all(is_missing) {
                let (key, found) = (format!("key {} in any row", quoted(name)), VariantType::Dictionary);
                return Err(about_data(first.input, ErrorKind::NotFound { key, found }.into()));
            }
        }
        Ok(self)
    }
}

/// The inputs in an argument.
fn inputs_of(paths: &Bound<'_, PyAny>) -> PyResult<Vec<Input>> {
    let one = |argument: &Bound<'_, PyAny>| {
        Ok(match path_of(argument)? {
            Some(path) => Input::File(path),
            None => Input::Bytes(bytes_of(argument)?.into()),
        })
    };
    let is_one = path_of(paths)?.is_some()
        || paths.is_instance_of::<PyBytes>()
        || paths.is_instance_of::<PyByteArray>()
        || paths.is_instance_of::<PyMemoryView>();
    match is_one {
        true => Ok(vec![one(paths)?]),
        false => paths.try_iter()?.map(|argument| one(&argument?)).collect(),
    }
}

/// The type of the rows, with the only columns to read; unknown if all are read.
fn chosen(schema: Option<&Bound<'_, PyAny>>, columns: Option<Vec<String>>) -> PyResult<ColumnType> {
    let ty = schema.map_or(Ok(ColumnType::Unknown), ColumnType::from_python)?;
    let Some(columns) = columns else { return Ok(ty) };
    let known: HashMap<Arc<str>, ColumnType> = match ty {
        ColumnType::Struct(of) => of.fields.into_iter().collect(),
        ColumnType::Unknown => HashMap::new(),
        _ => return Err(PyValueError::new_err("`columns` need a `schema` that is a dict of columns")),
    };
    let (mut fields, mut names) = (Vec::with_capacity(columns.len()), HashSet::new());
    for name in columns {
        let ty = known.get(&*name).cloned().unwrap_or(ColumnType::Unknown);
        let name: Arc<str> = name.into();
        if !names.insert(Arc::clone(&name)) {
            return Err(PyValueError::new_err(format!("the column {name:?} twice")));
        }
        fields.push((name, ty));
    }
    Ok(ColumnType::Struct(StructType { fields, is_closed: true }))
}

/// Whether an option has the second of its values.
fn one_of(option: &str, value: &str, values: [&str; 2]) -> PyResult<bool> {
    match values.iter().position(|known| *known == value) {
        Some(index) => Ok(index == 1),
        None => Err(PyValueError::new_err(format!(
            "{option}={value:?}: expected {:?} or {:?}",
            values[0], values[1]
        ))),
    }
}

/// The schema of the table.
fn arrow_schema(ty: &ColumnType, file: Option<&str>) -> SchemaRef {
    let mut fields = match ty {
        ColumnType::Struct(of) => of.arrow_fields().to_vec(),
        ty => vec![Arc::new(ty.field(VALUE))],
    };
    fields.extend(file.map(|file| Arc::new(Field::new(file, DataType::Utf8, false))));
    Arc::new(Schema::new(fields))
}

/// The error for an input whose columns do not unify with those before it, `ty`.
fn clash(reading: &Reading<'_>, index: usize, input: &Input, ty: &ColumnType) -> Trouble {
    let again = reading.input(index, input, ty).1.filter(|trouble| trouble.is_misfit);
    again.unwrap_or_else(|| about_data(index, Error::argument("the file changed while it was read")))
}
