//! `check`: reports whether files are valid. [`Checker`]: checks values one after the other.

use std::io::Write as _;
use std::path::PathBuf;

use variant_codec::{Limits, QuickCheck, Result, Value, frames};

use crate::failure::{Failure, Outcome};
use crate::input::{self, Format, Input};
use crate::output::Output;

/// Checks values, and is fastest if they have the same keys.
#[derive(Default)]
pub struct Checker(QuickCheck);

impl Checker {
    /// Checks a value as strictly as [`Value::decode`], usually without decoding.
    ///
    /// # Errors
    /// Fails if [`Value::decode`] fails.
    pub fn check(&mut self, bytes: &[u8], limits: &Limits) -> Result<()> {
        if self.0.check(bytes, limits) != Some(bytes.len()) {
            Value::decode(bytes, limits)?;
        }
        Ok(())
    }
}

/// Checks all files, even if some are damaged.
pub fn check(files: &[PathBuf], format: &Format, out: &mut Output) -> Outcome<()> {
    input::refuse_stdin_twice(files.iter().map(PathBuf::as_path))?;
    let (mut damaged, mut unread) = (false, false);
    for file in files {
        let checked = Input::open(file, format).and_then(|mut input| {
            input.shows_progress = true;
            verdict(&input)
        });
        match checked {
            // Flush before the error of a later file is printed.
            Ok(said) => {
                writeln!(out.text(), "{said}").map_err(Failure::output)?;
                out.bytes().flush().map_err(Failure::output)?;
            }
            Err(failure) => {
                match failure {
                    Failure::File(_) => unread = true,
                    _ => damaged = true,
                }
                failure.report();
            }
        }
    }
    match (unread, damaged) {
        (true, _) => Err(Failure::File(String::new())),
        (false, true) => Err(Failure::Data(String::new())),
        (false, false) => Ok(()),
    }
}

/// The verdict on one file, for its line of output.
///
/// # Errors
/// Fails if a value in the file is invalid.
pub fn verdict(input: &Input) -> Outcome<String> {
    if input.size()? == 0 {
        return Err(Failure::Data(format!(
            "{}: 0 bytes: it has no records; a full disk leaves such files, too",
            input.name
        )));
    }
    let mut count = 0_u64;
    input.each_in_parallel(
        |(found, checker): &mut (u64, Checker), index, offset, bytes| {
            *found += 1;
            let checked = checker.check(bytes, &input.limits);
            checked.map_err(|error| Failure::data_at(&input.name_of(index), error, bytes, offset))
        },
        |(found, _)| {
            count += found;
            Ok(())
        },
    )?;
    if let Some(value) = input.saved_value()? {
        Checker::default()
            .check(&value, &input.limits)
            .map_err(|error| Failure::data(&format!("{}: its value", input.name), &error))?;
        return Ok(format!("{}: a save of {} bytes, good, and its sum is right", input.name, value.len()));
    }
    let lengths = if input.has_records { count * frames::FRAME_BYTES as u64 } else { 0 };
    let size = input.size()?.saturating_sub(lengths);
    let records = match (input.has_records, count) {
        (false, _) => "one value".to_owned(),
        (true, 1) => "1 record".to_owned(),
        (true, count) => format!("{count} records"),
    };
    let format = if input.godot3.is_some() { ", in Godot 3's format" } else { "" };
    Ok(format!("{}: {records} of {size} bytes, good{format}", input.name))
}
