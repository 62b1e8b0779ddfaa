//! Encodes and decodes Godot 3's format, and converts files between the formats.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use godot::builtin::{GString, PackedByteArray, Variant};
use variant_codec::frames::Foreign;
use variant_codec::godot3::{Change, Downgrade, Loss, add_change};
use variant_codec::stream::{Buffer, Decoder, Encoder, Source as _};
use variant_codec::sync::lock;
use variant_codec::{EncodeOptions, Error, Limits, Result, Strictness, frames, validate};
use variant_engine::{self as engine, PRECISION};

use crate::files::{self, FileError, Target};
use variant_disk::Stamp;
use variant_live::batch::blocks::Opened;
use variant_live::batch::failed::{Failed, Reasons};
use variant_live::batch::records;
use variant_live::decode::built::Built;
use variant_live::decode::decoding::Decoding;
use variant_live::encode::buffer::with_buffer;
use variant_live::encode::walker::{Live, Objects};

/// Encodes a value into `bytes`.
///
/// # Errors
/// Fails if the value cannot be encoded; the error has the path. The contents of `bytes` are then unspecified.
pub fn encode_to(bytes: &mut PackedByteArray, value: &Variant, loss: Loss) -> Result<()> {
    with_buffer(|memory| {
        let mut downgrade = Downgrade::new(Buffer::new(memory), loss);
        Live::new(value, Objects::AsIds { warns: false }, loss == Loss::Refused)
            .write_into(&mut downgrade)?;
        engine::set_bytes(bytes, downgrade.output().written())
    })
}

/// Decodes a value; returns it and the offset of its end.
///
/// # Errors
/// Fails if the bytes are invalid; the error has the offset.
pub fn decode(bytes: &[u8], loss: Loss, decoding: &mut Decoding<'_>) -> Result<(Built, usize)> {
    let mut decoder = Decoder::of_godot3(bytes, decoding.strictness, decoding.limits, loss);
    decoding.build(None, |builder, _| decoder.decode_only(builder))
}

/// The direction of a file conversion.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From Godot 3's format to Godot 4's.
    From3,
    /// From Godot 4's format to Godot 3's.
    To3,
}

/// The report of a file conversion.
pub struct Conversion {
    /// The number of records.
    pub records: usize,
    /// The size of the old file in bytes.
    pub bytes_read: usize,
    /// The size of the new file in bytes.
    pub bytes_written: usize,
    /// The replacements.
    pub changes: Vec<Change>,
}

/// The reason why a file was not converted. The destination is unchanged.
pub enum NotConverted {
    /// A file cannot be read or written.
    File(FileError),
    /// Some records cannot be converted.
    Records(Failed),
}

impl From<FileError> for NotConverted {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

/// Converts all length-prefixed values of a file.
///
/// # Errors
/// Fails if a file cannot be read or written, or a record cannot be converted.
pub fn convert_file(
    from: &GString,
    to: &GString,
    direction: Direction,
    limits: &Limits,
    loss: Loss,
) -> std::result::Result<Conversion, NotConverted> {
    let target = Target::of(to)?;
    let (source, asked) = (Target::of(from).ok(), Instant::now());
    let turn = source.as_ref().map(|source| (source, source.turn()));
    let read = files::read_records(from, turn, limits, asked)?;
    let opened = Opened::of(read.bytes, limits);
    let (bytes, found) = (engine::bytes(opened.bytes.get()), &opened.records);
    let changes = Mutex::new(Vec::new());
    let framed = records::frame_each(found.len(), true, Reasons::All, |index, part, &mut ()| {
        let record = found[index].clone();
        let start = record.start;
        let created = match direction {
            Direction::From3 => upgrade(&bytes[record], limits, loss, part),
            Direction::To3 => downgrade(&bytes[record], limits, loss, part),
        };
        // An encoder's error has no offset, so it gets the offset of its record.
        let created = created.map_err(|error| opened.located(error.at(0).shifted(start)))?;
        if !created.is_empty() {
            let mut changes = lock(&changes);
            created.into_iter().for_each(|change| add_change(&mut changes, change));
        }
        Ok(())
    });
    let (parts, mut failed) =
        framed.map_or_else(|failed| (Vec::new(), failed), |parts| (parts, Failed::default()));
    if let Some(error) = &opened.broken {
        failed.add(found.len(), error.clone());
    }
    if !failed.indexes.is_empty() {
        let format =
            frames::recognise(&bytes[..opened.len], |_| true).ok().and_then(|contents| contents.refusal());
        let expected = (direction == Direction::From3).then_some(Foreign::Godot3);
        return Err(NotConverted::Records(match format.filter(|format| Some(*format) != expected) {
            Some(format) => Failed::one(0, Error::new(format.into()).at(0)),
            None => failed,
        }));
    }
    // Whether the destination is the file that was read, or has the same path as the source.
    let is_in_place = |stamp: &Stamp| source.is_some_and(|source| source.is_at(&target)) || target.is(stamp);
    match read.stamp.filter(is_in_place) {
        Some(stamp) => files::replace_read(&target, target.turn(), &stamp, &parts)?,
        None => files::replace(&target, target.turn(), &parts)?,
    }
    Ok(Conversion {
        records: found.len(),
        bytes_read: opened.len,
        bytes_written: parts.iter().map(Vec::len).sum(),
        changes: changes.into_inner().unwrap_or_else(PoisonError::into_inner),
    })
}

/// Appends a value of Godot 3 in Godot 4's format, length-prefixed.
fn upgrade(bytes: &[u8], limits: &Limits, loss: Loss, part: &mut Vec<u8>) -> Result<Vec<Change>> {
    with_buffer(|memory| {
        let options = EncodeOptions { precision: Some(PRECISION), strict_text: true };
        let mut encoder = Encoder::new(Buffer::new(memory), options);
        let mut decoder = Decoder::of_godot3(bytes, Strictness::Strict, limits, loss);
        decoder.decode_only(&mut encoder)?;
        let written = encoder.output().written();
        // Strict readers refuse a Dictionary that repeats a key.
        validate(written, limits)?;
        frames::try_append(part, written)?;
        Ok(decoder.into_changes())
    })
}

/// Appends a value of Godot 4 in Godot 3's format, length-prefixed.
fn downgrade(bytes: &[u8], limits: &Limits, loss: Loss, part: &mut Vec<u8>) -> Result<Vec<Change>> {
    with_buffer(|memory| {
        let mut downgrade = Downgrade::new(Buffer::new(memory), loss);
        // Objects are read, so that the error says why Godot 3 cannot create them.
        let limits = Limits { allow_objects: true, ..limits.clone() };
        Decoder::new(bytes, Strictness::Strict, &limits).decode_only(&mut downgrade)?;
        validate(bytes, &limits)?;
        frames::try_append(part, downgrade.output().written())?;
        Ok(downgrade.into_changes())
    })
}
