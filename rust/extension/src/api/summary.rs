//! What `print()` and `str()` show of the objects of the extension: one short line, in the manner of `<Node#123>`.
//!
//! No code of scripts runs for it, and however large a value is, only its type and its size are shown.

use std::fmt::{self, Display};

use godot::builtin::{GString, Variant};
use godot::obj::{Gd, GodotClass};
use variant_codec::VariantType;
use variant_engine::Reader;

/// The most characters of a text that others have made, such as a message with a path in it.
const MOST_CHARACTERS: usize = 120;

/// What an object shows.
pub fn of<C: GodotClass>(object: &Gd<C>, holds: impl Display) -> GString {
    GString::from(&format!("<{}#{} {holds}>", C::class_id(), object.instance_id().to_i64()))
}

/// A text on one line, cut if it is long.
pub fn short(text: impl Display) -> String {
    let text = text.to_string();
    let mut characters = text.chars().map(|character| if character.is_control() { ' ' } else { character });
    let mut short: String = characters.by_ref().take(MOST_CHARACTERS).collect();
    if characters.next().is_some() {
        short.push('…');
    }
    short
}

/// A number of things.
pub fn count(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

/// The type of a value, and the value where it is a number, or its size where it has one.
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
