//! Work in the background: the threads that do it, one piece of work after the other, and how it gives way to the game.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::guard::carried;
use crate::pool::{STACK_BYTES, background_pool, lock};

/// For how long a part waits for calls in the foreground. Not for their end: one may itself wait for the background.
const PAUSE: Duration = Duration::from_millis(10);

/// How far some work is, and whether it is still wanted.
#[derive(Default)]
pub struct Progress {
    cancelled: AtomicBool,
    done: AtomicUsize,
    total: AtomicUsize,
}

impl Progress {
    /// Says how much there is to do.
    pub fn set_total(&self, total: usize) {
        self.total.store(total, Ordering::Relaxed);
    }

    /// So much more is done.
    pub fn advance(&self, by: usize) {
        self.done.fetch_add(by, Ordering::Relaxed);
    }

    /// How much is done, and of how much.
    pub fn get(&self) -> (usize, usize) {
        let total = self.total.load(Ordering::Relaxed);
        (self.done.load(Ordering::Relaxed).min(total), total)
    }

    /// The work is not wanted any more.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

thread_local! {
    static IS_HERE: Cell<bool> = const { Cell::new(false) };
}

/// The work that is being done by the threads of the pool, which do one at a time.
static CURRENT: Mutex<Option<Arc<Progress>>> = Mutex::new(None);

/// Calls that someone waits for.
static FOREGROUND: Mutex<usize> = Mutex::new(0);
static FOREGROUND_ENDED: Condvar = Condvar::new();

/// Whether the calling thread works in the background.
pub fn is_here() -> bool {
    IS_HERE.get()
}

/// Makes the calling thread one that works in the background.
pub fn enter() {
    IS_HERE.set(true);
    lower_priority();
}

#[cfg(not(target_family = "wasm"))]
fn lower_priority() {
    use thread_priority::{ThreadPriority, ThreadPriorityValue, set_current_thread_priority};
    // A quarter of the way from the lowest to the highest; normal is half. Without it, the system shares out as it likes.
    if let Ok(value) = ThreadPriorityValue::try_from(25) {
        drop(set_current_thread_priority(ThreadPriority::Crossplatform(value)));
    }
}

#[cfg(target_family = "wasm")]
fn lower_priority() {}

/// Between two parts of some work: lets calls in the foreground go first, and says whether to go on. In the foreground,
/// always.
pub fn goes_on() -> bool {
    if !is_here() {
        return true;
    }
    let foreground = lock(&FOREGROUND);
    if *foreground > 0 {
        drop(FOREGROUND_ENDED.wait_timeout(foreground, PAUSE).unwrap_or_else(PoisonError::into_inner));
    }
    !lock(&CURRENT).as_ref().is_some_and(|progress| progress.is_cancelled())
}

/// So much more of the work is done, if it is one of the background.
pub fn advance(by: usize) {
    if is_here()
        && let Some(progress) = &*lock(&CURRENT)
    {
        progress.advance(by);
    }
}

/// A call that someone waits for, as long as it lives.
pub struct Foreground(());

impl Foreground {
    /// `None` in the background.
    pub fn enter() -> Option<Self> {
        (!is_here()).then(|| {
            *lock(&FOREGROUND) += 1;
            Self(())
        })
    }
}

impl Drop for Foreground {
    fn drop(&mut self) {
        let mut foreground = lock(&FOREGROUND);
        *foreground -= 1;
        if *foreground == 0 {
            FOREGROUND_ENDED.notify_all();
        }
    }
}

/// Does this on the threads of the pool, if there are any, as what `progress` is about.
pub fn on_pool<R: Send>(progress: &Arc<Progress>, work: impl FnOnce() -> R + Send) -> R {
    /// However the work ends.
    struct Ended;

    impl Drop for Ended {
        fn drop(&mut self) {
            *lock(&CURRENT) = None;
        }
    }

    *lock(&CURRENT) = Some(Arc::clone(progress));
    let _ended = Ended;
    match background_pool() {
        Some(pool) => pool.run(|| carried("a job on a thread of the pool", work)),
        None => work(),
    }
}

/// What a piece of work is about; there is a thread for each.
#[derive(Clone, Copy)]
pub enum Lane {
    /// Decoding, which may take long and be cancelled.
    Reading,
    /// Saving, which is always finished.
    Writing,
}

type Work = Box<dyn FnOnce() + Send>;

/// A thread that does what it is given, in order.
struct Worker {
    work: Sender<Work>,
    thread: JoinHandle<()>,
}

impl Worker {
    fn start(name: &str) -> Option<Self> {
        let (sender, receiver) = channel::<Work>();
        let run = move || {
            enter();
            for work in receiver {
                work();
            }
        };
        let builder = std::thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES);
        Some(Self { work: sender, thread: builder.spawn(run).ok()? })
    }
}

/// The two lanes, and whether the library is being unloaded.
#[derive(Default)]
struct Workers {
    reading: Option<Worker>,
    writing: Option<Worker>,
    stopped: bool,
}

static WORKERS: Mutex<Workers> = Mutex::new(Workers { reading: None, writing: None, stopped: false });

/// Has `make` make some work, and does it in the background, after what was queued before. Gives it back where there is no
/// thread for it.
///
/// `make` runs in the order of the queue, so that it can also queue for something else.
pub fn queue(lane: Lane, make: impl FnOnce() -> Work) -> Result<(), Work> {
    let mut workers = lock(&WORKERS);
    let work = make();
    if workers.stopped || cfg!(feature = "no-threads") {
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

/// Lets work be queued. Called when the library is loaded, which may be again.
pub fn open() {
    *lock(&WORKERS) = Workers::default();
}

/// Ends the threads when everything that is queued is done. Called before the library is unloaded.
pub fn stop() {
    let Workers { reading, writing, .. } =
        std::mem::replace(&mut *lock(&WORKERS), Workers { stopped: true, ..Workers::default() });
    for Worker { work, thread } in [writing, reading].into_iter().flatten() {
        drop(work);
        drop(thread.join());
    }
}
