//! `cargo xtask test`: all checks, the fastest to fail first.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::build::{self, Build};
use crate::checklist::Checklist;
use crate::crates;
use crate::demo;
use crate::docs;
use crate::godot::{self, Godot};
use crate::judge::{self, Tally};
use crate::package;
use crate::panel;
use crate::platforms;
use crate::python_package;
use crate::run::{self, Echo};
use crate::soak;
use crate::suite::{self, Access, Conformance};
use crate::trial::Trial;
use crate::workflows;
use crate::workspace::Workspace;

/// Every step, in order: the fastest to fail first. A step may use the results of earlier steps.
const STEPS: &[Step] = &[
    step("format", format),
    step("lints", lints),
    step("build", |on| plain(build::build(on.workspace, &Build::default()))),
    step("workflows", |on| workflows::check(on.workspace)).unless(no_npm),
    step("Rust tests", rust_tests),
    step("python", |on| python_package::tests(on.workspace)),
    step("python and the engine", |on| python_package::exchange(on.workspace, on.godot)),
    step("crates for programs in Rust", |on| crates::check(on.workspace)),
    step("package", |on| plain(on.zip())),
    step("first open of a new project", |on| on.trial()?.first_open()),
    step("a script in that project", |on| on.trial()?.script()),
    step("snippets of the documentation", |on| docs::snippets::check(on.trial()?)),
    step("help in the editor", |on| docs::help::check(on.trial()?)),
    step("exported game", |on| on.trial()?.exported_game(template(on)?)).unless(no_template),
    step("editor panel", |on| panel::headless(on.workspace, on.godot, on.zip()?)),
    step("quitting", |on| on.trial()?.quit(5)),
    step("demo scene", |on| demo::scene(on.workspace, on.godot)),
    step("messages", |on| soaked(on, "messages")),
    step("panics", |on| soaked(on, "panics")),
    step("suites", |on| suite(on, "", TWO_THREADS)),
    step("suites, portable", |on| suite(on, PORTABLE_SUITES, Access { portable: true, ..TWO_THREADS })),
    step("suites, all shared out", |on| suite(on, SHARED_SUITES, SHARED_OUT)),
    step("suites, exported game", exported).unless(no_template),
    step("wrong facts about memory", |on| suite::wrong_facts(on.workspace, on.godot)),
    step("project settings", |on| suite::own_settings(on.workspace, on.godot)),
    step("without threads", |on| suite::without_threads(on.workspace, on.godot)),
    step("random values", |on| soaked(on, "values")),
    step("endurance", |on| soaked(on, "calls")),
    step("several processes and one file", |on| soaked(on, "writers")),
    step("killed while saving", |on| soaked(on, "kill")),
    step("snapshots over ENet", |on| soaked(on, "network")),
    step("protobuf oracle", |on| soaked(on, "protobuf")),
    step("snapshots over bad networks", |on| soaked(on, "snapshots")),
    step("a file larger than memory", |on| suite::large_file(on.workspace, on.godot)).unless(no_holes),
    step("double precision, types", double_precision),
    step("other platforms, types", |on| platforms::check(on.workspace)).unless(no_compilers),
];

struct Stage<'a> {
    workspace: &'a Workspace,
    godot: &'a Godot,
    zip: OnceCell<PathBuf>,
    trial: OnceCell<Trial<'a>>,
}

struct Step {
    name: &'static str,
    check: fn(&Stage<'_>) -> Result<Tally>,
    unless: fn(&Stage<'_>) -> Result<Option<&'static str>>,
}

const fn step(name: &'static str, check: fn(&Stage<'_>) -> Result<Tally>) -> Step {
    Step { name, check, unless: |_| Ok(None) }
}

impl Step {
    /// Skips the step if `unless` returns a reason.
    const fn unless(self, unless: fn(&Stage<'_>) -> Result<Option<&'static str>>) -> Self {
        Self { unless, ..self }
    }
}

/// Runs all checks from the step `from`, stops at the first failure, and returns whether all passed.
///
/// The last lines of the output are the time of each step, the total time, and `N passed, N failed`.
pub fn all(workspace: &Workspace, from: Option<&str>) -> bool {
    let mut list = Checklist::default();
    let verdict = run_all(workspace, from, &mut list);
    if let Err(error) = &verdict {
        eprintln!("error: {error:#}");
    }
    list.print();
    verdict.is_ok()
}

fn run_all(workspace: &Workspace, from: Option<&str>, list: &mut Checklist) -> Result<()> {
    let first = match from {
        Some(name) => STEPS.iter().position(|step| step.name == name),
        None => Some(0),
    };
    let first = first.with_context(|| format!("there is no step \"{}\"", from.unwrap_or_default()))?;
    let godot = &list.step("godot", || {
        let godot = godot::find_or_install(workspace)?;
        println!("{} at {}", godot.version, godot.editor.display());
        Ok((Tally::default(), godot))
    })?;
    let stage = Stage { workspace, godot, zip: OnceCell::new(), trial: OnceCell::new() };
    for Step { name, check, unless } in &STEPS[first..] {
        match unless(&stage)? {
            Some(reason) => list.skip(name, reason),
            None => list.step(name, || Ok((check(&stage)?, ())))?,
        }
    }
    Ok(())
}

impl Stage<'_> {
    fn zip(&self) -> Result<&Path> {
        once(&self.zip, || package::partial(self.workspace)).map(PathBuf::as_path)
    }
}

impl<'a> Stage<'a> {
    fn trial(&self) -> Result<&Trial<'a>> {
        once(&self.trial, || Trial::install(self.workspace, self.godot, self.zip()?))
    }
}

fn once<T>(cell: &OnceCell<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    match cell.get() {
        Some(made) => Ok(made),
        None => {
            let made = make()?;
            Ok(cell.get_or_init(|| made))
        }
    }
}

fn plain<T>(result: Result<T>) -> Result<Tally> {
    result.map(|_| Tally::default())
}

// Access paths and threading of the extension.

const TWO_THREADS: Access = Access { portable: false, threads: Some(2), threshold: None };
/// Splits every value among threads, however small the value is.
const SHARED_OUT: Access = Access { portable: false, threads: Some(4), threshold: Some(0) };

/// The suites that read and write engine memory.
const PORTABLE_SUITES: &str = "report,values,rows,objects,conversions,views,random";
/// The suites whose values are split among threads, or that run in the background.
const SHARED_SUITES: &str = "batches,large,threads,files,jobs,ownership,messages,dialects,random";
/// The suites that depend on the build of the engine.
const EXPORTED_SUITES: &str = "values,batches,objects,files,jobs";
/// The number of random values when a suite runs again: a tenth of the default.
const FEW: u64 = 400;

// Reasons to skip a step.

fn no_holes(_: &Stage<'_>) -> Result<Option<&'static str>> {
    Ok((!cfg!(target_os = "linux"))
        .then_some("only Linux tells the memory of a process, and makes files with holes"))
}

fn no_template(on: &Stage<'_>) -> Result<Option<&'static str>> {
    Ok(on.godot.template_release.is_none().then_some(suite::NO_TEMPLATE))
}

fn no_npm(_: &Stage<'_>) -> Result<Option<&'static str>> {
    Ok((!workflows::can_be_checked())
        .then_some("npm and node are not installed; on Debian: apt-get install npm"))
}

fn no_compilers(on: &Stage<'_>) -> Result<Option<&'static str>> {
    let reason = "Debian's compilers cannot be installed or run here; cargo xtask platforms says why";
    Ok(platforms::obstacle(on.workspace).is_some().then_some(reason))
}

// The steps.

const CARGO_LIMIT: Duration = Duration::from_secs(3600);

fn format(on: &Stage<'_>) -> Result<Tally> {
    run::through(on.workspace.cargo().args(["fmt", "--all", "--check"]))?;
    let fuzz = ["fmt", "--manifest-path", "tests/fuzz/Cargo.toml", "--check"];
    plain(run::through(on.workspace.cargo().args(fuzz)))
}

fn lints(on: &Stage<'_>) -> Result<Tally> {
    let lints = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    plain(run::through(on.workspace.cargo().args(lints)))
}

fn rust_tests(on: &Stage<'_>) -> Result<Tally> {
    let mut cargo = on.workspace.cargo();
    // The examples in the README of `variant_codec` need `serde`.
    cargo.args(["test", "--workspace", "--features", "variant_codec/serde"]);
    let outcome = run::watch(&mut cargo, Echo::DirectErrors, CARGO_LIMIT)?;
    let tally = judge::rust_tally(&outcome.stdout);
    match outcome.bad_end() {
        Some(end) => bail!("`cargo test` {end}; {tally}"),
        None => Ok(tally),
    }
}

fn soaked(on: &Stage<'_>, activity: &str) -> Result<Tally> {
    soak::slice(on.workspace, on.godot, activity)
}

/// Runs the suites in `only` with few random values. If `only` is empty, runs all suites with the default
/// number.
fn suite(on: &Stage<'_>, only: &str, access: Access) -> Result<Tally> {
    let options = if only.is_empty() {
        Conformance { access, ..Default::default() }
    } else {
        Conformance { access, random: Some(FEW), only: Some(only.to_owned()), ..Default::default() }
    };
    suite::run(on.workspace, on.godot, &options)
}

fn exported(on: &Stage<'_>) -> Result<Tally> {
    let only = Some(EXPORTED_SUITES.to_owned());
    let options = Conformance { exported: true, only, random: Some(FEW), ..Default::default() };
    suite::run(on.workspace, on.godot, &options)
}

/// Type-checks the library for engines with double precision. Uses the API description of the available
/// engine, because no engine with double precision is available.
fn double_precision(on: &Stage<'_>) -> Result<Tally> {
    let mut cargo = on.workspace.cargo();
    let double = Some(godot::api_description(on.workspace, on.godot)?);
    build::choose(cargo.arg("check"), &Build { double, ..Build::default() });
    plain(run::through(&mut cargo))
}

fn template<'a>(on: &Stage<'a>) -> Result<&'a Path> {
    on.godot.template_release.as_deref().context(suite::NO_TEMPLATE)
}
