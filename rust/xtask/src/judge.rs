//! Reads the verdict from Godot's output.
//!
//! Errors in GDScript do not set an exit code, so a run succeeds only if its log is also clean.

use std::iter::Sum;
use std::ops::Add;

use anyhow::{Result, bail, ensure};

use crate::run::Finished;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: u64,
    pub failed: u64,
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { passed: self.passed + other.passed, failed: self.failed + other.failed }
    }
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::default(), Self::add)
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// The line prefixes of the engine's errors.
const ERROR_STARTS: [&str; 3] = ["ERROR:", "USER ERROR:", "SCRIPT ERROR"];

/// Texts that mean a leak or a crash, anywhere in a line.
const TROUBLE: [&str; 7] = [
    "Leaked instance",
    "resources still in use at exit",
    "ObjectDB instances leaked",
    "unclaimed string names",
    "handle_crash",
    "Program crashed",
    "panicked at",
];

/// Returns whether the program crashed and no frame of the backtrace is in `library`.
pub fn crashed_outside_of(library: &str, log: &str) -> bool {
    log.split_once("Program crashed").is_some_and(|(_, calls)| !calls.contains(&format!("lib{library}")))
}

/// The tally in the last line `N passed, N failed`.
pub fn tally(text: &str) -> Option<Tally> {
    text.lines().rev().find_map(|line| {
        let (passed, failed) = line.trim().strip_suffix(" failed")?.split_once(" passed, ")?;
        Some(Tally { passed: passed.parse().ok()?, failed: failed.parse().ok()? })
    })
}

/// The sum of the summary lines of Rust's test programs.
pub fn rust_tally(text: &str) -> Tally {
    let count = |part: &str, word: &str| {
        part.trim().strip_suffix(word).and_then(|number| number.trim().parse::<u64>().ok())
    };
    text.lines()
        .filter_map(|line| line.strip_prefix("test result: ")?.split_once(". "))
        .map(|(_, counts)| Tally {
            passed: counts.split(';').find_map(|part| count(part, "passed")).unwrap_or(0),
            failed: counts.split(';').find_map(|part| count(part, "failed")).unwrap_or(0),
        })
        .sum()
}

/// The lines of a log that report an error, a leak or a crash.
pub fn complaints(log: &str) -> Vec<&str> {
    log.lines()
        .filter(|line| is_error(line) || is_leak(line) || TROUBLE.iter().any(|text| line.contains(text)))
        .collect()
}

/// Fails unless the program ended by itself with code 0 and a clean log.
pub fn clean(outcome: &Finished) -> Result<()> {
    let mut faults = Vec::new();
    if let Some(end) = outcome.bad_end() {
        faults.push(format!("Godot {end}"));
    }
    let complaints = complaints(&outcome.log);
    if !complaints.is_empty() {
        faults.push(format!(
            "the log has {} line(s) that report an error or a leak, first of them:\n  {}",
            complaints.len(),
            complaints[..complaints.len().min(5)].join("\n  ")
        ));
    }
    ensure!(faults.is_empty(), "{}", faults.join("; "));
    Ok(())
}

/// Fails unless the run ended cleanly, counted at least one check, and no check failed.
pub fn suite(outcome: &Finished) -> Result<Tally> {
    let counted = tally(&outcome.stdout);
    if let Some(counted) = counted {
        ensure!(counted.failed == 0, "{counted}");
    }
    clean(outcome)?;
    match counted {
        Some(counted) if counted.passed > 0 => Ok(counted),
        Some(_) => bail!("the suite checked nothing"),
        None => bail!("the suite ended without a line `N passed, N failed`"),
    }
}

/// One call and the error lines that it printed.
#[derive(Debug, PartialEq, Eq)]
pub struct Expectation {
    /// The name that the suite gives the call.
    pub name: String,
    /// The expected number of error lines.
    pub expected: usize,
    /// Whether the expected error lines are script errors, which end the script's function.
    pub ends_function: bool,
    /// The printed error lines of the expected kind.
    pub errors: Vec<String>,
    /// Warnings, and errors of the other kind; none are expected.
    pub others: Vec<String>,
}

impl Expectation {
    /// Whether the call printed what was expected. In a name with ` says `, the text after it must be in each error.
    pub fn held(&self) -> bool {
        let text = self.name.split_once(" says ").map_or("", |(_, text)| text);
        let is_said = self.errors.iter().all(|error| error.contains(text));
        self.errors.len() == self.expected && self.others.is_empty() && is_said
    }
}

/// Splits standard error at its markers. Each call follows `@@ expect <count> <name>`, or `@@ expect_script
/// <count> <name>` if the call causes script errors. `@@ end` follows the last call.
///
/// # Errors
/// Fails on a malformed marker, an error outside the markers, or a missing end. Each means that the suite has
/// a bug.
pub fn expectations(stderr: &str) -> Result<Vec<Expectation>> {
    let mut calls: Vec<Expectation> = Vec::new();
    let mut open = false;
    let mut ended = false;
    for line in stderr.lines().map(str::trim) {
        if let Some(marker) = line.strip_prefix("@@ ") {
            ensure!(!ended, "a marker after `@@ end`: {line}");
            if marker == "end" {
                (open, ended) = (false, true);
                continue;
            }
            let ends_function = marker.starts_with("expect_script ");
            let call = marker.split_once(' ').filter(|(kind, _)| ["expect", "expect_script"].contains(kind));
            let call = call.and_then(|(_, rest)| rest.split_once(' '));
            let call = call.and_then(|(count, name)| Some((count.parse().ok()?, name)));
            let Some((expected, name)) = call else { bail!("unknown marker: {line}") };
            let (errors, others) = (vec![], vec![]);
            calls.push(Expectation { name: name.into(), expected, ends_function, errors, others });
            open = true;
        } else if is_error(line) || line.starts_with("WARNING:") {
            let Some(call) = calls.last_mut().filter(|_| open) else {
                bail!("outside any expected call: {line}")
            };
            let counts = line.starts_with("SCRIPT") == call.ends_function && !line.starts_with("WARNING");
            if counts { &mut call.errors } else { &mut call.others }.push(line.into());
        }
    }
    ensure!(ended, "the suite stopped before `@@ end`");
    Ok(calls)
}

fn is_error(line: &str) -> bool {
    ERROR_STARTS.iter().any(|start| line.trim_start().starts_with(start))
}

fn is_leak(line: &str) -> bool {
    line.trim_start().starts_with("WARNING:") && line.contains("leaked")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_summary_is_used() {
        assert_eq!(
            tally("1 passed, 2 failed\nx\n30 passed, 0 failed\n"),
            Some(Tally { passed: 30, failed: 0 })
        );
        assert_eq!(tally("all 3 passed, 0 failed\n3 passed\n-1 passed, 0 failed"), None);
        assert_eq!(Tally { passed: 3, failed: 1 }.to_string(), "3 passed, 1 failed");
    }

    #[test]
    fn rust_results_add_up() {
        let log = "test result: ok. 7 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.0s\n\
                   noise\ntest result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(rust_tally(log), Tally { passed: 9, failed: 1 });
    }

    #[test]
    fn crashes_inside_the_extension_count() {
        let crash = "handle_crash: Program crashed with signal 11\n[1] /bin/godot(+0x1)\n";
        assert!(crashed_outside_of("codec", crash));
        assert!(!crashed_outside_of("codec", &format!("{crash}[2] /bin/libcodec.so(+0x2)\n")));
        assert!(!crashed_outside_of("codec", "SCRIPT ERROR: Parse Error: y"));
    }

    #[test]
    fn every_problem_is_found() {
        let bad = [
            "ERROR: Condition \"x\" is true.",
            "SCRIPT ERROR: Parse Error: y",
            "  USER ERROR: z",
            "WARNING: 3 RIDs of type \"Texture\" were leaked.",
            "Leaked instance: Node:123",
            "WARNING: ObjectDB instances leaked at exit (run with --verbose for details).",
            "StringName: 3 unclaimed string names at exit.",
            "ERROR: 2 resources still in use at exit.",
            "handle_crash: Program crashed with signal 11",
            "thread '<unnamed>' panicked at src/lib.rs:1:1:",
        ];
        for line in bad {
            assert_eq!(complaints(line), [line]);
        }
    }

    #[test]
    fn harmless_lines_are_ignored() {
        let log = "Godot Engine v4.6\ncase: text \"ERROR: in a value\"\nWARNING: a plain warning\n3 passed, 0 failed";
        assert_eq!(complaints(log), Vec::<&str>::new());
    }

    #[test]
    fn errors_belong_to_the_previous_call() {
        let log = "@@ expect 0 quiet\n@@ expect 1 one\nERROR: a\n   at: f (x.rs:1)\n@@ expect 1 two\nERROR: b\n\
                   ERROR: c\n@@ expect 0 warns\nWARNING: d\n\
                   @@ expect_script 1 ends\nSCRIPT ERROR: e\n@@ expect 1 differs\nSCRIPT ERROR: f\n\
                   @@ expect 1 this says g\nERROR: not h\n@@ end\n";
        let calls = expectations(log).unwrap();
        let held: Vec<_> = calls.iter().map(|call| (call.name.as_str(), call.held())).collect();
        assert_eq!(
            held,
            [
                ("quiet", true),
                ("one", true),
                ("two", false),
                ("warns", false),
                ("ends", true),
                ("differs", false),
                ("this says g", false)
            ]
        );
        assert_eq!(calls[2].errors, ["ERROR: b", "ERROR: c"]);
    }

    #[test]
    fn broken_marker_logs_are_refused() {
        assert!(expectations("@@ expect 1 x\nERROR: a\n").unwrap_err().to_string().contains("@@ end"));
        assert!(expectations("ERROR: early\n@@ end\n").is_err());
        assert!(expectations("@@ end\nERROR: late\n").is_err());
        assert!(expectations("@@ expect many x\n@@ end\n").is_err());
    }
}
