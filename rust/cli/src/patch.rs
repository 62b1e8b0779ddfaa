//! `patch` and `diff --patch`: what makes one file of another.

use std::path::Path;

use variant_codec::{Error, Value, patch};

use crate::convert::values;
use crate::failure::{Failure, Outcome};
use crate::input::{self, Format, Input};
use crate::json::batch;
use crate::output::{self, Output, Target};

/// Writes the patch that makes the new file of the old one. Of files of records, it is one of Arrays of them.
pub fn write(
    old: &Path,
    new: &Path,
    format: &Format,
    to: &Path,
    force: bool,
    out: &mut Output,
) -> Outcome<()> {
    let (old, new) = (Input::open(old, format)?, Input::open(new, format)?);
    if old.has_records != new.has_records {
        return Err(Failure::Data(format!(
            "one of {} and {} is a file of records, and the other one value: `gdvar convert --to` changes that",
            old.name, new.name
        )));
    }
    let name = format!("{} and {}", old.name, new.name);
    let made = patch::diff(&whole(&old)?, &whole(&new)?, &input::limits());
    output::write(Some(to), made.map_err(|error| Failure::data(&name, &error))?, force, out)
}

/// Writes what a patch makes of a file.
pub fn apply(file: &Path, change: &Path, format: &Format, target: &Target, out: &mut Output) -> Outcome<()> {
    let (file, change) = (Input::open(file, format)?, Input::open(change, &Format::default())?);
    let failed = |error: Error| Failure::Data(format!("{} on {}: {error}", change.name, file.name));
    let limits = input::limits();
    let made = patch::apply(&whole(&file)?, &change.raw()?, &limits).map_err(failed)?;
    if !file.has_records {
        return target.write(made, out);
    }
    match Value::decode(&made, &limits).map_err(failed)? {
        Value::Array(records) => target.write(batch(records.iter()).map_err(failed)?, out),
        other => Err(Failure::Data(format!(
            "{}: makes {} of {}, a file of records",
            change.name,
            other.ty(),
            file.name
        ))),
    }
}

/// The value of a file, or an Array of its records.
fn whole(input: &Input) -> Outcome<Vec<u8>> {
    let mut values = values(input)?;
    let value =
        if input.has_records { values.into_iter().collect() } else { values.pop().unwrap_or_default() };
    value.encode().map_err(|error| Failure::data(&input.name, &error))
}
