//! Runs: consecutive ints, floats or mathematical values of one type in an Array.

use super::cursor::Cursor;
use super::dialect::Dialect;
use super::header::run_bytes;
use crate::format::{FLAG_64, VariantType};
use crate::lanes;

#[derive(Debug)]
pub struct Run<'a> {
    bytes: &'a [u8],
    /// The offset of the next value.
    pub at: usize,
    /// The offset of the last value.
    pub last: usize,
    /// The maximum number of further values.
    pub left: usize,
}

impl<'a> Cursor<'a> {
    /// Whether the next two values have the same type, and values of this type may form a run.
    #[inline(always)]
    pub fn is_at_run<D: Dialect>(&self) -> bool {
        let rest = self.rest();
        let Some([id, _, flags, _]) = rest.first_chunk() else { return false };
        let size = run_bytes::<D>(u32::from(*id) | u32::from(*flags) << 16);
        size > 0 && rest.get(4 + size) == Some(id)
    }

    /// The run of at most `most` values that starts here.
    #[inline(always)]
    pub fn run(&self, most: usize) -> Run<'a> {
        let at = self.position();
        Run { bytes: self.bytes(), at, last: at, left: most }
    }
}

impl Run<'_> {
    /// Reads the next int or float: whether it is wide, and its payload. Returns `None` if the next value has
    /// another type or `accept` refuses it. Also returns `None` within the last 11 bytes, since each read takes
    /// 12.
    #[inline(always)]
    fn next_number(&mut self, ty: VariantType, accept: impl Fn(bool, u64) -> bool) -> Option<(bool, u64)> {
        let chunk = self.bytes.get(self.at..)?.first_chunk::<12>()?;
        let [a, b, c, d, payload @ ..] = *chunk;
        let payload = u64::from_le_bytes(payload);
        // An int or a float has the same id in every dialect.
        let narrow = u32::from(ty.id());
        let header = u32::from_le_bytes([a, b, c, d]);
        let wide = header != narrow;
        if self.left == 0 || (wide && header != narrow | FLAG_64) || !accept(wide, payload) {
            return None;
        }
        self.left -= 1;
        self.last = self.at;
        self.at += if wide { 12 } else { 8 };
        Some((wide, payload))
    }

    /// The next ints. With `all`, includes ints that take more bytes than they need.
    #[inline(always)]
    pub fn ints(&mut self, all: bool) -> impl Iterator<Item = i64> {
        let accept = move |wide: bool, payload: u64| !wide || all || i32::try_from(payload as i64).is_err();
        std::iter::from_fn(move || {
            let (wide, payload) = self.next_number(VariantType::Int, accept)?;
            Some(if wide { payload as i64 } else { (payload as i32).into() })
        })
    }

    /// The next floats. With `all`, includes floats that take more bytes than they need, and 4-byte
    /// NaNs.
    #[inline(always)]
    pub fn floats(&mut self, all: bool) -> impl Iterator<Item = f64> {
        let accept = move |wide: bool, payload: u64| {
            let value = f64::from_bits(payload);
            all || if wide {
                f64::from(value as f32) != value
            } else {
                !f32::from_bits(payload as u32).is_nan()
            }
        };
        std::iter::from_fn(move || {
            let (wide, payload) = self.next_number(VariantType::Float, accept)?;
            Some(if wide {
                f64::from_bits(payload)
            } else {
                lanes::widen_quieting_nan(f32::from_bits(payload as u32))
            })
        })
    }

    /// The components of the next values with this header.
    #[inline(always)]
    pub fn fixed<const N: usize>(&mut self, header: u32) -> impl Iterator<Item = [u8; N]> {
        std::iter::from_fn(move || {
            let value = self.bytes.get(self.at..)?.get(..4 + N)?;
            if self.left == 0 || value.first_chunk() != Some(&header.to_le_bytes()) {
                return None;
            }
            self.left -= 1;
            self.last = self.at;
            self.at += 4 + N;
            value.last_chunk().copied()
        })
    }
}
