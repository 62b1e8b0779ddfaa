//! `patch` and `diff --patch`: applies and writes patches between two files.

use std::path::Path;

use variant_codec::{Error, View, patch};

use crate::convert::{elements, is_untyped_array, whole};
use crate::exact;
use crate::failure::{Failure, Outcome};
use crate::input::{self, Format, Input};
use crate::output::{self, Output, Target};

/// Writes the patch from the old file to the new one. A file of records counts as one Array of the records.
pub fn write(
    old: &Path,
    new: &Path,
    format: &Format,
    to: &Path,
    force: bool,
    out: &mut Output,
) -> Outcome<()> {
    input::refuse_stdin_twice([old, new])?;
    let (old, new) = (Input::open(old, format)?, Input::open(new, format)?);
    if old.has_records != new.has_records {
        return Err(Failure::Data(format!(
            "{} and {} differ in form (records and one value); convert one with `gdvar convert --to`",
            old.name, new.name
        )));
    }
    let name = format!("{} and {}", old.name, new.name);
    let made = patch::diff(&whole(&old)?, &whole(&new)?, &input::limits());
    output::write(Some(to), made.map_err(|error| Failure::data(&name, &error))?, force, out)
}

/// Applies a patch to a file, and writes the result.
pub fn apply(file: &Path, change: &Path, format: &Format, target: &Target, out: &mut Output) -> Outcome<()> {
    input::refuse_stdin_twice([file, change])?;
    let for_change = Format { is_patch: true, ..Format::default() };
    let (file, change) = (Input::open(file, format)?, Input::open(change, &for_change)?);
    let failed = |error: Error| Failure::Data(format!("{} on {}: {error}", change.name, file.name));
    let limits = input::limits();
    let made = patch::apply(&whole(&file)?, &change.raw()?, &limits).map_err(failed)?;
    if !file.has_records {
        return target.write(made, false, out);
    }
    if !is_untyped_array(&made) {
        let found = View::within(&made, &limits).map_err(failed)?.ty();
        return Err(Failure::Data(format!(
            "{}: the result is {found}; expected an Array, because {} has records",
            change.name, file.name
        )));
    }
    let mut batch = Vec::new();
    elements(&made, &limits, |record| exact::append(&mut batch, record)).map_err(failed)?;
    target.write(batch, false, out)
}
