//! `cargo xtask test`: all checks, the fastest to fail first.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::crates;
use crate::diff;
use crate::endure::{self, Endurance};
use crate::exchange;
use crate::godot::{self, Godot};
use crate::godot3;
use crate::jobs;
use crate::judge::{self, Tally};
use crate::kill;
use crate::library::{self, Build, Profile};
use crate::misuse;
use crate::package;
use crate::panel;
use crate::protobuf;
use crate::run::{self, Echo};
use crate::stress;
use crate::suites::{self, Access, Conformance};
use crate::trial::{self, Trial};
use crate::valgrind;
use crate::workspace::{EXTENSION, Workspace};
use crate::writers;

const CARGO_LIMIT: Duration = Duration::from_secs(3600);
const DUMP_LIMIT: Duration = Duration::from_secs(120);
const QUIT_RUNS: u64 = 5;
const QUIT_RUNS_ALL: u64 = 50;
const RANDOM_ALL: u64 = 200_000;
const DIFF_CASES: u64 = 10_000;
const PROTOBUF_SCHEMAS: u64 = 60;
const STRESS_CALLS: u64 = 500;
const JOBS: u64 = 4000;
const KILLS: u64 = 20;
const KILLS_ALL: u64 = 200;

/// Runs all checks, or stops at the first failure, and returns whether all passed; `at_length` adds the long ones.
///
/// The last line that it prints is `N passed, N failed`.
pub fn all(workspace: &Workspace, at_length: bool) -> bool {
    let mut report = Report::default();
    let verdict = steps(workspace, at_length, &mut report);
    if let Err(error) = &verdict {
        eprintln!("error: {error:#}");
    }
    report.print();
    verdict.is_ok()
}

fn steps(workspace: &Workspace, at_length: bool, report: &mut Report) -> Result<()> {
    let godot = &report.step("godot", || {
        let godot = godot::find_or_install(workspace)?;
        println!("{} at {}", godot.version, godot.editor.display());
        Ok((Tally::default(), godot))
    })?;
    report.check("format", || {
        run::through(workspace.cargo().args(["fmt", "--all", "--check"]))?;
        let fuzz = ["fmt", "--manifest-path", "tests/fuzz/Cargo.toml", "--check"];
        plain(run::through(workspace.cargo().args(fuzz)))
    })?;
    report.check("lints", || {
        let lints = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
        plain(run::through(workspace.cargo().args(lints)))
    })?;
    report.check("build", || plain(library::build(workspace, &Build::default())))?;
    report.check("Rust tests", || rust_tests(workspace))?;
    report.check("crates for programs in Rust", || crates::check(workspace))?;
    if crates::can_read_interfaces(workspace)? {
        report.check("public interfaces", || crates::interfaces(workspace, crates::Options::default()))?;
    } else {
        report.skip("public interfaces", "this rustdoc writes another JSON than the crate public-api reads");
    }
    report.check("protobuf oracle", || {
        let options = protobuf::Options { schemas: Some(PROTOBUF_SCHEMAS), seed: 1, ..Default::default() };
        protobuf::run(workspace, &options)
    })?;
    for (name, threads, portable, threshold) in [
        ("conformance, 1 thread", 1, false, None),
        ("conformance, 2 threads", 2, false, None),
        ("conformance, 2 threads, portable", 2, true, None),
        ("conformance, 4 threads, all shared out", 4, false, Some(0)),
    ] {
        report.check(name, || {
            let access = Access { threads: Some(threads), portable, threshold };
            let options = Conformance { access, ..Default::default() };
            suites::conformance(workspace, godot, &options)
        })?;
    }
    for (name, portable, threads, threshold) in [
        ("differential fuzzing", false, None, None),
        ("differential fuzzing, portable", true, None, None),
        ("differential fuzzing, all shared out", false, Some(4), Some(0)),
    ] {
        report.check(name, || {
            let access = Access { portable, threads, threshold };
            let options = diff::Options { cases: Some(DIFF_CASES), access, ..Default::default() };
            diff::run(workspace, godot, &options)
        })?;
    }
    for (name, threads, threshold) in
        [("many threads", None, None), ("many threads, all shared out", Some(4), Some(0))]
    {
        report.check(name, || {
            let access = Access { portable: false, threads, threshold };
            let options = stress::Options { calls: Some(STRESS_CALLS), access, ..Default::default() };
            stress::run(workspace, godot, &options)
        })?;
    }
    if godot3::can_be_had() {
        let old = report.step("godot 3", || Ok((Tally::default(), godot3::find_or_install(workspace)?)))?;
        for (how, portable) in [("", false), (", portable", true)] {
            let access = Access { portable, ..Access::default() };
            let options = exchange::Options { access, ..Default::default() };
            let files = || exchange::files(workspace, godot, &old, &options);
            report.check(&format!("files with Godot 3{how}"), files)?;
            let packets = || exchange::packets(workspace, godot, &old, &options);
            report.check(&format!("packets with Godot 3{how}"), packets)?;
        }
    } else {
        report.skip("files and packets with Godot 3", "no server build for this system, and no GODOT3_BIN");
    }
    report.check("wrong facts about memory", || suites::wrong_facts(workspace, godot))?;
    report.check("misuse of rust/engine", || misuse::run(workspace, godot))?;
    report.check("without threads", || suites::without_threads(workspace, godot))?;
    report.check("project settings", || suites::own_settings(workspace, godot))?;
    report.check("demo scene", || suites::demo_scene(workspace, godot))?;
    report.check("messages", || suites::messages(workspace, godot))?;
    report.check("panics", || suites::panics(workspace, godot))?;
    if cfg!(target_os = "linux") {
        report.check("no memory", || suites::no_memory(workspace, godot))?;
    } else {
        report.skip("no memory", "only Linux limits the address space");
    }
    for (name, portable) in [("endurance", false), ("endurance, portable", true)] {
        let endurance = Endurance { calls: 300_000, batches: 300, seed: endure::SEED, portable };
        report.check(name, || endure::run(workspace, godot, &endurance))?;
    }
    for (name, threads, portable, threshold) in [
        ("jobs whose arguments change", None, false, None),
        ("jobs whose arguments change, portable", None, true, None),
        ("jobs whose arguments change, all shared out", Some(4), false, Some(0)),
    ] {
        report.check(name, || {
            let access = Access { threads, portable, threshold };
            jobs::run(workspace, godot, &jobs::Options { jobs: JOBS, seed: 1, access })
        })?;
    }
    report.check("several processes and one file", || writers::run(workspace, godot, writers::RECORDS))?;
    let times = if at_length { KILLS_ALL } else { KILLS };
    report.check(&format!("killed while saving, {times} times"), || {
        kill::run(workspace, godot, kill::Options { times, seed: 1 })
    })?;
    report.check("double precision compiles", || double_precision(workspace, godot))?;
    let zip = report.step("package", || Ok((Tally::default(), package::write(workspace, None)?)))?;

    let trial = Trial::install(workspace, godot, &zip)?;
    report.check("first open of a new project", || trial.first_open())?;
    report.check("a script in that project", || trial.script())?;
    report.check("editor panel", || panel::headless(workspace, godot, &zip))?;
    report.check("snippets of the documentation", || trial.snippets())?;
    report.check("help in the editor", || trial.help())?;
    match &godot.template_release {
        Some(template) => {
            report.check("exported game", || trial.exported_game(template))?;
            report.check("conformance, exported game", || suites::exported(workspace, godot, template))?;
        }
        None => report.skip("exported game", "this Godot has no export template beside it"),
    }
    let runs = if at_length { QUIT_RUNS_ALL } else { QUIT_RUNS };
    report.check(&format!("quitting, {runs} runs"), || trial.quit(runs))?;
    if !at_length {
        return Ok(());
    }

    report.check(&format!("conformance, {RANDOM_ALL} random values"), || {
        let options = Conformance { random: Some(RANDOM_ALL), ..Default::default() };
        suites::conformance(workspace, godot, &options)
    })?;
    match godot::valgrind(workspace, godot) {
        Ok(_) => {
            report.check("valgrind", || valgrind::run(workspace, godot, valgrind::Size::default()))?;
        }
        Err(_) => report.skip("valgrind", godot::NO_VALGRIND),
    }
    report.check("reloading", || {
        let release = trial.reload(Profile::Release)?;
        Ok(release + trial.reload(Profile::Debug)?)
    })?;
    match trial::screen_server() {
        Some(_) => {
            report.check("editor window", || trial.window())?;
            report.check("editor panel in a window", || {
                panel::window(workspace, godot, &zip, &panel::Options::default())
            })?;
        }
        None => report.skip("editor window", "Xvfb is not installed; on Debian: apt-get install xvfb"),
    }
    Ok(())
}

/// The help and the snippets alone.
pub fn documentation(workspace: &Workspace, godot: &Godot) -> Result<Tally> {
    let trial = Trial::install(workspace, godot, &package::write(workspace, None)?)?;
    trial.first_open()?;
    Ok(trial.snippets()? + trial.help()?)
}

fn plain<T>(result: Result<T>) -> Result<Tally> {
    result.map(|_| Tally::default())
}

fn rust_tests(workspace: &Workspace) -> Result<Tally> {
    let mut cargo = workspace.cargo();
    cargo.args(["test", "--workspace"]);
    let outcome = run::watch(&mut cargo, Echo::DirectErrors, CARGO_LIMIT)?;
    let tally = judge::rust_tally(&outcome.stdout);
    match outcome.bad_end() {
        Some(end) => bail!("`cargo test` {end}; {tally}"),
        None => Ok(tally),
    }
}

/// There is no engine of that kind here, so the available one describes its API.
fn double_precision(workspace: &Workspace, godot: &Godot) -> Result<Tally> {
    let mut cargo = workspace.cargo();
    cargo
        .args(["check", "--package", EXTENSION, "--no-default-features", "--features", "double"])
        .env("CARGO_TARGET_DIR", workspace.target.join("double"))
        .env("GODOT4_GDEXTENSION_JSON", api_description(workspace, godot)?);
    plain(run::through(&mut cargo))
}

/// The engine's description of itself, written once for each version so that nothing is compiled twice.
fn api_description(workspace: &Workspace, godot: &Godot) -> Result<PathBuf> {
    let folder = workspace.target.join("double");
    let kept = folder.join(format!("extension_api-{}.json", godot.version));
    if kept.is_file() {
        return Ok(kept);
    }
    fs::create_dir_all(&folder)?;
    let written = tempfile::tempdir_in(&folder)?;
    let mut command = std::process::Command::new(&godot.editor);
    command.args(["--headless", "--dump-extension-api"]).current_dir(written.path());
    let outcome = run::watch(&mut command, Echo::Nothing, DUMP_LIMIT)?;
    ensure!(outcome.bad_end().is_none(), "Godot could not describe itself:\n{}", outcome.log);
    fs::rename(written.path().join("extension_api.json"), &kept)
        .context("Godot wrote no extension_api.json")?;
    Ok(kept)
}

/// The results of all steps.
#[derive(Default)]
struct Report {
    lines: Vec<Line>,
}

struct Line {
    name: String,
    verdict: Verdict,
    elapsed: Duration,
}

enum Verdict {
    Passed(Tally),
    Failed,
    Skipped(&'static str),
}

impl Report {
    fn check(&mut self, name: &str, check: impl FnOnce() -> Result<Tally>) -> Result<()> {
        self.step(name, || Ok((check()?, ())))
    }

    /// Runs a step that also makes something; the step itself counts as one check.
    fn step<T>(&mut self, name: &str, step: impl FnOnce() -> Result<(Tally, T)>) -> Result<T> {
        println!("\n== {name}");
        let started = Instant::now();
        let result = step().with_context(|| format!("the step \"{name}\" failed"));
        let elapsed = started.elapsed();
        let verdict = match &result {
            Ok((tally, _)) => Verdict::Passed(*tally),
            Err(_) => Verdict::Failed,
        };
        println!("== {name}: {:.1} s", elapsed.as_secs_f32());
        self.lines.push(Line { name: name.to_owned(), verdict, elapsed });
        result.map(|(_, made)| made)
    }

    fn skip(&mut self, name: &str, reason: &'static str) {
        println!("\n== {name}: skipped: {reason}");
        self.lines.push(Line {
            name: name.to_owned(),
            verdict: Verdict::Skipped(reason),
            elapsed: Duration::ZERO,
        });
    }

    fn total(&self) -> Tally {
        let step = |line: &Line| match line.verdict {
            Verdict::Passed(tally) => tally + Tally { passed: 1, failed: 0 },
            Verdict::Failed => Tally { passed: 0, failed: 1 },
            Verdict::Skipped(_) => Tally::default(),
        };
        self.lines.iter().map(step).sum()
    }

    fn print(&self) {
        let width = self.lines.iter().map(|line| line.name.len()).max().unwrap_or(0);
        println!();
        for Line { name, verdict, elapsed } in &self.lines {
            let seconds = elapsed.as_secs_f32();
            let text = match verdict {
                Verdict::Passed(tally) if tally.passed > 0 => format!("ok, {} checks", tally.passed),
                Verdict::Passed(_) => "ok".into(),
                Verdict::Failed => "FAILED".into(),
                Verdict::Skipped(reason) => format!("skipped: {reason}"),
            };
            println!("{name:width$}  {seconds:7.1} s  {text}");
        }
        println!("\n{}", self.total());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_suites_add_up() {
        let mut report = Report::default();
        report.check("a", || Ok(Tally { passed: 10, failed: 0 })).unwrap();
        report.check("b", || plain(Ok(()))).unwrap();
        report.skip("c", "not here");
        assert_eq!(report.total(), Tally { passed: 12, failed: 0 });
        let error = report.check("d", || bail!("broken")).unwrap_err();
        assert!(format!("{error:#}").contains("\"d\" failed: broken"));
        assert_eq!(report.total(), Tally { passed: 12, failed: 1 });
    }
}
