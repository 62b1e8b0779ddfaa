//! Whether other threads are worth it.
//!
//! On a machine that is busy with something else, they only add work: their parts are not there sooner, and lie in memory of their own. So
//! shared calls measure how many processors they had. Where that was hardly more than one, the next calls work alone for a
//! while, and then it is tried again. With a threshold of 0 bytes in the settings, calls are always shared.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::foreground::in_background;
use super::lock;
use crate::settings;

/// Calls say how many processors there are once they have taken so long together. Windows counts a thread's time in steps
/// of 16 milliseconds.
const WINDOW: Duration = Duration::from_millis(if cfg!(windows) { 300 } else { 20 });
/// Fewer processors than this are not worth sharing.
const FEWEST_PROCESSORS: f64 = 1.3;
/// How long calls work alone then: twice as long each time, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

static BENEFIT: Mutex<Benefit> = Mutex::new(Benefit::NEW);

/// What shared calls have measured since the last decision, and what was decided.
struct Benefit {
    elapsed: Duration,
    busy: Duration,
    alone_until: Option<Instant>,
    pause: Duration,
}

impl Benefit {
    const NEW: Self =
        Self { elapsed: Duration::ZERO, busy: Duration::ZERO, alone_until: None, pause: FIRST_PAUSE };

    /// A shared call took so long, in which its threads were busy for so long together.
    fn add(&mut self, elapsed: Duration, busy: Duration, now: Instant) {
        self.elapsed += elapsed;
        self.busy += busy;
        if self.elapsed < WINDOW {
            return;
        }
        if self.busy < self.elapsed.mul_f64(FEWEST_PROCESSORS) {
            self.alone_until = Some(now + self.pause);
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        } else {
            self.pause = FIRST_PAUSE;
        }
        (self.elapsed, self.busy) = (Duration::ZERO, Duration::ZERO);
    }

    fn is_expected(&mut self, now: Instant) -> bool {
        self.alone_until = self.alone_until.filter(|until| now < *until);
        self.alone_until.is_none()
    }
}

/// Whether the next call should be shared.
pub fn is_expected() -> bool {
    !measures() || lock(&BENEFIT).is_expected(Instant::now())
}

fn measures() -> bool {
    settings::parallel_threshold() > 0 && !cfg!(target_family = "wasm")
}

/// Measures a shared call.
pub struct Meter(Option<Measured>);

struct Measured {
    started: Instant,
    /// How long other threads were busy.
    others: Mutex<Duration>,
}

impl Meter {
    /// From now on. Not in jobs, which leave processors to the game.
    pub fn start() -> Self {
        let measured = measures() && !in_background();
        Self(measured.then(|| Measured { started: Instant::now(), others: Mutex::default() }))
    }

    /// Runs a part of the call on another thread.
    pub fn of_other<R>(&self, work: impl FnOnce() -> R) -> R {
        let Some(measured) = &self.0 else { return work() };
        let clock = Clock::start();
        let result = work();
        *lock(&measured.others) += clock.busy();
        result
    }

    /// The call has ended; `own` has run on the calling thread since it began. Calls that had nothing to share say nothing.
    pub fn stop(self, own: &Clock, was_shared: bool) {
        if !was_shared {
            return;
        }
        let Some(Measured { started, others }) = self.0 else { return };
        let busy = own.busy() + *lock(&others);
        let now = Instant::now();
        lock(&BENEFIT).add(now - started, busy, now);
    }
}

/// Counts the time in which the calling thread has a processor.
#[cfg(not(target_family = "wasm"))]
pub struct Clock(Option<cpu_time::ThreadTime>);

#[cfg(not(target_family = "wasm"))]
impl Clock {
    /// From now on.
    pub fn start() -> Self {
        Self(cpu_time::ThreadTime::try_now().ok())
    }

    /// Much, where the system does not tell.
    fn busy(&self) -> Duration {
        self.0.and_then(|start| start.try_elapsed().ok()).unwrap_or(WINDOW)
    }
}

#[cfg(target_family = "wasm")]
pub struct Clock;

#[cfg(target_family = "wasm")]
impl Clock {
    /// From now on.
    pub fn start() -> Self {
        Self
    }

    fn busy(&self) -> Duration {
        WINDOW
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: Duration = Duration::from_millis(7);

    /// Calls that had so many processors, until it is decided.
    fn decided(benefit: &mut Benefit, processors: f64, now: Instant) -> bool {
        let calls = WINDOW.as_nanos().div_ceil(CALL.as_nanos());
        for _ in 0..calls {
            assert!(benefit.is_expected(now), "decided too early");
            benefit.add(CALL, CALL.mul_f64(processors), now);
        }
        benefit.is_expected(now)
    }

    #[test]
    fn calls_are_shared_while_there_are_processors() {
        let (mut benefit, now) = (Benefit::NEW, Instant::now());
        assert!(decided(&mut benefit, 1.9, now));
        assert!(decided(&mut benefit, 1.4, now));
        assert!(!decided(&mut benefit, 1.1, now));
    }

    #[test]
    fn sharing_is_tried_again_after_longer_and_longer_pauses() {
        let (mut benefit, mut now) = (Benefit::NEW, Instant::now());
        for seconds in [1, 2, 4, 8, 8] {
            assert!(!decided(&mut benefit, 1.0, now));
            assert!(!benefit.is_expected(now + Duration::from_secs(seconds) - CALL));
            now += Duration::from_secs(seconds);
            assert!(benefit.is_expected(now));
        }
        assert!(decided(&mut benefit, 2.0, now));
        assert!(!decided(&mut benefit, 1.0, now));
        assert!(benefit.is_expected(now + FIRST_PAUSE), "the pause is short again");
    }
}
