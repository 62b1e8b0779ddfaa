//! Stubs for what only Linux has.

use std::fs::File;
use std::io;
use std::path::Path;

/// No unnamed files.
pub fn unnamed(_folder: &Path) -> Option<File> {
    None
}

/// No unnamed files.
pub fn name(_file: &File, _place: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Unknown: the system does not tell who has locked a file.
pub fn holder(_place: &Path) -> Option<String> {
    None
}
