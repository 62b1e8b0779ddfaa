//! Runs the suites in engines for other machines; Debian's engines run under emulation.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use super::table::{Engine, Platform, Runner};
use super::toolchain::Toolchain;
use crate::build::Build;
use crate::godot::{self, Godot};
use crate::judge::{self, Tally};
use crate::project;
use crate::run::{self, Echo};
use crate::sandbox::starter;
use crate::suite::{self, Access, Conformance};

/// The number of random values for each run: few, because emulation is about twenty times slower.
pub const RANDOM: u64 = 200;
/// All suites except `hostile`, `large` and `classes`. `hostile` repeats the checks of `random` for thousands
/// of packets, and takes most of an hour under emulation. `large` tests threads, and takes ten minutes.
pub const SUITES: [&str; 18] = [
    "surface",
    "report",
    "values",
    "rows",
    "batches",
    "threads",
    "objects",
    "outlines",
    "files",
    "jobs",
    "ownership",
    "messages",
    "dialects",
    "conversions",
    "limits",
    "views",
    "patches",
    "random",
];
/// The suites that run again, on the other access path and with another number of threads.
const AGAIN: [&str; 4] = ["values", "batches", "files", "jobs"];
const LIMIT: Duration = Duration::from_secs(3600);

/// Runs all suites in this machine's engine. Returns the engine's version and the tally.
pub fn own(toolchain: &Toolchain<'_>) -> Result<(String, Tally)> {
    let godot = godot::find_or_install(toolchain.workspace)?;
    let folder = project::copied(toolchain.workspace, &Build::default())?;
    let project = suite::bundled(toolchain.workspace, &godot, folder.path())?;
    let tally = suite::in_project(&project, &Conformance::default(), LIMIT)?;
    Ok((godot.version, tally))
}

/// Runs the suites in Debian's engine for a platform and in a game. Returns the engine's version and the
/// tally.
pub fn conformance(
    toolchain: &Toolchain<'_>,
    platform: &Platform,
    architecture: &str,
    library: &Path,
) -> Result<(String, Tally)> {
    let Runner::Qemu(emulator) = platform.runner else { bail!("no emulator for {}", platform.name) };
    let emulated = Emulated { toolchain, emulator };
    let godot = emulated.godot(architecture)?;
    let mut total = suites(toolchain, platform, &godot, library)?;
    if let Some(template) = &godot.template_release {
        // This machine's editor exports the game; the emulator runs it.
        let own = godot::find_or_install(toolchain.workspace)?;
        let folder = exportable(toolchain, platform, library)?;
        let game = suite::exported_game(toolchain.workspace, &own, folder.path(), template, architecture)?;
        let mut command = suite::bundled(toolchain.workspace, &own, folder.path())?.engine(Path::new("sh"));
        let start = folder.path().join("start.sh");
        starter(emulated.command(&game).arg("--headless"), &start)?;
        command.arg(&start).args(["--", "--random", &RANDOM.to_string(), "--only", "values"]);
        let outcome = run::watch(&mut command, Echo::Nothing, LIMIT)?;
        let tally =
            judge::suite(&outcome).with_context(|| format!("the exported game printed:\n{}", outcome.log))?;
        println!("{}, exported game, suite values: {tally}", platform.name);
        total = total + tally;
    }
    Ok((godot.version, total))
}

/// Runs [`SUITES`] and [`AGAIN`] in this engine with this library, even if some fail.
pub fn suites(
    toolchain: &Toolchain<'_>,
    platform: &Platform,
    godot: &Godot,
    library: &Path,
) -> Result<Tally> {
    let folder = copy_of_project(toolchain, platform, library)?;
    if platform.engine == Engine::Windows {
        for_small_engine(folder.path())?;
    }
    let project = suite::bundled(toolchain.workspace, godot, folder.path())?;
    let one = Access { threads: Some(1), portable: true, ..Access::default() };
    let two = Access { threads: Some(2), ..Access::default() };
    let with = |access: Access, names: &[&'static str]| {
        each(platform, names, |only| {
            let choices = Conformance {
                access,
                random: Some(RANDOM),
                only: Some(only.to_owned()),
                ..Conformance::default()
            };
            suite::in_project(&project, &choices, LIMIT).with_context(|| format!("{access:?}"))
        })
    };
    let (first, second) = (with(two, &SUITES), with(one, &AGAIN));
    Ok(first? + second?)
}

/// Runs all these suites, even if some fail.
pub fn each(
    platform: &Platform,
    names: &[&'static str],
    run: impl Fn(&str) -> Result<Tally>,
) -> Result<Tally> {
    let (mut total, mut failed) = (Tally::default(), Vec::new());
    for name in names {
        let started = Instant::now();
        match run(name) {
            Ok(tally) => {
                let seconds = started.elapsed().as_secs();
                println!("{}, suite {name}: {tally}, {seconds} s", platform.name);
                total = total + tally;
            }
            Err(error) => {
                eprintln!("error: {}, suite {name}: {error:#}", platform.name);
                failed.push(*name);
            }
        }
    }
    ensure!(failed.is_empty(), "{total}, and these suites failed: {}", failed.join(", "));
    Ok(total)
}

/// An engine whose editor is a script called `name`, which runs `command`.
pub fn started(toolchain: &Toolchain<'_>, name: &str, command: &Command) -> Result<Godot> {
    let editor = toolchain.folder(name);
    starter(command, &editor)?;
    Ok(Godot { version: godot::version(&editor)?, editor, template_release: None })
}

/// Prepares a copy of the project for an engine with few modules. The engine has no physics, and no editor
/// has listed the script classes.
pub fn for_small_engine(folder: &Path) -> Result<()> {
    let settings = folder.join("project.godot");
    let text = fs::read_to_string(&settings)?;
    fs::write(
        &settings,
        format!("{text}\n[physics]\n\n2d/physics_engine=\"Dummy\"\n3d/physics_engine=\"Dummy\"\n"),
    )?;
    fs::create_dir_all(folder.join(".godot"))?;
    Ok(fs::write(folder.join(".godot/global_script_class_cache.cfg"), "list=[]\n")?)
}

/// A copy of the project with the libraries of both machines, so that this machine's editor can export it.
pub fn exportable(toolchain: &Toolchain<'_>, platform: &Platform, library: &Path) -> Result<TempDir> {
    project::copied_with(toolchain.workspace, |addon| {
        crate::build::build_into(toolchain.workspace, &Build::default(), addon)?;
        crate::build::put(library, &platform.build(), addon)
    })
}

fn copy_of_project(toolchain: &Toolchain<'_>, platform: &Platform, library: &Path) -> Result<TempDir> {
    project::copied_with(toolchain.workspace, |addon| crate::build::put(library, &platform.build(), addon))
}

struct Emulated<'a> {
    toolchain: &'a Toolchain<'a>,
    emulator: &'static str,
}

impl Emulated<'_> {
    /// Debian's engine for this architecture. The platform's packages include it.
    fn godot(&self, architecture: &str) -> Result<Godot> {
        let editor = self.toolchain.folder(&format!("godot-{architecture}.sh"));
        starter(&self.command(Path::new("/usr/bin/godot")), &editor)?;
        let template = self.toolchain.sandbox.root().join("usr/bin/godot-template-release");
        Ok(Godot {
            version: godot::version(&editor)?,
            editor,
            template_release: template.is_file().then_some(template),
        })
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = self.toolchain.command(self.emulator);
        command.arg(program);
        command
    }
}
