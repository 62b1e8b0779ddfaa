//! Input files: opens them and recognises their contents.

mod place;
mod progress;
mod wrapped;

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::mem;
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, mpsc};
use std::thread;

use clap::{Args, ValueEnum};
use rayon::prelude::*;
use variant_codec::frames::{self, Contents, Foreign, Index, Layout, ReadAt};
use variant_codec::godot3::Loss;
use variant_codec::stream::{Decoder, Encoder};
use variant_codec::{EncodeOptions, Error, ErrorKind, Limits, Strictness};

use crate::STACK;
use crate::failure::{Failure, Outcome};
use crate::output::printable;
pub use place::{Place, no_record};
use progress::Progress;
use wrapped::Decompressed;
pub use wrapped::{Key, compress, encrypt, encrypt_for_godot3};

/// The contents of a file.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Holds {
    /// One encoded value
    Value,
    /// Length-prefixed records
    Records,
}

/// Options for reading a file.
#[derive(Args, Default)]
pub struct Format {
    /// The contents of the file; by default, gdvar recognises them
    #[arg(long = "as", value_name = "WHAT")]
    pub holds: Option<Holds>,
    /// The pass of a file from FileAccess.open_encrypted_with_pass
    #[arg(long, env = "GDVAR_PASS", hide_env_values = true)]
    pub pass: Option<String>,
    /// The key of a file from FileAccess.open_encrypted, as 32 bytes in hexadecimal. Overrides the pass
    #[arg(long, value_name = "HEX")]
    pub key: Option<String>,
    /// Read the file in Godot 3's format; by default, gdvar recognises it
    #[arg(long)]
    pub godot3: bool,
    /// Read the file in Godot 4's format; by default, gdvar recognises it
    #[arg(long, conflicts_with = "godot3")]
    pub godot4: bool,
    /// Accept losses between the formats of Godot 3 and 4: read Godot 3's objects as Dictionaries, and
    /// replace its invalid characters. With `convert --to-godot3`, round numbers to 32 bits, and replace
    /// values that Godot 3 cannot hold; all changes of types are listed, including those that lose nothing
    #[arg(long)]
    pub lossy: bool,
    /// Read only encodings that the engine itself writes.
    #[arg(skip)]
    pub is_canonical: bool,
    /// The treatment of damage in a compressed file.
    #[arg(skip)]
    pub damage: Damage,
}

/// The treatment of damage in a compressed file.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Damage {
    /// Report it.
    #[default]
    Refused,
    /// Use the contents before the damage. [`Input::damage`] reports it.
    Cut,
    /// Replace damaged blocks with zeros. [`Input::damage`] reports the damage.
    Filled,
}

impl Format {
    /// Whether the options allow this layout.
    fn admits(&self, layout: Layout) -> bool {
        self.holds.is_none_or(|holds| layout.has_records == (holds == Holds::Records))
            && if layout.is_godot3 { !self.godot4 } else { !self.godot3 }
    }

    fn key(&self) -> Outcome<Option<Key>> {
        match (&self.key, &self.pass) {
            (Some(hex), _) => match from_hex(hex.as_bytes()).and_then(|bytes| Key::of_bytes(&bytes)) {
                Some(key) => Ok(Some(key)),
                None => Err(Failure::Arguments("invalid --key; expected 32 bytes in hexadecimal".to_owned())),
            },
            (None, pass) => Ok(pass.as_deref().map(Key::of_pass)),
        }
    }
}

/// An open file.
pub struct Input {
    /// The name in messages.
    pub name: String,
    source: Box<dyn ReadAt + Sync>,
    /// Whether the file contains records rather than one value.
    pub has_records: bool,
    /// Set if the file is in Godot 3's format; [`Input::each`] then converts each value to Godot 4's.
    pub godot3: Option<Loss>,
    /// The limits for the file's values.
    pub limits: Limits,
    /// Whether [`Input::each`] shows a progress bar.
    pub shows_progress: bool,
    /// The damage in the compressed file that holds the contents.
    pub damage: Option<String>,
    /// The ranges of the zeros that replace damaged blocks.
    pub filled: Vec<Range<usize>>,
}

/// The offset and the bytes of a value in a file.
pub type Placed<'b> = (u64, &'b [u8]);

struct Held(Vec<u8>);

impl ReadAt for Held {
    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(at, into)
    }
}

/// Limits for the user's own files: everything that the engine reads as the same value.
pub fn limits() -> Limits {
    Limits { allow_objects: true, allow_non_canonical: true, ..Limits::for_save_files() }
}

/// The name of a file in messages.
pub fn name_of(path: &Path) -> String {
    if path == Path::new("-") {
        return "standard input".to_owned();
    }
    // A file name must not send control characters to the terminal.
    printable(&path.display().to_string())
}

/// Reads a whole file, or standard input for `-`.
pub fn read(path: &Path) -> Outcome<(String, Vec<u8>)> {
    let name = name_of(path);
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::file("standard input", &error))?;
        return Ok((name, bytes));
    }
    regular(path)?;
    let bytes = fs::read(path).map_err(|error| Failure::file(&name, &error))?;
    Ok((name, bytes))
}

/// Fails if two of the files are standard input, which can be read only once.
pub fn refuse_stdin_twice<'p>(files: impl IntoIterator<Item = &'p Path>) -> Outcome<()> {
    if files.into_iter().filter(|file| *file == Path::new("-")).count() > 1 {
        return Err(Failure::Arguments(
            "standard input (-) given twice; name a file for one of them".to_owned(),
        ));
    }
    Ok(())
}

/// Fails for folders, pipes and devices, because some devices never end.
fn regular(path: &Path) -> Outcome<()> {
    let name = name_of(path);
    let kind = fs::metadata(path).map_err(|error| Failure::file(&name, &error))?.file_type();
    match kind {
        kind if kind.is_file() => Ok(()),
        kind if kind.is_dir() => Err(Failure::File(format!("{name}: a folder, not a file"))),
        _ => Err(Failure::File(format!("{name}: not a file; to read a pipe, use - and redirect it"))),
    }
}

impl Input {
    /// Opens a file, or standard input for `-`. Recognises the contents unless `format` names them.
    pub fn open(path: &Path, format: &Format) -> Outcome<Self> {
        let (name, source): (String, Box<dyn ReadAt + Sync>) = if path == Path::new("-") {
            let (name, bytes) = read(path)?;
            (name, Box::new(Held(bytes)))
        } else {
            regular(path)?;
            let name = name_of(path);
            let file = File::open(path).map_err(|error| Failure::file(&name, &error))?;
            let size = file.metadata().map_err(|error| Failure::file(&name, &error))?.len();
            if size == 0 {
                // The system may generate the file when it is read, as in /proc.
                let (name, bytes) = read(path)?;
                return Self::of(name, Box::new(Held(bytes)), format);
            }
            (name, Box::new(Mutex::new(file)))
        };
        Self::of(name, source, format)
    }

    /// Like [`Input::open`], for bytes in memory.
    pub fn of_bytes(name: &str, bytes: Vec<u8>, format: &Format) -> Outcome<Self> {
        Self::of(name.to_owned(), Box::new(Held(bytes)), format)
    }

    fn of(name: String, source: Box<dyn ReadAt + Sync>, format: &Format) -> Outcome<Self> {
        let key = format.key()?;
        let input = Self {
            name,
            source,
            has_records: false,
            godot3: None,
            limits: Limits { allow_non_canonical: !format.is_canonical, ..limits() },
            shows_progress: false,
            damage: None,
            filled: Vec::new(),
        };
        input.recognised(format, key.as_ref(), &mut Vec::new())
    }

    /// Unwraps hexadecimal, encryption and compression, each at most once, and recognises the contents. A
    /// file that is compressed several times could fill all memory, or contain itself.
    fn recognised(
        mut self,
        format: &Format,
        key: Option<&wrapped::Key>,
        layers: &mut Vec<Foreign>,
    ) -> Outcome<Self> {
        let found = frames::recognise(&*self.source, |layout| format.admits(layout));
        let contents = found.map_err(|error| of_file(&self.name, &error))?;
        let name = self.name.clone();
        let damaged = |error: String| Failure::Data(format!("{name}: {error}"));
        let layer = match contents {
            Contents::Values { layout, other } => {
                self.has_records = layout.has_records;
                let loss = if format.lossy { Loss::Accepted } else { Loss::Refused };
                self.godot3 = layout.is_godot3.then_some(loss);
                if let Some(other) = other {
                    anstream::eprintln!(
                        "note: {name}: read as {}; to read it as {}, add {}",
                        in_words(layout),
                        in_words(other),
                        options(other)
                    );
                }
                return Ok(self);
            }
            Contents::Foreign(layer) => layer,
        };
        if layers.contains(&layer) {
            return Err(damaged(format!(
                "{}, and so are its contents; a file is unwrapped only once",
                layer_in_words(layer)
            )));
        }
        layers.push(layer);
        let unwrapped = match layer {
            Foreign::Compressed => {
                let decompressed = wrapped::decompress(&self.raw()?, format.damage == Damage::Filled);
                let Decompressed { contents, filled, damage } = decompressed.map_err(damaged)?;
                match damage {
                    Some(error) if format.damage == Damage::Refused => return Err(damaged(error)),
                    damage => (self.damage, self.filled) = (damage, filled),
                }
                contents
            }
            Foreign::Encrypted | Foreign::EncryptedByGodot3 => {
                let key = key.ok_or_else(|| {
                    damaged("encrypted; give --pass, --key or the environment variable GDVAR_PASS".to_owned())
                })?;
                wrapped::decrypt(&self.raw()?, key).map_err(damaged)?
            }
            Foreign::Text => from_hex(&self.raw()?).ok_or_else(|| {
                damaged("text, not encoded values; `gdvar from-json` encodes JSON".to_owned())
            })?,
            foreign => return Err(damaged(foreign.to_string())),
        };
        Self { source: Box::new(Held(unwrapped)), ..self }.recognised(format, key, layers)
    }

    /// Calls `each` with the index, offset and bytes of each record in the range `records`. A single value is
    /// record 0. Values of Godot 3 are converted. Keeps at most 1 MiB in memory, or one record or value if it is longer.
    pub fn each(
        &self,
        records: Range<u64>,
        mut each: impl FnMut(u64, u64, &[u8]) -> Outcome<()>,
    ) -> Outcome<()> {
        self.each_stored(records, |index, offset, bytes| {
            let Some(loss) = self.godot3 else { return each(index, offset, bytes) };
            let converted = to_godot4(bytes, &self.limits, loss);
            let converted =
                converted.map_err(|error| Failure::data_at(&self.name_of(index), error, bytes, offset))?;
            each(index, offset, &converted)
        })
    }

    /// Like [`Input::each`], but with the bytes as they are stored, in Godot 3's format or in Godot 4's.
    pub fn each_stored(
        &self,
        records: Range<u64>,
        mut each: impl FnMut(u64, u64, &[u8]) -> Outcome<()>,
    ) -> Outcome<()> {
        let size = self.size()?;
        let progress = self.shows_progress.then(|| Progress::of(size));
        let mut each = |index, offset, bytes: &[u8]| {
            if let Some(progress) = &progress {
                progress.at(index, offset);
            }
            each(index, offset, bytes)
        };
        if !self.has_records {
            return each(0, 0, &self.raw()?);
        }
        let mut failed = None;
        let scanned =
            frames::scan(&*self.source, &Index::default(), records, &self.limits, |index, offset, record| {
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

    /// The bytes of the record at `at`, without its length prefix, and its error, if it is truncated.
    pub fn torn_record(&self, at: u64) -> Outcome<Option<(Vec<u8>, Error)>> {
        let size = self.size()?;
        if !self.has_records || size < at + frames::FRAME_BYTES as u64 {
            return Ok(None);
        }
        let mut bytes = vec![0; usize::try_from(size - at).unwrap_or(usize::MAX)];
        let read = self.source.read_at(at, &mut bytes);
        bytes.truncate(read.map_err(|error| Failure::file(&self.name, &error))?);
        let error = frames::records(&bytes, &self.limits).1;
        let torn = error.filter(|error| {
            error.offset() == Some(0) && matches!(error.kind(), ErrorKind::UnexpectedEnd { .. })
        });
        let start = usize::try_from(at).unwrap_or(usize::MAX);
        Ok(torn.map(|error| (bytes.split_off(frames::FRAME_BYTES), error.shifted(start))))
    }

    /// Calls `each` with each index and the values at this index in both files, until `each` returns false.
    /// A value is `None` if its file has fewer values.
    pub fn each_beside(
        &self,
        other: &Self,
        mut each: impl FnMut(u64, Option<Placed<'_>>, Option<Placed<'_>>) -> Outcome<bool>,
    ) -> Outcome<()> {
        /// The capacity of the channel, in groups of values.
        const WAITING: usize = 2;
        /// The size at which a group is sent, in bytes.
        const GROUP: usize = 64 << 10;

        thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel(WAITING);
            let send_all = move || {
                let (mut group, mut bytes) = (Vec::new(), 0);
                let read = other.each(0..u64::MAX, |_, offset, value| {
                    group.push((offset, value.to_vec()));
                    bytes += value.len();
                    if bytes < GROUP && group.len() < GROUP / 64 {
                        return Ok(());
                    }
                    bytes = 0;
                    sender.send(Ok(std::mem::take(&mut group))).map_err(|_| Failure::Closed)
                });
                // The receiver is gone if the comparison ended early.
                let _ = sender.send(Ok(group));
                if let Err(failure) = read {
                    let _ = sender.send(Err(failure));
                }
            };
            let reader = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, send_all);
            reader.map_err(|error| Failure::file("cannot start a thread", &error))?;
            let mut group = Vec::new().into_iter();
            let mut next_of_other = || -> Outcome<Option<(u64, Vec<u8>)>> {
                loop {
                    if let Some(value) = group.next() {
                        return Ok(Some(value));
                    }
                    let Ok(received) = receiver.recv() else { return Ok(None) };
                    group = received?.into_iter();
                }
            };
            let mut count = 0;
            let mut is_done = false;
            let read = self.each(0..u64::MAX, |index, offset, value| {
                let beside = next_of_other()?;
                let beside = beside.as_ref().map(|(offset, value)| (*offset, value.as_slice()));
                count = index + 1;
                is_done = !each(index, Some((offset, value)), beside)?;
                if is_done { Err(Failure::Closed) } else { Ok(()) }
            });
            match read {
                Err(Failure::Closed) if is_done => return Ok(()),
                read => read?,
            }
            while let Some((offset, value)) = next_of_other()? {
                if !each(count, None, Some((offset, &value)))? {
                    break;
                }
                count += 1;
            }
            Ok(())
        })
    }

    /// Calls `work` with each value, on all cores and in groups of consecutive values; calls `take` with the
    /// result of each group, in order.
    pub fn each_in_parallel<T: Default + Send>(
        &self,
        work: impl Fn(&mut T, u64, u64, &[u8]) -> Outcome<()> + Sync,
        mut take: impl FnMut(T) -> Outcome<()>,
    ) -> Outcome<()> {
        /// The bytes of the values that are processed at the same time.
        const AT_ONCE: usize = 8 << 20;
        /// Several groups per core, so that one busy core does not delay the others.
        const PER_CORE: usize = 8;

        let mut process = |values: &[(u64, u64, Cow<'_, [u8]>)]| {
            let size = values.len().div_ceil(rayon::current_num_threads() * PER_CORE).max(1);
            let groups = values.par_chunks(size).map(|group| {
                let mut found = T::default();
                let done = group
                    .iter()
                    .try_for_each(|(index, offset, bytes)| work(&mut found, *index, *offset, bytes));
                (found, done)
            });
            let groups: Vec<_> = groups.collect();
            groups.into_iter().try_for_each(|(found, done)| take(found).and(done))
        };
        let (mut values, mut held) = (Vec::new(), 0);
        let read = self.each(0..u64::MAX, |index, offset, bytes| {
            if bytes.len() >= AT_ONCE {
                process(&mem::take(&mut values))?;
                held = 0;
                // A value of this size is not copied.
                return process(&[(index, offset, Cow::Borrowed(bytes))]);
            }
            values.push((index, offset, Cow::Owned(bytes.to_vec())));
            held += bytes.len();
            if held < AT_ONCE {
                return Ok(());
            }
            held = 0;
            process(&mem::take(&mut values))
        });
        // If reading fails, the values before the damage are still processed.
        process(&values).and(read)
    }

    /// The number of bytes that [`Input::raw`] returns.
    pub fn size(&self) -> Outcome<u64> {
        self.source.size().map_err(|error| Failure::file(&self.name, &error))
    }

    /// All bytes of the contents, without compression, encryption or hexadecimal.
    pub fn raw(&self) -> Outcome<Vec<u8>> {
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

    /// The name of a value in messages: the file's name, and the index of the record if there are records.
    pub fn name_of(&self, index: u64) -> String {
        if self.has_records { format!("{}: record {index}", self.name) } else { self.name.clone() }
    }
}

/// Decodes hexadecimal text, as copied from a debugger or a log. Returns `None` for other text.
fn from_hex(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let mut digits = Vec::new();
    for word in text.split(|byte| byte.is_ascii_whitespace() || *byte == b',') {
        let word = word.strip_prefix(b"0x").unwrap_or(word);
        let found = word.iter().map(|byte| char::from(*byte).to_digit(16).map(|digit| digit as u8));
        digits.extend(found.collect::<Option<Vec<_>>>()?);
    }
    let (pairs, rest) = digits.as_chunks::<2>();
    let is_whole = rest.is_empty() && !pairs.is_empty();
    is_whole.then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

/// A layout as a message names it.
fn in_words(layout: Layout) -> &'static str {
    match (layout.has_records, layout.is_godot3) {
        (true, false) => "records of Godot 4",
        (false, false) => "one value of Godot 4",
        (true, true) => "records of Godot 3",
        (false, true) => "one value of Godot 3",
    }
}

/// The options that choose a layout.
fn options(layout: Layout) -> &'static str {
    match (layout.has_records, layout.is_godot3) {
        (true, false) => "--as records --godot4",
        (false, false) => "--as value --godot4",
        (true, true) => "--as records --godot3",
        (false, true) => "--as value --godot3",
    }
}

fn layer_in_words(layer: Foreign) -> &'static str {
    match layer {
        Foreign::Compressed => "compressed",
        Foreign::Encrypted | Foreign::EncryptedByGodot3 => "encrypted",
        _ => "hexadecimal",
    }
}

fn to_godot4(bytes: &[u8], limits: &Limits, loss: Loss) -> Result<Vec<u8>, Error> {
    let mut encoder = Encoder::new(Vec::new(), EncodeOptions::default());
    let mut decoder = Decoder::of_godot3(bytes, Strictness::Strict, limits, loss);
    decoder.decode_only(&mut encoder)?;
    Ok(encoder.into_output())
}

/// The failure for an error in reading the file or in the framing of its records.
fn of_file(name: &str, error: &Error) -> Failure {
    match error.kind() {
        ErrorKind::Other(_) => Failure::File(format!("{name}: {error}")),
        _ => Failure::data(name, error),
    }
}
