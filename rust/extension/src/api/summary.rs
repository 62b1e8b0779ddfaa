//! The text that `print()` and `str()` show for the extension's objects: one short line, like `<Node#123>`.
//!
//! Creating the text runs no scripts. Large values show only their type and size.

use std::fmt::{self, Display};

use godot::builtin::{GString, Variant};
use godot::obj::{Gd, GodotClass};
use variant_codec::VariantType;
use variant_engine::Reader;

/// The maximum length of embedded text, such as a message with a path.
const MOST_CHARACTERS: usize = 120;

/// The text for an object.
pub fn of<C: GodotClass>(object: &Gd<C>, holds: impl Display) -> GString {
    GString::from(&format!("<{}#{} {holds}>", C::class_id(), object.instance_id().to_i64()))
}

/// Text on one line, truncated if long.
pub fn short(text: impl Display) -> String {
    let text = text.to_string();
    let mut characters = text.chars().map(|character| if character.is_control() { ' ' } else { character });
    let mut short: String = characters.by_ref().take(MOST_CHARACTERS).collect();
    if characters.next().is_some() {
        short.push('…');
    }
    short
}

/// A count with its noun.
pub fn count(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

/// The type of a value; also the value of a bool or number, and the size of a text, container or packed
/// array.
pub struct Value<'a>(pub &'a Variant);

impl Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use VariantType as T;
        let Some(ty) = Reader::new().ty(self.0) else { return f.write_str("a value") };
        let (size, one, many) = match ty {
            T::Nil => return f.write_str("null"),
            T::Bool | T::Int | T::Float => return write!(f, "{ty} {}", self.0),
            T::String | T::StringName => ("length", "character", "characters"),
            T::PackedByteArray => ("size", "byte", "bytes"),
            T::Dictionary => ("size", "entry", "entries"),
            T::Array => ("size", "element", "elements"),
            _ if ty.name().starts_with("Packed") => ("size", "element", "elements"),
            _ => return write!(f, "{ty}"),
        };
        let size = usize::try_from(self.0.call(size, &[]).try_to::<i64>().unwrap_or(0)).unwrap_or(0);
        write!(f, "{ty}, {}", count(size, one, many))
    }
}
