//! `cargo xtask prove`: the long proofs, and their ledger in `docs/testing.md`.
//!
//! Each proof is a goal, such as a hundred million executions, reached in slices, and names the code that it runs. Results of
//! slices are kept under `target/prove`, so a stopped run continues later if that code is the same.

mod ledger;
mod proofs;
mod scripts;
mod slice;

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use indicatif::HumanCount;
use serde::{Deserialize, Serialize};

use crate::bench;
use crate::godot;
use crate::library::{self, Build};
use crate::workspace::Workspace;
use ledger::{Entry, Ledger};
use proofs::{PROOFS, Proof};
use slice::{Done, Tools};

/// Choices for the proofs.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Only this proof; may be given several times [default: all]
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Start nothing new after this many minutes; the next run continues
    #[arg(long, value_name = "N")]
    minutes: Option<u64>,
    /// Only list the proofs and their progress
    #[arg(long)]
    list: bool,
}

/// The progress of a proof.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Standing {
    /// The commit at which it began; its code has not changed since.
    #[serde(default)]
    commit: String,
    slices: u64,
    seconds: f64,
    done: Done,
}

/// The unfinished proofs.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Standings {
    proofs: BTreeMap<String, Standing>,
}

/// Runs the proofs that the ledger does not have for this code, and returns whether all of them passed. A proof whose
/// code has uncommitted changes fails.
///
/// # Errors
/// If another run uses the same target folder, or a document cannot be written.
pub fn run(workspace: &Workspace, options: &Options) -> Result<bool> {
    for name in &options.only {
        let names: Vec<_> = PROOFS.iter().map(|proof| proof.name).collect();
        ensure!(names.contains(&name.as_str()), "no proof is called {name}; there are {}", names.join(", "));
    }
    let chosen =
        |proof: &&Proof| options.only.is_empty() || options.only.iter().any(|name| name == proof.name);
    if options.list {
        let run = Run::open(workspace)?;
        PROOFS.iter().filter(chosen).for_each(|proof| println!("{}", run.described(proof)));
        return Ok(true);
    }
    let _lock = lock(workspace)?;
    let mut run = Run::open(workspace)?;
    let open: Vec<_> = PROOFS.iter().filter(chosen).filter(|proof| !run.is_proven(proof)).collect();
    if open.is_empty() {
        println!("everything is proven for this code");
        return Ok(true);
    }
    let godot = godot::find_or_install(workspace)?;
    library::build(workspace, &Build::default())?;
    let tools = Tools { workspace, godot: &godot };
    let until = options.minutes.map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
    let mut failed = Vec::new();
    for proof in open {
        println!("\n== {}", run.described(proof));
        match run.go_on(proof, &tools, until) {
            Ok(true) => run.enter(proof, &tools)?,
            Ok(false) => println!("to be continued"),
            Err(error) => {
                eprintln!("error: {error:#}");
                failed.push(proof.name);
            }
        }
    }
    if failed.is_empty() {
        return Ok(true);
    }
    eprintln!("\nfailed: {}", failed.join(", "));
    Ok(false)
}

/// Keeps other runs out of the target folder, which worktrees may share: their results would mix.
fn lock(workspace: &Workspace) -> Result<File> {
    let folder = workspace.target.join("prove");
    fs::create_dir_all(&folder)?;
    let file = File::create(folder.join("lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => bail!(
            "another `cargo xtask prove` uses {}; wait for it, or set CARGO_TARGET_DIR to another folder",
            workspace.target.display()
        ),
        Err(TryLockError::Error(error)) => Err(error).context("cannot lock target/prove/lock"),
    }
}

/// The proofs of the current code.
struct Run<'a> {
    workspace: &'a Workspace,
    /// The ledger's proofs that still stand: their code has not changed.
    proven: Vec<String>,
    file: PathBuf,
    standings: Standings,
}

impl<'a> Run<'a> {
    fn open(workspace: &'a Workspace) -> Result<Self> {
        let ledger = Ledger::read(workspace)?;
        let mut proven = Vec::new();
        for proof in PROOFS {
            let entry = ledger.entries.iter().find(|entry| entry.proof == proof.name);
            if let Some(entry) = entry
                && ledger::is_same_code(workspace, &entry.commit, &proof.paths(workspace)?)?
            {
                proven.push(entry.proof.clone());
            }
        }
        let file = workspace.target.join("prove/standings.json");
        let mut standings: Standings = match fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .with_context(|| format!("{} is damaged; remove it", file.display()))?,
            Err(_) => Standings::default(),
        };
        for proof in PROOFS {
            if let Some(standing) = standings.proofs.get(proof.name)
                && !ledger::is_same_code(workspace, &standing.commit, &proof.paths(workspace)?)?
            {
                standings.proofs.remove(proof.name);
            }
        }
        Ok(Self { workspace, proven, file, standings })
    }

    fn is_proven(&self, proof: &Proof) -> bool {
        self.proven.iter().any(|name| name == proof.name)
    }

    fn described(&self, proof: &Proof) -> String {
        let done = self.standings.proofs.get(proof.name).map_or(0, |standing| standing.done.amount);
        let done = if self.is_proven(proof) { "proven".to_owned() } else { HumanCount(done).to_string() };
        format!("{}: {done} of {} {}", proof.name, HumanCount(proof.goal), proof.unit)
    }

    /// Runs slices of a proof, and returns whether it is complete.
    fn go_on(&mut self, proof: &Proof, tools: &Tools<'_>, until: Option<Instant>) -> Result<bool> {
        let uncommitted = ledger::uncommitted(self.workspace, &proof.paths(self.workspace)?)?;
        ensure!(
            uncommitted.is_empty(),
            "the code of {} has uncommitted changes, so its figures would belong to no commit:\n{uncommitted}",
            proof.name
        );
        let mut standing = match self.standings.proofs.get(proof.name) {
            Some(standing) => standing.clone(),
            None => Standing { commit: ledger::commit(self.workspace)?, ..Standing::default() },
        };
        while standing.done.amount < proof.goal {
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(false);
            }
            let started = Instant::now();
            let done = (proof.slice)(tools, standing.slices, proof.goal - standing.done.amount)?;
            ensure!(done.amount > 0, "a slice of {} did nothing", proof.name);
            ensure!(
                ledger::is_same_code(self.workspace, &standing.commit, &proof.paths(self.workspace)?)?,
                "the code of {} changed while it ran",
                proof.name
            );
            standing.done.add(done);
            standing.seconds += started.elapsed().as_secs_f64();
            standing.slices += 1;
            self.standings.proofs.insert(proof.name.to_owned(), standing.clone());
            self.keep()?;
            println!("{}", self.described(proof));
        }
        Ok(true)
    }

    fn keep(&self) -> Result<()> {
        let folder = self.file.parent().context("the file lies in a folder")?;
        fs::create_dir_all(folder)?;
        fs::write(&self.file, serde_json::to_vec_pretty(&self.standings)?)?;
        Ok(())
    }

    /// Writes a complete proof into the ledger and the document.
    fn enter(&mut self, proof: &Proof, tools: &Tools<'_>) -> Result<()> {
        let Some(Standing { commit, done, seconds, .. }) = self.standings.proofs.remove(proof.name) else {
            return Ok(());
        };
        // Read again, because hours may have passed since the start.
        let mut ledger = Ledger::read(self.workspace)?;
        ledger.enter(Entry {
            proof: proof.name.to_owned(),
            amount: done.amount,
            unit: proof.unit.to_owned(),
            checks: done.checks,
            parts: done.parts,
            seconds: seconds.round() as u64,
            commit,
            date: ledger::today(),
            machine: format!("{}, Godot {}", bench::machine(), tools.godot.version),
        });
        ledger.write(self.workspace)?;
        self.proven.push(proof.name.to_owned());
        self.keep()
    }
}
