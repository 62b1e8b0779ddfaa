//! Sorts fields and map entries, and checks required fields and oneofs.

use variant_codec::error::quoted;
use variant_codec::{ErrorKind, Result};

use super::{Level, MessageEncoder, Segment};
use crate::error::Error;
use crate::kind::Kind;
use crate::schema::{Field, NONE, UNKNOWN_KEY};

impl<'s> MessageEncoder<'s> {
    #[inline(always)]
    pub(super) fn begin_segment(&mut self, rank: u64) -> Result<()> {
        let bytes = size_of::<Segment>();
        self.segments.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory(bytes))?;
        self.segments.push(Segment { rank, start: self.out.len() as u32, len: 0 });
        Ok(())
    }

    /// Sorts fields by number, or entries by key.
    #[inline(never)]
    pub(super) fn sort(&mut self, level: &Level<'s>) -> Result<()> {
        let segments = &mut self.segments[level.first as usize..];
        let Some(start) = segments.first().map(|segment| segment.start as usize) else { return Ok(()) };
        let mut end = self.out.len();
        for segment in segments.iter_mut().rev() {
            segment.len = (end - segment.start as usize) as u32;
            end = segment.start as usize;
        }
        let has_text_keys = level.map.is_some() && level.message.entry().0.kind == Kind::String;
        let key = |segment: &Segment| {
            if has_text_keys { entry_key(&self.out.written()[segment.range()]) } else { &[] }
        };
        segments.sort_unstable_by(|a, b| a.rank.cmp(&b.rank).then_with(|| key(a).cmp(key(b))));
        for pair in segments.windows(2) {
            if pair[0].rank == pair[1].rank && key(&pair[0]) == key(&pair[1]) {
                let what = match level.map {
                    None => match level.message.fields.get(pair[0].rank as usize) {
                        Some(field) => format!("field {}", field.name),
                        None => UNKNOWN_KEY.to_owned(),
                    },
                    Some(_) if has_text_keys => {
                        format!("key {}", quoted(&String::from_utf8_lossy(key(&pair[0]))))
                    }
                    Some(_) => "key".to_owned(),
                };
                return Err(Error::Duplicate(what).into());
            }
        }
        self.out.rearrange(start, segments.iter().map(Segment::range), &mut self.spare)
    }

    /// Checks required fields and oneofs.
    #[inline(never)]
    pub(super) fn check_together(&mut self, level: &Level<'s>) -> Result<()> {
        let message = level.message;
        let segments = &self.segments[level.first as usize..];
        let mut fields = segments.iter().filter_map(|segment| message.fields.get(segment.rank as usize));
        if fields.clone().filter(|field| field.is_required()).count() < message.required {
            let found = |field: &&Field| !fields.clone().any(|other| other.number == field.number);
            let field = message.fields.iter().filter(|field| field.is_required()).find(found);
            let field = field.map(|field| field.name.to_string()).unwrap_or_default();
            return Err(Error::Missing { message: message.name.to_string(), field }.into());
        }
        self.members.clear();
        self.members.resize(message.oneofs.len(), NONE);
        fields.try_for_each(|field| {
            let Some(oneof) = field.oneof.map(usize::from) else { return Ok(()) };
            let rank = message.rank_of(field.number);
            let first = std::mem::replace(&mut self.members[oneof], rank);
            if first == NONE {
                return Ok(());
            }
            let first = message.fields[usize::from(first)].name.to_string();
            let (oneof, second) = (message.oneofs[oneof].to_string(), field.name.to_string());
            Err(Error::Oneof { oneof, first, second }.into())
        })
    }

    /// Sets the sort key of the last map entry.
    #[inline(always)]
    pub(super) fn note_key(&mut self, rank: u64) {
        let [.., last] = self.segments.as_mut_slice() else { return };
        last.rank = rank;
    }
}

/// The text key of an encoded map entry.
fn entry_key(entry: &[u8]) -> &[u8] {
    let end = |bytes: &[u8]| bytes.iter().position(|byte| *byte < 0x80).map_or(0, |last| last + 1);
    // Skips the tag and length of the entry, then the tag of the key.
    let entry = &entry[end(entry)..];
    let entry = &entry[end(entry) + 1..];
    let (len, text) = entry.split_at(end(entry));
    let len = len.iter().rev().fold(0, |len, byte| len << 7 | usize::from(byte & 0x7F));
    &text[..len]
}
