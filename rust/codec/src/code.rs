//! The code of each error.

use crate::error::{ErrorKind, Limit};

impl ErrorKind {
    /// The code of the error: the name of the constant that scripts of the addon compare with, such as
    /// `UNEXPECTED_END`. Several kinds share a code. `None` for [`ErrorKind::Other`].
    pub fn code(&self) -> Option<&'static str> {
        Some(match self {
            Self::UnexpectedEnd { .. } | Self::EmptyRecord => "UNEXPECTED_END",
            Self::Foreign(_)
            | Self::UnknownType(_)
            | Self::UnknownGodot3Type(_)
            | Self::UnknownElementType(_) => "UNKNOWN_TYPE",
            Self::BadCount { .. } => "BAD_COUNT",
            Self::InvalidUtf8 | Self::InvalidCodeUnit(_) => "INVALID_TEXT",
            Self::OldNodePath => "OLD_NODE_PATH",
            Self::TooDeep | Self::KeyTooDeep { .. } => "TOO_DEEP",
            Self::WrongElementType { .. } | Self::TextTooLarge(_) => "WRONG_ELEMENT_TYPE",
            Self::NotCanonical(_) | Self::NotComparable(_) => "NOT_CANONICAL",
            Self::TrailingBytes(_) => "TRAILING_BYTES",
            Self::LimitExceeded(Limit::Bytes, _) => "MAX_BYTES_EXCEEDED",
            Self::LimitExceeded(Limit::Depth, _) => "MAX_DEPTH_EXCEEDED",
            Self::LimitExceeded(Limit::Elements, _) => "MAX_ELEMENTS_EXCEEDED",
            Self::LimitExceeded(Limit::Memory, _) => "MAX_MEMORY_EXCEEDED",
            Self::LimitExceeded(Limit::KeyComparisons, _) | Self::ContainerKey => {
                "MAX_KEY_COMPARISONS_EXCEEDED"
            }
            Self::TypeNotAllowed(_) => "TYPE_NOT_ALLOWED",
            Self::ClassNotAllowed(_) => "CLASS_NOT_ALLOWED",
            Self::ScriptNotAllowed(_) => "SCRIPT_NOT_ALLOWED",
            Self::ObjectsNotAllowed => "OBJECTS_NOT_ALLOWED",
            Self::Godot3Object(_) | Self::Object(_) => "OBJECT_REFUSED",
            Self::TooLarge => "TOO_LARGE",
            Self::OutOfMemory(_) => "OUT_OF_MEMORY",
            // Only programs in Rust get the last two.
            Self::Argument(_) | Self::UnexpectedType { .. } | Self::OutOfRange { .. } | Self::Message(_) => {
                "BAD_ARGUMENT"
            }
            Self::NoCounterpart(_) => "NO_COUNTERPART",
            Self::NotFound { .. } => "NOT_FOUND",
            Self::Save(_) => "BAD_SAVE",
            Self::Patch(_) => "BAD_PATCH",
            Self::Internal(_) => "INTERNAL_ERROR",
            Self::Other(_) => return None,
        })
    }
}
