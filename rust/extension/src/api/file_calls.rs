//! Writing and reading files of records, for the classes that do so.

use std::ops::Range;
use std::time::Instant;

use godot::builtin::{GString, PackedByteArray, Variant};
use godot::obj::Gd;
use variant_codec::error::SaveDamage;
use variant_codec::{Error, ErrorKind, Limits, VariantType};
use variant_engine::{self as engine, Reader};
use variant_live::batch::failed::Failed;
use variant_live::batch::records::Unpacked;
use variant_live::decode::built::Built;
use variant_live::decode::decoding::Decoding;
use variant_live::decode::input::Input;

use super::job_class::{self, FastVariantJob};
use super::report;
use super::result_class::FastVariantResult;
use crate::file_queue::Turn;
use crate::files::{self, FileError, Holds, Target};
use crate::jobs::{Job, Outcome};
use crate::saves::{self, NoSummary};

/// The reason why there is nothing to write.
pub enum NotEncoded {
    Items(Failed),
    Value(Error),
}

impl From<Failed> for NotEncoded {
    fn from(failed: Failed) -> Self {
        Self::Items(failed)
    }
}

impl From<Error> for NotEncoded {
    fn from(error: Error) -> Self {
        Self::Value(error)
    }
}

/// Resolves a path, and makes the parts of the file. Prints a failure as one of `method`.
fn prepared<C, E: Into<NotEncoded>>(
    method: &str,
    path: &GString,
    encode: impl FnOnce() -> Result<Vec<C>, E>,
) -> Result<(Target, Vec<C>), Outcome> {
    let target = Target::of(path).map_err(|error| {
        report::file(method, &error);
        Outcome::File(error)
    })?;
    let parts = encode();
    report::lost_objects(method);
    let parts = parts.map_err(|error| match error.into() {
        NotEncoded::Items(failed) => {
            report::batch(method, &failed);
            Outcome::NotSaved(failed)
        }
        NotEncoded::Value(error) => {
            report::failure(method, &error);
            Outcome::Failed(error)
        }
    })?;
    Ok((target, parts))
}

/// Writes a file with `holds`. A failure is printed, too, so that a save that nobody checks does not fail in silence.
pub fn write<C: AsRef<[u8]>, E: Into<NotEncoded>>(
    method: &str,
    path: &GString,
    holds: Holds,
    encode: impl FnOnce() -> Result<Vec<C>, E>,
    write: impl FnOnce(&Target, Turn, &[C]) -> Result<(), FileError>,
) -> Gd<FastVariantResult> {
    let outcome = prepared(method, path, encode).map_or_else(
        |not_written| not_written,
        |(target, parts)| match write(&target, target.turn(), &parts) {
            Ok(()) => Outcome::Saved(target.saved(holds, parts.iter().map(|part| part.as_ref().len()).sum())),
            Err(error) => {
                report::file(method, &error);
                Outcome::File(error)
            }
        },
    );
    FastVariantResult::of(outcome)
}

/// Writes a file with `holds` in the background. A failure is printed, too.
pub fn write_later<C: AsRef<[u8]> + Send + 'static, E: Into<NotEncoded>>(
    method: &'static str,
    path: &GString,
    holds: Holds,
    encode: impl FnOnce() -> Result<Vec<C>, E>,
    write: impl FnOnce(&Target, Turn, &[C]) -> Result<(), FileError> + Send + 'static,
) -> Gd<FastVariantJob> {
    job_class::start(match prepared(method, path, encode) {
        Ok((target, parts)) => Job::save(target, holds, parts, write, method),
        Err(not_written) => Job::done(not_written),
    })
}

/// Reads a save, and decodes its value.
pub fn load_value(
    path: &GString,
    limits: &Limits,
    decode: impl FnOnce(&Input<'_>, Range<usize>) -> variant_codec::Result<Built>,
) -> Outcome {
    let (target, asked) = (Target::of(path).ok(), Instant::now());
    let turn = target.as_ref().map(|target| (target, target.turn()));
    match files::read_records(path, turn, &saves::of_file(limits), asked) {
        Ok(file) => Outcome::LoadedValue(saves::load(file.bytes, limits, decode), engine::text_of(path)),
        Err(error) => Outcome::File(error),
    }
}

/// Reads the summary of a save.
pub fn load_summary(path: &GString, limits: &Limits) -> Gd<FastVariantResult> {
    match saves::load_summary(path, limits) {
        Ok(summary) => {
            let bytes = summary.len();
            match summary_of(&summary, limits) {
                Ok(value) => FastVariantResult::decoded(value, 0, bytes),
                Err(error) => FastVariantResult::in_file(&engine::text_of(path), &error),
            }
        }
        Err(NoSummary::File(error)) => FastVariantResult::of_file(&error),
        Err(NoSummary::Save(error)) => FastVariantResult::in_file(&engine::text_of(path), &error),
    }
}

fn summary_of(summary: &[u8], limits: &Limits) -> variant_codec::Result<Variant> {
    let limits = Limits { allow_objects: false, ..limits.clone() };
    let input = Input::Owned(PackedByteArray::from(summary));
    let value = Decoding::strict(&limits).decode_input(&input).map(Built::into_value)?;
    match Reader::new().ty(&value) {
        Some(VariantType::Dictionary) => Ok(value),
        _ => Err(ErrorKind::Save(SaveDamage::Changed).into()),
    }
}

/// Reads records from a file.
pub fn load(path: &GString, limits: &Limits, unpack: impl FnOnce(PackedByteArray) -> Unpacked) -> Outcome {
    let (target, asked) = (Target::of(path).ok(), Instant::now());
    match files::read_records(path, target.as_ref().map(|target| (target, target.turn())), limits, asked) {
        Ok(file) => Outcome::Loaded(unpack(file.bytes), engine::text_of(path)),
        Err(error) => Outcome::File(error),
    }
}
