//! Printed errors: one message per failure.

use godot::global::{Error as Code, godot_error, godot_warn};
use variant_codec::error::quoted;
use variant_codec::{Error, Result};

use crate::files::FileError;
use variant_live::batch::failed::Failed;
use variant_live::objects::lost_objects;

/// The maximum number of failed items of a batch that a message names.
const NAMED: usize = 10;

/// Prints the error of a call of `method`.
pub fn failure(method: &str, error: &Error) {
    godot_error!("{method}: {error}.");
}

/// The engine's error code for a call of `method` with arguments that may be wrong. Prints the error.
pub fn code(method: &str, result: Result<()>) -> Code {
    match result {
        Ok(()) => Code::OK,
        Err(error) => {
            failure(method, &error);
            Code::ERR_INVALID_PARAMETER
        }
    }
}

/// Prints how many elements and keys a call of `method` dropped from typed containers; the engine drops them,
/// too.
pub fn dropped(method: &str, count: usize) {
    let dropped = if count == 1 {
        "1 value dropped from a typed container, whose type it does not match".to_owned()
    } else {
        format!("{count} values dropped from typed containers, whose types they do not match")
    };
    godot_error!("{method}: {dropped}.");
}

/// Prints that a folder that a call of `method` names has no resources.
pub fn empty_folder(method: &str, folder: &str) {
    godot_warn!("{method}: the folder {} does not exist, or has no resources.", quoted(folder));
}

/// Prints which items of a batch failed, if any.
pub fn batch(method: &str, failed: &Failed) {
    if let Some(summary) = summary(failed) {
        godot_error!("{method}: {summary}.");
    }
}

/// Prints why a call of `method` could not read or write a file.
pub fn file(method: &str, error: &FileError) {
    godot_error!("{method}: {error}.");
}

/// Prints a warning for each class whose objects lose their contents in a call of `method`: once per class
/// and run of the game, in debug builds.
#[inline(always)]
pub fn lost_objects(method: &str) {
    if lost_objects::are_noted() {
        print_lost_objects(method);
    }
}

#[cold]
#[inline(never)]
fn print_lost_objects(method: &str) {
    lost_objects::take().iter().for_each(|note| godot_warn!("{method}: {note}."));
}

/// A message with the failed items of a batch and the first error, if any failed.
pub fn summary(failed: &Failed) -> Option<String> {
    let (first, error) = failed.reasons.first()?;
    let named: Vec<String> = failed.indexes.iter().take(NAMED).map(usize::to_string).collect();
    let listed = listed(&named, failed.indexes.len());
    Some(format!("{listed}; item {first}: {error}"))
}

fn listed(named: &[String], count: usize) -> String {
    match named {
        [only] => format!("1 item failed, at index {only}"),
        _ if count > named.len() => format!("{count} items failed, at indexes {}, …", named.join(", ")),
        [others @ .., last] => format!("{count} items failed, at indexes {} and {last}", others.join(", ")),
        [] => format!("{count} items failed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_items_are_listed_as_one_or_as_several() {
        let named: Vec<String> = (1..=NAMED).map(|index| index.to_string()).collect();
        assert_eq!(listed(&named[..1], 1), "1 item failed, at index 1");
        assert_eq!(listed(&named[..2], 2), "2 items failed, at indexes 1 and 2");
        assert_eq!(listed(&named[..3], 3), "3 items failed, at indexes 1, 2 and 3");
        let more = "11 items failed, at indexes 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …";
        assert_eq!(listed(&named, NAMED + 1), more);
    }
}
