//! Batches: many values at once, in order, on several threads.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use godot::builtin::{AnyArray, Array, PackedByteArray, Variant};
use godot::meta::ToGodot;
use godot::prelude::VarArray;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use variant_codec::{Error, Limits, Manner, VariantType};

use crate::builder::Keys;
use crate::codec;
use crate::engine::{self, Elements, Reader};
use crate::settings;
use crate::source::Objects;

/// Batches of fewer items stay on the calling thread.
const PARALLEL_ITEMS: usize = 64;
/// A batch is cut into so many parts for each thread, so that a heavy part does not hold the others back.
const PARTS_PER_THREAD: usize = 16;
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
        let (built, _) = codec::decode(bytes.as_slice(), Manner::Engine, limits, keys)?;
        Ok((built.value, built.misfits))
    });
    Batch { slots, failed, misfits }
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
        match (parallel && len >= PARALLEL_ITEMS).then(pool).flatten() {
            Some(pool) => {
                let part = len.div_ceil(pool.threads.current_num_threads() * PARTS_PER_THREAD);
                pool.threads.install(|| {
                    (0..len.div_ceil(part))
                        .into_par_iter()
                        .for_each(|index| fill_range(index * part..len.min((index + 1) * part)));
                });
            }
            None => fill_range(0..len),
        }
    });
    let (mut failed, misfits) = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.indexes.sort_unstable();
    (failed, misfits)
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
