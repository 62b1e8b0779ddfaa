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

/// Nothing besides what the standard library copies.
pub fn copy_access(_from: &File, _to: &File) -> io::Result<bool> {
    Ok(true)
}

/// Unknown: the system does not tell who has locked a file.
pub fn holder(_place: &Path) -> Option<String> {
    None
}
