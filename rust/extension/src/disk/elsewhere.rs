//! What only Linux has, elsewhere.

use std::fs::File;
use std::io;
use std::path::Path;

/// There are no files without a name.
pub fn unnamed(_folder: &Path) -> Option<File> {
    None
}

/// There are no files without a name.
pub fn name(_file: &File, _place: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The system does not tell who has locked a file.
pub fn holder(_place: &Path) -> Option<String> {
    None
}
