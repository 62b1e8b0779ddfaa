//! [`Buffer`]: an output buffer whose length prefixes are filled in later.

use variant_codec::format::MAX_BYTES;
use variant_codec::{ErrorKind, Result};

use crate::varint::{LONGEST_VARINT, put_varint, varint_len};

/// An output buffer. Faster than appending to a [`Vec`], because the buffer initialises bytes in advance.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    used: usize,
}

impl Buffer {
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, used: 0 }
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        self.used
    }

    #[inline(always)]
    pub fn written(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    pub fn clear(&mut self) {
        self.used = 0;
    }

    pub fn into_bytes(mut self) -> Vec<u8> {
        self.bytes.truncate(self.used);
        self.bytes
    }

    #[inline(always)]
    fn reserve(&mut self, bytes: usize) -> Result<()> {
        if bytes > self.bytes.len() - self.used { self.grow(bytes) } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, bytes: usize) -> Result<()> {
        const LEAST: usize = 256;

        let needed = self.used.saturating_add(bytes);
        if needed > MAX_BYTES + LONGEST_VARINT {
            return Err(ErrorKind::TooLarge.into());
        }
        let wanted = needed.max(self.bytes.len() * 2).max(LEAST);
        let more = wanted - self.bytes.len();
        self.bytes.try_reserve(more).map_err(|_| ErrorKind::OutOfMemory(more))?;
        self.bytes.resize(wanted, 0);
        Ok(())
    }

    /// Appends the bytes that `write` puts at the start of an array of `N` bytes. `write` returns their
    /// number.
    #[inline(always)]
    pub fn put<const N: usize>(&mut self, write: impl FnOnce(&mut [u8; N]) -> usize) -> Result<()> {
        self.reserve(N)?;
        if let Some(room) = self.bytes[self.used..].first_chunk_mut() {
            self.used += write(room);
        }
        Ok(())
    }

    /// Appends `bytes` bytes and returns them for the caller to fill.
    #[inline(always)]
    pub fn take(&mut self, bytes: usize) -> Result<&mut [u8]> {
        self.reserve(bytes)?;
        let start = self.used;
        self.used += bytes;
        Ok(&mut self.bytes[start..self.used])
    }

    #[inline(always)]
    pub fn put_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.take(bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    #[inline(always)]
    pub fn put_tagged(&mut self, tag: u64, tag_len: u8, value: u64) -> Result<()> {
        self.put::<{ 8 + LONGEST_VARINT }>(|room| {
            room[..8].copy_from_slice(&tag.to_le_bytes());
            let at = usize::from(tag_len);
            match room.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
                Some(rest) => at + put_varint(rest, value),
                None => at,
            }
        })
    }

    #[inline(always)]
    pub fn put_varint(&mut self, value: u64) -> Result<()> {
        self.put(|room| put_varint(room, value))
    }

    /// Writes the length prefix at `at`, where `reserved` bytes are reserved. Moves the contents if the
    /// prefix needs more bytes.
    #[inline(always)]
    pub fn close(&mut self, at: usize, reserved: usize) -> Result<()> {
        let len = self.used - at - reserved;
        if reserved == 1 && len < 0x80 {
            self.bytes[at] = len as u8;
            return Ok(());
        }
        self.close_long(at, reserved, len)
    }

    #[inline(never)]
    fn close_long(&mut self, at: usize, reserved: usize, len: usize) -> Result<()> {
        let wanted = varint_len(len as u64);
        if wanted > reserved {
            self.reserve(wanted - reserved)?;
            self.bytes.copy_within(at + reserved..self.used, at + wanted);
            self.used += wanted - reserved;
        }
        let mut varint = [0; LONGEST_VARINT];
        let written = put_varint(&mut varint, len as u64);
        self.bytes[at..at + written].copy_from_slice(&varint[..written]);
        Ok(())
    }

    /// Reorders the bytes from `start` on. `pieces` are their ranges in the new order, and `spare` is scratch
    /// memory.
    pub fn rearrange(
        &mut self,
        start: usize,
        pieces: impl Iterator<Item = std::ops::Range<usize>>,
        spare: &mut Vec<u8>,
    ) -> Result<()> {
        let bytes = self.used - start;
        spare.clear();
        spare.try_reserve(bytes).map_err(|_| ErrorKind::OutOfMemory(bytes))?;
        pieces.for_each(|piece| spare.extend_from_slice(&self.bytes[piece]));
        self.bytes[start..start + spare.len()].copy_from_slice(spare);
        Ok(())
    }
}
