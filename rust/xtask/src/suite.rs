//! The suites of `godot-project/`, run in the real engine and judged.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::build::{self, Build};
use crate::export;
use crate::godot::Godot;
use crate::judge::{self, Tally};
use crate::project::{self, Project};
use crate::run::{self, Echo};
use crate::workspace::Workspace;

pub const THREADS_VARIABLE: &str = "FAST_VARIANT_CODEC_THREADS";

pub const ACCESS_VARIABLE: &str = "FAST_VARIANT_CODEC_ACCESS";

const THRESHOLD_VARIABLE: &str = "FAST_VARIANT_CODEC_PARALLEL_THRESHOLD_BYTES";

/// The environment variable that makes one fact about engine memory wrong, to check that the extension
/// detects it.
const WRONG_FACT_VARIABLE: &str = "FAST_VARIANT_CODEC_WRONG_FACT";

/// The environment variable that injects a panic at a named point, to check that no panic reaches a script.
pub const PANIC_VARIABLE: &str = "FAST_VARIANT_CODEC_PANIC";

/// The timeout, long enough for the slowest suite on a slow machine.
pub const LIMIT: Duration = Duration::from_secs(20 * 60);

/// The extension's access path and threading.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct Access {
    /// Use only the engine's documented functions
    #[arg(long)]
    pub portable: bool,
    /// Worker threads of the codec [default: its own choice]
    #[arg(long, value_name = "N")]
    pub threads: Option<u32>,
    /// Size in bytes from which a value is split among the threads [default: the codec's own choice]
    #[arg(long, value_name = "BYTES")]
    pub threshold: Option<u64>,
}

impl Access {
    pub fn apply(&self, command: &mut Command) {
        if let Some(threads) = self.threads {
            command.env(THREADS_VARIABLE, threads.to_string());
        }
        if let Some(threshold) = self.threshold {
            command.env(THRESHOLD_VARIABLE, threshold.to_string());
        }
        if self.portable {
            command.env(ACCESS_VARIABLE, "portable");
        }
    }
}

/// Options of the suites.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Conformance {
    #[command(flatten)]
    pub access: Access,
    /// Seed of the random values, to repeat a run
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// The number of random values
    #[arg(long, value_name = "N")]
    pub random: Option<u64>,
    /// The suite, or several suites separated by commas [default: all]
    #[arg(value_name = "NAME")]
    pub only: Option<String>,
    /// Run in an exported release game instead of the editor build
    #[arg(long)]
    pub exported: bool,
}

impl Conformance {
    fn arguments(&self) -> Vec<String> {
        named([
            ("--seed", self.seed.map(|seed| seed.to_string())),
            ("--random", self.random.map(|count| count.to_string())),
            ("--only", self.only.clone()),
        ])
    }
}

/// The command-line arguments for the options that have a value.
pub fn named<const N: usize>(choices: [(&str, Option<String>); N]) -> Vec<String> {
    choices.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value?])).flatten().collect()
}

/// Runs the suites in the bundled project or, with `options.exported`, in an exported game.
pub fn run(workspace: &Workspace, godot: &Godot, options: &Conformance) -> Result<Tally> {
    if options.exported {
        return exported(workspace, godot, options);
    }
    let folder = workspace.project();
    let project = bundled(workspace, godot, &folder)?;
    let mut command = project.script("res://suites/run.gd", &options.arguments());
    options.access.apply(&mut command);
    judge::suite(&run::watch(&mut command, Echo::All, LIMIT)?)
}

/// Runs the suites in any project that contains them, without echoing the output.
pub fn in_project(project: &Project<'_>, options: &Conformance, limit: Duration) -> Result<Tally> {
    let mut command = project.script("res://suites/run.gd", &options.arguments());
    options.access.apply(&mut command);
    let outcome = run::watch(&mut command, Echo::Nothing, limit)?;
    judge::suite(&outcome).with_context(|| format!("the suite printed:\n{}", outcome.log))
}

/// The project settings that enable the addon in the editor, so that its export plugin adds the files that
/// games need.
const PLUGIN: &str =
    "[editor_plugins]\n\nenabled=PackedStringArray(\"res://addons/fast_variant_codec/plugin.cfg\")\n";

/// Exports a copy of the bundled project as a release game, and runs the suites in it.
fn exported(workspace: &Workspace, godot: &Godot, options: &Conformance) -> Result<Tally> {
    let template = godot.template_release.as_deref().context(NO_TEMPLATE)?;
    let folder = project::copied(workspace, &Build::default())?;
    let game = exported_game(workspace, godot, folder.path(), template, export::ARCHITECTURE)?;
    let mut command = bundled(workspace, godot, folder.path())?.engine(&game);
    command.args(["--headless", "--"]).args(options.arguments());
    options.access.apply(&mut command);
    judge::suite(&run::watch(&mut command, Echo::All, LIMIT)?)
}

pub const NO_TEMPLATE: &str = "this Godot has no export template beside it";

/// Turns the copy of the project in `folder` into a game that runs all suites, and exports it for
/// `architecture`.
pub fn exported_game(
    workspace: &Workspace,
    godot: &Godot,
    folder: &Path,
    template: &Path,
    architecture: &str,
) -> Result<PathBuf> {
    make_game(folder, RUNNER)?;
    let project = bundled(workspace, godot, folder)?;
    export::game(&project, folder, template, architecture)
}

pub const RUNNER: &str = "suites/run.gd";
/// The script that makes every method panic.
pub const PANICS: &str = "suites/panics.gd";

/// Turns the copy of the project in `folder` into a game that runs this script.
pub fn make_game(folder: &Path, script: &str) -> Result<()> {
    // Release templates take no `--script`, so the script becomes the main loop, which needs a name.
    let runner = folder.join(script);
    let script =
        fs::read_to_string(&runner)?.replacen("extends SceneTree", "class_name Runner extends SceneTree", 1);
    fs::write(&runner, script)?;
    let settings = folder.join("project.godot");
    let demo = fs::read_to_string(&settings)?;
    let lines = demo.lines().map(|line| match line.starts_with("run/main_scene=") {
        true => "run/main_loop_type=\"Runner\"\nrun/main_scene=\"res://empty.tscn\"",
        false => line,
    });
    fs::write(folder.join("empty.tscn"), "[gd_scene format=3]\n\n[node name=\"Empty\" type=\"Node\"]\n")?;
    Ok(fs::write(&settings, lines.chain([PLUGIN]).collect::<Vec<_>>().join("\n"))?)
}

/// The suites that behave differently in a library without threads.
const WITHOUT_THREADS: &str = "batches,large,files,jobs,threads,dialects,messages";

/// Runs [`WITHOUT_THREADS`] with a library built without threads.
pub fn without_threads(workspace: &Workspace, godot: &Godot) -> Result<Tally> {
    let folder = project::copied(workspace, &Build { no_threads: true, ..build::with_faults() })?;
    let project = bundled(workspace, godot, folder.path())?;
    let options = Conformance { only: Some(WITHOUT_THREADS.to_owned()), ..Default::default() };
    let tally = in_project(&project, &options, LIMIT)?;
    println!("{tally}");
    Ok(tally)
}

/// Checks that the extension detects each wrong fact at start-up, warns once, reports the fact, and still
/// passes the suites.
pub fn wrong_facts(workspace: &Workspace, godot: &Godot) -> Result<Tally> {
    let folder = project::copied(workspace, &build::with_faults())?;
    let project = bundled(workspace, godot, folder.path())?;
    let facts = facts(&project)?;
    let mut all = Tally::default();
    for fact in facts {
        let arguments = ["--only", "values,report", "--random", "0"].map(str::to_owned);
        let mut command = project.script("res://suites/run.gd", &arguments);
        command.env(WRONG_FACT_VARIABLE, &fact);
        let outcome = run::watch(&mut command, Echo::Nothing, LIMIT)?;
        let tally = judge::suite(&outcome).with_context(|| format!("with {fact} wrong"))?;
        let warnings =
            outcome.log.lines().filter(|line| line.starts_with("WARNING: FastVariantCodec:")).count();
        ensure!(
            warnings == 1,
            "with {fact} wrong there were {warnings} warnings instead of one:\n{}",
            outcome.log
        );
        all = all + tally;
    }
    println!("{all}");
    Ok(all)
}

/// The facts about engine memory that can be made wrong.
fn facts(project: &Project<'_>) -> Result<Vec<String>> {
    let facts: Vec<_> = printed(project, "res://suites/facts.gd")?.lines().map(str::to_owned).collect();
    ensure!(!facts.is_empty(), "there are no facts");
    Ok(facts)
}

/// A project's own settings, as the project settings dialog writes them.
const OWN_SETTINGS: &str = "
[fast_variant_codec]

threads=1
threads.editor=3
parallel_threshold_bytes=1000
access_path=\"portable\"
";

/// Checks that the project settings for threads, threshold and access path take effect. The portable path
/// must not warn about a wrong fact.
pub fn own_settings(workspace: &Workspace, godot: &Godot) -> Result<Tally> {
    let folder = project::copied(workspace, &build::with_faults())?;
    let file = folder.path().join("project.godot");
    fs::write(&file, fs::read_to_string(&file)? + OWN_SETTINGS)?;
    let project = bundled(workspace, godot, folder.path())?;
    let mut command = project.script("res://suites/settings.gd", &[]);
    command.env(WRONG_FACT_VARIABLE, &facts(&project)?[0]);
    let outcome = run::watch(&mut command, Echo::All, LIMIT)?;
    let warned = outcome.log.contains("WARNING: FastVariantCodec:");
    ensure!(!warned, "access_path=\"portable\" had no effect:\n{}", outcome.log);
    judge::suite(&outcome)
}

/// Checks the number of error lines that each failure prints.
pub fn messages(workspace: &Workspace, godot: &Godot) -> Result<Tally> {
    let folder = workspace.project();
    let project = bundled(workspace, godot, &folder)?;
    announced(&mut project.script("res://suites/messages.gd", &[]))
}

/// Checks a panic in every method, and a panic at every inner point that catches panics.
pub fn panics(workspace: &Workspace, godot: &Godot) -> Result<Tally> {
    let folder = project::copied(workspace, &build::with_faults())?;
    let project = bundled(workspace, godot, folder.path())?;
    let mut command = project.script(&format!("res://{PANICS}"), &[]);
    command.env(PANIC_VARIABLE, "nowhere");
    Access { threads: Some(4), threshold: Some(0), portable: false }.apply(&mut command);
    announced(&mut command)
}

/// Checks a view of a sparse file larger than 4 GiB, and its memory use.
pub fn large_file(workspace: &Workspace, godot: &Godot) -> Result<Tally> {
    let folder = workspace.project();
    let project = bundled(workspace, godot, &folder)?;
    let outcome = run::watch(&mut project.script("res://suites/large_file.gd", &[]), Echo::All, LIMIT)?;
    judge::suite(&outcome)
}

/// Runs a script that announces each call with its expected number of error lines, and checks the numbers.
pub fn announced(command: &mut Command) -> Result<Tally> {
    let outcome = run::watch(command, Echo::Nothing, LIMIT)?;
    let calls = match judge::expectations(&outcome.stderr) {
        Ok(calls) => calls,
        Err(reason) => bail!("{reason}; the suite printed:\n{}", outcome.log),
    };
    if let Some(end) = outcome.bad_end() {
        bail!("Godot {end}; the suite printed:\n{}", outcome.log);
    }
    for call in calls.iter().filter(|call| !call.held()) {
        println!("FAILED {}: {} error line(s), expected {}", call.name, call.errors.len(), call.expected);
        for line in call.errors.iter().chain(&call.others) {
            println!("    {line}");
        }
    }
    let passed = calls.iter().filter(|call| call.held()).count() as u64;
    let tally = Tally { passed, failed: calls.len() as u64 - passed };
    println!("{tally}");
    ensure!(tally.failed == 0, "{tally}");
    ensure!(tally.passed > 0, "the suite checked nothing");
    Ok(tally)
}

/// Writes this engine's byte vectors, and returns the number of lines.
pub fn write_vectors(workspace: &Workspace, godot: &Godot, to: &Path) -> Result<usize> {
    let folder = workspace.project();
    let project = bundled(workspace, godot, &folder)?;
    vectors_of(&project, "res://suites/write_vectors.gd", to)
}

/// Writes this engine's vectors for types of Rust programs, and returns the number of lines.
pub fn write_serde_vectors(workspace: &Workspace, godot: &Godot, to: &Path) -> Result<usize> {
    let folder = workspace.project();
    vectors_of(&bundled(workspace, godot, &folder)?, "res://suites/write_serde_vectors.gd", to)
}

/// Writes this engine's compressed and encrypted files as vectors, and returns the number of lines.
pub fn write_wrapped_vectors(workspace: &Workspace, godot: &Godot, to: &Path) -> Result<usize> {
    let folder = workspace.project();
    vectors_of(&bundled(workspace, godot, &folder)?, "res://suites/write_wrapped_vectors.gd", to)
}

fn vectors_of(project: &Project<'_>, script: &str, to: &Path) -> Result<usize> {
    let lines = printed(project, script)?;
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(to, &lines).with_context(|| format!("cannot write {}", to.display()))?;
    Ok(lines.lines().count())
}

/// The lines that a script prints between its markers.
fn printed(project: &Project<'_>, script: &str) -> Result<String> {
    let outcome = run::watch(&mut project.script(script, &[]), Echo::Nothing, LIMIT)?;
    if let Err(reason) = judge::clean(&outcome) {
        bail!("{reason}; the script printed:\n{}", outcome.log);
    }
    let lines = marked(&outcome.stdout).context("the script printed no `@@ begin` … `@@ end`")?;
    Ok(lines.to_owned())
}

/// The bundled project in `folder`, with the extension.
pub fn bundled<'a>(workspace: &Workspace, godot: &'a Godot, folder: &'a Path) -> Result<Project<'a>> {
    let project = Project::new(workspace, godot, folder)?;
    project.register_extension()?;
    Ok(project)
}

fn marked(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("@@ begin\n")?;
    let end = rest.find("@@ end")?;
    Some(&rest[..end])
}
