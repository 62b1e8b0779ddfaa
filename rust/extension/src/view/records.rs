//! Records in memory, or in a file that may be larger than it.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use godot::builtin::{GString, PackedByteArray};
use variant_codec::error::{Limit, Step as ErrorStep};
use variant_codec::frames::{self, Index, ReadAt};
use variant_codec::view::Spot;
use variant_codec::{Error, ErrorKind, Limits, Result, VariantType};
use variant_disk::Journal;
use variant_engine as engine;

use super::held::{Format, Held};
use super::path::Step;
use crate::files::{self, FileError, Target};
use crate::threads::lock;

/// Records, one after the other, each behind its length.
pub struct Records {
    source: Source,
    index: Index,
    limits: Limits,
    format: Format,
    /// Set when the first record has been found to be one.
    is_known: OnceLock<()>,
}

enum Source {
    Memory(Arc<Held>),
    File {
        file: Journal,
        /// The record that has been read last.
        last: Mutex<Option<(u64, Arc<Held>)>>,
    },
}

impl ReadAt for Source {
    fn size(&self) -> io::Result<u64> {
        match self {
            Self::Memory(held) => held.bytes().size(),
            Self::File { file, .. } => file.size(),
        }
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Memory(held) => held.bytes().read_at(at, into),
            Self::File { file, .. } => file.read_at(at, into),
        }
    }
}

impl Records {
    /// The records in these bytes.
    pub fn in_memory(bytes: PackedByteArray, limits: Limits, format: Format) -> Self {
        let held = Held::new(bytes, 0, limits.clone(), format);
        Self::of(Source::Memory(Arc::new(held)), Index::default(), limits, format)
    }

    fn of(source: Source, index: Index, limits: Limits, format: Format) -> Self {
        Self { source, index, limits, format, is_known: OnceLock::new() }
    }

    /// The records in a file, without one that the end cuts off: it may still be being written.
    ///
    /// # Errors
    /// Why it cannot be opened.
    pub fn in_file(path: &GString, limits: Limits, format: Format) -> std::result::Result<Self, FileError> {
        match files::open(path) {
            Some(file) => {
                let source = Source::File { file, last: Mutex::default() };
                Ok(Self::of(source, Index::ignoring_torn(), limits, format))
            }
            // Of the project, which may be packed, or the engine knows why not.
            None => {
                let target = Target::of(path).ok();
                let target = target.as_ref().map(|target| (target, target.turn()));
                let bytes = files::read_records(path, target, &Limits::unlimited())?;
                Ok(Self { index: Index::ignoring_torn(), ..Self::in_memory(bytes, limits, format) })
            }
        }
    }

    fn size(&self) -> Result<u64> {
        self.source.size().map_err(Error::other)
    }

    /// Where the last record ends.
    ///
    /// # Errors
    /// As [`Records::len`].
    pub fn end(&self) -> Result<u64> {
        let Some(last) = self.len()?.checked_sub(1) else { return Ok(0) };
        Ok(self.index.find(&self.source, last)?.map_or(0, |record| record.end))
    }

    /// How many records there are now.
    ///
    /// # Errors
    /// Another format; a record that the end of a buffer cuts off; errors of the file.
    pub fn len(&self) -> Result<u64> {
        self.check_format()?;
        self.index.count(&self.source)
    }

    /// Fails if these are no records: the first one is not whole, which no writer at work explains, or it is another format.
    fn check_format(&self) -> Result<()> {
        if self.is_known.get().is_some() {
            return Ok(());
        }
        let found = match self.format {
            Format::Godot4 => frames::foreign(&self.source, &self.limits)?,
            Format::Godot3 => frames::foreign_to_godot3(&self.source)?,
        };
        if let Some(format) = found {
            return Err(Error::new(format.into()).at(0));
        }
        if Index::default().find(&self.source, 0)?.is_some() {
            self.is_known.get_or_init(|| ());
        }
        Ok(())
    }

    /// What is accepted of each.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Which format they are in.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The index that a step means.
    ///
    /// # Errors
    /// Steps that are none; records that are not there.
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
    /// As [`Records::len`]; no such record; one that is larger than allowed.
    pub fn record(&self, index: u64) -> Result<(Arc<Held>, Spot)> {
        self.check_format()?;
        let last = match &self.source {
            Source::Memory(_) => None,
            Source::File { last, .. } => lock(last).clone(),
        };
        if let Some((found, held)) = last
            && found == index
            && held.offset() + held.bytes().len() as u64 <= self.size()?
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
                if length > self.limits.max_bytes {
                    let kind = ErrorKind::LimitExceeded(Limit::Bytes, self.limits.max_bytes as u64);
                    return Err(inside(Error::new(kind).at(0), index, range.start));
                }
                // One record is held at a time.
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
        }
    }

    /// Calls `each` with the index and the bytes of each of these records.
    ///
    /// # Errors
    /// As [`Records::len`]; what `each` returns, with its place among all records.
    pub fn for_each(&self, range: Range<u64>, mut each: impl FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        self.check_format()?;
        frames::scan(&self.source, &self.index, range, &self.limits, |index, offset, record| {
            each(index, record).map_err(|error| inside(error, index, offset))
        })
    }
}

/// An error in the record at `index`, whose bytes start at `offset`, with its place among all of them.
pub fn inside(error: Error, index: u64, offset: u64) -> Error {
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    let index = usize::try_from(index).unwrap_or(usize::MAX);
    error.shifted(offset).inside(ErrorStep::Index(index))
}

#[cold]
fn missing(key: String) -> Error {
    Error::new(ErrorKind::NotFound { key, found: VariantType::Array })
}
