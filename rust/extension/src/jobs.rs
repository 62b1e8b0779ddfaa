//! Jobs: a batch or a file whose result comes later, from another thread or in slices between the frames of the game.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use godot::builtin::{AnyArray, Array, GString, PackedByteArray, Variant};
use godot::init::is_main_thread;
use godot::meta::ToGodot;
use godot::obj::Gd;
use godot::prelude::VarArray;
use variant_codec::{Error, Limits, Manner};

use crate::background::{self, Lane, Progress};
use crate::batch::{self, Failed, Reasons, Unpacking};
use crate::engine::Moved;
use crate::files::{self, Target, Turn};
use crate::guard::caught;
use crate::pool::lock;
use crate::result_class::FastVariantResult;
use crate::source::Objects;

/// What a frame is asked for where nobody says.
pub const BUDGET: Duration = Duration::from_millis(2);
/// A slice is made of so many steps, after each of which the clock is looked at.
const STEPS: u32 = 8;

/// Work on a batch that can be done a few items at a time.
trait Slices: Send {
    /// Does so many items, and says whether there are others left.
    fn step(&mut self, items: usize) -> bool;
    /// How many items are done, and of how many.
    fn progress(&self) -> (usize, usize);
    /// The result, of what has been done.
    fn finish(self: Box<Self>) -> Gd<FastVariantResult>;
}

/// Where a job is.
enum Stage {
    /// With another thread.
    Away,
    /// Waiting for the next frame.
    Sliced(Box<dyn Slices>),
    /// In a slice, which may run scripts.
    InSlice,
    Done(Moved<Gd<FastVariantResult>>),
    /// Made anew by the editor, which knows no results then.
    Lost,
}

/// A job, which its threads and the object that scripts have share.
pub struct Job {
    stage: Mutex<Stage>,
    changed: Condvar,
    progress: Arc<Progress>,
    budget: Duration,
    /// Whether it is done whether or not somebody waits for it.
    is_save: bool,
}

impl Job {
    fn new(stage: Stage, budget: Duration, is_save: bool) -> Arc<Self> {
        let progress = Arc::default();
        Arc::new(Self { stage: Mutex::new(stage), changed: Condvar::new(), progress, budget, is_save })
    }

    /// A job that has ended before it began.
    pub fn done(result: Gd<FastVariantResult>) -> Arc<Self> {
        Self::new(Stage::Done(Moved(result)), BUDGET, true)
    }

    /// A job that did not outlive the reloading of the library.
    pub fn lost() -> Arc<Self> {
        Self::new(Stage::Lost, BUDGET, false)
    }

    /// Encodes values, of which the Array is copied, in slices of the main thread. On another thread, at once: scripts cannot
    /// run there meanwhile, and no frame waits.
    pub fn encode(values: &AnyArray, objects: Objects, budget: Duration) -> Arc<Self> {
        let encoding = Encoding {
            values: Moved(values.duplicate_shallow()),
            objects,
            buffers: Moved(Array::new()),
            failed: Failed::default(),
        };
        let job = Self::new(Stage::Sliced(Box::new(encoding)), budget, false);
        if !is_main_thread() {
            job.slice(None);
        }
        job
    }

    /// Decodes buffers strictly.
    pub fn decode(buffers: &AnyArray, limits: Limits) -> Arc<Self> {
        let decoding = Decoding {
            buffers: Moved(buffers.duplicate_shallow()),
            limits,
            values: Moved(VarArray::new()),
            failed: Failed::default(),
        };
        let job = Self::new(Stage::Away, BUDGET, false);
        let same = Arc::clone(&job);
        run(Lane::Reading, &job, || {
            Box::new(move || same.go_on(decoding.limits.allow_objects, Box::new(decoding)))
        });
        job
    }

    /// Reads a file of records.
    pub fn load(path: &GString, limits: Limits) -> Arc<Self> {
        let job = Self::new(Stage::Away, BUDGET, false);
        let (same, name, target) = (Arc::clone(&job), path.to_string(), Target::of(path));
        run(Lane::Reading, &job, || {
            // A path that cannot be written to has nobody to wait for.
            let turn = target.ok().map(|target| Turn::of(&target));
            Box::new(move || {
                if let Some(turn) = &turn {
                    turn.wait();
                }
                if same.progress.is_cancelled() {
                    return;
                }
                let path = GString::from(&name);
                let bytes = files::read(&path, &limits);
                drop(turn);
                match bytes {
                    Ok(bytes) => {
                        let scripts_run = limits.allow_objects;
                        let unpacking = Unpacking::of(bytes, limits);
                        same.go_on(scripts_run, Box::new(Loading { unpacking, path: name }));
                    }
                    Err(error) => same.finish(FastVariantResult::of_file(&error)),
                }
            })
        });
        job
    }

    /// Encodes values at once, and makes them the content of a file.
    pub fn save(path: &GString, values: &AnyArray, objects: Objects) -> Arc<Self> {
        let target = match Target::of(path) {
            Ok(target) => target,
            Err(error) => return Self::done(FastVariantResult::of_file(&error)),
        };
        let parts = match batch::frame(values, objects) {
            Ok(parts) => parts,
            Err(failed) => return Self::done(FastVariantResult::batch(Variant::nil(), &failed)),
        };
        let job = Self::new(Stage::Away, BUDGET, true);
        let (same, bytes) = (Arc::clone(&job), parts.iter().map(Vec::len).sum());
        job.progress.set_total(values.len());
        run(Lane::Writing, &job, || {
            let turn = Turn::of(&target);
            Box::new(move || {
                turn.wait();
                let written = files::replace(&target, &parts);
                drop(turn);
                same.progress.advance(usize::MAX);
                same.finish(match written {
                    Ok(()) => FastVariantResult::encoded(Variant::nil(), bytes),
                    Err(error) => FastVariantResult::of_file(&error),
                });
            })
        });
        job
    }

    /// Does the work on this thread and those that help it; on the main thread, and where scripts run, it is done between
    /// frames.
    fn go_on(&self, scripts_run: bool, mut work: Box<dyn Slices>) {
        self.progress.set_total(work.progress().1);
        if scripts_run || is_main_thread() {
            self.set(Stage::Sliced(work));
            return;
        }
        if self.progress.is_cancelled() {
            return;
        }
        let result = background::on_pool(&self.progress, || {
            work.step(usize::MAX);
            (!self.progress.is_cancelled()).then(|| Moved(work.finish()))
        });
        if let Some(result) = result {
            self.set(Stage::Done(result));
        }
    }

    fn finish(&self, result: Gd<FastVariantResult>) {
        self.set(Stage::Done(Moved(result)));
    }

    /// The next stage, unless the job is done: then what comes late is dropped.
    fn set(&self, next: Stage) {
        let mut stage = lock(&self.stage);
        let late = if matches!(*stage, Stage::Done(_) | Stage::Lost) {
            next
        } else {
            std::mem::replace(&mut *stage, next)
        };
        drop(stage);
        drop(late);
        self.changed.notify_all();
    }

    /// Does what fits into a frame, or all that is left. Called on the main thread; on others where a job is wholly done
    /// there.
    pub fn slice(&self, budget: Option<Duration>) {
        let mut stage = lock(&self.stage);
        if !matches!(*stage, Stage::Sliced(_)) {
            return;
        }
        let Stage::Sliced(mut work) = std::mem::replace(&mut *stage, Stage::InSlice) else { return };
        drop(stage);
        let next = caught("a slice of a job", || {
            let left = self.steps(&mut *work, budget);
            Ok(if left { Stage::Sliced(work) } else { Stage::Done(Moved(work.finish())) })
        });
        self.set(next.unwrap_or_else(|error| Stage::Done(Moved(FastVariantResult::failed(&error)))));
    }

    fn steps(&self, work: &mut dyn Slices, budget: Option<Duration>) -> bool {
        let started = Instant::now();
        let mut items = if budget.is_some() { 1 } else { usize::MAX };
        loop {
            let (before, total) = work.progress();
            let step = Instant::now();
            let left = work.step(items);
            self.progress.set_total(total);
            self.progress.advance(work.progress().0 - before);
            let Some(budget) = budget.filter(|_| left && !self.progress.is_cancelled()) else { return left };
            let (took, so_far) = (step.elapsed(), started.elapsed());
            // The next step takes about an equal share of the budget; what it cannot take any more is left to the next frame.
            let fits = (budget / STEPS).as_secs_f64() / took.as_secs_f64().max(1e-9) * items as f64;
            if so_far + budget / STEPS > budget {
                return left;
            }
            items = (fits as usize).clamp(1, items.saturating_mul(2));
        }
    }

    /// Ends the job, unless it is a save.
    pub fn cancel(&self) {
        if !self.is_save {
            self.progress.cancel();
            self.finish(FastVariantResult::cancelled());
        }
    }

    /// Ends the job, unless it is a save, where nobody can ask for its result any more.
    pub fn abandon(&self) {
        if !self.is_save {
            self.progress.cancel();
        }
    }

    /// The result, if there is one.
    pub fn result(&self) -> Option<Gd<FastVariantResult>> {
        match &*lock(&self.stage) {
            Stage::Done(result) => Some(result.0.clone()),
            Stage::Lost => Some(FastVariantResult::lost()),
            _ => None,
        }
    }

    /// The result when there is one. On the main thread, for which slices wait, they are done here.
    pub fn wait(&self) -> Gd<FastVariantResult> {
        let mut stage = lock(&self.stage);
        loop {
            match &*stage {
                Stage::Done(result) => return result.0.clone(),
                Stage::Lost => return FastVariantResult::lost(),
                Stage::Sliced(_) if is_main_thread() => {
                    drop(stage);
                    self.slice(None);
                    stage = lock(&self.stage);
                }
                Stage::InSlice if is_main_thread() => {
                    let reason = "a getter or setter that runs for a job cannot wait for that job";
                    return FastVariantResult::failed(&Error::argument(reason));
                }
                _ => stage = self.changed.wait(stage).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// How far the job is: what is done, and of how much.
    pub fn progress(&self) -> (usize, usize) {
        self.progress.get()
    }

    /// What a frame is asked for.
    pub fn budget(&self) -> Duration {
        self.budget
    }
}

/// Has work of a job done in the background, or here where that cannot be.
fn run(lane: Lane, job: &Arc<Job>, make: impl FnOnce() -> Box<dyn FnOnce() + Send>) {
    let same = Arc::clone(job);
    let make = || -> Box<dyn FnOnce() + Send> {
        let work = make();
        Box::new(move || {
            // Somebody may wait for the job.
            let place = if same.is_save { "a job that saves" } else { "a job that reads" };
            if let Err(error) = caught(place, || {
                work();
                Ok(())
            }) {
                same.finish(FastVariantResult::failed(&error));
            }
        })
    };
    if let Err(work) = background::queue(lane, make) {
        work();
    }
}

struct Encoding {
    values: Moved<AnyArray>,
    objects: Objects,
    buffers: Moved<Array<PackedByteArray>>,
    failed: Failed,
}

impl Slices for Encoding {
    fn step(&mut self, items: usize) -> bool {
        let (start, total) = self.progress();
        let end = start.saturating_add(items).min(total);
        let values = self.values.0.subarray_shallow(start..end, None);
        let batch = batch::encode(&values, self.objects, Reasons::All);
        self.buffers.0.extend_array(&batch.slots);
        self.failed.extend(start, batch.failed);
        end < total
    }

    fn progress(&self) -> (usize, usize) {
        (self.buffers.0.len(), self.values.0.len())
    }

    fn finish(self: Box<Self>) -> Gd<FastVariantResult> {
        FastVariantResult::batch(self.buffers.0.to_variant(), &self.failed)
    }
}

struct Decoding {
    buffers: Moved<AnyArray>,
    limits: Limits,
    values: Moved<VarArray>,
    failed: Failed,
}

impl Slices for Decoding {
    fn step(&mut self, items: usize) -> bool {
        let (start, total) = self.progress();
        let end = start.saturating_add(items).min(total);
        let buffers = self.buffers.0.subarray_shallow(start..end, None);
        let batch = batch::decode(&buffers, Manner::Strict, &self.limits, Reasons::All);
        self.values.0.extend_array(&batch.slots);
        self.failed.extend(start, batch.failed);
        end < total
    }

    fn progress(&self) -> (usize, usize) {
        (self.values.0.len(), self.buffers.0.len())
    }

    fn finish(self: Box<Self>) -> Gd<FastVariantResult> {
        FastVariantResult::batch(self.values.0.to_variant(), &self.failed)
    }
}

struct Loading {
    unpacking: Unpacking,
    path: String,
}

impl Slices for Loading {
    fn step(&mut self, items: usize) -> bool {
        self.unpacking.step(items)
    }

    fn progress(&self) -> (usize, usize) {
        self.unpacking.progress()
    }

    fn finish(self: Box<Self>) -> Gd<FastVariantResult> {
        FastVariantResult::unpacked(self.unpacking.finish(), Some(&GString::from(&self.path)))
    }
}
