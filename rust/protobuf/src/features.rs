//! The features of editions, which `prost_types` drops. This module declares the messages of
//! `descriptor.proto` with only their features.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub struct FileSet {
    #[prost(message, repeated, tag = "1")]
    pub file: Vec<File>,
}

#[derive(Clone, PartialEq, Message)]
pub struct File {
    #[prost(message, repeated, tag = "4")]
    pub message_type: Vec<MessageType>,
    #[prost(message, repeated, tag = "5")]
    pub enum_type: Vec<EnumType>,
    #[prost(message, optional, tag = "8")]
    options: Option<FileOptions>,
    /// The number of the edition: 1000 for 2023, 1001 for 2024.
    #[prost(int32, tag = "14")]
    pub edition: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct MessageType {
    #[prost(message, repeated, tag = "2")]
    pub field: Vec<Field>,
    #[prost(message, repeated, tag = "3")]
    pub nested_type: Vec<MessageType>,
    #[prost(message, repeated, tag = "4")]
    pub enum_type: Vec<EnumType>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Field {
    #[prost(message, optional, tag = "8")]
    options: Option<FieldOptions>,
}

#[derive(Clone, PartialEq, Message)]
pub struct EnumType {
    #[prost(message, optional, tag = "3")]
    options: Option<EnumOptions>,
}

#[derive(Clone, PartialEq, Message)]
struct FileOptions {
    #[prost(message, optional, tag = "50")]
    features: Option<Features>,
}

#[derive(Clone, PartialEq, Message)]
struct FieldOptions {
    #[prost(message, optional, tag = "21")]
    features: Option<Features>,
}

#[derive(Clone, PartialEq, Message)]
struct EnumOptions {
    #[prost(message, optional, tag = "7")]
    features: Option<Features>,
}

/// Features as the numbers of their enums; 0 if unset.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Features {
    #[prost(int32, tag = "1")]
    field_presence: i32,
    #[prost(int32, tag = "2")]
    enum_type: i32,
    #[prost(int32, tag = "3")]
    repeated_field_encoding: i32,
    #[prost(int32, tag = "5")]
    message_encoding: i32,
}

/// The numbers in [`Features`].
const EXPLICIT: i32 = 1;
const IMPLICIT: i32 = 2;
const LEGACY_REQUIRED: i32 = 3;
const OPEN: i32 = 1;
const CLOSED: i32 = 2;
const PACKED: i32 = 1;
const EXPANDED: i32 = 2;
const LENGTH_PREFIXED: i32 = 1;
const DELIMITED: i32 = 2;

impl Features {
    /// The default features of a syntax, or of an edition if the syntax is `editions`. `None` if the syntax
    /// or edition is unknown.
    fn of(syntax: &str, edition: i32) -> Option<Self> {
        let (field_presence, enum_type, repeated_field_encoding) = match (syntax, edition) {
            ("" | "proto2", _) => (EXPLICIT, CLOSED, EXPANDED),
            ("proto3", _) => (IMPLICIT, OPEN, PACKED),
            ("editions", 1000 | 1001) => (EXPLICIT, OPEN, PACKED),
            _ => return None,
        };
        Some(Self { field_presence, enum_type, repeated_field_encoding, message_encoding: LENGTH_PREFIXED })
    }

    /// These features, overridden by the features set in `own`.
    fn with(self, own: Option<Self>) -> Self {
        let own = own.unwrap_or_default();
        let pick = |own, inherited| if own == 0 { inherited } else { own };
        Self {
            field_presence: pick(own.field_presence, self.field_presence),
            enum_type: pick(own.enum_type, self.enum_type),
            repeated_field_encoding: pick(own.repeated_field_encoding, self.repeated_field_encoding),
            message_encoding: pick(own.message_encoding, self.message_encoding),
        }
    }

    /// Whether singular fields have no presence.
    pub fn is_implicit(self) -> bool {
        self.field_presence == IMPLICIT
    }

    pub fn is_required(self) -> bool {
        self.field_presence == LEGACY_REQUIRED
    }

    /// Whether enums accept only listed numbers.
    pub fn is_closed(self) -> bool {
        self.enum_type == CLOSED
    }

    pub fn is_packed(self) -> bool {
        self.repeated_field_encoding == PACKED
    }

    /// Whether messages are encoded as groups.
    pub fn is_delimited(self) -> bool {
        self.message_encoding == DELIMITED
    }
}

impl File {
    /// The features that fields and enums inherit; `None` if the syntax or edition is unknown.
    pub fn features(&self, syntax: &str) -> Option<Features> {
        let own = self.options.as_ref().and_then(|options| options.features);
        Some(Features::of(syntax, self.edition)?.with(own))
    }
}

impl Field {
    pub fn features(&self, inherited: Features) -> Features {
        inherited.with(self.options.as_ref().and_then(|options| options.features))
    }
}

impl EnumType {
    pub fn features(&self, inherited: Features) -> Features {
        inherited.with(self.options.as_ref().and_then(|options| options.features))
    }
}
