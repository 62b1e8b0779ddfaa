//! Destinations of encoded bytes: [`Output`] and its implementations.

use crate::error::{ErrorKind, Result};
use crate::{code_units as utf8, format};

/// A destination of encoded bytes.
pub trait Output {
    /// The number of bytes appended so far.
    fn len(&self) -> usize;
    /// Announces exactly how many bytes come next.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`] if they do not fit.
    fn reserve(&mut self, bytes: usize) -> Result<()>;
    /// Appends bytes.
    fn put(&mut self, bytes: &[u8]);
    /// Appends `count` zeros, at most three.
    fn put_zeros(&mut self, count: usize);
    /// Appends the engine's code units as UTF-8; `bytes` is their [`utf8_len`](crate::text::utf8_len).
    fn put_utf32(&mut self, units: &[u32], bytes: usize);
    /// Appends length-prefixed, padded text in one pass: code units below 0x20_0000 as UTF-8, then `tail`
    /// NULs (at most one). The length includes the NULs. Returns `false`, and appends nothing, if the caller
    /// must use the other functions instead.
    fn put_text(&mut self, units: &[u32], tail: usize) -> bool {
        let _ = (units, tail);
        false
    }
    /// Passes a block of `N` bytes to `write`, which returns how many of its first bytes to append.
    ///
    /// Returns `false` without calling `write` if there is no memory for the whole block. Fewer bytes may
    /// still fit.
    fn put_block<const N: usize>(&mut self, write: impl FnOnce(&mut [u8; N]) -> usize) -> bool;
    /// Whether nothing has been appended.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cold]
fn grow(bytes: &mut Vec<u8>, count: usize) -> Result<()> {
    bytes.try_reserve(count).map_err(|_| ErrorKind::OutOfMemory(count).into())
}

impl Output for Vec<u8> {
    #[inline(always)]
    fn len(&self) -> usize {
        Vec::len(self)
    }

    #[inline(always)]
    fn reserve(&mut self, bytes: usize) -> Result<()> {
        if self.capacity() - Vec::len(self) < bytes { grow(self, bytes) } else { Ok(()) }
    }

    #[inline(always)]
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    #[inline(always)]
    fn put_zeros(&mut self, count: usize) {
        // A copy of a fixed size is one store; one of up to three bytes is a call.
        let end = Vec::len(self) + count;
        self.extend_from_slice(&[0; 4]);
        self.truncate(end);
    }

    #[inline(always)]
    fn put_block<const N: usize>(&mut self, write: impl FnOnce(&mut [u8; N]) -> usize) -> bool {
        let start = Vec::len(self);
        if Output::reserve(self, N).is_err() {
            return false;
        }
        self.resize(start + N, 0);
        let written = self[start..].first_chunk_mut::<N>().map_or(0, write);
        self.truncate(start + written);
        true
    }

    #[inline]
    fn put_utf32(&mut self, units: &[u32], bytes: usize) {
        if bytes == units.len() {
            self.extend(units.iter().map(|&unit| unit as u8));
        } else {
            let start = Vec::len(self);
            self.resize(start + bytes, 0);
            utf8::put_utf8(&mut self[start..], units);
        }
    }
}

/// An [`Output`] that fills storage of fixed or growing size from its start. It is faster than appending to a
/// [`Vec`].
#[derive(Debug)]
pub struct Buffer<B> {
    bytes: B,
    used: usize,
}

/// The storage of a [`Buffer`].
pub trait Storage: AsMut<[u8]> + AsRef<[u8]> {
    /// Grows to at least `bytes` bytes, and returns whether that was possible.
    fn grow(&mut self, bytes: usize) -> bool;
}

impl Storage for &mut [u8] {
    #[cold]
    fn grow(&mut self, _bytes: usize) -> bool {
        false
    }
}

impl Storage for &mut Vec<u8> {
    #[cold]
    fn grow(&mut self, bytes: usize) -> bool {
        Storage::grow(*self, bytes)
    }
}

impl Storage for Vec<u8> {
    #[cold]
    fn grow(&mut self, bytes: usize) -> bool {
        let wanted = bytes.max(self.len().saturating_mul(2));
        if self.try_reserve(wanted - self.len()).is_err() {
            return false;
        }
        self.resize(wanted, 0);
        true
    }
}

impl<B: Storage> Buffer<B> {
    /// A buffer with nothing written yet.
    pub fn new(bytes: B) -> Self {
        Self { bytes, used: 0 }
    }

    /// Discards the bytes from `start` on.
    #[inline(always)]
    pub(crate) fn truncate(&mut self, start: usize) {
        self.used = self.used.min(start);
    }

    /// The bytes written so far.
    pub fn written(&self) -> &[u8] {
        &self.bytes.as_ref()[..self.used]
    }

    /// Takes the next `count` bytes, which the caller must have reserved.
    #[inline(always)]
    fn take(&mut self, count: usize) -> &mut [u8] {
        let start = self.used;
        self.used += count;
        &mut self.bytes.as_mut()[start..self.used]
    }
}

impl<B: Storage> Output for Buffer<B> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.used
    }

    #[inline(always)]
    fn reserve(&mut self, bytes: usize) -> Result<()> {
        if bytes > self.bytes.as_ref().len() - self.used && !self.bytes.grow(self.used.saturating_add(bytes))
        {
            return Err(ErrorKind::OutOfMemory(bytes).into());
        }
        Ok(())
    }

    #[inline(always)]
    fn put(&mut self, bytes: &[u8]) {
        self.take(bytes.len()).copy_from_slice(bytes);
    }

    #[inline(always)]
    fn put_zeros(&mut self, count: usize) {
        self.take(count).fill(0);
    }

    #[inline(always)]
    fn put_block<const N: usize>(&mut self, write: impl FnOnce(&mut [u8; N]) -> usize) -> bool {
        if Output::reserve(self, N).is_err() {
            return false;
        }
        let block = self.bytes.as_mut().get_mut(self.used..).and_then(|rest| rest.first_chunk_mut::<N>());
        self.used += block.map_or(0, write);
        true
    }

    #[inline]
    fn put_utf32(&mut self, units: &[u32], bytes: usize) {
        utf8::put_utf8(self.take(bytes), units);
    }

    #[inline]
    fn put_text(&mut self, units: &[u32], tail: usize) -> bool {
        /// The maximum number of code units that are written without measuring. For longer text, the reserved
        /// upper bound would be far more memory than the text is likely to take.
        const LONGEST: usize = 1 << 12;
        const COUNT: usize = size_of::<u32>();

        debug_assert!(tail <= 1, "at most one NUL");
        // The upper bound: the length prefix, 4 bytes per unit with the units rounded up to whole
        // blocks, and four zeros.
        let most = COUNT + units.len().next_multiple_of(utf8::UNITS) * 4 + COUNT;
        if units.len() > LONGEST || self.reserve(most).is_err() {
            return false;
        }
        let free = &mut self.bytes.as_mut()[self.used..];
        let Some((count, text)) = free.split_first_chunk_mut::<COUNT>() else { return false };
        let bytes = if units.iter().fold(0, |all, unit| all | unit) < 0x80 {
            text.iter_mut().zip(units).for_each(|(byte, unit)| *byte = *unit as u8);
            units.len()
        } else {
            match utf8::put_units(text, units) {
                Some(bytes) => bytes,
                None => return false,
            }
        };
        let counted = bytes + tail;
        *count = (counted as u32).to_le_bytes();
        // The tail and the padding; zeros beyond them are not part of the output.
        text[bytes..bytes + 4].fill(0);
        self.used += COUNT + format::padded(counted);
        true
    }
}

/// An [`Output`] that only counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count(pub(crate) usize);

impl Output for Count {
    #[inline(always)]
    fn len(&self) -> usize {
        self.0
    }

    #[inline(always)]
    fn reserve(&mut self, _bytes: usize) -> Result<()> {
        Ok(())
    }

    #[inline(always)]
    fn put(&mut self, bytes: &[u8]) {
        self.0 += bytes.len();
    }

    #[inline(always)]
    fn put_zeros(&mut self, count: usize) {
        self.0 += count;
    }

    #[inline(always)]
    fn put_block<const N: usize>(&mut self, write: impl FnOnce(&mut [u8; N]) -> usize) -> bool {
        self.0 += write(&mut [0; N]);
        true
    }

    #[inline(always)]
    fn put_utf32(&mut self, _units: &[u32], bytes: usize) {
        self.0 += bytes;
    }
}
