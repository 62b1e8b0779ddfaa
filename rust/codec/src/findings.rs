//! What a reader notes about bytes on its way: what is odd, and what each byte is there for.

use crate::error::{Error, ErrorKind};

/// What a reader has found odd, from the first on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// The errors that strict reading would have given, each with its offset.
    pub first: Vec<Error>,
    /// How many more there were.
    pub left_out: usize,
}

impl Notes {
    /// How many are kept.
    pub const MOST: usize = 100;

    /// Notes what is odd at `at`.
    #[cold]
    pub(crate) fn add(&mut self, at: usize, kind: impl FnOnce() -> ErrorKind) {
        if self.first.len() < Self::MOST {
            self.first.push(Error::new(kind()).at(at));
        } else {
            self.left_out += 1;
        }
    }
}

/// What bytes are there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SpanKind {
    /// What the value itself is made of: numbers, text, ids.
    Content,
    /// The type of a value, and its flags.
    Header,
    /// The type that a container declares for its elements, keys or values.
    ElementType,
    /// How many bytes, elements, entries or properties follow; also the counters and flags of a NodePath.
    Count,
    /// What fills up to a multiple of 4 bytes.
    Padding,
}

/// Bytes that are there for one thing, up to the next span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Where they start.
    pub start: usize,
    /// What they are there for.
    pub kind: SpanKind,
}

/// The spans of what a reader has read; those for which there is no room count as content.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spans {
    pub found: Vec<Span>,
    pub most: usize,
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
