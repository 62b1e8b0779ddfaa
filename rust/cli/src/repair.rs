//! `repair`: copies the whole records of a damaged file.

use std::collections::BTreeMap;
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

// Evidence, in bits, found by trial on files with known damage.
/// A length fits the value after it.
const FITS: i64 = 32;
/// Additional evidence for a container: its counts fit as well.
const COUNTS: i64 = 16;
/// A length leads from a damaged record to a whole one, or a whole record directly follows a value with a damaged
/// length. The end of the bytes counts as a whole record.
const LEADS: i64 = 20;
/// Evidence for the start of a damaged record, once for a possible length and once for a header.
const START: i64 = 8;
/// The size of a value of three numbers, in bytes. Fewer may be the length, the header and the number of a record.
const MANY_NUMBERS: usize = HEADER + 3 * HEADER;
/// Evidence against each place with damage.
const DAMAGE: i64 = 30;
/// Evidence against a length that may be part of a value.
const PART: i64 = 32;

/// Explains the bytes as whole records and damage between them. Of all explanations, takes the one with the
/// most evidence, as Viterbi's algorithm does: step by step, with the best explanation up to each offset.
struct Search<'b> {
    bytes: &'b [u8],
    filled: &'b [Range<usize>],
    limits: Limits,
    /// The number of bytes that the search may still read. Damage that looks like records could be read again and
    /// again.
    work: usize,
    /// All explanations, each as its last part and the index of the explanation before it.
    parts: Vec<(Part, usize)>,
    /// The best explanations that end at later offsets, where a record or damage may start.
    ends: BTreeMap<usize, Explanation>,
    /// The best explanation that ends in damage.
    damage: Option<Damage>,
    /// For each offset: the best explanation that ends in a damaged record whose length leads there.
    links: BTreeMap<usize, Damage>,
    /// The end of a record, whole or damaged, that precedes a whole one. Anything inside this record that
    /// looks like a record is part of it.
    certain: usize,
    /// The end of an unbroken chain of whole records, from the start of the file or from a container among records that
    /// are not doubted. No record starts inside one of them.
    chain: usize,
    /// The offset to which the length of a damaged record leads, if a whole record follows there.
    claimed: usize,
    /// The end of the last record that may hold encoded values or records in a PackedByteArray.
    held: usize,
    /// The last record that was checked, by the offset of its length.
    checked: Option<(usize, Option<Range<usize>>)>,
    /// The end of a found record. A record is read there even if the search may read no more.
    expected: usize,
}

#[derive(Clone)]
enum Part {
    Nothing,
    Record(Range<usize>),
    Lost(Range<usize>),
}

/// An explanation of all bytes up to an offset.
#[derive(Clone, Copy)]
struct Explanation {
    evidence: i64,
    /// The index of its last part.
    part: usize,
}

/// An explanation that ends in damage.
#[derive(Clone, Copy)]
struct Damage {
    evidence: i64,
    start: usize,
    /// The last part before the damage.
    before: usize,
    /// The end of the whole record at which the damage starts, or 0. A number or short value in the damage counts as a
    /// record only if it ends after this offset.
    within: usize,
}

impl Damage {
    fn with(self, evidence: i64) -> Self {
        Self { evidence: self.evidence + evidence, ..self }
    }
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
            parts: vec![(Part::Nothing, 0)],
            ends: BTreeMap::from([(0, Explanation { evidence: 0, part: 0 })]),
            damage: None,
            links: BTreeMap::new(),
            certain: 0,
            chain: 0,
            claimed: 0,
            held: 0,
            checked: None,
            expected: 0,
        }
    }

    fn run(mut self) -> Found {
        let (mut whole, mut end) = (Vec::new(), 0);
        while let Some(record) = self.record_at(end) {
            end = record.end;
            whole.push(record);
        }
        if end == self.bytes.len() {
            return Found { whole, ..Found::default() };
        }
        drop(whole);
        for at in 0..self.bytes.len() {
            if at < self.held {
                self.find_inner_records(at);
            }
            let (here, link) = (self.ends.remove(&at), self.links.remove(&at));
            let is_expected = here.is_some() || link.is_some();
            if is_expected && self.work == 0 {
                (self.expected, self.checked) = (at, None);
            }
            let may_start = is_expected || at >= self.chain && self.is_likely(at) && !self.is_hidden(at);
            let record = may_start.then(|| self.record_at(at)).flatten();
            let leads =
                record.as_ref().is_some_and(|record| self.fit(record) >= FITS && !self.is_doubtful(record));
            let link = link.map(|link| link.with(if leads { LEADS } else { 0 }));
            if let Some(record) = &record {
                self.held = self.held.max(record.end);
                self.take_record(here, link, record);
            }
            let here = self.better(here, link, at);
            let is_certain = record.as_ref().is_some_and(|record| self.is_followed(record.end));
            if let Some(record) = &record {
                self.continue_chain(at, record, is_certain);
            }
            if let Some(record) = record.as_ref().filter(|_| is_certain) {
                self.certain = self.certain.max(record.end);
            }
            if let Some(here) = here.filter(|_| !is_certain && at >= self.chain) {
                let has_value = record.is_none() && self.take_values(here, at);
                self.take_damage(here, at, record, has_value);
            }
        }
        let end = self.bytes.len();
        let (here, link) = (self.ends.remove(&end), self.links.remove(&end));
        let last = self.better(here, link.map(|link| link.with(LEADS)), end);
        let last = self.better(last, self.damage, end);
        self.found(last)
    }

    /// The better of two explanations: `other`, and the one whose `damage` ends at `at`.
    fn better(
        &mut self,
        other: Option<Explanation>,
        damage: Option<Damage>,
        at: usize,
    ) -> Option<Explanation> {
        let is_better = |damage: &Damage| other.is_none_or(|other| other.evidence < damage.evidence);
        let Some(damage) = damage.filter(is_better) else { return other };
        self.parts.push((Part::Lost(damage.start..at), damage.before));
        Some(Explanation { evidence: damage.evidence, part: self.parts.len() - 1 })
    }

    /// Adds a whole record to the explanation that ends before it with a record (`here`) or with damage.
    fn take_record(&mut self, here: Option<Explanation>, link: Option<Damage>, record: &Range<usize>) {
        let (at, fit) = (record.start - FRAME, self.fit(record));
        let damage = self
            .damage
            .filter(|damage| fit == FITS + COUNTS || fit >= FITS && self.leads_beyond(record, damage.within));
        // A damaged record may be torn right after its header.
        let is_torn = damage.is_some_and(|damage| at == damage.start + FRAME + HEADER);
        // In damage, the length may well be a part of a value; after a record, only if that one is torn.
        let doubt = if self.is_doubtful(record) { PART } else { 0 };
        let here = here.map(|here| Explanation { evidence: here.evidence - doubt / 2, ..here });
        let here = self.better(here, link.map(|link| link.with(-doubt)), at);
        let damage = damage.map(|damage| damage.with(if is_torn { 0 } else { -doubt }));
        if let Some(from) = self.better(here, damage, at) {
            self.take(from, record.clone(), fit);
        }
    }

    /// Whether this record, or one of the next few whole ones after it, ends after `within`, but none at it.
    fn leads_beyond(&mut self, record: &Range<usize>, within: usize) -> bool {
        const IN_A_ROW: usize = 8;

        let mut end = record.end;
        for _ in 0..IN_A_ROW {
            if end >= within {
                break;
            }
            match self.record_at(end).filter(|next| self.fit(next) >= FITS) {
                Some(next) => end = next.end,
                None => return false,
            }
        }
        end > within
    }

    /// Adds the start of damage.
    fn take_damage(&mut self, here: Explanation, at: usize, record: Option<Range<usize>>, has_value: bool) {
        let end = self.bytes.len();
        let next = self.next(at).filter(|next| (*next - at).is_multiple_of(4) && !self.is_part(at));
        let next = next.filter(|next| *next <= end || self.is_cut_off(at)).map(|next| next.min(end));
        let starts = match &record {
            _ if self.is_part(at) => 0,
            // A valid record may be a torn one that includes bytes of the next.
            Some(record) => i64::from(self.fit(record) <= FITS),
            None => i64::from(next.is_some()) + i64::from(self.is_likely(at)),
        };
        let within = record.as_ref().map_or(0, |record| record.end);
        let damage = Damage { evidence: here.evidence - DAMAGE, start: at, before: here.part, within };
        let damage = damage.with(starts * START);
        if self.damage.is_none_or(|other| other.evidence < damage.evidence) {
            self.damage = Some(damage);
        }
        let Some(next) = next.filter(|next| record.is_none() && *next > at + FRAME) else { return };
        self.held = self.held.max(next);
        if !has_value && next < end && next > self.claimed && self.is_followed(next) {
            self.claimed = next;
        }
        let link = damage.with(if starts < 2 { -START } else { 0 });
        if self.links.get(&next).is_none_or(|other| other.evidence < link.evidence) {
            self.links.insert(next, link);
        }
    }

    /// If a PackedByteArray at `at` holds an encoded value or whole records, moves `certain` to their end: they are not
    /// records of the file.
    fn find_inner_records(&mut self, at: usize) {
        let is_array = self.word(at) == Some(VariantType::PackedByteArray as u32);
        let mut end = at + 2 * HEADER;
        if !is_array || end <= self.certain {
            return;
        }
        if let Some(value) = self.record_at(at + HEADER) {
            self.certain = self.certain.max(value.end);
            return;
        }
        let last = end.saturating_add(self.word(at + HEADER).unwrap_or_default() as usize).min(self.held);
        while let Some(record) = self.record_at(end).filter(|record| self.fit(record) >= FITS) {
            // Records of the file, after a torn record.
            if record.end > last {
                return;
            }
            end = record.end;
        }
        self.certain = self.certain.max(end);
    }

    /// Whether the bytes at `at` are a part of a record, although they look like a record. Whole records in a row are
    /// no part of a damaged one: a torn record and whole ones after it may together be as long as its length says.
    fn is_hidden(&mut self, at: usize) -> bool {
        match self.next(at).filter(|end| *end > self.certain) {
            None => true,
            Some(end) if end >= self.claimed => false,
            // The torn record may end with a header, so the length of the first one may look like a part of a value.
            Some(_) => !self.are_in_a_row(at, 1),
        }
    }

    /// Moves `chain` to the end of the record at `at` if whole records follow, and it is the next in the chain or
    /// begins another one.
    fn continue_chain(&mut self, at: usize, record: &Range<usize>, is_certain: bool) {
        let is_next = at == self.chain && (is_certain || self.are_in_a_row(record.end, 3));
        if is_next || is_certain && self.fit(record) > FITS && self.are_in_a_row(at, 0) {
            self.chain = self.chain.max(record.end);
        }
    }

    /// Whether three whole records, or fewer and the end, follow each other. The first `trusted` ones are not doubted.
    fn are_in_a_row(&mut self, mut at: usize, trusted: usize) -> bool {
        (0..3).all(|index| {
            if at == self.bytes.len() {
                return true;
            }
            let Some(record) = self.record_at(at) else { return false };
            at = record.end;
            self.fit(&record) >= FITS && (index < trusted || !self.is_doubtful(&record))
        })
    }

    /// Adds a record or value to an explanation.
    fn take(&mut self, from: Explanation, record: Range<usize>, evidence: i64) {
        let (end, evidence) = (record.end, from.evidence + evidence);
        if self.ends.get(&end).is_none_or(|other| other.evidence < evidence) {
            self.parts.push((Part::Record(record), from.part));
            self.ends.insert(end, Explanation { evidence, part: self.parts.len() - 1 });
        }
    }

    /// Adds values whose length is damaged or lacks bytes. A record or the end must follow. Returns whether a
    /// value with a damaged length was found.
    fn take_values(&mut self, from: Explanation, at: usize) -> bool {
        let mut has_value = false;
        let is_after_damage = matches!(self.parts.get(from.part), Some((Part::Lost(_), _)));
        // A text without its length looks like a length and numbers.
        let text = self.value_at(at).filter(|value| !self.has_numbers(value.start));
        for missing in 0..=FRAME {
            let start = at + FRAME - missing;
            let Some(value) = self.value_at(start) else { continue };
            if !self.is_followed(value.end) {
                continue;
            }
            has_value |= missing == 0;
            // One bit of the length has changed, or the counts fit as well. A torn container may end with the
            // record after it.
            let is_flipped = |length: u32| (length ^ value.len() as u32).is_power_of_two();
            let is_sure = |search: &mut Self| {
                search.word(at).is_some_and(is_flipped)
                    || search.fit(&value) == FITS + COUNTS
                        && search.are_in_a_row(value.end, 0)
                        && !search.ends_with_record(&value)
            };
            if missing == 0 && is_sure(self) {
                self.certain = self.certain.max(value.end);
            }
            let (is_number, has_counts) = (self.has_numbers(start), self.fit(&value) > FITS);
            let is_text = text.as_ref().is_some_and(|text| is_number && text.end == value.end);
            let evidence = match missing {
                // The value starts after a whole record, and ends before one.
                0 if is_text => -PART,
                0 if !is_after_damage && (!is_number || value.len() >= MANY_NUMBERS) => LEADS + 2 * START,
                0 if !is_number => LEADS,
                _ if has_counts => LEADS,
                0 => 2 * START,
                _ => -PART,
            };
            self.take(from, value, evidence - DAMAGE);
        }
        has_value
    }

    /// Whether the last bytes of a value are a whole record, but not in a PackedByteArray.
    fn ends_with_record(&mut self, value: &Range<usize>) -> bool {
        self.charge(value.len());
        for at in value.clone() {
            if self.word(at) == Some(VariantType::PackedByteArray as u32)
                && let Some(count) = self.word(at + HEADER)
                && (at + 2 * HEADER) as u64 + u64::from(count).next_multiple_of(4) == value.end as u64
            {
                return false;
            }
            if self.next(at) == Some(value.end) && self.record_at(at).is_some() {
                return true;
            }
        }
        false
    }

    /// Whether a whole record or the end follows. Zeros after a 4 are no evidence, unless they are repeated.
    fn is_followed(&mut self, mut end: usize) -> bool {
        const REPEATED: usize = 4;

        for _ in 0..REPEATED {
            if end == self.bytes.len() {
                return true;
            }
            match self.record_at(end) {
                None => return false,
                Some(record) if self.fit(&record) >= FITS => return !self.is_doubtful(&record),
                Some(record) => end = record.end,
            }
        }
        true
    }

    /// The evidence that the length fits the value. Zeros often follow a 4.
    fn fit(&self, value: &Range<usize>) -> i64 {
        let ty = self.ty(value.start);
        let has_elements = ty
            .is_some_and(|ty| matches!(ty.shape(), Shape::Array | Shape::Dictionary | Shape::PackedStrings));
        match ty {
            Some(VariantType::Nil | VariantType::Callable) => START,
            _ if has_elements => FITS + ((value.len() - HEADER) as i64 / 2).min(COUNTS),
            _ => FITS,
        }
    }

    /// Whether the length of this record may be part of a value in damage. The contents of a text or number
    /// do not decide this.
    fn is_doubtful(&self, record: &Range<usize>) -> bool {
        let is_packed = self.ty(record.start).is_some_and(|ty| matches!(ty.shape(), Shape::Packed(..)));
        !is_packed && self.fit(record) <= FITS && self.is_part(record.start - FRAME)
    }

    /// Whether the word at `at` may be the payload of an int or the count of a value, because the word before
    /// it is a header that is not itself such a payload or count.
    fn is_part(&self, at: usize) -> bool {
        /// The maximum number of words to check before `at`. In a longer run, any word may be a header.
        const WORDS: usize = 32;

        let has_part = |back: &usize| {
            let header = at.checked_sub(back * HEADER);
            header
                .filter(|header| self.word(*header).is_some_and(is_header))
                .and_then(|header| self.ty(header))
                .is_some_and(|ty| {
                    matches!(
                        ty.shape(),
                        Shape::Int
                            | Shape::Text
                            | Shape::Packed(..)
                            | Shape::PackedStrings
                            | Shape::Array
                            | Shape::Dictionary
                    )
                })
        };
        (1..=WORDS).take_while(has_part).count() % 2 == 1
    }

    fn found(&self, last: Option<Explanation>) -> Found {
        let mut found = Found::default();
        let mut index = last.map_or(0, |last| last.part);
        while let Some((part, before)) = self.parts.get(index) {
            match part {
                Part::Nothing => break,
                Part::Record(record) => found.whole.push(record.clone()),
                Part::Lost(lost) => match found.lost.last_mut().filter(|later| later.start == lost.end) {
                    Some(later) => later.start = lost.start,
                    None => found.lost.push(lost.clone()),
                },
            }
            index = *before;
        }
        found.whole.reverse();
        found.lost.reverse();
        found.gave_up = self.work == 0 && !found.lost.is_empty();
        found
    }

    /// The record whose length prefix is at `at`, if it is whole and fills its length.
    fn record_at(&mut self, at: usize) -> Option<Range<usize>> {
        if let Some((_, record)) = self.checked.as_ref().filter(|(checked, _)| *checked == at) {
            return record.clone();
        }
        let record = self.check_record(at);
        self.checked = Some((at, record.clone()));
        record
    }

    fn check_record(&mut self, at: usize) -> Option<Range<usize>> {
        let length = self.word(at)? as usize;
        let start = at + FRAME;
        let record = self.bytes.get(start..)?.get(..length).filter(|record| !record.is_empty())?;
        if self.work == 0 && at != self.expected || self.is_filled(start..start + length) {
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

    /// The value at `start`, without a length. Rejects a header without contents, because four zeros are a valid
    /// header.
    fn value_at(&mut self, start: usize) -> Option<Range<usize>> {
        let bytes = self.bytes.get(start..).filter(|bytes| !bytes.is_empty() && self.work > 0)?;
        let end = start + self.value_end(bytes).filter(|length| *length > HEADER)?;
        let value = self.bytes.get(start..end).filter(|_| !self.is_filled(start..end))?;
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

    fn is_filled(&self, range: Range<usize>) -> bool {
        let next = self.filled.partition_point(|filled| filled.end <= range.start);
        self.filled.get(next).is_some_and(|filled| filled.start < range.end)
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
