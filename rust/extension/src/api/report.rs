//! Printed errors: one message per failure.

use godot::global::godot_error;
use variant_codec::Error;

use crate::batch::failed::Failed;
use crate::files::FileError;

/// The number of failed items of a batch that a message names.
const NAMED: usize = 10;

/// Prints the error of a call of `method`.
pub fn failure(method: &str, error: &Error) {
    godot_error!("{method}: {error}.");
}

/// Prints how many elements and keys a call of `method` dropped, as the engine does.
pub fn dropped(method: &str, count: usize) {
    godot_error!("{method}: {count} value(s) dropped from typed containers, whose types they do not match.");
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

/// A message with the failed items of a batch and the first error, if any failed.
pub fn summary(failed: &Failed) -> Option<String> {
    let (first, error) = failed.reasons.first()?;
    let named: Vec<String> = failed.indexes.iter().take(NAMED).map(usize::to_string).collect();
    let more = if failed.indexes.len() > NAMED { ", …" } else { "" };
    Some(format!(
        "{} item(s) failed, at index {}{more}; item {first}: {error}",
        failed.indexes.len(),
        named.join(", ")
    ))
}
