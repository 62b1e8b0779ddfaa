//! Jobs: batches and files processed on another thread, or in slices between the frames of the game.

use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use godot::builtin::{AnyArray, GString, PackedByteArray, Variant};
use godot::init::is_main_thread;
use godot::meta::Element;
use variant_codec::sync::lock;
use variant_codec::{Error, Limits, Result, Strictness};
use variant_engine::{GivenArray, OwnArray, text_of};

use crate::file_queue::Turn;
use crate::files::{self, FileError, Holds, Saved, Target};
use crate::saves::{self, Damaged, Found, Loaded, Value};
use variant_live::batch::failed::{Failed, Reasons};
use variant_live::batch::gathering::Batch;
use variant_live::batch::records::{Unpacked, Unpacking};
use variant_live::batch::{self, OwnedBuffer, registered};
use variant_live::classes::completion::Incomplete;
use variant_live::classes::host::Reading;
use variant_live::classes::registry::Registry;
use variant_live::decode::built::CreatedObjects;
use variant_live::decode::decoding::Decoding;
use variant_live::nested::Nested;
use variant_live::panics::catch_panic;
use variant_live::threads::background::{self, Lane};
use variant_live::threads::parked::Parked;
use variant_live::threads::progress::Progress;

/// The default budget per frame.
pub const BUDGET: Duration = Duration::from_millis(2);
/// The number of steps that should fit in a slice; the clock is checked after each step.
const STEPS: u32 = 8;

/// Work that processes a batch a few items at a time. It owns its input.
trait Slices: Send {
    /// Processes up to `count` items, and returns whether any are left.
    fn step(&mut self, count: usize) -> bool;
    /// The number of finished items, and the number of all items.
    fn progress(&self) -> (usize, usize);
    /// Whether setters or getters run, which may cancel the job.
    fn runs_scripts(&self) -> bool;
    /// The result of the items that are done.
    fn finish(self: Box<Self>) -> Outcome;
}

/// The outcome of a job. An outcome that is dropped before anyone receives it frees the objects created for
/// it.
pub enum Outcome {
    /// One buffer per value, and the values that cannot be encoded, whose buffers are empty.
    Encoded(OwnArray<PackedByteArray>, Failed),
    /// One value per buffer, and the buffers that cannot be decoded, whose values are null.
    Decoded(OwnArray<Variant>, Failed, CreatedObjects),
    /// The values of the file with this path.
    Loaded(Unpacked, String),
    /// The value of the save at this path.
    LoadedValue(std::result::Result<Loaded, Damaged>, String),
    /// The file was written.
    Saved(Saved),
    /// No file was written, because these values cannot be encoded.
    NotSaved(Failed),
    /// A file error.
    File(FileError),
    /// Any other error.
    Failed(Error),
    /// Cancelled.
    Cancelled,
    /// There is no job: the library was reloaded, or a script made the object with `new()`.
    Lost,
}

/// The state of a job.
enum Stage {
    /// The work is on another thread.
    Away,
    /// The work waits for the next frame.
    Sliced(Box<dyn Slices>),
    /// A slice of the work is running, and may run scripts.
    InSlice,
    /// Done, with the outcome unless it has been taken.
    Done(Option<Outcome>),
    /// Abandoned, or lost when the library was reloaded: there is no result.
    Gone,
}

/// The thread that a job needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RunsOn {
    /// Between frames, so no other thread can wait for the job.
    MainThread,
    Anywhere,
}

impl RunsOn {
    fn of(limits: &Limits) -> Self {
        if limits.allow_objects { Self::MainThread } else { Self::Anywhere }
    }
}

/// A job, shared by its threads and the script's object.
pub struct Job {
    stage: Mutex<Stage>,
    changed: Condvar,
    progress: Arc<Progress>,
    runs_on: RunsOn,
    budget: Duration,
    /// Whether the job completes even without references, as saves do.
    is_save: bool,
}

/// The failures of saves that have not been printed, each with the method that failed.
static UNPRINTED: Mutex<Vec<(&str, FileError)>> = Mutex::new(Vec::new());

/// Takes the failures of saves that have not been printed.
pub fn take_unprinted() -> Vec<(&'static str, FileError)> {
    std::mem::take(&mut *lock(&UNPRINTED))
}

impl Job {
    fn new(stage: Stage, runs_on: RunsOn, budget: Duration, is_save: bool) -> Arc<Self> {
        let (stage, progress) = (Mutex::new(stage), Arc::default());
        Arc::new(Self { stage, changed: Condvar::new(), progress, runs_on, budget, is_save })
    }

    /// A job that is done from the start.
    pub fn done(outcome: Outcome) -> Arc<Self> {
        Self::new(Stage::Done(Some(outcome)), RunsOn::Anywhere, BUDGET, true)
    }

    /// The job of an object that the editor recreated, or that a script made with `new()`.
    pub fn lost() -> Arc<Self> {
        Self::new(Stage::Gone, RunsOn::Anywhere, BUDGET, false)
    }

    /// Encodes values in slices on the main thread, from a copy of the Array and of the packed arrays in it.
    /// On another thread, this function does all the work before it returns, which delays no frame.
    pub fn encode(values: &AnyArray, full_objects: bool, budget: Duration) -> Arc<Self> {
        if !is_main_thread() {
            let batch = batch::encode(values, full_objects, Reasons::All);
            let (buffers, failed, _) = batch.into_parts();
            let done = Self::done(Outcome::Encoded(buffers, failed));
            done.progress.set_total(values.len());
            done.progress.advance(values.len());
            return done;
        }
        let encoding = EncodeSlices {
            values: GivenArray::new(batch::with_own_packed(values)),
            count: values.len(),
            full_objects,
            totals: Totals::new(),
        };
        Self::new(Stage::Sliced(Box::new(encoding)), RunsOn::MainThread, budget, false)
    }

    /// Decodes the current contents of the buffers strictly.
    pub fn decode(buffers: &AnyArray, limits: Limits) -> Arc<Self> {
        let buffers = batch::owned(buffers);
        let job = Self::new(Stage::Away, RunsOn::of(&limits), BUDGET, false);
        let decoding = DecodeSlices { buffers, limits, totals: Totals::new() };
        let same = Arc::clone(&job);
        run(Lane::Reading, &job, || Box::new(move || same.go_on(Box::new(decoding))));
        job
    }

    /// Reads a file of records.
    pub fn load(path: &GString, limits: Limits) -> Arc<Self> {
        Self::reading(path, limits.clone(), RunsOn::of(&limits), |bytes, path| {
            Ok(Box::new(LoadSlices { unpacking: Unpacking::of(bytes, limits), path, registry: None }))
        })
    }

    /// Reads a file of records whose objects are of registered classes. Called on the main thread.
    pub fn load_registered(path: &GString, limits: Limits, registry: Arc<Registry>) -> Arc<Self> {
        let registry = Parked::new(registry);
        Self::reading(path, limits.clone(), RunsOn::MainThread, |bytes, path| {
            let registry = Some(registry);
            Ok(Box::new(LoadSlices { unpacking: Unpacking::of(bytes, limits), path, registry }))
        })
    }

    /// Reads a file, and goes on with the work that `make` returns for its bytes and path.
    fn reading(
        path: &GString,
        limits: Limits,
        runs_on: RunsOn,
        make: impl FnOnce(PackedByteArray, String) -> std::result::Result<Box<dyn Slices>, Outcome>
        + Send
        + 'static,
    ) -> Arc<Self> {
        let job = Self::new(Stage::Away, runs_on, BUDGET, false);
        let (same, name, target) = (Arc::clone(&job), text_of(path), Target::of(path));
        let asked = Instant::now();
        run(Lane::Reading, &job, || {
            Box::new(move || {
                if same.progress.is_cancelled() {
                    return;
                }
                // A path that cannot be written to has no pending saves.
                let target = target.ok();
                // A load joins the file's queue only here: otherwise, later calls for the file would wait
                // until this thread is free.
                let turn = target.as_ref().map(Target::turn);
                let file =
                    files::read_records(&GString::from(&name), target.as_ref().zip(turn), &limits, asked);
                match file.map_err(Outcome::File).and_then(|file| make(file.bytes, name)) {
                    Ok(work) => same.go_on(work),
                    Err(outcome) => same.finish(outcome),
                }
            })
        });
        job
    }

    /// Reads a save, and decodes its value: on the main thread, in one slice, if scripts may run.
    pub fn load_value(path: &GString, limits: Limits) -> Arc<Self> {
        Self::reading(path, saves::of_file(&limits), RunsOn::of(&limits), |bytes, path| {
            match Found::of(bytes, &limits) {
                Ok(found) => Ok(Box::new(LoadValue { found, limits, path, value: None })),
                Err(error) => Err(Outcome::LoadedValue(Err(error.into()), path)),
            }
        })
    }

    /// Reads a save, whose objects are of registered classes. Called on the main thread.
    pub fn load_value_registered(path: &GString, limits: Limits, registry: Arc<Registry>) -> Arc<Self> {
        let registry = Parked::new(registry);
        Self::reading(path, saves::of_file(&limits), RunsOn::MainThread, |bytes, path| {
            match Found::of(bytes, &limits) {
                Ok(found) => {
                    let state = Objects::Unread(limits, registry);
                    Ok(Box::new(LoadObjects { found, path, state }))
                }
                Err(error) => Err(Outcome::LoadedValue(Err(error.into()), path)),
            }
        })
    }

    /// Passes `parts`, which have `holds`, to `write` in the background. A failure is kept for [`take_unprinted`], as
    /// one of `method`: printing runs Loggers, which must not wait for the thread that writes.
    pub fn save<C: AsRef<[u8]> + Send + 'static>(
        target: Target,
        holds: Holds,
        parts: Vec<C>,
        write: impl FnOnce(&Target, Turn, &[C]) -> std::result::Result<(), FileError> + Send + 'static,
        method: &'static str,
    ) -> Arc<Self> {
        let job = Self::new(Stage::Away, RunsOn::Anywhere, BUDGET, true);
        let (same, bytes) = (Arc::clone(&job), parts.iter().map(|part| part.as_ref().len()).sum());
        job.progress.set_total(if let Holds::Records(count) = holds { count } else { 1 });
        run(Lane::Writing, &job, || {
            let turn = target.turn();
            Box::new(move || {
                let written = write(&target, turn, &parts);
                same.progress.advance(usize::MAX);
                same.finish(match written {
                    Ok(()) => Outcome::Saved(target.saved(holds, bytes)),
                    Err(error) => {
                        lock(&UNPRINTED).push((method, error.clone()));
                        Outcome::File(error)
                    }
                });
            })
        });
        job
    }

    /// Continues the work. If scripts run, or this is the main thread, the work continues between frames.
    /// Otherwise, this thread and the pool complete it now.
    fn go_on(&self, mut work: Box<dyn Slices>) {
        self.progress.set_total(work.progress().1);
        if work.runs_scripts() || is_main_thread() {
            self.set(Stage::Sliced(work));
            return;
        }
        if self.progress.is_cancelled() {
            return;
        }
        let outcome = background::on_pool(&self.progress, || {
            work.step(usize::MAX);
            (!self.progress.is_cancelled()).then(|| work.finish())
        });
        if let Some(outcome) = outcome {
            self.finish(outcome);
        }
    }

    fn finish(&self, outcome: Outcome) {
        self.set(Stage::Done(Some(outcome)));
    }

    /// Sets the next stage. If the job is already done, drops the new stage instead, with its outcome and
    /// objects.
    fn set(&self, next: Stage) {
        let mut stage = lock(&self.stage);
        let late = if matches!(*stage, Stage::Done(_) | Stage::Gone) {
            next
        } else {
            std::mem::replace(&mut *stage, next)
        };
        drop(stage);
        drop(late);
        self.changed.notify_all();
    }

    /// Does one frame's work, or all remaining work if `budget` is `None`. Called on the main thread.
    pub fn slice(&self, budget: Option<Duration>) {
        let mut stage = lock(&self.stage);
        if !matches!(*stage, Stage::Sliced(_)) {
            return;
        }
        let Stage::Sliced(mut work) = std::mem::replace(&mut *stage, Stage::InSlice) else { return };
        drop(stage);
        let next = catch_panic("a slice of a job", || {
            let left = self.steps(&mut *work, budget);
            Ok(if left { Stage::Sliced(work) } else { Stage::Done(Some(work.finish())) })
        });
        self.set(next.unwrap_or_else(|error| Stage::Done(Some(Outcome::Failed(error)))));
    }

    fn steps(&self, work: &mut dyn Slices, budget: Option<Duration>) -> bool {
        let started = Instant::now();
        // One item at a time if scripts run: after a setter cancels the job, no other item is started.
        let most = if work.runs_scripts() { 1 } else { usize::MAX };
        let mut items = if budget.is_some() { 1 } else { most };
        loop {
            let (before, total) = work.progress();
            let step = Instant::now();
            let left = work.step(items);
            self.progress.set_total(total);
            self.progress.advance(work.progress().0 - before);
            if !left || self.progress.is_cancelled() {
                return left;
            }
            let Some(budget) = budget else { continue };
            let (took, in_all) = (step.elapsed(), started.elapsed());
            // Each step should take about an equal share of the budget; the remaining items wait for the next
            // frame.
            let fits = (budget / STEPS).as_secs_f64() / took.as_secs_f64().max(1e-9) * items as f64;
            if in_all + budget / STEPS > budget {
                return left;
            }
            items = (fits as usize).clamp(1, items.saturating_mul(2)).min(most);
        }
    }

    /// Cancels the job, unless it is a save.
    pub fn cancel(&self) {
        if !self.is_save {
            self.progress.cancel();
            self.finish(Outcome::Cancelled);
        }
    }

    /// Cancels the job, unless it is a save, and frees its results even if it is done. Called when the
    /// script's object is dropped, so nothing can ask for the results any more.
    pub fn abandon(&self) {
        if self.is_save {
            return;
        }
        self.progress.cancel();
        let stage = std::mem::replace(&mut *lock(&self.stage), Stage::Gone);
        drop(stage);
        self.changed.notify_all();
    }

    /// Whether this is a save that is being written.
    pub fn is_writing(&self) -> bool {
        self.is_save && !self.is_done()
    }

    /// Whether the job has ended, with or without a result.
    pub fn is_done(&self) -> bool {
        matches!(&*lock(&self.stage), Stage::Done(_) | Stage::Gone)
    }

    /// Takes the outcome; `None` before the job is done, and once the outcome has been taken.
    pub fn take(&self) -> Option<Outcome> {
        match &mut *lock(&self.stage) {
            Stage::Done(outcome) => outcome.take(),
            Stage::Gone => Some(Outcome::Lost),
            _ => None,
        }
    }

    /// Does the remaining slices, and waits for the result. Returns early if a slice of this job calls it, since
    /// a slice cannot wait for itself.
    pub fn run_to_end(&self) {
        let mut stage = lock(&self.stage);
        loop {
            match &*stage {
                Stage::Done(_) | Stage::Gone | Stage::InSlice => return,
                Stage::Sliced(_) => {
                    drop(stage);
                    self.slice(None);
                    stage = lock(&self.stage);
                }
                Stage::Away => stage = self.changed.wait(stage).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Waits for the result. The main thread does the remaining slices itself. Another thread does not wait
    /// for slices, because the main thread might be waiting for that thread.
    ///
    /// # Errors
    /// Fails if the job needs the main thread and this is another thread, or if a slice of the job calls this
    /// method.
    pub fn wait(&self) -> Result<()> {
        let is_for_main_thread = {
            let stage = lock(&self.stage);
            let is_sliced = matches!(*stage, Stage::Sliced(_) | Stage::InSlice);
            is_sliced || self.runs_on == RunsOn::MainThread && matches!(*stage, Stage::Away)
        };
        if is_for_main_thread && !is_main_thread() {
            return Err(Error::argument(
                "this job runs on the main thread between frames, so no other thread can wait for it",
            ));
        }
        self.run_to_end();
        if self.is_done() {
            Ok(())
        } else {
            Err(Error::argument("a getter or setter called by a job cannot wait for that job"))
        }
    }

    /// The number of finished items, and the number of all items.
    pub fn progress(&self) -> (usize, usize) {
        self.progress.get()
    }

    /// The budget per frame.
    pub fn budget(&self) -> Duration {
        self.budget
    }
}

/// Runs a job's work in the background, or on the calling thread if there is no thread for it.
fn run(lane: Lane, job: &Arc<Job>, make: impl FnOnce() -> Box<dyn FnOnce() + Send>) {
    let same = Arc::clone(job);
    let make = || -> Box<dyn FnOnce() + Send> {
        let work = make();
        Box::new(move || {
            // Another thread may be waiting for the job, so a panic must finish it, too.
            let place = if same.is_save { "a job that saves" } else { "a job that reads" };
            if let Err(error) = catch_panic(place, || {
                work();
                Ok(())
            }) {
                same.finish(Outcome::Failed(error));
            }
            if same.progress.is_cancelled() {
                same.cancel();
            }
        })
    };
    if let Err(work) = background::queue(lane, make) {
        work();
    }
}

/// The finished items of a batch, in order.
struct Totals<T: Element> {
    done: OwnArray<T>,
    failed: Failed,
    created: CreatedObjects,
}

impl<T: Element> Totals<T> {
    fn new() -> Self {
        let (failed, created) = (Failed::default(), CreatedObjects::default());
        Self { done: OwnArray::new(), failed, created }
    }

    /// The indexes of the next items, at most `count`.
    fn next(&self, count: usize, total: usize) -> Range<usize> {
        let start = self.done.len();
        start..start.saturating_add(count).min(total)
    }

    /// Adds the outcome of these items, and returns whether any are left.
    fn add(&mut self, items: Range<usize>, batch: Batch<T>, total: usize) -> bool {
        let (done, failed, created) = batch.into_parts();
        self.created.append(created);
        self.failed.extend(items.start, failed);
        self.done.append(done);
        self.done.len() == items.end && items.end < total
    }
}

struct EncodeSlices {
    values: GivenArray,
    count: usize,
    full_objects: bool,
    totals: Totals<PackedByteArray>,
}

impl Slices for EncodeSlices {
    fn step(&mut self, count: usize) -> bool {
        let items = self.totals.next(count, self.count);
        let values = self.values.get().subarray_shallow(items.clone(), None);
        self.totals.add(items, batch::encode(&values, self.full_objects, Reasons::All), self.count)
    }

    fn progress(&self) -> (usize, usize) {
        (self.totals.done.len(), self.count)
    }

    fn runs_scripts(&self) -> bool {
        self.full_objects
    }

    fn finish(self: Box<Self>) -> Outcome {
        Outcome::Encoded(self.totals.done, self.totals.failed)
    }
}

struct DecodeSlices {
    buffers: Vec<OwnedBuffer>,
    limits: Limits,
    totals: Totals<Variant>,
}

impl Slices for DecodeSlices {
    fn step(&mut self, count: usize) -> bool {
        let total = self.buffers.len();
        let items = self.totals.next(count, total);
        let buffers = &self.buffers[items.clone()];
        let batch = batch::decode_owned(buffers, Strictness::Strict, &self.limits, Reasons::All);
        self.totals.add(items, batch, total)
    }

    fn progress(&self) -> (usize, usize) {
        (self.totals.done.len(), self.buffers.len())
    }

    fn runs_scripts(&self) -> bool {
        self.limits.allow_objects
    }

    fn finish(self: Box<Self>) -> Outcome {
        let Totals { done, failed, created } = self.totals;
        Outcome::Decoded(done, failed, created)
    }
}

struct LoadValue {
    found: Found,
    limits: Limits,
    path: String,
    value: Option<Result<Value>>,
}

impl Slices for LoadValue {
    fn step(&mut self, _count: usize) -> bool {
        self.value = Some(if self.found.is_damaged() {
            self.found.plain(&self.limits)
        } else {
            let value = self.found.decode(|input, part| Decoding::strict(&self.limits).decode(input, part));
            value.and_then(|(built, _)| Value::of(built))
        });
        false
    }

    fn progress(&self) -> (usize, usize) {
        (self.value.is_some().into(), 1)
    }

    fn runs_scripts(&self) -> bool {
        self.limits.allow_objects
    }

    fn finish(self: Box<Self>) -> Outcome {
        let Self { found, path, value, .. } = *self;
        value.map_or(Outcome::Cancelled, |value| Outcome::LoadedValue(found.loaded(value), path))
    }
}

/// The progress of a load of objects when it is done. Reading and setting properties take about half of the time each.
const PERMILLE: usize = 1000;

struct LoadObjects {
    found: Found,
    path: String,
    state: Objects,
}

enum Objects {
    Unread(Limits, Parked<Arc<Registry>>),
    Reading(Parked<Reading<Incomplete>>),
    Incomplete(Parked<Incomplete>),
    Done(Result<Value>),
    /// The last step has panicked.
    Lost,
}

impl LoadObjects {
    fn next(&self, state: Objects) -> Result<Objects> {
        Ok(match state {
            Objects::Unread(limits, _) if self.found.is_damaged() => Objects::Done(self.found.plain(&limits)),
            Objects::Unread(limits, registry) => {
                let (registry, (input, part)) = (registry.take(), self.found.value());
                let reading = Reading::of(move |host| {
                    let mut decoding = Decoding::strict(&limits);
                    decoding.read_registered(&input, part, &registry, None, host).map(|(value, _)| value)
                });
                Objects::Reading(Parked::new(reading?))
            }
            Objects::Reading(reading) => match reading.with(Reading::step) {
                None => Objects::Reading(reading),
                Some(value) => Objects::Incomplete(Parked::new(value?)),
            },
            Objects::Incomplete(value) => match value.with(Incomplete::step)? {
                true => Objects::Incomplete(value),
                false => Objects::Done(value.take().complete().and_then(Value::of)),
            },
            done => done,
        })
    }
}

impl Slices for LoadObjects {
    fn step(&mut self, _count: usize) -> bool {
        let state = std::mem::replace(&mut self.state, Objects::Lost);
        let next =
            Nested::enter().and_then(|_running| self.next(state)).map_err(|error| self.found.placed(error));
        self.state = next.unwrap_or_else(|error| Objects::Done(Err(error)));
        !matches!(self.state, Objects::Done(_))
    }

    fn progress(&self) -> (usize, usize) {
        let share = |(done, all): (usize, usize)| PERMILLE / 2 * done / all.max(1);
        let done = match &self.state {
            Objects::Reading(value) => share((value.with(|value| value.position()), self.found.size())),
            Objects::Incomplete(value) => PERMILLE / 2 + share(value.with(|value| value.progress())),
            Objects::Done(_) => PERMILLE,
            Objects::Unread(..) | Objects::Lost => 0,
        };
        (done, PERMILLE)
    }

    fn runs_scripts(&self) -> bool {
        true
    }

    fn finish(self: Box<Self>) -> Outcome {
        let Self { found, path, state } = *self;
        match state {
            Objects::Done(value) => Outcome::LoadedValue(found.loaded(value), path),
            _ => Outcome::Cancelled,
        }
    }
}

struct LoadSlices {
    unpacking: Unpacking,
    path: String,
    /// The classes of the objects, if the records have any.
    registry: Option<Parked<Arc<Registry>>>,
}

impl Slices for LoadSlices {
    fn step(&mut self, count: usize) -> bool {
        let Self { unpacking, registry, .. } = self;
        match registry {
            Some(registry) => registry.with(|registry| registered::step(unpacking, count, registry)),
            None => unpacking.step(count),
        }
    }

    fn progress(&self) -> (usize, usize) {
        self.unpacking.progress()
    }

    fn runs_scripts(&self) -> bool {
        self.registry.is_some() || self.unpacking.makes_objects()
    }

    fn finish(self: Box<Self>) -> Outcome {
        Outcome::Loaded(self.unpacking.finish(), self.path)
    }
}
