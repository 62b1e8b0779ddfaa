//! Endurance: the same calls repeatedly, after which memory and objects must not have grown.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::godot::Godot;
use crate::judge::{self, Tally};
use crate::run::{self, Echo};
use crate::suites::{ACCESS_VARIABLE, bundled};
use crate::workspace::Workspace;

/// The timeout, for any number of calls.
const LIMIT: Duration = Duration::from_secs(12 * 3600);

/// The seed of every run that names none.
pub const SEED: u64 = 20_260_101;

/// The amount of work.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Endurance {
    /// The number of calls for one value
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    pub calls: u64,
    /// The number of batch calls
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub batches: u64,
    /// Seed of the damage to the input
    #[arg(long, value_name = "S", default_value_t = SEED)]
    pub seed: u64,
    /// Only through the engine's documented functions, not directly
    #[arg(long)]
    pub portable: bool,
}

/// Runs it in the engine, which reports leaks when it ends.
pub fn run(workspace: &Workspace, godot: &Godot, endurance: &Endurance) -> Result<Tally> {
    let folder = workspace.project();
    let project = bundled(workspace, godot, &folder)?;
    let mut engine = project.headless();
    engine.arg("--verbose").args(script(endurance));
    choose_access(&mut engine, endurance.portable);
    judge::suite(&run::watch(&mut engine, Echo::All, LIMIT)?)
}

/// The engine's arguments that run it.
pub fn script(endurance: &Endurance) -> Vec<String> {
    /// A run of fewer calls has few samples, each of which may follow a large batch.
    const LONG: u64 = 1_000_000;

    let Endurance { calls, batches, seed, .. } = endurance;
    let slack = if *calls < LONG { 24 } else { 8 };
    let script = format!(
        "--script res://suites/endure.gd -- --calls {calls} --batches {batches} --seed {seed} --slack {slack}"
    );
    script.split(' ').map(str::to_owned).collect()
}

/// The access path of the extension.
pub fn choose_access(engine: &mut Command, portable: bool) {
    if portable {
        engine.env(ACCESS_VARIABLE, "portable");
    }
}
