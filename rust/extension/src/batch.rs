//! Batches: many values at once, in order, on several threads.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use godot::builtin::{AnyArray, Array, PackedByteArray, Variant};
use godot::meta::{Element, ToGodot};
use variant_codec::format::{MAX_BYTES, Shape};
use variant_codec::limits::Spent;
use variant_codec::memory::check_room;
use variant_codec::{Error, ErrorKind, Limits, Strictness, VariantType, frames};

use crate::background::{self, Foreground};
use crate::builder::{Built, Made};
use crate::codec::{self, Input};
use crate::collisions::Collisions;
use crate::engine::{self, Elements, OwnArray, OwnedBytes, Reader, Slots};
use crate::guard::caught;
use crate::keys::Keys;
use crate::pool::{lock, pool, share};
use crate::settings;
use crate::shared::{Copy, PART_BYTES, copy_all};
use crate::source::Objects;

/// What an item costs beside its bytes, in bytes.
const ITEM_COST: usize = 64;

/// Items may each be too small to ask whether there is memory for them. It is asked whenever they may have taken so much
/// together since, for twice as much: a part takes less.
const MEMORY_AT_ONCE: usize = 4 << 20;
/// What a byte becomes in the engine, at most.
const MOST_PER_BYTE: usize = 64;

/// For which items of a batch that failed it is kept why.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Reasons {
    /// For the first: thousands of reasons would take more memory than the batch.
    #[default]
    First,
    /// For all.
    All,
}

/// The items of a batch that failed.
#[derive(Default)]
pub struct Failed {
    /// Their indexes, in order.
    pub indexes: Vec<usize>,
    /// The first of them, or all, and why they failed, in order.
    pub reasons: Vec<(usize, Error)>,
    kept: Reasons,
}

/// A finished batch. Dropped before it is given to anybody, it frees all objects that were made for it.
pub struct Batch<T: Element> {
    /// One slot for each item.
    slots: OwnArray<T>,
    /// The items that failed; their slots hold what the engine's function gives.
    pub failed: Failed,
    /// Values left out of typed containers, in all items.
    pub misfits: usize,
    made: Made,
}

impl<T: Element> Batch<T> {
    /// One element for each item, which somebody has from here on.
    pub fn give(mut self) -> Array<T> {
        self.made.leave();
        self.slots.give()
    }

    /// One element for each item, which nobody has yet, those that failed, and what is to be freed should nobody get them.
    pub fn into_parts(self) -> (OwnArray<T>, Failed, Made) {
        (self.slots, self.failed, self.made)
    }
}

/// One buffer for each value.
pub fn encode(values: &AnyArray, objects: Objects, reasons: Reasons) -> Batch<PackedByteArray> {
    // Getters are scripts, which run on the calling thread and may change the caller's Array.
    let parallel = objects == Objects::AsIds;
    encode_each(values, parallel, reasons, |value, buffer, &mut ()| {
        codec::encode_to(buffer, value, objects, false)
    })
}

/// One buffer for each value, as `encode` makes it, which keeps `K` from value to value, on one thread.
pub fn encode_each<K: Default>(
    values: &AnyArray,
    parallel: bool,
    reasons: Reasons,
    encode: impl Fn(&Variant, &mut PackedByteArray, &mut K) -> Result<(), Error> + Sync,
) -> Batch<PackedByteArray> {
    let reader = Reader::new();
    let outcome = Outcome::keeping(reasons);
    let values = match own_if(!parallel, reader, values) {
        Ok(values) => values,
        Err(error) => return outcome.into_batch(Err(error)),
    };
    let elements = reader.elements(&values);
    let made = Slots::of_buffers(elements.len(), |slots| {
        spread(slots, parallel, |slots, kept| {
            let mut cost = 0;
            if !outcome.has_room(slots) {
                return;
            }
            while slots.len() > 0 && cost < PART_BYTES {
                let (index, buffer) = (slots.start(), slots.next_bytes());
                let encoded = element(&elements, index)
                    .and_then(|value| item("an item to encode", kept, |kept| encode(value, buffer, kept)));
                if let Err(error) = encoded {
                    if matches!(error.kind(), ErrorKind::Internal(_)) {
                        *buffer = PackedByteArray::new();
                    }
                    outcome.add_failed(index, error);
                }
                cost += buffer.len() + ITEM_COST;
            }
            outcome.takes(cost);
        });
    });
    outcome.into_batch(made)
}

/// One value for each buffer.
pub fn decode(buffers: &AnyArray, manner: Strictness, limits: &Limits, reasons: Reasons) -> Batch<Variant> {
    // Setters are scripts, which run on the calling thread and may change the caller's buffers.
    if limits.allow_objects {
        return match owned(buffers) {
            Ok(buffers) => decode_owned(&buffers, manner, limits, reasons),
            Err(error) => Outcome::keeping(reasons).into_batch(Err(error)),
        };
    }
    decode_each(buffers, reasons, |input, keys| codec::decode_all(input, manner, limits, keys))
}

/// One value for each buffer, as `decode` makes it, which runs no script.
pub fn decode_each(
    buffers: &AnyArray,
    reasons: Reasons,
    decode: impl Fn(&Input<'_>, &mut Keys) -> Result<Built, Error> + Sync,
) -> Batch<Variant> {
    let reader = Reader::new();
    let buffers = match own_if(false, reader, buffers) {
        Ok(buffers) => buffers,
        Err(error) => return Outcome::keeping(reasons).into_batch(Err(error)),
    };
    let elements = reader.elements(&buffers);
    let input = |index: usize| {
        let buffer = element(&elements, index)?;
        Input::of(reader, buffer).ok_or_else(|| no_buffer(reader, buffer))
    };
    decode_items(elements.len(), true, reasons, input, decode)
}

/// A buffer that nobody changes, or what is wrong with what is there instead.
pub type OwnedBuffer = Result<OwnedBytes, Error>;

/// The buffers of an Array as they are now.
///
/// # Errors
/// That there is no memory for handles to them.
pub fn owned(buffers: &AnyArray) -> Result<Vec<OwnedBuffer>, Error> {
    let reader = Reader::new();
    let buffers = own_if(false, reader, buffers)?;
    let elements = reader.elements(&buffers);
    let own = |buffer: &Variant| OwnedBytes::of(reader, buffer).ok_or_else(|| no_buffer(reader, buffer));
    check_room(elements.len().saturating_mul(size_of::<OwnedBuffer>()))?;
    Ok((0..elements.len()).map(|index| own(element(&elements, index)?)).collect())
}

/// One value for each buffer; nobody can change these meanwhile.
pub fn decode_owned(
    buffers: &[OwnedBuffer],
    manner: Strictness,
    limits: &Limits,
    reasons: Reasons,
) -> Batch<Variant> {
    let input = |index: usize| match &buffers[index] {
        Ok(bytes) => Ok(Input::Shared(bytes.get())),
        Err(error) => Err(error.clone()),
    };
    decode_items(buffers.len(), !limits.allow_objects, reasons, input, |input, keys| {
        codec::decode_all(input, manner, limits, keys)
    })
}

/// One value for each of so many items.
fn decode_items<'a>(
    count: usize,
    parallel: bool,
    reasons: Reasons,
    input: impl Fn(usize) -> Result<Input<'a>, Error> + Sync,
    decode: impl Fn(&Input<'_>, &mut Keys) -> Result<Built, Error> + Sync,
) -> Batch<Variant> {
    let outcome = Outcome::keeping(reasons);
    let decode_at = |index: usize, keys: &mut Keys| {
        let input = input(index)?;
        let bytes = input.bytes().len();
        item("an item to decode", keys, |keys| Ok((decode(&input, keys)?, bytes)))
    };
    let made = Slots::of_variants(count, |slots| {
        spread(slots, parallel, |slots, keys| {
            fill_part(slots, &outcome, |index| decode_at(index, keys));
        });
    });
    outcome.into_batch(made)
}

fn no_buffer(reader: Reader, found: &Variant) -> Error {
    let ty = reader.ty(found).map_or("a newer type", VariantType::name);
    Error::argument(format!("a PackedByteArray is needed here, not {ty}"))
}

/// Fills slots with what `decode` gives for their indexes, with the bytes that it took, until they are a part's worth, or
/// behind an item that failed where all that follow come to nothing.
fn fill_part(
    slots: &mut Slots,
    outcome: &Outcome,
    mut decode: impl FnMut(usize) -> Result<(Built, usize), Error>,
) {
    let (mut cost, mut taken) = (0, 0);
    if !outcome.has_room(slots) {
        return;
    }
    while slots.len() > 0 && cost < PART_BYTES && !outcome.makes_useless(slots.start()) {
        let index = slots.start();
        match decode(index) {
            Ok((built, bytes)) => {
                cost += bytes;
                taken += bytes.saturating_mul(MOST_PER_BYTE);
                outcome.add_misfits(built.misfits);
                let (value, made) = built.into_parts();
                outcome.add_made(made);
                slots.put(value);
            }
            Err(error) => {
                outcome.add_failed(index, error);
                slots.put(Variant::nil());
            }
        }
        cost += ITEM_COST;
        taken += ITEM_COST;
    }
    outcome.takes(taken);
}

/// All values, each behind its length as a little-endian u32, in parts that belong one behind the other.
///
/// # Errors
/// The values that cannot be encoded.
pub fn frame(values: &AnyArray, objects: Objects) -> Result<Vec<Vec<u8>>, Failed> {
    let reader = Reader::new();
    let parallel = objects == Objects::AsIds;
    let values = own_if(!parallel, reader, values).map_err(|error| {
        let mut failed = Failed::default();
        failed.add(0, error);
        failed
    })?;
    let elements = reader.elements(&values);
    frame_each(elements.len(), parallel, Reasons::First, |index, part| {
        codec::append(part, element(&elements, index)?, objects)
    })
}

/// So many values, each of which `append` appends behind its length, in parts that belong one behind the other.
///
/// # Errors
/// The values of which it gives an error.
pub fn frame_each(
    count: usize,
    parallel: bool,
    reasons: Reasons,
    append: impl Fn(usize, &mut Vec<u8>) -> Result<(), Error> + Sync,
) -> Result<Vec<Vec<u8>>, Failed> {
    let outcome = Outcome::keeping(reasons);
    let parts = Mutex::new(Vec::new());
    spread(0..count, parallel, |items: &mut Range<usize>, &mut ()| {
        let start = items.start;
        let mut part = Vec::new();
        while items.left() > 0 && part.len() + (items.start - start) * ITEM_COST < PART_BYTES {
            let index = items.start;
            items.start += 1;
            if let Err(error) = caught("an item to pack", || append(index, &mut part)) {
                outcome.add_failed(index, error);
            }
        }
        lock(&parts).push((start, part));
    });
    let (failed, _) = outcome.into_failed();
    if !failed.indexes.is_empty() {
        return Err(failed);
    }
    let mut parts = parts.into_inner().unwrap_or_else(PoisonError::into_inner);
    parts.sort_unstable_by_key(|(start, _)| *start);
    Ok(parts.into_iter().map(|(_, part)| part).collect())
}

/// What [`frame`] gives, in one buffer.
///
/// # Errors
/// The values that cannot be encoded, or the last if there is no room for all; nothing is packed then.
pub fn pack(values: &AnyArray, objects: Objects) -> Result<PackedByteArray, Failed> {
    let parts = frame(values, objects)?;
    let failed = |kind: ErrorKind| {
        let mut failed = Failed::default();
        failed.add(values.len().saturating_sub(1), kind.into());
        failed
    };
    let total = parts.iter().fold(0_usize, |total, part| total.saturating_add(part.len()));
    if total > MAX_BYTES {
        return Err(failed(ErrorKind::TooLarge));
    }
    let mut packed = engine::new_bytes(total).map_err(|error| failed(error.kind().clone()))?;
    let mut rest = packed.as_mut_slice();
    let mut copies = Vec::with_capacity(parts.len());
    for part in &parts {
        let (to, behind) = rest.split_at_mut(part.len());
        copies.push(Copy { from: part, to });
        rest = behind;
    }
    copy_all((copies.len() > 1).then(pool).flatten().as_deref(), copies);
    Ok(packed)
}

/// What was unpacked: the values before the first bad record, and what is wrong with that.
pub struct Unpacked {
    /// The values, in order.
    pub values: OwnArray<Variant>,
    /// What is to be freed should nobody get them.
    pub made: Made,
    /// Where the last good record ends.
    pub end: usize,
    /// The first bad record, if there is one, and the reason.
    pub failed: Option<(usize, Error)>,
}

/// Every value of a buffer in which each stands behind its length as a little-endian u32.
pub fn unpack(bytes: PackedByteArray, limits: &Limits) -> Unpacked {
    let mut unpacking = Unpacking::of(bytes, limits.clone());
    unpacking.step(usize::MAX);
    unpacking.finish()
}

/// Unpacking that need not be done all at once.
pub struct Unpacking {
    bytes: OwnedBytes,
    records: Vec<Range<usize>>,
    /// What is wrong behind the records.
    broken: Option<Error>,
    limits: Limits,
    /// What the records so far used up of the limits.
    spent: Spent,
    /// What the keys and names of the records so far have cost.
    collisions: Collisions,
    values: OwnArray<Variant>,
    made: Made,
    failed: Option<(usize, Error)>,
}

impl Unpacking {
    /// The records of a buffer, none of them unpacked.
    pub fn of(bytes: PackedByteArray, limits: Limits) -> Self {
        let bytes = OwnedBytes::new(bytes);
        let (records, broken) = frames::records(bytes.get().as_slice(), &limits);
        let (spent, collisions) = (Spent::default(), Collisions::default());
        let (values, made) = (OwnArray::new(), Made::default());
        Self { bytes, records, broken, limits, spent, collisions, values, made, failed: None }
    }

    /// Unpacks so many more, and says whether there are others left. Behind a bad record, none is: on one thread, as where
    /// objects are made, it is not even begun.
    pub fn step(&mut self, count: usize) -> bool {
        let start = self.values.len();
        let records = &self.records[start..];
        let records = &records[..count.min(records.len())];
        let (limits, bytes) = (&self.limits, &self.bytes);
        // On several threads, none knows what the others have used up of the limits.
        let parallel = !limits.allow_objects && limits.admit_all_of(bytes.get().len());
        let outcome = Outcome::ending_at_first();
        let mut spent = self.spent;
        let mut keys = Keys::after(std::mem::take(&mut self.collisions));
        let filled = Slots::of_variants(records.len(), |slots| {
            let fill = |slots: &mut Slots, keys: &mut Keys, spent: &mut Spent| {
                let input = Input::Shared(bytes.get());
                fill_part(slots, &outcome, |index| {
                    let record = records[index].clone();
                    let len = record.len();
                    item("an item to unpack", keys, |keys| {
                        let (built, _) =
                            codec::decode(&input, record, Strictness::Strict, limits, keys, spent)?;
                        Ok((built, len))
                    })
                });
                if outcome.makes_useless(slots.start()) {
                    slots.skip();
                }
            };
            if parallel {
                spread(slots, true, |slots, keys| fill(slots, keys, &mut Spent::default()));
            } else {
                let mut slots = slots;
                while slots.len() > 0 && background::goes_on() {
                    fill(&mut slots, &mut keys, &mut spent);
                }
            }
        });
        let mut values = filled.map(|(values, ())| values).unwrap_or_else(|error| {
            outcome.add_failed(0, error);
            OwnArray::new()
        });
        (self.spent, self.collisions) = (spent, keys.collisions);
        let (failed, made) = outcome.into_failed();
        self.made.append(made);
        if let Some((index, error)) = failed.into_first() {
            values.shrink(index);
            self.failed = Some((start + index, error));
        }
        if let Err(error) = self.values.append(values) {
            self.failed = Some((start, error));
        }
        self.failed.is_none() && self.values.len() < self.records.len()
    }

    /// Whether setters run.
    pub fn makes_objects(&self) -> bool {
        self.limits.allow_objects
    }

    /// How many records are unpacked, and of how many.
    pub fn progress(&self) -> (usize, usize) {
        (self.values.len(), self.records.len())
    }

    /// What has been unpacked.
    pub fn finish(self) -> Unpacked {
        let failed = self.failed.or_else(|| self.broken.map(|error| (self.records.len(), error)));
        let end = self.values.len().checked_sub(1).map_or(0, |last| self.records[last].end);
        Unpacked { values: self.values, made: self.made, end, failed }
    }
}

/// The caller's Array, or a copy of it that scripts cannot reach and threads can read.
fn own_if(copied: bool, reader: Reader, array: &AnyArray) -> Result<Variant, Error> {
    let len = array.len();
    let array = array.to_variant();
    if !copied && !reader.reading_changes(&array) {
        return Ok(array);
    }
    check_room(len.saturating_mul(size_of::<Variant>()))?;
    Ok(array.call("duplicate", &[]))
}

/// A copy of an Array that owns the packed arrays among its elements, as they are now. What Arrays, Dictionaries and objects
/// among them lead to remains the caller's.
///
/// # Errors
/// That there is no memory for the copy.
pub fn with_own_packed(values: &AnyArray) -> Result<AnyArray, Error> {
    let reader = Reader::new();
    check_room(values.len().saturating_mul(size_of::<Variant>()))?;
    let copy = values.duplicate_shallow();
    let shared = copy.to_variant();
    let is_packed = |value: &Variant| {
        matches!(reader.ty(value).map(VariantType::shape), Some(Shape::Packed(..) | Shape::PackedStrings))
    };
    for index in 0..copy.len() {
        // Looked up each time, since setting an element may move them.
        let own = reader.elements(&shared).get(index).filter(|value| is_packed(value));
        if let Some(own) = own.map(|value| value.call("duplicate", &[])) {
            shared.call("set", &[(index as i64).to_variant(), own]);
        }
    }
    Ok(copy)
}

/// Does what is done for an item. What is kept from item to item is made anew after a fault.
#[inline(always)]
fn item<R, K: Default>(
    place: &'static str,
    kept: &mut K,
    work: impl FnOnce(&mut K) -> Result<R, Error>,
) -> Result<R, Error> {
    caught(place, || work(kept)).inspect_err(|error| {
        if matches!(error.kind(), ErrorKind::Internal(_)) {
            *kept = K::default();
        }
    })
}

fn element<'a>(elements: &Elements<'a>, index: usize) -> Result<&'a Variant, Error> {
    elements.get(index).ok_or_else(|| Error::argument("the Array was changed by another thread meanwhile"))
}

/// Items that can be shared out.
trait Items: Send {
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

impl Items for Slots {
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
fn spread<T: Items, K: Default>(mut items: T, parallel: bool, work: impl Fn(&mut T, &mut K) + Sync) {
    let _waited_for = Foreground::enter();
    let work = |items: &mut T, kept: &mut K| {
        let len = items.left();
        work(items, kept);
        background::advance(len - items.left());
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
            if !background::goes_on() {
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
    while items.left() > 0 && background::goes_on() {
        work(&mut items, &mut kept);
    }
}

/// What became of the items of a batch.
struct Outcome {
    failed: Mutex<Failed>,
    /// Items behind this one come to nothing.
    last: AtomicUsize,
    ends_at_first: bool,
    misfits: AtomicUsize,
    made: Mutex<Made>,
    /// What parts may have taken of memory since it was asked for.
    taken: AtomicUsize,
    /// That there was no memory for an item, so that the batch comes to nothing.
    no_room: OnceLock<Error>,
}

impl Outcome {
    /// Of a batch whose items have nothing to do with each other.
    fn keeping(reasons: Reasons) -> Self {
        Self {
            failed: Mutex::new(Failed { kept: reasons, ..Failed::default() }),
            last: AtomicUsize::new(usize::MAX),
            ends_at_first: false,
            misfits: AtomicUsize::new(0),
            made: Mutex::default(),
            taken: AtomicUsize::new(0),
            no_room: OnceLock::new(),
        }
    }

    /// A part may have taken so much memory.
    fn takes(&self, bytes: usize) {
        self.taken.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Whether there is memory for the next part; if not, its first item has failed, and those after it are passed over.
    fn has_room(&self, slots: &mut Slots) -> bool {
        let room = match self.no_room.get() {
            Some(error) => Err(error.clone()),
            None if self.taken.load(Ordering::Relaxed) < MEMORY_AT_ONCE => return true,
            None => {
                self.taken.store(0, Ordering::Relaxed);
                check_room(2 * MEMORY_AT_ONCE)
            }
        };
        let Err(error) = room else { return true };
        self.no_room.get_or_init(|| error.clone());
        self.add_failed(slots.start(), error);
        slots.skip();
        false
    }

    /// Of a batch that ends at the first item that fails.
    fn ending_at_first() -> Self {
        Self { ends_at_first: true, ..Self::keeping(Reasons::First) }
    }

    fn add_failed(&self, index: usize, error: Error) {
        if self.ends_at_first {
            self.last.fetch_min(index, Ordering::Relaxed);
        }
        lock(&self.failed).add(index, error);
    }

    /// Whether an item comes to nothing since one before has failed.
    fn makes_useless(&self, index: usize) -> bool {
        index > self.last.load(Ordering::Relaxed)
    }

    fn add_misfits(&self, misfits: usize) {
        if misfits > 0 {
            self.misfits.fetch_add(misfits, Ordering::Relaxed);
        }
    }

    fn add_made(&self, made: Made) {
        if !made.is_empty() {
            lock(&self.made).append(made);
        }
    }

    /// The items that failed, and what was made for the others.
    fn into_failed(self) -> (Failed, Made) {
        let mut failed = self.failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        failed.indexes.sort_unstable();
        failed.reasons.sort_unstable_by_key(|(index, _)| *index);
        (failed, self.made.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Without memory for the slots or an item, there are none, and the first item has failed for all.
    fn into_batch<T: Element>(self, filled: Result<(OwnArray<T>, ()), Error>) -> Batch<T> {
        let filled = match self.no_room.get() {
            Some(error) => Err(error.clone()),
            None => filled,
        };
        let misfits = self.misfits.load(Ordering::Relaxed);
        match filled {
            Ok((slots, ())) => {
                let (failed, made) = self.into_failed();
                Batch { slots, failed, misfits, made }
            }
            Err(error) => {
                let mut failed = Failed { kept: lock(&self.failed).kept, ..Failed::default() };
                failed.add(0, error);
                // What was made goes with the others.
                Batch { slots: OwnArray::new(), failed, misfits, made: Made::default() }
            }
        }
    }
}

impl Failed {
    /// Adds an item that follows all others.
    pub fn add(&mut self, index: usize, error: Error) {
        // Without memory for more, the items before say enough.
        if self.indexes.try_reserve(1).is_err() || self.reasons.try_reserve(1).is_err() {
            return;
        }
        self.indexes.push(index);
        match self.reasons.first_mut() {
            Some(first) if self.kept == Reasons::First => {
                if index < first.0 {
                    *first = (index, error);
                }
            }
            _ => self.reasons.push((index, error)),
        }
    }

    /// Adds those of a batch whose items follow `start` others.
    pub fn extend(&mut self, start: usize, others: Self) {
        self.indexes.extend(others.indexes.into_iter().map(|index| start + index));
        self.reasons.extend(others.reasons.into_iter().map(|(index, error)| (start + index, error)));
    }

    /// The first item that failed, and why.
    pub fn into_first(self) -> Option<(usize, Error)> {
        self.reasons.into_iter().next()
    }
}
