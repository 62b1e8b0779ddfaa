//! [`KnownOffsets`]: a cache of the offsets of elements and keys.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use hashbrown::HashTable;

use super::key::{ANY, Key};
use crate::decoder::Decoder;
use crate::decoder::heads::Head;
use crate::dialect::Dialect;
use crate::error::Result;
use crate::format::VariantType;

/// Elements that lie within so many bytes share a mark: they are walked again.
const STRIDE: usize = 256;

/// Dictionaries with no more keys than this, all within `SMALL` bytes, are walked again.
const FEW: usize = 31;
const SMALL: usize = 512;

/// The offsets of elements and keys in containers that views of one buffer have walked. The next access jumps there.
///
/// It grows with the bytes that are walked: by 8 bytes for each 256 in Arrays, by up to 16 for each key of a Dictionary that takes 512
/// or more. Where there is no memory, it forgets. Any thread may use it.
///
/// ```
/// use variant_codec::view::KnownOffsets;
/// use variant_codec::{Value, View};
///
/// let bytes = Value::from(vec!["a text of some length"; 1000]).encode()?;
/// let known = KnownOffsets::default();
/// let view = View::new(&bytes)?.remembering(&known);
/// assert_eq!(view.index(999)?.range()?.len(), 32);
/// assert!(known.memory() > 0);
/// # Ok::<(), variant_codec::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct KnownOffsets {
    walked: Mutex<Walked>,
    hasher: RandomState,
}

/// By where the container starts.
#[derive(Debug, Default)]
struct Walked {
    arrays: HashMap<usize, Marks>,
    dictionaries: HashMap<usize, Keys>,
}

impl Walked {
    fn remember(&mut self, at: usize, keys: Keys) {
        if self.dictionaries.try_reserve(1).is_ok() {
            self.dictionaries.insert(at, keys);
        }
    }
}

impl KnownOffsets {
    /// Bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        let walked = self.walked.lock().unwrap_or_else(PoisonError::into_inner);
        let marks = walked.arrays.values().map(|marks| marks.0.capacity() * size_of::<Mark>());
        let keys = walked.dictionaries.values().map(|keys| keys.found.allocation_size());
        marks.sum::<usize>()
            + keys.sum::<usize>()
            + walked.arrays.capacity() * size_of::<(usize, Marks)>()
            + walked.dictionaries.capacity() * size_of::<(usize, Keys)>()
    }

    /// Calls `walk` with the marks in the Array that starts at `at`.
    pub(super) fn with_marks<R>(&self, at: usize, walk: impl FnOnce(&mut Marks) -> R) -> R {
        let mut walked = self.walked.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Where the key starts in the Dictionary at `at`. `scan` looks for it from an entry on, and tells where entries start.
    pub(super) fn find_key<D: Dialect>(
        &self,
        at: usize,
        head: &Head,
        key: &Key<'_>,
        bytes: &[u8],
        scan: impl Fn((usize, usize), &mut dyn FnMut(usize, usize)) -> Result<Option<usize>>,
    ) -> Result<Option<usize>> {
        let Some(hash) = self.hash_of_key(key) else { return scan((0, head.first), &mut |_, _| ()) };
        let mut walked = self.walked.lock().unwrap_or_else(PoisonError::into_inner);
        if head.count > FEW && !walked.dictionaries.contains_key(&at) {
            walked.remember(at, Keys::before(head.first));
        }
        if let Some(keys) = walked.dictionaries.get_mut(&at) {
            let is_it = |at: &u32| key.is_at::<D>(bytes, *at as usize);
            if let Some(at) = keys.found.find(hash, is_it) {
                return Ok(Some(*at as usize));
            }
            let reader = KeyReader::<D>::new(bytes);
            return scan(keys.next, &mut |index, at| keys.passed(index, at, head, &reader, &self.hasher));
        }
        // Most of those with few keys take few bytes, too, and nothing is kept of them.
        let mut passed = [head.first; FEW + 1];
        let mut last = 0;
        let found = scan((0, head.first), &mut |index, at| {
            (passed[index.min(FEW)], last) = (at, index.min(FEW));
        })?;
        if passed[last] - head.first >= SMALL {
            let mut keys = Keys::before(head.first);
            for (index, at) in passed.iter().enumerate().take(last + 1) {
                keys.passed(index, *at, head, &KeyReader::<D>::new(bytes), &self.hasher);
            }
            walked.remember(at, keys);
        }
        Ok(found)
    }

    /// Of keys that are found by their hash: texts and ints.
    fn hash_of_key(&self, key: &Key<'_>) -> Option<u64> {
        match (key.text(), key) {
            (Some(text), _) => Some(self.hasher.hash_one(text)),
            (None, Key::Int(int)) => Some(self.hasher.hash_one(int)),
            _ => None,
        }
    }
}

/// Reads keys that are texts or ints.
struct KeyReader<'a, D> {
    bytes: &'a [u8],
    dialect: PhantomData<D>,
}

enum Found<T> {
    Text(T),
    Int(i64),
}

impl<'a, D: Dialect> KeyReader<'a, D> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, dialect: PhantomData }
    }

    fn key(&self, at: usize) -> Option<Found<D::Text<'a>>> {
        let mut decoder = Decoder::<D>::starting_at(self.bytes, at, 0, &ANY);
        let (header, ty) = decoder.header_here().ok()?;
        match ty {
            VariantType::String | VariantType::StringName => decoder.text_here().ok().map(Found::Text),
            VariantType::Int => decoder.int_here(header).ok().map(Found::Int),
            _ => None,
        }
    }
}

impl<T: Deref<Target = str>> Found<T> {
    /// As [`KnownOffsets::hash_of_key`].
    fn hash(&self, hasher: &RandomState) -> u64 {
        match self {
            Self::Text(text) => hasher.hash_one(&**text),
            Self::Int(int) => hasher.hash_one(int),
        }
    }

    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(text), Self::Text(other)) => **text == **other,
            (Self::Int(int), Self::Int(other)) => int == other,
            _ => false,
        }
    }
}

/// An index and where its element starts.
type Mark = (u32, u32);

/// Where elements of an Array start: some of them, in order.
#[derive(Debug, Default)]
pub(super) struct Marks(Vec<Mark>);

impl Marks {
    /// The last mark that is not behind the element at `index`.
    pub(super) fn before(&self, index: usize) -> Option<(usize, usize)> {
        let behind = self.0.partition_point(|(marked, _)| *marked as usize <= index);
        let (index, at) = self.0.get(behind.checked_sub(1)?)?;
        Some((*index as usize, *at as usize))
    }

    /// The element at `index` starts at `at`, the first one of all at `first`.
    #[inline]
    pub(super) fn passed(&mut self, index: usize, at: usize, first: usize) {
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

/// Where keys of a Dictionary start.
#[derive(Debug)]
struct Keys {
    found: HashTable<u32>,
    /// How many entries have been looked at.
    looked_at: usize,
    /// An entry and where it starts: those before it have been looked at. Behind the last one, there are no more.
    next: (usize, usize),
}

impl Keys {
    fn before(first: usize) -> Self {
        Self { found: HashTable::new(), looked_at: 0, next: (0, first) }
    }

    /// The entry at `index` starts at `at`; or the last one has ended there.
    fn passed<D: Dialect>(
        &mut self,
        index: usize,
        at: usize,
        head: &Head,
        reader: &KeyReader<'_, D>,
        hasher: &RandomState,
    ) {
        if index > self.looked_at {
            return;
        }
        if index == self.looked_at && index < head.count {
            if let Some(key) = reader.key(at) {
                let hash = key.hash(hasher);
                // Of equal keys, the first counts. All of them would make each insertion slower than the last.
                let is_there = |place: &u32| reader.key(*place as usize).is_some_and(|other| other.is(&key));
                if self.found.find(hash, is_there).is_none() {
                    let rehash =
                        |place: &u32| reader.key(*place as usize).map_or(0, |other| other.hash(hasher));
                    let Ok(place) = u32::try_from(at) else { return };
                    if self.found.try_reserve(1, rehash).is_err() {
                        return;
                    }
                    self.found.insert_unique(hash, place, rehash);
                }
            }
            self.looked_at += 1;
        }
        self.next = (index, at);
    }
}
