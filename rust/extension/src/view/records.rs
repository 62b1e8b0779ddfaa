//! Records in memory, or in a file that may be larger than memory.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use godot::builtin::{GString, PackedByteArray};
use variant_codec::error::{Limit, Step as ErrorStep};
use variant_codec::frames::{self, Contents, Index, ReadAt};
use variant_codec::sync::lock;
use variant_codec::view::Spot;
use variant_codec::{Error, ErrorKind, Limits, Result, VariantType};
use variant_disk::Journal;
use variant_engine as engine;

use super::fetching::{Format, ViewLimits};
use super::held::Held;
use super::path::Step;
use crate::files::{self, FileError, Target};

/// A sequence of length-prefixed records.
pub struct Records {
    source: Source,
    index: Index,
    limits: ViewLimits,
    format: Format,
    /// Set when a complete first record exists and the data is known to be in `format`.
    is_known: OnceLock<()>,
}

enum Source {
    Memory(Arc<Held>),
    File {
        file: Journal,
        /// The last record read, and its index.
        last: Mutex<Option<(u64, Arc<Held>)>>,
    },
    /// A file that could not be opened: each access fails with this error.
    Unopened(FileError),
}

impl ReadAt for Source {
    fn size(&self) -> io::Result<u64> {
        match self {
            Self::Memory(held) => held.bytes().size(),
            Self::File { file, last } => {
                let size = file.size()?;
                let mut last = lock(last);
                // Others have made the file shorter, and may write other records.
                if last.as_ref().is_some_and(|(_, held)| held.end() > size) {
                    *last = None;
                }
                Ok(size)
            }
            Self::Unopened(error) => Err(error.into()),
        }
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Memory(held) => held.bytes().read_at(at, into),
            Self::File { file, .. } => file.read_at(at, into),
            Self::Unopened(error) => Err(error.into()),
        }
    }
}

impl Records {
    /// The records in these bytes.
    pub fn in_memory(bytes: PackedByteArray, limits: ViewLimits, format: Format) -> Self {
        let held = Held::new(bytes, 0, limits.clone(), format);
        Self::of(Source::Memory(Arc::new(held)), Index::default(), limits, format)
    }

    fn of(source: Source, index: Index, limits: ViewLimits, format: Format) -> Self {
        Self { source, index, limits, format, is_known: OnceLock::new() }
    }

    /// The records in a file. Ignores a truncated last record, which a writer may not have completed yet.
    pub fn in_file(path: &GString, limits: ViewLimits, format: Format) -> Self {
        let source = match files::open(path) {
            Some(file) => Source::File { file, last: Mutex::default() },
            // A file of the project may be packed, so only the engine can read it. For any other file, the
            // engine knows the reason for the failure.
            None => {
                let target = Target::of(path).ok();
                let turn = target.as_ref().map(|target| (target, target.turn()));
                match files::read_records(path, turn, &Limits::unlimited(), Instant::now()) {
                    Ok(file) => Source::Memory(Arc::new(Held::new(file.bytes, 0, limits.clone(), format))),
                    Err(error) => Source::Unopened(error),
                }
            }
        };
        Self::of(source, Index::ignoring_torn(), limits, format)
    }

    fn size(&self) -> Result<u64> {
        self.source.size().map_err(Error::other)
    }

    /// The end of the first `count` records.
    ///
    /// # Errors
    /// As [`Records::len`].
    pub fn end(&self, count: u64) -> Result<u64> {
        let Some(last) = count.checked_sub(1) else { return Ok(0) };
        Ok(self.index.find(&self.source, last)?.map_or(0, |record| record.end))
    }

    /// The current number of records.
    ///
    /// # Errors
    /// Fails if the data is in another format, the last record of a buffer is truncated, or the file cannot be opened
    /// or read.
    pub fn len(&self) -> Result<u64> {
        self.check_format()?;
        self.index.count(&self.source)
    }

    /// Fails if the data is in another format, or the first record is truncated.
    ///
    /// # Errors
    /// As [`Records::len`].
    pub fn check_format(&self) -> Result<()> {
        if self.is_known.get().is_some() {
            return Ok(());
        }
        let refusal = match (frames::recognise(&self.source, |_| true)?, self.format) {
            (Contents::Values { .. }, Format::Godot3) => None,
            (contents, _) => contents.refusal(),
        };
        if let Some(format) = refusal {
            return Err(Error::new(format.into()).at(0));
        }
        if Index::default().find(&self.source, 0)?.is_some() {
            self.is_known.get_or_init(|| ());
        }
        Ok(())
    }

    /// The limits for each record.
    pub fn limits(&self) -> &ViewLimits {
        &self.limits
    }

    /// The format of the records.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The index of the record that a step stands for.
    ///
    /// # Errors
    /// Fails if the step is not an index, or a negative index has no record.
    pub fn index_of(&self, step: &Step) -> Result<u64> {
        let Some(index) = step.index() else { return Err(missing(format!("key {}", step.key()))) };
        if index >= 0 {
            return Ok(index.unsigned_abs());
        }
        let len = self.len()?;
        len.checked_sub(index.unsigned_abs()).ok_or_else(|| missing(format!("element {index}: it has {len}")))
    }

    /// The bytes that hold a record, and its spot in them.
    ///
    /// # Errors
    /// As [`Records::len`]; also fails if there is no such record, or it is larger than allowed.
    pub fn record(&self, index: u64) -> Result<(Arc<Held>, Spot)> {
        self.check_format()?;
        self.size()?;
        let last = match &self.source {
            Source::Memory(_) | Source::Unopened(_) => None,
            Source::File { last, .. } => lock(last).clone(),
        };
        if let Some((found, held)) = last
            && found == index
        {
            let spot = Spot::of(0..held.bytes().len());
            return Ok((held, spot));
        }
        let Some(range) = self.index.find(&self.source, index)? else {
            return Err(missing(format!("element {index}: it has {}", self.len()?)));
        };
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        match &self.source {
            Source::Memory(held) => Ok((Arc::clone(held), Spot::of(place(range.start)..place(range.end)))),
            Source::File { file, last } => {
                let length = place(range.end - range.start);
                if length > self.limits.finding.max_bytes {
                    let error = Error::new(self.limits.finding.exceeded(Limit::Bytes));
                    return Err(inside(error.at(0), index, range.start));
                }
                // Frees the last record first: only one is held at a time.
                *lock(last) = None;
                let mut bytes = engine::new_bytes(length)?;
                let read = file.read_at(range.start, bytes.as_mut_slice()).map_err(Error::other)?;
                if read < length {
                    let kind = ErrorKind::UnexpectedEnd { needed: length, left: read };
                    return Err(inside(Error::new(kind).at(0), index, range.start));
                }
                let held = Arc::new(Held::new(bytes, range.start, self.limits.clone(), self.format));
                *lock(last) = Some((index, Arc::clone(&held)));
                Ok((held, Spot::of(0..length)))
            }
            Source::Unopened(error) => Err(Error::other(io::Error::from(error))),
        }
    }

    /// Calls `each` with the index and the bytes of each of these records.
    ///
    /// # Errors
    /// As [`Records::len`]; also returns an error of `each`, and adds the record's index and offset to it.
    pub fn for_each(&self, range: Range<u64>, mut each: impl FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        self.check_format()?;
        frames::scan(&self.source, &self.index, range, &self.limits.finding, |index, offset, record| {
            each(index, record).map_err(|error| inside(error, index, offset))
        })
    }
}

/// Adds the `index` and the `offset` of a record to an error in it.
pub fn inside(error: Error, index: u64, offset: u64) -> Error {
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    let index = usize::try_from(index).unwrap_or(usize::MAX);
    error.shifted(offset).inside(ErrorStep::Index(index))
}

#[cold]
fn missing(key: String) -> Error {
    Error::new(ErrorKind::NotFound { key, found: VariantType::Array })
}
