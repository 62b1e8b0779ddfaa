//! `cargo xtask test`: all checks, the fastest to fail first.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::checklist::Checklist;
use crate::crates;
use crate::diff;
use crate::endure::{self, Endurance};
use crate::exchange;
use crate::godot::{self, Godot};
use crate::godot3::{self, Godot3};
use crate::jobs;
use crate::judge::{self, Tally};
use crate::kill;
use crate::library::{self, Build, Profile};
use crate::misuse;
use crate::package;
use crate::panel;
use crate::platforms;
use crate::protobuf;
use crate::run::{self, Echo};
use crate::stress;
use crate::suites::{self, Access, Conformance};
use crate::trial::{self, Trial};
use crate::valgrind;
use crate::workflows;
use crate::workspace::Workspace;
use crate::writers;

/// Every step, in order. A step may use what earlier steps made.
const STEPS: &[Step] = &[
    step("format", format),
    step("lints", lints),
    step("build", |on| plain(library::build(on.workspace, &Build::default()))),
    step("Rust tests", rust_tests),
    step("workflows", |on| workflows::check(on.workspace)).unless(no_npm),
    step("crates for programs in Rust", |on| crates::check(on.workspace)),
    step("protobuf oracle", protobuf_oracle),
    step("conformance of what is split, 1 thread", |on| conformance_of(on, threads(1), &SPLIT)),
    step("conformance, 2 threads", |on| conformance(on, threads(2))),
    step("conformance, 2 threads, portable", |on| conformance(on, Access { portable: true, ..threads(2) })),
    step("conformance, 4 threads, all shared out", |on| conformance(on, SHARED_OUT)),
    step("differential fuzzing", |on| differential_fuzzing(on, DEFAULT)),
    step("differential fuzzing, portable", |on| differential_fuzzing(on, PORTABLE)),
    step("differential fuzzing, all shared out", |on| differential_fuzzing(on, SHARED_OUT)),
    step("many threads", |on| many_threads(on, DEFAULT)),
    step("many threads, all shared out", |on| many_threads(on, SHARED_OUT)),
    step("godot 3", |on| plain(godot3::find_or_install(on.workspace))).unless(no_godot_3),
    step("files with Godot 3", |on| godot_3(on, exchange::files, DEFAULT)).unless(no_godot_3),
    step("packets with Godot 3", |on| godot_3(on, exchange::packets, DEFAULT)).unless(no_godot_3),
    step("files with Godot 3, portable", |on| godot_3(on, exchange::files, PORTABLE)).unless(no_godot_3),
    step("packets with Godot 3, portable", |on| godot_3(on, exchange::packets, PORTABLE)).unless(no_godot_3),
    step("wrong facts about memory", |on| suites::wrong_facts(on.workspace, on.godot)),
    step("misuse of rust/engine", |on| misuse::run(on.workspace, on.godot)),
    step("without threads", |on| suites::without_threads(on.workspace, on.godot)),
    step("project settings", |on| suites::own_settings(on.workspace, on.godot)),
    step("demo scene", |on| suites::demo_scene(on.workspace, on.godot)),
    step("messages", |on| suites::messages(on.workspace, on.godot)),
    step("panics", |on| suites::panics(on.workspace, on.godot)),
    step("no memory", |on| suites::no_memory(on.workspace, on.godot)).unless(no_address_limit),
    step("a file larger than memory", |on| suites::large_file(on.workspace, on.godot)).unless(no_holes),
    step("endurance", |on| endurance(on, false)),
    step("endurance, portable", |on| endurance(on, true)),
    step("jobs whose arguments change", |on| changing_jobs(on, DEFAULT)),
    step("jobs whose arguments change, portable", |on| changing_jobs(on, PORTABLE)),
    step("jobs whose arguments change, all shared out", |on| changing_jobs(on, SHARED_OUT)),
    step("several processes and one file", |on| writers::run(on.workspace, on.godot, writers::RECORDS)),
    step("killed while saving, 20 times", |on| killed(on, 20)).only(When::Briefly),
    step("killed while saving, 200 times", |on| killed(on, 200)).only(When::AtLength),
    step("double precision compiles", double_precision),
    step("other platforms", |on| platforms::brief(on.workspace)).only(When::Briefly).unless(no_room),
    step("all platforms", |on| platforms::all(on.workspace)).only(When::AtLength).unless(no_room),
    step("package", |on| plain(on.zip())),
    step("first open of a new project", |on| on.trial()?.first_open()),
    step("a script in that project", |on| on.trial()?.script()),
    step("editor panel", |on| panel::headless(on.workspace, on.godot, on.zip()?)),
    step("snippets of the documentation", |on| on.trial()?.snippets()),
    step("help in the editor", |on| on.trial()?.help()),
    step("exported game", |on| on.trial()?.exported_game(template(on)?)).unless(no_template),
    step("conformance, exported game", |on| suites::exported(on.workspace, on.godot, template(on)?))
        .unless(no_template),
    step("quitting, 5 runs", |on| on.trial()?.quit(5)).only(When::Briefly),
    step("quitting, 50 runs", |on| on.trial()?.quit(50)).only(When::AtLength),
    step("conformance, 200000 random values", |on| random_conformance(on, 200_000)).only(When::AtLength),
    step("valgrind", |on| valgrind::run(on.workspace, on.godot, valgrind::Size::default()))
        .only(When::AtLength)
        .unless(no_valgrind),
    step("reloading", reloading).only(When::AtLength),
    step("editor window", |on| on.trial()?.window()).only(When::AtLength).unless(no_screen),
    step("editor panel in a window", |on| {
        panel::window(on.workspace, on.godot, on.zip()?, &panel::Options::default())
    })
    .only(When::AtLength)
    .unless(no_screen),
];

/// What a step works on.
struct Stage<'a> {
    workspace: &'a Workspace,
    godot: &'a Godot,
    zip: OnceCell<PathBuf>,
    trial: OnceCell<Trial<'a>>,
}

struct Step {
    name: &'static str,
    check: fn(&Stage<'_>) -> Result<Tally>,
    when: When,
    unless: fn(&Stage<'_>) -> Result<Option<&'static str>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    /// Only without `--all`, which has a longer step instead.
    Briefly,
    /// Only with `--all`.
    AtLength,
}

const fn step(name: &'static str, check: fn(&Stage<'_>) -> Result<Tally>) -> Step {
    Step { name, check, when: When::Always, unless: |_| Ok(None) }
}

impl Step {
    const fn only(self, when: When) -> Self {
        Self { when, ..self }
    }

    /// Skips the step if `unless` returns a reason.
    const fn unless(self, unless: fn(&Stage<'_>) -> Result<Option<&'static str>>) -> Self {
        Self { unless, ..self }
    }
}

/// Runs all checks, or stops at the first failure, and returns whether all passed; `at_length` adds the long ones, and
/// `from` names the step to begin with.
///
/// The last line that it prints is `N passed, N failed`.
pub fn all(workspace: &Workspace, at_length: bool, from: Option<&str>) -> bool {
    let mut list = Checklist::default();
    let verdict = run_all(workspace, at_length, from, &mut list);
    if let Err(error) = &verdict {
        eprintln!("error: {error:#}");
    }
    list.print();
    verdict.is_ok()
}

fn run_all(workspace: &Workspace, at_length: bool, from: Option<&str>, list: &mut Checklist) -> Result<()> {
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
    let left_out = if at_length { When::Briefly } else { When::AtLength };
    for Step { name, check, unless, .. } in STEPS[first..].iter().filter(|step| step.when != left_out) {
        match unless(&stage)? {
            Some(reason) => list.skip(name, reason),
            None => list.step(name, || Ok((check(&stage)?, ())))?,
        }
    }
    Ok(())
}

impl Stage<'_> {
    /// The zip that users install.
    fn zip(&self) -> Result<&Path> {
        once(&self.zip, || package::write(self.workspace, None)).map(PathBuf::as_path)
    }
}

impl<'a> Stage<'a> {
    /// A new project with the addon.
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

/// The help and the snippets alone.
pub fn documentation(workspace: &Workspace, godot: &Godot) -> Result<Tally> {
    let trial = Trial::install(workspace, godot, &package::write(workspace, None)?)?;
    trial.first_open()?;
    Ok(trial.snippets()? + trial.help()?)
}

/// A zip in a new project, as users install it.
pub fn trial(workspace: &Workspace, godot: &Godot, zip: &Path) -> Result<Tally> {
    let trial = Trial::install(workspace, godot, zip)?;
    let opened = trial.first_open()?;
    let called = trial.script()?;
    match godot.template_release.as_deref() {
        Some(template) => Ok(opened + called + trial.exported_game(template)?),
        None => Ok(opened + called),
    }
}

fn plain<T>(result: Result<T>) -> Result<Tally> {
    result.map(|_| Tally::default())
}

// Ways in which the extension works.

const DEFAULT: Access = Access { portable: false, threads: None, threshold: None };
const PORTABLE: Access = Access { portable: true, ..DEFAULT };
/// Every value is split among threads, however small.
const SHARED_OUT: Access = Access { threshold: Some(0), ..threads(4) };

const fn threads(threads: u32) -> Access {
    Access { threads: Some(threads), ..DEFAULT }
}

// Reasons to leave a step out.

fn no_godot_3(_: &Stage<'_>) -> Result<Option<&'static str>> {
    Ok((!godot3::can_be_had()).then_some("no server build for this system, and no GODOT3_BIN"))
}

fn no_address_limit(_: &Stage<'_>) -> Result<Option<&'static str>> {
    Ok((!cfg!(target_os = "linux")).then_some("only Linux limits the address space"))
}

fn no_holes(_: &Stage<'_>) -> Result<Option<&'static str>> {
    Ok((!cfg!(target_os = "linux"))
        .then_some("only Linux tells the memory of a process, and makes files with holes"))
}

const NO_TEMPLATE: &str = "this Godot has no export template beside it";

fn no_template(on: &Stage<'_>) -> Result<Option<&'static str>> {
    Ok(on.godot.template_release.is_none().then_some(NO_TEMPLATE))
}

fn no_npm(_: &Stage<'_>) -> Result<Option<&'static str>> {
    Ok((!workflows::can_be_checked())
        .then_some("npm and node are not installed; on Debian: apt-get install npm"))
}

fn no_room(on: &Stage<'_>) -> Result<Option<&'static str>> {
    let reason = "Debian's compilers cannot be installed or run here; cargo xtask platforms says why";
    Ok(platforms::obstacle(on.workspace).is_some().then_some(reason))
}

fn no_valgrind(on: &Stage<'_>) -> Result<Option<&'static str>> {
    Ok(godot::valgrind(on.workspace, on.godot).is_err().then_some(godot::NO_VALGRIND))
}

fn no_screen(_: &Stage<'_>) -> Result<Option<&'static str>> {
    let reason = "Xvfb is not installed; on Debian: apt-get install xvfb";
    Ok(trial::screen_server().is_none().then_some(reason))
}

// What the steps do.

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
    // With all features of the crates for programs in Rust, because their examples run here too.
    cargo.args(["test", "--workspace", "--features", "variant_codec/serde"]);
    let outcome = run::watch(&mut cargo, Echo::DirectErrors, CARGO_LIMIT)?;
    let tally = judge::rust_tally(&outcome.stdout);
    match outcome.bad_end() {
        Some(end) => bail!("`cargo test` {end}; {tally}"),
        None => Ok(tally),
    }
}

fn protobuf_oracle(on: &Stage<'_>) -> Result<Tally> {
    let options = protobuf::Options { schemas: Some(60), seed: 1, ..Default::default() };
    protobuf::run(on.workspace, &options)
}

fn conformance(on: &Stage<'_>, access: Access) -> Result<Tally> {
    suites::conformance(on.workspace, on.godot, &Conformance { access, ..Default::default() })
}

/// The suites whose values are split among threads, or that run beside the game.
const SPLIT: [&str; 9] =
    ["batches", "large", "threads", "files", "jobs", "ownership", "messages", "dialects", "random"];

fn conformance_of(on: &Stage<'_>, access: Access, suites: &[&str]) -> Result<Tally> {
    let one = |only: &&str| {
        let options = Conformance { access, only: Some((*only).to_owned()), ..Default::default() };
        suites::conformance(on.workspace, on.godot, &options)
    };
    suites.iter().map(one).sum()
}

fn random_conformance(on: &Stage<'_>, values: u64) -> Result<Tally> {
    let options = Conformance { random: Some(values), ..Default::default() };
    suites::conformance(on.workspace, on.godot, &options)
}

fn differential_fuzzing(on: &Stage<'_>, access: Access) -> Result<Tally> {
    let options = diff::Options { cases: Some(10_000), access, ..Default::default() };
    diff::run(on.workspace, on.godot, &options)
}

fn many_threads(on: &Stage<'_>, access: Access) -> Result<Tally> {
    let options = stress::Options { calls: Some(500), access, ..Default::default() };
    stress::run(on.workspace, on.godot, &options)
}

type Exchange = fn(&Workspace, &Godot, &[Godot3], &exchange::Options) -> Result<Tally>;

fn godot_3(on: &Stage<'_>, exchange: Exchange, access: Access) -> Result<Tally> {
    let old = godot3::find_or_install(on.workspace)?;
    exchange(on.workspace, on.godot, &old, &exchange::Options { access, ..Default::default() })
}

fn endurance(on: &Stage<'_>, portable: bool) -> Result<Tally> {
    let endurance = Endurance { calls: 300_000, batches: 300, seed: endure::SEED, portable };
    endure::run(on.workspace, on.godot, &endurance)
}

fn changing_jobs(on: &Stage<'_>, access: Access) -> Result<Tally> {
    jobs::run(on.workspace, on.godot, &jobs::Options { jobs: 4000, seed: 1, access })
}

fn killed(on: &Stage<'_>, times: u64) -> Result<Tally> {
    kill::run(on.workspace, on.godot, kill::Options { times, seed: 1 })
}

/// There is no engine of that kind here, so the available one describes its API.
fn double_precision(on: &Stage<'_>) -> Result<Tally> {
    let mut cargo = on.workspace.cargo();
    let double = Some(godot::api_description(on.workspace, on.godot)?);
    library::choose(cargo.arg("check"), &Build { double, ..Build::default() });
    plain(run::through(&mut cargo))
}

fn template<'a>(on: &Stage<'a>) -> Result<&'a Path> {
    on.godot.template_release.as_deref().context(NO_TEMPLATE)
}

fn reloading(on: &Stage<'_>) -> Result<Tally> {
    let release = on.trial()?.reload(Profile::Release)?;
    Ok(release + on.trial()?.reload(Profile::Debug)?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_step_has_a_name_of_its_own() {
        let names: BTreeSet<_> = STEPS.iter().map(|step| step.name).collect();
        assert_eq!(names.len(), STEPS.len());
    }
}
