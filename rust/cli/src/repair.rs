//! `repair`: copies the whole records of a damaged file.

use std::borrow::Cow;
use std::io::Write as _;
use std::ops::Range;
use std::path::Path;

use variant_codec::frames::FRAME_BYTES as FRAME;
use variant_codec::godot3::Loss;
use variant_codec::stream::{Decoder, Measure};
use variant_codec::{EncodeOptions, ErrorKind, Limits, Result, Strictness, VariantType, validate};

use crate::check::Checker;
use crate::exact::{self, canonical};
use crate::failure::{Failure, Outcome};
use crate::input::{self, Input};
use crate::output::{self, Output};

/// Writes the whole records to another file, and prints which bytes are lost.
pub fn repair(input: &Input, to: &Path, force: bool, out: &mut Output) -> Outcome<()> {
    if !input.has_records {
        return Err(Failure::Data(format!(
            "{}: one value; repair needs a file of records (--as records)",
            input.name
        )));
    }
    let bytes = input.raw()?;
    let found = search(&bytes, &input.filled, input.godot3.is_some());
    if found.whole.is_empty() {
        return Err(Failure::Data(format!(
            "{}: no record is whole; {} is not written",
            input.name,
            input::name_of(to)
        )));
    }
    let mut batch = Vec::new();
    let (limits, mut checker) = (input::limits(), Checker::default());
    for record in &found.whole {
        let record = bytes.get(record.clone()).unwrap_or_default();
        // Strict readers would refuse the records that only `--allow-non-canonical` accepts.
        let canonical = match input.godot3 {
            None => canonical(record, &limits, &mut checker),
            Some(_) => Ok(Cow::Borrowed(record)),
        };
        let appended = canonical.and_then(|record| exact::append(&mut batch, &record));
        appended.map_err(|error| Failure::data(&input.name, &error))?;
    }
    output::write(Some(to), batch, force, out)?;
    let report = report(&found, input.damage.as_deref(), to);
    if to == Path::new("-") {
        // The records are on standard output, so the report goes to standard error.
        anstream::eprint!("{report}");
    } else {
        write!(out.text(), "{report}").map_err(Failure::output)?;
    }
    Ok(())
}

fn report(found: &Recovered, damage: Option<&str>, to: &Path) -> String {
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let damaged = damage.map(|damage| format!("the compressed file is damaged: {damage}\n"));
    let lost = found
        .lost
        .iter()
        .map(|lost| format!("lost: {} at byte {}\n", counted(lost.len(), "byte"), lost.start));
    let name = if to == Path::new("-") { "standard output".to_owned() } else { input::name_of(to) };
    let is = if found.whole.len() == 1 { "is" } else { "are" };
    let whole = format!("{name}: {} {is} whole\n", counted(found.whole.len(), "record"));
    damaged.into_iter().chain(lost).chain([whole]).collect()
}

/// The whole and damaged parts of a file of records.
#[derive(Default)]
pub struct Recovered {
    /// The ranges of whole records, without their length prefixes.
    pub whole: Vec<Range<usize>>,
    /// The ranges of damage.
    pub lost: Vec<Range<usize>>,
}

/// Finds whole records. No record may contain bytes in the ranges `filled`, which replace damage.
pub fn search(bytes: &[u8], filled: &[Range<usize>], is_godot3: bool) -> Recovered {
    let search = Search { bytes, filled, is_godot3, limits: input::limits() };
    let (mut found, mut at) = (Recovered::default(), 0);
    while at < bytes.len() {
        if let Some(record) = search.record_at(at) {
            at = record.end;
            found.whole.push(record);
        } else {
            let start = at;
            at = search.end_of_damage(start);
            found.lost.push(start..at);
        }
    }
    found
}

struct Search<'b> {
    bytes: &'b [u8],
    filled: &'b [Range<usize>],
    is_godot3: bool,
    limits: Limits,
}

impl Search<'_> {
    /// The end of the damage at `start`, where a record should start: the next whole record that is followed by another
    /// one, or by the end.
    ///
    /// The damaged record may end at a known offset: where its length or its value leads. Then what lies inside it is
    /// not a record, unless the record lacks bytes and records follow each other from there to the known offset.
    fn end_of_damage(&self, start: usize) -> usize {
        let known = self.end_of_record(start);
        let end = known.unwrap_or(self.bytes.len());
        let mut at = start + 1;
        while at < end {
            let goes_on = match known {
                Some(known) => self.leads_to(at, known),
                None => self.record_at(at).is_some_and(|record| self.is_boundary(record.end)),
            };
            // Zeros after a 4 look like a record of null.
            if goes_on && self.next(at) != Some(at + 2 * FRAME) {
                return at;
            }
            at = self.end_of_packed_records(at, end).unwrap_or(at + 1);
        }
        end
    }

    /// The end of the damaged record at `start`: a whole record follows there, or the file ends.
    fn end_of_record(&self, start: usize) -> Option<usize> {
        let end = self.bytes.len();
        let by_length = self.next(start).filter(|next| *next > start + FRAME);
        let by_value = self.read_value(start + FRAME, end);
        if let Some(next) = by_length.filter(|next| *next <= end && self.goes_on_at(*next)) {
            // A damaged length may lead past whole records, to the start of another one.
            return by_value.ok().filter(|by_value| self.are_records(*by_value, next)).or(Some(next));
        }
        match by_value.map_err(|error| error.kind().clone()) {
            Ok(by_value) => Some(by_value).filter(|next| *next > start + FRAME && self.goes_on_at(*next)),
            Err(ErrorKind::UnexpectedEnd { .. } | ErrorKind::BadCount { .. }) => {
                by_length.filter(|next| *next > end).map(|_| end)
            }
            Err(_) => None,
        }
    }

    /// Whether whole records fill these bytes.
    fn are_records(&self, mut at: usize, end: usize) -> bool {
        while at < end {
            at = self.record_at(at).map_or(usize::MAX, |record| record.end);
        }
        at == end
    }

    /// Whether the end or a whole record is at `at`, and the file goes on after that: with the end, a whole record, or
    /// a damaged one whose length leads to either.
    fn goes_on_at(&self, at: usize) -> bool {
        let Some(record) = self.record_at(at) else { return at == self.bytes.len() };
        self.is_boundary(record.end) || self.next(record.end).is_some_and(|next| self.is_boundary(next))
    }

    /// Whether two whole records are at `at`, and lengths lead on to `end`.
    fn leads_to(&self, at: usize, end: usize) -> bool {
        let second = self.record_at(at).and_then(|first| self.record_at(first.end));
        let mut at = second.map_or(usize::MAX, |second| second.end);
        while at < end {
            at = self.next(at).unwrap_or(usize::MAX);
        }
        at == end
    }

    /// The end of the PackedByteArray at `at`, if it holds nothing but whole records. They are not records of the file.
    fn end_of_packed_records(&self, at: usize, most: usize) -> Option<usize> {
        const GODOT3_ID: u8 = 20;

        let id = if self.is_godot3 { GODOT3_ID } else { VariantType::PackedByteArray.id() };
        let word = |at: usize| Some(u32::from_le_bytes(*self.bytes.get(at..)?.first_chunk()?));
        let (first, count) = (at + 2 * FRAME, word(at + FRAME)?);
        let end = first.checked_add(count as usize).filter(|end| *end > first && *end <= most)?;
        if word(at)? != u32::from(id) {
            return None;
        }
        self.are_records(first, end).then_some(end)
    }

    fn is_boundary(&self, at: usize) -> bool {
        at == self.bytes.len() || self.record_at(at).is_some()
    }

    /// The offset to which the length at `at` leads.
    fn next(&self, at: usize) -> Option<usize> {
        let length = u32::from_le_bytes(*self.bytes.get(at..)?.first_chunk()?);
        at.checked_add(FRAME)?.checked_add(length as usize)
    }

    /// The record whose length prefix is at `at`, if it is whole and fills its length.
    fn record_at(&self, at: usize) -> Option<Range<usize>> {
        let record = at + FRAME..self.next(at)?;
        let next_filled = self.filled.partition_point(|filled| filled.end <= record.start);
        let is_filled = self.filled.get(next_filled).is_some_and(|filled| filled.start < record.end);
        let is_there = !record.is_empty() && record.end <= self.bytes.len();
        if !is_there || is_filled {
            return None;
        }
        self.read_value(record.start, record.end).is_ok_and(|end| end == record.end).then_some(record)
    }

    /// Reads the value at `start`, and returns its end.
    fn read_value(&self, start: usize, end: usize) -> Result<usize> {
        let limits = Limits { allow_trailing_bytes: true, ..self.limits.clone() };
        let bytes = self.bytes.get(start..end).unwrap_or_default();
        let length = if self.is_godot3 {
            let mut decoder = Decoder::of_godot3(bytes, Strictness::Strict, &limits, Loss::Accepted);
            decoder.decode_only(&mut Measure::counting(EncodeOptions::default()))
        } else {
            validate(bytes, &limits)
        };
        Ok(start + length?)
    }
}
