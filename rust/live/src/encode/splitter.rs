//! Splits large containers among threads: the first thread writes for a while, then splits off the remaining
//! elements or entries.

use std::cell::RefCell;
use std::ops::Range;

use variant_engine::{Elements, EntriesInPlace, Strings};

use crate::settings;
use crate::threads::pool::pool;
use crate::thresholds::PART_BYTES;

/// Collects the tails of containers, which other threads write.
pub struct Splitter<'a> {
    tails: RefCell<Vec<(usize, Tail<'a>)>>,
}

impl<'a> Splitter<'a> {
    pub fn new() -> Self {
        Self { tails: RefCell::default() }
    }

    pub fn has_tails(&self) -> bool {
        !self.tails.borrow().is_empty()
    }

    /// The tails in order, each with the length of the output before it.
    pub fn into_tails(self) -> Vec<(usize, Tail<'a>)> {
        self.tails.into_inner()
    }

    /// The number of elements or entries in a part of about [`PART_BYTES`], if `done` of them took `bytes`.
    /// `None` if the `left` remaining ones are too few to share with other threads.
    #[inline(always)]
    pub fn per_part(bytes: usize, done: usize, left: usize) -> Option<usize> {
        if bytes < PART_BYTES {
            return None;
        }
        let per_part = (done * PART_BYTES / bytes).max(1);
        (left / per_part >= settings::parallel_threshold() / PART_BYTES && pool().is_some())
            .then_some(per_part)
    }

    /// Adds a tail that belongs at this position of the output.
    #[cold]
    pub fn add(&self, position: usize, tail: Tail<'a>) {
        self.tails.borrow_mut().push((position, tail));
    }
}

/// The remaining elements or entries of a container, which other threads write.
pub struct Tail<'a> {
    pub items: TailItems<'a>,
    pub strict: bool,
    pub refuses_ids: bool,
    /// The level of its elements.
    pub depth: u32,
    /// The number of elements or entries in a part.
    pub per_part: usize,
}

#[derive(Clone)]
pub enum TailItems<'a> {
    Elements(Elements<'a>, Range<usize>),
    /// The next entries of a Dictionary, and their number.
    Entries(EntriesInPlace<'a>, usize),
    Strings(Strings<'a>, Range<usize>),
}

impl Tail<'_> {
    pub fn into_parts(self) -> Vec<Self> {
        let mut parts = Vec::new();
        let mut add = |items| parts.push(Self { items, ..self });
        match self.items.clone() {
            TailItems::Elements(elements, range) => {
                self.cut(range).for_each(|part| add(TailItems::Elements(elements, part)));
            }
            TailItems::Strings(texts, range) => {
                self.cut(range).for_each(|part| add(TailItems::Strings(texts, part)));
            }
            TailItems::Entries(mut entries, mut left) => {
                while left > 0 {
                    let count = left.min(self.per_part);
                    add(TailItems::Entries(entries, count));
                    left -= count;
                    for _ in 0..count {
                        let _ = entries.next();
                    }
                }
            }
        }
        parts
    }

    fn cut(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
        let (per_part, end) = (self.per_part, range.end);
        range.step_by(per_part).map(move |start| start..end.min(start + per_part))
    }
}
