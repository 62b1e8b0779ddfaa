//! `FastVariantCodec.CodecError`: error codes for scripts.

use std::borrow::Cow;
use std::io;

use godot::builtin::VariantType;
use godot::meta::error::ConvertError;
use godot::meta::shape::{EnumeratorShape, GodotShape};
use godot::meta::{FromGodot, GodotConvert, ToGodot};
use godot::register::property::SimpleVar;
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

include!("codes.rs");

impl ErrorCode {
    /// The name of the code in scripts.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(code, ..)| *code == self).map_or("", |(_, name, _)| name)
    }
}

impl From<&Error> for ErrorCode {
    fn from(error: &Error) -> Self {
        let ErrorKind::Other(other) = error.kind() else {
            let code = error.kind().code();
            let found = Self::ALL.iter().find(|(_, name, _)| code == Some(*name));
            return found.map_or(Self::InternalError, |(code, ..)| *code);
        };
        match (other.downcast_ref::<io::Error>(), other.downcast_ref()) {
            (Some(error), _) if error.kind() == io::ErrorKind::OutOfMemory => Self::OutOfMemory,
            (Some(_), _) => Self::FileError,
            (None, Some(message)) => Self::of_message(message),
            (None, None) => other.downcast_ref().map_or(Self::BadMessage, Self::of_snapshot),
        }
    }
}

impl ErrorCode {
    fn of_snapshot(error: &variant_snapshot::Error) -> Self {
        use variant_snapshot::Error as E;
        match error {
            E::Field(..) | E::Schema { .. } => Self::BadSchema,
            E::Old { .. } | E::Baseline(_) => Self::SkippedSnapshot,
            E::Value(..) | E::EntityValue(..) => Self::NotInSchema,
            E::Argument(_) => Self::BadArgument,
            _ => Self::BadSnapshot,
        }
    }

    fn of_message(error: &variant_protobuf::Error) -> Self {
        use variant_protobuf::Error as E;
        match error {
            E::Schema { .. } | E::NoMessage(_) | E::Ambiguous { .. } | E::Unmappable { .. } => {
                Self::BadSchema
            }
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
    // The type that `i32` uses, because godot-rust's type for passing by value has no public name.
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
