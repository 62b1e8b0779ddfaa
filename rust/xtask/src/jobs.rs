//! `cargo xtask jobs`: background jobs whose arguments are changed and freed while they are at work.

use std::time::Duration;

use anyhow::Result;

use crate::godot::Godot;
use crate::judge::{self, Tally};
use crate::run::{self, Echo};
use crate::suites::{self, Access};
use crate::workspace::Workspace;

/// A run that takes longer hangs, however many jobs it was asked for.
const LIMIT: Duration = Duration::from_secs(6 * 3600);

/// By how many MiB the process may need more in the second half of the run than in the first.
const SLACK: u32 = 16;

/// Choices for the jobs.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// How many
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub jobs: u64,
    /// Seed of the choices
    #[arg(long, value_name = "S", default_value_t = 20_260_101)]
    pub seed: u64,
    /// How the extension works.
    #[command(flatten)]
    pub access: Access,
}

/// Runs the engine until all jobs have ended.
///
/// # Errors
/// If a result was wrong, memory or objects grew, an error was printed, something leaked, or the engine ended badly.
pub fn run(workspace: &Workspace, godot: &Godot, options: &Options) -> Result<Tally> {
    let folder = workspace.project();
    let project = suites::bundled(workspace, godot, &folder)?;
    let mut engine = project.headless();
    engine.arg("--verbose").args(script(options.jobs, options.seed, SLACK));
    options.access.apply(&mut engine);
    judge::suite(&run::watch(&mut engine, Echo::All, LIMIT)?)
}

/// The engine's arguments that run them.
pub fn script(jobs: u64, seed: u64, slack: u32) -> Vec<String> {
    let script = format!("--script res://suites/jobs.gd -- --jobs {jobs} --seed {seed} --slack {slack}");
    script.split(' ').map(str::to_owned).collect()
}
