//! `repair`: copies the whole records of a damaged file.

use std::io::Write as _;
use std::ops::Range;
use std::path::Path;

use variant_codec::format::Shape;
use variant_codec::stream::{Decoder, Measure, Source as _};
use variant_codec::{EncodeOptions, Limits, Strictness, Value, VariantType, frames, quick_check};

use crate::failure::{Failure, Outcome};
use crate::input::{self, Input};
use crate::output::{self, Output};

/// The size of a record's length prefix, in bytes.
const FRAME: usize = frames::FRAME_BYTES;
/// The size of a value without contents, in bytes.
const HEADER: usize = 4;

/// Writes the whole records to another file, and prints which bytes are lost.
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
    let found = search(&bytes);
    if found.whole.is_empty() && (!bytes.is_empty() || input.damage.is_some()) {
        return Err(Failure::Data(format!(
            "{}: no record is whole; {} is not written",
            input.name,
            input::name_of(to)
        )));
    }
    let mut batch = Vec::new();
    for record in &found.whole {
        let appended = frames::try_append(&mut batch, bytes.get(record.clone()).unwrap_or_default());
        appended.map_err(|error| Failure::data(&input.name, &error))?;
    }
    output::write(Some(to), batch, force, out)?;
    let report = report(&found, input.damage.as_deref(), to);
    if to == Path::new("-") {
        // The records are on standard output, so the report goes to standard error.
        anstream::eprint!("{report}");
        return Ok(());
    }
    write!(out.text(), "{report}").map_err(Failure::output)
}

fn report(found: &Found, damage: Option<&str>, to: &Path) -> String {
    let damaged = damage.map(|damage| format!("the compressed file is damaged: {damage}\n"));
    let lost = found.lost.iter().map(|lost| format!("lost: {} bytes at byte {}\n", lost.len(), lost.start));
    let records = match found.whole.len() {
        1 => "1 record is".to_owned(),
        count => format!("{count} records are"),
    };
    let name = if to == Path::new("-") { "standard output".to_owned() } else { input::name_of(to) };
    damaged.into_iter().chain(lost).chain([format!("{name}: {records} whole\n")]).collect()
}

/// The whole and damaged parts of a file of records.
#[derive(Default)]
pub struct Found {
    /// The ranges of whole records, without their length prefixes.
    pub whole: Vec<Range<usize>>,
    /// The ranges of damage.
    pub lost: Vec<Range<usize>>,
}

/// Finds whole records, in time linear in the size.
pub fn search(bytes: &[u8]) -> Found {
    Search::new(bytes).run()
}

struct Search<'b> {
    bytes: &'b [u8],
    limits: Limits,
    /// The number of bytes that the search may still read. Damage that looks like records could be read again
    /// and again.
    work: usize,
    /// The last linked record found. Damage before it may look like records.
    linked: Option<Linked>,
}

/// A whole record to which the length prefixes of damaged records lead.
#[derive(Clone, Copy)]
struct Linked {
    /// The offset of its length prefix.
    start: usize,
    /// Whether a single length leads to this record. If not, a whole record found before this one may overlap
    /// it.
    is_next: bool,
}

impl<'b> Search<'b> {
    fn new(bytes: &'b [u8]) -> Self {
        /// Limit on how many times the search may read the input.
        const READINGS: usize = 64;

        Self { bytes, limits: input::limits(), work: bytes.len().saturating_mul(READINGS), linked: None }
    }

    fn run(mut self) -> Found {
        let mut found = Found::default();
        let mut at = 0;
        while at < self.bytes.len() {
            // The value may be whole even if its length is damaged.
            let record = self.record_at(at).or_else(|| self.value_at(at + FRAME));
            if let Some(record) = record {
                at = record.end;
                found.whole.push(record);
                continue;
            }
            let linked = self.next_linked(at);
            let end = linked.map_or(self.bytes.len(), |linked| linked.start);
            let most = linked.filter(|linked| linked.is_next).map_or(self.bytes.len(), |linked| linked.start);
            // The value starts earlier if bytes of its length are missing, or if the previous record is
            // truncated and has consumed the length. Do not search for such a value if a framed record starts
            // here, because the record's length may look like a value.
            let is_framed = (at + 1..=at + FRAME).any(|start| self.is_start(start, most));
            let mut starts = (at..at + FRAME).rev().filter(|_| !is_framed);
            let unframed = starts.find_map(|start| self.value_at(start));
            if let Some(record) = unframed.filter(|record| record.end <= most) {
                at = record.end;
                found.whole.push(record);
                continue;
            }
            let next = self.next_start(at + 1..end, most).unwrap_or(end);
            found.lost.push(at..next);
            at = next;
        }
        found
    }

    /// The record whose length prefix is at `at`, if it is whole and fills its length.
    fn record_at(&mut self, at: usize) -> Option<Range<usize>> {
        let length = self.word(at)? as usize;
        let start = at + FRAME;
        let record = self.bytes.get(start..)?.get(..length).filter(|record| !record.is_empty())?;
        if quick_check(record, &self.limits).is_some() {
            self.charge(length);
            return Some(start..start + length);
        }
        // Charges only the bytes up to the first invalid byte, because a damaged length may claim more.
        let is_whole = self.value_end(record) == Some(length) && Value::decode(record, &self.limits).is_ok();
        is_whole.then_some(start..start + length)
    }

    /// The value at `start`, without a length, if a whole record or the end of the file follows. Rejects a
    /// header without contents, because four zeros are a valid header. Rejects numbers in which a whole
    /// record starts, because the length of a record may look like the header of a number.
    fn value_at(&mut self, start: usize) -> Option<Range<usize>> {
        let bytes = self.bytes.get(start..).filter(|bytes| !bytes.is_empty() && self.work > 0)?;
        let end = start + self.value_end(bytes).filter(|length| *length > HEADER)?;
        let value = self.bytes.get(start..end)?;
        let has_numbers =
            VariantType::from_id(*value.first()?).is_some_and(|ty| matches!(ty.shape(), Shape::Fixed(..)));
        if has_numbers && (start + 1..end).any(|inside| self.is_start(inside, self.bytes.len())) {
            return None;
        }
        let is_followed = end == self.bytes.len() || self.record_at(end).is_some();
        (is_followed && Value::decode(value, &self.limits).is_ok()).then_some(start..end)
    }

    /// The end of the value at the start of `bytes`.
    fn value_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut decoder = Decoder::new(bytes, Strictness::Strict, &self.limits);
        let read = decoder.write_into(&mut Measure::counting(EncodeOptions::default()));
        let end = decoder.position();
        self.charge(end.min(bytes.len()));
        read.is_ok().then_some(end)
    }

    fn charge(&mut self, read: usize) {
        self.work = self.work.saturating_sub(FRAME + read);
    }

    /// The offset in `range` of the next whole record's length; the record ends by `most`. Lengths are
    /// multiples of four, but missing bytes may shift a record to any offset.
    fn next_start(&mut self, range: Range<usize>, most: usize) -> Option<usize> {
        for start in range {
            let length = self.word(start).filter(|_| self.work > 0)?;
            let is_likely = length.is_multiple_of(4)
                && length as usize <= self.bytes.len() - start
                && self.word(start + FRAME).is_some_and(is_header);
            if is_likely && self.is_start(start, most) {
                return Some(start);
            }
        }
        None
    }

    /// The first whole record to which lengths lead from the damaged record at `at`. Needs no other evidence.
    fn next_linked(&mut self, at: usize) -> Option<Linked> {
        let known = self.linked.take().filter(|linked| linked.start > at);
        let found = self.follow(at);
        match (known, found) {
            (Some(known), Some((found, end))) if end <= known.start => {
                self.linked = Some(known);
                Some(found)
            }
            (known, found) => {
                self.linked = known.or(found.map(|(found, _)| found));
                self.linked
            }
        }
    }

    /// Follows the lengths to a whole record, and also returns its end. Trusts the first length. Trusts a
    /// later length only if a header follows it, or if the lengths lead to the end.
    fn follow(&mut self, mut at: usize) -> Option<(Linked, usize)> {
        let mut is_next = true;
        loop {
            let length = self.word(at).filter(|length| *length > 0)? as usize;
            at = at.checked_add(FRAME)?.checked_add(length)?;
            if let Some(record) = self.record_at(at) {
                return Some((Linked { start: at, is_next }, record.end));
            }
            is_next = false;
            let is_likely = self.word(at)?.is_multiple_of(4) && self.word(at + FRAME).is_some_and(is_header);
            if !is_likely && !self.leads_to_end(at) {
                return None;
            }
        }
    }

    /// Whether the lengths from `at` lead exactly to the end, or to a record that the end truncates.
    fn leads_to_end(&mut self, mut at: usize) -> bool {
        let mut is_likely = false;
        while at < self.bytes.len() && self.work > 0 {
            self.charge(0);
            let Some(length) = self.word(at).filter(|length| *length > 0) else { return false };
            is_likely = length.is_multiple_of(4) && self.word(at + FRAME).is_some_and(is_header);
            at = at.saturating_add(FRAME).saturating_add(length as usize);
        }
        at == self.bytes.len() || at > self.bytes.len() && is_likely
    }

    /// Whether a whole record starts at `at` and ends by `most`. An int in a damaged value may look like a
    /// length, so the record must be a container, or another whole record or the end must follow.
    fn is_start(&mut self, at: usize, most: usize) -> bool {
        let Some(record) = self.record_at(at).filter(|record| record.end <= most) else { return false };
        let holds_more = self.word(record.start).is_some_and(|header| {
            let ty = VariantType::from_id(header as u8);
            matches!(ty, Some(VariantType::Dictionary | VariantType::Array)) && record.len() > 2 * FRAME
        });
        holds_more || record.end == self.bytes.len() || self.record_at(record.end).is_some()
    }

    fn word(&self, at: usize) -> Option<u32> {
        Some(u32::from_le_bytes(*self.bytes.get(at..)?.first_chunk()?))
    }
}

/// Whether a value may start with this word.
fn is_header(word: u32) -> bool {
    VariantType::from_id(word as u8).is_some_and(|ty| word & !ty.header_mask() == 0)
}
