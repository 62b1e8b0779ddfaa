//! `repair`: takes the whole records out of a damaged file.

use std::io::Write as _;
use std::ops::Range;
use std::path::Path;

use variant_codec::stream::{Decoder, Measure, Source as _};
use variant_codec::{EncodeOptions, Limits, Strictness, Value, VariantType, frames, quick_check};

use crate::failure::{Failure, Outcome};
use crate::input::{self, Input};
use crate::output::{self, Output};

/// Bytes of a record's length.
const FRAME: usize = frames::FRAME_BYTES;

/// Writes the records that are whole to another file, and says what is not.
pub fn repair(input: &Input, to: &Path, force: bool, out: &mut Output) -> Outcome<()> {
    if !input.has_records {
        return Err(Failure::Data(format!("{}: one value, of which no records can be taken", input.name)));
    }
    if input.godot3.is_some() {
        return Err(Failure::Data(format!("{}: Godot 3's format, which is not repaired", input.name)));
    }
    let bytes = input.raw()?;
    let found = search(&bytes);
    let mut batch = Vec::new();
    for record in &found.whole {
        let appended = frames::try_append(&mut batch, bytes.get(record.clone()).unwrap_or_default());
        appended.map_err(|error| Failure::data(&input.name, &error))?;
    }
    output::write(Some(to), batch, force, out)?;
    let mut text = out.text();
    for lost in &found.lost {
        writeln!(text, "lost: {} bytes at byte {}", lost.len(), lost.start).map_err(Failure::output)?;
    }
    let records = match found.whole.len() {
        1 => "1 record is".to_owned(),
        count => format!("{count} records are"),
    };
    writeln!(text, "{}: {records} whole", to.display()).map_err(Failure::output)
}

/// What a file of records holds.
#[derive(Default)]
pub struct Found {
    /// Where whole records lie, without their lengths.
    pub whole: Vec<Range<usize>>,
    /// Where damage lies.
    pub lost: Vec<Range<usize>>,
}

/// Finds whole records, in time linear in the size.
pub fn search(bytes: &[u8]) -> Found {
    Search::new(bytes).run()
}

struct Search<'b> {
    bytes: &'b [u8],
    limits: Limits,
    /// How many more bytes may be read: damage may look like records again and again.
    work: usize,
}

impl<'b> Search<'b> {
    fn new(bytes: &'b [u8]) -> Self {
        /// How often all bytes are read at most.
        const READINGS: usize = 64;

        Self { bytes, limits: input::limits(), work: bytes.len().saturating_mul(READINGS) }
    }

    fn run(mut self) -> Found {
        let mut found = Found::default();
        let mut at = 0;
        while at < self.bytes.len() {
            // The length may be damaged, or have been taken for the end of a record that lacks bytes.
            let framed = self.record_at(at);
            let record = framed.or_else(|| self.value_at(at + FRAME)).or_else(|| self.value_at(at));
            if let Some(record) = record {
                at = record.end;
                found.whole.push(record);
                continue;
            }
            let next = self.next_whole(at).unwrap_or(self.bytes.len());
            found.lost.push(at..next);
            at = next;
        }
        found
    }

    /// The record behind the length at `at`, if it is whole and fills its length.
    fn record_at(&mut self, at: usize) -> Option<Range<usize>> {
        let length = self.word(at)? as usize;
        let start = at + FRAME;
        let record = self.bytes.get(start..)?.get(..length).filter(|record| !record.is_empty())?;
        self.work = self.work.saturating_sub(length);
        let is_whole =
            quick_check(record, &self.limits).is_some() || Value::decode(record, &self.limits).is_ok();
        is_whole.then_some(start..start + length)
    }

    /// The value that starts here without a length, if it is followed by a whole record or the end.
    fn value_at(&mut self, start: usize) -> Option<Range<usize>> {
        let bytes = self.bytes.get(start..).filter(|bytes| !bytes.is_empty() && self.work > 0)?;
        let mut decoder = Decoder::new(bytes, Strictness::Strict, &self.limits);
        let read = decoder.write_into(&mut Measure::counting(EncodeOptions::default()));
        let end = start + decoder.position();
        self.work = self.work.saturating_sub(decoder.position());
        read.ok()?;
        let value = self.bytes.get(start..end)?;
        let is_followed = end == self.bytes.len() || self.record_at(end).is_some();
        (is_followed && Value::decode(value, &self.limits).is_ok()).then_some(start..end)
    }

    /// Where the next whole record starts, with its length. Values fill multiples of four bytes, but bytes may be missing.
    fn next_whole(&mut self, at: usize) -> Option<usize> {
        // If only the value is damaged, the next record is behind it.
        let behind = self.word(at).map(|length| at.saturating_add(FRAME).saturating_add(length as usize));
        if let Some(behind) = behind.filter(|behind| *behind > at + FRAME)
            && self.is_start(behind)
        {
            return Some(behind);
        }
        for start in at + 1..self.bytes.len() {
            let length = self.word(start)?;
            let is_likely = length.is_multiple_of(4)
                && length as usize <= self.bytes.len() - start
                && self.word(start + FRAME).is_some_and(is_header);
            if !is_likely {
                continue;
            }
            if self.work == 0 {
                return None;
            }
            if self.is_start(start) {
                return Some(start);
            }
        }
        None
    }

    /// Whether a whole record starts at `at`. A number in a damaged value may look like the length of the next one: something must
    /// follow that is whole as well.
    fn is_start(&mut self, at: usize) -> bool {
        let Some(record) = self.record_at(at) else { return false };
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

/// Whether a value may start so.
fn is_header(word: u32) -> bool {
    VariantType::from_id(word as u8).is_some_and(|ty| word & !ty.header_mask() == 0)
}
