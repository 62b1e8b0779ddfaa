//! Progress of long steps: bars on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// One long step. Dropping the step removes its bar.
pub struct Progress {
    bar: ProgressBar,
    message: String,
    started: Instant,
}

impl Progress {
    /// A step of unknown length.
    pub fn spinner(message: impl Into<String>) -> Self {
        Self::start(ProgressBar::new_spinner(), "{spinner} {msg} [{elapsed}]", message.into())
    }

    pub fn count(message: impl Into<String>, total: u64) -> Self {
        Self::start(ProgressBar::new(total), "{bar:30} {pos}/{len} {msg} [{elapsed}]", message.into())
    }

    fn start(bar: ProgressBar, template: &str, message: String) -> Self {
        if stderr().is_terminal() {
            bar.set_style(ProgressStyle::with_template(template).expect("the templates above are valid"));
            bar.set_message(message.clone());
            bar.enable_steady_tick(Duration::from_millis(120));
        } else {
            eprintln!("   {message} ...");
        }
        Self { bar, message, started: Instant::now() }
    }

    /// Counts one more finished item.
    pub fn step(&self) {
        self.bar.inc(1);
    }

    /// Ends the step, and prints its duration.
    pub fn done(self) {
        self.bar.finish_and_clear();
        eprintln!("   {}: {:.1} s", self.message, self.started.elapsed().as_secs_f32());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
