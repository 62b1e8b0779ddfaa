//! Findings of a decoder: notes about oddities, and the purpose of each byte.

use crate::error::{Error, ErrorKind};

/// The first oddities that a decoder has found, and the number of further ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// The errors that strict reading would have given, each with its offset.
    pub first: Vec<Error>,
    /// The number of further oddities.
    pub left_out: usize,
}

impl Notes {
    /// Maximum number of errors kept.
    pub const MOST: usize = 100;

    #[cold]
    pub(crate) fn add(&mut self, at: usize, kind: impl FnOnce() -> ErrorKind) {
        if self.first.len() < Self::MOST {
            self.first.push(Error::new(kind()).at(at));
        } else {
            self.left_out += 1;
        }
    }
}

/// The purpose of the bytes in a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SpanKind {
    /// The content of the value: numbers, text, ids.
    Content,
    /// The type of a value, and its flags.
    Header,
    /// The type that a container declares for its elements, keys or values.
    ElementType,
    /// The number of bytes, elements, entries or properties that follow; also the counters and flags of a NodePath.
    Count,
    /// Padding to a multiple of 4 bytes.
    Padding,
}

/// Bytes with one purpose, up to the next span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The offset of the first byte.
    pub start: usize,
    /// The purpose of the bytes.
    pub kind: SpanKind,
}

/// The spans of the bytes read so far. There are at most `most` spans; the last of these marks all further
/// bytes as content.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spans {
    pub found: Vec<Span>,
    pub most: usize,
    /// The error for the count that was read last, if it is larger than the bytes can hold.
    pub bad_count: Option<Error>,
}

impl Spans {
    pub fn add(&mut self, start: usize, kind: SpanKind) {
        self.found.pop_if(|last| last.start == start);
        let kind = if self.found.len() + 1 < self.most { kind } else { SpanKind::Content };
        if self.found.last().map(|last| last.kind) != Some(kind) {
            self.found.push(Span { start, kind });
        }
    }
}
