//! `cargo xtask diff`: differential fuzzing in the engine.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};

use crate::godot::Godot;
use crate::judge::{self, Tally};
use crate::run::{self, Echo};
use crate::suites::{self, Access};
use crate::workspace::Workspace;

/// The minimum rate, far below that of any machine.
const CASES_PER_SECOND: u64 = 20;

/// What the script prints before the number of inputs of which the engine, not the codec, keeps objects.
const LEAKS_OF_ENGINE: &str = "Inputs of which the engine leaks objects";
/// What the engine then prints.
const LEAKED_AT_EXIT: &str = "WARNING: ObjectDB instances leaked at exit";

/// Choices for differential fuzzing.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Options {
    /// Duration [default: 60, unless --cases is given]
    #[arg(long, value_name = "N")]
    pub seconds: Option<u64>,
    /// Number of cases
    #[arg(long, value_name = "N")]
    pub cases: Option<u64>,
    /// Seed of the run, to repeat it
    #[arg(long, value_name = "S", default_value_t)]
    pub seed: u32,
    /// Start with this case and print each input before it is tried; alone, try only this case
    #[arg(long, value_name = "I")]
    pub case: Option<u64>,
    /// Engines at once, with this seed and the ones after it [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub processes: Option<u32>,
    /// How the extension works.
    #[command(flatten)]
    pub access: Access,
}

/// Runs the engines until they are done, and adds up what they counted.
///
/// # Errors
/// With what each engine found wrong, or how it ended.
pub fn run(workspace: &Workspace, godot: &Godot, options: &Options) -> Result<Tally> {
    let outcomes: Vec<_> = thread::scope(|scope| {
        let started: Vec<_> = (0..options.processes.unwrap_or(1))
            .map(|index| options.seed.wrapping_add(index))
            .map(|seed| (seed, scope.spawn(move || run_one(workspace, godot, options, seed))))
            .collect();
        let ended = |(seed, engine): (u32, thread::ScopedJoinHandle<'_, Result<Tally>>)| {
            engine.join().unwrap_or_else(|_| bail!("panicked")).with_context(|| format!("seed {seed}"))
        };
        started.into_iter().map(ended).collect()
    });
    let mut all = Tally::default();
    let mut faults = Vec::new();
    for outcome in outcomes {
        match outcome {
            Ok(tally) => all = all + tally,
            Err(fault) => faults.push(format!("{fault:#}")),
        }
    }
    if faults.is_empty() { Ok(all) } else { Err(anyhow!(faults.join("\n"))) }
}

fn run_one(workspace: &Workspace, godot: &Godot, options: &Options, seed: u32) -> Result<Tally> {
    let folder = workspace.project();
    let project = suites::bundled(workspace, godot, &folder)?;
    let Options { cases, case, .. } = *options;
    let seconds = options.seconds.or(if cases.or(case).is_none() { Some(60) } else { None });
    let arguments = suites::named([
        ("--seed", Some(seed.to_string())),
        ("--seconds", seconds.map(|seconds| seconds.to_string())),
        ("--cases", cases.map(|cases| cases.to_string())),
        ("--case", case.map(|case| case.to_string())),
    ]);
    let mut command = project.script("res://suites/diff.gd", &arguments);
    options.access.apply(&mut command);
    let longest = seconds.unwrap_or_default() + cases.unwrap_or_default() / CASES_PER_SECOND;
    let limit = suites::LIMIT + Duration::from_secs(longest);
    let mut outcome = run::watch(&mut command, Echo::All, limit)?;
    let leaks = outcome.stdout.lines().find_map(|line| line.strip_prefix(LEAKS_OF_ENGINE));
    if leaks.is_some_and(|leaks| leaks.trim_start_matches(": ") != "0") {
        outcome.log = outcome.log.replace(LEAKED_AT_EXIT, "");
    }
    judge::suite(&outcome)
}
