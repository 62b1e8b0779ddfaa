//! [`Input`]: an open file, whose contents are recognised.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;

use variant_codec::error::SaveDamage;
use variant_codec::frames::{self, Contents, Foreign, Index, Layout, ReadAt};
use variant_codec::godot3::Loss;
use variant_codec::limits::Limit;
use variant_codec::saves::{self, Content};
use variant_codec::{Error, ErrorKind, Limits};
use variant_zstd as zstd;

use super::files::{name_of, read, regular};
use super::options::{Damage, Format, from_hex};
use super::wrapped::{self, Decompressed, Key};
use crate::failure::{Failure, Outcome};

/// An open file.
pub struct Input {
    /// The name in messages.
    pub name: String,
    pub(super) source: Box<dyn ReadAt + Sync>,
    /// Whether the file contains records rather than one value.
    pub has_records: bool,
    /// Set if the file is in Godot 3's format; [`Input::each`] then converts each value to Godot 4's.
    pub godot3: Option<Loss>,
    /// The limits for the file's values.
    pub limits: Limits,
    /// Whether [`Input::each`] shows a progress bar.
    pub shows_progress: bool,
    /// The damage in the compressed file or block that holds the contents.
    pub damage: Option<String>,
    /// The ranges of the zeros that replace damaged blocks.
    pub filled: Vec<Range<usize>>,
}

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
    fn recognised(mut self, format: &Format, key: Option<&Key>, layers: &mut Vec<Foreign>) -> Outcome<Self> {
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
                return if layout.has_records && !layout.is_godot3 {
                    self.unpacked(format)
                } else {
                    Ok(self)
                };
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
            Foreign::Patch if format.is_patch => return Ok(self),
            foreign => return Err(damaged(foreign.to_string())),
        };
        Self { source: Box::new(Held(unwrapped)), ..self }.recognised(format, key, layers)
    }

    /// The contents with the records of each block in its place. Offsets are then those in the larger contents.
    fn unpacked(self, format: &Format) -> Outcome<Self> {
        let index = Index::ignoring_torn().reading_blocks(zstd::decompress);
        let has_blocks = match index.has_blocks(&*self.source) {
            Ok(found) => found,
            // All other damage is reported when the records are read.
            Err(error) => matches!(error.kind(), ErrorKind::Save(_)),
        };
        if !has_blocks {
            return Ok(self);
        }
        let bytes = self.raw()?;
        let (records, _) = frames::records(&bytes, &Limits::unlimited());
        let (mut contents, mut damage) = (Vec::new(), None);
        let mut rest = 0;
        for record in records {
            let read =
                index.unpack(&bytes[record.clone()], &self.limits).and_then(|unpacked| match unpacked {
                    Some((records, _)) => append(&mut contents, &records, &self.limits),
                    None => append(&mut contents, &bytes[rest..record.end], &self.limits),
                });
            if let Err(error) = read {
                damage.get_or_insert_with(|| format!("block at byte {}: {error}", record.start));
                if format.damage != Damage::Filled {
                    break;
                }
            }
            rest = record.end;
        }
        match damage {
            Some(error) if format.damage == Damage::Refused => {
                return Err(Failure::Data(format!("{}: {error}", self.name)));
            }
            Some(_) => {}
            None => contents.extend_from_slice(&bytes[rest..]),
        }
        Ok(Self { source: Box::new(Held(contents)), damage, ..self })
    }

    /// The value of a save, whose sum is right; `None` for other contents.
    ///
    /// # Errors
    /// Fails if the save is damaged.
    pub fn saved_value(&self) -> Outcome<Option<Vec<u8>>> {
        let failed = |error: &Error| Failure::data(&self.name, error);
        let is_save = self.has_records && self.godot3.is_none();
        if !is_save || !saves::is_save(&*self.source).map_err(|error| failed(&error))? {
            return Ok(None);
        }
        let bytes = self.raw()?;
        match saves::read(&bytes, &self.limits).map_err(|error| failed(&error))?.map(|save| save.content) {
            None => Ok(None),
            Some(Content::Plain(value)) => Ok(Some(value.to_vec())),
            Some(Content::Zstd { compressed, size }) => match zstd::decompress(compressed, size) {
                Some(value) => Ok(Some(value)),
                None => Err(failed(&ErrorKind::Save(SaveDamage::Changed).into())),
            },
        }
    }

    /// The value alone, in place of the records of a save.
    ///
    /// # Errors
    /// Fails if the save is damaged.
    pub fn without_summary(self) -> Outcome<Self> {
        match self.saved_value()? {
            Some(value) => Ok(Self { source: Box::new(Held(value)), has_records: false, ..self }),
            None => Ok(self),
        }
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

/// Appends records. The limit on bytes is for all of them.
fn append(contents: &mut Vec<u8>, records: &[u8], limits: &Limits) -> variant_codec::Result<()> {
    if contents.len() + records.len() > limits.max_bytes {
        return Err(limits.exceeded(Limit::Bytes).into());
    }
    contents.try_reserve(records.len()).map_err(Error::other)?;
    contents.extend_from_slice(records);
    Ok(())
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

/// The failure for an error in reading the file or in the framing of its records.
pub(super) fn of_file(name: &str, error: &Error) -> Failure {
    match error.kind() {
        ErrorKind::Other(_) => Failure::File(format!("{name}: {error}")),
        _ => Failure::data(name, error),
    }
}
