//! One entity as bits: what differs from a prediction.

use std::ops::Range;

use crate::bits::{BitReader, BitWriter, MOST_ONES};
use crate::error::{Error, Result};
use crate::quantize;
use crate::row::{Fields, FieldsMut, check_quaternion, differs, outside};
use crate::schema::{Field, Lanes, Motion, Schema};

/// The Rice parameters of the lanes take so many bits each.
const PARAMETER_BITS: u32 = 4;
/// The parameter of a lane whose numbers are written in full.
const RAW: u8 = 15;
/// The parameter of all lanes in a snapshot without parameters.
const DEFAULT_PARAMETER: u8 = 2;
/// The most masks of a list: a Rice code holds each place in it, and its length.
const MOST_MASKS: usize = MOST_ONES as usize - 1;

/// How far a prediction looks: `ahead` ticks from the baseline, which is `behind` ticks after the earlier state.
#[derive(Clone, Copy)]
pub struct Span {
    pub ahead: u32,
    pub behind: u32,
}

impl Span {
    /// The number after `from` and `to`, if it goes on changing like that.
    #[inline(always)]
    fn extend(self, from: i64, to: i64) -> i64 {
        self.change(to - from) + to
    }

    #[inline(always)]
    fn change(self, change: i64) -> i64 {
        if self.ahead == self.behind {
            return change;
        }
        let (ahead, behind) = (i64::from(self.ahead), i64::from(self.behind));
        // Rounded to the nearest number, and up from the middle.
        (2 * change * ahead + behind).div_euclid(2 * behind)
    }
}

/// Predicts the lanes of an entity from the baseline, and from an earlier state if there is one.
#[inline]
pub fn predict(schema: &Schema, base: &[u32], earlier: Option<&[u32]>, span: Span, into: &mut [u32]) {
    into.copy_from_slice(base);
    let Some(earlier) = earlier else { return };
    for field in schema.fields() {
        let first = field.first;
        match field.lanes {
            Lanes::Numbers { count, values, motion: Motion::Linear, .. } => {
                for lane in first..first + count {
                    into[lane] = linear(span, earlier[lane], base[lane], values - 1);
                }
            }
            Lanes::Numbers { values, motion: Motion::Turning, .. } => {
                let change = turn(earlier[first], base[first], values as i64);
                into[first] = (i64::from(base[first]) + span.change(change)).rem_euclid(values as i64) as u32;
            }
            Lanes::Quaternion { bits } if earlier[first] == base[first] => {
                for lane in first + 1..first + 4 {
                    into[lane] = linear(span, earlier[lane], base[lane], (1 << bits) - 2);
                }
                let predicted = &mut into[first..first + 4];
                if !quantize::is_rotation([predicted[0], predicted[1], predicted[2], predicted[3]], bits) {
                    predicted.copy_from_slice(&base[first..first + 4]);
                }
            }
            _ => {}
        }
    }
}

#[inline(always)]
fn linear(span: Span, earlier: u32, base: u32, last: u64) -> u32 {
    span.extend(earlier.into(), base.into()).clamp(0, last as i64) as u32
}

/// The shorter way from one part of a turn to another. `parts` is a power of two.
#[inline(always)]
fn turn(from: u32, to: u32, parts: i64) -> i64 {
    let half = parts / 2;
    ((i64::from(to) - i64::from(from) + half) & (parts - 1)) - half
}

/// The fields that differ, as bits.
#[inline]
pub fn mask(schema: &Schema, predicted: Fields<'_>, actual: Fields<'_>) -> u64 {
    if predicted == actual {
        return 0;
    }
    let fields = schema.fields().iter().enumerate();
    fields.fold(0, |mask, (index, field)| mask | u64::from(differs(predicted, actual, field)) << index)
}

/// The fields in a mask.
#[inline(always)]
fn fields(schema: &Schema, mut mask: u64) -> impl Iterator<Item = (usize, &Field)> {
    std::iter::from_fn(move || {
        let index = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        schema.fields().get(index).map(|field| (index, field))
    })
}

/// The lanes of a field that are written as differences.
struct Coded {
    lanes: Range<usize>,
    values: u64,
    bits: u32,
    motion: Motion,
    /// Whether the only lane is known to differ from its prediction.
    differs: bool,
}

impl Coded {
    /// The lanes of a field; `None` if it is written in full. `is_same` says whether the largest component of a quaternion
    /// is the predicted one.
    #[inline(always)]
    fn of(field: &Field, is_same: impl FnOnce() -> bool) -> Option<Self> {
        let first = field.first;
        match field.lanes {
            Lanes::Numbers { count, values, bits, motion } => {
                Some(Self { lanes: first..first + count, values, bits, motion, differs: count == 1 })
            }
            Lanes::Quaternion { bits } if is_same() => {
                let (lanes, motion) = (first + 1..first + 4, Motion::Linear);
                Some(Self { lanes, values: 1 << bits, bits, motion, differs: false })
            }
            _ => None,
        }
    }

    /// The difference of a lane from its prediction, as a number that is small if they are close.
    #[inline(always)]
    fn residual(&self, predicted: u32, actual: u32) -> u64 {
        let change = match self.motion {
            Motion::Turning => turn(predicted, actual, self.values as i64),
            _ => i64::from(actual) - i64::from(predicted),
        };
        (change << 1 ^ change >> 63).cast_unsigned() - u64::from(self.differs)
    }

    /// The lane with such a difference; `None` if it is outside its range.
    #[inline(always)]
    fn lane(&self, predicted: u32, residual: u64) -> Option<u32> {
        let residual = residual + u64::from(self.differs);
        let change = (residual >> 1).cast_signed() ^ -((residual & 1).cast_signed());
        let lane = i64::from(predicted) + change;
        match self.motion {
            Motion::Turning => Some((lane & (self.values as i64 - 1)) as u32),
            _ => (0..self.values as i64).contains(&lane).then_some(lane as u32),
        }
    }
}

/// Chooses the Rice parameter of each lane from the differences.
pub struct Parameters {
    sums: Vec<(u64, u64)>,
    chosen: Vec<u8>,
}

impl Parameters {
    pub fn new(schema: &Schema) -> Self {
        Self { sums: vec![(0, 0); schema.lanes()], chosen: vec![DEFAULT_PARAMETER; schema.lanes()] }
    }

    /// Notes the differences of an entity.
    #[inline]
    pub fn note(&mut self, schema: &Schema, mask: u64, predicted: &[u32], actual: &[u32]) {
        for (_, field) in fields(schema, mask) {
            let Some(coded) = Coded::of(field, || predicted[field.first] == actual[field.first]) else {
                continue;
            };
            let lanes = coded.lanes.clone();
            for (lane, (predicted, actual)) in
                lanes.clone().zip(predicted[lanes.clone()].iter().zip(&actual[lanes]))
            {
                let (sum, count) = &mut self.sums[lane];
                *sum += coded.residual(*predicted, *actual).min(1 << 20);
                *count += 1;
            }
        }
    }

    /// Writes the parameters, unless the defaults cost less.
    pub fn write(&mut self, schema: &Schema, bits: &mut BitWriter) {
        let (mut cheapest, mut default) = (0, 0);
        for (lane, each) in coded_lanes(schema) {
            let (sum, count) = self.sums[lane];
            let cost = |k: u8| match k {
                RAW => count * u64::from(each),
                k => count * u64::from(k + 1) + (sum >> k),
            };
            let best = (0..=RAW).min_by_key(|k| cost(*k)).unwrap_or(DEFAULT_PARAMETER);
            self.chosen[lane] = best;
            cheapest += u64::from(PARAMETER_BITS) + cost(best);
            default += cost(DEFAULT_PARAMETER);
        }
        let is_worth = cheapest < default;
        bits.bit(is_worth);
        if is_worth {
            coded_lanes(schema).for_each(|(lane, _)| bits.put(self.chosen[lane].into(), PARAMETER_BITS));
        } else {
            self.chosen.fill(DEFAULT_PARAMETER);
        }
    }

    #[inline(always)]
    fn write_lane(&self, bits: &mut BitWriter, lane: usize, coded: &Coded, predicted: u32, actual: u32) {
        let k = self.chosen[lane];
        if k == RAW || !bits.rice(coded.residual(predicted, actual), k.into()) {
            bits.put_below(actual, coded.values, coded.bits);
        }
    }

    /// Reads a lane; `None` if it is outside its range.
    #[inline(always)]
    fn read_lane(
        &self,
        bits: &mut BitReader<'_>,
        lane: usize,
        coded: &Coded,
        predicted: u32,
    ) -> Result<Option<u32>> {
        let residual = match self.chosen[lane] {
            RAW => None,
            k => bits.rice(k.into())?,
        };
        match residual {
            Some(residual) => Ok(coded.lane(predicted, residual)),
            None => bits.take_below(coded.values, coded.bits).map(Some),
        }
    }

    /// Reads parameters.
    ///
    /// # Errors
    /// Fails if the data ends before.
    pub fn read(schema: &Schema, bits: &mut BitReader<'_>) -> Result<Self> {
        let mut parameters = Self::new(schema);
        if bits.bit()? {
            for (lane, _) in coded_lanes(schema) {
                parameters.chosen[lane] = bits.take(PARAMETER_BITS)? as u8;
            }
        }
        Ok(parameters)
    }
}

/// The lanes that have parameters, with their bits.
fn coded_lanes(schema: &Schema) -> impl Iterator<Item = (usize, u32)> {
    schema.fields().iter().flat_map(|field| {
        let (lanes, bits) = match field.lanes {
            Lanes::Numbers { count, bits, .. } => (field.first..field.first + count, bits),
            Lanes::Quaternion { bits } => (field.first + 1..field.first + 4, bits),
            _ => (0..0, 0),
        };
        lanes.map(move |lane| (lane, bits))
    })
}

/// Writes masks and reads them, as places in a list of the masks before, the most frequent first.
#[derive(Default)]
pub struct Masks {
    /// Each mask with its number of rows.
    seen: Vec<(u64, u32)>,
}

impl Masks {
    pub fn write(&mut self, schema: &Schema, bits: &mut BitWriter, mask: u64) {
        let place = self.seen.iter().position(|(seen, _)| *seen == mask).unwrap_or(self.seen.len());
        bits.rice(place as u64, 0);
        if place == self.seen.len() {
            let count = schema.fields().len() as u32;
            bits.put(mask as u32, count.min(32));
            bits.put((mask >> 32) as u32, count.saturating_sub(32));
        }
        self.count(place, mask);
    }

    pub fn read(&mut self, schema: &Schema, bits: &mut BitReader<'_>) -> Result<u64> {
        let place = bits.rice(0)?.map_or(usize::MAX, |place| place as usize);
        let mask = match self.seen.get(place) {
            Some((mask, _)) => *mask,
            None if place == self.seen.len() => {
                let count = schema.fields().len() as u32;
                u64::from(bits.take(count.min(32))?) | u64::from(bits.take(count.saturating_sub(32))?) << 32
            }
            None => return Err(Error::invalid("a mask is not one of those before")),
        };
        self.count(place, mask);
        Ok(mask)
    }

    /// Counts a row, and moves its mask before those with fewer rows.
    #[inline]
    fn count(&mut self, place: usize, mask: u64) {
        if place == self.seen.len() {
            self.seen.truncate(MOST_MASKS - 1);
            self.seen.push((mask, 0));
        }
        let mut place = place.min(MOST_MASKS - 1);
        self.seen[place].1 += 1;
        while place > 0 && self.seen[place - 1].1 < self.seen[place].1 {
            self.seen.swap(place - 1, place);
            place -= 1;
        }
    }
}

/// Writes the fields in a mask.
#[inline]
pub fn write(
    schema: &Schema,
    bits: &mut BitWriter,
    parameters: &Parameters,
    mask: u64,
    predicted: &[u32],
    actual: Fields<'_>,
) {
    for (index, field) in fields(schema, mask) {
        let coded = Coded::of(field, || {
            let is_same = predicted[field.first] == actual.0[field.first];
            bits.bit(is_same);
            is_same
        });
        match (coded, field.lanes) {
            (Some(coded), _) => {
                for lane in coded.lanes.clone() {
                    parameters.write_lane(bits, lane, &coded, predicted[lane], actual.0[lane]);
                }
            }
            (None, Lanes::Flag) => {}
            (None, _) => schema.put(bits, actual, index),
        }
    }
}

/// Reads the fields in a mask into a row that has the prediction.
///
/// # Errors
/// Fails if the data ends before, or a number is outside its range.
#[inline]
pub fn read(
    schema: &Schema,
    bits: &mut BitReader<'_>,
    parameters: &Parameters,
    mask: u64,
    row: FieldsMut<'_>,
) -> Result<()> {
    for (index, field) in fields(schema, mask) {
        let is_same = match field.lanes {
            Lanes::Quaternion { .. } => bits.bit()?,
            _ => true,
        };
        match (Coded::of(field, || is_same), field.lanes) {
            (Some(coded), lanes) => {
                for lane in coded.lanes.clone() {
                    let read = parameters.read_lane(bits, lane, &coded, row.0[lane])?;
                    row.0[lane] = read.ok_or_else(|| outside(field.name()))?;
                }
                if let Lanes::Quaternion { bits: each } = lanes {
                    check_quaternion(field.name(), &row.0[field.first..][..4], each)?;
                }
            }
            (None, Lanes::Flag) => row.0[field.first] ^= 1,
            (None, _) => schema.take(bits, (&mut *row.0, &mut *row.1), index)?,
        }
    }
    Ok(())
}

/// The error of a mask that names no field, where at least one must differ.
#[cold]
pub fn empty_mask() -> Error {
    Error::invalid("an entity that changed has no field that changed")
}
