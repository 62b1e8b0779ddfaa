//! The class FastVariantJob: a running or finished background job.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use godot::builtin::{Callable, GString, Variant, varray};
use godot::classes::{Engine, IRefCounted, RefCounted, SceneTree};
use godot::meta::ToGodot;
use godot::obj::{Base, Gd, Singleton};
use godot::prelude::{GodotClass, godot_api};
use variant_codec::Error;
use variant_codec::sync::lock;

use super::guard::{OnFailure, guard};
use super::result_class::FastVariantResult;
use super::{report, summary};
use crate::jobs::{Job, Outcome, take_unprinted};
use variant_live::decode::built::CreatedObjects;
use variant_live::threads::parked;

/// A running [code]_async[/code] method of [FastVariantCodec] or [FastVariantClasses].
///
/// ```gdscript
/// FastVariantCodec.save_batch("user://world.dat", [{"hp": 7}, {"hp": 9}])
/// var job := FastVariantCodec.load_batch_async("user://world.dat")
/// var result: FastVariantResult = await job.completed
/// if result.is_ok():
///     print(result.value)
/// ```
///
/// A job that has neither references nor signal connections is cancelled; a save always completes, even if
/// the game quits. If a Node may be freed while one of its functions awaits a job, keep the job in a member
/// variable of the Node: the engine never frees the local variables of such a function. Objects that a job
/// has created and that you did not receive are freed. You may change and free a job's arguments as soon as
/// the call returns, with the exceptions in [method FastVariantCodec.encode_batch_async]. Background jobs of
/// one kind run in the order in which they were started, on threads of low priority. Jobs
/// that run between frames run at the same time, each with its own budget.
#[derive(GodotClass)]
#[class(tool, base=RefCounted)]
pub struct FastVariantJob {
    job: Arc<Job>,
    /// The result once it has been taken from the job, and the objects to free if the caller never receives
    /// it.
    result: Mutex<Option<(Gd<FastVariantResult>, CreatedObjects)>>,
    /// The progress that was last emitted.
    emitted: AtomicUsize,
    /// Whether `completed` has been emitted. Prevents a second emission if a listener to `progressed` runs
    /// the next frame itself.
    was_completed_emitted: AtomicBool,
    base: Base<RefCounted>,
}

/// The editor recreates each object when it reloads the library; a job is then lost.
#[godot_api]
impl IRefCounted for FastVariantJob {
    fn init(base: Base<RefCounted>) -> Self {
        Self::of(Job::lost(), base)
    }

    #[func(gd_self)]
    fn to_string(this: Gd<Self>) -> GString {
        guard("FastVariantJob.to_string", || {
            let holds = this.bind().summary();
            summary::of(&this, holds)
        })
    }
}

#[godot_api]
impl FastVariantJob {
    /// Emitted on the main thread, at most once per frame, when [param done] of [param total] items are done.
    #[signal]
    fn progressed(done: i64, total: i64);

    /// Emitted once, on the main thread, when the job has succeeded, failed or been cancelled; see
    /// [param result]. Emitted only in a later frame than the one in which the job was started, and only
    /// after something is connected, so [code]await[/code] also returns if the job is already done.
    #[signal]
    fn completed(result: Gd<FastVariantResult>);

    /// Cancels the job, whose result is then [constant FastVariantCodec.CANCELLED], and frees its partial results. Has
    /// no effect on a job that is done, nor on a save, which always completes.
    // The handle keeps the object alive, here and in all methods: a setter in the job's own slice, or a Logger that
    // receives an error, may drop the last other reference.
    #[func(gd_self)]
    fn cancel(this: Gd<Self>) {
        guard("FastVariantJob.cancel", || {
            let job = Arc::clone(&this.bind().job);
            job.cancel();
        })
    }

    /// Waits until the job is done, and returns its result. A job that runs between frames is completed here, on the
    /// main thread. [signal completed] is still emitted.
    ///
    /// Some jobs need the main thread: those of [method FastVariantCodec.encode_batch_async] and those that may create
    /// objects. Another thread cannot wait for them, because the main thread may be waiting for that thread; nor can a
    /// getter or setter that they call. In both cases the call immediately returns an error, and the job continues. Any
    /// thread can wait for all other jobs.
    #[func(gd_self)]
    fn wait_to_finish(this: Gd<Self>) -> Gd<FastVariantResult> {
        guard("FastVariantJob.wait_to_finish", || {
            let job = Arc::clone(&this.bind().job);
            let waited = job.wait();
            print_failures();
            let result = waited.map(|()| this.bind().result());
            // The result is `None` only if the job is not done, but it is done after a successful
            // `wait`.
            match result {
                Ok(result) => result.unwrap_or_else(|| FastVariantResult::of(Outcome::Lost)),
                Err(error) => FastVariantResult::failed(&error),
            }
        })
    }

    /// Returns [code]true[/code] if the job is done, so that [method wait_to_finish] returns immediately.
    #[func(gd_self)]
    fn is_completed(this: Gd<Self>) -> bool {
        guard("FastVariantJob.is_completed", || this.bind().job.is_done())
    }

    /// Returns the progress of the job, from 0 to 1.
    #[func(gd_self)]
    fn get_progress(this: Gd<Self>) -> f64 {
        guard("FastVariantJob.get_progress", || {
            let job = Arc::clone(&this.bind().job);
            match job.progress() {
                _ if job.is_done() => 1.0,
                (_, 0) => 0.0,
                (done, total) => done as f64 / total as f64,
            }
        })
    }

    // Called by the engine, on the main thread, before the next frame. The argument is the job itself, and keeps the
    // job alive.
    #[func(gd_self, rename = _begin)]
    fn begin(this: Gd<Self>, held: Variant) {
        guard("FastVariantJob._begin", || {
            let Some(main_loop) = Engine::singleton().get_main_loop() else { return };
            match main_loop.try_cast::<SceneTree>() {
                Ok(mut tree) => {
                    tree.connect(FRAME, &this.callable(ON_FRAME).bindv(&varray![&held].upcast_any_array()));
                }
                // Without a SceneTree, nothing calls the job in each frame, so it runs to its end now.
                Err(_) => {
                    let job = Arc::clone(&this.bind().job);
                    job.run_to_end();
                    Self::emit_progress(&this);
                }
            }
        })
    }

    // Called by the engine, on the main thread, in each frame.
    #[func(gd_self, rename = _frame)]
    fn frame(this: Gd<Self>, _held: Variant) {
        guard("FastVariantJob._frame", || {
            let job = Arc::clone(&this.bind().job);
            print_failures();
            parked::sweep();
            // A save that nobody waits for stays until it is written, so that a failure is printed.
            if Self::is_abandoned(&this) && !job.is_writing() {
                job.cancel();
                return Self::leave(&this);
            }
            job.slice(Some(job.budget()));
            Self::emit_progress(&this);
        })
    }
}

impl OnFailure for Gd<FastVariantJob> {
    fn failed(_method: &str, error: &Error) -> Self {
        start(Job::done(Outcome::Failed(error.clone())))
    }
}

impl FastVariantJob {
    fn of(job: Arc<Job>, base: Base<RefCounted>) -> Self {
        let (emitted, was_completed_emitted) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self { job, result: Mutex::new(None), emitted, was_completed_emitted, base }
    }

    fn look<R>(&self, look: impl FnOnce(&Gd<FastVariantResult>, &mut CreatedObjects) -> R) -> Option<R> {
        let mut result = lock(&self.result);
        if result.is_none() {
            *result = self.job.take().map(FastVariantResult::of_job);
        }
        result.as_mut().map(|(result, created)| look(result, created))
    }

    /// Returns the result, if there is one, and keeps its objects alive for the caller.
    fn result(&self) -> Option<Gd<FastVariantResult>> {
        self.look(|result, created| {
            created.leave();
            result.clone()
        })
    }

    fn summary(&self) -> String {
        if self.job.is_done()
            && let Some(summary) = self.look(|result, _| result.bind().summary())
        {
            return format!("done, {summary}");
        }
        match self.job.progress() {
            (_, 0) => "running".to_owned(),
            (done, total) => format!("running: {done} of {total} items"),
        }
    }
}

impl Drop for FastVariantJob {
    fn drop(&mut self) {
        self.job.abandon();
    }
}

/// The number of references that are not the script's while `_frame` runs. The connection to `process_frame` holds
/// one, and the arguments of the running call hold two. The connection keeps the job alive during `await`.
const OWN_REFERENCES: i32 = 3;

const FRAME: &str = "process_frame";
const ON_FRAME: &str = "_frame";

/// The SceneTree, which signals frames, if there is one.
fn frames() -> Option<Gd<SceneTree>> {
    Engine::singleton().get_main_loop()?.try_cast::<SceneTree>().ok()
}

/// Wraps a job for scripts. The engine calls `_begin` before the next frame.
pub fn start(job: Arc<Job>) -> Gd<FastVariantJob> {
    let mut started = Gd::from_init_fn(|base| FastVariantJob::of(job, base));
    let held = started.to_variant();
    started.call_deferred("_begin", &[held]);
    started
}

/// Prints why saves in the background have failed. Called where Loggers may wait for other jobs.
pub fn print_failures() {
    for (method, error) in take_unprinted() {
        report::file(method, &error);
    }
}

/// Drops all jobs, and waits for running work. Called before the library is unloaded; when the game quits, the engine
/// has freed the jobs by then.
pub fn stop() {
    if let Some(tree) = frames() {
        for connection in tree.get_signal_connection_list(FRAME).iter_shared() {
            let object = connection.get("callable").and_then(|callable| callable.to::<Callable>().object());
            if let Some(job) = object.and_then(|object| object.try_cast::<FastVariantJob>().ok()) {
                let inner = Arc::clone(&job.bind().job);
                inner.cancel();
                FastVariantJob::leave(&job);
            }
        }
    }
}

impl FastVariantJob {
    fn listens_to(this: &Gd<Self>, signal: &str) -> bool {
        !this.get_signal_connection_list(signal).is_empty()
    }

    /// Whether scripts have dropped the job: they hold no reference and wait for no signal.
    fn is_abandoned(this: &Gd<Self>) -> bool {
        let has_emitted_all = || {
            let fields = this.bind();
            fields.job.is_done() && fields.emitted.load(Ordering::Relaxed) == fields.job.progress().0
        };
        this.get_reference_count() <= OWN_REFERENCES
            && !Self::listens_to(this, "completed")
            && (!Self::listens_to(this, "progressed") || has_emitted_all())
    }

    /// Emits signals for the changes since the last frame.
    fn emit_progress(this: &Gd<Self>) {
        let emitted = {
            let fields = this.bind();
            let (done, total) = fields.job.progress();
            let emitted = fields.emitted.swap(done, Ordering::Relaxed);
            (emitted != done).then_some((done as i64, total as i64))
        };
        if let Some((done, total)) = emitted {
            this.signals().progressed().emit(done, total);
        }
        if !Self::listens_to(this, "completed") {
            return;
        }
        // No listener runs while the job is bound.
        let result = {
            let fields = this.bind();
            fields.result().filter(|_| !fields.was_completed_emitted.swap(true, Ordering::Relaxed))
        };
        if let Some(result) = result {
            Self::leave(this);
            this.signals().completed().emit(&result);
        }
    }

    /// Disconnects the job from frames.
    fn leave(this: &Gd<Self>) {
        if let Some(mut tree) = frames() {
            let callable = this.callable(ON_FRAME);
            if tree.is_connected(FRAME, &callable) {
                tree.disconnect(FRAME, &callable);
            }
        }
        print_failures();
    }
}
