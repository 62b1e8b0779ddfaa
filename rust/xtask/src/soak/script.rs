//! Activities that one engine runs alone: `godot-project/suites/soak.gd`.

use std::process::Command;
use std::time::Duration;

use anyhow::{Error, Result};

use super::work::{Case, Done, Stage, Work};
use crate::judge::{self, Tally};
use crate::project::Project;
use crate::run::{self, Echo, Finished};
use crate::suite;

const SCRIPT: &str = "res://suites/soak.gd";

/// The minimum rate of any activity, far below the actual rate on any machine.
const UNITS_PER_SECOND: u64 = 10;

/// The time allowed for the start and for a few large units.
const LIMIT: Duration = Duration::from_secs(20 * 60);

/// The text before the number of inputs that make the engine, not the codec, leak objects.
const LEAKS_OF_ENGINE: &str = "Inputs of which the engine leaks objects: ";
const LEAKED_AT_EXIT: &str = "WARNING: ObjectDB instances leaked at exit";

/// The activity after which the engine lists every leak. The other activities make the engine itself leak.
const LEAKS_NOTHING: &str = "calls";

pub fn engine(project: &Project<'_>, name: &str, options: &[(&str, &str)]) -> Command {
    let mut engine = project.headless();
    if name == LEAKS_NOTHING {
        engine.arg("--verbose");
    }
    engine.args(["--script", SCRIPT, "--", "--activity", name]);
    engine.args(options.iter().flat_map(|(option, value)| [option, value]));
    engine
}

pub fn working(project: &Project<'_>, work: &Work, options: &[(&str, &str)]) -> Command {
    let mut engine = engine(project, work.name, options);
    let seconds = if work.count.or(work.case).is_none() { Some(work.seconds) } else { None };
    engine.args(suite::named([
        ("--seed", Some(work.seed.to_string())),
        ("--case", work.case.map(|case| case.to_string())),
        ("--count", work.count.map(|count| count.to_string())),
        ("--seconds", seconds.map(|seconds| seconds.to_string())),
    ]));
    work.mode.access().apply(&mut engine);
    engine
}

pub fn run(on: &Stage<'_>, work: &Work) -> Result<Done> {
    let folder = on.workspace.project();
    let project = suite::bundled(on.workspace, on.godot, &folder)?;
    let mut engine = working(&project, work, &[]);
    let mut outcome = run::watch(&mut engine, Echo::All, LIMIT + work.limit(UNITS_PER_SECOND))?;
    let leaks = outcome.stdout.lines().find_map(|line| line.strip_prefix(LEAKS_OF_ENGINE));
    if leaks.is_some_and(|leaks| leaks != "0") {
        outcome.log = outcome.log.replace(LEAKED_AT_EXIT, "");
    }
    judged(&outcome)
}

/// Returns the script's result. An error names the case that failed.
pub fn judged(outcome: &Finished) -> Result<Done> {
    let lines = || outcome.stdout.lines();
    let done = lines().find_map(|line| line.strip_prefix("@@ done ")?.parse().ok());
    let case = lines().find_map(|line| line.strip_prefix("FAILED case ")?.split(':').next()?.parse().ok());
    let with_case = |error: Error| match case {
        Some(case) => error.context(Case(case)),
        None => error,
    };
    let tally = judge::suite(outcome).map_err(with_case)?;
    Ok(Done { amount: done.unwrap_or(tally.passed), tally })
}

/// Measures the most expensive known packets, then searches each entry point for other expensive packets.
pub fn search(on: &Stage<'_>, work: &Work) -> Result<Done> {
    /// The number of searched functions: the entry points for untrusted bytes (`suites/entries.gd`) and the
    /// comparisons (`bench/search.gd`).
    const ENTRIES: u64 = 11;

    let folder = on.workspace.project();
    let project = suite::bundled(on.workspace, on.godot, &folder)?;
    let seconds = work.count.unwrap_or(work.seconds) / ENTRIES;
    let seconds = seconds.max(2);
    let arguments = ["--seconds".to_owned(), seconds.to_string(), "--seed".to_owned(), work.seed.to_string()];
    let mut search = project.script("res://bench/search.gd", &arguments);
    // The script measures a slow call several times.
    let longest = LIMIT + 2 * Duration::from_secs(seconds * ENTRIES);
    judge::clean(&run::watch(&mut search, Echo::All, longest)?)?;
    Ok(Done { amount: seconds * ENTRIES, tally: Tally { passed: ENTRIES, failed: 0 } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(stdout: &str) -> Finished {
        let (stdout, log) = (stdout.to_owned(), stdout.to_owned());
        let status = Command::new("true").status().ok();
        Finished { status, log, stdout, stderr: String::new(), elapsed: Duration::ZERO }
    }

    #[test]
    #[cfg(unix)]
    fn the_first_failed_case_is_named() {
        let done = judged(&outcome("@@ done 5\n9 passed, 0 failed\n")).unwrap();
        assert_eq!((done.amount, done.tally.passed), (5, 9));
        let error =
            judged(&outcome("FAILED case 3: x: y\nFAILED case 4: x: y\n1 passed, 2 failed\n")).unwrap_err();
        assert_eq!(error.downcast_ref::<Case>().unwrap().0, 3);
    }
}
