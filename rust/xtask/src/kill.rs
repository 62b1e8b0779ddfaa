//! `cargo xtask kill`: kills the game while it saves, repeatedly.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;
use std::{fs, iter};

use anyhow::{Context, Result, bail, ensure};

use crate::godot::Godot;
use crate::judge::Tally;
use crate::progress::Progress;
use crate::run::{self, Echo};
use crate::suites;
use crate::workspace::Workspace;

/// A save takes some ten milliseconds, so kills hit every phase of it.
const LATEST_KILL: Duration = Duration::from_millis(150);
const CHECK_LIMIT: Duration = Duration::from_secs(60);

/// Choices for the kills.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Options {
    /// The number of kills
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub times: u64,
    /// Seed of the moments
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
}

/// Kills an engine that saves and appends at random moments, and lets the next one check the files.
///
/// # Errors
/// If a saved file was neither the old nor the new one, or complete appended records were lost.
pub fn run(workspace: &Workspace, godot: &Godot, options: Options) -> Result<Tally> {
    let project_folder = workspace.project();
    let project = suites::bundled(workspace, godot, &project_folder)?;
    let folder = tempfile::Builder::new().prefix("kill-").tempdir_in(&workspace.target)?;
    let arguments = ["--folder".to_owned(), folder.path().display().to_string()];
    let script = "res://suites/save_until_killed.gd";
    let mut random = fastrand::Rng::with_seed(options.seed);
    let step = Progress::count("killing", options.times);
    for number in 1..=options.times {
        let moment = LATEST_KILL.mul_f64(random.f64());
        kill(&mut project.script(script, &arguments), moment)
            .with_context(|| format!("kill {number} of {}", options.times))?;
        step.step();
    }
    step.done();
    let check: Vec<String> = arguments.into_iter().chain(iter::once("--check".to_owned())).collect();
    let outcome = run::watch(&mut project.script(script, &check), Echo::Nothing, CHECK_LIMIT)?;
    if let Some(end) = outcome.bad_end() {
        bail!("Godot {end}:\n{}", outcome.log);
    }
    let found = outcome.log.lines().find_map(|line| line.strip_prefix("@@ found "));
    let found = found.and_then(|found| found.split_once(' ')).context("the last run found nothing")?;
    println!(
        "{} kills, seed {}: {} saves and {} appended records, {} files left behind",
        options.times,
        options.seed,
        found.0,
        found.1,
        left_behind(folder.path())?
    );
    ensure!(found.0 != "0", "nothing was saved between the kills");
    Ok(Tally { passed: options.times + 1, failed: 0 })
}

/// Starts the engine, and kills it after this time of writing.
fn kill(command: &mut Command, moment: Duration) -> Result<()> {
    let mut engine = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let output = BufReader::new(engine.stdout.take().context("its output is piped")?);
    let mut printed = String::new();
    let mut writes = false;
    for line in output.lines() {
        let line = line?;
        writes = line == "@@ writing";
        if writes {
            break;
        }
        printed.push_str(&line);
        printed.push('\n');
    }
    if writes {
        thread::sleep(moment);
    }
    // It may have ended by itself.
    drop(engine.kill());
    engine.wait()?;
    ensure!(writes, "the engine printed:\n{printed}");
    Ok(())
}

/// The number of files besides the two.
fn left_behind(folder: &Path) -> Result<usize> {
    Ok(fs::read_dir(folder)?.count().saturating_sub(2))
}
