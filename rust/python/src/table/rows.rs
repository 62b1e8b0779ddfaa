//! Rows: the records of files, or the elements of an Array in them.

use std::io::Read as _;
use std::ops::Range;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use rayon::prelude::*;
use variant_codec::error::Step;
use variant_codec::limits::Spent;
use variant_codec::stream::Decoder;
use variant_codec::view::{Fields, Key, Spot, View};
use variant_codec::{Error, Limits, Result, Strictness, VariantType, validate};
use variant_disk::Failure;

use super::column_type::ColumnType;
use super::columns::{Column, Columns, Padding, ROWS};
use crate::error::Place;
use crate::files::{Found, Values, at_rest, failed, name_of};

/// The bytes of input whose rows become a batch.
const BATCH: usize = 4 << 20;

/// A file or a buffer.
pub enum Input {
    File(PathBuf),
    Bytes(PyBackedBytes),
}

impl Input {
    pub fn name(&self) -> Option<String> {
        match self {
            Self::File(path) => Some(name_of(path)),
            Self::Bytes(_) => None,
        }
    }
}

/// How rows are read.
pub struct Reading<'a> {
    pub limits: &'a Limits,
    /// The path to the Array whose elements are the rows.
    pub rows: Option<Vec<Key<'a>>>,
    /// The keys of the only columns that are read.
    pub keys: Option<Vec<Key<'a>>>,
    /// Whether values of types that do not unify become JSON.
    pub mixes: bool,
    /// Whether rows before damage are kept.
    pub keeps: bool,
    pub padding: &'a Padding,
}

/// The columns of some rows.
pub struct Chunk {
    /// The index of the input.
    pub input: usize,
    pub ty: ColumnType,
    pub columns: Vec<Column>,
}

/// The end of reading an input.
pub struct Trouble {
    pub input: usize,
    pub record: Option<u64>,
    pub reason: Reason,
    /// Whether a column could not hold a value, of an input that is not damaged.
    pub is_misfit: bool,
}

pub enum Reason {
    File(Failure),
    Data(Error),
}

impl Trouble {
    pub fn exception(&self, py: Python<'_>, inputs: &[Input]) -> PyErr {
        match (&self.reason, &inputs[self.input]) {
            (Reason::File(failure), Input::File(path)) => failed(py, path, failure),
            (Reason::File(failure), _) => Place::default().failed(py, "FILE_ERROR", &failure.to_string()),
            (Reason::Data(error), input) => {
                Place { file: input.name().as_deref(), record: self.record }.exception(py, error)
            }
        }
    }
}

/// The ranges of rows, and their places in the input.
struct Rows {
    ranges: Vec<Range<usize>>,
    /// Whether each record is a row; if not, the rows are elements.
    are_records: bool,
    /// The records of the elements, in a file of records.
    records: Vec<u64>,
}

/// A row that could not be read: its index, the reason, and whether the reason is a column.
type Unread = (usize, Error, bool);

impl Reading<'_> {
    /// Reads an input up to its damage. The rows begin with columns of type `ty`.
    pub fn input<const JSON: bool>(
        &self,
        index: usize,
        input: &Input,
        ty: &ColumnType,
    ) -> (Vec<Chunk>, Option<Trouble>) {
        let trouble = |record, reason, is_misfit| Trouble { input: index, record, reason, is_misfit };
        let loaded;
        let bytes = match input {
            Input::Bytes(bytes) => &bytes[..],
            Input::File(path) => {
                let read = at_rest(path).and_then(|(file, length)| {
                    let mut bytes = Vec::with_capacity(length);
                    file.take(length as u64).read_to_end(&mut bytes).map_err(Failure::System)?;
                    Ok(bytes)
                });
                match read {
                    Ok(bytes) => loaded = bytes,
                    Err(failure) => return (Vec::new(), Some(trouble(None, Reason::File(failure), false))),
                }
                &loaded
            }
        };
        let found = match Found::in_bytes(bytes, self.limits) {
            Ok(found) => found,
            Err(error) => return (Vec::new(), Some(trouble(None, Reason::Data(error), false))),
        };
        let bytes = found.decompressed.as_deref().unwrap_or(bytes);
        self.padding.add(bytes.len());
        let (rows, damage) = self.rows(bytes, found.values);
        let damage = damage.or_else(|| {
            let record = rows.are_records.then_some(rows.ranges.len() as u64);
            found.damage.map(|error| (record, error))
        });
        let mut chunks = Vec::new();
        let batches = batches(&rows.ranges);
        let read = |batch: &Range<usize>| self.rows_in::<JSON>(bytes, &rows.ranges[batch.clone()], ty);
        let read: Vec<_> = batches.par_iter().map(read).collect();
        for (batch, (columns, unread)) in batches.iter().zip(read) {
            if columns.len() > 0 {
                chunks.push(Chunk { input: index, ty: columns.ty(ROWS), columns: columns.into_columns() });
            }
            if let Some((row, error, is_misfit)) = unread {
                let (record, error) = rows.locate(batch.start + row, error);
                return (chunks, Some(trouble(record, Reason::Data(error), is_misfit)));
            }
        }
        (chunks, damage.map(|(record, error)| trouble(record, Reason::Data(error), false)))
    }

    /// The rows in the values of an input, up to those that cannot be found.
    fn rows(&self, bytes: &[u8], values: Values) -> (Rows, Option<(Option<u64>, Error)>) {
        let none = |ranges, are_records| Rows { ranges, are_records, records: Vec::new() };
        match (values, &self.rows) {
            (Values::Records(ranges), None) => (none(ranges, true), None),
            (Values::One(range), path) => match self.elements(bytes, range.clone(), path.as_deref()) {
                Ok(Some(ranges)) => (none(ranges, false), None),
                Ok(None) => (none(vec![range], false), None),
                Err(error) => (none(Vec::new(), false), Some((None, error))),
            },
            (Values::Records(ranges), Some(path)) => {
                let mut rows = none(Vec::new(), false);
                for (record, range) in (0..).zip(ranges) {
                    match self.elements(bytes, range, Some(path)) {
                        Ok(found) => {
                            rows.ranges.extend(found.unwrap_or_default());
                            rows.records.resize(rows.ranges.len(), record);
                        }
                        Err(error) => return (rows, Some((Some(record), error))),
                    }
                }
                (rows, None)
            }
        }
    }

    /// The elements of the Array at a path, or of the value itself if it is an Array.
    fn elements(
        &self,
        bytes: &[u8],
        range: Range<usize>,
        path: Option<&[Key<'_>]>,
    ) -> Result<Option<Vec<Range<usize>>>> {
        let view: View<'_> = View::at_spot(bytes, self.limits, Spot::of(range))?;
        let view = match path {
            None if view.ty() != VariantType::Array => return Ok(None),
            None => view,
            Some(path) => view.following_tags()?.at(path)?,
        };
        view.elements()?.map(|element| element?.range()).collect::<Result<_>>().map(Some)
    }

    /// Reads rows up to one that cannot be read.
    fn rows_in<'b, const JSON: bool>(
        &'b self,
        bytes: &[u8],
        ranges: &[Range<usize>],
        ty: &ColumnType,
    ) -> (Columns<'b, JSON>, Option<Unread>) {
        let (columns, unread) = self.try_rows(bytes, ranges, ty);
        let Some((row, error, is_misfit)) = unread else { return (columns, None) };
        // Columns may have parts of the row that could not be read.
        let whole = if self.keeps && !is_misfit { &ranges[..row] } else { &[] };
        (self.try_rows(bytes, whole, ty).0, Some((row, error, is_misfit)))
    }

    fn try_rows<'b, const JSON: bool>(
        &'b self,
        bytes: &[u8],
        ranges: &[Range<usize>],
        ty: &ColumnType,
    ) -> (Columns<'b, JSON>, Option<Unread>) {
        let mut columns = Columns::new(ty, self.mixes, self.padding);
        let mut fields = self.keys.as_ref().map(|keys| Fields::new(keys.clone()));
        let mut found = Vec::new();
        for (row, range) in ranges.iter().enumerate() {
            let read = match &mut fields {
                None => self
                    .whole_row(&bytes[range.clone()], &mut columns)
                    .map_err(|error| error.shifted(range.start)),
                Some(fields) => View::at_spot(bytes, self.limits, Spot::of(range.clone())).and_then(|view| {
                    fields.read(&view, &mut found)?;
                    self.row_of_fields(bytes, &found, &mut columns)
                }),
            };
            if let Err(error) = read {
                let is_misfit = columns.is_misfit;
                return (columns, Some((row, error, is_misfit)));
            }
        }
        (columns, None)
    }

    #[inline]
    fn whole_row<const JSON: bool>(&self, bytes: &[u8], columns: &mut Columns<'_, JSON>) -> Result<()> {
        Decoder::new(bytes, Strictness::Strict, self.limits).decode_only(columns)?;
        if std::mem::take(&mut columns.may_repeat_keys) {
            validate(bytes, self.limits)?;
        }
        columns.end_row(bytes, self.limits)
    }

    #[inline]
    fn row_of_fields<const JSON: bool>(
        &self,
        bytes: &[u8],
        found: &[Option<View<'_>>],
        columns: &mut Columns<'_, JSON>,
    ) -> Result<()> {
        columns.begin_row()?;
        let mut spent = Spent::default();
        for (place, field) in found.iter().enumerate() {
            let Some(field) = field else { continue };
            columns.select(place)?;
            let read = field.write_part_into(columns, &mut spent).and_then(|()| {
                match std::mem::take(&mut columns.may_repeat_keys) {
                    true => validate(field.bytes()?, self.limits).map(drop),
                    false => Ok(()),
                }
            });
            read.map_err(|error| match self.keys.as_ref().and_then(|keys| keys.get(place)) {
                Some(key) => error.inside(key.step()),
                None => error,
            })?;
        }
        columns.end_row(bytes, self.limits)
    }
}

impl Rows {
    /// The record of a row, and an error in the row with its place in the record.
    fn locate(&self, row: usize, error: Error) -> (Option<u64>, Error) {
        match (self.are_records, self.records.get(row)) {
            (true, _) => (Some(row as u64), error),
            (false, Some(record)) => {
                let first = self.records.partition_point(|other| other < record);
                (Some(*record), error.inside(Step::Index(row - first)))
            }
            (false, None) if self.ranges.len() == 1 => (None, error),
            (false, None) => (None, error.inside(Step::Index(row))),
        }
    }
}

/// The rows of each batch.
fn batches(ranges: &[Range<usize>]) -> Vec<Range<usize>> {
    let (mut batches, mut start) = (Vec::new(), 0);
    for (row, range) in ranges.iter().enumerate() {
        if range.end - ranges[start].start >= BATCH {
            batches.push(start..row + 1);
            start = row + 1;
        }
        if start == ranges.len() {
            return batches;
        }
    }
    batches.push(start..ranges.len());
    batches
}
