//! Files as a whole, and their names in messages.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use crate::failure::{Failure, Outcome};
use crate::terminal::printable;

/// The name of a file in messages.
pub fn name_of(path: &Path) -> String {
    if path == Path::new("-") {
        return "standard input".to_owned();
    }
    // A file name must not send control characters to the terminal.
    printable(&path.display().to_string())
}

/// Reads a whole file, or standard input for `-`.
pub fn read(path: &Path) -> Outcome<(String, Vec<u8>)> {
    let name = name_of(path);
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::file("standard input", &error))?;
        return Ok((name, bytes));
    }
    regular(path)?;
    let bytes = fs::read(path).map_err(|error| Failure::file(&name, &error))?;
    Ok((name, bytes))
}

/// Fails if two of the files are standard input, which can be read only once.
pub fn refuse_stdin_twice<'p>(files: impl IntoIterator<Item = &'p Path>) -> Outcome<()> {
    if files.into_iter().filter(|file| *file == Path::new("-")).count() > 1 {
        return Err(Failure::Arguments(
            "standard input (-) given twice; name a file for one of them".to_owned(),
        ));
    }
    Ok(())
}

/// Fails for folders, pipes and devices, because some devices never end.
pub(super) fn regular(path: &Path) -> Outcome<()> {
    let name = name_of(path);
    let kind = fs::metadata(path).map_err(|error| Failure::file(&name, &error))?.file_type();
    match kind {
        kind if kind.is_file() => Ok(()),
        kind if kind.is_dir() => Err(Failure::File(format!("{name}: a folder, not a file"))),
        _ => Err(Failure::File(format!("{name}: not a file; to read a pipe, use - and redirect it"))),
    }
}
