//! Rows: the records of files, or the elements of an Array in them.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use rayon::prelude::*;
use variant_codec::error::Step;
use variant_codec::frames::{self, Block, Contents, Layout};
use variant_codec::limits::Spent;
use variant_codec::stream::Decoder;
use variant_codec::view::{Fields, Key, Spot, View};
use variant_codec::{Error, ErrorKind, Limits, Result, Strictness, VariantType, validate};
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

/// The rows of an input up to its trouble.
type Outcome = (Vec<Chunk>, Option<Trouble>);

/// How rows are read.
pub struct Reading<'a> {
    pub limits: &'a Limits,
    /// The path to the Array whose elements are the rows.
    pub rows: Option<Vec<Key<'a>>>,
    /// The keys of the only columns that are read.
    pub keys: Option<Vec<Key<'a>>>,
    /// Whether the types of columns were given.
    pub is_given: bool,
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
        let input = inputs.get(self.input);
        match (&self.reason, input) {
            (Reason::File(failure), Some(Input::File(path))) => failed(py, path, failure),
            (Reason::File(failure), _) => Place::default().failed(py, "FILE_ERROR", &failure.to_string()),
            (Reason::Data(error), input) => {
                let file = input.and_then(Input::name);
                Place { file: file.as_deref(), record: self.record }.exception(py, error)
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
    pub fn input(&self, index: usize, input: &Input, ty: &ColumnType) -> Outcome {
        let from = Reader { reading: self, index, ty };
        let path = match input {
            Input::Bytes(bytes) => return from.bytes(bytes),
            Input::File(path) => path,
        };
        let read = at_rest(path).and_then(|(mut file, length)| {
            if length > 2 * BATCH
                && let Some(read) = from.long_file(&mut file, length)?
            {
                return Ok(read);
            }
            let mut bytes = Vec::with_capacity(length);
            file.rewind()?;
            file.take(length as u64).read_to_end(&mut bytes)?;
            Ok(from.bytes(&bytes))
        });
        read.unwrap_or_else(|failure| (Vec::new(), Some(from.trouble(None, Reason::File(failure), false))))
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
        let view: View<'_> = View::at_spot(bytes, self.limits, Spot::of(range))?.following_tags()?;
        let view = match path {
            None if view.ty() != VariantType::Array => return Ok(None),
            None => view,
            Some(path) => view.at(path)?,
        };
        if view.ty() != VariantType::Array {
            let error = Error::new(ErrorKind::UnexpectedType { expected: "Array", found: view.ty() });
            let path = path.unwrap_or_default().iter().rev();
            return Err(path.fold(error, |error, key| error.inside(key.step())));
        }
        let row = |element: Result<View<'_>>| {
            let element = element?;
            let row = element.resolved()?;
            let range = row.range()?;
            if row.spot() != element.spot() {
                // Many rows may refer to one large object.
                self.padding.take(range.len() as u64)?;
            }
            Ok(range)
        };
        view.elements()?.map(row).collect::<Result<_>>().map(Some)
    }

    /// Reads rows up to one that cannot be read.
    fn rows_in<'b>(
        &'b self,
        bytes: &'b [u8],
        ranges: &[Range<usize>],
        ty: &ColumnType,
    ) -> (Columns<'b>, Option<Unread>) {
        let (columns, unread) = self.try_rows(bytes, ranges, ty);
        let Some((row, error, is_misfit)) = unread else { return (columns, None) };
        // Columns may have parts of the row that could not be read.
        let whole = if self.keeps && !is_misfit { &ranges[..row] } else { &[] };
        (self.try_rows(bytes, whole, ty).0, Some((row, error, is_misfit)))
    }

    fn try_rows<'b>(
        &'b self,
        bytes: &'b [u8],
        ranges: &[Range<usize>],
        ty: &ColumnType,
    ) -> (Columns<'b>, Option<Unread>) {
        let mut columns = Columns::new(ty, self.is_given, self.mixes, self.limits, self.padding);
        let mut fields = self.keys.as_ref().map(|keys| Fields::new(keys.clone()));
        let mut found = Vec::new();
        for (row, range) in ranges.iter().enumerate() {
            let read = match &mut fields {
                None => {
                    let read = self.whole_row(&bytes[range.clone()], &mut columns);
                    read.map_err(|error| error.shifted(range.start))
                }
                Some(fields) => self.chosen_of_row(bytes, range, fields, &mut found, &mut columns),
            };
            if let Err(error) = read {
                let is_misfit = columns.is_misfit;
                return (columns, Some((row, error, is_misfit)));
            }
        }
        let settled = columns.settle();
        let unread = settled.err().map(|error| (ranges.len().saturating_sub(1), error, true));
        (columns, unread)
    }

    #[inline]
    fn whole_row<'b>(&self, bytes: &'b [u8], columns: &mut Columns<'b>) -> Result<()> {
        columns.begin_row(bytes);
        Decoder::new(bytes, Strictness::Strict, self.limits).decode_only(columns)?;
        if std::mem::take(&mut columns.may_repeat_keys) {
            validate(bytes, self.limits)?;
        }
        columns.end_row()
    }

    /// Reads the chosen columns of a row.
    #[inline]
    fn chosen_of_row<'b>(
        &'b self,
        bytes: &'b [u8],
        range: &Range<usize>,
        fields: &mut Fields<'_>,
        found: &mut Vec<Option<View<'b>>>,
        columns: &mut Columns<'b>,
    ) -> Result<()> {
        let view = View::at_spot(bytes, self.limits, Spot::of(range.clone()))?;
        if !matches!(view.ty(), VariantType::Dictionary | VariantType::Nil) {
            let read = self.whole_row(&bytes[range.clone()], columns);
            return read.map_err(|error| error.shifted(range.start));
        }
        fields.read(&view, found)?;
        self.row_of_fields(bytes, found, columns)
    }

    #[inline]
    fn row_of_fields<'b>(
        &self,
        bytes: &'b [u8],
        found: &[Option<View<'_>>],
        columns: &mut Columns<'b>,
    ) -> Result<()> {
        columns.begin_row(bytes);
        columns.open_row()?;
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
        columns.end_row()
    }
}

/// Reads one input.
struct Reader<'a> {
    reading: &'a Reading<'a>,
    index: usize,
    ty: &'a ColumnType,
}

impl Reader<'_> {
    fn trouble(&self, record: Option<u64>, reason: Reason, is_misfit: bool) -> Trouble {
        Trouble { input: self.index, record, reason, is_misfit }
    }

    /// Reads an input in memory.
    fn bytes(&self, bytes: &[u8]) -> Outcome {
        let reading = self.reading;
        let found = match Found::in_bytes(bytes, reading.limits) {
            Ok(found) => found,
            Err(error) => return (Vec::new(), Some(self.trouble(None, Reason::Data(error), false))),
        };
        let bytes = found.decompressed.as_deref().unwrap_or(bytes);
        reading.padding.add(bytes.len());
        let (rows, damage) = reading.rows(bytes, found.values);
        let damage = damage.or_else(|| {
            let record = rows.are_records.then_some(rows.ranges.len() as u64);
            found.damage.map(|error| (record, error))
        });
        let batches = batches(&rows.ranges);
        let read = batches.par_iter().map(|batch| self.batch(bytes, &rows, batch.clone())).collect();
        let (chunks, trouble) = in_order(read);
        let damage = damage.map(|(record, error)| self.trouble(record, Reason::Data(error), false));
        (chunks, trouble.or(damage))
    }

    /// Reads a long file of records piece by piece; `None` for other files.
    fn long_file(&self, file: &mut File, length: usize) -> std::result::Result<Option<Outcome>, Failure> {
        let head = Mutex::new(file.try_clone()?);
        let contents = frames::recognise(&head, |_| true);
        let is_records = matches!(
            contents,
            Ok(Contents::Values { layout: Layout { has_records: true, is_godot3: false }, .. })
        );
        if !is_records {
            return Ok(None);
        }
        self.reading.padding.add(length);
        let pieces = Pieces { file, at: 0, length, record: 0, spare: &Mutex::default(), has_ended: false };
        let spare = pieces.spare;
        let read = pieces.enumerate().par_bridge().map(|(order, piece)| {
            let Piece { bytes, at, record, ranges, end } = piece?;
            if ranges.iter().any(|range| has_block(&bytes[range.clone()])) {
                return Ok(None);
            }
            let (rows, damage) = self.reading.rows(&bytes, Values::Records(ranges));
            let all = 0..rows.ranges.len();
            let (chunk, trouble) = self.batch(&bytes, &rows, all);
            spare.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
            let trouble = trouble.or_else(|| {
                let (record, error) = damage.or(end)?;
                Some(self.trouble(record, Reason::Data(error), false))
            });
            let trouble = trouble.map(|trouble| trouble.later(at, record));
            Ok(Some((order, (chunk, trouble))))
        });
        let read: std::result::Result<Option<Vec<_>>, Failure> = read.collect();
        Ok(read?.map(|mut read| {
            read.sort_unstable_by_key(|(order, _)| *order);
            in_order(read.into_iter().map(|(_, read)| read).collect())
        }))
    }

    /// Reads some rows.
    fn batch(&self, bytes: &[u8], rows: &Rows, batch: Range<usize>) -> (Option<Chunk>, Option<Trouble>) {
        let start = batch.start;
        let (columns, unread) = self.reading.rows_in(bytes, &rows.ranges[batch], self.ty);
        let chunk = (columns.len() > 0).then(|| {
            let ty = columns.ty(ROWS);
            Chunk { input: self.index, ty, columns: columns.into_columns() }
        });
        let trouble = unread.map(|(row, error, is_misfit)| {
            let (record, error) = rows.locate(start + row, error);
            self.trouble(record, Reason::Data(error), is_misfit)
        });
        (chunk, trouble)
    }
}

/// The chunks up to the first trouble.
fn in_order(read: Vec<(Option<Chunk>, Option<Trouble>)>) -> Outcome {
    let mut chunks = Vec::with_capacity(read.len());
    for (chunk, trouble) in read {
        chunks.extend(chunk);
        if trouble.is_some() {
            return (chunks, trouble);
        }
    }
    (chunks, None)
}

impl Trouble {
    /// The trouble of a piece of a file that begins at this offset, with this record.
    fn later(self, at: usize, first: u64) -> Self {
        let reason = match self.reason {
            Reason::Data(error) => Reason::Data(error.shifted(at)),
            reason => reason,
        };
        Self { record: self.record.map(|record| first + record), reason, ..self }
    }
}

fn has_block(record: &[u8]) -> bool {
    Block::of(record, record.len() as u64).is_ok_and(|block| block.is_some())
}

/// The pieces of a file of records, in buffers that are used again.
struct Pieces<'a> {
    file: &'a mut File,
    at: usize,
    length: usize,
    record: u64,
    spare: &'a Mutex<Vec<Vec<u8>>>,
    has_ended: bool,
}

/// Whole records of a file.
struct Piece {
    bytes: Vec<u8>,
    at: usize,
    record: u64,
    ranges: Vec<Range<usize>>,
    /// The error after the last whole record, if the file ends there.
    end: Option<(Option<u64>, Error)>,
}

impl Pieces<'_> {
    fn read(&mut self) -> io::Result<Piece> {
        let mut bytes = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        let left = self.length - self.at;
        let mut wanted = BATCH;
        loop {
            bytes.resize(wanted.min(left), 0);
            self.file.seek(SeekFrom::Start(self.at as u64))?;
            self.file.read_exact(&mut bytes)?;
            let (ranges, torn) = frames::records(&bytes, &Limits::unlimited());
            let is_last = bytes.len() == left;
            if ranges.is_empty() && !is_last {
                // The first record is longer.
                wanted *= 2;
                continue;
            }
            let (at, record) = (self.at, self.record);
            self.at += ranges.last().map_or(0, |range| range.end);
            self.record += ranges.len() as u64;
            // Inside the file, the records after an empty one are not read either.
            let is_torn = torn.as_ref().is_some_and(|error| *error.kind() == ErrorKind::EmptyRecord);
            self.has_ended = is_last || is_torn;
            let end = torn.filter(|_| self.has_ended).map(|error| (Some(ranges.len() as u64), error));
            return Ok(Piece { bytes, at, record, ranges, end });
        }
    }
}

impl Iterator for Pieces<'_> {
    type Item = std::result::Result<Piece, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let read = self.read();
        self.has_ended |= read.is_err();
        Some(read.map_err(Failure::System))
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
    let (mut batches, mut start, mut bytes) = (Vec::new(), 0, 0);
    for (row, range) in ranges.iter().enumerate() {
        bytes += range.len();
        if bytes >= BATCH {
            batches.push(start..row + 1);
            (start, bytes) = (row + 1, 0);
        }
    }
    batches.push(start..ranges.len());
    batches
}
