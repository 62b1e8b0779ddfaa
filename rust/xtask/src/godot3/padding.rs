//! The padding of NodePath parts, which Godot 3 leaves uninitialised.

use anyhow::{Context, Result, bail};

const FLAG_64: u32 = 1 << 16;
const AS_ID: u32 = 1 << 16;

/// Zeroes the padding of NodePath parts in one value that the engine wrote.
pub fn clear(bytes: &mut [u8]) -> Result<()> {
    let mut walk = Walk { bytes, at: 0 };
    walk.value()?;
    match walk.bytes.len() - walk.at {
        0 => Ok(()),
        left => bail!("{left} bytes behind the value"),
    }
}

struct Walk<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl Walk<'_> {
    fn value(&mut self) -> Result<()> {
        let header = self.word()?;
        let wide = header & FLAG_64 != 0;
        match header & 0xFF {
            0 | 16 => Ok(()),
            1 => self.skip(4),
            2 | 3 => self.skip(if wide { 8 } else { 4 }),
            4 => self.text(false),
            5 => self.skip(8),
            6 | 9 | 10 | 14 => self.skip(16),
            7 => self.skip(12),
            8 | 11 => self.skip(24),
            12 => self.skip(36),
            13 => self.skip(48),
            15 => {
                let names = self.count()?;
                let subnames = self.count()?;
                self.skip(4)?;
                (0..names + subnames).try_for_each(|_| self.text(true))
            }
            17 if header & AS_ID != 0 => self.skip(8),
            17 => {
                self.text(false)?;
                (0..self.count()?).try_for_each(|_| self.text(false).and_then(|()| self.value()))
            }
            18 => (0..2 * self.count()?).try_for_each(|_| self.value()),
            19 => (0..self.count()?).try_for_each(|_| self.value()),
            20 => self.text(false),
            23 => (0..self.count()?).try_for_each(|_| self.text(false)),
            pool @ (21 | 22 | 24 | 25 | 26) => {
                let lanes = match pool {
                    24 => 2,
                    25 => 3,
                    26 => 4,
                    _ => 1,
                };
                let count = self.count()?;
                self.skip(count * lanes * 4)
            }
            id => bail!("type {id} at byte {}", self.at - 4),
        }
    }

    /// Skips a length-prefixed byte string that is padded to whole words. With `clear`, zeroes the padding.
    fn text(&mut self, clear: bool) -> Result<()> {
        let length = self.word()? as usize;
        let start = self.at + length;
        self.skip(length.next_multiple_of(4))?;
        if clear {
            self.bytes[start..self.at].fill(0);
        }
        Ok(())
    }

    fn count(&mut self) -> Result<usize> {
        Ok((self.word()? & 0x7FFF_FFFF) as usize)
    }

    fn word(&mut self) -> Result<u32> {
        let word = self.bytes[self.at..].first_chunk().copied();
        self.at += 4;
        word.map(u32::from_le_bytes).context("the value is cut")
    }

    fn skip(&mut self, bytes: usize) -> Result<()> {
        self.at += bytes;
        if self.at > self.bytes.len() { bail!("the value is cut") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_padding_of_paths_is_cleared() {
        // [NodePath("ab:c"), "d"], with non-zero padding throughout.
        let text = "1300000002000000\
                    0f000000010000800100000000000000020000006162aabb0100000063aabbcc\
                    0400000001000000640a0b0c";
        let mut bytes = hex::decode(text).unwrap();
        clear(&mut bytes).unwrap();
        let cleared = text.replace("6162aabb", "61620000").replace("63aabbcc", "63000000");
        assert_eq!(hex::encode(&bytes), cleared);
        assert!(clear(&mut bytes[..20]).is_err());
        assert!(clear(&mut [0, 0, 0, 0, 0, 0, 0, 0]).is_err());
    }
}
