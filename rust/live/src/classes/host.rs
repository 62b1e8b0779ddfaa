//! Readers that pause between containers, so that the main thread can read a large value in several frames.
//!
//! Such a reader has its own stack. Its scripts run on the main stack, because the .NET runtime knows no other stacks of the thread.

#[cfg(not(any(target_family = "wasm", all(windows, target_arch = "aarch64"))))]
pub use coroutine::{Host, Reading};
#[cfg(any(target_family = "wasm", all(windows, target_arch = "aarch64")))]
pub use whole::{Host, Reading};

#[cfg(not(any(target_family = "wasm", all(windows, target_arch = "aarch64"))))]
mod coroutine {
    use std::cell::Cell;
    use std::rc::Rc;

    use corosensei::stack::DefaultStack;
    use corosensei::{Coroutine, CoroutineResult, Yielder};
    use variant_codec::{Error, ErrorKind, Result};

    /// The reason why a reader suspends itself.
    pub enum Request {
        /// It pauses, at this offset if it has gone on.
        Pause(Option<usize>),
        /// It wants a script to run.
        Call(Box<dyn FnOnce()>),
    }

    /// Enough for the deepest value. Most of it is never touched, so the system does not allocate it.
    const STACK_BYTES: usize = 8 << 20;

    /// The stack on which a reader runs: the caller's, or its own.
    #[derive(Clone, Copy)]
    pub struct Host<'h>(Option<&'h Yielder<bool, Request>>);

    impl Host<'_> {
        /// The stack of the caller.
        pub const CALLER: Self = Self(None);

        /// Ends the step, if the reader has steps; `at` is the offset, if the reader has gone on.
        ///
        /// # Errors
        /// Fails if nobody wants the value any more.
        #[inline(always)]
        pub fn pause(self, at: Option<usize>) -> Result<()> {
            match self.0 {
                Some(yielder) if !yielder.suspend(Request::Pause(at)) => Err(Error::argument("cancelled")),
                _ => Ok(()),
            }
        }

        /// Calls a function that may run scripts.
        pub fn call<R: 'static>(self, function: impl FnOnce() -> R + 'static) -> R {
            let Some(yielder) = self.0 else { return function() };
            let result = Rc::new(Cell::new(None));
            let place = Rc::clone(&result);
            yielder.suspend(Request::Call(Box::new(move || place.set(Some(function())))));
            result.take().expect("the step calls the function")
        }
    }

    /// A reader that is called in steps.
    pub struct Reading<T: 'static> {
        /// It gets whether to go on.
        coroutine: Coroutine<bool, Request, Result<T>>,
        at: usize,
    }

    impl<T> Reading<T> {
        /// Prepares to call `read`.
        ///
        /// # Errors
        /// Fails if there is no memory for its stack.
        pub fn of(read: impl FnOnce(Host<'_>) -> Result<T> + 'static) -> Result<Self> {
            let stack = DefaultStack::new(STACK_BYTES).map_err(|_| ErrorKind::OutOfMemory(STACK_BYTES))?;
            let coroutine = Coroutine::with_stack(stack, |yielder, _| read(Host(Some(yielder))));
            Ok(Self { coroutine, at: 0 })
        }

        /// The offset of the last pause.
        pub fn position(&self) -> usize {
            self.at
        }

        /// Does one step. Returns the result after the last step, after which there must be no other.
        pub fn step(&mut self) -> Option<Result<T>> {
            self.resume(true)
        }

        fn resume(&mut self, goes_on: bool) -> Option<Result<T>> {
            // The reader gets what a script has made in the same step, so that it owns that if it is dropped.
            loop {
                match self.coroutine.resume(goes_on) {
                    CoroutineResult::Yield(Request::Call(script)) => script(),
                    CoroutineResult::Yield(Request::Pause(at)) => {
                        self.at = at.unwrap_or(self.at);
                        return None;
                    }
                    CoroutineResult::Return(result) => return Some(result),
                }
            }
        }
    }

    impl<T> Drop for Reading<T> {
        /// Lets the reader end with an error, so that its objects are freed on the main stack.
        fn drop(&mut self) {
            while !std::thread::panicking() && self.coroutine.started() && !self.coroutine.done() {
                drop(self.resume(false));
            }
        }
    }
}

/// WebAssembly has one stack, and `corosensei` has none for Windows on ARM, so the only step reads everything.
#[cfg(any(target_family = "wasm", all(windows, target_arch = "aarch64")))]
mod whole {
    use std::marker::PhantomData;

    use variant_codec::Result;

    /// The stack on which a reader runs, which is always the caller's.
    #[derive(Clone, Copy)]
    pub struct Host<'h>(PhantomData<&'h ()>);

    impl Host<'_> {
        /// The stack of the caller.
        pub const CALLER: Self = Self(PhantomData);

        /// Does nothing.
        ///
        /// # Errors
        /// Never.
        pub fn pause(self, _at: Option<usize>) -> Result<()> {
            Ok(())
        }

        /// Calls a function that may run scripts.
        pub fn call<R>(self, function: impl FnOnce() -> R) -> R {
            function()
        }
    }

    /// A reader that is called in one step.
    pub struct Reading<T>(Option<Box<dyn FnOnce() -> Result<T>>>);

    impl<T> Reading<T> {
        /// Prepares to call `read`.
        ///
        /// # Errors
        /// Never.
        pub fn of(read: impl FnOnce(Host<'_>) -> Result<T> + 'static) -> Result<Self> {
            Ok(Self(Some(Box::new(|| read(Host::CALLER)))))
        }

        /// The start.
        pub fn position(&self) -> usize {
            0
        }

        /// Reads everything.
        pub fn step(&mut self) -> Option<Result<T>> {
            self.0.take().map(|read| read())
        }
    }
}
