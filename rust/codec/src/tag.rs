//! Tags: first keys that give a Dictionary another meaning. `docs/classes.md` describes them.

use std::borrow::Cow;

use crate::wire::cursor::first_key_starts_with;
use crate::wire::dialect::Godot4;

/// The first character of a tag.
pub const START: u8 = b'@';
/// An object. The value is the name of its class; the other keys are its properties.
pub const CLASS: &str = "@class";
/// The second key of an object, unless its class has version 1.
pub const VERSION: &str = "@version";
/// A reference to an object. The value is its index in the table at [`OBJECTS`].
pub const REFERENCE: &str = "@ref";
/// The table of the objects that the value at [`VALUE`] refers to. Only the outermost Dictionary can have one.
pub const OBJECTS: &str = "@objects";
/// The second key of a Dictionary that starts with [`OBJECTS`].
pub const VALUE: &str = "value";
/// A typed Array. The value is the name of the type of its elements, which are at [`VALUES`].
pub const ARRAY: &str = "@array";
/// A typed Dictionary. The value names the types of its keys and values; its entries are at [`VALUES`].
pub const DICTIONARY: &str = "@dictionary";
/// The second key of a typed container.
pub const VALUES: &str = "values";
/// A user's Dictionary that has a key like a tag.
pub const PLAIN: &str = "@plain";
/// A resource of the project. The value is its UID, which may be empty; its path is at [`PATH`].
pub const RESOURCE: &str = "@resource";
/// The second key of a resource.
pub const PATH: &str = "path";

/// The tags.
pub const ALL: [&str; 7] = [CLASS, REFERENCE, OBJECTS, ARRAY, DICTIONARY, PLAIN, RESOURCE];

/// Whether a key starts like a tag.
pub fn is_tag(key: &str) -> bool {
    key.as_bytes().first() == Some(&START)
}

/// A first key of text as the key of a map in a format without StringNames. A [tag](ALL) that is a StringName stays the
/// same. If it is a String, it gets another `@`, and so does each String that looks like the result.
///
/// `None` for other StringNames, which such a map cannot hold.
pub fn to_map_key(text: &str, is_name: bool) -> Option<Cow<'_, str>> {
    match (is_marked(text), is_name) {
        (Some(_), false) => Some(format!("@{text}").into()),
        (None, false) | (Some(true), true) => Some(text.into()),
        (_, true) => None,
    }
}

/// The text of the first key of such a map, and whether it is a StringName.
pub fn of_map_key(text: &str) -> (&str, bool) {
    match is_marked(text) {
        Some(is_tag) => (if is_tag { text } else { &text[1..] }, is_tag),
        None => (text, false),
    }
}

/// Whether a text is a tag; `None` unless it is a tag after any number of `@`.
fn is_marked(text: &str) -> Option<bool> {
    let is_tag = |text: &str| ALL.contains(&text);
    let name = text.trim_start_matches('@');
    let marks = text.len() - name.len();
    (marks > 0 && is_tag(&text[marks - 1..])).then_some(marks == 1)
}

/// Whether the Dictionary whose header starts at `at` has a first key that starts like a tag.
#[inline(always)]
pub fn is_first_key(data: &[u8], at: usize) -> bool {
    first_key_starts_with::<Godot4>(data, at, START)
}
