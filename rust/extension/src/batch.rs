//! Batches: many values at once, in order, on several threads.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use godot::builtin::{AnyArray, Array, PackedByteArray, Variant};
use godot::classes::ProjectSettings;
use godot::meta::ToGodot;
use godot::obj::Singleton;
use godot::prelude::VarArray;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use variant_codec::{Error, Limits, Manner, VariantType};

use crate::codec;
use crate::engine::{self, Elements, Reader};
use crate::source::Objects;

/// Batches of fewer items stay on the calling thread.
const PARALLEL_ITEMS: usize = 64;
/// A worker takes at least so many items at a time.
const ITEMS_AT_A_TIME: usize = 16;
/// Enough for the deepest nesting in an unoptimised build, several times over. Only what is used takes memory.
const STACK_BYTES: usize = 8 << 20;
/// Overrides the project setting, for tests and servers.
const THREADS_VARIABLE: &str = "FAST_VARIANT_CODEC_THREADS";
/// How many threads work on a batch; 0 is one for each core.
const THREADS_SETTING: &str = "fast_variant_codec/threads";

/// The items of a batch that failed, in order.
pub type Errors = Vec<(usize, Error)>;

/// A finished batch.
pub struct Batch<A> {
    /// One slot for each item.
    pub slots: A,
    /// The items that failed; their slots hold what the engine's function gives.
    pub errors: Errors,
    /// Values left out of typed containers, in all items.
    pub misfits: usize,
}

/// One buffer for each value.
pub fn encode(values: &AnyArray, objects: Objects) -> Batch<Array<PackedByteArray>> {
    let elements = Elements::from(values);
    let mut slots = Array::<PackedByteArray>::new();
    slots.resize(elements.len(), &PackedByteArray::new());
    // Getters are scripts, which run on the calling thread.
    let parallel = objects == Objects::AsIds;
    let (errors, misfits) = fill(&mut slots.clone().upcast_any_array(), parallel, |index| {
        let value = element(&elements, index)?;
        Ok((codec::encode(value, objects, false)?.to_variant(), 0))
    });
    Batch { slots, errors, misfits }
}

/// One value for each buffer.
pub fn decode(buffers: &AnyArray, limits: &Limits) -> Batch<VarArray> {
    let elements = Elements::from(buffers);
    let mut slots = VarArray::new();
    slots.resize(elements.len(), &Variant::nil());
    // Setters are scripts, which run on the calling thread.
    let parallel = !limits.allow_objects;
    let reader = Reader::new();
    let (errors, misfits) = fill(&mut slots.clone().upcast_any_array(), parallel, |index| {
        let buffer = element(&elements, index)?;
        if reader.ty(buffer) != Some(VariantType::PackedByteArray) {
            let ty = reader.ty(buffer).map_or("a newer type", VariantType::name);
            return Err(Error::object(format!("a PackedByteArray is needed here, not {ty}")));
        }
        let bytes = reader.packed(buffer, VariantType::PackedByteArray).le;
        let (built, _) = codec::decode(bytes, Manner::Engine, limits)?;
        Ok((built.value, built.misfits))
    });
    Batch { slots, errors, misfits }
}

fn element<'a>(elements: &Elements<'a>, index: usize) -> Result<&'a Variant, Error> {
    elements.get(index).ok_or_else(|| Error::object("the Array was changed by another thread meanwhile"))
}

/// Fills the slots of an Array with what `make` gives for their indexes, and collects what fails.
fn fill(
    slots: &mut AnyArray,
    parallel: bool,
    make: impl Fn(usize) -> Result<(Variant, usize), Error> + Sync,
) -> (Errors, usize) {
    let failed = Mutex::new((Errors::new(), 0));
    let make = |index: usize, slot: &mut dyn FnMut(Variant)| {
        let made = make(index);
        match made {
            Ok((value, 0)) => slot(value),
            Ok((value, misfits)) => {
                slot(value);
                failed.lock().unwrap_or_else(PoisonError::into_inner).1 += misfits;
            }
            Err(error) => {
                failed.lock().unwrap_or_else(PoisonError::into_inner).0.push((index, error));
            }
        }
    };
    engine::fill(slots, make, |len, fill_slot| {
        match (parallel && len >= PARALLEL_ITEMS).then(pool).flatten() {
            Some(pool) => pool.threads.install(|| {
                (0..len).into_par_iter().with_min_len(ITEMS_AT_A_TIME).for_each(fill_slot);
            }),
            None => (0..len).for_each(fill_slot),
        }
    });
    let (mut errors, misfits) = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    errors.sort_unstable_by_key(|(index, _)| *index);
    (errors, misfits)
}

/// The extension's own threads. Kept with their handles, since dropping a pool does not wait for its threads to end.
struct Pool {
    threads: ThreadPool,
    handles: Mutex<Vec<JoinHandle<()>>>,
}

static POOL: Mutex<Option<Arc<Pool>>> = Mutex::new(None);

/// The pool, made when first needed; `None` where one thread is asked for, or no more can be had.
fn pool() -> Option<Arc<Pool>> {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if pool.is_none() {
        *pool = Pool::start(thread_count()).map(Arc::new);
    }
    pool.clone()
}

/// How many threads the project wants, at most one for each core if it does not say.
fn thread_count() -> usize {
    let asked = std::env::var(THREADS_VARIABLE).ok().and_then(|text| text.parse().ok());
    let asked = asked.unwrap_or_else(|| {
        let settings = ProjectSettings::singleton();
        if settings.has_setting(THREADS_SETTING) {
            settings.get_setting(THREADS_SETTING).try_to::<i64>().unwrap_or(0)
        } else {
            0
        }
    });
    match usize::try_from(asked) {
        Ok(count) if count > 0 => count,
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
    let Some(pool) = POOL.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
    let Ok(Pool { threads, handles }) = Arc::try_unwrap(pool).map_err(drop) else { return };
    drop(threads);
    for handle in handles.into_inner().unwrap_or_else(PoisonError::into_inner) {
        // A worker that panicked has ended, too, which is all that is wanted here.
        drop(handle.join());
    }
}
