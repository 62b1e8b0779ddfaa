//! Writing and reading files of records, for the classes that do so.

use std::time::Instant;

use godot::builtin::{GString, PackedByteArray};
use godot::obj::Gd;
use variant_codec::Limits;
use variant_engine as engine;
use variant_live::batch::failed::Failed;
use variant_live::batch::records::Unpacked;

use super::job_class::{self, FastVariantJob};
use super::report;
use super::result_class::FastVariantResult;
use crate::file_queue::Turn;
use crate::files::{self, FileError, Target};
use crate::jobs::{Job, Outcome};

/// Where and what to write.
type Prepared = (Target, Vec<Vec<u8>>);

/// Resolves a path and encodes records. Prints a failure as one of `method`.
fn prepared(
    method: &str,
    path: &GString,
    frame: impl FnOnce() -> Result<Vec<Vec<u8>>, Failed>,
) -> Result<Prepared, Outcome> {
    let target = Target::of(path).map_err(|error| {
        report::file(method, &error);
        Outcome::File(error)
    })?;
    let parts = frame().map_err(|failed| {
        report::batch(method, &failed);
        Outcome::NotSaved(failed)
    })?;
    Ok((target, parts))
}

/// Writes `count` records to a file. A failure is printed, too, so that a save that nobody checks does not fail in
/// silence.
pub fn write(
    method: &str,
    path: &GString,
    count: usize,
    frame: impl FnOnce() -> Result<Vec<Vec<u8>>, Failed>,
    write: impl FnOnce(&Target, Turn, &[Vec<u8>]) -> Result<(), FileError>,
) -> Gd<FastVariantResult> {
    let outcome = prepared(method, path, frame).map_or_else(
        |not_written| not_written,
        |(target, parts)| match write(&target, target.turn(), &parts) {
            Ok(()) => Outcome::Saved(target.saved(count, parts.iter().map(Vec::len).sum())),
            Err(error) => {
                report::file(method, &error);
                Outcome::File(error)
            }
        },
    );
    FastVariantResult::of_job(outcome).0
}

/// Encodes `count` records, and replaces a file with them in the background. A failure is printed, too.
pub fn write_later(
    method: &'static str,
    path: &GString,
    count: usize,
    frame: impl FnOnce() -> Result<Vec<Vec<u8>>, Failed>,
) -> Gd<FastVariantJob> {
    job_class::start(match prepared(method, path, frame) {
        Ok((target, parts)) => Job::save(target, count, parts, move |error| report::file(method, error)),
        Err(not_written) => Job::done(not_written),
    })
}

/// Reads records from a file.
pub fn load(
    path: &GString,
    limits: &Limits,
    unpack: impl FnOnce(PackedByteArray) -> Unpacked,
) -> Gd<FastVariantResult> {
    let (target, asked) = (Target::of(path).ok(), Instant::now());
    match files::read_records(path, target.as_ref().map(|target| (target, target.turn())), limits, asked) {
        Ok(file) => FastVariantResult::unpacked(unpack(file.bytes), Some(&engine::text_of(path))),
        Err(error) => FastVariantResult::of_file(&error),
    }
}
