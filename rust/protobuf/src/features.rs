//! The features of editions. The older syntaxes are combinations of features too.

use prost_reflect::DynamicMessage;

/// Features as the numbers of their enums; 0 if unset.
#[derive(Clone, Copy)]
pub struct Features {
    field_presence: i32,
    enum_type: i32,
    repeated_field_encoding: i32,
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
    pub fn of(syntax: &str, edition: i32) -> Option<Self> {
        let (field_presence, enum_type, repeated_field_encoding) = match (syntax, edition) {
            ("" | "proto2", _) => (EXPLICIT, CLOSED, EXPANDED),
            ("proto3", _) => (IMPLICIT, OPEN, PACKED),
            ("editions", 1000 | 1001) => (EXPLICIT, OPEN, PACKED),
            _ => return None,
        };
        Some(Self { field_presence, enum_type, repeated_field_encoding, message_encoding: LENGTH_PREFIXED })
    }

    /// These features, overridden by the ones set in options. `tag` is the number of the options' field
    /// `features`.
    pub fn with(self, options: &DynamicMessage, tag: u32) -> Self {
        let own = options.get_field_by_number(tag);
        let Some(own) = own.as_ref().and_then(|own| own.as_message()) else { return self };
        let pick = |tag, inherited| match own.get_field_by_number(tag).and_then(|own| own.as_enum_number()) {
            None | Some(0) => inherited,
            Some(own) => own,
        };
        Self {
            field_presence: pick(1, self.field_presence),
            enum_type: pick(2, self.enum_type),
            repeated_field_encoding: pick(3, self.repeated_field_encoding),
            message_encoding: pick(5, self.message_encoding),
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
