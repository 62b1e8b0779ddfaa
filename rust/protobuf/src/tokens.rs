//! The tokens of `.proto` files: words, strings and other characters.

use crate::error::Error;

/// The tokens of a text with their offsets. Comments and spaces are skipped. A number may be several tokens.
#[derive(Clone)]
pub struct Tokens<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Tokens<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }
}

impl<'t> Iterator for Tokens<'t> {
    type Item = (usize, &'t str);

    fn next(&mut self) -> Option<Self::Item> {
        let (text, bytes) = (self.text, self.text.as_bytes());
        let behind =
            |offset: usize, end: &str| text[offset..].find(end).map_or(bytes.len(), |at| offset + at);
        loop {
            let start = self.at;
            let first = text[start..].chars().next()?;
            self.at += first.len_utf8();
            match first {
                ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c' => continue,
                '#' => {
                    self.at = behind(self.at, "\n");
                    continue;
                }
                '/' if bytes.get(self.at) == Some(&b'/') => {
                    self.at = behind(self.at, "\n");
                    continue;
                }
                '/' if bytes.get(self.at) == Some(&b'*') => {
                    let end = behind(self.at + 1, "*/");
                    self.at = (end + 2).min(bytes.len());
                    continue;
                }
                '"' | '\'' => {
                    // An unterminated string ends at the end of its line.
                    while let Some(&inside) = bytes.get(self.at).filter(|inside| **inside != b'\n') {
                        self.at += 1 + usize::from(inside == b'\\' && bytes.get(self.at + 1) != Some(&b'\n'));
                        if char::from(inside) == first {
                            break;
                        }
                    }
                    self.at = self.at.min(bytes.len());
                }
                _ if is_letter(first) && !first.is_ascii_digit() => {
                    let rest = text[self.at..].chars();
                    self.at += rest.take_while(|letter| is_letter(*letter)).count();
                }
                _ => {}
            }
            return Some((start, &text[start..self.at]));
        }
    }
}

fn is_letter(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// Whether a token is an identifier or a keyword.
pub fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| is_letter(first) && !first.is_ascii_digit())
}

pub fn error_at(file: &str, text: &str, offset: usize, reason: String) -> Error {
    let line = text[..offset].matches('\n').count() + 1;
    let column = text[..offset].chars().rev().take_while(|character| *character != '\n').count() + 1;
    Error::Schema { file: file.to_owned(), line, column, reason }
}
