//! `cargo xtask writers`: several processes that use the same file at once.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail, ensure};

use crate::godot::Godot;
use crate::judge::Tally;
use crate::project::Project;
use crate::run::{self, Echo};
use crate::suites;
use crate::workspace::Workspace;

/// A process that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(120);
/// The default number of records that each of two processes appends.
pub const RECORDS: u64 = 300;
/// The number of saves while another process appends.
const SAVES: u64 = 100;

/// Lets processes append to, save, load and lock one file, and checks it.
///
/// # Errors
/// If a record is lost or read partially, or a failed call changes the file.
pub fn run(workspace: &Workspace, godot: &Godot, records: u64) -> Result<Tally> {
    let project_folder = workspace.project();
    let project = suites::bundled(workspace, godot, &project_folder)?;
    let mut passed = 0;
    for test in [two_append, one_saves, locked, remains, limited] {
        let folder = tempfile::Builder::new().prefix("writers-").tempdir_in(&workspace.target)?;
        println!("{}", test(&Stage { project: &project, folder: folder.path() }, records)?);
        passed += 1;
    }
    Ok(Tally { passed, failed: 0 })
}

/// The engine, and a folder for the files.
struct Stage<'a> {
    project: &'a Project<'a>,
    folder: &'a Path,
}

impl Stage<'_> {
    /// A process with a role.
    fn process(&self, role: &str, options: &[(&str, &str)]) -> Command {
        let folder = self.folder.display().to_string();
        let options =
            [("--folder", folder.as_str()), ("--role", role)].into_iter().chain(options.iter().copied());
        let arguments: Vec<String> =
            options.flat_map(|(option, value)| [option, value].map(str::to_owned)).collect();
        self.project.script("res://suites/writers.gd", &arguments)
    }

    /// What a process printed after its marker.
    fn result(command: &mut Command) -> Result<String> {
        let outcome = run::watch(command, Echo::Nothing, LIMIT)?;
        if let Some(end) = outcome.bad_end() {
            bail!("Godot {end}:\n{}", outcome.log);
        }
        Ok(outcome.log.lines().find_map(|line| line.strip_prefix("@@ ")).unwrap_or_default().to_owned())
    }

    /// Starts writers by name, and a process that loads while they write; returns the number of loads.
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
            // A process that ends early prints the reason.
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

fn two_append(stage: &Stage<'_>, records: u64) -> Result<String> {
    let count = records.to_string();
    let writer = |name| (name, stage.process("append", &[("--name", name), ("--count", &count)]));
    let loads = stage.all_at_once(vec![writer("one"), writer("two")])?;
    let found = Stage::result(&mut stage.process("check", &[("--name", "one,two"), ("--count", &count)]))?;
    // The records, the output of writers and loader, "go" and "stop".
    ensure!(stage.count()? == 8, "something was left beside the file");
    Ok(format!("two processes append {records} records each: {found} found, {loads} loads meanwhile"))
}

fn one_saves(stage: &Stage<'_>, _: u64) -> Result<String> {
    let count = SAVES.to_string();
    let loads = stage.all_at_once(vec![
        (
            "adder",
            stage.process("append", &[("--name", "adder"), ("--count", "50"), ("--until", "saver.done")]),
        ),
        ("saver", stage.process("save", &[("--name", "saver"), ("--count", &count)])),
    ])?;
    let found = Stage::result(&mut stage.process("check_saved", &[("--count", &count)]))?;
    Ok(format!("one process saves {SAVES} times, one appends: {found} records left, {loads} loads meanwhile"))
}

fn locked(stage: &Stage<'_>, _: u64) -> Result<String> {
    let path = stage.folder.join("records.dat");
    fs::write(&path, RECORD)?;
    let file = held(&path)?;
    let pid = std::process::id().to_string();
    let message = Stage::result(&mut stage.process("locked", &[("--pid", &pid)]))?;
    drop(file);
    ensure!(stage.count()? == 1, "something was left beside the file");
    Ok(format!("a locked file: {}", message.replace(&stage.folder.display().to_string(), "…")))
}

/// A record that holds `null`.
const RECORD: [u8; 8] = [4, 0, 0, 0, 0, 0, 0, 0];

/// Opens a file for writing.
fn held(path: &Path) -> Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(false);
    #[cfg(windows)]
    {
        use std::os::windows::fs::OpenOptionsExt;
        // Others may read and remove it.
        options.share_mode(1 | 4);
    }
    let file = options.open(path)?;
    #[cfg(not(windows))]
    file.lock()?;
    Ok(file)
}

/// The next save removes leftovers of killed saves, but neither files in use nor files of others with similar names.
fn remains(stage: &Stage<'_>, _: u64) -> Result<String> {
    let file = |name: &str| stage.folder.join(name);
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
    let save = [("--name", "saver"), ("--count", "1")];
    Stage::result(&mut stage.process("save", &save))?;
    for name in others.into_iter().chain([live, folder]).chain(link) {
        ensure!(file(name).symlink_metadata().is_ok(), "{name} was removed");
    }
    ensure!(!file(dead).exists(), "{dead} was not removed");
    drop(held);
    Stage::result(&mut stage.process("save", &save))?;
    ensure!(!file(live).exists(), "{live} was not removed");
    Ok("what killed saves left is removed, and nothing else".into())
}

/// Limits files to 64 blocks, and denies others access to new ones.
#[cfg(unix)]
fn limited(stage: &Stage<'_>, _: u64) -> Result<String> {
    let engine = stage.process("full", &[]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "umask 027; trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\""]);
    shell.arg(engine.get_program()).args(engine.get_args());
    shell.envs(engine.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Stage::result(&mut shell)?;
    ensure!(stage.count()? == 3, "something was left beside the files");
    Ok("a full disk changes nothing; new files have the engine's rights".into())
}

#[cfg(not(unix))]
fn limited(_: &Stage<'_>, _: u64) -> Result<String> {
    Ok("a full disk: cannot be had here".into())
}
