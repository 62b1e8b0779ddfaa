//! Godot 3's format: live Variants to its bytes and back, and files of them from one format to the other.

use std::sync::{Mutex, PoisonError};

use godot::builtin::{GString, PackedByteArray, Variant};
use variant_codec::godot3::{Change, Downgrade, Loss, add_change};
use variant_codec::stream::{Buffer, Decoder, Encoder, Source as _};
use variant_codec::{EncodeOptions, Limits, Result, Strictness, frames};
use variant_engine::{self as engine, PRECISION};

use crate::batch::failed::{Failed, Reasons};
use crate::batch::records;
use crate::files::{self, FileError, Target};
use crate::scratch::with_memory;
use crate::threads::lock;
use crate::variant::builder::VariantBuilder;
use crate::variant::built::Built;
use crate::variant::input::{Input, Reading};
use crate::variant::keys::KeyCache;
use crate::variant::source::{Live, Objects};

/// Makes `bytes` those of a value.
///
/// # Errors
/// Why the value cannot be written, with the path to the place; `bytes` may be any then.
pub fn encode_to(bytes: &mut PackedByteArray, value: &Variant, loss: Loss) -> Result<()> {
    with_memory(|memory| {
        let mut downgrade = Downgrade::new(Buffer::new(memory), loss);
        Live::new(value, Objects::AsIds, loss == Loss::Refused).pour(&mut downgrade)?;
        engine::set_bytes(bytes, downgrade.output().written())
    })
}

/// The value that the bytes hold, and where it ends. `keys` may be kept from value to value.
///
/// # Errors
/// What is wrong with the bytes, with its offset.
pub fn decode(
    bytes: &[u8],
    strictness: Strictness,
    limits: &Limits,
    loss: Loss,
    keys: &mut KeyCache,
) -> Result<(Built, usize)> {
    // The engine can copy nothing from bytes in a format that it does not read.
    let nothing = Input::Owned(PackedByteArray::new());
    let mut builder = VariantBuilder::new(Reading { input: &nothing, strictness, limits, keys });
    let end = Decoder::of_godot3(bytes, strictness, limits, loss).pour_only(&mut builder)?;
    Ok((builder.finish(), end))
}

/// Between which formats a file is converted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From Godot 3's to Godot 4's.
    From3,
    /// From Godot 4's to Godot 3's.
    To3,
}

/// What a conversion of a file came to.
pub struct Conversion {
    /// How many records there were.
    pub records: usize,
    /// How many bytes the old file has.
    pub bytes_read: usize,
    /// How many bytes the new file has.
    pub bytes_written: usize,
    /// What was replaced.
    pub changes: Vec<Change>,
}

/// Why a file was not converted. The file to be made is as it was.
pub enum NotConverted {
    /// One of the files.
    File(FileError),
    /// Some of the records.
    Records(Failed),
}

impl From<FileError> for NotConverted {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

/// Converts all values of a file, each behind its length.
///
/// # Errors
/// Why there is no new file.
pub fn convert_file(
    from: &GString,
    to: &GString,
    direction: Direction,
    loss: Loss,
) -> std::result::Result<Conversion, NotConverted> {
    let target = Target::of(to)?;
    let limits = Limits::for_save_files();
    let source = Target::of(from).ok();
    let bytes = files::read_records(from, source.as_ref().map(|source| (source, source.turn())), &limits)?;
    let bytes = engine::bytes(&bytes);
    let (found, broken) = frames::records(bytes, &limits);
    let changes = Mutex::new(Vec::new());
    let framed = records::frame_each(found.len(), true, Reasons::All, |index, part| {
        let record = found[index].clone();
        let start = record.start;
        let created = match direction {
            Direction::From3 => upgrade(&bytes[record], &limits, loss, part),
            Direction::To3 => downgrade(&bytes[record], &limits, loss, part),
        };
        // What only the writer refuses knows no place in the bytes but that of its record.
        let created = created.map_err(|error| error.at(0).shifted(start))?;
        if !created.is_empty() {
            let mut changes = lock(&changes);
            created.into_iter().for_each(|change| add_change(&mut changes, change));
        }
        Ok(())
    });
    let (parts, mut failed) =
        framed.map_or_else(|failed| (Vec::new(), failed), |parts| (parts, Failed::default()));
    if let Some(error) = broken {
        failed.add(found.len(), error);
    }
    if !failed.indexes.is_empty() {
        return Err(NotConverted::Records(failed));
    }
    files::replace(&target, target.turn(), &parts)?;
    Ok(Conversion {
        records: found.len(),
        bytes_read: bytes.len(),
        bytes_written: parts.iter().map(Vec::len).sum(),
        changes: changes.into_inner().unwrap_or_else(PoisonError::into_inner),
    })
}

/// Appends a value of Godot 3 in Godot 4's format, behind its length.
fn upgrade(bytes: &[u8], limits: &Limits, loss: Loss, part: &mut Vec<u8>) -> Result<Vec<Change>> {
    with_memory(|memory| {
        let options = EncodeOptions { precision: PRECISION, strict_text: true };
        let mut encoder = Encoder::new(Buffer::new(memory), options);
        let mut decoder = Decoder::of_godot3(bytes, Strictness::Strict, limits, loss);
        decoder.pour_only(&mut encoder)?;
        frames::try_append(part, encoder.output().written())?;
        Ok(decoder.into_changes())
    })
}

/// Appends a value of Godot 4 in Godot 3's format, behind its length.
fn downgrade(bytes: &[u8], limits: &Limits, loss: Loss, part: &mut Vec<u8>) -> Result<Vec<Change>> {
    with_memory(|memory| {
        let mut downgrade = Downgrade::new(Buffer::new(memory), loss);
        // With objects, so that the error is about what Godot 3 cannot make of them.
        let limits = Limits { allow_objects: true, ..limits.clone() };
        Decoder::new(bytes, Strictness::Strict, &limits).pour_only(&mut downgrade)?;
        frames::try_append(part, downgrade.output().written())?;
        Ok(downgrade.into_changes())
    })
}
