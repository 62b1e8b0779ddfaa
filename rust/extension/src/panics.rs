//! Panics, of which none reaches a script: what may panic runs in [`catch_panic`].
//!
//! A panic is a fault of our own. It becomes an error like any other, with [`ErrorKind::Internal`], in the manner of the
//! call, and nothing else is printed. `faults` panics on purpose, to see that it is so.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use variant_codec::{Error, ErrorKind, Result};

/// Does this, and gives a panic as an error. `place` is what `faults` knows it by.
///
/// # Errors
/// Those of `work`, and [`ErrorKind::Internal`]. What `work` changes may be half changed then.
#[inline(always)]
pub fn catch_panic<R>(place: &'static str, work: impl FnOnce() -> Result<R>) -> Result<R> {
    let done = catch_unwind(AssertUnwindSafe(|| {
        faults::at(place);
        work()
    }));
    done.unwrap_or_else(|payload| Err(error(payload)))
}

/// Does this for another thread, which catches the panic and learns where it was.
pub fn forward_panic<R>(place: &'static str, work: impl FnOnce() -> R) -> R {
    catch_panic(place, || Ok(work())).unwrap_or_else(|error| resume_unwind(Box::new(error)))
}

thread_local! {
    /// What a panic on this thread said, and where it was.
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

#[cold]
#[inline(never)]
fn error(payload: Box<dyn Any + Send>) -> Error {
    let said = LAST.take();
    match payload.downcast::<Error>() {
        Ok(forward_panic) => *forward_panic,
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

/// Has panics noted instead of printed: whoever catches one says what it was. Called when the library is loaded, of which
/// alone the hook is.
pub fn open() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
        LAST.set(Some(message(panic.payload()) + &place));
    }));
    faults::open();
}

/// Panics on purpose, for the tests: at the places that the environment names in `FAST_VARIANT_CODEC_PANIC` if that was set
/// when the library was loaded.
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
