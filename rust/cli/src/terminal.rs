//! Text for a terminal, which acts on some characters instead of showing them.

use std::io::{self, Write};

/// Whether a terminal acts on this character instead of showing it: control characters except newline and
/// tab, and bidirectional controls.
fn is_unprintable(char: char) -> bool {
    let changes_order = matches!(char, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    changes_order || char.is_control() && char != '\n' && char != '\t'
}

/// The text with escapes for characters on which a terminal acts.
pub fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for char in text.chars() {
        if is_unprintable(char) {
            printable += &format!("\\u{:04x}", u32::from(char));
        } else {
            printable.push(char);
        }
    }
    printable
}

/// Escapes characters on which a terminal acts, except characters below U+0020: escape sequences for colours
/// start with U+001B. The escapes mean the same in JSON.
pub struct ForTerminal<W> {
    to: W,
    /// The first bytes of an incomplete character.
    begun: Vec<u8>,
}

impl<W: Write> ForTerminal<W> {
    /// Passes everything on to `to`.
    pub fn of(to: W) -> Self {
        Self { to, begun: Vec::new() }
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        let mut rest = text;
        while let Some(at) = rest.find(|char| char >= '\u{7F}' && is_unprintable(char)) {
            let (before, from) = rest.split_at(at);
            self.to.write_all(before.as_bytes())?;
            let mut chars = from.chars();
            if let Some(char) = chars.next() {
                write!(self.to, "\\u{:04x}", u32::from(char))?;
            }
            rest = chars.as_str();
        }
        self.to.write_all(rest.as_bytes())
    }
}

impl<W: Write> Write for ForTerminal<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let joined;
        let mut rest = bytes;
        if !self.begun.is_empty() {
            joined = [&std::mem::take(&mut self.begun), bytes].concat();
            rest = &joined;
        }
        loop {
            let (text, invalid) = match std::str::from_utf8(rest) {
                Ok(text) => (text, None),
                Err(error) => {
                    let (valid, _) = rest.split_at(error.valid_up_to());
                    (std::str::from_utf8(valid).unwrap_or_default(), Some(error.error_len()))
                }
            };
            self.put(text)?;
            rest = rest.get(text.len()..).unwrap_or_default();
            match invalid {
                None => return Ok(bytes.len()),
                Some(None) => {
                    self.begun = rest.to_vec();
                    return Ok(bytes.len());
                }
                Some(Some(count)) => {
                    self.to.write_all("\u{FFFD}".as_bytes())?;
                    rest = rest.get(count..).unwrap_or_default();
                }
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() -> io::Result<()> {
        let text = "a\u{1b}[31mé\n\u{7f}\u{9b}2J\u{202e}b\u{2066}\u{200f}漢🎲";
        let expected = "a\u{1b}[31mé\n\\u007f\\u009b2J\\u202eb\\u2066\\u200f漢🎲";
        // A split inside a character must not matter.
        for size in 1..=text.len() {
            let mut terminal = ForTerminal::of(Vec::new());
            text.as_bytes().chunks(size).try_for_each(|piece| terminal.write_all(piece))?;
            assert_eq!(String::from_utf8_lossy(&terminal.to), expected);
        }
        let mut terminal = ForTerminal::of(Vec::new());
        terminal.write_all(b"a\xff\x9bb")?;
        assert_eq!(String::from_utf8_lossy(&terminal.to), "a\u{FFFD}\u{FFFD}b");
        assert_eq!(printable("a\u{1b}]0;\u{7}\tb\n"), "a\\u001b]0;\\u0007\tb\n");
        Ok(())
    }
}
