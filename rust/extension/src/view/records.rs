//! Records in memory, or in a file that may be larger than memory.

use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;
use std::{io, iter};

use godot::builtin::{GString, PackedByteArray};
use variant_codec::error::{Limit, Step as ErrorStep};
use variant_codec::frames::{self, Contents, Index, Located, ReadAt};
use variant_codec::sync::lock;
use variant_codec::view::Spot;
use variant_codec::{Error, ErrorKind, Limits, Result, VariantType};
use variant_disk::Journal;
use variant_engine as engine;
use variant_live::batch::blocks::decompress;

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

/// Records in memory.
struct Last {
    held: Arc<Held>,
    /// The index of the first record.
    first: u64,
    /// The ranges of the records in `held`.
    records: Vec<Range<usize>>,
}

impl Last {
    fn get(&self, index: u64) -> Option<(Arc<Held>, Spot)> {
        let range = self.records.get(usize::try_from(index.checked_sub(self.first)?).ok()?)?;
        Some((Arc::clone(&self.held), Spot::of(range.clone())))
    }
}

struct Source {
    stored: Stored,
    /// The last record that was read from a file, or the last block.
    last: Mutex<Option<Last>>,
}

enum Stored {
    Memory(Arc<Held>),
    File(Journal),
    /// A file that could not be opened: each access fails with this error.
    Unopened(FileError),
}

impl From<Stored> for Source {
    fn from(stored: Stored) -> Self {
        Self { stored, last: Mutex::default() }
    }
}

impl ReadAt for Source {
    fn size(&self) -> io::Result<u64> {
        let size = match &self.stored {
            Stored::Memory(held) => held.bytes().size(),
            Stored::File(file) => file.size(),
            Stored::Unopened(error) => Err(error.into()),
        }?;
        // Others have made the file shorter, and may write other records.
        lock(&self.last).take_if(|last| last.held.end() > size);
        Ok(size)
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        match &self.stored {
            Stored::Memory(held) => held.bytes().read_at(at, into),
            Stored::File(file) => file.read_at(at, into),
            Stored::Unopened(error) => Err(error.into()),
        }
    }
}

impl Records {
    /// The records in these bytes.
    pub fn in_memory(bytes: PackedByteArray, limits: ViewLimits, format: Format) -> Self {
        let held = Held::new(bytes, 0, limits.clone(), format);
        Self::of(Stored::Memory(Arc::new(held)), Index::default(), limits, format)
    }

    fn of(stored: Stored, index: Index, limits: ViewLimits, format: Format) -> Self {
        let index = if format == Format::Godot4 { index.reading_blocks(decompress) } else { index };
        Self { source: stored.into(), index, limits, format, is_known: OnceLock::new() }
    }

    /// The records in a file. Ignores a truncated last record, which a writer may not have completed yet.
    pub fn in_file(path: &GString, limits: ViewLimits, format: Format) -> Self {
        let stored = match files::open(path) {
            Some(file) => Stored::File(file),
            // A file of the project may be packed, so only the engine can read it. For any other file, the
            // engine knows the reason for the failure.
            None => {
                let target = Target::of(path).ok();
                let turn = target.as_ref().map(|target| (target, target.turn()));
                match files::read_records(path, turn, &Limits::unlimited(), Instant::now()) {
                    Ok(file) => Stored::Memory(Arc::new(Held::new(file.bytes, 0, limits.clone(), format))),
                    Err(error) => Stored::Unopened(error),
                }
            }
        };
        Self::of(stored, Index::ignoring_torn(), limits, format)
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
    /// As [`Records::len`]; also fails if there is no such record, it is larger than allowed, or its block is damaged.
    pub fn record(&self, index: u64) -> Result<(Arc<Held>, Spot)> {
        self.check_format()?;
        self.size()?;
        if let Some(found) = lock(&self.source.last).as_ref().and_then(|last| last.get(index)) {
            return Ok(found);
        }
        let Some(Located { bytes: place, block }) = self.index.locate(&self.source, index)? else {
            return Err(missing(format!("element {index}: it has {}", self.len()?)));
        };
        let range = size(place.start)..size(place.end);
        let limits = &self.limits.finding;
        let failed = |error: Error| inside(error.at(range.start), index);
        let read = match &self.source.stored {
            Stored::Memory(held) if block.is_none() => return Ok((Arc::clone(held), Spot::of(range))),
            Stored::Memory(held) => {
                PackedByteArray::from(held.bytes().get(range.clone()).unwrap_or_default())
            }
            Stored::File(file) => {
                let most = if block.is_some() { self.index.longest(limits) } else { limits.max_bytes };
                if range.len() > most {
                    return Err(failed(limits.exceeded(Limit::Bytes).into()));
                }
                // Frees the last record first: only one is held at a time.
                *lock(&self.source.last) = None;
                let mut bytes = engine::new_bytes(range.len())?;
                let read = file.read_at(place.start, bytes.as_mut_slice()).map_err(Error::other)?;
                if read < range.len() {
                    let kind = ErrorKind::UnexpectedEnd { needed: range.len(), left: read };
                    return Err(failed(kind.into()));
                }
                bytes
            }
            Stored::Unopened(error) => return Err(Error::other(io::Error::from(error))),
        };
        let last = match self.index.unpack(engine::bytes(&read), limits).map_err(failed)? {
            Some((bytes, records)) => {
                let held = Held::block(PackedByteArray::from(bytes), place, self.limits.clone());
                Last { held: Arc::new(held), first: block.map_or(index, |(first, _)| first), records }
            }
            None => {
                let held = Held::new(read, place.start, self.limits.clone(), self.format);
                Last { held: Arc::new(held), first: index, records: iter::once(0..range.len()).collect() }
            }
        };
        let found = last.get(index).ok_or_else(|| missing(format!("element {index}")))?;
        *lock(&self.source.last) = Some(last);
        Ok(found)
    }

    /// Calls `each` with the index and the bytes of each of these records.
    ///
    /// # Errors
    /// As [`Records::len`]; also returns an error of `each`, and adds the record's index and offset to it.
    pub fn for_each(&self, range: Range<u64>, mut each: impl FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        self.check_format()?;
        frames::scan(&self.source, &self.index, range, &self.limits.finding, |index, _, record| {
            each(index, record)
        })
    }
}

/// Adds the index of a record to an error in it.
pub fn inside(error: Error, index: u64) -> Error {
    error.inside(ErrorStep::Index(size(index)))
}

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cold]
fn missing(key: String) -> Error {
    Error::new(ErrorKind::NotFound { key, found: VariantType::Array })
}
