//! Input files: opens them and recognises their contents.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;

use rayon::prelude::*;
use variant_codec::frames::{self, Foreign, Index, ReadAt};
use variant_codec::view::Key;
use variant_codec::{Error, ErrorKind, Limits, View};

use crate::Holds;
use crate::failure::{Failure, Outcome};

/// An open file.
pub struct Input {
    /// Its name for messages.
    pub name: String,
    source: Box<dyn ReadAt + Sync>,
    /// Whether it contains records; otherwise it contains one value.
    pub has_records: bool,
}

/// Bytes that have been read.
struct Held(Vec<u8>);

impl ReadAt for Held {
    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(at, into)
    }
}

/// For files of the user's own: everything that the format has.
pub fn limits() -> Limits {
    Limits { allow_objects: true, ..Limits::for_save_files() }
}

/// Reads a file, or standard input for `-`, as a whole.
pub fn read(path: &Path) -> Outcome<(String, Vec<u8>)> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::file("standard input", &error))?;
        return Ok(("standard input".to_owned(), bytes));
    }
    let name = path.display().to_string();
    regular(path)?;
    let bytes = fs::read(path).map_err(|error| Failure::file(&name, &error))?;
    Ok((name, bytes))
}

/// Refuses folders, pipes and devices: some have no end.
fn regular(path: &Path) -> Outcome<()> {
    let name = path.display();
    let kind = fs::metadata(path).map_err(|error| Failure::file(&name, &error))?.file_type();
    match kind {
        kind if kind.is_file() => Ok(()),
        kind if kind.is_dir() => Err(Failure::File(format!("{name}: a folder, not a file"))),
        _ => Err(Failure::File(format!("{name}: not a file; to read a pipe, use - and redirect it"))),
    }
}

impl Input {
    /// Opens a file, or standard input for `-`, and recognises its contents unless the user has stated them.
    pub fn open(path: &Path, holds: Option<Holds>) -> Outcome<Self> {
        let (name, source): (String, Box<dyn ReadAt + Sync>) = if path == Path::new("-") {
            let (name, bytes) = read(path)?;
            (name, Box::new(Held(bytes)))
        } else {
            regular(path)?;
            let name = path.display().to_string();
            let file = File::open(path).map_err(|error| Failure::file(&name, &error))?;
            (name, Box::new(Mutex::new(file)))
        };
        Self { name, source, has_records: holds == Some(Holds::Records) }.recognised(holds)
    }

    fn recognised(self, holds: Option<Holds>) -> Outcome<Self> {
        let found = frames::foreign(&*self.source, &limits()).map_err(|error| of_file(&self.name, &error))?;
        match found {
            Some(Foreign::Text) => match self.whole().map(|text| from_hex(&text))? {
                Some(bytes) => Self { source: Box::new(Held(bytes)), ..self }.recognised(holds),
                None => Err(Failure::Data(format!("{}: text, not encoded values", self.name))),
            },
            _ if holds.is_some() => Ok(self),
            None => Ok(Self { has_records: true, ..self }),
            Some(Foreign::OneValue) => Ok(Self { has_records: false, ..self }),
            Some(Foreign::Json) => {
                Err(Failure::Data(format!("{}: JSON, which `gdvar from-json` encodes", self.name)))
            }
            Some(foreign) => Err(Failure::Data(format!("{}: {foreign}", self.name))),
        }
    }

    /// Calls `each` with the index, the offset and the bytes of each of these records, or with one value as the first record. No more than
    /// 1 MiB is held, or one record.
    pub fn each(
        &self,
        records: Range<u64>,
        mut each: impl FnMut(u64, u64, &[u8]) -> Outcome<()>,
    ) -> Outcome<()> {
        if !self.has_records {
            return each(0, 0, &self.whole()?);
        }
        let mut failed = None;
        let scanned =
            frames::scan(&*self.source, &Index::default(), records, &limits(), |index, offset, record| {
                each(index, offset, record).map_err(|failure| {
                    failed = Some(failure);
                    Error::new(ErrorKind::Argument("".into()))
                })
            });
        match (failed, scanned) {
            (Some(failure), _) => Err(failure),
            (None, scanned) => scanned.map_err(|error| of_file(&self.name, &error)),
        }
    }

    /// Calls `work` with each value on all cores, in groups of values that follow each other, and `take` with what each group came to, in
    /// order.
    pub fn each_in_parallel<T: Default + Send>(
        &self,
        work: impl Fn(&mut T, u64, u64, &[u8]) -> Outcome<()> + Sync,
        mut take: impl FnMut(T) -> Outcome<()>,
    ) -> Outcome<()> {
        /// So many bytes are held for all cores.
        const BATCH: usize = 8 << 20;

        let mut take_groups = |groups: Vec<(T, Outcome<()>)>| {
            groups.into_iter().try_for_each(|(found, done)| take(found).and(done))
        };
        let mut batch = Batch::default();
        let read = self.each(0..u64::MAX, |index, offset, bytes| {
            // One that fills a batch need not be copied.
            if bytes.len() >= BATCH {
                take_groups(batch.take_groups(&work))?;
                let mut found = T::default();
                let done = work(&mut found, index, offset, bytes);
                return take_groups(vec![(found, done)]);
            }
            batch.push(index, offset, bytes);
            if batch.bytes.len() >= BATCH { take_groups(batch.take_groups(&work)) } else { Ok(()) }
        });
        // What was read before the damage is good.
        take_groups(batch.take_groups(&work)).and(read)
    }

    /// All bytes.
    pub fn whole(&self) -> Outcome<Vec<u8>> {
        let read = || {
            let size = self.source.size()?;
            let size = usize::try_from(size).map_err(io::Error::other)?;
            let mut bytes = Vec::new();
            bytes.try_reserve_exact(size).map_err(io::Error::other)?;
            bytes.resize(size, 0);
            let count = self.source.read_at(0, &mut bytes)?;
            bytes.truncate(count);
            Ok(bytes)
        };
        read().map_err(|error| Failure::file(&self.name, &error))
    }

    /// The name of a value in messages: that of the file, and the index of its record.
    pub fn name_of(&self, index: u64) -> String {
        if self.has_records { format!("{}: record {index}", self.name) } else { self.name.clone() }
    }
}

/// Values for all cores.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// The index of each, its offset in the file, and its place in `bytes`.
    values: Vec<(u64, u64, Range<usize>)>,
}

impl Batch {
    fn push(&mut self, index: u64, offset: u64, bytes: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.values.push((index, offset, start..self.bytes.len()));
    }

    /// What each group came to, and whether all of its values are good. Nothing is held afterwards.
    fn take_groups<T: Default + Send>(
        &mut self,
        work: impl Fn(&mut T, u64, u64, &[u8]) -> Outcome<()> + Sync,
    ) -> Vec<(T, Outcome<()>)> {
        /// Enough groups for cores that are busy with something else.
        const PER_CORE: usize = 8;

        let size = self.values.len().div_ceil(rayon::current_num_threads() * PER_CORE).max(1);
        let groups = self.values.par_chunks(size).map(|group| {
            let mut found = T::default();
            let done = group.iter().try_for_each(|(index, offset, place)| {
                work(&mut found, *index, *offset, self.bytes.get(place.clone()).unwrap_or_default())
            });
            (found, done)
        });
        let groups = groups.collect();
        self.values.clear();
        self.bytes.clear();
        groups
    }
}

/// The bytes that hexadecimal text spells, as it is copied from a debugger or a log; `None` for other text.
fn from_hex(text: &[u8]) -> Option<Vec<u8>> {
    let digits = text.iter().filter(|byte| !byte.is_ascii_whitespace());
    let digits: Vec<u8> =
        digits.map(|byte| char::from(*byte).to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

/// An error of the file itself, or of how its records lie.
fn of_file(name: &str, error: &Error) -> Failure {
    match error.kind() {
        ErrorKind::Other(_) => Failure::File(format!("{name}: {error}")),
        _ => Failure::data(name, error),
    }
}

/// A path of keys and indexes in text. In a file of records, the first step is the index of one.
pub struct Place<'p> {
    /// The record; `None` for all of them.
    pub record: Option<u64>,
    /// The steps in the value.
    pub steps: Vec<Key<'p>>,
}

impl<'p> Place<'p> {
    /// Parses a path in this input.
    ///
    /// # Errors
    /// Fails if the input contains records and the path does not start with the index of one.
    pub fn of(input: &Input, path: &'p str) -> Outcome<Self> {
        if !input.has_records || path.is_empty() {
            return Ok(Self { record: None, steps: Key::path(path) });
        }
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        let record = first.parse().map_err(|_| {
            Failure::Data(format!(
                "{}: a file of records: the path starts with the index of one, not {first:?}",
                input.name
            ))
        })?;
        Ok(Self { record: Some(record), steps: Key::path(rest) })
    }

    /// Calls `each` with the values that the path leads to, with their index and offset in the file.
    pub fn each(
        &self,
        input: &Input,
        mut each: impl FnMut(u64, u64, View<'_>) -> Outcome<()>,
    ) -> Outcome<()> {
        let limits = limits();
        self.each_value(input, |index, offset, bytes| {
            let place = View::within(bytes, &limits).and_then(|view| view.at(&self.steps));
            let view =
                place.map_err(|error| Failure::data_at(&input.name_of(index), error, bytes, offset))?;
            each(index, offset, view)
        })
    }

    /// Calls `each` with the value, or the records, that the steps start in.
    pub fn each_value(
        &self,
        input: &Input,
        mut each: impl FnMut(u64, u64, &[u8]) -> Outcome<()>,
    ) -> Outcome<()> {
        let records = self.record.map_or(0..u64::MAX, |record| record..record.saturating_add(1));
        let mut found = false;
        input.each(records, |index, offset, bytes| {
            found = true;
            each(index, offset, bytes)
        })?;
        match self.record {
            Some(record) if !found => {
                Err(Failure::Data(format!("{}: there is no record {record}", input.name)))
            }
            _ => Ok(()),
        }
    }
}
