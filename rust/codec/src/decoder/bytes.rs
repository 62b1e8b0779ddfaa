//! Reads numbers, counts and texts, and reports errors and oddities.

use super::Decoder;
use crate::error::{Error, ErrorKind, Foreign, Limit, Oddity, Result};
use crate::findings::SpanKind;
use crate::format::{self, VariantType};
use crate::lanes;
use crate::limits::Strictness;
use crate::wire::cursor::{Cursor, Padded};
use crate::wire::dialect::Dialect;
use crate::wire::header::Header;

impl<'a, D: Dialect, const NOTES: bool> Decoder<'a, D, NOTES> {
    #[cold]
    #[inline(never)]
    pub(super) fn error(&self, kind: ErrorKind) -> Error {
        Error::new(kind).at(self.position().min(self.cursor.bytes().len()))
    }

    /// Fails if a value here is nested too deeply.
    #[inline(always)]
    pub(super) fn check_depth(&self) -> Result<()> {
        let limits = self.budget.limits;
        if self.depth > limits.deepest() { Err(self.error(limits.exceeded(Limit::Depth))) } else { Ok(()) }
    }

    /// Refuses a container nested too deeply in a key, at any strictness: see [`format::MAX_KEY_DEPTH`].
    #[inline(always)]
    pub(super) fn check_container_in_key(&mut self, at: usize) -> Result<()> {
        if self.depth > self.max_container_depth {
            return Err(self.error_at(at, ErrorKind::KeyTooDeep { limit: format::MAX_KEY_DEPTH }));
        }
        if self.in_key && self.budget.limits.limits_key_comparisons() {
            return Err(self.error_at(at, ErrorKind::ContainerKey));
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    pub(super) fn error_at(&self, at: usize, kind: ErrorKind) -> Error {
        Error::new(kind).at(at)
    }

    /// Refuses an oddity in strict reading, unless it is harmless and the limits allow such oddities.
    #[inline(always)]
    pub(super) fn odd(&mut self, is_odd: bool, at: usize, oddity: Oddity) -> Result<()> {
        if is_odd
            && self.strictness == Strictness::Strict
            && !(self.budget.limits.allow_non_canonical && oddity.is_harmless())
        {
            return self.refuse(at, || ErrorKind::NotCanonical(oddity));
        }
        Ok(())
    }

    /// Refuses an oddity that the engine accepts, or only notes it with `NOTES`.
    #[inline(always)]
    pub(super) fn refuse(&mut self, at: usize, kind: impl FnOnce() -> ErrorKind) -> Result<()> {
        if NOTES {
            self.notes.add(at, kind);
            return Ok(());
        }
        Err(self.error_at(at, kind()))
    }

    /// Notes the purpose of the bytes from `start` on.
    #[inline(always)]
    pub(super) fn span(&mut self, start: usize, kind: SpanKind) {
        if NOTES {
            self.spans.add(start, kind);
        }
    }

    #[inline(always)]
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        self.cursor.try_take(count)
    }

    #[inline(always)]
    pub(super) fn u32(&mut self) -> Result<u32> {
        self.cursor.u32().ok_or_else(|| self.cursor.end_fault(4))
    }

    /// Reads a number with a purpose other than content.
    #[inline(always)]
    pub(super) fn u32_of(&mut self, kind: SpanKind) -> Result<u32> {
        self.span(self.position(), kind);
        let number = self.u32()?;
        self.span(self.position(), SpanKind::Content);
        Ok(number)
    }

    #[inline(always)]
    pub(super) fn u64(&mut self) -> Result<u64> {
        self.cursor.u64().ok_or_else(|| self.cursor.end_fault(8))
    }

    #[inline(always)]
    pub(crate) fn int(&mut self, wide: bool) -> Result<i64> {
        if wide { self.u64().map(|int| int as i64) } else { self.u32().map(|int| (int as i32).into()) }
    }

    #[inline(always)]
    pub(super) fn float(&mut self, wide: bool) -> Result<f64> {
        if wide {
            self.u64().map(f64::from_bits)
        } else {
            self.u32().map(|bits| lanes::widen_quieting_nan(f32::from_bits(bits)))
        }
    }

    /// The header with these bits, which start at `at`.
    #[inline(always)]
    pub(super) fn header_of(&self, bits: u32, at: usize) -> Result<Header> {
        let unknown = || self.or_foreign(at, self.error_at(at, D::unknown_type(bits as u8)));
        Header::of::<D>(bits).ok_or_else(unknown)
    }

    /// Refuses a header with undefined bits in strict reading.
    #[inline(always)]
    pub(super) fn check_header_bits(&mut self, bits: u32, ty: VariantType, at: usize) -> Result<()> {
        let odd = self.odd(bits & !D::header_mask(ty) != 0, at, Oddity::HeaderBits);
        odd.map_err(|error| self.or_foreign(at, error))
    }

    /// The error for an invalid header: the format of the data if the header is the first and shows another format,
    /// or else `error`.
    #[cold]
    #[inline(never)]
    fn or_foreign(&self, at: usize, error: Error) -> Error {
        let data = self.cursor.bytes().get(at..).filter(|_| self.depth == 0);
        match data.and_then(Foreign::by_head) {
            Some(format) => error.with_kind(format.into()),
            None => error,
        }
    }

    /// Reads a count of items that take at least `smallest` bytes each. A negative count is an error.
    #[inline(always)]
    pub(super) fn count(&mut self, smallest: usize) -> Result<usize> {
        let start = self.cursor;
        let count = self.cursor.count(smallest);
        self.counted(start, count, Cursor::count_fault)
    }

    /// Like [`Decoder::count`], but reads a negative count as zero, as the engine does.
    #[inline(always)]
    pub(super) fn signed_count(&mut self, smallest: usize) -> Result<usize> {
        let start = self.cursor;
        self.odd(start.is_at_negative(), start.position(), Oddity::NegativeCount)?;
        let count = self.cursor.signed_count(smallest);
        self.counted(start, count, Cursor::count_fault)
    }

    /// Reads the count of a container and ignores its top bit.
    #[inline(always)]
    pub(super) fn container_count(&mut self, smallest: usize) -> Result<usize> {
        let start = self.cursor;
        self.odd(start.is_at_negative(), start.position(), Oddity::SharedBit)?;
        let mut count = self.cursor.container_count(smallest);
        // The items before the end of the bytes can still be noted.
        if NOTES && count.is_none() {
            let fault = start.container_count_fault();
            if let ErrorKind::BadCount { count: announced, .. } = *fault.kind() {
                count = usize::try_from(announced).ok();
                self.spans.bad_count = Some(fault);
            }
        }
        self.counted(start, count, Cursor::container_count_fault)
    }

    /// With `NOTES`, the error for the count that was just read, if the bytes cannot hold so many items. They are read
    /// nevertheless, up to the end of the bytes.
    #[inline(always)]
    pub(super) fn take_bad_count(&mut self) -> Option<Error> {
        if NOTES { self.spans.bad_count.take() } else { None }
    }

    /// The value read at `start`, or the error that `fault` returns for `start`.
    #[inline(always)]
    pub(super) fn counted<T>(
        &mut self,
        start: Cursor<'a>,
        found: Option<T>,
        fault: impl FnOnce(Cursor<'a>) -> Error,
    ) -> Result<T> {
        self.span(start.position(), SpanKind::Count);
        let found = found.ok_or_else(|| fault(start))?;
        self.span(self.position(), SpanKind::Content);
        Ok(found)
    }

    /// Reads a length-prefixed text and skips its padding.
    #[inline(always)]
    pub(super) fn counted_bytes(&mut self, garbage_padding: bool) -> Result<&'a [u8]> {
        let start = self.cursor;
        self.span(start.position(), SpanKind::Count);
        let found = self.cursor.text().ok_or_else(|| start.text_fault())?;
        self.padded(found, start.position(), garbage_padding)
    }

    /// Notes the spans of a text whose length prefix is at `at`, checks its padding and returns its bytes.
    #[inline(always)]
    pub(super) fn padded(
        &mut self,
        Padded { text, padding }: Padded<'a>,
        at: usize,
        garbage_padding: bool,
    ) -> Result<&'a [u8]> {
        self.span(at, SpanKind::Count);
        self.span(at + 4, SpanKind::Content);
        self.span(at + 4 + text.len(), SpanKind::Padding);
        self.span(self.position(), SpanKind::Content);
        if !garbage_padding && !D::HAS_CARELESS_WRITERS {
            self.odd(padding.iter().any(|&byte| byte != 0), at, Oddity::Padding)?;
        }
        Ok(text)
    }
}
