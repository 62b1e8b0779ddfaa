//! FastVariantJob: a result that comes later.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use godot::builtin::{Callable, GString, Variant, varray};
use godot::classes::{Engine, IRefCounted, RefCounted, SceneTree};
use godot::meta::ToGodot;
use godot::obj::{Base, Gd, Singleton};
use godot::prelude::{GodotClass, godot_api};
use variant_codec::Error;

use super::guard::{OnFailure, guard};
use super::result_class::FastVariantResult;
use super::summary;
use crate::jobs::{Job, Outcome};
use crate::threads::{background, lock};
use crate::variant::built::Made;

/// What an [code]_async[/code] method of [FastVariantCodec] is at work on.
///
/// ```gdscript
/// FastVariantCodec.save_batch("user://world.dat", [{"hp": 7}, {"hp": 9}])
/// var job := FastVariantCodec.load_batch_async("user://world.dat")
/// var result: FastVariantResult = await job.completed
/// if result.is_ok():
///     print(result.value)
/// ```
///
/// A job that nobody holds or listens to any more is cancelled; a save always completes, even if the game quits. Objects that
/// a job has made and nobody received are freed. You may change and free a job's arguments as soon as the call returns, with
/// the exceptions that [method FastVariantCodec.encode_batch_async] names. Jobs of one kind are done in the order in which
/// they were started, and give way to the calls that the game waits for.
#[derive(GodotClass)]
#[class(tool, base=RefCounted)]
pub struct FastVariantJob {
    job: Arc<Job>,
    /// The result, once it has been looked at, and what is to be freed should nobody get it.
    result: Mutex<Option<(Gd<FastVariantResult>, Made)>>,
    /// What the last signal said of the progress.
    told: AtomicUsize,
    /// Whether the last signal has been emitted: a listener to another one may lead to the next frame.
    is_told: AtomicBool,
    base: Base<RefCounted>,
}

/// For the editor, which makes each object anew when it reloads the library.
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
    /// [param done] of the [param total] items are done. Emitted on the main thread, at most once in each frame.
    #[signal]
    fn progressed(done: i64, total: i64);

    /// The job is done: it succeeded, failed, or was cancelled, which the result says. Emitted once, on the main thread,
    /// in a frame after that in which the job was started, but not before something is connected to it: [code]await[/code]
    /// also returns where the job was done before.
    #[signal]
    fn completed(result: Gd<FastVariantResult>);

    /// Ends the job, with [constant FastVariantCodec.CANCELLED] as its result, and frees what there is of it. Does nothing
    /// to a job that is done, and to a save, which is always finished.
    // The handle keeps the object, which a setter of the job's own slice may let go of.
    #[func(gd_self)]
    fn cancel(this: Gd<Self>) {
        guard("FastVariantJob.cancel", || {
            let job = Arc::clone(&this.bind().job);
            job.cancel();
        })
    }

    /// Waits until the job is done, and gives its result. What is left of a job that is done between frames is done here,
    /// on the main thread. [signal completed] is emitted nevertheless.
    ///
    /// Some jobs need the main thread: those of [method FastVariantCodec.encode_batch_async] and those that may make objects.
    /// Another thread cannot wait for them, because the main thread may be waiting for that thread; nor can a getter or
    /// setter that runs for them. In both cases the result says so at once, and the job goes on. All other jobs can be waited
    /// for from anywhere.
    // As in `cancel`.
    #[func(gd_self)]
    fn wait(this: Gd<Self>) -> Gd<FastVariantResult> {
        guard("FastVariantJob.wait", || {
            let job = Arc::clone(&this.bind().job);
            let waited = job.wait();
            let result = waited.map(|()| this.bind().result());
            // There is none only where a job is done and its result is on its way to somebody else.
            match result {
                Ok(result) => result.unwrap_or_else(|| FastVariantResult::of_job(Outcome::Lost).0),
                Err(error) => FastVariantResult::failed(&error),
            }
        })
    }

    /// Whether there is a result, which [method wait] then gives at once.
    #[func]
    fn is_done(&self) -> bool {
        guard("FastVariantJob.is_done", || self.job.is_done())
    }

    /// How far the job is, from 0 to 1.
    #[func]
    fn get_progress(&self) -> f64 {
        guard("FastVariantJob.get_progress", || match self.job.progress() {
            _ if self.is_done() => 1.0,
            (_, 0) => 0.0,
            (done, total) => done as f64 / total as f64,
        })
    }

    // Called by the engine, on the main thread, before the next frame. The argument is the job itself: who calls holds it.
    #[func(gd_self, rename = _begin)]
    fn begin(this: Gd<Self>, held: Variant) {
        guard("FastVariantJob._begin", || {
            let Some(main_loop) = Engine::singleton().get_main_loop() else { return };
            match main_loop.try_cast::<SceneTree>() {
                Ok(mut tree) => {
                    tree.connect(FRAME, &this.callable(ON_FRAME).bindv(&varray![&held].upcast_any_array()));
                }
                // Nothing else tells of frames.
                Err(_) => {
                    let job = Arc::clone(&this.bind().job);
                    job.come_to_an_end();
                    Self::tell(&this);
                }
            }
        })
    }

    // Called by the engine, on the main thread, in each frame.
    #[func(gd_self, rename = _frame)]
    fn frame(this: Gd<Self>, _held: Variant) {
        guard("FastVariantJob._frame", || {
            let job = Arc::clone(&this.bind().job);
            if Self::is_abandoned(&this) {
                job.cancel();
                return Self::leave(&this);
            }
            job.slice(Some(job.budget()));
            Self::tell(&this);
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
        let (told, is_told) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self { job, result: Mutex::new(None), told, is_told, base }
    }

    /// What `look` sees in the result, if there is one: the same whenever it is asked for.
    fn look<R>(&self, look: impl FnOnce(&Gd<FastVariantResult>, &mut Made) -> R) -> Option<R> {
        let mut result = lock(&self.result);
        if result.is_none() {
            *result = self.job.take().map(FastVariantResult::of_job);
        }
        result.as_mut().map(|(result, made)| look(result, made))
    }

    /// The result, if there is one, for somebody who has it from here on.
    fn result(&self) -> Option<Gd<FastVariantResult>> {
        self.look(|result, made| {
            made.leave();
            result.clone()
        })
    }

    /// How far the job is, or what it came to, in few words.
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

/// That of the connection to frames, which `await` needs, as it does not hold the object whose signal it waits for; and
/// those of the call from there.
const OWN_REFERENCES: i32 = 3;

const FRAME: &str = "process_frame";
const ON_FRAME: &str = "_frame";

/// What tells of frames, if anything does.
fn frames() -> Option<Gd<SceneTree>> {
    Engine::singleton().get_main_loop()?.try_cast::<SceneTree>().ok()
}

/// Gives scripts a job.
pub fn start(job: Arc<Job>) -> Gd<FastVariantJob> {
    let mut started = Gd::from_init_fn(|base| FastVariantJob::of(job, base));
    let held = started.to_variant();
    started.call_deferred("_begin", &[held]);
    started
}

/// Lets go of all jobs, and waits for what is being done. Called before the library is unloaded; when the game quits, the
/// engine has freed them by then.
pub fn stop() {
    if let Some(tree) = frames() {
        for connection in tree.get_signal_connection_list(FRAME).iter_shared() {
            let object = connection.get("callable").and_then(|callable| callable.to::<Callable>().object());
            if let Some(job) = object.and_then(|object| object.try_cast::<FastVariantJob>().ok()) {
                job.bind().job.cancel();
                FastVariantJob::leave(&job);
            }
        }
    }
    background::stop();
}

impl FastVariantJob {
    fn listens_to(this: &Gd<Self>, signal: &str) -> bool {
        !this.get_signal_connection_list(signal).is_empty()
    }

    /// Whether nobody holds the job or listens to what it has to say.
    fn is_abandoned(this: &Gd<Self>) -> bool {
        let has_told_all = || {
            let fields = this.bind();
            fields.job.is_done() && fields.told.load(Ordering::Relaxed) == fields.job.progress().0
        };
        this.get_reference_count() <= OWN_REFERENCES
            && !Self::listens_to(this, "completed")
            && (!Self::listens_to(this, "progressed") || has_told_all())
    }

    /// Says what has changed since the last frame.
    fn tell(this: &Gd<Self>) {
        let told = {
            let fields = this.bind();
            let (done, total) = fields.job.progress();
            let told = fields.told.swap(done, Ordering::Relaxed);
            (told != done).then_some((done as i64, total as i64))
        };
        if let Some((done, total)) = told {
            this.signals().progressed().emit(done, total);
        }
        if Self::listens_to(this, "completed")
            && let Some(result) = this.bind().result()
            && !this.bind().is_told.swap(true, Ordering::Relaxed)
        {
            Self::leave(this);
            this.signals().completed().emit(&result);
        }
    }

    /// Nothing more is to be done in frames.
    fn leave(this: &Gd<Self>) {
        if let Some(mut tree) = frames() {
            let callable = this.callable(ON_FRAME);
            if tree.is_connected(FRAME, &callable) {
                tree.disconnect(FRAME, &callable);
            }
        }
    }
}
