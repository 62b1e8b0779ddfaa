//! Splits items among threads, a part at a time.

use std::ops::Range;

use godot::builtin::{AnyArray, Variant};
use godot::meta::ToGodot;
use variant_codec::{Error, ErrorKind};
use variant_engine::{Reader, Slots};

use crate::panics::catch_panic;
use crate::settings;
use crate::threads::pool::{pool, share};
use crate::threads::progress;
use crate::thresholds::PART_BYTES;

/// The overhead of an item, as the number of encoded bytes that take as long to process.
pub const ITEM_COST: usize = 64;

/// Items that can be split among threads.
pub trait Items: Send {
    /// The number of items left.
    fn left(&self) -> usize;
    /// Keeps the first `count`, and returns the others.
    fn split_off(&mut self, count: usize) -> Self;
}

impl Items for Range<usize> {
    fn left(&self) -> usize {
        self.end - self.start
    }

    fn split_off(&mut self, count: usize) -> Self {
        let at = self.end.min(self.start + count);
        let rest = at..self.end;
        self.end = at;
        rest
    }
}

impl Items for Slots<'_> {
    fn left(&self) -> usize {
        self.len()
    }

    fn split_off(&mut self, count: usize) -> Self {
        Self::split_off(self, count)
    }
}

/// Calls `work` until it has taken all items, in order, on several threads if that is allowed and worthwhile.
/// Each call takes a part of about equally many bytes, so that no thread gets all large items:
/// `cargo xtask bench pack_batch` takes 6.7 ms, and 7.8 ms with parts of equally many items. The calling
/// thread passes one `K` from `make`, such as a cache, to all its calls of `work`. Each call on the pool gets a new
/// one.
///
/// Background work stops when it is cancelled.
pub fn spread<T: Items, K>(
    mut items: T,
    parallel: bool,
    make: impl Fn() -> K + Sync,
    work: impl Fn(&mut T, &mut K) + Sync,
) {
    let work = |items: &mut T, kept: &mut K| {
        let len = items.left();
        work(items, kept);
        progress::advance(len - items.left());
    };
    let mut kept = make();
    let len = items.left();
    work(&mut items, &mut kept);
    let per_part = (len - items.left()).max(1);
    if items.left() / per_part >= settings::parallel_threshold() / PART_BYTES
        && let Some(pool) = parallel.then(pool).flatten()
    {
        let run = |mut items: T, add: &dyn Fn(T)| {
            if !progress::should_continue() {
                return;
            }
            work(&mut items, &mut make());
            // These items are larger than the first ones, so `work` took only some of them: split the others.
            if items.left() > 0 {
                let half = items.left() / 2;
                let second = items.split_off(half);
                [items, second].into_iter().filter(|items| items.left() > 0).for_each(add);
            }
        };
        return share(&pool, run, |add| {
            while items.left() > 0 {
                let rest = items.split_off(per_part);
                add(std::mem::replace(&mut items, rest));
            }
        });
    }
    while items.left() > 0 && progress::should_continue() {
        work(&mut items, &mut kept);
    }
}

/// Runs the work for an item. After an internal error, a new `K` replaces the kept one.
#[inline(always)]
pub fn item<R, K>(
    place: &'static str,
    kept: &mut K,
    make: impl Fn() -> K,
    work: impl FnOnce(&mut K) -> Result<R, Error>,
) -> Result<R, Error> {
    catch_panic(place, || work(kept)).inspect_err(|error| {
        if matches!(error.kind(), ErrorKind::Internal(_)) {
            *kept = make();
        }
    })
}

/// The caller's Array, or a copy of it if `copied` or if reading the Array would modify it. Scripts cannot
/// reach the copy, and several threads can read it.
pub fn own_if(copied: bool, reader: Reader, array: &AnyArray) -> Variant {
    let array = array.to_variant();
    if copied || reader.reading_changes(&array) { array.call("duplicate", &[]) } else { array }
}
