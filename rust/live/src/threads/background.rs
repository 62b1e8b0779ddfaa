//! Background threads, which run queued work one after another.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use variant_codec::sync::lock;

use crate::panics::forward_panic;
use crate::threads::pool::{STACK_BYTES, background_pool, starts_threads};
use crate::threads::progress::{self, Current, Progress};

/// Runs `work` on the threads of the pool, if there are any, and updates `progress`.
pub fn on_pool<R: Send>(progress: &Arc<Progress>, work: impl FnOnce() -> R + Send) -> R {
    let _current = Current::set(progress);
    match background_pool() {
        Some(pool) => pool.run(|| forward_panic("a job on a thread of the pool", work)),
        None => work(),
    }
}

/// The kind of work; each kind has its own thread.
#[derive(Clone, Copy)]
pub enum Lane {
    /// Decoding, which may take long and be cancelled.
    Reading,
    /// Saving, which always completes.
    Writing,
}

type Work = Box<dyn FnOnce() + Send>;

struct Worker {
    work: Sender<Work>,
    thread: JoinHandle<()>,
}

impl Worker {
    fn start(name: &str) -> Option<Self> {
        let (sender, receiver) = channel::<Work>();
        let run = move || {
            progress::enter_background();
            for work in receiver {
                work();
            }
        };
        let builder = std::thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES);
        Some(Self { work: sender, thread: builder.spawn(run).ok()? })
    }
}

#[derive(Default)]
struct Workers {
    reading: Option<Worker>,
    writing: Option<Worker>,
    stopped: bool,
}

static WORKERS: Mutex<Workers> = Mutex::new(Workers { reading: None, writing: None, stopped: false });

/// Queues the work that `make` returns, to run in the background. Returns the work if there is no thread for
/// it.
///
/// `make` is called in the order of the queue: if `make` adds its work to another queue, that queue has the
/// same order.
pub fn queue(lane: Lane, make: impl FnOnce() -> Work) -> Result<(), Work> {
    let mut workers = lock(&WORKERS);
    let work = make();
    if workers.stopped || !starts_threads() {
        return Err(work);
    }
    let (worker, name) = match lane {
        Lane::Reading => (&mut workers.reading, "FastVariantCodec load"),
        Lane::Writing => (&mut workers.writing, "FastVariantCodec save"),
    };
    if worker.is_none() {
        *worker = Worker::start(name);
    }
    match worker {
        Some(worker) => worker.work.send(work).map_err(|unsent| unsent.0),
        None => Err(work),
    }
}

/// Allows queuing. Called each time the library is loaded.
pub fn open() {
    progress::set_stopping(false);
    *lock(&WORKERS) = Workers::default();
}

/// Ends the threads after all queued saves, and cancels all other work. Called before the library is unloaded.
pub fn stop() {
    progress::set_stopping(true);
    let Workers { reading, writing, .. } =
        std::mem::replace(&mut *lock(&WORKERS), Workers { stopped: true, ..Workers::default() });
    for Worker { work, thread } in [writing, reading].into_iter().flatten() {
        drop(work);
        drop(thread.join());
    }
}
