//! Decodes text, and types that consist of several texts.

use super::Decoder;
use crate::error::{ErrorKind, Locate, Oddity, Result, Step};
use crate::events::{NodePathParts, Sink, Text};
use crate::format;
use crate::wire::cursor::{Cursor, NodePathCounters, Padded};
use crate::wire::dialect::Dialect;

impl<'a, D: Dialect, const NOTES: bool> Decoder<'a, D, NOTES> {
    /// Reads a length-prefixed text as the engine does: drops one byte-order mark and stops at the first NUL.
    #[inline(always)]
    pub(super) fn string(&mut self) -> Result<&'a str> {
        let at = self.position();
        let bytes = self.counted_bytes(false)?;
        self.name_text(bytes, at)
    }

    /// Like [`Decoder::string`], for a text that has been read at `at`.
    pub(super) fn padded_name(&mut self, found: Padded<'a>, at: usize) -> Result<&'a str> {
        let bytes = self.padded(found, at, false)?;
        self.name_text(bytes, at)
    }

    /// Reads a length-prefixed text that the engine keeps in its table of names.
    #[inline(always)]
    pub(super) fn name(&mut self) -> Result<&'a str> {
        let at = self.position();
        let bytes = self.counted_bytes(false)?;
        self.budget.name(bytes).at(at)?;
        self.name_text(bytes, at)
    }

    /// Reads a part of a NodePath. Engines before 4.6.3 leave its padding uninitialised.
    #[inline(always)]
    pub(super) fn node_path_part(&mut self) -> Result<(&'a [u8], usize)> {
        let at = self.position();
        let bytes = self.counted_bytes(true)?;
        self.budget.name(bytes).at(at)?;
        Ok((bytes, at))
    }

    /// Reads the text of a PackedStringArray element without its terminating NUL, which the length includes.
    #[inline(always)]
    pub(super) fn terminated_bytes(&mut self) -> Result<&'a [u8]> {
        let at = self.position();
        let counted = self.counted_bytes(false)?;
        let (is_terminated, bytes) = match counted.split_last() {
            Some((0, bytes)) => (true, bytes),
            _ => (false, counted),
        };
        self.odd(!is_terminated, at, Oddity::MissingNul)?;
        Ok(bytes)
    }

    #[inline(always)]
    pub(super) fn decode_terminated_string<S: Sink>(
        &mut self,
        sink: &mut S,
        strings: &mut S::Strings,
    ) -> Result<()> {
        let at = self.position();
        let bytes = self.terminated_bytes()?;
        if self.may_be_raw(bytes) && sink.raw_string(strings, bytes)? {
            return self.budget.text(bytes.len()).at(at);
        }
        let text = self.text(bytes, at)?;
        sink.string(strings, Text::Utf8(&text))
    }

    /// Whether a sink may validate these bytes itself: they have no byte-order mark to drop, and the budget
    /// covers all of them, even if a NUL ends the text earlier.
    #[inline(always)]
    pub(super) fn may_be_raw(&self, bytes: &[u8]) -> bool {
        bytes.first() != format::BOM.as_bytes().first() && self.budget.allows_text(bytes.len())
    }

    /// Decodes text that is a value.
    #[inline(always)]
    pub(super) fn text(&mut self, bytes: &'a [u8], at: usize) -> Result<D::Text<'a>> {
        let text = self.text_bytes(bytes, at)?;
        self.dialect.text(text).map_err(|kind| self.error_at(at, kind))
    }

    /// Decodes text that is a name, which is UTF-8 in every dialect.
    #[inline(always)]
    pub(super) fn name_text(&mut self, bytes: &'a [u8], at: usize) -> Result<&'a str> {
        let text = self.text_bytes(bytes, at)?;
        simdutf8::basic::from_utf8(text).map_err(|_| self.error_at(at, ErrorKind::InvalidUtf8))
    }

    /// The part of a text that the engine reads: without a byte-order mark, up to the first NUL.
    #[inline(always)]
    pub(super) fn text_bytes(&mut self, bytes: &'a [u8], at: usize) -> Result<&'a [u8]> {
        let marked = bytes.strip_prefix(format::BOM.as_bytes());
        self.odd(marked.is_some(), at, Oddity::ByteOrderMark)?;
        let mut text = marked.unwrap_or(bytes);
        if let Some(nul) = find_nul(text) {
            self.odd(true, at, Oddity::Nul)?;
            text = &text[..nul];
        }
        self.budget.text(text.len()).at(at)?;
        Ok(text)
    }

    #[inline(never)]
    pub(super) fn decode_strings<S: Sink>(&mut self, sink: &mut S) -> Result<()> {
        let at = self.position();
        let count = self.signed_count(4)?;
        self.budget.strings(count).at(at)?;
        let mut strings = sink.begin_strings(count).at(at)?;
        let first = match Self::part_bytes(sink) {
            Some(bytes) if !self.in_key && self.cursor.rest().len() > bytes => {
                self.hand_strings_over(sink, &mut strings, count, bytes)?
            }
            _ => 0,
        };
        for index in first..count {
            self.decode_terminated_string(sink, &mut strings)
                .map_err(|error| error.inside(Step::Index(index)))?;
        }
        sink.end_strings(strings).at(at)
    }

    #[inline(never)]
    pub(super) fn decode_node_path<S: Sink>(&mut self, sink: &mut S) -> Result<()> {
        let at = self.position();
        if self.cursor.is_at_old_node_path() {
            return Err(self.error_at(at, ErrorKind::OldNodePath));
        }
        let start = self.cursor;
        let counters = self.cursor.node_path();
        let counters = self.counted(start, counters, Cursor::node_path_fault)?;
        let NodePathCounters { names, total, is_absolute, are_canonical } = counters;
        self.odd(!are_canonical, at, Oddity::NodePathCounters)?;
        if total as usize > self.cursor.rest().len() / 4 {
            return Err(self.cursor.room_fault(at, total.into()));
        }
        self.budget.node_path(total as usize).at(at)?;
        let (mut texts, mut parts) = (Vec::new(), Vec::new());
        let converted = if D::HAS_LENIENT_TEXT { total } else { 0 };
        if parts.try_reserve_exact(total as usize).is_err()
            || texts.try_reserve_exact(converted as usize).is_err()
        {
            let bytes = total as usize * size_of::<Text<'_>>();
            return Err(self.error_at(at, ErrorKind::OutOfMemory(bytes)));
        }
        for _ in 0..converted {
            let (bytes, at) = self.node_path_part()?;
            texts.push(self.text(bytes, at)?);
        }
        parts.extend(texts.iter().map(|text| Text::Utf8(text)));
        for _ in converted..total {
            let (bytes, at) = self.node_path_part()?;
            parts.push(Text::Utf8(self.name_text(bytes, at)?));
        }
        let (names, subnames) = parts.split_at(parts.len().min(names as usize));
        // Godot 3 ignores the absolute flag of an empty path.
        let absolute = is_absolute && (D::HAS_FLAGS || total > 0);
        sink.node_path(NodePathParts { absolute, names, subnames }).at(at)
    }
}

#[inline(always)]
fn find_nul(text: &[u8]) -> Option<usize> {
    /// Maximum length of text that is searched with a loop. The compiler vectorises the loop, so it costs
    /// less than a call.
    const SHORT: usize = 32;

    if text.len() <= SHORT && text.iter().fold(true, |all, &byte| all & (byte != 0)) {
        return None;
    }
    memchr::memchr(0, text)
}
