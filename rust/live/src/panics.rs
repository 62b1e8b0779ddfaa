//! Panics never reach a script: code that may panic runs in [`catch_panic`].
//!
//! A panic is an internal error, [`ErrorKind::Internal`], and is reported like any other error of the call; nothing
//! else is printed. `faults` injects panics for the tests.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use variant_codec::{Error, ErrorKind, Result};

/// Runs `work`, and returns a panic as an error. `place` names the work for `faults`.
///
/// # Errors
/// Returns the errors of `work`, or [`ErrorKind::Internal`] after a panic. The data of `work` may then be inconsistent.
#[inline(always)]
pub fn catch_panic<R>(place: &'static str, work: impl FnOnce() -> Result<R>) -> Result<R> {
    let done = catch_unwind(AssertUnwindSafe(|| {
        faults::at(place);
        work()
    }));
    done.unwrap_or_else(|payload| Err(error(payload)))
}

/// Runs `work` for another thread, and forwards a panic to that thread with its message and location.
pub fn forward_panic<R>(place: &'static str, work: impl FnOnce() -> R) -> R {
    catch_panic(place, || Ok(work())).unwrap_or_else(|error| resume_unwind(Box::new(error)))
}

thread_local! {
    /// The message and location of the last panic on this thread.
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

#[cold]
#[inline(never)]
fn error(payload: Box<dyn Any + Send>) -> Error {
    let said = LAST.take();
    match payload.downcast::<Error>() {
        Ok(forwarded) => *forwarded,
        Err(payload) => {
            let message = said.unwrap_or_else(|| message(&*payload));
            ErrorKind::Internal(message.into()).into()
        }
    }
}

fn message(payload: &dyn Any) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic").to_owned()
}

/// Records panics instead of printing them; the code that catches one reports it. Called when the library is
/// loaded. The hook affects only panics in this library.
pub fn open() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
        LAST.set(Some(message(panic.payload()) + &place));
    }));
    faults::open();
}

/// Injects panics for the tests. The environment variable `FAST_VARIANT_CODEC_PANIC` names the code that
/// panics; it must be set when the library is loaded.
#[cfg(feature = "fault-injection")]
mod faults {
    use std::sync::atomic::{AtomicBool, Ordering};

    use crate::settings;

    static ARE_WANTED: AtomicBool = AtomicBool::new(false);

    pub fn open() {
        ARE_WANTED.store(settings::fault().is_some(), Ordering::Relaxed);
    }

    #[inline(always)]
    pub fn at(place: &str) {
        if ARE_WANTED.load(Ordering::Relaxed) {
            look(place);
        }
    }

    #[cold]
    #[inline(never)]
    fn look(place: &str) {
        assert!(settings::fault().as_deref() != Some(place), "injected by a test in {place}");
    }
}

/// Does nothing: only builds for tests inject panics.
#[cfg(not(feature = "fault-injection"))]
mod faults {
    pub fn open() {}

    #[inline(always)]
    pub fn at(_place: &str) {}
}
