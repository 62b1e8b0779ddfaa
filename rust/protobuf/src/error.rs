//! Errors of schemas, values and messages.

use variant_codec::VariantType;
use variant_codec::error::quoted;

use crate::wire::MAX_NESTING;

/// The result of calls on schemas.
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

/// An error of a schema, a value or a message.
///
/// Encoding and decoding return this error as [`ErrorKind::Other`](variant_codec::ErrorKind::Other) of a
/// [`variant_codec::Error`], which has the offset or the path. Errors that the codec also defines use the
/// codec's kinds.
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
        /// The file, by its import path; empty if unknown.
        file: String,
        /// The line, starting at 1; 0 if unknown.
        line: usize,
        /// The column, starting at 1; 0 if unknown.
        column: usize,
        /// The reason.
        reason: String,
    },
    /// The schema has no such message.
    #[error("no message {} in the schema", quoted(.0))]
    NoMessage(String),
    /// Several messages have this short name.
    #[error("ambiguous message name {}: {}", quoted(.name), .full_names.join(" or "))]
    Ambiguous {
        /// The short name.
        name: String,
        /// The full names of these messages.
        full_names: Vec<String>,
    },

    /// A message that cannot stand for a type.
    #[error("message {message} cannot be a {ty}: {reason}")]
    Unmappable {
        /// The message.
        message: String,
        /// The type.
        ty: VariantType,
        /// The reason.
        reason: String,
    },

    /// A key that is not a field of the message.
    #[error("{message} has no field {name}")]
    NoField {
        /// The message.
        message: String,
        /// The key, in quotes if it is text.
        name: String,
    },
    /// A value of the wrong type.
    #[error("expected {expected}, found {found}")]
    WrongType {
        /// The values that the field accepts.
        expected: String,
        /// The type found.
        found: String,
    },
    /// A number that the field cannot hold.
    #[error("{value} is out of range: expected {expected}")]
    OutOfRange {
        /// The number.
        value: i64,
        /// The values that the field accepts.
        expected: String,
    },
    /// A name that the enum does not have.
    #[error("enum {name} has no value {value}")]
    NoEnumValue {
        /// The enum.
        name: String,
        /// The value, in quotes if it is text.
        value: String,
    },
    /// A field, or a key of a map, that occurs twice.
    #[error("duplicate {0}")]
    Duplicate(String),
    /// Two members of one oneof.
    #[error("{first} and {second} are both set, but oneof {oneof} allows only one")]
    Oneof {
        /// The oneof.
        oneof: String,
        /// One member.
        first: String,
        /// The other member.
        second: String,
    },
    /// A required field is missing.
    #[error("missing required field {field} of {message}")]
    Missing {
        /// The message.
        message: String,
        /// The field.
        field: String,
    },
    /// Messages nested too deeply.
    #[error("message nesting exceeds {} levels, the limit of protobuf implementations", MAX_NESTING)]
    TooDeep,

    /// A varint that is too long.
    #[error("varint longer than {0} bytes")]
    LongVarint(usize),
    /// A field number, tag or length out of range.
    #[error("invalid {what} {value}")]
    BadNumber {
        /// The kind of number.
        what: &'static str,
        /// Its value.
        value: u64,
    },
    /// A wire type that does not exist.
    #[error("field {number} has invalid wire type {wire_type}")]
    BadWireType {
        /// The field number.
        number: u32,
        /// The wire type.
        wire_type: u8,
    },
    /// An end-group tag without a start-group tag.
    #[error("end-group tag of field {0} without a start-group tag")]
    StrayEndGroup(u32),
    /// Strict decoding: a non-canonical encoding.
    #[error("non-canonical encoding: {0}")]
    NotCanonical(Oddity),
}

/// A non-canonical encoding: lenient decoding accepts it, and no encoder writes it.
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
    /// A tag, length or number in more bytes than necessary.
    #[error("varint longer than necessary")]
    LongVarint,
    /// Fields not sorted by number.
    #[error("fields out of order")]
    Order,
    /// A singular field twice, or a packed list in several records.
    #[error("field occurs more than once")]
    Repeated,
    /// A field that the schema does not know.
    #[error("unknown field")]
    UnknownField,
    /// A known field with an unexpected wire type.
    #[error("known field with an unexpected wire type")]
    WireType,
    /// A number out of range for its field, or one that its enum does not list.
    #[error("number out of range for its type")]
    Range,
    /// A field without presence, written with its default.
    #[error("field written with its default value")]
    Default,
    /// A packed list that the schema declares as unpacked, the reverse, or an empty packed list.
    #[error("list not packed as the schema requires")]
    Packing,
    /// A map entry that is not a key followed by its value, or entries not sorted by key.
    #[error("map entries incomplete or not sorted by key")]
    Map,
    /// A sign or a bool in a form that this crate's wire format does not use.
    #[error("number or bool in an alternative form")]
    Form,
}

/// The prefix of an error message with file, line and column; empty without a file.
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
