//! [`Progress`]: a progress bar on a terminal for long reads.

use std::cell::OnceCell;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// The time after which the bar appears.
const SHORT: Duration = Duration::from_secs(1);
/// Values between two checks of the clock.
const STEP: u64 = 256;

/// A progress bar on standard error, if that is a terminal.
pub struct Progress {
    size: u64,
    start: Instant,
    bar: OnceCell<ProgressBar>,
}

impl Progress {
    pub fn of(size: u64) -> Self {
        Self { size, start: Instant::now(), bar: OnceCell::new() }
    }

    /// Reports that the value at this index starts at this offset.
    pub fn at(&self, index: u64, offset: u64) {
        if index.is_multiple_of(STEP) && self.start.elapsed() > SHORT {
            let bar = self.bar.get_or_init(|| bar(self.size).with_elapsed(self.start.elapsed()));
            bar.set_position(offset);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

fn bar(size: u64) -> ProgressBar {
    const STYLE: &str = "{wide_bar} {bytes} of {total_bytes}, {eta} left";
    let bar = ProgressBar::new(size);
    match ProgressStyle::with_template(STYLE) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
