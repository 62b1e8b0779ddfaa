//! Items shared out to several threads, a part at a time.

use std::ops::Range;

use godot::builtin::{AnyArray, Variant};
use godot::meta::ToGodot;
use variant_codec::memory::check_room;
use variant_codec::{Error, ErrorKind};
use variant_engine::{Elements, Reader, Slots};

use crate::panics::catch_panic;
use crate::settings;
use crate::threads::foreground::{self, Foreground};
use crate::threads::pool::{pool, share};
use crate::thresholds::PART_BYTES;

/// What an item costs beside its bytes, in bytes.
pub const ITEM_COST: usize = 64;

/// Items that can be shared out.
pub trait Items: Send {
    /// How many there are.
    fn left(&self) -> usize;
    /// Keeps the first `count`, and gives the others away.
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

/// Has `work` take all of the items, from the first on, by several threads where that is allowed and worth it. Each call
/// takes a part's worth: by bytes, so that heavy items do not hold a thread back. `K` is kept from call to call.
///
/// In the background, calls in the foreground go first, and nothing more is done once the work is cancelled.
pub fn spread<T: Items, K: Default>(mut items: T, parallel: bool, work: impl Fn(&mut T, &mut K) + Sync) {
    let _waited_for = Foreground::enter();
    let work = |items: &mut T, kept: &mut K| {
        let len = items.left();
        work(items, kept);
        foreground::advance(len - items.left());
    };
    let mut kept = K::default();
    let len = items.left();
    work(&mut items, &mut kept);
    // As many as the first part had.
    let per_part = (len - items.left()).max(1);
    if items.left() / per_part >= settings::parallel_threshold() / PART_BYTES
        && let Some(pool) = parallel.then(pool).flatten()
    {
        let run = |mut items: T, add: &dyn Fn(T)| {
            if !foreground::goes_on() {
                return;
            }
            work(&mut items, &mut K::default());
            // Heavier than the first ones: shared out again.
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
    while items.left() > 0 && foreground::goes_on() {
        work(&mut items, &mut kept);
    }
}

/// Does what is done for an item. What is kept from item to item is made anew after a fault.
#[inline(always)]
pub fn item<R, K: Default>(
    place: &'static str,
    kept: &mut K,
    work: impl FnOnce(&mut K) -> Result<R, Error>,
) -> Result<R, Error> {
    catch_panic(place, || work(kept)).inspect_err(|error| {
        if matches!(error.kind(), ErrorKind::Internal(_)) {
            *kept = K::default();
        }
    })
}

/// The element at `index`, which is there unless a caller's other thread has shortened the Array.
///
/// # Errors
/// That it is gone.
pub fn element<'a>(elements: &Elements<'a>, index: usize) -> Result<&'a Variant, Error> {
    elements.get(index).ok_or_else(|| Error::argument("Array changed by another thread during the call"))
}

/// The caller's Array, or a copy of it that scripts cannot reach and threads can read.
///
/// # Errors
/// That there is no memory for the copy.
pub fn own_if(copied: bool, reader: Reader, array: &AnyArray) -> Result<Variant, Error> {
    let len = array.len();
    let array = array.to_variant();
    if !copied && !reader.reading_changes(&array) {
        return Ok(array);
    }
    check_room(len.saturating_mul(size_of::<Variant>()))?;
    Ok(array.call("duplicate", &[]))
}
