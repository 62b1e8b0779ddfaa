//! Kills the game while it saves, repeatedly.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::script;
use super::work::{Done, Stage, Work};
use crate::judge::Tally;
use crate::run::{self, Echo};
use crate::suite;

/// The latest time of a kill. A save takes about ten milliseconds, so kills hit every phase of a save.
const LATEST_KILL: Duration = Duration::from_millis(150);
const CHECK_LIMIT: Duration = Duration::from_secs(60);

/// Kills an engine at a random moment while it saves and appends, and lets the next engine check the files.
///
/// # Errors
/// Fails if a saved file is neither the old file nor the new file, or if complete appended records are lost.
pub fn run(on: &Stage<'_>, work: &Work) -> Result<Done> {
    let project_folder = on.workspace.project();
    let project = suite::bundled(on.workspace, on.godot, &project_folder)?;
    let folder = tempfile::Builder::new().prefix("kill-").tempdir_in(&on.workspace.target)?;
    let shared = folder.path().display().to_string();
    let mut random = fastrand::Rng::with_seed(work.seed.into());
    let started = Instant::now();
    let mut kills = 0;
    while work.needs_another_round(kills, started) {
        kills += 1;
        let moment = LATEST_KILL.mul_f64(random.f64());
        kill(&mut script::engine(&project, "kill", &[("--folder", &shared)]), moment)
            .with_context(|| format!("kill {kills}"))?;
    }
    let mut check = script::engine(&project, "kill", &[("--folder", &shared), ("--count", "0")]);
    let outcome = run::watch(&mut check, Echo::Nothing, CHECK_LIMIT)?;
    if let Some(end) = outcome.bad_end() {
        bail!("Godot {end}:\n{}", outcome.log);
    }
    let found = outcome.log.lines().find_map(|line| line.strip_prefix("@@ found "));
    let (saves, records) =
        found.and_then(|found| found.split_once(' ')).context("the last run found nothing")?;
    let left = left_behind(folder.path())?;
    println!("{kills} kills: {saves} saves and {records} appended records, {left} files left behind");
    ensure!(saves != "0", "nothing was saved between the kills");
    Ok(Done { amount: kills, tally: Tally { passed: kills + 1, failed: 0 } })
}

/// Starts the engine, and kills it `moment` after it begins to write.
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
    // The engine may have ended by itself.
    drop(engine.kill());
    engine.wait()?;
    ensure!(writes, "the engine printed:\n{printed}");
    Ok(())
}

/// The number of files besides the two that the engine writes.
fn left_behind(folder: &Path) -> Result<usize> {
    Ok(fs::read_dir(folder)?.count().saturating_sub(2))
}
