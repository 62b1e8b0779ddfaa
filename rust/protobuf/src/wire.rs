//! The two wire formats: number encodings and wire types.

use crate::kind::{Class, Kind};
use crate::varint::{LONGEST_VARINT, put_varint};

/// The maximum nesting of messages, including groups and map entries, as in official implementations.
pub const MAX_NESTING: u32 = 100;

/// The wire format of messages. Both formats use the same schema; neither can be decoded as the other.
///
/// ```
/// use variant_codec::Value;
/// use variant_protobuf::{EncodeOptions, Schema, Wire};
///
/// let file = "syntax = \"proto3\"; message Player { string name = 1; int32 hp = 2; }";
/// let schema = Schema::compile("game.proto", |name| (name == "game.proto").then(|| file.to_owned()))?;
/// let player = schema.message("Player")?;
/// let value = Value::from_iter([("hp", -1)]);
/// let size = |wire| player.encode(&value, &EncodeOptions { wire }).map(|bytes| bytes.len());
/// assert_eq!((size(Wire::Protobuf)?, size(Wire::Own)?), (11, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wire {
    /// Protocol Buffers.
    #[default]
    Protobuf,
    /// This crate's wire types: a bool takes no bytes besides its tag, and a negative number takes as many
    /// bytes as a positive number.
    Own,
}

/// The tag of a field, with the wire type 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tag {
    /// The bytes in little-endian order, written in one store.
    pub bytes: u64,
    pub len: u8,
}

impl Tag {
    pub fn new(number: u32) -> Self {
        let mut target = [0; LONGEST_VARINT];
        let len = put_varint(&mut target, u64::from(number) << 3);
        Self {
            bytes: target.iter().take(8).rev().fold(0, |bytes, &byte| bytes << 8 | u64::from(byte)),
            len: len as u8,
        }
    }
}

impl Wire {
    /// The class of each wire type.
    pub(crate) const fn classes(self) -> &'static [Class; 8] {
        use Class as C;
        match self {
            Self::Protobuf => {
                &[C::Varint, C::Fixed64, C::Bytes, C::StartGroup, C::EndGroup, C::Fixed32, C::None, C::None]
            }
            Self::Own => {
                &[C::Varint, C::Negative, C::True, C::False, C::Fixed32, C::Fixed64, C::Bytes, C::None]
            }
        }
    }

    /// The wire type of `class`, which must exist in this wire format.
    #[inline(always)]
    pub(crate) const fn wire_type(self, class: Class) -> u8 {
        match (self, class) {
            (Self::Protobuf, Class::Fixed64) => 1,
            (Self::Protobuf, Class::Bytes) => 2,
            (Self::Protobuf, Class::StartGroup) => 3,
            (Self::Protobuf, Class::EndGroup) => 4,
            (Self::Protobuf, Class::Fixed32) => 5,
            (Self::Protobuf, _) => 0,
            // `Class` declares its variants in the order of this crate's wire types.
            (Self::Own, class) => class as u8,
        }
    }

    #[inline(always)]
    pub(crate) fn tag(self, tag: Tag, class: Class) -> u64 {
        tag.bytes | u64::from(self.wire_type(class))
    }

    /// Whether numbers of this kind take their sign from the wire type.
    #[inline(always)]
    pub(crate) fn has_signs(self, kind: Kind) -> bool {
        self == Self::Own && kind.is_signed_varint()
    }

    #[inline(always)]
    pub(crate) fn packs_in_zigzag(self, kind: Kind) -> bool {
        match kind {
            Kind::Sint32 | Kind::Sint64 => true,
            kind => self.has_signs(kind),
        }
    }
}
