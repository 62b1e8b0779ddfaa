//! Numbers of one type that follow one another in an Array: written at once.

use std::ops::Range;

use super::Decoder;
use crate::dialect::Dialect;
use crate::error::{Locate, Result, Step};
use crate::events::{ElementType, Sink};
use crate::format::{self, VariantType};
use crate::lanes;
use crate::limits::Strictness;

impl<'a, D: Dialect, const NOTES: bool> Decoder<'a, D, NOTES> {
    /// Whether the next two values are numbers of one type: that is worth a run.
    #[inline(always)]
    pub(super) fn is_at_run(&self) -> bool {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some([id, _, flags, _]) = rest.first_chunk() else { return false };
        let size = run_bytes::<D>(*id, u32::from(*flags) << 16);
        size > 0 && rest.get(4 + size) == Some(id)
    }

    /// Pours those of the next elements that are of one type with nothing to be said against any of them, and returns
    /// how many there were.
    #[inline(never)]
    pub(super) fn decode_run<S: Sink>(
        &mut self,
        sink: &mut S,
        array: &mut S::Array,
        element: &ElementType<'_>,
        indexes: Range<usize>,
    ) -> Result<usize> {
        let Some(header) = self.next_header() else { return Ok(0) };
        let Some(ty) = D::type_of(header as u8) else { return Ok(0) };
        if header & !D::header_mask(ty) != 0
            || self.depth > self.max_depth()
            || (self.strictness == Strictness::Strict && !element.takes(ty))
        {
            return Ok(0);
        }
        // What is odd about numbers is harmless.
        let all = self.strictness == Strictness::Lenient || self.budget.limits.allow_non_canonical;
        let most = self.budget.values_left(ty).min(indexes.len());
        let mut run = Run { bytes: self.bytes, at: self.at, last: self.at, left: most };
        let written = match (ty, run_bytes::<D>(header as u8, header)) {
            (VariantType::Int, _) => sink.ints(array, &mut run.ints(all || D::HAS_CARELESS_WRITERS)),
            (VariantType::Float, _) => sink.floats(array, &mut run.floats(all)),
            (_, 8) => sink.fixed_run::<8>(array, ty, Self::precision(header), &mut run.fixed(header)),
            (_, 12) => sink.fixed_run::<12>(array, ty, Self::precision(header), &mut run.fixed(header)),
            (_, 16) => sink.fixed_run::<16>(array, ty, Self::precision(header), &mut run.fixed(header)),
            (_, 24) => sink.fixed_run::<24>(array, ty, Self::precision(header), &mut run.fixed(header)),
            (_, 32) => sink.fixed_run::<32>(array, ty, Self::precision(header), &mut run.fixed(header)),
            _ => return Ok(0),
        };
        let count = most - run.left;
        if let Err(error) = written {
            return Err(error.at(run.last).inside(Step::Index(indexes.start + count.saturating_sub(1))));
        }
        self.at = run.at;
        self.budget.values(ty, count).at(run.last)?;
        Ok(count)
    }
}

/// How many bytes follow the header of a value that may be part of a run; 0 for other types.
#[inline(always)]
fn run_bytes<D: Dialect>(id: u8, header: u32) -> usize {
    D::RUN_BYTES[usize::from(id)][usize::from(header & format::FLAG_64 != 0)].into()
}

/// Values of one type that follow one another.
struct Run<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where the last value started.
    last: usize,
    /// How many more there may be.
    left: usize,
}

impl Run<'_> {
    /// The header and payload of the next int or float and whether it is wide. None of the last few bytes, where a wide
    /// one would not fit.
    #[inline(always)]
    fn next_number(&mut self, ty: VariantType, accept: impl Fn(bool, u64) -> bool) -> Option<(bool, u64)> {
        let chunk = self.bytes.get(self.at..)?.first_chunk::<12>()?;
        let [a, b, c, d, payload @ ..] = *chunk;
        let payload = u64::from_le_bytes(payload);
        // In every dialect.
        let narrow = u32::from(ty.id());
        let header = u32::from_le_bytes([a, b, c, d]);
        let wide = header != narrow;
        if self.left == 0 || (wide && header != narrow | format::FLAG_64) || !accept(wide, payload) {
            return None;
        }
        self.left -= 1;
        self.last = self.at;
        self.at += if wide { 12 } else { 8 };
        Some((wide, payload))
    }

    #[inline(always)]
    fn ints(&mut self, all: bool) -> impl Iterator<Item = i64> {
        let accept = move |wide: bool, payload: u64| !wide || all || i32::try_from(payload as i64).is_err();
        std::iter::from_fn(move || {
            let (wide, payload) = self.next_number(VariantType::Int, accept)?;
            Some(if wide { payload as i64 } else { (payload as i32).into() })
        })
    }

    #[inline(always)]
    fn floats(&mut self, all: bool) -> impl Iterator<Item = f64> {
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

    #[inline(always)]
    fn fixed<const N: usize>(&mut self, header: u32) -> impl Iterator<Item = [u8; N]> {
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
