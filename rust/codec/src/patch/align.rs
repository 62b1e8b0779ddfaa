//! Pairs the elements of two lists.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::form::{push, with_capacity};
use super::search::{self, Hunk};
use crate::error::{ErrorKind, Result};
use crate::format::VariantType;
use crate::view::View;

/// A difference between two lists. Items between two pieces are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// One changed item: its index in the old and in the new list.
    Changed(usize, usize),
    /// Items that were removed, and others that were inserted in their place.
    Replaced(Range<usize>, Range<usize>),
}

/// Pairs old and new elements, and returns the differences.
pub(super) fn pieces(old: &Items<'_>, new: &Items<'_>) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    for Hunk { old: gone, new: come } in changed_ranges(old, new)? {
        if gone.len() == come.len() {
            for (old, new) in gone.zip(come) {
                push(&mut pieces, Piece::Changed(old, new))?;
            }
            continue;
        }
        // Items with the same similarity key are paired, even if other bytes in them have changed.
        let alike = hunks(old.similarity_keys(gone.clone()), new.similarity_keys(come.clone()))?;
        let (mut old_index, mut new_index) = (gone.start, come.start);
        let end = Hunk { old: gone.len()..gone.len(), new: come.len()..come.len() };
        for hunk in alike.into_iter().chain([end]) {
            let (next_gone, next_come) = (shifted(&hunk.old, gone.start), shifted(&hunk.new, come.start));
            for (old, new) in (old_index..next_gone.start).zip(new_index..) {
                push(&mut pieces, Piece::Changed(old, new))?;
            }
            (old_index, new_index) = (next_gone.end, next_come.end);
            if !next_gone.is_empty() || !next_come.is_empty() {
                push(&mut pieces, Piece::Replaced(next_gone, next_come))?;
            }
        }
    }
    Ok(pieces)
}

/// Returns the ranges where the lists differ. A common prefix and suffix are left out of the search.
pub(super) fn changed_ranges(old: &Items<'_>, new: &Items<'_>) -> Result<Vec<Hunk>> {
    let (mut old_range, mut new_range) = (0..old.len(), 0..new.len());
    let is_same = |(a, b): &(&[u8], &[u8])| a == b;
    let prefix = old.each(old_range.clone()).zip(new.each(new_range.clone())).take_while(is_same).count();
    (old_range.start, new_range.start) = (prefix, prefix);
    let back = old.each(old_range.clone()).rev().zip(new.each(new_range.clone()).rev());
    let suffix = back.take_while(is_same).count();
    (old_range.end, new_range.end) = (old_range.end - suffix, new_range.end - suffix);
    let mut found = hunks(old.each(old_range), new.each(new_range))?;
    for hunk in &mut found {
        (hunk.old, hunk.new) = (shifted(&hunk.old, prefix), shifted(&hunk.new, prefix));
    }
    Ok(found)
}

fn shifted(range: &Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}

/// The elements of an Array or PackedStringArray.
pub(super) struct Items<'a> {
    list: View<'a>,
    /// The offset of each element, then the end of the last one.
    starts: Vec<u32>,
}

impl<'a> Items<'a> {
    pub fn of(list: &View<'a>) -> Result<Self> {
        let mut starts = with_capacity(list.count()?.saturating_add(1))?;
        let mut elements = list.elements()?;
        starts.push(elements.position() as u32);
        while let Some(element) = elements.next() {
            element?;
            starts.push(elements.position() as u32);
        }
        Ok(Self { list: *list, starts })
    }

    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    pub fn view(&self, index: usize) -> Result<View<'a>> {
        self.list.element_at(self.starts[index] as usize)
    }

    pub fn bytes(&self, range: Range<usize>) -> &'a [u8] {
        let bytes = self.starts[range.start] as usize..self.starts[range.end] as usize;
        self.list.whole().get(bytes).unwrap_or_default()
    }

    fn each(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = &'a [u8]> + ExactSizeIterator {
        range.map(|index| self.bytes(index..index + 1))
    }

    /// For each element, the bytes that identify it after a change: the first entry of a Dictionary, or the
    /// first element of an Array.
    fn similarity_keys(&self, range: Range<usize>) -> impl ExactSizeIterator<Item = &'a [u8]> {
        range.map(|index| {
            self.view(index).ok().and_then(|element| similarity_key(&element)).unwrap_or_default()
        })
    }
}

fn similarity_key<'a>(element: &View<'a>) -> Option<&'a [u8]> {
    match element.ty() {
        VariantType::Dictionary => {
            let (key, value) = element.entries().ok()?.next()?.ok()?;
            element.whole().get(key.range().ok()?.start..value.range().ok()?.end)
        }
        VariantType::Array => element.elements().ok()?.next()?.ok()?.bytes().ok(),
        _ => None,
    }
}

/// Returns the differences between two lists, in order. They are not always the fewest, because the search is
/// bounded.
fn hunks<'e>(
    old: impl ExactSizeIterator<Item = &'e [u8]>,
    new: impl ExactSizeIterator<Item = &'e [u8]>,
) -> Result<Vec<Hunk>> {
    let mut names = Names::default();
    let (mut old_names, mut new_names) = (with_capacity(old.len())?, with_capacity(new.len())?);
    for element in old {
        old_names.push(names.of(element)?);
    }
    for element in new {
        new_names.push(names.of(element)?);
    }
    search::hunks(&old_names, &new_names, names.seen.len())
}

/// The distinct elements, numbered.
struct Names<'e> {
    seen: Vec<&'e [u8]>,
    numbers: HashTable<u32>,
    seed: u64,
}

impl Default for Names<'_> {
    fn default() -> Self {
        Self { seen: Vec::new(), numbers: HashTable::new(), seed: RandomState::new().hash_one(0) }
    }
}

impl<'e> Names<'e> {
    fn of(&mut self, element: &'e [u8]) -> Result<u32> {
        let Self { seen, numbers, seed } = self;
        let wanted = xxh3_64_with_seed(element, *seed);
        if let Some(number) = numbers.find(wanted, |number| seen[*number as usize] == element) {
            return Ok(*number);
        }
        let number = seen.len() as u32;
        let hash = |number: &u32| xxh3_64_with_seed(seen[*number as usize], *seed);
        numbers.try_reserve(1, hash).map_err(|_| ErrorKind::OutOfMemory(2 * numbers.allocation_size()))?;
        numbers.insert_unique(wanted, number, hash);
        push(seen, element)?;
        Ok(number)
    }
}
