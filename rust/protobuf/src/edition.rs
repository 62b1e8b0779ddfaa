//! Rewrites files that have an edition into proto2 syntax, because the compiler knows the features of
//! editions but not their syntax.

use crate::descriptors::SYNTAXES;
use crate::error::Result;
use crate::tokens::{Tokens, error_at, is_word};

/// The label that fields of proto2 must have and fields of editions cannot have.
const LABEL: &str = "optional ";

/// The features that the compiler knows. Other features do not change the encoded bytes.
const FEATURES: [&str; 6] = [
    "field_presence",
    "enum_type",
    "repeated_field_encoding",
    "utf8_validation",
    "message_encoding",
    "json_format",
];

/// The text of a file, rewritten for the compiler if the file has an edition.
pub struct Text {
    /// The text that is compiled.
    pub compiled: String,
    /// The number of the edition in descriptors; `None` without an edition.
    pub edition: Option<i32>,
    /// The offsets of added labels in `compiled`.
    labels: Vec<usize>,
}

/// The kind of content between braces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    /// Fields of a message or extensions.
    Fields,
    /// Other statements.
    Statements,
    /// A value in text format.
    Value,
}

impl Text {
    /// Rewrites a file with an edition: blanks syntax that proto2 lacks, and adds labels. Line numbers stay
    /// the same.
    ///
    /// # Errors
    /// [`crate::Error::Schema`] if the edition is unknown or a field has a label of proto2.
    pub fn new(file: &str, text: String) -> Result<Self> {
        let mut tokens = Tokens::new(&text).peekable();
        if tokens.peek().is_none_or(|(_, token)| *token != "edition") {
            return Ok(Self { compiled: text, edition: None, labels: Vec::new() });
        }
        let fail = |offset, reason| Err(error_at(file, &text, offset, reason));
        let (mut compiled, mut copied, mut labels) = (String::with_capacity(text.len()), 0, Vec::new());
        let (mut edition, mut blocks, mut statement, mut is_blank) = (None, Vec::new(), "", false);
        while let Some((start, token)) = tokens.next() {
            let next = tokens.peek().map_or("", |(_, token)| *token);
            let block = blocks.last().copied().unwrap_or(Block::Statements);
            let is_start = statement.is_empty();
            let is_visibility =
                is_start && matches!(token, "export" | "local") && matches!(next, "message" | "enum");
            if is_start && !is_visibility {
                statement = token;
            }
            if statement == "edition" && token.starts_with(['"', '\'']) {
                edition = match token.trim_matches(['"', '\'']) {
                    "2023" => Some(1000),
                    "2024" => Some(1001),
                    _ => return fail(start, format!("unknown edition {token}; use {SYNTAXES}")),
                };
            }
            is_blank |= is_start
                && match token {
                    "edition" => blocks.is_empty(),
                    "reserved" => is_word(next),
                    "import" | "option" => is_foreign(token, tokens.clone().map(|(_, token)| token)),
                    _ => false,
                };
            if is_start && block == Block::Fields && starts_field(token, next) {
                if let "optional" | "required" = token {
                    return fail(
                        start,
                        format!("label `{token}` in an edition; use features.field_presence"),
                    );
                }
                compiled.push_str(&text[copied..start]);
                labels.push(compiled.len());
                compiled.push_str(LABEL);
                copied = start;
            }
            if is_blank || is_visibility || statement == "import" && token == "option" {
                compiled.push_str(&text[copied..start]);
                compiled.extend(std::iter::repeat_n(' ', token.len()));
                copied = start + token.len();
            }
            match token {
                "{" => {
                    let inner = match statement {
                        _ if block == Block::Value => Block::Value,
                        "message" | "extend" => Block::Fields,
                        "enum" | "oneof" | "service" | "rpc" => Block::Statements,
                        _ => Block::Value,
                    };
                    blocks.push(inner);
                    if inner != Block::Value {
                        statement = "";
                    }
                }
                "}" if blocks.pop().is_none_or(|inner| inner != Block::Value) => statement = "",
                ";" if block != Block::Value => (statement, is_blank) = ("", false),
                _ => {}
            }
        }
        let Some(edition) = edition else { return fail(0, format!("no edition; use {SYNTAXES}")) };
        compiled.push_str(&text[copied..]);
        Ok(Self { compiled, edition: Some(edition), labels })
    }

    /// The column in the original text for a column in the compiled text.
    pub fn column(&self, line: usize, column: usize) -> usize {
        let lines = self.compiled.split_inclusive('\n');
        let start: usize = lines.take(line.saturating_sub(1)).map(str::len).sum();
        let before = |label: &&usize| **label >= start && **label - start + LABEL.len() < column;
        column - LABEL.len() * self.labels.iter().filter(before).count()
    }
}

/// Whether an import or an option is about features that the compiler does not know, such as the features of
/// a language.
fn is_foreign<'t>(token: &str, mut next: impl Iterator<Item = &'t str>) -> bool {
    if token == "import" {
        let path = next.find(|token| token.starts_with(['"', '\'']) || *token == ";").unwrap_or_default();
        let path = path.trim_matches(['"', '\'']);
        return path.starts_with("google/protobuf/") && path.ends_with("_features.proto");
    }
    next.next() == Some("features")
        && next.next() == Some(".")
        && next.next().is_some_and(|name| !FEATURES.contains(&name))
}

/// Whether a statement that starts with these two tokens is a field without a label.
fn starts_field(token: &str, next: &str) -> bool {
    match token {
        "message" | "enum" | "extend" | "extensions" | "reserved" | "option" | "oneof" | "repeated" => false,
        "export" | "local" => !matches!(next, "message" | "enum"),
        "map" => next != "<",
        _ => token == "." || is_word(token),
    }
}
