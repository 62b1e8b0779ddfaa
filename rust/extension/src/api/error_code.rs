//! `FastVariantCodec.CodecError`: error codes for scripts.

use std::borrow::Cow;
use std::io;

use godot::builtin::VariantType;
use godot::meta::error::ConvertError;
use godot::meta::shape::{EnumeratorShape, GodotShape};
use godot::meta::{FromGodot, GodotConvert, ToGodot};
use godot::register::property::SimpleVar;
use variant_codec::limits::Limit;
use variant_codec::{Error, ErrorKind};

use super::guard::OnFailure;
use super::report;

macro_rules! codes {
    ($($name:ident $constant:literal $doc:literal)*) => {
        /// An error code.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[repr(i32)]
        pub enum ErrorCode {
            /// Nothing failed.
            #[default]
            Ok,
            $(#[doc = $doc] $name,)*
        }

        impl ErrorCode {
            /// Every code with its name in scripts and its help.
            pub const ALL: &[(Self, &str, &str)] =
                &[(Self::Ok, "OK", "Nothing failed."), $((Self::$name, $constant, $doc),)*];
        }
    };
}

// In the order of their numbers, which scripts may have stored: new ones go to the end.
codes! {
    UnexpectedEnd "UNEXPECTED_END" "The data ends inside a value."
    UnknownType "UNKNOWN_TYPE" "A type id that Godot does not have."
    BadCount "BAD_COUNT" "A length or count is negative or larger than the data left."
    InvalidText "INVALID_TEXT" "Text is not UTF-8, or contains code units that readers reject or drop."
    OldNodePath "OLD_NODE_PATH" "A NodePath in Godot 2's format, which Godot 4 does not read."
    TooDeep "TOO_DEEP" "The value is nested more deeply than the engine reads or writes."
    WrongElementType "WRONG_ELEMENT_TYPE" "A typed container holds a value of another type."
    NotCanonical "NOT_CANONICAL" "A non-canonical encoding: bytes that the engine reads but no encoder writes."
    TrailingBytes "TRAILING_BYTES" "There are bytes after the value."
    MaxBytesExceeded "MAX_BYTES_EXCEEDED" "More bytes than [member FastVariantLimits.max_bytes]."
    MaxDepthExceeded "MAX_DEPTH_EXCEEDED" "More levels of nesting than [member FastVariantLimits.max_depth]."
    MaxElementsExceeded "MAX_ELEMENTS_EXCEEDED" "More values than [member FastVariantLimits.max_elements]."
    MaxDictionaryEntriesExceeded "MAX_DICTIONARY_ENTRIES_EXCEEDED" "A Dictionary with more entries than [member FastVariantLimits.max_dictionary_entries]."
    MaxMemoryExceeded "MAX_MEMORY_EXCEEDED" "More memory than [member FastVariantLimits.max_memory]."
    CollidingKeys "COLLIDING_KEYS" "Too many keys or names collide in the engine's hash tables; see [member FastVariantLimits.refuse_colliding_keys]."
    TypeNotAllowed "TYPE_NOT_ALLOWED" "A type that is not in [member FastVariantLimits.allowed_types]."
    ClassNotAllowed "CLASS_NOT_ALLOWED" "An object whose class is not in [member FastVariantLimits.allowed_classes]."
    ObjectsNotAllowed "OBJECTS_NOT_ALLOWED" "An object with properties, where objects are not allowed."
    ObjectRefused "OBJECT_REFUSED" "An object or script that cannot be written, or must not be created."
    TooLarge "TOO_LARGE" "The encoded value would be 2 GiB or larger."
    OutOfMemory "OUT_OF_MEMORY" "Not enough memory for the result."
    BadArgument "BAD_ARGUMENT" "An argument is of the wrong type or out of range."
    FileError "FILE_ERROR" "A file cannot be read or written."
    Cancelled "CANCELLED" "The job was cancelled."
    NoCounterpart "NO_COUNTERPART" "A value that Godot 3 cannot represent."
    BadSchema "BAD_SCHEMA" "A schema that does not compile, or does not have the message."
    NotInSchema "NOT_IN_SCHEMA" "A value that does not fit its schema."
    BadMessage "BAD_MESSAGE" "Bytes that are not a protobuf message."
    InternalError "INTERNAL_ERROR" "A bug in this library. Nothing else is affected; please report it, with the message."
    NotFound "NOT_FOUND" "A path leads to no value."
    BadPatch "BAD_PATCH" "Bytes that are not a patch, or a patch that does not fit the value."
}

impl ErrorCode {
    /// Its name in scripts.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(code, ..)| *code == self).map_or("", |(_, name, _)| name)
    }
}

impl From<&Error> for ErrorCode {
    fn from(error: &Error) -> Self {
        match error.kind() {
            ErrorKind::UnexpectedEnd { .. } => Self::UnexpectedEnd,
            ErrorKind::UnknownType(_)
            | ErrorKind::UnknownGodot3Type(_)
            | ErrorKind::UnknownElementType(_) => Self::UnknownType,
            ErrorKind::NoCounterpart(_) => Self::NoCounterpart,
            ErrorKind::Other(error) if error.downcast_ref::<io::Error>().is_some() => Self::FileError,
            ErrorKind::Other(error) => error.downcast_ref().map_or(Self::BadMessage, Self::of_message),
            ErrorKind::BadCount { .. } => Self::BadCount,
            ErrorKind::InvalidUtf8 | ErrorKind::InvalidCodeUnit(_) => Self::InvalidText,
            ErrorKind::OldNodePath => Self::OldNodePath,
            ErrorKind::TooDeep | ErrorKind::KeyTooDeep { .. } => Self::TooDeep,
            ErrorKind::WrongElementType { .. } | ErrorKind::TextTooLarge(_) => Self::WrongElementType,
            ErrorKind::NotCanonical(_) => Self::NotCanonical,
            ErrorKind::TrailingBytes(_) => Self::TrailingBytes,
            ErrorKind::LimitExceeded(limit, _) => match limit {
                Limit::Bytes => Self::MaxBytesExceeded,
                Limit::Depth => Self::MaxDepthExceeded,
                Limit::Elements => Self::MaxElementsExceeded,
                Limit::DictionaryEntries => Self::MaxDictionaryEntriesExceeded,
                Limit::Memory => Self::MaxMemoryExceeded,
            },
            ErrorKind::CollidingKeys(_) => Self::CollidingKeys,
            ErrorKind::TypeNotAllowed(_) => Self::TypeNotAllowed,
            ErrorKind::ClassNotAllowed(_) => Self::ClassNotAllowed,
            ErrorKind::ObjectsNotAllowed => Self::ObjectsNotAllowed,
            ErrorKind::TooLarge => Self::TooLarge,
            ErrorKind::Argument(_) => Self::BadArgument,
            ErrorKind::OutOfMemory(_) => Self::OutOfMemory,
            ErrorKind::Internal(_) => Self::InternalError,
            ErrorKind::Godot3Object(_) | ErrorKind::Object(_) => Self::ObjectRefused,
            ErrorKind::NotFound { .. } => Self::NotFound,
            ErrorKind::Patch(_) => Self::BadPatch,
            ErrorKind::UnexpectedType { .. } => Self::BadArgument,
            // Only calls in Rust return these.
            ErrorKind::OutOfRange { .. } | ErrorKind::Message(_) => Self::BadArgument,
            // For new kinds: `tests/errors_document.rs` finds those that are not listed here.
            _ => Self::InternalError,
        }
    }
}

impl ErrorCode {
    fn of_message(error: &variant_protobuf::Error) -> Self {
        use variant_protobuf::Error as E;
        match error {
            E::Schema { .. } | E::NoMessage(_) | E::Ambiguous { .. } => Self::BadSchema,
            E::TooDeep => Self::TooDeep,
            E::NotCanonical(_) => Self::NotCanonical,
            E::LongVarint(_) | E::BadNumber { .. } | E::BadWireType { .. } | E::StrayEndGroup(_) => {
                Self::BadMessage
            }
            E::NoField { .. }
            | E::WrongType { .. }
            | E::OutOfRange { .. }
            | E::NoEnumValue { .. }
            | E::Duplicate(_)
            | E::Oneof { .. }
            | E::Missing { .. } => Self::NotInSchema,
            _ => Self::InternalError,
        }
    }
}

impl OnFailure for ErrorCode {
    fn failed(method: &str, error: &Error) -> Self {
        report::failure(method, error);
        Self::InternalError
    }
}

impl GodotConvert for ErrorCode {
    type Via = i32;

    fn godot_shape() -> GodotShape {
        GodotShape::Enum {
            variant_type: VariantType::INT,
            enumerators: Cow::Owned(
                Self::ALL
                    .iter()
                    .map(|&(code, name, _)| EnumeratorShape::new_int(name, code as i64))
                    .collect(),
            ),
            godot_name: Some(Cow::Borrowed("FastVariantCodec.CodecError")),
            is_bitfield: false,
        }
    }
}

impl ToGodot for ErrorCode {
    // By value: godot-rust has no public name for it.
    type Pass = <i32 as ToGodot>::Pass;

    fn to_godot(&self) -> i32 {
        *self as i32
    }
}

impl FromGodot for ErrorCode {
    fn try_from_godot(code: i32) -> Result<Self, ConvertError> {
        let found = Self::ALL.iter().find(|(known, ..)| *known as i32 == code);
        found.map(|(known, ..)| *known).ok_or_else(|| ConvertError::new("not a CodecError value"))
    }
}

impl SimpleVar for ErrorCode {}
