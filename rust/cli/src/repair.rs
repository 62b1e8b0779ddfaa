//! `repair`: copies the whole records of a damaged file.

use std::collections::HashMap;
use std::io::Write as _;
use std::ops::Range;
use std::path::Path;

use variant_codec::format::Shape;
use variant_codec::stream::{Decoder, Measure, Source as _};
use variant_codec::{
    EncodeOptions, ErrorKind, Limits, Result, Strictness, Value, VariantType, frames, quick_check,
};

use crate::check::Checker;
use crate::failure::{Failure, Outcome};
use crate::input::{self, Input};
use crate::output::{self, Output};

/// The size of a record's length prefix, in bytes.
const FRAME: usize = frames::FRAME_BYTES;
/// The size of a value without contents, in bytes.
const HEADER: usize = 4;

/// Limits for records that an engine reads.
fn limits() -> Limits {
    Limits { allow_non_canonical: true, ..input::limits() }
}

/// Writes the whole records to another file, and prints which bytes are lost. Fails after that if the search
/// gave up.
pub fn repair(input: &Input, to: &Path, force: bool, out: &mut Output) -> Outcome<()> {
    if !input.has_records {
        return Err(Failure::Data(format!(
            "{}: one value; repair needs a file of records (--as records)",
            input.name
        )));
    }
    if input.godot3.is_some() {
        return Err(Failure::Data(format!(
            "{}: in Godot 3's format, which repair does not support; if damage only looks like it, add --godot4",
            input.name
        )));
    }
    let bytes = input.raw()?;
    let found = search(&bytes, &input.filled);
    if found.whole.is_empty() && (!bytes.is_empty() || input.damage.is_some()) {
        return Err(Failure::Data(format!(
            "{}: no record is whole{}; {} is not written",
            input.name,
            if found.gave_up { ", as far as the search went" } else { "" },
            input::name_of(to)
        )));
    }
    let (mut batch, mut checker, mut odd) = (Vec::new(), Checker::default(), 0);
    for record in &found.whole {
        let record = bytes.get(record.clone()).unwrap_or_default();
        odd += usize::from(checker.check(record, &input::limits()).is_err());
        frames::try_append(&mut batch, record).map_err(|error| Failure::data(&input.name, &error))?;
    }
    output::write(Some(to), batch, force, out)?;
    let report = report(&found, odd, input.damage.as_deref(), to);
    if to == Path::new("-") {
        // The records are on standard output, so the report goes to standard error.
        anstream::eprint!("{report}");
    } else {
        write!(out.text(), "{report}").map_err(Failure::output)?;
    }
    if found.gave_up {
        return Err(Failure::Data(format!(
            "{}: the search gave up, because the damage looks like too many records; the lost bytes may hold more",
            input.name
        )));
    }
    Ok(())
}

/// The report. `odd` is the number of records that are not canonical.
fn report(found: &Found, odd: usize, damage: Option<&str>, to: &Path) -> String {
    let are = |count: usize| match count {
        1 => "1 record is".to_owned(),
        count => format!("{count} records are"),
    };
    let damaged = damage.map(|damage| format!("the compressed file is damaged: {damage}\n"));
    let lost = found.lost.iter().map(|lost| format!("lost: {} bytes at byte {}\n", lost.len(), lost.start));
    let name = if to == Path::new("-") { "standard output".to_owned() } else { input::name_of(to) };
    let whole = format!("{name}: {} whole\n", are(found.whole.len()));
    let odd = (odd > 0).then(|| {
        format!("{name}: {} not canonical, which `check --allow-non-canonical` accepts\n", are(odd))
    });
    damaged.into_iter().chain(lost).chain([whole]).chain(odd).collect()
}

/// The whole and damaged parts of a file of records.
#[derive(Default)]
pub struct Found {
    /// The ranges of whole records, without their length prefixes.
    pub whole: Vec<Range<usize>>,
    /// The ranges of damage.
    pub lost: Vec<Range<usize>>,
    /// Whether the search gave up, so that whole records may be among the damage.
    pub gave_up: bool,
}

/// Finds whole records, in time linear in the size. No record may contain bytes in the ranges `filled`, which
/// replace damage.
pub fn search(bytes: &[u8], filled: &[Range<usize>]) -> Found {
    Search::new(bytes, filled).run()
}

/// Searches damaged bytes for records. Lengths that are intact lead from a damaged record to a boundary,
/// where another record starts. Damage before the boundary may look like records that reach past it.
struct Search<'b> {
    bytes: &'b [u8],
    filled: &'b [Range<usize>],
    limits: Limits,
    /// The number of bytes that the search may still read. At 0, it only follows lengths. Damage that looks
    /// like records could be read again and again.
    work: usize,
    /// The next known boundary.
    boundary: usize,
    /// The offsets that [`Search::is_boundary`] has judged.
    judged: HashMap<usize, bool>,
    /// For each offset, whether the lengths from there lead to the end. Empty until first needed.
    leads_to_end: Vec<bool>,
}

impl<'b> Search<'b> {
    fn new(bytes: &'b [u8], filled: &'b [Range<usize>]) -> Self {
        /// Limit on how many times the search may read the input.
        const READINGS: usize = 64;

        Self {
            bytes,
            filled,
            limits: limits(),
            work: bytes.len().saturating_mul(READINGS),
            boundary: bytes.len(),
            judged: HashMap::new(),
            leads_to_end: Vec::new(),
        }
    }

    fn run(mut self) -> Found {
        let mut found = Found::default();
        let mut at = 0;
        while at < self.bytes.len() {
            if at >= self.boundary {
                self.boundary = self.bytes.len();
            }
            if let Some(record) = self.next_value(at) {
                at = record.end;
                found.whole.push(record);
                continue;
            }
            let next = self.next_start(at).unwrap_or(self.boundary);
            match found.lost.last_mut().filter(|lost| lost.end == at) {
                Some(lost) => lost.end = next,
                None => found.lost.push(at..next),
            }
            at = next;
        }
        found.gave_up = self.work == 0 && !found.lost.is_empty();
        found
    }

    /// The record or value that starts at `at`, where a record is expected.
    fn next_value(&mut self, at: usize) -> Option<Range<usize>> {
        let record = self.record_at(at).filter(|record| self.fits(record));
        if let Some(record) = record.filter(|record| !self.has_swallowed(record)) {
            return Some(record);
        }
        if let Some(next) = self.next(at).filter(|next| *next < self.boundary)
            && self.is_boundary(next)
        {
            self.boundary = next;
        }
        // The value may be whole even if its length is damaged.
        if let Some(value) = self.value_at(at + FRAME) {
            return Some(value);
        }
        // The value starts earlier if bytes of its length are missing, or if the previous record is truncated
        // and has consumed the length. Do not search for such a value if a framed record starts here, because
        // the record's length may look like a value.
        let is_framed = (at + 1..=at + FRAME).any(|start| self.is_start(start));
        (at..at + FRAME).rev().filter(|_| !is_framed).find_map(|start| self.value_at(start))
    }

    /// The record whose length prefix is at `at`, if it is whole and fills its length.
    fn record_at(&mut self, at: usize) -> Option<Range<usize>> {
        let length = self.word(at)? as usize;
        let start = at + FRAME;
        let record = self.bytes.get(start..)?.get(..length).filter(|record| !record.is_empty())?;
        if self.is_filled(start..start + length) {
            return None;
        }
        if quick_check(record, &self.limits).is_some() {
            self.charge(length);
            return Some(start..start + length);
        }
        // Charges only the bytes up to the first invalid byte, because a damaged length may claim more.
        let is_whole = self.value_end(record) == Some(length) && Value::decode(record, &self.limits).is_ok();
        is_whole.then_some(start..start + length)
    }

    /// The value at `start`, without a length, if it ends by the next boundary and a whole record or the end
    /// of the file follows. Rejects a header without contents, because four zeros are a valid header. Rejects
    /// numbers in which a whole record starts, because the length of a record may look like the header of a
    /// number.
    fn value_at(&mut self, start: usize) -> Option<Range<usize>> {
        let bytes = self.bytes.get(start..).filter(|bytes| !bytes.is_empty() && self.work > 0)?;
        let end = start + self.value_end(bytes).filter(|length| *length > HEADER)?;
        let is_number = self.has_numbers(start);
        let is_packed = self.ty(start).is_some_and(|ty| matches!(ty.shape(), Shape::Packed(..)));
        // If intact lengths follow the value, a record inside counts only if the lengths from there
        // lead to the end of the value.
        let is_linked = end < self.bytes.len() && self.leads_to_end(end);
        let mut hides = |inside| self.is_start(inside) && (!is_linked || self.leads_to(inside, end));
        if (is_packed || is_number) && (start + 1..end).any(&mut hides) {
            return None;
        }
        if end > self.boundary
            || self.is_filled(start..end)
            || !self.is_followed(end)
            || self.has_swallowed(&(start..end))
            || self.contains_last(start..end)
        {
            return None;
        }
        let value = self.bytes.get(start..end)?;
        // No length confirms the value, so it must be canonical.
        Value::decode(value, &input::limits()).is_ok().then_some(start..end)
    }

    fn value_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let (end, read) = self.read(bytes);
        read.is_ok().then_some(end)
    }

    /// Reads the value at the start of `bytes`. Returns the offset of its end or of the first invalid byte.
    fn read(&mut self, bytes: &[u8]) -> (usize, Result<()>) {
        let mut decoder = Decoder::new(bytes, Strictness::Strict, &self.limits);
        let read = decoder.write_into(&mut Measure::counting(EncodeOptions::default()));
        let end = decoder.position();
        self.charge(end.min(bytes.len()));
        (end, read)
    }

    fn charge(&mut self, read: usize) {
        self.work = self.work.saturating_sub(FRAME + read);
    }

    /// The offset of the length of the next whole record after `at` and before the next boundary. Lengths are
    /// multiples of four, but missing bytes may shift a record to any offset. Values in the record at `at` may
    /// look like records. If the length at `at` leads to the end, or the end cuts the record off, the lengths
    /// from a record inside must also lead to the end, unless another whole record follows the one inside.
    fn next_start(&mut self, at: usize) -> Option<usize> {
        let must_lead_to_end = match self.next(at) {
            Some(next) if next > self.bytes.len() => self.is_likely(at) && self.is_cut_off(at),
            next => next == Some(self.boundary) && self.leads_to_end(self.boundary),
        };
        (at + 1..self.boundary).find(|start| {
            self.work > 0
                && self.is_likely(*start)
                && (!must_lead_to_end || self.leads_to_end(*start) || self.starts_two(*start))
                && self.is_start(*start)
        })
    }

    /// Whether a whole record starts at `at` and another one follows it.
    fn starts_two(&mut self, at: usize) -> bool {
        let first = self.record_at(at).filter(|record| !self.may_be_payload(record));
        first.is_some_and(|first| self.record_at(first.end).is_some())
    }

    /// Whether a whole record starts at `at` and fits. If it may be a payload, another record or the end must follow.
    fn is_start(&mut self, at: usize) -> bool {
        if self.work == 0 {
            return false;
        }
        let Some(record) = self.record_at(at).filter(|record| self.fits(record)) else { return false };
        let end = record.end;
        self.is_followed(end)
            || (!self.may_be_payload(&record)
                || self.is_confirmed(&record) && self.is_likely(end) && self.is_boundary(end))
                && !self.has_swallowed(&record)
    }

    /// Whether the record's length may be the payload of an int, and its value a text or number
    /// after the int.
    fn may_be_payload(&self, record: &Range<usize>) -> bool {
        let is_text = self.ty(record.start).is_some_and(|ty| matches!(ty.shape(), Shape::Text));
        let header = record.start.checked_sub(FRAME + HEADER);
        (is_text || !self.is_confirmed(record))
            && header.and_then(|header| self.word(header)).is_some_and(is_header)
    }

    /// Whether the contents of the record confirm its length. Any bytes are valid numbers.
    fn is_confirmed(&self, record: &Range<usize>) -> bool {
        record.len() > 2 * FRAME && !self.has_numbers(record.start)
    }

    fn is_followed(&mut self, end: usize) -> bool {
        end == self.bytes.len() || self.record_at(end).is_some()
    }

    /// Whether the record is torn and valid only with the first bytes of the next record.
    fn has_swallowed(&mut self, record: &Range<usize>) -> bool {
        let end = record.end;
        if self.work == 0 {
            return false;
        }
        // A text or packed array has a length and a header before its count, and the count leads to the same
        // offset as the length.
        let starts_before = end.checked_sub(FRAME + HEADER).and_then(|start| self.record_at(start));
        let is_count = starts_before.is_some_and(|record| self.next(end) == Some(record.end));
        let is_next = |search: &mut Self| {
            search.record_at(end).is_some_and(|next| search.is_confirmed(&next)) || search.leads_to_end(end)
        };
        if !is_count && is_next(self) {
            return false;
        }
        self.charge(record.len());
        (record.start..end).any(|at| {
            let next = self.next(at).filter(|next| *next > end && self.work > 0);
            let Some(next) = next.and_then(|_| self.record_at(at)) else { return false };
            self.leads_to_end(next.end) || self.is_confirmed(&next) && self.is_followed(next.end)
        })
    }

    /// Whether a whole record, with its length, is at the end of the value. A torn value may have swallowed
    /// this record.
    fn contains_last(&mut self, value: Range<usize>) -> bool {
        self.charge(value.len());
        (value.start + 1..value.end)
            .any(|at| self.next(at) == Some(value.end) && self.work > 0 && self.record_at(at).is_some())
    }

    fn is_filled(&self, range: Range<usize>) -> bool {
        let next = self.filled.partition_point(|filled| filled.end <= range.start);
        self.filled.get(next).is_some_and(|filled| filled.start < range.end)
    }

    /// Whether the record is compatible with the next boundary. If the boundary is inside, the record is damage
    /// that looks like a record. But if it contains the whole record at the boundary, the boundary itself is
    /// false: a length has led into the middle of the record.
    fn fits(&mut self, record: &Range<usize>) -> bool {
        record.end <= self.boundary
            || self.leads_to_end(record.end) && !self.leads_to_end(self.boundary)
            || self.work > 0
                && self.is_confirmed(record)
                && match self.record_at(self.boundary) {
                    Some(linked) => linked.end <= record.end,
                    None => self.is_boundary(record.end),
                }
    }

    /// Whether a whole record starts at `at`, or the lengths from there lead to a whole record or to the end.
    /// Trusts a length only if a header follows it, or if the lengths lead to the end.
    fn is_boundary(&mut self, mut at: usize) -> bool {
        let mut passed = Vec::new();
        let is_boundary = loop {
            if let Some(judged) = self.judged.get(&at) {
                break *judged;
            }
            passed.push(at);
            if self.leads_to_end(at) || self.work > 0 && self.record_at(at).is_some() {
                break true;
            }
            match self.next(at).filter(|_| self.is_likely(at)) {
                Some(next) => at = next,
                None => break false,
            }
        };
        self.judged.extend(passed.into_iter().map(|at| (at, is_boundary)));
        is_boundary
    }

    /// Whether the lengths from `at` lead exactly to the end, or to a record that the end cuts off.
    fn leads_to_end(&mut self, at: usize) -> bool {
        if self.leads_to_end.is_empty() {
            let end = self.bytes.len();
            let mut leads = vec![true; end + 1];
            for at in (0..end).rev() {
                let leads_there = match self.next(at) {
                    Some(next) if next <= end => leads.get(next) == Some(&true),
                    Some(_) => self.is_likely(at) && self.is_cut_off(at),
                    None => false,
                };
                leads.get_mut(at).into_iter().for_each(|leads| *leads = leads_there);
            }
            self.leads_to_end = leads;
        }
        self.leads_to_end.get(at) == Some(&true)
    }

    /// Whether the lengths from `at` lead exactly to `end`.
    fn leads_to(&mut self, mut at: usize, end: usize) -> bool {
        while at < end
            && self.work > 0
            && let Some(next) = self.next(at)
        {
            self.charge(0);
            at = next;
        }
        at == end
    }

    /// Whether the end cuts off the record whose length is at `at`.
    fn is_cut_off(&mut self, at: usize) -> bool {
        let (Some(length), Some(value)) = (self.word(at), self.bytes.get(at + FRAME..)) else { return false };
        if self.work == 0 {
            return false;
        }
        let (_, read) = self.read(value);
        let has_one_length = self.has_numbers(at + FRAME);
        read.is_err_and(|error| match *error.kind() {
            ErrorKind::UnexpectedEnd { needed, .. } => !has_one_length || length as usize == HEADER + needed,
            ErrorKind::BadCount { count, .. } => (1..length.into()).contains(&count),
            _ => false,
        })
    }

    /// The offset to which the length at `at` leads.
    fn next(&self, at: usize) -> Option<usize> {
        let length = self.word(at).filter(|length| *length > 0)?;
        at.checked_add(FRAME)?.checked_add(length as usize)
    }

    /// Whether the bytes at `at` look like the length and the header of a record.
    fn is_likely(&self, at: usize) -> bool {
        let (Some(length), Some(header)) = (self.word(at), self.word(at + FRAME)) else { return false };
        let has_contents = !matches!(self.ty(at + FRAME), Some(VariantType::Nil | VariantType::Callable));
        length.is_multiple_of(4) && is_header(header) && (length as usize > HEADER || !has_contents)
    }

    /// Whether the value at `start` is made of numbers only.
    fn has_numbers(&self, start: usize) -> bool {
        self.ty(start).is_some_and(|ty| matches!(ty.shape(), Shape::Int | Shape::Float | Shape::Fixed(..)))
    }

    fn ty(&self, start: usize) -> Option<VariantType> {
        VariantType::from_id(*self.bytes.get(start)?)
    }

    fn word(&self, at: usize) -> Option<u32> {
        Some(u32::from_le_bytes(*self.bytes.get(at..)?.first_chunk()?))
    }
}

/// Whether a value may start with this word.
fn is_header(word: u32) -> bool {
    VariantType::from_id(word as u8).is_some_and(|ty| word & !ty.header_mask() == 0)
}
