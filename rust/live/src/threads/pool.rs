//! The extension's own threads, and work that the calling thread shares with them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use variant_codec::sync::lock;

use rayon::{ScopeFifo, ThreadPool, ThreadPoolBuilder};
use variant_engine::{can_share_out, keep_loaded};

use crate::panics::forward_panic;
use crate::settings;
use crate::threads::progress;

const MAX_THREADS: usize = 256;
/// The stack size of a thread, several times as much as the deepest nesting needs in an unoptimised build.
/// Only used pages take memory.
pub const STACK_BYTES: usize = 8 << 20;
/// The maximum time that unloading the library waits for a call. If the call takes longer, the library stays
/// loaded.
const LONGEST_CALL: Duration = Duration::from_secs(10);

struct Tasks<T, F> {
    tasks: Mutex<VecDeque<T>>,
    run: F,
}

impl<T: Send, F: Fn(T, &dyn Fn(T)) + Sync> Tasks<T, F> {
    fn add<'scope>(&'scope self, scope: &ScopeFifo<'scope>, task: T)
    where
        T: 'scope,
    {
        lock(&self.tasks).push_back(task);
        scope.spawn_fifo(|scope| {
            forward_panic("a thread of the pool", || self.run_next(scope));
        });
    }

    /// Runs the oldest task. Returns whether there was one.
    fn run_next<'scope>(&'scope self, scope: &ScopeFifo<'scope>) -> bool
    where
        T: 'scope,
    {
        let task = lock(&self.tasks).pop_front();
        let found = task.is_some();
        if let Some(task) = task {
            (self.run)(task, &|task| self.add(scope, task));
        }
        found
    }
}

/// Runs tasks on the threads of `pool` and on the calling thread, and returns the result of `lead` when all are done.
///
/// `lead` runs on the calling thread and adds tasks, which the other threads start immediately; then the
/// calling thread helps with the remaining ones. Tasks may add tasks.
pub fn share<T: Send, R>(
    pool: &Pool,
    run: impl Fn(T, &dyn Fn(T)) + Sync,
    lead: impl FnOnce(&dyn Fn(T)) -> R,
) -> R {
    let tasks = Tasks { tasks: Mutex::new(VecDeque::new()), run };
    pool.threads.in_place_scope_fifo(|scope| {
        let result = lead(&|task| tasks.add(scope, task));
        while tasks.run_next(scope) {}
        result
    })
}

/// The extension's own threads, with their handles, because dropping a pool does not wait for its threads.
pub struct Pool {
    threads: ThreadPool,
    handles: Mutex<Vec<JoinHandle<()>>>,
}

/// A lazily created pool: `Some(None)` if only one thread is configured, no threads can be started, or the library is
/// being unloaded.
type LazyPool = Mutex<Option<Option<Arc<Pool>>>>;

/// The pool for foreground calls.
static POOL: LazyPool = Mutex::new(None);

/// The pool for the calling thread, created when first needed; `None` if that thread works alone.
pub fn pool() -> Option<Arc<Pool>> {
    // The foreground pool has one thread fewer than configured, because the calling thread works, too.
    if progress::in_background() { background_pool() } else { kept(&POOL, false, || thread_count() - 1) }
}

/// The pool for jobs, which leaves one core to the game.
static BACKGROUND: LazyPool = Mutex::new(None);

/// The pool for jobs, created when first needed; `None` if it can have no threads.
pub fn background_pool() -> Option<Arc<Pool>> {
    kept(&BACKGROUND, true, || (thread_count() - 1).max(1))
}

fn kept(pool: &LazyPool, in_background: bool, count: impl FnOnce() -> usize) -> Option<Arc<Pool>> {
    let mut pool = lock(pool);
    if pool.is_none() {
        *pool = Some(Pool::start(count(), in_background).map(Arc::new));
    }
    pool.clone().flatten()
}

/// The configured number of threads; by default one per core, and on the web one.
fn thread_count() -> usize {
    match usize::try_from(settings::threads()) {
        Ok(count) if count > 0 => count.min(MAX_THREADS),
        _ if !starts_threads() => 1,
        _ => std::thread::available_parallelism().map_or(1, usize::from),
    }
}

/// Whether this library may start threads. A web page has a fixed number of threads, which the engine uses,
/// too. If none is free and the main thread waits for a new one, the wait never ends. On the web, threads
/// are therefore started only if the settings say so.
pub fn starts_threads() -> bool {
    if cfg!(feature = "no-threads") {
        return false;
    }
    !cfg!(target_family = "wasm") || settings::threads() > 0
}

/// The number of threads for a call, including the calling one.
pub fn width() -> usize {
    if is_alone() { 1 } else { thread_count() }
}

/// Whether the calling thread works alone, however many threads are configured: this library may not start
/// threads, or the engine does not let several threads fill a container.
fn is_alone() -> bool {
    !starts_threads() || !can_share_out()
}

impl Pool {
    /// Starts `count` threads. Returns `None` if `count` is zero, a thread cannot be started, or the calling
    /// thread works alone.
    fn start(count: usize, in_background: bool) -> Option<Self> {
        if count == 0 || is_alone() {
            return None;
        }
        let handles = Mutex::new(Vec::with_capacity(count));
        let name = if in_background { "FastVariantCodec job" } else { "FastVariantCodec" };
        let threads = ThreadPoolBuilder::new()
            .num_threads(count)
            .thread_name(move |index| format!("{name} {index}"))
            .stack_size(STACK_BYTES)
            .start_handler(move |_| {
                if in_background {
                    progress::enter_background();
                }
            })
            .spawn_handler(|thread| {
                let mut builder = std::thread::Builder::new();
                if let Some(name) = thread.name() {
                    builder = builder.name(name.to_owned());
                }
                if let Some(bytes) = thread.stack_size() {
                    builder = builder.stack_size(bytes);
                }
                let handle = builder.spawn(|| thread.run())?;
                lock(&handles).push(handle);
                Ok(())
            })
            .build()
            .ok()?;
        Some(Self { threads, handles })
    }

    /// Runs `work` on one of the threads, and waits for it.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.threads.install(work)
    }
}

/// Lets the next call that needs threads start them. Called each time the library is loaded.
pub fn open() {
    *lock(&POOL) = None;
    *lock(&BACKGROUND) = None;
}

/// Waits for calls that use the threads, then ends the threads and waits for them. Called before the library is
/// unloaded; from then on, every call works alone.
pub fn stop() {
    end(&BACKGROUND);
    end(&POOL);
}

fn end(pool: &LazyPool) {
    let Some(mut pool) = lock(pool).replace(None).flatten() else { return };
    let started = Instant::now();
    let Pool { threads, handles } = loop {
        match Arc::try_unwrap(pool) {
            Ok(unused) => break unused,
            // A call hangs, and the engine must not hang with it. The threads still run the library's code,
            // so it stays loaded.
            Err(_) if started.elapsed() > LONGEST_CALL => {
                keep_loaded();
                return;
            }
            Err(used) => pool = used,
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    drop(threads);
    for handle in handles.into_inner().unwrap_or_else(PoisonError::into_inner) {
        // A worker that panicked has also ended, which is enough here.
        drop(handle.join());
    }
}
