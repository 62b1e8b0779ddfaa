//! Scans the records of a message.

use std::ops::Range;

use variant_codec::stream::Measure;
use variant_codec::{EncodeOptions as CodecOptions, Result};

use super::{FieldRecord, Member, MessageDecoder};
use crate::error::Oddity;
use crate::kind::{Class, Kind};
use crate::reader::{Group, Notes, Reader, Record, range};
use crate::schema::{Field, Label, MessageTable, NONE};
use crate::varint::{LONGEST_VARINT, put_varint, unzigzag};
use crate::wire::Wire;

impl<'a> MessageDecoder<'a> {
    /// Collects the records of a message, and keeps unknown fields. If the message is a group, `groups` is
    /// the index of the first group in it.
    #[inline(always)]
    pub(super) fn scan(
        &mut self,
        message: &'a MessageTable,
        range: Range<usize>,
        mut groups: Option<usize>,
        level: u32,
    ) -> Result<()> {
        let wire = self.options.wire;
        let mut reader = self.reader(range);
        let mut last = None;
        while !reader.is_at_end() {
            let at = reader.at;
            let Record { number, class, mut value } = reader.record()?;
            let rank = message.rank_of(number);
            let field = message.fields.get(usize::from(rank));
            match field {
                Some(field) if field.accepts(class, wire) => {
                    if self.strict {
                        self.check_order(field, rank, last, at)?;
                        last = Some(rank);
                    }
                    if let Kind::Enum(_) | Kind::Message(_) = field.kind {
                        if class == Class::StartGroup {
                            value = self.pass_group(&mut reader, number, &mut groups, true, level)? as u64;
                        } else if self.has_foreign_enum(field, class, value, at, level)? {
                            self.add_unknown(at..reader.at)?;
                            continue;
                        }
                    }
                    let found = FieldRecord { value, at: at as u32, rank, class };
                    self.memory.found.push(found, &mut self.budget).map_err(|error| error.at(at))?;
                }
                _ => {
                    let oddity = if field.is_some() { Oddity::WireType } else { Oddity::UnknownField };
                    self.odd(true, at, oddity)?;
                    if class == Class::StartGroup {
                        self.pass_group(&mut reader, number, &mut groups, false, level)?;
                    }
                    self.add_unknown(at..reader.at)?;
                }
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn add_unknown(&mut self, range: Range<usize>) -> Result<()> {
        if self.options.keep_unknown {
            let at = range.start;
            let kept = self.memory.unknown.extend(&self.bytes[range], &mut self.budget);
            return kept.map_err(|error| error.at(at));
        }
        Ok(())
    }

    /// Skips a group whose start-group tag has been read. Returns its index in `Memory::groups` if the field
    /// is known. Inside another group, `groups` is the index of the next recorded group.
    #[inline(never)]
    fn pass_group(
        &mut self,
        reader: &mut Reader<'a>,
        number: u32,
        groups: &mut Option<usize>,
        is_known: bool,
        level: u32,
    ) -> Result<usize> {
        let noted = &mut self.memory.groups;
        if let Some(index) = *groups {
            let Group { end, next, .. } = noted[index];
            reader.at = end as usize;
            reader.end_group()?;
            *groups = Some(next as usize);
            return Ok(index);
        }
        let index = noted.len();
        let mut notes = Notes { groups: noted, budget: &mut self.budget };
        reader.skip_group(number, level + 1, is_known.then_some(&mut notes))?;
        Ok(index)
    }

    /// Fails in strict mode if fields are not sorted by number. Also fails in strict mode if a field repeats,
    /// unless the field is an unpacked list or a map.
    fn check_order(&self, field: &Field, rank: u16, last: Option<u16>, at: usize) -> Result<()> {
        self.odd(last.is_some_and(|last| rank < last), at, Oddity::Order)?;
        let may_repeat = matches!(field.label, Label::Repeated | Label::Map);
        self.odd(last == Some(rank) && !may_repeat, at, Oddity::Repeated)
    }

    /// Whether a record is an unknown field because the field's closed enum does not list the number. In a
    /// packed list, only the unlisted elements are unknown.
    #[inline(never)]
    fn has_foreign_enum(
        &mut self,
        field: &'a Field,
        class: Class,
        value: u64,
        at: usize,
        level: u32,
    ) -> Result<bool> {
        let index = match field.kind {
            Kind::Enum(index) => index,
            Kind::Message(index) if field.label == Label::Map => {
                return self.has_foreign_value(self.message(index), range(value), at, level);
            }
            _ => return Ok(false),
        };
        let names = self.enumeration(index);
        if !names.is_closed {
            return Ok(false);
        }
        if class != Class::Bytes {
            let foreign = !names.accepts(value as i32);
            self.odd(foreign, at, Oddity::Range)?;
            return Ok(foreign);
        }
        let zigzags = self.options.wire.packs_in_zigzag(field.kind);
        let mut reader = self.reader(range(value));
        while !reader.is_at_end() {
            let element_at = reader.at;
            let raw = reader.varint(LONGEST_VARINT)?;
            let number = if zigzags { unzigzag(raw) } else { raw as i64 };
            if !names.accepts(number as i32) {
                self.odd(true, element_at, Oddity::Range)?;
                self.add_unknown_number(field, number, element_at)?;
            }
        }
        Ok(false)
    }

    /// Keeps an unknown element of a packed list as a record of its own.
    fn add_unknown_number(&mut self, field: &Field, number: i64, at: usize) -> Result<()> {
        if !self.options.keep_unknown {
            return Ok(());
        }
        let (class, magnitude) = match self.options.wire {
            Wire::Own if number < 0 => (Class::Negative, number.unsigned_abs()),
            _ => (Class::Varint, number as u64),
        };
        let tag = self.options.wire.tag(field.tag, class).to_le_bytes();
        let mut room = [0; LONGEST_VARINT];
        let len = put_varint(&mut room, magnitude);
        let (tag, number) = (&tag[..usize::from(field.tag.len)], &room[..len]);
        let kept = self.memory.unknown.extend(tag, &mut self.budget);
        kept.and_then(|()| self.memory.unknown.extend(number, &mut self.budget)).map_err(|error| error.at(at))
    }

    /// Whether the value of a map entry is a number that its closed enum does not list.
    fn has_foreign_value(
        &mut self,
        entry: &'a MessageTable,
        range: Range<usize>,
        at: usize,
        level: u32,
    ) -> Result<bool> {
        let Kind::Enum(index) = entry.entry().1.kind else { return Ok(false) };
        let names = self.enumeration(index);
        if !names.is_closed {
            return Ok(false);
        }
        let mut reader = self.reader(range);
        let mut foreign = false;
        while !reader.is_at_end() {
            let record = reader.record()?;
            if record.class == Class::StartGroup {
                reader.skip_group(record.number, level + 2, None)?;
            }
            if record.number == 2 && entry.entry().1.accepts(record.class, self.options.wire) {
                foreign = !names.accepts(record.value as i32);
            }
        }
        self.odd(foreign, at, Oddity::Range)?;
        Ok(foreign)
    }

    /// Sorts the records by field, starting at index `first`. Keeps only the last member of each oneof.
    #[inline(always)]
    pub(super) fn settle(&mut self, message: &'a MessageTable, first: usize, level: u32) -> Result<()> {
        if !message.oneofs.is_empty() {
            self.settle_oneofs(message, first, level)?;
        }
        let found = &mut self.memory.found[first..];
        if !found.is_sorted_by_key(|found| found.rank) {
            found.sort_unstable_by_key(|found| (found.rank, found.at));
        }
        let left = found.iter().rev().take_while(|found| found.rank == NONE).count();
        let kept = self.memory.found.len() - left;
        self.memory.found.truncate(kept);
        Ok(())
    }

    #[inline(never)]
    fn settle_oneofs(&mut self, message: &'a MessageTable, first: usize, level: u32) -> Result<()> {
        self.memory.members.clear();
        self.memory.members.reserve(message.oneofs.len(), &mut self.budget)?;
        self.memory.members.resize(message.oneofs.len(), Member::default());
        for index in (first..self.memory.found.len()).rev() {
            let found = self.memory.found[index];
            let field = &message.fields[usize::from(found.rank)];
            let Some(oneof) = field.oneof else { continue };
            if self.memory.members[usize::from(oneof)].is_replaced(field.number) {
                self.odd(true, found.at as usize, Oddity::Repeated)?;
                self.memory.found[index].rank = NONE;
                // `check_replaced` may overwrite the members, which are still needed here.
                let members = std::mem::take(&mut self.memory.members);
                self.check_replaced(field, found, level)?;
                self.memory.members = members;
            }
        }
        Ok(())
    }

    /// Checks a value that a later value replaces. Replaced values must be valid too.
    #[cold]
    #[inline(never)]
    pub(super) fn check_replaced(&mut self, field: &'a Field, found: FieldRecord, level: u32) -> Result<()> {
        match field.kind {
            Kind::String => self.utf8(&self.bytes[range(found.value)], found.at as usize).map(|_| ()),
            Kind::Message(index) if field.label != Label::Map => {
                let first = self.memory.found.len();
                self.memory.found.push(found, &mut self.budget)?;
                let mut measure = Measure::counting(CodecOptions::default());
                self.decode_message(&mut measure, self.message(index), first..first + 1, 0, level + 1)?;
                self.memory.found.truncate(first);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Member {
    /// Adds a member during a backward scan. Returns whether a later member replaces it.
    #[inline(always)]
    fn is_replaced(&mut self, number: u32) -> bool {
        let last = *self.number.get_or_insert(number);
        self.is_closed |= last != number;
        self.is_closed
    }
}
