//! The types of fields, and their wire classes.

/// The encoding of a value after its tag. Its wire type depends on the wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Class {
    Varint,
    /// In this crate's wire format: the magnitude of a negative number, as a varint.
    Negative,
    /// In this crate's wire format.
    True,
    /// In this crate's wire format.
    False,
    Fixed32,
    Fixed64,
    Bytes,
    StartGroup,
    EndGroup,
    None,
}

impl Class {
    /// The set of classes that contains only this class.
    pub const fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// The type of a field's value or, for a list, of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Double,
    Float,
    Int32,
    Int64,
    Uint32,
    Uint64,
    Sint32,
    Sint64,
    Fixed32,
    Fixed64,
    Sfixed32,
    Sfixed64,
    Bool,
    String,
    Bytes,
    /// The index of the enum.
    Enum(u32),
    /// The index of the message.
    Message(u32),
}

impl Kind {
    /// The class of a single value. In this crate's wire format, bools and negative varints have other
    /// classes.
    pub const fn class(self) -> Class {
        match self {
            Self::Double | Self::Fixed64 | Self::Sfixed64 => Class::Fixed64,
            Self::Float | Self::Fixed32 | Self::Sfixed32 => Class::Fixed32,
            Self::String | Self::Bytes | Self::Message(_) => Class::Bytes,
            _ => Class::Varint,
        }
    }

    /// The classes of records that hold a single value.
    pub const fn classes(self) -> u16 {
        match self.class() {
            Class::Varint if matches!(self, Self::Bool) => {
                Class::Varint.bit() | Class::True.bit() | Class::False.bit()
            }
            Class::Varint => Class::Varint.bit() | Class::Negative.bit(),
            class => class.bit(),
        }
    }

    pub const fn can_be_packed(self) -> bool {
        !matches!(self, Self::String | Self::Bytes | Self::Message(_))
    }

    /// Whether fields of this kind accept ints.
    pub const fn accepts_numbers(self) -> bool {
        self.can_be_packed() && !matches!(self, Self::Bool)
    }

    /// Whether numbers of this kind are varints that may be negative.
    pub const fn is_signed_varint(self) -> bool {
        matches!(self, Self::Int32 | Self::Int64 | Self::Sint32 | Self::Sint64 | Self::Enum(_))
    }

    /// The keyword in schemas; empty for messages and enums.
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Double => "double",
            Self::Float => "float",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Uint32 => "uint32",
            Self::Uint64 => "uint64",
            Self::Sint32 => "sint32",
            Self::Sint64 => "sint64",
            Self::Fixed32 => "fixed32",
            Self::Fixed64 => "fixed64",
            Self::Sfixed32 => "sfixed32",
            Self::Sfixed64 => "sfixed64",
            Self::Bool => "bool",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Enum(_) | Self::Message(_) => "",
        }
    }
}
