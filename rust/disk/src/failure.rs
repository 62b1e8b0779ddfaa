//! [`Failure`]: the reasons why a file is not read or written.

use std::io;

use variant_codec::frames::Foreign;

/// The reason why a file is not read or written.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The path leads to a folder.
    #[error("is a folder, not a file")]
    IsFolder,
    /// The path leads to neither a file nor a folder.
    #[error("not a regular file")]
    NotRegular,
    /// The folder of the file does not exist.
    #[error("folder does not exist")]
    NoFolder,
    /// The name is reserved for temporary files.
    #[error("name is reserved for temporary files, which are deleted automatically")]
    ReservedName,
    /// On Windows, the name is reserved for a device, as `nul` and `nul.txt` are.
    #[error("name is reserved for a device on Windows")]
    DeviceName,
    /// On Windows, the name means another file: a stream, a file on another drive, or a file without the
    /// trailing dots and spaces.
    #[error("name has a colon, or ends in a dot or space; on Windows, such a name means another file")]
    AmbiguousName,
    /// The record that starts at this byte is truncated or empty.
    #[error(
        "truncated or empty record at byte {0}; load_batch returns the records before it, and `gdvar repair` finds those after it"
    )]
    Truncated(u64),
    /// The file is in another format than records.
    #[error("{0}")]
    Foreign(Foreign),
    /// The file is a save of one value.
    #[error("a save of one value, with a sum; replace it with `save`")]
    Save,
    /// Another writer keeps the file locked.
    #[error("file locked by {0}")]
    Locked(String),
    /// The file has changed since it was read.
    #[error("file has changed meanwhile; read it again")]
    Changed,
    /// The temporary file of a save cannot be created.
    #[error("cannot create a temporary file in the same folder: {0}")]
    NoTemporaryFile(io::Error),
    /// The new file of a save cannot take the name of the old one.
    #[error("cannot replace the file by a new one: {0}")]
    NotReplaced(io::Error),
    /// An error of the system.
    #[error("{0}")]
    System(#[from] io::Error),
}
