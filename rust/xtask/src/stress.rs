//! `cargo xtask stress`: many threads of the engine at once.

use std::time::Duration;

use anyhow::Result;

use crate::godot::Godot;
use crate::judge::{self, Tally};
use crate::run::{self, Echo};
use crate::suites::{self, Access};
use crate::workspace::Workspace;

/// Choices for the stress.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Options {
    /// Duration [default: 60, unless --calls is given]
    #[arg(long, value_name = "N")]
    pub seconds: Option<u64>,
    /// Calls per caller, a twentieth of them with large values
    #[arg(long, value_name = "N")]
    pub calls: Option<u64>,
    /// Number of GDScript Threads, and of WorkerThreadPool tasks [default: 8]
    #[arg(long, value_name = "N")]
    pub callers: Option<u32>,
    /// Seed of the choices
    #[arg(long, value_name = "S")]
    pub seed: Option<u32>,
    /// How the extension works.
    #[command(flatten)]
    pub access: Access,
}

/// Runs the engine until all callers are done.
///
/// # Errors
/// If an answer was wrong, an error was printed, or the engine ended badly.
pub fn run(workspace: &Workspace, godot: &Godot, options: &Options) -> Result<Tally> {
    let folder = workspace.project();
    let project = suites::bundled(workspace, godot, &folder)?;
    let seconds = options.seconds.or(if options.calls.is_none() { Some(60) } else { None });
    let arguments = suites::named([
        ("--seconds", seconds.map(|seconds| seconds.to_string())),
        ("--calls", options.calls.map(|calls| calls.to_string())),
        ("--callers", options.callers.map(|callers| callers.to_string())),
        ("--seed", options.seed.map(|seed| seed.to_string())),
    ]);
    let mut command = project.script("res://suites/stress.gd", &arguments);
    options.access.apply(&mut command);
    let longest = suites::LIMIT + Duration::from_secs(seconds.unwrap_or_default());
    judge::suite(&run::watch(&mut command, Echo::All, longest)?)
}
