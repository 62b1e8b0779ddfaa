//! Several processes that use the same file at once.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use super::script;
use super::work::{Done, Stage, Work};
use crate::judge::Tally;
use crate::project::Project;
use crate::run::{self, Echo};
use crate::suite;

/// The time limit of a process. A process that takes longer has hung.
const LIMIT: Duration = Duration::from_secs(120);
/// The number of records that each of two processes appends.
const RECORDS: u64 = 300;
/// The number of saves while another process appends.
const SAVES: u64 = 100;

/// Runs processes that append to, save, load and lock one file, and checks the file.
///
/// # Errors
/// Fails if a record is lost or read partially, or if a failed call changes the file.
pub fn run(on: &Stage<'_>, work: &Work) -> Result<Done> {
    let project_folder = on.workspace.project();
    let project = suite::bundled(on.workspace, on.godot, &project_folder)?;
    let started = Instant::now();
    let (mut rounds, mut passed) = (0, 0);
    while work.needs_another_round(rounds, started) {
        rounds += 1;
        for test in [two_append, one_saves, locked, remains, limited] {
            let folder = tempfile::Builder::new().prefix("writers-").tempdir_in(&on.workspace.target)?;
            println!("{}", test(&Site { project: &project, folder: folder.path() })?);
            passed += 1;
        }
    }
    Ok(Done { amount: rounds, tally: Tally { passed, failed: 0 } })
}

struct Site<'a> {
    project: &'a Project<'a>,
    folder: &'a Path,
}

impl Site<'_> {
    fn process(&self, role: &str, options: &[(&str, &str)]) -> Command {
        let folder = self.folder.display().to_string();
        let own = [("--folder", folder.as_str()), ("--role", role), ("--count", "1")];
        let options: Vec<_> = own.into_iter().chain(options.iter().copied()).collect();
        script::engine(self.project, "writers", &options)
    }

    /// The text that a process prints after its marker.
    fn result(command: &mut Command) -> Result<String> {
        let outcome = run::watch(command, Echo::Nothing, LIMIT)?;
        if let Some(end) = outcome.bad_end() {
            bail!("Godot {end}:\n{}", outcome.log);
        }
        Ok(outcome.log.lines().find_map(|line| line.strip_prefix("@@ ")).unwrap_or_default().to_owned())
    }

    /// Starts the named writers, and a process that loads the file while they write. Returns the number of
    /// loads.
    fn all_at_once(&self, writers: Vec<(&str, Command)>) -> Result<String> {
        let file = |name: &str| self.folder.join(name);
        let names: Vec<_> = writers.iter().map(|(name, _)| *name).chain(["loader"]).collect();
        thread::scope(|scope| {
            let mut load = self.process("load", &[("--name", "loader")]);
            let loads = scope.spawn(move || Self::result(&mut load));
            let writers: Vec<_> = writers
                .into_iter()
                .map(|(_, mut command)| scope.spawn(move || Self::result(&mut command)))
                .collect();
            // Stops waiting if a process ends early. Its result below contains the reason.
            while names.iter().any(|name| !file(&format!("{name}.ready")).exists())
                && !writers.iter().chain([&loads]).any(thread::ScopedJoinHandle::is_finished)
            {
                thread::sleep(Duration::from_millis(1));
            }
            fs::write(file("go"), "")?;
            let results: Vec<_> = writers.into_iter().map(thread::ScopedJoinHandle::join).collect();
            fs::write(file("stop"), "")?;
            for result in results {
                result.expect("it does not panic")?;
            }
            loads.join().expect("it does not panic")
        })
    }

    fn count(&self) -> Result<usize> {
        Ok(fs::read_dir(self.folder)?.count())
    }
}

fn two_append(site: &Site<'_>) -> Result<String> {
    let count = RECORDS.to_string();
    let writer = |name| (name, site.process("append", &[("--name", name), ("--number", &count)]));
    let loads = site.all_at_once(vec![writer("one"), writer("two")])?;
    let found = Site::result(&mut site.process("check", &[("--name", "one,two"), ("--number", &count)]))?;
    // The records, two files of each writer, one of the loader, "go" and "stop".
    ensure!(site.count()? == 8, "something was left beside the file");
    Ok(format!("two processes append {RECORDS} records each: {found} found, {loads} loads meanwhile"))
}

fn one_saves(site: &Site<'_>) -> Result<String> {
    let count = SAVES.to_string();
    let loads = site.all_at_once(vec![
        (
            "adder",
            site.process("append", &[("--name", "adder"), ("--number", "50"), ("--until", "saver.done")]),
        ),
        ("saver", site.process("save", &[("--name", "saver"), ("--number", &count)])),
    ])?;
    let found = Site::result(&mut site.process("check_saved", &[("--number", &count)]))?;
    Ok(format!("one process saves {SAVES} times, one appends: {found} records left, {loads} loads meanwhile"))
}

fn locked(site: &Site<'_>) -> Result<String> {
    let path = site.folder.join("records.dat");
    fs::write(&path, RECORD)?;
    let file = held(&path)?;
    let pid = std::process::id().to_string();
    let message = Site::result(&mut site.process("locked", &[("--pid", &pid)]))?;
    drop(file);
    ensure!(site.count()? == 1, "something was left beside the file");
    Ok(format!("a locked file: {}", message.replace(&site.folder.display().to_string(), "…")))
}

/// A record that holds `null`.
const RECORD: [u8; 8] = [4, 0, 0, 0, 0, 0, 0, 0];

/// Opens a file for writing, and locks it against other writers.
fn held(path: &Path) -> Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(false);
    #[cfg(windows)]
    {
        use std::os::windows::fs::OpenOptionsExt;
        // Other processes may read and delete the file.
        options.share_mode(1 | 4);
    }
    let file = options.open(path)?;
    #[cfg(not(windows))]
    file.lock()?;
    Ok(file)
}

/// Checks that a save removes leftovers of killed saves, but neither files in use nor files with
/// similar names.
fn remains(site: &Site<'_>) -> Result<String> {
    let file = |name: &str| site.folder.join(name);
    let dead = ".fast-variant-codec-aB3dE9aB3dE9aB3d.tmp";
    let live = ".fast-variant-codec-LIVE45678901234x.tmp";
    let folder = ".fast-variant-codec-FOLDER7890123456.tmp";
    let others = [
        ".records.dat.backup",
        ".records.dat.2024v1",
        ".records.dat.aB3dE9",
        ".fast-variant-codec-short.tmp",
        ".fast-variant-codec-aB3dE9aB3dE9-B3d.tmp",
        "fast-variant-codec-aB3dE9aB3dE9aB3d.tmp",
        ".fast-variant-codec-aB3dE9aB3dE9aB3d.tmp.old",
    ];
    let old = std::time::SystemTime::now() - Duration::from_secs(7200);
    for name in others.into_iter().chain([dead]) {
        fs::write(file(name), "x")?;
        File::options().write(true).open(file(name))?.set_modified(old)?;
    }
    fs::create_dir(file(folder))?;
    #[cfg(unix)]
    let link = {
        let link = ".fast-variant-codec-LINK567890123456.tmp";
        std::os::unix::fs::symlink(file(others[0]), file(link))?;
        Some(link)
    };
    #[cfg(not(unix))]
    let link = None;
    let held = held(&file(live))?;
    fs::write(file("go"), "")?;
    let save = [("--name", "saver"), ("--number", "1")];
    Site::result(&mut site.process("save", &save))?;
    for name in others.into_iter().chain([live, folder]).chain(link) {
        ensure!(file(name).symlink_metadata().is_ok(), "{name} was removed");
    }
    ensure!(!file(dead).exists(), "{dead} was not removed");
    drop(held);
    Site::result(&mut site.process("save", &save))?;
    ensure!(!file(live).exists(), "{live} was not removed");
    Ok("what killed saves left is removed, and nothing else".into())
}

/// Limits files to 64 blocks, and denies other users access to new files.
#[cfg(unix)]
fn limited(site: &Site<'_>) -> Result<String> {
    let engine = site.process("full", &[]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "umask 027; trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\""]);
    shell.arg(engine.get_program()).args(engine.get_args());
    shell.envs(engine.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Site::result(&mut shell)?;
    ensure!(site.count()? == 3, "something was left beside the files");
    Ok("a full disk changes nothing; new files have the engine's rights".into())
}

#[cfg(not(unix))]
fn limited(_: &Site<'_>) -> Result<String> {
    Ok("a full disk: cannot be had here".into())
}
