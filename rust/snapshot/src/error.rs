//! Errors.

use std::borrow::Cow;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why something cannot be written or read. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A field that cannot be added to a schema.
    #[error("field {0:?}: {1}")]
    Field(String, Cow<'static, str>),
    /// A value that does not fit its field.
    #[error("field {0:?}: {1}")]
    Value(String, Cow<'static, str>),
    /// A value of this entity that does not fit its field.
    #[error("entity {0}, field {1:?}: {2}")]
    EntityValue(u32, String, Cow<'static, str>),
    /// An argument of a call.
    #[error("{0}")]
    Argument(Cow<'static, str>),
    /// The data ends too early.
    #[error("the data is cut off")]
    CutOff,
    /// The data is not what a writer has written.
    #[error("invalid data: {0}")]
    Invalid(Cow<'static, str>),
    /// The data has another version of the format.
    #[error("version {0} of the format, expected version {expected}", expected = crate::VERSION)]
    Version(u32),
    /// The writer has another schema.
    #[error("the writer has another schema: its hash is {found:#010x}, expected {expected:#010x}")]
    Schema {
        /// The hash in the data.
        found: u32,
        /// The hash of the reader's schema.
        expected: u32,
    },
    /// A snapshot that is not newer than the last one.
    #[error("snapshot {found} is not newer than snapshot {newest}, so it was ignored")]
    Old {
        /// The tick in the data.
        found: u32,
        /// The newest tick.
        newest: u32,
    },
    /// A snapshot that refers to one that the reader does not have.
    #[error(
        "the snapshot refers to snapshot {0}, which this reader does not have; send the writer the acknowledgement"
    )]
    Baseline(u32),
    /// An acknowledgement of a snapshot that was never sent.
    #[error("acknowledgement of snapshot {0}, which was not sent")]
    NotSent(u32),
}

impl Error {
    pub(crate) fn invalid(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Invalid(reason.into())
    }

    pub(crate) fn argument(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Argument(reason.into())
    }

    /// This error, of a value of an entity.
    pub fn of_entity(self, id: u32) -> Self {
        match self {
            Self::Value(field, reason) => Self::EntityValue(id, field, reason),
            other => other,
        }
    }
}
