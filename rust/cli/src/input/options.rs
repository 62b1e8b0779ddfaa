//! [`Format`]: the options for reading a file.

use clap::{Args, ValueEnum};
use variant_codec::frames::Layout;

use super::wrapped::Key;
use crate::failure::{Failure, Outcome};

/// The contents of a file.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Holds {
    /// One encoded value
    Value,
    /// Length-prefixed records
    Records,
}

/// Options for reading a file.
#[derive(Args, Default)]
pub struct Format {
    /// The contents of the file; by default, gdvar recognises them
    #[arg(long = "as", value_name = "WHAT")]
    pub holds: Option<Holds>,
    /// The pass of a file from FileAccess.open_encrypted_with_pass
    #[arg(long, env = "GDVAR_PASS", hide_env_values = true)]
    pub pass: Option<String>,
    /// The key of a file from FileAccess.open_encrypted, as 32 bytes in hexadecimal. Overrides the pass
    #[arg(long, value_name = "HEX")]
    pub key: Option<String>,
    /// Read the file in Godot 3's format; by default, gdvar recognises it
    #[arg(long)]
    pub godot3: bool,
    /// Read the file in Godot 4's format; by default, gdvar recognises it
    #[arg(long, conflicts_with = "godot3")]
    pub godot4: bool,
    /// Accept losses between the formats of Godot 3 and 4: read Godot 3's objects as Dictionaries, and
    /// replace its invalid characters. With `convert --to-godot3`, round numbers to 32 bits, and replace
    /// values that Godot 3 cannot hold; all changes of types are listed, including those that lose nothing
    #[arg(long)]
    pub lossy: bool,
    /// Read only encodings that the engine itself writes.
    #[arg(skip)]
    pub is_canonical: bool,
    /// Accept a patch.
    #[arg(skip)]
    pub is_patch: bool,
    /// The treatment of damage in a compressed file.
    #[arg(skip)]
    pub damage: Damage,
}

/// The treatment of damage in a compressed file.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Damage {
    /// Report it.
    #[default]
    Refused,
    /// Use the contents before the damage. [`Input::damage`](super::Input::damage) reports it.
    Cut,
    /// Replace damaged blocks with zeros. [`Input::damage`](super::Input::damage) reports the damage.
    Filled,
}

impl Format {
    /// Whether the options allow this layout.
    pub(super) fn admits(&self, layout: Layout) -> bool {
        self.holds.is_none_or(|holds| layout.has_records == (holds == Holds::Records))
            && if layout.is_godot3 { !self.godot4 } else { !self.godot3 }
    }

    pub(super) fn key(&self) -> Outcome<Option<Key>> {
        match (&self.key, &self.pass) {
            (Some(hex), _) => match from_hex(hex.as_bytes()).and_then(|bytes| Key::of_bytes(&bytes)) {
                Some(key) => Ok(Some(key)),
                None => Err(Failure::Arguments("invalid --key; expected 32 bytes in hexadecimal".to_owned())),
            },
            (None, pass) => Ok(pass.as_deref().map(Key::of_pass)),
        }
    }
}

/// Decodes hexadecimal text, as copied from a debugger or a log. Returns `None` for other text.
pub(super) fn from_hex(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let mut digits = Vec::new();
    for word in text.split(|byte| byte.is_ascii_whitespace() || *byte == b',') {
        let word = word.strip_prefix(b"0x").unwrap_or(word);
        let found = word.iter().map(|byte| char::from(*byte).to_digit(16).map(|digit| digit as u8));
        digits.extend(found.collect::<Option<Vec<_>>>()?);
    }
    let (pairs, rest) = digits.as_chunks::<2>();
    let is_whole = rest.is_empty() && !pairs.is_empty();
    is_whole.then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}
