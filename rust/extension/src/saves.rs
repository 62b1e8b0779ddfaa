//! Saves: one value in one file.

use std::ops::Range;

use godot::builtin::{GString, PackedByteArray, Variant};
use godot::classes::file_access::CompressionMode;
use variant_codec::error::{Limit, Step};
use variant_codec::frames::{self, Block, Contents, Layout};
use variant_codec::saves::{self, Content};
use variant_codec::{Error, ErrorKind, Limits, Result};
use variant_engine::{self as engine, OwnArray, OwnedBytes, Slots};
use variant_live::decode::built::{Built, CreatedObjects};
use variant_live::decode::decoding::Decoding;
use variant_live::decode::input::Input;
use variant_live::encode::walker::Objects;
use variant_live::value;

use crate::files::{self, FileError};

/// A piece of a file to be written.
pub enum Chunk {
    Own(Vec<u8>),
    /// The encoded value.
    Value(OwnedBytes),
}

impl AsRef<[u8]> for Chunk {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Value(bytes) => engine::bytes(bytes.get()),
        }
    }
}

/// The file for an encoded value and the summary of it.
///
/// # Errors
/// Fails if the summary cannot be encoded, or the file would be too large.
pub fn chunks(summary: &Variant, value: PackedByteArray, compress: bool) -> Result<Vec<Chunk>> {
    let summary = value::encode(summary, Objects::Refused, true)
        .map_err(|error| match error.kind() {
            ErrorKind::Object(_) => error.with_kind(ErrorKind::Object("a summary takes no objects".into())),
            _ => error,
        })
        .map_err(|error| error.inside(Step::text_key("summary")))?;
    let content = if compress || saves::looks_compressed(engine::bytes(&value)) {
        let zstd = value.compress(CompressionMode::ZSTD).map_err(|()| ErrorKind::OutOfMemory(value.len()))?;
        Chunk::Own(saves::compressed(zstd.to_vec(), value.len())?)
    } else {
        Chunk::Value(OwnedBytes::new(value))
    };
    let [head, tail] = saves::around(engine::bytes(&summary), content.as_ref())?;
    Ok(vec![Chunk::Own(head), content, Chunk::Own(tail)])
}

/// A value that any thread may return, and the objects to free if the caller never receives it.
pub struct Value {
    /// An Array of the value.
    array: OwnArray<Variant>,
    created: CreatedObjects,
}

impl Value {
    /// A decoded value.
    ///
    /// # Errors
    /// Fails if there is no memory.
    pub fn of(built: Built) -> Result<Self> {
        let (value, created) = built.into_parts();
        let (array, ()) = Slots::of_variants(1, |mut slots| slots.put(value))?;
        Ok(Self { array, created })
    }

    /// The value, and the objects to free if the caller never receives it.
    pub fn into_parts(self) -> (Variant, CreatedObjects) {
        (self.array.into_array().get(0).unwrap_or_default(), self.created)
    }
}

/// The value of a save, and the size of the file.
pub struct Loaded {
    pub value: Value,
    pub bytes: usize,
}

/// The error of a damaged save, and what could still be read of its value.
pub struct Damaged {
    pub error: Error,
    pub value: Option<Value>,
}

impl From<Error> for Damaged {
    fn from(error: Error) -> Self {
        Self { error, value: None }
    }
}

/// The limits of the file for a value with these limits: the summary and the sum come on top, and damaged zstd may be
/// longer than the value.
pub fn of_file(limits: &Limits) -> Limits {
    Limits { max_bytes: limits.max_bytes.saturating_mul(2).saturating_add(1 << 20), ..limits.clone() }
}

/// The encoded value of a save that has been read.
pub struct Found {
    content: OwnedBytes,
    part: Range<usize>,
    is_compressed: bool,
    /// The error of a damaged save, which may still have a value.
    damage: Option<Error>,
    /// The size of the file.
    bytes: usize,
}

impl Found {
    /// The value of a save, or of a file with one record or one value.
    ///
    /// # Errors
    /// Fails if the file is something else, or is damaged and nothing can be read.
    pub fn of(file: PackedByteArray, limits: &Limits) -> Result<Self> {
        let bytes = file.len();
        if bytes > of_file(limits).max_bytes {
            return Err(Error::new(limits.exceeded(Limit::Bytes)));
        }
        let data = engine::bytes(&file);
        let (content, at, damage) = match saves::read(data, limits) {
            Ok(Some(save)) => (save.content, save.at, None),
            Ok(None) => {
                let part = only_value(data, limits)?;
                return Ok(Self {
                    content: OwnedBytes::new(file),
                    part,
                    is_compressed: false,
                    damage: None,
                    bytes,
                });
            }
            Err(error) => match saves::remains(data, limits) {
                Some((content, at)) => (content, at, Some(error)),
                None => return Err(error),
            },
        };
        let (content, part, is_compressed) = match content {
            Content::Plain(record) => (None, at..at + record.len(), false),
            Content::Zstd { compressed, size } => match decompressed(compressed, size) {
                Ok(value) => (Some(value), 0..size, true),
                Err(error) => return Err(damage.unwrap_or(error)),
            },
        };
        let content = OwnedBytes::new(content.unwrap_or(file));
        Ok(Self { content, part, is_compressed, damage, bytes })
    }

    /// The number of bytes of the encoded value.
    pub fn size(&self) -> usize {
        self.part.len()
    }

    /// Whether the save is damaged: what can still be read of it must not run scripts.
    pub fn is_damaged(&self) -> bool {
        self.damage.is_some()
    }

    /// Decodes the value as plain data, without objects.
    ///
    /// # Errors
    /// Fails if the value is invalid, or has objects in the engine's own format.
    pub fn plain(&self, limits: &Limits) -> Result<Value> {
        let limits = Limits { allow_objects: false, ..limits.clone() };
        let built = self.decode(|input, part| Decoding::strict(&limits).decode(input, part));
        built.and_then(|(built, _)| Value::of(built))
    }

    /// Decodes the value with `decode`, which gets a part of its input.
    ///
    /// # Errors
    /// As `decode`.
    pub fn decode<T>(&self, decode: impl FnOnce(&Input<'_>, Range<usize>) -> Result<T>) -> Result<T> {
        let (input, part) = self.value();
        decode(&input, part).map_err(|error| self.placed(error))
    }

    /// The input that has the encoded value, and where.
    pub fn value(&self) -> (Input<'static>, Range<usize>) {
        (Input::Owned(self.content.get().clone()), self.part.clone())
    }

    /// An error without its offset, unless that is an offset in the file.
    pub fn placed(&self, error: Error) -> Error {
        if self.is_compressed { error.without_offset() } else { error }
    }

    /// The result for the decoded value.
    ///
    /// # Errors
    /// Fails if the value could not be decoded, or the save is damaged.
    pub fn loaded(self, value: Result<Value>) -> std::result::Result<Loaded, Damaged> {
        match self.damage {
            Some(error) => Err(Damaged { error, value: value.ok() }),
            None => Ok(Loaded { value: value?, bytes: self.bytes }),
        }
    }
}

/// Reads the value of a save, or of a file with one record or one value. `decode` decodes a part of its input, unless the
/// save is damaged.
///
/// # Errors
/// Fails if the file is damaged or something else, or if `decode` fails.
pub fn load(
    bytes: PackedByteArray,
    limits: &Limits,
    decode: impl FnOnce(&Input<'_>, Range<usize>) -> Result<Built>,
) -> std::result::Result<Loaded, Damaged> {
    let found = Found::of(bytes, limits)?;
    let value =
        if found.is_damaged() { found.plain(limits) } else { found.decode(decode).and_then(Value::of) };
    found.loaded(value)
}

fn decompressed(zstd: &[u8], size: usize) -> Result<PackedByteArray> {
    let failed = || Error::from(ErrorKind::Save(variant_codec::error::SaveDamage::Changed));
    let value = PackedByteArray::from(zstd).decompress(size, CompressionMode::ZSTD);
    value.ok().filter(|value| value.len() == size).ok_or_else(failed)
}

/// The only value of a file without a sum.
fn only_value(bytes: &[u8], limits: &Limits) -> Result<Range<usize>> {
    if bytes.is_empty() {
        return Err(Error::argument("the file is empty"));
    }
    match frames::recognise(bytes, |_| true)? {
        Contents::Values { layout: Layout { has_records: false, is_godot3: false }, .. } => {
            Ok(0..bytes.len())
        }
        contents @ Contents::Values { layout: Layout { is_godot3: true, .. }, .. }
        | contents @ Contents::Foreign(_) => Err(Error::new(
            contents
                .refusal()
                .map_or_else(|| ErrorKind::Argument("not a value of Godot 4".into()), Into::into),
        )
        .at(0)),
        Contents::Values { .. } => match frames::records(bytes, limits) {
            (records, None) => match &records[..] {
                [record] if Block::of(&bytes[record.clone()], record.len() as u64)?.is_some() => {
                    Err(Error::argument("expected one value, found compressed records; use `load_batch`"))
                }
                [record] => Ok(record.clone()),
                _ => Err(Error::argument(format!(
                    "expected one value, found {} records; use `load_batch`",
                    records.len()
                ))),
            },
            (_, Some(error)) => Err(error),
        },
    }
}

/// Reads the summary of the save at `path`.
///
/// # Errors
/// Fails if the file cannot be read, is no save, or is cut off.
pub fn load_summary(path: &GString, limits: &Limits) -> std::result::Result<Vec<u8>, NoSummary> {
    let found = match files::open(path) {
        Some(file) => saves::read_summary(&file, limits),
        // Only the engine can read files of an exported game, and it knows the reason for a failure.
        None => {
            let bytes = files::read(path, limits.max_bytes).map_err(NoSummary::File)?;
            saves::read_summary(engine::bytes(&bytes), limits)
        }
    };
    match found {
        Ok(Some(summary)) => Ok(summary),
        Ok(None) => {
            Err(NoSummary::Save(Error::argument("the file has no summary, because `save` did not write it")))
        }
        Err(error) => Err(NoSummary::Save(error)),
    }
}

/// The reason why there is no summary.
pub enum NoSummary {
    File(FileError),
    Save(Error),
}
