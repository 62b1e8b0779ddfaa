//! Decodes maps, whose entries are messages.

use std::cmp::Ordering;
use std::ops::Range;

use variant_codec::error::{Locate, Step};
use variant_codec::stream::{ElementType, Sink};
use variant_codec::{Error as CodecError, Result, VariantType};

use super::{Entry, MessageDecoder, Number};
use crate::error::{Error, Oddity};
use crate::kind::Kind;
use crate::order::{order_of, start_of};
use crate::reader::{odd, range};
use crate::schema::{Field, MessageTable};
use crate::wire::MAX_NESTING;

impl<'a> MessageDecoder<'a> {
    /// Writes a map as a Dictionary with its entries sorted by key.
    #[inline(never)]
    pub(super) fn decode_map<S: Sink>(
        &mut self,
        sink: &mut S,
        field: &'a Field,
        records: Range<usize>,
        depth: u32,
        level: u32,
    ) -> Result<()> {
        let Kind::Message(index) = field.kind else { unreachable!("a map's entries are messages") };
        let table = self.message(index);
        let (first, first_entry) = (self.memory.found.len(), self.memory.entries.len());
        let at = self.memory.found.get(records.start).map_or(0, |found| found.at as usize);
        for record in records {
            self.add_entry(table, record, level + 1)?;
        }
        self.sort_entries(table, first_entry, level + 1)?;
        let count = self.memory.entries.len() - first_entry;
        self.budget.value(VariantType::Dictionary).at(at)?;
        self.budget.dictionary(count).at(at)?;
        if count > 0 {
            self.check_depth(depth + 1, at)?;
        }
        let (key, value) = table.entry();
        let mut dictionary =
            sink.begin_dictionary(count, ElementType::Untyped, ElementType::Untyped).at(at)?;
        for index in first_entry..first_entry + count {
            let entry = self.memory.entries[index].clone();
            let at = entry.at as usize;
            sink.begin_key(&mut dictionary).at(at)?;
            match key.kind {
                Kind::String => {
                    let text = &self.bytes[range(entry.key)];
                    self.budget.key(count, text.len()).at(at)?;
                    self.decode_text(sink, text, at)?;
                }
                Kind::Bool => self.decode_number(sink, key.kind, Number::Bool(entry.key != 0)).at(at)?,
                kind => self.decode_number(sink, kind, Number::Int(entry.key as i64)).at(at)?,
            }
            sink.begin_value(&mut dictionary).at(at)?;
            let records = entry.value.start as usize..entry.value.end as usize;
            let written = if records.is_empty() {
                self.decode_default(sink, value, depth + 1, level + 1)
            } else {
                self.decode_single(sink, value, records, depth + 1, level + 1)
            };
            written.map_err(|error| error.at(at).inside(self.step_of(key.kind, &entry)))?;
            sink.end_entry(&mut dictionary).at(at)?;
        }
        self.memory.entries.truncate(first_entry);
        self.memory.found.truncate(first);
        sink.end_dictionary(dictionary).at(at)
    }

    /// Reads the key of an entry, and records the range of its value.
    fn add_entry(&mut self, table: &'a MessageTable, record: usize, level: u32) -> Result<()> {
        let (first, unknown) = (self.memory.found.len(), self.memory.unknown.len());
        let found = self.memory.found[record];
        let at = found.at as usize;
        if level > MAX_NESTING {
            return Err(CodecError::other(Error::TooDeep).at(at));
        }
        self.scan(table, range(found.value), None, level)?;
        // Unknown fields of an entry are dropped, as in all implementations.
        self.memory.unknown.truncate(unknown);
        self.settle(table, first, level)?;
        let end = self.memory.found.len();
        let value = first + self.memory.found[first..].partition_point(|found| found.rank == 0);
        self.odd((value, end) != (first + 1, first + 2), at, Oddity::Map)?;
        let key = table.entry().0;
        for index in first..value.saturating_sub(1) {
            self.check_replaced(key, self.memory.found[index], level)?;
        }
        let key = match self.memory.found[first..value].last() {
            None => 0,
            Some(found) => match key.kind {
                Kind::String => found.value,
                kind => match self.number(kind, *found, at)? {
                    Number::Int(int) => int as u64,
                    Number::Bool(bool) => bool.into(),
                    Number::Float(_) => unreachable!("a float is no key"),
                },
            },
        };
        let order = match table.entry().0.kind {
            Kind::String => start_of(&self.bytes[range(key)]),
            kind => order_of(kind, key as i64),
        };
        let entry = Entry { order, key, at: found.at, value: value as u32..end as u32 };
        self.memory.entries.push(entry, &mut self.budget).at(at)
    }

    /// Sorts entries by key. If a key repeats, the last entry wins. Strict mode refuses unsorted entries and
    /// repeated keys.
    fn sort_entries(&mut self, table: &'a MessageTable, first: usize, level: u32) -> Result<()> {
        let bytes = self.bytes;
        let (key, value) = table.entry();
        let has_texts = key.kind == Kind::String;
        let compare = |a: &Entry, b: &Entry| match a.order.cmp(&b.order) {
            Ordering::Equal if has_texts => bytes[range(a.key)].cmp(&bytes[range(b.key)]),
            ordering => ordering,
        };
        let entries = &mut self.memory.entries[first..];
        let Some(index) = entries.windows(2).position(|pair| compare(&pair[0], &pair[1]).is_ge()) else {
            return Ok(());
        };
        if self.strict {
            return Err(odd(Oddity::Map, entries[index + 1].at as usize));
        }
        entries.sort_unstable_by(|a, b| compare(a, b).then(a.at.cmp(&b.at)));
        let mut kept = first;
        for index in first..self.memory.entries.len() {
            let entry = self.memory.entries[index].clone();
            let next = self.memory.entries.get(index + 1);
            if next.is_some_and(|next| compare(&entry, next).is_eq()) {
                for record in entry.value {
                    self.check_replaced(value, self.memory.found[record as usize], level)?;
                }
            } else {
                self.memory.entries[kept] = entry;
                kept += 1;
            }
        }
        self.memory.entries.truncate(kept);
        Ok(())
    }

    /// The step of an error's path for the key of a map entry.
    #[cold]
    fn step_of(&self, kind: Kind, entry: &Entry) -> Step {
        match kind {
            Kind::String => Step::text_key(&String::from_utf8_lossy(&self.bytes[range(entry.key)])),
            Kind::Bool => Step::Key((entry.key != 0).to_string()),
            _ => Step::int_key(entry.key as i64),
        }
    }
}
