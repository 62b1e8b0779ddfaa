//! Godot 3's format: live Variants to its bytes and back, and files of them from one format to the other.

use std::sync::{Mutex, PoisonError};

use godot::builtin::{GString, PackedByteArray, Variant};
use godot::meta::ToGodot;
use godot::obj::Gd;
use godot::prelude::VarDictionary;
use variant_codec::godot3::{Change, Downgrade, Loss, add_change};
use variant_codec::stream::{Buffer, Decoder, Encoder, Source as _};
use variant_codec::{EncodeOptions, Limits, Result, Strictness, frames};

use crate::batch::{self, Failed, Reasons};
use crate::builder::{Built, VariantBuilder};
use crate::codec::{self, Input};
use crate::engine::{self, PRECISION};
use crate::files::{self, FileError, Target};
use crate::keys::Keys;
use crate::pool::lock;
use crate::result_class::FastVariantResult;
use crate::source::{Live, Objects};

/// Makes `bytes` those of a value.
///
/// # Errors
/// Why the value cannot be written, with the path to the place; `bytes` may be any then.
pub fn encode_to(bytes: &mut PackedByteArray, value: &Variant, lossy: bool) -> Result<()> {
    codec::with_memory(|memory| {
        let mut downgrade = Downgrade::new(Buffer::new(memory), Loss::accepted_if(lossy));
        Live::new(value, Objects::AsIds, !lossy).pour(&mut downgrade)?;
        engine::set_bytes(bytes, downgrade.output().written())
    })
}

/// The value that the bytes hold, and where it ends. `keys` may be kept from value to value.
///
/// # Errors
/// What is wrong with the bytes, with its offset.
pub fn decode(
    bytes: &[u8],
    manner: Strictness,
    limits: &Limits,
    lossy: bool,
    keys: &mut Keys,
) -> Result<(Built, usize)> {
    // The engine can copy nothing from bytes in a format that it does not read.
    let nothing = Input::Owned(PackedByteArray::new());
    let mut builder = VariantBuilder::new(manner, limits, keys, &nothing);
    let end = Decoder::of_godot3(bytes, manner, limits, Loss::accepted_if(lossy)).pour_only(&mut builder)?;
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

/// Converts a file of values, each behind its length: all of them, or the file to be made is as it was.
pub fn convert_file(
    from: &GString,
    to: &GString,
    direction: Direction,
    lossy: bool,
) -> Gd<FastVariantResult> {
    convert(from, to, direction, lossy).unwrap_or_else(|error| FastVariantResult::of_file(&error))
}

fn convert(
    from: &GString,
    to: &GString,
    direction: Direction,
    lossy: bool,
) -> std::result::Result<Gd<FastVariantResult>, FileError> {
    let target = Target::of(to)?;
    let limits = Limits::for_save_files();
    let source = Target::of(from).ok();
    let bytes = files::read_records(from, source.as_ref().map(|source| (source, source.turn())), &limits)?;
    let bytes = engine::bytes(&bytes);
    let (records, broken) = frames::records(bytes, &limits);
    let changes = Mutex::new(Vec::new());
    let framed = batch::frame_each(records.len(), true, Reasons::All, |index, part| {
        let record = records[index].clone();
        let start = record.start;
        let made = match direction {
            Direction::From3 => upgrade(&bytes[record], &limits, lossy, part),
            Direction::To3 => downgrade(&bytes[record], &limits, lossy, part),
        };
        // What only the writer refuses knows no place in the bytes but that of its record.
        let made = made.map_err(|error| error.at(0).shifted(start))?;
        if !made.is_empty() {
            let mut changes = lock(&changes);
            made.into_iter().for_each(|change| add_change(&mut changes, change));
        }
        Ok(())
    });
    let (parts, mut failed) =
        framed.map_or_else(|failed| (Vec::new(), failed), |parts| (parts, Failed::default()));
    if let Some(error) = broken {
        failed.add(records.len(), error);
    }
    if !failed.indexes.is_empty() {
        return Ok(FastVariantResult::batch(Variant::nil(), &failed));
    }
    files::replace(&target, target.turn(), &parts)?;
    let mut changed = VarDictionary::new();
    for Change { from, to, count } in changes.into_inner().unwrap_or_else(PoisonError::into_inner) {
        changed.set(&GString::from(&format!("{from} to {to}")), count as i64);
    }
    let mut report = VarDictionary::new();
    report.set("records", records.len() as i64);
    report.set("bytes_read", bytes.len() as i64);
    report.set("bytes_written", parts.iter().map(Vec::len).sum::<usize>() as i64);
    report.set("changes", &changed);
    Ok(FastVariantResult::decoded(report.to_variant(), 0, bytes.len()))
}

/// Appends a value of Godot 3 in Godot 4's format, behind its length.
fn upgrade(bytes: &[u8], limits: &Limits, lossy: bool, part: &mut Vec<u8>) -> Result<Vec<Change>> {
    codec::with_memory(|memory| {
        let options = EncodeOptions { precision: PRECISION, strict_text: true };
        let mut encoder = Encoder::new(Buffer::new(memory), options);
        let mut decoder = Decoder::of_godot3(bytes, Strictness::Strict, limits, Loss::accepted_if(lossy));
        decoder.pour_only(&mut encoder)?;
        frames::try_append(part, encoder.output().written())?;
        Ok(decoder.into_changes())
    })
}

/// Appends a value of Godot 4 in Godot 3's format, behind its length.
fn downgrade(bytes: &[u8], limits: &Limits, lossy: bool, part: &mut Vec<u8>) -> Result<Vec<Change>> {
    codec::with_memory(|memory| {
        let mut downgrade = Downgrade::new(Buffer::new(memory), Loss::accepted_if(lossy));
        // With objects, so that the error is about what Godot 3 cannot make of them.
        let limits = Limits { allow_objects: true, ..limits.clone() };
        Decoder::new(bytes, Strictness::Strict, &limits).pour_only(&mut downgrade)?;
        frames::try_append(part, downgrade.output().written())?;
        Ok(downgrade.into_changes())
    })
}
