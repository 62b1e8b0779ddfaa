//! The work that an activity does, and its result.

use std::fmt;
use std::time::{Duration, Instant};

use clap::ValueEnum;

use crate::godot::Godot;
use crate::judge::Tally;
use crate::suite::Access;
use crate::workspace::Workspace;

use Mode::{Direct, Portable, SharedOut};

/// The extension's access path and threading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// As in games
    Direct,
    /// Only through the engine's documented functions
    Portable,
    /// Split every value among 4 threads, however small
    SharedOut,
}

impl Mode {
    pub const fn access(self) -> Access {
        const DEFAULT: Access = Access { portable: false, threads: None, threshold: None };
        match self {
            Direct => DEFAULT,
            Portable => Access { portable: true, ..DEFAULT },
            SharedOut => Access { threads: Some(4), threshold: Some(0), portable: false },
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_possible_value().map_or(Ok(()), |value| f.pad(value.get_name()))
    }
}

/// The repository and the engine that an activity uses.
pub struct Stage<'a> {
    pub workspace: &'a Workspace,
    pub godot: &'a Godot,
}

/// The work for an activity.
#[derive(Clone, Copy)]
pub struct Work {
    pub name: &'static str,
    pub seconds: u64,
    /// The amount, instead of a time.
    pub count: Option<u64>,
    pub seed: u32,
    pub case: Option<u64>,
    pub mode: Mode,
}

impl Work {
    /// Returns whether an activity that measures its own time starts another round. The first round always
    /// runs.
    pub fn needs_another_round(&self, done: u64, started: Instant) -> bool {
        match self.count {
            Some(count) => done < count,
            None => done == 0 || started.elapsed() < Duration::from_secs(self.seconds),
        }
    }

    /// The maximum time that the work takes at this rate.
    pub fn limit(&self, units_per_second: u64) -> Duration {
        Duration::from_secs(self.count.map_or(self.seconds, |count| count / units_per_second))
    }

    /// The options of `cargo xtask soak` that repeat the work, or only the case that failed.
    pub fn to_repeat(self, case: Option<&Case>) -> String {
        let amount = match (case, self.count) {
            (Some(Case(number)), _) => format!(" --case {number}"),
            (None, Some(count)) => format!(" --count {count}"),
            (None, None) => format!(" --minutes {:.2}", self.seconds as f64 / 60.0),
        };
        let mode = if self.mode == Direct { String::new() } else { format!(" --mode {}", self.mode) };
        format!("--seed {}{amount}{mode}", self.seed)
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Done {
    pub amount: u64,
    pub tally: Tally,
}

impl From<Tally> for Done {
    fn from(tally: Tally) -> Self {
        Self { amount: tally.passed, tally }
    }
}

/// The number of a case that failed, as part of an error.
#[derive(Debug)]
pub struct Case(pub u64);

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "case {}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_case_is_repeated_alone() {
        let work = Work { name: "values", seconds: 36, count: None, seed: 7, case: None, mode: Portable };
        assert_eq!(work.to_repeat(Some(&Case(4711))), "--seed 7 --case 4711 --mode portable");
        assert_eq!(Work { count: Some(20), mode: Direct, ..work }.to_repeat(None), "--seed 7 --count 20");
    }
}
