//! Single numbers and bytes, and what is wrong with them.

use super::Decoder;
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Limit, Oddity, Result};
use crate::findings::SpanKind;
use crate::format;
use crate::limits::Strictness;

impl<'a, D: Dialect, const NOTES: bool> Decoder<'a, D, NOTES> {
    #[inline(always)]
    pub(super) fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn error(&self, kind: ErrorKind) -> Error {
        Error::new(kind).at(self.at.min(self.bytes.len()))
    }

    #[cold]
    #[inline(never)]
    pub(super) fn too_deep(&self) -> Error {
        let limit = self.max_depth();
        self.error(match limit {
            format::MAX_DEPTH => ErrorKind::TooDeep,
            _ => ErrorKind::LimitExceeded(Limit::Depth, limit.into()),
        })
    }

    #[inline(always)]
    pub(super) fn max_depth(&self) -> u32 {
        self.budget.limits.max_depth.min(format::MAX_DEPTH)
    }

    /// Refuses a container that is too deep inside of a key, in both strictnesses: an engine that hashes one complains about
    /// each container down there.
    #[inline(always)]
    pub(super) fn check_key_depth(&mut self, at: usize) -> Result<()> {
        if self.depth > self.max_container_depth {
            return Err(self.error_at(at, ErrorKind::KeyTooDeep { limit: format::MAX_KEY_DEPTH }));
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    pub(super) fn error_at(&self, at: usize, kind: ErrorKind) -> Error {
        Error::new(kind).at(at)
    }

    /// In strict reading an error, in the engine's nothing.
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

    /// Refuses, or only notes, what the engine reads.
    #[inline(always)]
    pub(super) fn refuse(&mut self, at: usize, kind: impl FnOnce() -> ErrorKind) -> Result<()> {
        if NOTES {
            self.notes.add(at, kind);
            return Ok(());
        }
        Err(self.error_at(at, kind()))
    }

    /// Notes what the bytes from `start` on are there for.
    #[inline(always)]
    pub(super) fn span(&mut self, start: usize, kind: SpanKind) {
        if NOTES {
            self.spans.add(start, kind);
        }
    }

    #[inline(always)]
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        match self.bytes.get(self.at..).and_then(|rest| rest.get(..count)) {
            Some(taken) => {
                self.at += count;
                Ok(taken)
            }
            None => Err(self.error(ErrorKind::UnexpectedEnd { needed: count, left: self.left() })),
        }
    }

    #[inline(always)]
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>()) {
            Some(taken) => {
                self.at += N;
                Ok(*taken)
            }
            None => Err(self.error(ErrorKind::UnexpectedEnd { needed: N, left: self.left() })),
        }
    }

    #[inline(always)]
    pub(super) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// A number that is not itself what the value is made of.
    #[inline(always)]
    pub(super) fn u32_of(&mut self, kind: SpanKind) -> Result<u32> {
        self.span(self.at, kind);
        let number = self.u32()?;
        self.span(self.at, SpanKind::Content);
        Ok(number)
    }

    #[inline(always)]
    pub(super) fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A count of things that take at least `smallest` bytes each; a negative one is an error.
    #[inline(always)]
    pub(super) fn count(&mut self, smallest: usize) -> Result<usize> {
        let at = self.at;
        let count = self.u32_of(SpanKind::Count)? as i32;
        match usize::try_from(count) {
            Ok(count) if count <= self.left() / smallest => Ok(count),
            _ => Err(self
                .error_at(at, ErrorKind::BadCount { count: count.into(), left: self.bytes.len() - self.at })),
        }
    }

    /// The count of a container, whose top bit is ignored.
    #[inline(always)]
    pub(super) fn container_count(&mut self, smallest: usize) -> Result<usize> {
        let at = self.at;
        let raw = self.u32_of(SpanKind::Count)?;
        self.odd(raw & !format::COUNT_MASK != 0, at, Oddity::SharedBit)?;
        let count = (raw & format::COUNT_MASK) as usize;
        if count > self.left() / smallest {
            return Err(self.error_at(at, ErrorKind::BadCount { count: count as i64, left: self.left() }));
        }
        Ok(count)
    }

    /// What follows so many bytes up to the next word.
    #[inline(always)]
    pub(super) fn padding(&mut self, count: usize) -> Result<&'a [u8]> {
        self.span(self.at, SpanKind::Padding);
        let padding = self.take(format::padding(count))?;
        self.span(self.at, SpanKind::Content);
        Ok(padding)
    }

    /// The header of the next value, where there is one.
    #[inline(always)]
    pub(super) fn next_header(&self) -> Option<u32> {
        self.bytes.get(self.at..)?.first_chunk().copied().map(u32::from_le_bytes)
    }
}
