//! [`Stamp`]: recognises whether a file has changed since it was read.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use crate::access;

/// The identity, length and modification time of a file before it is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Stamp {
    pub(crate) id: Id,
    pub(crate) length: u64,
    pub(crate) modified: SystemTime,
}

impl Stamp {
    /// The stamp of the file as it is now.
    ///
    /// # Errors
    /// Fails if the system cannot read the metadata.
    pub fn at(place: &Path) -> io::Result<Self> {
        Self::of(&place.metadata()?)
    }

    pub(crate) fn of(metadata: &Metadata) -> io::Result<Self> {
        Ok(Self { id: id(metadata), length: metadata.len(), modified: metadata.modified()? })
    }

    /// The stamp of an open file.
    ///
    /// # Errors
    /// Fails if the system cannot read the metadata.
    pub fn of_file(file: &File) -> io::Result<Self> {
        Self::of(&file.metadata()?)
    }

    /// The length of the file in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Compares everything except the creation time: Linux copies a file in the lower layer of an overlay
    /// when it is opened for writing, which changes this time.
    pub(crate) fn is_unchanged_since(&self, other: &Self) -> bool {
        self.id.0 == other.id.0 && (self.length, self.modified) == (other.length, other.modified)
    }

    /// Whether the path still leads to the file, changed or not.
    pub fn is_of(&self, place: &Path) -> bool {
        place.metadata().is_ok_and(|found| id(&found) == self.id)
    }
}

/// The identity of a file. The creation time, if known, distinguishes the file from a later one with the same
/// inode number.
pub(crate) type Id = (access::Id, Option<SystemTime>);

pub(crate) fn id(metadata: &Metadata) -> Id {
    (access::id(metadata), metadata.created().ok())
}
