//! Stubs for features that this crate uses only on Linux.

use std::fs::File;
use std::io;
use std::path::Path;

/// Returns `None`: only Linux has unnamed files.
pub fn unnamed(_folder: &Path) -> Option<File> {
    None
}

/// Fails: only Linux has unnamed files.
pub fn name(_file: &File, _place: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Does nothing: only the access control lists of Linux are copied.
pub fn copy_access(_from: &File, _to: &File) -> bool {
    true
}

/// Returns `None`: the system does not report who has locked a file.
pub fn holder(_place: &Path) -> Option<String> {
    None
}
