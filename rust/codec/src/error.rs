//! The errors of this crate: a reason and a location.
//!
//! ```
//! use variant_codec::{ErrorKind, Limits, Value};
//!
//! let error = Value::decode(&[2, 0, 0, 0], &Limits::for_network()).unwrap_err();
//! assert_eq!(error.kind(), &ErrorKind::UnexpectedEnd { needed: 4, left: 0 });
//! assert_eq!(error.offset(), Some(4));
//! ```

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::format::{self, VariantType};

/// The result of every fallible call of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason for an error, without its location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The data is in another format.
    #[error(transparent)]
    Foreign(#[from] Foreign),
    /// The data ends inside a value.
    #[error("unexpected end of data: need {}, {left} left", counted(*needed, "byte", "bytes"))]
    UnexpectedEnd {
        /// Bytes that the value needs at this offset.
        needed: usize,
        /// Bytes left in the data.
        left: usize,
    },
    /// A record is empty. No value is that short, but a file may end in zeros after a power failure.
    #[error("record of 0 bytes, as after a power failure: no value is that short")]
    EmptyRecord,
    /// A header names a type that Godot 4 does not have.
    #[error("unknown type id {0}: Godot 4 has the ids 0 to 38")]
    UnknownType(u8),
    /// A header names a type that Godot 3 does not have.
    #[error("unknown type id {0}: Godot 3 has the ids 0 to 26")]
    UnknownGodot3Type(u8),
    /// A text length or element count that is negative or larger than the data.
    #[error("invalid count {count}: only {} left", counted(*left, "byte", "bytes"))]
    BadCount {
        /// The count as a signed number.
        count: i64,
        /// Bytes left in the data.
        left: usize,
    },
    /// A text is not UTF-8.
    #[error("invalid UTF-8")]
    InvalidUtf8,
    /// A NodePath in the form that Godot 2 wrote.
    #[error("NodePath in Godot 2's format, which Godot 4 does not read")]
    OldNodePath,
    /// A container declares an element type that does not exist.
    #[error("unknown element type id {0}: Godot 4 has the ids 0 to 38")]
    UnknownElementType(i32),
    /// An object with class and properties, but objects are not allowed.
    #[error(
        "object with properties, but objects are not allowed; set `allow_objects` only for data you trust"
    )]
    ObjectsNotAllowed,
    /// The value is nested deeper than the format allows.
    #[error("nesting exceeds {} levels, the engine's limit", format::MAX_DEPTH)]
    TooDeep,
    /// A Dictionary key that is nested too deeply for the engine to compare.
    #[error("Dictionary key nested deeper than {limit} levels, which the engine cannot compare")]
    KeyTooDeep {
        /// The deepest level allowed, counted from the key.
        limit: u32,
    },
    /// A typed container holds a value of another type.
    #[error("type mismatch in a typed {container}: expected {expected}, found {found}")]
    WrongElementType {
        /// The holder of the value: `Array`, `Dictionary's keys` or `Dictionary's values`.
        container: &'static str,
        /// The declared type or class.
        expected: String,
        /// The type or class found.
        found: String,
    },
    /// Strict reading: an encoding that no Godot 4 writer produces.
    #[error("non-canonical encoding: {0}{advice}", advice = .0.advice())]
    NotCanonical(Oddity),
    /// A harmless encoding of another writer, in a value that is compared by its bytes.
    #[error(
        "non-canonical encoding: {0}; decode the value and encode it again, because its bytes are compared"
    )]
    NotComparable(Oddity),
    /// Strict reading: bytes after the value.
    #[error("{}; set `allow_trailing_bytes` if this is expected", counted(*.0, "trailing byte", "trailing bytes"))]
    TrailingBytes(usize),
    /// The value exceeds a limit of the caller; the number is the limit's setting.
    #[error("more than {1} {unit}; raise `{name}` if this is expected", unit = .0.unit(), name = .0.name())]
    LimitExceeded(Limit, u64),
    /// The caller's limits do not allow this type.
    #[error("type {0} is not in `allowed_types`; add it if this is expected")]
    TypeNotAllowed(VariantType),
    /// The caller's limits do not allow this class.
    #[error("class {class} is not in `allowed_classes`; add it if this is expected", class = quoted(.0))]
    ClassNotAllowed(String),
    /// The caller's limits do not allow this script.
    #[error("script {path} is not in `allowed_scripts`; add it if this is expected", path = quoted(.0))]
    ScriptNotAllowed(String),
    /// A container as a key, while the caller limits the comparisons of keys.
    #[error(
        "an Array or a Dictionary as a key, which needs a `max_key_comparisons` without limit; lift it only for data that you trust"
    )]
    ContainerKey,
    /// A typed container would convert containers to more than this many characters of text.
    #[error(
        "typed container would convert containers to more than {0} characters of text, where the engine runs out of memory"
    )]
    TextTooLarge(usize),
    /// The encoded value would be 2 GiB or larger.
    #[error("encoded value exceeds 2147483647 bytes")]
    TooLarge,
    /// A text holds a code unit that has no UTF-8 form or does not survive a round trip.
    #[error("text contains U+{0:04X}, which readers reject or drop")]
    InvalidCodeUnit(u32),
    /// An object of Godot 3 with class and properties.
    #[error(
        "Godot 3 object of class {class}, which Godot 4 cannot create; a lossy conversion turns it into a Dictionary",
        class = quoted(.0)
    )]
    Godot3Object(String),
    /// A value that Godot 3 cannot hold, with the reason.
    #[error("{0}")]
    NoCounterpart(Cow<'static, str>),
    /// An object that cannot be written or created, with the reason.
    #[error("{0}")]
    Object(Cow<'static, str>),
    /// An unusable argument, with the reason.
    #[error("{0}")]
    Argument(Cow<'static, str>),
    /// A path leads to a key, index or property that does not exist.
    #[error("{found} has no {key}")]
    NotFound {
        /// The missing item, in words: `key "hp"`, `element 3: it has 2`.
        key: String,
        /// The type of the container that was searched.
        found: VariantType,
    },
    /// A damaged save.
    #[error(transparent)]
    Save(SaveDamage),
    /// An invalid patch, or one that does not fit the value, with the reason.
    #[error("{0}")]
    Patch(Cow<'static, str>),
    /// A value of another type than requested.
    #[error("expected {expected}, found {found}")]
    UnexpectedType {
        /// The requested type.
        expected: &'static str,
        /// The type found.
        found: VariantType,
    },
    /// A number that does not fit into the requested type.
    #[error("{value} does not fit into {expected}")]
    OutOfRange {
        /// The number.
        value: String,
        /// The requested type.
        expected: &'static str,
    },
    /// A message about one of the program's own types: the type rejects a value, or cannot be converted to
    /// one.
    #[error("{0}")]
    Message(Box<str>),
    /// This many bytes cannot be allocated.
    #[error("out of memory: cannot allocate {0} bytes")]
    OutOfMemory(usize),
    /// A bug in the library, not an error in data or arguments.
    #[error("internal error in FastVariantCodec, please report it: {0}")]
    Internal(Box<str>),
    /// An error from a source or sink of another crate.
    #[error("{0}")]
    Other(OtherError),
}

/// The damage of a save.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SaveDamage {
    /// The sum is missing.
    #[error("the save is cut off: its end is missing")]
    CutOff,
    /// The bytes do not have the sum.
    #[error("the save has changed since it was written: its bytes do not match its sum")]
    Changed,
    /// A block of compressed records is damaged.
    #[error(
        "the block of compressed records has changed since it was written: it does not match its sum or its counts"
    )]
    Block,
}

/// A format other than records. The message names the format and says how to read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Foreign {
    /// One encoded value, without a length prefix.
    #[error("one encoded value, not records: read all bytes and use `try_decode`")]
    OneValue,
    /// Records of Godot 3.
    #[error("records of Godot 3: convert them with `FastGodot3Codec.convert_file`")]
    Godot3,
    /// One value of Godot 3, without a length prefix.
    #[error("one value of Godot 3, not records: read all bytes and use `FastGodot3Codec.try_decode`")]
    OneGodot3Value,
    /// A file of `FileAccess.open_encrypted`.
    #[error(
        "encrypted file: open it with `FileAccess.open_encrypted` or `open_encrypted_with_pass`, and use `decode` or `unpack_batch` for the bytes; or decrypt it with `gdvar convert --pass`"
    )]
    Encrypted,
    /// A file of `File.open_encrypted` of Godot 3.
    #[error("file encrypted by Godot 3: decrypt and convert it with `gdvar convert --pass`")]
    EncryptedByGodot3,
    /// A file of `FileAccess.open_compressed`.
    #[error(
        "compressed file: open it with `FileAccess.open_compressed`, and use `decode` or `unpack_batch` for the bytes; or decompress it with `gdvar convert`"
    )]
    Compressed,
    /// A `.res` or `.scn` file.
    #[error("binary resource, not encoded values: use `ResourceLoader.load`")]
    Resource,
    /// A `.tres` or `.tscn` file.
    #[error("text resource, not encoded values: use `ResourceLoader.load`")]
    TextResource,
    /// A PNG image.
    #[error("PNG image, not encoded values: use `Image.load_from_file`")]
    Png,
    /// A ZIP archive.
    #[error("ZIP archive, not encoded values: use `ZIPReader`")]
    Zip,
    /// A patch of `FastVariantPatch.diff`.
    #[error("patch, not encoded values: use `FastVariantPatch.try_apply`, or `gdvar patch`")]
    Patch,
    /// Other text.
    #[error(
        "text, not encoded values: `JSON.parse_string` reads JSON, and `str_to_var` the text of `var_to_str`"
    )]
    Text,
}

/// An error of another crate. Two errors are equal if their messages are equal.
#[derive(Clone, Debug)]
pub struct OtherError(Arc<dyn std::error::Error + Send + Sync>);

impl OtherError {
    /// The error itself, if it has this type.
    pub fn downcast_ref<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }
}

impl PartialEq for OtherError {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_string() == other.0.to_string()
    }
}

impl Eq for OtherError {}

impl fmt::Display for OtherError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An encoding that the engine reads but no encoder writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Oddity {
    /// Header bits that are undefined for the type.
    #[error("undefined header flags are set")]
    HeaderBits,
    /// A bool other than 0 and 1.
    #[error("bool is neither 0 nor 1")]
    Bool,
    /// A small int or an exact float in 8 bytes.
    #[error("8-byte number that fits in 4 bytes")]
    WideNumber,
    /// A NaN in the 32-bit form.
    #[error("4-byte NaN")]
    NarrowNan,
    /// Padding that is not zero.
    #[error("non-zero padding")]
    Padding,
    /// Padding that is missing at the end of the data.
    #[error("missing padding at the end")]
    MissingPadding,
    /// A text that starts with a byte-order mark, which readers drop.
    #[error("text starts with a byte-order mark")]
    ByteOrderMark,
    /// A text with a NUL inside, where readers stop.
    #[error("text contains a NUL")]
    Nul,
    /// A PackedStringArray element without its terminating NUL.
    #[error("PackedStringArray element without a terminating NUL")]
    MissingNul,
    /// A negative count, which the engine reads as zero.
    #[error("negative count")]
    NegativeCount,
    /// A set top bit in an Array's or Dictionary's count.
    #[error("unused top bit of a count is set")]
    SharedBit,
    /// NodePath counters that wrap around, or flags that no encoder sets.
    #[error("NodePath counters or flags that no encoder writes")]
    NodePathCounters,
    /// A null object that should be a Nil.
    #[error("null object not written as Nil")]
    NullObject,
    /// A declared element type of Nil, or a declared class without a name.
    #[error("typed container without an element type")]
    ElementType,
    /// A script path outside the project.
    #[error("script path does not start with res://")]
    ScriptPath,
    /// Two equal keys; the later one wins.
    #[error("duplicate Dictionary key")]
    DuplicateKey,
}

impl Oddity {
    /// Whether the encoding is unambiguous and readers lose nothing. Writers other than an engine produce
    /// such encodings, and [`Limits::allow_non_canonical`](crate::Limits::allow_non_canonical) accepts them.
    pub fn is_harmless(self) -> bool {
        match self {
            Self::Bool
            | Self::WideNumber
            | Self::NarrowNan
            | Self::Padding
            | Self::MissingPadding
            | Self::ByteOrderMark
            | Self::MissingNul
            | Self::SharedBit
            | Self::NullObject
            | Self::ElementType => true,
            // A later engine may define these header bits; the other oddities lose data or make no
            // sense.
            Self::HeaderBits
            | Self::Nul
            | Self::NegativeCount
            | Self::NodePathCounters
            | Self::ScriptPath
            | Self::DuplicateKey => false,
        }
    }

    fn advice(self) -> &'static str {
        if self.is_harmless() { "; set `allow_non_canonical` if another program wrote it" } else { "" }
    }
}

/// A limit in [`Limits`](crate::Limits) that a value has exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// [`Limits::max_bytes`](crate::Limits::max_bytes).
    Bytes,
    /// [`Limits::max_depth`](crate::Limits::max_depth).
    Depth,
    /// [`Limits::max_elements`](crate::Limits::max_elements).
    Elements,
    /// [`Limits::max_memory`](crate::Limits::max_memory).
    Memory,
    /// [`Limits::max_key_comparisons`](crate::Limits::max_key_comparisons).
    KeyComparisons,
}

impl Limit {
    /// The name of the limit's field.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bytes => "max_bytes",
            Self::Depth => "max_depth",
            Self::Elements => "max_elements",
            Self::Memory => "max_memory",
            Self::KeyComparisons => "max_key_comparisons",
        }
    }

    /// The unit that the limit counts.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Bytes => "bytes of input",
            Self::Depth => "levels of nesting",
            Self::Elements => "values",
            Self::Memory => "bytes of memory",
            Self::KeyComparisons => "possible key comparisons (n × n for a Dictionary of n entries)",
        }
    }
}

/// One step of a path, from a container to an item inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The element at this index.
    Index(usize),
    /// The value at this key, as text.
    Key(String),
    /// The key at this position in its Dictionary.
    KeyAt(usize),
    /// The property with this name.
    Property(String),
}

impl Step {
    /// The step to the value at a text key.
    pub fn text_key(key: &str) -> Self {
        Self::Key(quoted(key))
    }

    /// The step to the value at an int key.
    pub fn int_key(key: i64) -> Self {
        Self::Key(key.to_string())
    }

    /// The step to the property with this name.
    pub fn property(name: &str) -> Self {
        Self::Property(quoted(name))
    }
}

/// Maximum number of characters that a message quotes.
pub(crate) const QUOTED: usize = 48;

/// Text from data in a form for messages: quoted, escaped and truncated.
pub fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// The reason for a failure and its location: a byte offset when reading, and the path to the value.
///
/// It is one pointer wide, so that it does not enlarge the [`Result`] of a successful call.
///
/// ```
/// use variant_codec::{Limits, Value};
///
/// let mut bytes = Value::from_iter([("hp", 7)]).encode()?;
/// *bytes.last_mut().unwrap() = 0x80;
/// bytes.truncate(bytes.len() - 2);
/// let error = Value::decode(&bytes, &Limits::for_network()).unwrap_err();
/// assert_eq!((error.offset(), error.path().as_str()), (Some(24), r#"."hp""#));
/// # Ok::<(), variant_codec::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Located>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Located {
    kind: ErrorKind,
    offset: Option<usize>,
    /// The steps of the path, innermost first: the order in which the error passes them.
    steps: Vec<Step>,
}

pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

impl Error {
    /// An error without a location.
    #[cold]
    pub fn new(kind: ErrorKind) -> Self {
        Self(Box::new(Located { kind, offset: None, steps: Vec::new() }))
    }

    /// An error about an object, with this reason.
    #[cold]
    pub fn object(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Object(reason.into()))
    }

    /// Wraps an error of another crate.
    #[cold]
    pub fn other(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::new(ErrorKind::Other(OtherError(Arc::new(error))))
    }

    /// This error at a byte offset, unless it already has one.
    #[cold]
    pub fn at(mut self, offset: usize) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// This error without its offset, for callers that never see the bytes.
    #[must_use]
    pub fn without_offset(mut self) -> Self {
        self.0.offset = None;
        self
    }

    /// This error with another reason, at the same location.
    #[cold]
    #[must_use]
    pub fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// This error with `bytes` added to its offset.
    pub fn shifted(mut self, bytes: usize) -> Self {
        self.0.offset = self.0.offset.map(|offset| offset.saturating_add(bytes));
        self
    }

    /// An error about an argument, with this reason.
    #[cold]
    pub fn argument(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Argument(reason.into()))
    }

    /// This error with `step` added at the outer end of its path.
    #[cold]
    pub fn inside(mut self, step: Step) -> Self {
        self.0.steps.push(step);
        self
    }

    /// This error without the outermost step of its path, for callers that know the container.
    #[must_use]
    pub fn within(mut self) -> Self {
        self.0.steps.pop();
        self
    }

    /// The reason for the error.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The byte offset of the error, if it has one.
    pub fn offset(&self) -> Option<usize> {
        self.0.offset
    }

    /// The path to the value, like `[3]."hp"`; empty for the outermost value.
    pub fn path(&self) -> String {
        /// Maximum number of steps shown. Longer paths are shortened in the middle.
        const SHOWN: usize = 32;
        let steps = &self.0.steps;
        let mut path = String::new();
        for (i, step) in steps.iter().rev().enumerate() {
            if steps.len() > SHOWN && i == SHOWN / 2 {
                path.push_str(&format!("…({} more)…", steps.len() - SHOWN));
            }
            if steps.len() > SHOWN && (SHOWN / 2..steps.len() - SHOWN / 2).contains(&i) {
                continue;
            }
            path.push_str(&match step {
                Step::Index(index) => format!("[{index}]"),
                Step::Key(key) => format!(".{key}"),
                Step::KeyAt(index) => format!(".<key {index}>"),
                Step::Property(name) => format!(".{name}"),
            });
        }
        path
    }
}

/// Adds an offset to the errors of calls that do not know it.
pub trait Locate {
    /// The result, with its error at this offset unless the error already has one.
    #[must_use]
    fn at(self, offset: usize) -> Self;
}

impl<T> Locate for Result<T> {
    #[inline(always)]
    fn at(self, offset: usize) -> Self {
        self.map_err(|error| error.at(offset))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.kind)?;
        if let Some(offset) = self.0.offset {
            write!(f, " (at byte {offset})")?;
        }
        if !self.0.steps.is_empty() {
            write!(f, " (at {})", self.path())?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

impl From<ErrorKind> for Error {
    #[cold]
    fn from(kind: ErrorKind) -> Self {
        Self::new(kind)
    }
}
