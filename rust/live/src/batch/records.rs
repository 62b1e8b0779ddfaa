//! Batches in one buffer of records: length-prefixed values, as `FileAccess.store_var` writes them.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use godot::builtin::{AnyArray, PackedByteArray, Variant};
use variant_codec::format::MAX_BYTES;
use variant_codec::limits::Spent;
use variant_codec::sync::lock;
use variant_codec::{Error, ErrorKind, Limits, frames};
use variant_engine::{self as engine, OwnArray, OwnedBytes, Reader, Slots};

use crate::batch;
use crate::batch::blocks::{Opened, blocks};
use crate::batch::failed::{Failed, Reasons};
use crate::batch::gathering::{Gathering, fill_part};
use crate::batch::spread::{ITEM_COST, Items as _, item, own_if, spread};
use crate::decode::built::{Built, CreatedObjects};
use crate::decode::decoding::Decoding;
use crate::decode::input::Input;
use crate::encode::walker::{Objects, element};
use crate::parts::{Copy, copy_all};
use crate::threads::pool::pool;
use crate::threads::progress;
use crate::thresholds::PART_BYTES;
use crate::value;

/// Encodes all values as records for a file, each prefixed with its length as a little-endian u32, and in blocks if
/// they are to be compressed. Returns the records in consecutive parts.
///
/// # Errors
/// Fails with the values that cannot be encoded, such as values that have a meaning only in the running game.
pub fn frame(values: &AnyArray, full_objects: bool, compress: bool) -> Result<Vec<Vec<u8>>, Failed> {
    in_blocks(frame_with(values, full_objects, true)?, values.len(), compress)
}

/// Puts the parts of `count` records into [blocks()].
///
/// # Errors
/// Fails with the last record if memory runs out.
pub(crate) fn in_blocks(parts: Vec<Vec<u8>>, count: usize, compress: bool) -> Result<Vec<Vec<u8>>, Failed> {
    blocks(parts, compress).map_err(|error| Failed::one(count.saturating_sub(1), error))
}

/// As [`frame`], but values that would be read as different values are errors only if `is_strict`.
fn frame_with(values: &AnyArray, full_objects: bool, is_strict: bool) -> Result<Vec<Vec<u8>>, Failed> {
    let reader = Reader::new();
    let values = own_if(full_objects, reader, values);
    let elements = reader.elements(&values);
    frame_each(elements.len(), !full_objects, Reasons::First, |index, part, stored| {
        let otherwise = if is_strict { Objects::Refused } else { Objects::AsIds { warns: true } };
        let objects = Objects::full_or(otherwise, full_objects, stored);
        value::append(part, element(&elements, index)?, objects, is_strict)
    })
}

/// The records of values that are encoded already, for a file.
///
/// # Errors
/// Fails with the buffers that are not strictly encoded values.
pub fn frame_encoded(buffers: &AnyArray, compress: bool) -> Result<Vec<Vec<u8>>, Failed> {
    let buffers = batch::owned(buffers);
    let limits = Limits { allow_objects: true, ..Limits::for_save_files() };
    let parts = frame_each(buffers.len(), true, Reasons::First, |index, part, &mut ()| {
        let bytes = buffers[index].as_ref().map_err(Clone::clone)?;
        let bytes = engine::bytes(bytes.get());
        variant_codec::validate(bytes, &limits)?;
        frames::try_append(part, bytes)
    })?;
    in_blocks(parts, buffers.len(), compress)
}

/// Encodes `count` values as records with `append`, in consecutive parts. All calls for the values of one
/// part share a `K`, such as a cache.
///
/// # Errors
/// Fails with the values for which `append` fails.
pub fn frame_each<K: Default>(
    count: usize,
    parallel: bool,
    reasons: Reasons,
    append: impl Fn(usize, &mut Vec<u8>, &mut K) -> Result<(), Error> + Sync,
) -> Result<Vec<Vec<u8>>, Failed> {
    let (gathering, parts) = (Gathering::keeping(reasons), Mutex::new(Vec::new()));
    let pack = |items: &mut Range<usize>, kept: &mut K| {
        let (start, mut part) = (items.start, Vec::new());
        while items.left() > 0 && part.len() + (items.start - start) * ITEM_COST < PART_BYTES {
            let index = items.start;
            items.start += 1;
            if let Err(error) =
                item("an item to pack", kept, K::default, |kept| append(index, &mut part, kept))
            {
                gathering.add_failed(index, error);
            }
        }
        lock(&parts).push((start, part));
    };
    spread(0..count, parallel, K::default, pack);
    let (failed, _) = gathering.into_failed();
    if !failed.indexes.is_empty() {
        return Err(failed);
    }
    let mut parts = parts.into_inner().unwrap_or_else(PoisonError::into_inner);
    parts.sort_unstable_by_key(|(start, _)| *start);
    Ok(parts.into_iter().map(|(_, part)| part).collect())
}

/// Encodes all values as records in one buffer. Unless `full_objects`, objects are written by instance id.
///
/// # Errors
/// Fails with the values that cannot be encoded, or with the last value if the buffer would be too large.
pub fn pack(values: &AnyArray, full_objects: bool) -> Result<PackedByteArray, Failed> {
    let parts = frame_with(values, full_objects, false)?;
    join(&in_blocks(parts, values.len(), false)?, values.len())
}

/// Joins the parts of `count` records into one buffer.
///
/// # Errors
/// Fails with the last record if the buffer would be too large or memory runs out.
pub(crate) fn join(parts: &[Vec<u8>], count: usize) -> Result<PackedByteArray, Failed> {
    let failed = |kind: ErrorKind| Failed::one(count.saturating_sub(1), kind.into());
    let total = parts.iter().fold(0_usize, |total, part| total.saturating_add(part.len()));
    if total > MAX_BYTES {
        return Err(failed(ErrorKind::TooLarge));
    }
    let mut packed = engine::new_bytes(total).map_err(|error| failed(error.kind().clone()))?;
    let mut rest = packed.as_mut_slice();
    let mut copies = Vec::with_capacity(parts.len());
    for part in parts {
        let (to, behind) = rest.split_at_mut(part.len());
        copies.push(Copy { from: part, to });
        rest = behind;
    }
    copy_all((copies.len() > 1).then(pool).flatten().as_deref(), copies);
    Ok(packed)
}

/// The values before the first invalid record, and the error of that record.
pub struct Unpacked {
    /// The values, in order.
    pub values: OwnArray<Variant>,
    /// The objects to free if the caller never receives the values.
    pub created: CreatedObjects,
    /// The offset of the end of the last valid record.
    pub end: usize,
    /// The first invalid record, if any, and its error.
    pub failed: Option<(usize, Error)>,
}

/// Decodes all records of a buffer.
pub fn unpack(bytes: PackedByteArray, limits: &Limits) -> Unpacked {
    let mut unpacking = Unpacking::of(bytes, limits.clone());
    unpacking.step(usize::MAX);
    unpacking.finish()
}

/// The records of one step.
struct UnpackedPart<'a> {
    records: &'a [Range<usize>],
    bytes: &'a OwnedBytes,
    limits: &'a Limits,
    gathering: &'a Gathering,
}

impl<'a> UnpackedPart<'a> {
    fn fill(
        &self,
        slots: &mut Slots<'_>,
        decoding: &mut Decoding<'a>,
        decode: &mut impl FnMut(&mut Decoding<'a>, &Input<'_>, Range<usize>) -> Result<(Built, usize), Error>,
    ) {
        let input = Input::Shared(self.bytes.get());
        fill_part(slots, self.gathering, |index| {
            let record = self.records[index].clone();
            let len = record.len();
            item(
                "an item to unpack",
                decoding,
                || Decoding::strict(self.limits),
                |decoding| decode(decoding, &input, record).map(|(built, _)| (built, len)),
            )
        });
        if self.gathering.skips(slots.start()) {
            slots.skip();
        }
    }
}

/// The records of a buffer, which are unpacked in steps.
pub struct Unpacking {
    opened: Opened,
    limits: Limits,
    /// The share of the limits that the records so far have used.
    spent: Spent,
    values: OwnArray<Variant>,
    created: CreatedObjects,
    failed: Option<(usize, Error)>,
}

impl Unpacking {
    /// Prepares to unpack the records of a buffer.
    pub fn of(bytes: PackedByteArray, limits: Limits) -> Self {
        let opened = Opened::of(bytes, &limits);
        let (values, created) = (OwnArray::new(), CreatedObjects::default());
        Self { opened, limits, spent: Spent::default(), values, created, failed: None }
    }

    /// Unpacks up to `count` more records, and returns whether any are left. Discards the values of records
    /// after an invalid one. A single thread, which is always used if objects are allowed, does not even
    /// decode those records.
    pub fn step(&mut self, count: usize) -> bool {
        // A thread does not know how much of the limits the others have used, so several threads need limits
        // that admit all of the data.
        let parallel = !self.limits.allow_objects && self.limits.admit_all_of(self.opened.bytes.get().len());
        if !parallel {
            return self.step_with(count, |decoding, input, part| decoding.decode(input, part));
        }
        self.advance(count, |part, slots, _| {
            let make = || Decoding::strict(part.limits);
            spread(slots, true, make, |slots, decoding| {
                decoding.begin_input();
                part.fill(slots, decoding, &mut Decoding::decode);
            });
        })
    }

    /// As [`Unpacking::step`], with `decode` on this thread.
    pub fn step_with(
        &mut self,
        count: usize,
        mut decode: impl FnMut(&mut Decoding<'_>, &Input<'_>, Range<usize>) -> Result<(Built, usize), Error>,
    ) -> bool {
        self.advance(count, |part, mut slots, decoding| {
            while !slots.is_empty() && progress::should_continue() {
                part.fill(&mut slots, decoding, &mut decode);
            }
        })
    }

    fn advance(
        &mut self,
        count: usize,
        run: impl for<'a> FnOnce(&UnpackedPart<'a>, Slots<'_>, &mut Decoding<'a>),
    ) -> bool {
        let start = self.values.len();
        let records = &self.opened.records[start..];
        let records = &records[..count.min(records.len())];
        let mut decoding = Decoding::strict(&self.limits);
        decoding.spent = std::mem::take(&mut self.spent);
        let gathering = Gathering::ending_at_first();
        let part =
            UnpackedPart { records, bytes: &self.opened.bytes, limits: &self.limits, gathering: &gathering };
        let filled = Slots::of_variants(records.len(), |slots| run(&part, slots, &mut decoding));
        let mut values = filled.map(|(values, ())| values).unwrap_or_else(|error| {
            gathering.add_failed(0, error);
            OwnArray::new()
        });
        self.spent = decoding.spent;
        let (failed, created) = gathering.into_failed();
        self.created.append(created);
        if let Some((index, error)) = failed.into_first() {
            values.shrink(index);
            self.failed = Some((start + index, error));
        }
        self.values.append(values);
        self.failed.is_none() && self.values.len() < self.opened.records.len()
    }

    /// Whether unpacking creates objects, so that setters run.
    pub fn makes_objects(&self) -> bool {
        self.limits.allow_objects
    }

    /// The number of unpacked records, and the number of all records.
    pub fn progress(&self) -> (usize, usize) {
        (self.values.len(), self.opened.records.len())
    }

    /// The unpacked values.
    pub fn finish(self) -> Unpacked {
        let Self { mut opened, values, created, failed, .. } = self;
        let broken = opened.broken.take().map(|error| (opened.records.len(), error));
        let failed = failed.map(|(index, error)| (index, opened.located(error))).or(broken);
        if failed.is_some()
            && let Ok(contents) =
                frames::recognise(&engine::bytes(opened.bytes.get())[..opened.len], |_| true)
            && let Some(format) = contents.refusal()
        {
            // Values that were read from another format are meaningless.
            let failed = Some((0, Error::new(format.into()).at(0)));
            let (values, created) = (OwnArray::new(), CreatedObjects::default());
            return Unpacked { values, created, end: 0, failed };
        }
        let end = opened.end(values.len());
        Unpacked { values, created, end, failed }
    }
}
