//! [`KnownOffsets`]: a cache of the offsets of elements and keys.

use std::collections::{HashMap, HashSet};
use std::hash::RandomState;
use std::sync::Mutex;

use hashbrown::HashTable;

use crate::decoder::Decoder;
use crate::ends::Ends;
use crate::error::{ErrorKind, Result};
use crate::events::Source as _;
use crate::skim::Skimmer;
use crate::sync::lock;
use crate::wire::dialect::Dialect;

/// The minimum distance between two marks, in bytes. Elements between marks are walked again.
const STRIDE: usize = 256;

/// A Dictionary with at most `FEW` keys in fewer than `SMALL` bytes is cheaper to walk again than to
/// remember.
pub(super) const FEW: usize = 31;
const SMALL: usize = 512;

/// The offsets of elements and keys in containers that views of one buffer have walked. The next access jumps
/// to these offsets.
///
/// The cache takes 8 bytes per 256 bytes walked in Arrays. For a Dictionary with at least 512 bytes or 32 keys, it
/// takes up to 160 bytes and 24 bytes per key. Any thread may use the cache.
#[derive(Debug)]
pub struct KnownOffsets {
    pub(super) walked: Mutex<Walked>,
    /// Dictionaries with few keys in fewer bytes than this are walked again.
    least: usize,
    /// The ends of large, deeply nested values, by start. Without them, each level above would walk the value again.
    ends: Mutex<HashMap<u32, u32>>,
    pub(super) hasher: RandomState,
}

/// Walked containers, by start.
#[derive(Debug, Default)]
pub(super) struct Walked {
    arrays: HashMap<usize, Marks>,
    /// Dictionaries and Objects.
    dictionaries: HashMap<usize, Keys>,
    /// Typed Arrays whose elements all have the declared type.
    typed_arrays: HashSet<usize>,
}

impl Walked {
    /// The keys of the Dictionary or Object at `at`.
    pub(super) fn keys_at(&self, at: usize) -> Option<&Keys> {
        self.dictionaries.get(&at)
    }

    pub(super) fn remember(&mut self, at: usize, keys: Keys) {
        if self.dictionaries.try_reserve(1).is_ok() {
            self.dictionaries.insert(at, keys);
        }
    }
}

impl Default for KnownOffsets {
    fn default() -> Self {
        Self {
            walked: Default::default(),
            least: SMALL,
            ends: Default::default(),
            hasher: Default::default(),
        }
    }
}

impl KnownOffsets {
    /// A cache that includes small Dictionaries.
    pub(super) fn of_all() -> Self {
        Self { least: 0, ..Self::default() }
    }

    /// The end of the value at `at`; `None` if it cannot be determined. `decoder_at` returns a decoder at `at`.
    pub(super) fn end_of<'a, D: Dialect>(
        &self,
        bytes: &'a [u8],
        at: usize,
        decoder_at: impl FnOnce() -> Decoder<'a, D>,
    ) -> Option<usize> {
        /// The size in bytes up to which a value is walked again.
        const LARGE: usize = 4 << 10;

        let start = u32::try_from(at).ok()?;
        let mut known = lock(&self.ends);
        if let Some(end) = known.get(&start) {
            return Some(*end as usize);
        }
        let mut skimmer = Skimmer::<D>::new(bytes, at);
        if skimmer.skip_value(LARGE) == Some(true) {
            return Some(skimmer.position());
        }
        skimmer = Skimmer::new(bytes, at);
        let mut ends = Ends::default();
        let end = match skimmer.skip_noting(&mut ends) {
            Some(()) => skimmer.position(),
            // Only the decoder knows which non-canonical encodings are allowed.
            None => {
                ends = Ends::default();
                let mut decoder = decoder_at();
                decoder.write_into(&mut ends).ok()?;
                decoder.position()
            }
        };
        let found = ends.into_found();
        known.try_reserve(found.len()).ok()?;
        known.extend(found);
        Some(end)
    }

    /// Bytes of memory that the cache takes.
    pub fn memory(&self) -> usize {
        let walked = lock(&self.walked);
        let marks = walked.arrays.values().map(|marks| marks.0.capacity() * size_of::<Mark>());
        let keys = walked.dictionaries.values().map(|keys| keys.found.allocation_size());
        marks.sum::<usize>()
            + keys.sum::<usize>()
            + walked.arrays.capacity() * size_of::<(usize, Marks)>()
            + walked.dictionaries.capacity() * size_of::<(usize, Keys)>()
            + walked.typed_arrays.capacity() * size_of::<usize>()
            + lock(&self.ends).capacity() * size_of::<(u32, u32)>()
    }

    /// Calls `walk` with the marks in the Array that starts at `at`.
    pub(super) fn with_marks<R>(&self, at: usize, walk: impl FnOnce(&mut Marks) -> R) -> R {
        let mut walked = lock(&self.walked);
        if let Some(marks) = walked.arrays.get_mut(&at) {
            return walk(marks);
        }
        let mut marks = Marks::default();
        let result = walk(&mut marks);
        if !marks.0.is_empty() && walked.arrays.try_reserve(1).is_ok() {
            walked.arrays.insert(at, marks);
        }
        result
    }

    /// Calls `check` for the typed Array that starts at `at`, unless a check of this Array has succeeded
    /// before.
    pub(super) fn check_once(&self, at: usize, check: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut walked = lock(&self.walked);
        if !walked.typed_arrays.contains(&at) {
            check()?;
            if walked.typed_arrays.try_reserve(1).is_ok() {
                walked.typed_arrays.insert(at);
            }
        }
        Ok(())
    }

    /// Whether a Dictionary or Object is cheaper to walk again than to remember.
    pub(super) fn is_cheap(&self, keys: usize, bytes: usize) -> bool {
        keys <= FEW && bytes < self.least
    }
}

/// The index and the offset of an element.
type Mark = (u32, u32);

/// The offsets of some elements of an Array, in order.
#[derive(Debug, Default)]
pub(super) struct Marks(Vec<Mark>);

impl Marks {
    /// The last mark at or before the element at `index`.
    pub(super) fn before(&self, index: usize) -> Option<(usize, usize)> {
        let behind = self.0.partition_point(|(marked, _)| *marked as usize <= index);
        let (index, at) = self.0.get(behind.checked_sub(1)?)?;
        Some((*index as usize, *at as usize))
    }

    /// Notes that the element at `index` starts at `at`. The first element starts at `first`.
    #[inline]
    pub(super) fn note(&mut self, index: usize, at: usize, first: usize) {
        let last = self.0.last().map_or(first, |(_, at)| *at as usize);
        if at.saturating_sub(last) < STRIDE {
            return;
        }
        if let (Ok(index), Ok(at)) = (u32::try_from(index), u32::try_from(at))
            && self.0.try_reserve(1).is_ok()
        {
            self.0.push((index, at));
        }
    }
}

/// Numbers of keys, by half of each key's hash: the offset of each readable key of a Dictionary, or the index of each
/// wanted key. Lookups compare hashes first, so they rarely read the keys again.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    found: HashTable<(u32, u32)>,
}

/// Expands the kept half of a hash to a full hash for the table.
fn spread(half: u32) -> u64 {
    u64::from(half) << 32 | u64::from(half)
}

impl Keys {
    /// Adds a key with this half of a hash.
    pub(super) fn insert(&mut self, half: u32, number: u32) -> Result<()> {
        let needed = 2 * self.found.allocation_size();
        let rehash = |(half, _): &(u32, u32)| spread(*half);
        self.found.try_reserve(1, rehash).map_err(|_| ErrorKind::OutOfMemory(needed))?;
        self.found.insert_unique(spread(half), (half, number), rehash);
        Ok(())
    }

    /// Adds a key with this half of a hash, or replaces the number of the one for which `is_same` returns true.
    pub(super) fn set(&mut self, half: u32, number: u32, is_same: impl Fn(usize) -> bool) -> Result<()> {
        match self.found.find_mut(spread(half), |(other, at)| half == *other && is_same(*at as usize)) {
            Some(known) => known.1 = number,
            None => self.insert(half, number)?,
        }
        Ok(())
    }

    /// The number of the key that has this half of a hash and for which `is_it` returns true.
    pub(super) fn find_if(&self, half: u32, is_it: impl Fn(usize) -> Result<bool>) -> Result<Option<usize>> {
        let mut failed = None;
        let found = self.found.find(spread(half), |(other, number)| {
            half == *other
                && is_it(*number as usize).unwrap_or_else(|error| {
                    failed = Some(error);
                    true
                })
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(found.map(|(_, number)| *number as usize)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::value::{Object, Value};
    use crate::view::{Key, View};

    /// A deeply nested value is not walked again for each level above it, even if it is damaged.
    #[test]
    fn the_ends_of_deep_values_are_known() {
        let levels: [fn(Value) -> Value; 2] = [
            |value| Value::from_iter([("a", value)]),
            // The class starts with the first byte of a byte-order mark.
            |value| Object::Full { class: "Ａ".into(), properties: vec![("a".into(), value)] }.into(),
        ];
        let leaves =
            [Value::from(vec!["a text of some length"; 1000]), Value::PackedByteArray(vec![7; 9001])];
        for (level, leaf, is_damaged) in levels.iter().flat_map(|level| {
            leaves.iter().flat_map(move |leaf| [false, true].map(|damaged| (level, leaf, damaged)))
        }) {
            let nested = (0..100).fold(leaf.clone(), |value, _| level(value));
            let mut bytes = nested.encode().unwrap();
            let end = bytes.len();
            match leaf {
                _ if !is_damaged => {}
                // The engine reads the value without its padding.
                Value::PackedByteArray(_) => bytes.truncate(end - 3),
                _ => bytes[end - 8] = 0xFF,
            }
            let limits = Limits { allow_objects: true, allow_non_canonical: true, ..Limits::unlimited() };
            let known = KnownOffsets::default();
            let view = View::within(&bytes, &limits).unwrap().remembering(&known);
            assert!(view.at(&[Key::from("a"); 100]).unwrap().len().unwrap() >= 1000);
            let ends = known.ends.lock().unwrap();
            assert_eq!((ends.len(), ends.values().all(|found| *found as usize == end)), (84, true));
        }
    }
}
