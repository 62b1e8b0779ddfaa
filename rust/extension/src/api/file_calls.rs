//! Writing and reading files of records, for the classes that do so.

use std::time::Instant;

use godot::builtin::{GString, PackedByteArray, Variant};
use godot::global::Error as Code;
use godot::obj::Gd;
use variant_codec::Limits;
use variant_engine as engine;
use variant_live::batch::failed::Failed;
use variant_live::batch::records::Unpacked;

use super::report;
use super::result_class::FastVariantResult;
use crate::file_queue::Turn;
use crate::files::{self, FileError, Target};

/// The reason why records were not written.
pub enum NotWritten {
    Values(Failed),
    File(FileError),
}

/// Writes records to a file. Returns their size in bytes.
pub fn write(
    path: &GString,
    frame: impl FnOnce() -> Result<Vec<Vec<u8>>, Failed>,
    write: impl FnOnce(&Target, Turn, &[Vec<u8>]) -> Result<(), FileError>,
) -> Result<usize, NotWritten> {
    let target = Target::of(path).map_err(NotWritten::File)?;
    let parts = frame().map_err(NotWritten::Values)?;
    write(&target, target.turn(), &parts).map_err(NotWritten::File)?;
    Ok(parts.iter().map(Vec::len).sum())
}

/// The engine's error code for a write by `method`. Prints the error, if any.
pub fn code_of(method: &str, written: Result<usize, NotWritten>) -> Code {
    match written {
        Ok(_) => Code::OK,
        Err(NotWritten::Values(failed)) => {
            report::batch(method, &failed);
            Code::ERR_INVALID_DATA
        }
        Err(NotWritten::File(error)) => {
            report::file(method, &error);
            error.code
        }
    }
}

/// The result of writing records.
pub fn written(written: Result<usize, NotWritten>) -> Gd<FastVariantResult> {
    match written {
        Ok(bytes) => FastVariantResult::encoded(Variant::nil(), bytes),
        Err(NotWritten::Values(failed)) => FastVariantResult::batch(Variant::nil(), failed),
        Err(NotWritten::File(error)) => FastVariantResult::of_file(&error),
    }
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
