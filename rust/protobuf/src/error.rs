//! What can be wrong with a schema, a value or a message.

use variant_codec::error::quoted;

use crate::wire::MAX_NESTING;

/// The result of what needs a schema only.
///
/// ```
/// use variant_protobuf::{Result, Schema};
///
/// fn compiled(file: &str) -> Result<Schema> {
///     Schema::compile("game.proto", |name| (name == "game.proto").then(|| file.to_owned()))
/// }
///
/// assert!(compiled("syntax = \"proto3\"; message Player {}").is_ok());
/// assert!(compiled("no schema").is_err());
/// ```
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong.
///
/// While a value is walked or a message is read, it comes inside of a [`variant_codec::Error`], which knows the place: as
/// [`ErrorKind::Other`](variant_codec::ErrorKind::Other), beside the kinds that it shares with the codec.
///
/// ```
/// use variant_codec::Value;
/// use variant_protobuf::{EncodeOptions, Error, Schema};
///
/// let file = "syntax = \"proto3\"; message Player { string name = 1; int32 hp = 2; }";
/// let schema = Schema::compile("game.proto", |name| (name == "game.proto").then(|| file.to_owned()))?;
/// let player = schema.message("Player")?;
/// let error = player.encode(&Value::from_iter([("mana", 7)]), &EncodeOptions::default()).unwrap_err();
/// let variant_codec::ErrorKind::Other(other) = error.kind() else { unreachable!() };
/// assert!(matches!(other.downcast_ref(), Some(Error::NoField { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The schema cannot be compiled.
    #[error("{}{reason}", place(.file, *.line, *.column))]
    Schema {
        /// The file, as it is imported; empty if none is to blame.
        file: String,
        /// The line, from 1 on; 0 if it is not known.
        line: usize,
        /// The column, from 1 on; 0 if it is not known.
        column: usize,
        /// What is wrong.
        reason: String,
    },
    /// The schema has no such message.
    #[error("the schema has no message {}", quoted(.0))]
    NoMessage(String),
    /// Several messages have this short name.
    #[error("{} may mean {}", quoted(.name), .full_names.join(" or "))]
    Ambiguous {
        /// The short name.
        name: String,
        /// The names with their packages.
        full_names: Vec<String>,
    },

    /// A key that is no field of the message.
    #[error("{message} has no field {name}")]
    NoField {
        /// The message.
        message: String,
        /// The key, in quotes if it is a text.
        name: String,
    },
    /// A value of the wrong type.
    #[error("expected {expected}, found {found}")]
    WrongType {
        /// What the field takes.
        expected: String,
        /// What came.
        found: String,
    },
    /// A number that the field cannot hold.
    #[error("{value} does not fit: expected {expected}")]
    OutOfRange {
        /// The number.
        value: i64,
        /// What the field takes.
        expected: String,
    },
    /// A name that the enum does not have.
    #[error("the enum {name} has no value {value}")]
    NoEnumValue {
        /// The enum.
        name: String,
        /// The value, in quotes if it is a text.
        value: String,
    },
    /// The same field or the same key of a map twice.
    #[error("{0} is there twice")]
    Twice(String),
    /// Two members of one oneof.
    #[error("{first} and {second} exclude each other: both belong to the oneof {oneof}")]
    Oneof {
        /// The oneof.
        oneof: String,
        /// One member.
        first: String,
        /// The other one.
        second: String,
    },
    /// A required field is missing.
    #[error("{message} lacks the required field {field}")]
    Missing {
        /// The message.
        message: String,
        /// The field.
        field: String,
    },
    /// Messages nested too deeply.
    #[error("messages nested deeper than {} levels, the limit of protobuf implementations", MAX_NESTING)]
    TooDeep,

    /// A varint that does not end.
    #[error("a varint of more than {0} bytes")]
    LongVarint(usize),
    /// A number or a length that is out of the format's range.
    #[error("a {what} of {value} cannot be right")]
    BadNumber {
        /// What it should be.
        what: &'static str,
        /// What it is.
        value: u64,
    },
    /// A wire type that does not exist.
    #[error("the field number {number} has the wire type {wire_type}, which does not exist")]
    BadWireType {
        /// The field number.
        number: u32,
        /// The wire type.
        wire_type: u8,
    },
    /// The end of a group that has not started.
    #[error("the end of the group {0}, which has not started")]
    StrayEndGroup(u32),
    /// Strict reading: not what an encoder writes.
    #[error("not written by an encoder: {0}")]
    NotCanonical(Oddity),
}

/// What lenient reading takes, and no encoder writes.
///
/// ```
/// use variant_protobuf::{DecodeOptions, Error, Oddity, Schema, Strictness};
///
/// let file = "syntax = \"proto3\"; message Player { string name = 1; int32 hp = 2; }";
/// let schema = Schema::compile("game.proto", |name| (name == "game.proto").then(|| file.to_owned()))?;
/// let player = schema.message("Player")?;
/// let strict = DecodeOptions { strictness: Strictness::Strict, ..DecodeOptions::default() };
/// let error = player.decode(b"\x10\x00", &strict).unwrap_err();
/// let variant_codec::ErrorKind::Other(other) = error.kind() else { unreachable!() };
/// assert_eq!(other.downcast_ref(), Some(&Error::NotCanonical(Oddity::Default)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Oddity {
    /// A tag, length or number in more bytes than it needs.
    #[error("a varint longer than necessary")]
    LongVarint,
    /// Fields that are not sorted by number.
    #[error("fields out of order")]
    Order,
    /// A singular field twice, or a packed one in pieces.
    #[error("a field that comes again")]
    Repeated,
    /// A field that the schema does not know.
    #[error("an unknown field")]
    UnknownField,
    /// A known field with another wire type.
    #[error("a field with the wire type of another one")]
    WireType,
    /// A number outside of its field's range, or an enum's number that is not listed.
    #[error("a number outside of its type")]
    Range,
    /// A field without presence that holds its default.
    #[error("a default that is written")]
    Default,
    /// A list that is packed and should not be, or the reverse; a packed one without elements.
    #[error("a list that is packed as it should not be")]
    Packing,
    /// A map's entry that is not a key followed by its value, or entries that are not sorted by key.
    #[error("a map whose entries are not sorted, or not complete")]
    Map,
    /// A sign or truth value in another form.
    #[error("a number in another form")]
    Form,
}

/// Where in a file: nothing if there is none.
fn place(file: &str, line: usize, column: usize) -> String {
    match (file, line) {
        ("", _) => String::new(),
        (_, 0) => format!("{file}: "),
        _ => format!("{file}:{line}:{column}: "),
    }
}

impl From<Error> for variant_codec::Error {
    #[cold]
    fn from(error: Error) -> Self {
        Self::other(error)
    }
}
