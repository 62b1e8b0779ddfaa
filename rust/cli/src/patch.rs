//! `patch` and `diff --patch`: what makes one file of another.

use std::path::Path;

use variant_codec::{Error, View, frames, patch};

use crate::convert::{elements, is_untyped_array, whole};
use crate::failure::{Failure, Outcome};
use crate::input::{self, Format, Holds, Input};
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
    input::refuse_stdin_twice([old, new])?;
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
    input::refuse_stdin_twice([file, change])?;
    // The pass may be that of both files.
    let for_change = Format {
        holds: Some(Holds::Value),
        pass: format.pass.clone(),
        key: format.key.clone(),
        ..Format::default()
    };
    let (file, change) = (Input::open(file, format)?, Input::open(change, &for_change)?);
    let failed = |error: Error| Failure::Data(format!("{} on {}: {error}", change.name, file.name));
    let limits = input::limits();
    let made = patch::apply(&whole(&file)?, &change.raw()?, &limits).map_err(failed)?;
    if !file.has_records {
        return target.write(made, out);
    }
    if !is_untyped_array(&made) {
        let found = View::within(&made, &limits).map_err(failed)?.ty();
        return Err(Failure::Data(format!(
            "{}: makes {found} of {}, a file of records",
            change.name, file.name
        )));
    }
    let mut batch = Vec::new();
    elements(&made, &limits, |record| frames::try_append(&mut batch, record)).map_err(failed)?;
    target.write(batch, out)
}
