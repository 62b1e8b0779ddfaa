//! Bits in bytes: the first bit is the lowest of the first byte.

use crate::error::{Error, Result};

/// The most ones of a [`BitWriter::rice`] code; after them, the number follows in full.
pub const MOST_ONES: u32 = 16;

/// Appends bits to bytes.
#[derive(Default)]
pub struct BitWriter {
    bytes: Vec<u8>,
    pending: u64,
    /// The number of pending bits, below 32.
    count: u32,
}

impl BitWriter {
    /// Appends the lowest `bits` bits of a number, at most 32. The others must be 0.
    #[inline(always)]
    pub fn put(&mut self, number: u32, bits: u32) {
        self.pending |= u64::from(number) << self.count;
        self.count += bits;
        if self.count >= 32 {
            self.bytes.extend_from_slice(&(self.pending as u32).to_le_bytes());
            self.pending >>= 32;
            self.count -= 32;
        }
    }

    /// Appends a bit.
    #[inline(always)]
    pub fn bit(&mut self, bit: bool) {
        self.put(bit.into(), 1);
    }

    /// Appends a number below `values`, at most 2^32, as a truncated binary code: `bits`, which all values need, or one
    /// bit less for the lowest numbers if not all codes of that length are needed.
    #[inline(always)]
    pub fn put_below(&mut self, number: u32, values: u64, bits: u32) {
        let short = (1_u64 << bits) - values;
        if short == 0 {
            self.put(number, bits);
        } else if u64::from(number) < short {
            self.put(number, bits - 1);
        } else {
            let code = u64::from(number) + short;
            self.put((code >> 1) as u32, bits - 1);
            self.put((code & 1) as u32, 1);
        }
    }

    /// Appends a number above 0 as an Elias gamma code: its length less one in ones, a zero, and its bits after the first.
    pub fn gamma(&mut self, number: u32) {
        let bits = number.ilog2();
        self.ones(bits);
        self.put(number ^ (1 << bits), bits);
    }

    /// Appends a number as a Rice code: its part from bit `k` on in ones, a zero, and its lowest `k` bits. If that would
    /// be [`MOST_ONES`] ones, appends them without a zero, and returns false: the caller appends the number differently.
    #[inline(always)]
    pub fn rice(&mut self, number: u64, k: u32) -> bool {
        let ones = number >> k;
        if ones >= u64::from(MOST_ONES) {
            self.put((1 << MOST_ONES) - 1, MOST_ONES);
            return false;
        }
        self.ones(ones as u32);
        self.put((number & ((1 << k) - 1)) as u32, k);
        true
    }

    /// Appends ones, at most 31, and a zero.
    #[inline(always)]
    fn ones(&mut self, ones: u32) {
        self.put(((1_u64 << ones) - 1) as u32, ones + 1);
    }

    /// Appends whole bytes, which need not start at a byte.
    pub fn bytes(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.put((*byte).into(), 8));
    }

    /// The number of bits so far.
    pub fn count(&self) -> usize {
        self.bytes.len() * 8 + self.count as usize
    }

    /// The bytes. Zeros fill the last one.
    pub fn into_bytes(mut self) -> Vec<u8> {
        let rest = self.count.div_ceil(8) as usize;
        self.bytes.extend_from_slice(&self.pending.to_le_bytes()[..rest]);
        self.bytes
    }
}

/// Takes bits from bytes.
pub struct BitReader<'a> {
    bytes: &'a [u8],
    /// The next bytes to be loaded.
    at: usize,
    loaded: u64,
    /// The number of loaded bits.
    count: u32,
}

impl<'a> BitReader<'a> {
    /// A reader at the first bit.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, loaded: 0, count: 0 }
    }

    /// Takes the next `bits` bits, at most 32.
    ///
    /// # Errors
    /// Fails if the data ends before.
    #[inline(always)]
    pub fn take(&mut self, bits: u32) -> Result<u32> {
        if self.count < bits {
            self.load()?;
            if self.count < bits {
                return Err(Error::CutOff);
            }
        }
        let number = (self.loaded & ((1_u64 << bits) - 1)) as u32;
        self.loaded >>= bits;
        self.count -= bits;
        Ok(number)
    }

    #[inline(always)]
    fn load(&mut self) -> Result<()> {
        if let Some(four) = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<4>()) {
            self.loaded |= u64::from(u32::from_le_bytes(*four)) << self.count;
            self.at += 4;
            self.count += 32;
            return Ok(());
        }
        self.load_last();
        Ok(())
    }

    #[cold]
    fn load_last(&mut self) {
        for byte in &self.bytes[self.at.min(self.bytes.len())..] {
            self.loaded |= u64::from(*byte) << self.count;
            self.count += 8;
        }
        self.at = self.bytes.len();
    }

    /// Takes a bit.
    ///
    /// # Errors
    /// As [`BitReader::take`].
    #[inline(always)]
    pub fn bit(&mut self) -> Result<bool> {
        Ok(self.take(1)? == 1)
    }

    /// Takes a number written by [`BitWriter::put_below`].
    ///
    /// # Errors
    /// As [`BitReader::take`].
    #[inline(always)]
    pub fn take_below(&mut self, values: u64, bits: u32) -> Result<u32> {
        let short = (1_u64 << bits) - values;
        if short == 0 {
            return self.take(bits);
        }
        let code = self.take(bits - 1)?;
        if u64::from(code) < short {
            return Ok(code);
        }
        Ok(((u64::from(code) << 1 | u64::from(self.take(1)?)) - short) as u32)
    }

    /// Takes a number written by [`BitWriter::gamma`].
    ///
    /// # Errors
    /// As [`BitReader::take`]; also fails for a number of more than 32 bits.
    pub fn gamma(&mut self) -> Result<u32> {
        match self.ones(32)? {
            bits @ 0..32 => Ok(1 << bits | self.take(bits)?),
            _ => Err(Error::invalid("a number has more than 32 bits")),
        }
    }

    /// Takes a number written by [`BitWriter::rice`]; `None` if it is written differently.
    ///
    /// # Errors
    /// As [`BitReader::take`].
    #[inline(always)]
    pub fn rice(&mut self, k: u32) -> Result<Option<u64>> {
        match self.ones(MOST_ONES)? {
            MOST_ONES => Ok(None),
            ones => Ok(Some(u64::from(ones) << k | u64::from(self.take(k)?))),
        }
    }

    /// Takes ones and a zero, or `most` ones. Returns the number of ones.
    #[inline(always)]
    fn ones(&mut self, most: u32) -> Result<u32> {
        if self.count < 32 {
            self.load()?;
        }
        let ones = self.loaded.trailing_ones().min(most);
        let bits = ones + u32::from(ones < most);
        if bits > self.count {
            return Err(Error::CutOff);
        }
        self.loaded >>= bits;
        self.count -= bits;
        Ok(ones)
    }

    /// Takes whole bytes, which need not start at a byte.
    ///
    /// # Errors
    /// As [`BitReader::take`].
    pub fn bytes(&mut self, count: usize) -> Result<Vec<u8>> {
        if count > self.left() / 8 {
            return Err(Error::CutOff);
        }
        (0..count).map(|_| self.take(8).map(|byte| byte as u8)).collect()
    }

    /// The number of bits that are left.
    pub fn left(&self) -> usize {
        (self.bytes.len() - self.at.min(self.bytes.len())) * 8 + self.count as usize
    }

    /// Ends reading.
    ///
    /// # Errors
    /// Fails if a whole byte is left, or a bit that is left is not 0.
    pub fn finish(mut self) -> Result<()> {
        let left = self.left();
        if left >= 8 {
            return Err(Error::invalid("bytes follow the last value"));
        }
        match self.take(left as u32)? {
            0 => Ok(()),
            _ => Err(Error::invalid("a bit after the last value is not 0")),
        }
    }
}
