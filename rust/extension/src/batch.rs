//! Batches: many values at once, in order, on several threads.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use godot::builtin::{AnyArray, Array, PackedByteArray, Variant};
use godot::meta::ToGodot;
use godot::prelude::VarArray;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use variant_codec::format::MAX_BYTES;
use variant_codec::{Error, ErrorKind, Limits, Manner, VariantType};

use crate::codec;
use crate::engine::{self, Elements, Reader, SharedBytes};
use crate::keys::Keys;
use crate::settings;
use crate::source::Objects;

/// Batches of fewer items stay on the calling thread.
const PARALLEL_ITEMS: usize = 64;
/// A batch is cut by number of items into so many parts for each thread, so that a heavy part holds the others back less.
const PARTS_PER_THREAD: usize = 16;
/// The length in front of each value of a packed batch, as `FileAccess.store_var` and `StreamPeer.put_var` write it.
const FRAME_BYTES: usize = 4;
/// No machine gains from more threads than this.
const MOST_THREADS: usize = 256;
/// Enough for the deepest nesting in an unoptimised build, several times over. Only what is used takes memory.
const STACK_BYTES: usize = 8 << 20;

/// The items of a batch that failed.
#[derive(Default)]
pub struct Failed {
    /// Their indexes, in order.
    pub indexes: Vec<usize>,
    /// The first of them, and why it failed.
    pub first: Option<(usize, Error)>,
}

/// A finished batch.
pub struct Batch<A> {
    /// One slot for each item.
    pub slots: A,
    /// The items that failed; their slots hold what the engine's function gives.
    pub failed: Failed,
    /// Values left out of typed containers, in all items.
    pub misfits: usize,
}

/// One buffer for each value.
pub fn encode(values: &AnyArray, objects: Objects) -> Batch<Array<PackedByteArray>> {
    let reader = Reader::new();
    // Getters are scripts, which run on the calling thread and may change the caller's Array.
    let parallel = objects == Objects::AsIds;
    let values = own_if(!parallel, reader, values);
    let elements = reader.elements(&values);
    let mut slots = Array::<PackedByteArray>::new();
    slots.resize(elements.len(), &PackedByteArray::new());
    let (failed, misfits) = fill(&mut slots.clone().upcast_any_array(), parallel, |index, _| {
        let value = element(&elements, index)?;
        Ok((codec::encode(value, objects, false)?.to_variant(), 0))
    });
    Batch { slots, failed, misfits }
}

/// One value for each buffer.
pub fn decode(buffers: &AnyArray, limits: &Limits) -> Batch<VarArray> {
    let reader = Reader::new();
    // Setters are scripts, which run on the calling thread and may change the caller's Array.
    let parallel = !limits.allow_objects;
    let buffers = own_if(!parallel, reader, buffers);
    let elements = reader.elements(&buffers);
    let mut slots = VarArray::new();
    slots.resize(elements.len(), &Variant::nil());
    let (failed, misfits) = fill(&mut slots.clone().upcast_any_array(), parallel, |index, keys| {
        let buffer = element(&elements, index)?;
        // A handle of our own: whatever becomes of the caller's, these bytes stay.
        let Ok(bytes) = buffer.try_to::<PackedByteArray>() else {
            let ty = reader.ty(buffer).map_or("a newer type", VariantType::name);
            return Err(Error::argument(format!("a PackedByteArray is needed here, not {ty}")));
        };
        let built = codec::decode_all(&bytes, Manner::Engine, limits, keys)?;
        Ok((built.value, built.misfits))
    });
    Batch { slots, failed, misfits }
}

/// All values in one buffer, each behind its length as a little-endian u32.
///
/// # Errors
/// The values that cannot be encoded; nothing is packed then.
pub fn pack(values: &AnyArray, objects: Objects) -> Result<PackedByteArray, Failed> {
    let reader = Reader::new();
    let parallel = objects == Objects::AsIds;
    let values = own_if(!parallel, reader, values);
    let elements = reader.elements(&values);
    let failed = Mutex::new(Failed::default());
    let parts = parts_of(elements.len(), parallel, |range| {
        let mut part = Vec::new();
        for index in range {
            let frame = part.len();
            part.extend_from_slice(&[0; FRAME_BYTES]);
            match element(&elements, index).and_then(|value| codec::append(&mut part, value, objects)) {
                Ok(()) => {
                    let bytes = (part.len() - frame - FRAME_BYTES) as u32;
                    part[frame..frame + FRAME_BYTES].copy_from_slice(&bytes.to_le_bytes());
                }
                Err(error) => failed.lock().unwrap_or_else(PoisonError::into_inner).add(index, error),
            }
        }
        part
    });
    let mut failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.indexes.sort_unstable();
    let total = parts.iter().fold(0_usize, |total, part| total.saturating_add(part.len()));
    if failed.indexes.is_empty() && total > MAX_BYTES {
        failed.add(elements.len().saturating_sub(1), ErrorKind::TooLarge.into());
    }
    if !failed.indexes.is_empty() {
        return Err(failed);
    }
    let mut packed = PackedByteArray::new();
    packed.resize(total);
    let mut rest = packed.as_mut_slice();
    for part in parts {
        let (room, behind) = rest.split_at_mut(part.len());
        room.copy_from_slice(&part);
        rest = behind;
    }
    Ok(packed)
}

/// What was unpacked: the values before the first bad record, and what is wrong with that.
pub struct Unpacked {
    /// The values, in order.
    pub values: VarArray,
    /// Where the last good record ends.
    pub end: usize,
    /// The first bad record, if there is one, and the reason.
    pub failed: Option<(usize, Error)>,
}

/// Every value of a buffer in which each stands behind its length as a little-endian u32.
pub fn unpack(bytes: PackedByteArray, limits: &Limits) -> Unpacked {
    let bytes = SharedBytes::new(bytes);
    let (records, broken) = records(bytes.get().as_slice(), limits);
    let mut values = VarArray::new();
    values.resize(records.len(), &Variant::nil());
    let parallel = !limits.allow_objects;
    let (failed, _) = fill(&mut values.clone().upcast_any_array(), parallel, |index, keys| {
        let (built, _) = codec::decode(bytes.get(), records[index].clone(), Manner::Strict, limits, keys)?;
        Ok((built.value, 0))
    });
    let failed = failed.first.or_else(|| broken.map(|error| (records.len(), error)));
    let good = failed.as_ref().map_or(records.len(), |(index, _)| *index);
    values.shrink(good);
    let end = good.checked_sub(1).map_or(0, |last| records[last].end);
    Unpacked { values, end, failed }
}

/// Where the records of a buffer lie, and what is wrong behind the last good frame.
fn records(bytes: &[u8], limits: &Limits) -> (Vec<Range<usize>>, Option<Error>) {
    let mut records = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if records.len() as u64 >= limits.max_elements {
            let limit = limits.max_elements;
            let kind = ErrorKind::LimitExceeded { name: "max_elements", what: "values", limit };
            return (records, Some(Error::new(kind).at(at)));
        }
        let left = bytes.len() - at;
        let Some(frame) = bytes[at..].first_chunk::<FRAME_BYTES>() else {
            return (
                records,
                Some(Error::new(ErrorKind::UnexpectedEnd { needed: FRAME_BYTES, left }).at(at)),
            );
        };
        let needed = u32::from_le_bytes(*frame) as usize;
        let start = at + FRAME_BYTES;
        if needed > bytes.len() - start {
            let left = bytes.len() - start;
            return (records, Some(Error::new(ErrorKind::UnexpectedEnd { needed, left }).at(at)));
        }
        at = start + needed;
        records.push(start..at);
    }
    (records, None)
}

/// The caller's Array, or a copy of it that scripts cannot reach and threads can read.
fn own_if(copied: bool, reader: Reader, array: &AnyArray) -> Variant {
    let array = array.to_variant();
    if copied || reader.reading_changes(&array) { array.call("duplicate", &[]) } else { array }
}

fn element<'a>(elements: &Elements<'a>, index: usize) -> Result<&'a Variant, Error> {
    elements.get(index).ok_or_else(|| Error::argument("the Array was changed by another thread meanwhile"))
}

/// Fills the slots of an Array with what `make` gives for their indexes, and collects what fails.
fn fill(
    slots: &mut AnyArray,
    parallel: bool,
    make: impl Fn(usize, &mut Keys) -> Result<(Variant, usize), Error> + Sync,
) -> (Failed, usize) {
    let outcome = Mutex::new((Failed::default(), 0));
    let make_range = |range: Range<usize>, put: &mut dyn FnMut(usize, Variant)| {
        let mut keys = Keys::default();
        for index in range {
            match make(index, &mut keys) {
                Ok((value, 0)) => put(index, value),
                Ok((value, misfits)) => {
                    put(index, value);
                    outcome.lock().unwrap_or_else(PoisonError::into_inner).1 += misfits;
                }
                Err(error) => {
                    outcome.lock().unwrap_or_else(PoisonError::into_inner).0.add(index, error);
                }
            }
        }
    };
    engine::fill(slots, make_range, |len, fill_range| {
        parts_of(len, parallel, fill_range);
    });
    let (mut failed, misfits) = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.indexes.sort_unstable();
    (failed, misfits)
}

/// What `make` gives for the parts that so many items are cut into, in order, made in parallel where that is allowed and
/// worth it.
fn parts_of<T: Send>(len: usize, parallel: bool, make: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    match (parallel && len >= PARALLEL_ITEMS).then(pool).flatten() {
        Some(pool) => {
            let part = len.div_ceil(pool.threads.current_num_threads() * PARTS_PER_THREAD);
            let parts = (0..len.div_ceil(part)).into_par_iter();
            pool.threads
                .install(|| parts.map(|index| make(index * part..len.min((index + 1) * part))).collect())
        }
        None => vec![make(0..len)],
    }
}

impl Failed {
    /// Keeps one reason only: thousands of them would take more memory than the batch.
    fn add(&mut self, index: usize, error: Error) {
        self.indexes.push(index);
        if self.first.as_ref().is_none_or(|(first, _)| index < *first) {
            self.first = Some((index, error));
        }
    }
}

/// The extension's own threads. Kept with their handles, since dropping a pool does not wait for its threads to end.
struct Pool {
    threads: ThreadPool,
    handles: Mutex<Vec<JoinHandle<()>>>,
}

/// The pool, once it has been asked for: `None` inside where one thread is asked for, or no more can be had.
static POOL: Mutex<Option<Option<Arc<Pool>>>> = Mutex::new(None);

/// The pool, made when first needed.
fn pool() -> Option<Arc<Pool>> {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    pool.get_or_insert_with(|| Pool::start(thread_count()).map(Arc::new)).clone()
}

/// How many threads are asked for, at most one for each core if nobody says.
fn thread_count() -> usize {
    match usize::try_from(settings::threads()) {
        Ok(count) if count > 0 => count.min(MOST_THREADS),
        _ => std::thread::available_parallelism().map_or(1, usize::from),
    }
}

impl Pool {
    fn start(count: usize) -> Option<Self> {
        if count < 2 {
            return None;
        }
        let handles = Mutex::new(Vec::with_capacity(count));
        let threads = ThreadPoolBuilder::new()
            .num_threads(count)
            .thread_name(|index| format!("FastVariantCodec {index}"))
            .stack_size(STACK_BYTES)
            .spawn_handler(|thread| {
                let mut builder = std::thread::Builder::new();
                if let Some(name) = thread.name() {
                    builder = builder.name(name.to_owned());
                }
                if let Some(bytes) = thread.stack_size() {
                    builder = builder.stack_size(bytes);
                }
                let handle = builder.spawn(|| thread.run())?;
                handles.lock().unwrap_or_else(PoisonError::into_inner).push(handle);
                Ok(())
            })
            .build()
            .ok()?;
        Some(Self { threads, handles })
    }
}

/// Ends the extension's threads and waits for them. Called before the library is unloaded, when no batch runs.
pub fn stop() {
    let Some(pool) = POOL.lock().unwrap_or_else(PoisonError::into_inner).take().flatten() else { return };
    let Ok(Pool { threads, handles }) = Arc::try_unwrap(pool).map_err(drop) else { return };
    drop(threads);
    for handle in handles.into_inner().unwrap_or_else(PoisonError::into_inner) {
        // A worker that panicked has ended, too, which is all that is wanted here.
        drop(handle.join());
    }
}
