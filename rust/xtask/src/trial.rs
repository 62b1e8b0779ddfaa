//! `cargo xtask trial`: the packaged addon in a new project, as users install it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::archive;
use crate::build::{self, Build, Profile};
use crate::export;
use crate::godot::{self, Godot};
use crate::judge::{self, Tally};
use crate::package;
use crate::panel;
use crate::progress::Progress;
use crate::project::{self, Project};
use crate::run::{self, Echo, Finished};
use crate::screen::{Screen, without_vulkan_probe};
use crate::workspace::{EXTENSION, Workspace};

/// The files of the project, besides the addon.
const FILES: [(&str, &str); 17] = [
    ("project.godot", include_str!("../trial/project.godot")),
    ("compare.gd", include_str!("../trial/compare.gd")),
    ("compare_and_quit.gd", include_str!("../trial/compare_and_quit.gd")),
    ("slots.gd", include_str!("../trial/slots.gd")),
    ("batch_and_quit.gd", include_str!("../trial/batch_and_quit.gd")),
    ("jobs_and_quit.gd", include_str!("../trial/jobs_and_quit.gd")),
    ("stats.gd", include_str!("../trial/stats.gd")),
    ("stats.tres", include_str!("../trial/stats.tres")),
    ("main.gd", include_str!("../trial/main.gd")),
    ("reload.gd", include_str!("../trial/reload.gd")),
    ("pages.gd", include_str!("../trial/pages.gd")),
    ("snippets.gd", include_str!("../trial/snippets.gd")),
    ("messages/snapshot.proto", include_str!("../trial/messages/snapshot.proto")),
    ("messages/number.proto", include_str!("../trial/messages/number.proto")),
    ("main.tscn", include_str!("../trial/main.tscn")),
    ("addons/trial/plugin.cfg", include_str!("../trial/addons/trial/plugin.cfg")),
    ("addons/trial/plugin.gd", include_str!("../trial/addons/trial/plugin.gd")),
];

/// Additional files for the export, most of them in folders that the engine ignores.
const SCHEMAS: [(&str, &str); 6] = [
    ("UPPER.PROTO", FILTERED),
    ("nested/project.godot", ""),
    ("nested/a.proto", ""),
    ("ignored/.gdignore", ""),
    ("ignored/a.proto", ""),
    (".hidden/a.proto", ""),
];
/// The text of a schema that both the addon and the preset's filters would include.
const FILTERED: &str = "syntax = \"proto3\"; // filtered\n";

/// The number of frames after which the editor has finished its first scan, loaded extensions and enabled
/// plugins.
const SETTLED: &str = "400";
pub const EDITOR_LIMIT: Duration = Duration::from_secs(300);
pub const RUN_LIMIT: Duration = Duration::from_secs(120);
/// The time limit of a run that quits. A batch and a quit take well under a second. A run that takes longer
/// has a thread that keeps the process alive.
const QUIT_LIMIT: Duration = Duration::from_secs(30);

/// The steps of the trial.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// A zip that `cargo xtask package` wrote [default: build the library and write one]
    zip: Option<PathBuf>,
    /// Succeed without a trial if the zip has no library for this machine
    #[arg(long, requires = "zip")]
    skip_missing: bool,
    /// Also use an editor window on a virtual display: open it, drive the panel, reload the library
    #[arg(long)]
    window: bool,
    /// Save a picture of each tab of the panel in this folder
    #[arg(long, value_name = "DIR", requires = "window")]
    pictures: Option<PathBuf>,
}

/// Installs the addon, opens the project in the editor, runs a script and an exported game.
pub fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let zip = match &options.zip {
        Some(zip) => zip.clone(),
        None => {
            build::build(workspace, &Build::default())?;
            package::partial(workspace)?
        }
    };
    let library = build::host_library_path()?;
    if !package::contains_file(&zip, &library)? {
        let missing = format!("{} has no library for this machine ({library})", zip.display());
        ensure!(options.skip_missing, missing);
        println!("skipped: {missing}");
        return Ok(());
    }
    let godot = &godot::find_or_install(workspace)?;
    let trial = Trial::install(workspace, godot, &zip)?;
    let mut total = trial.first_open()? + trial.script()?;
    if let Some(template) = &godot.template_release {
        total = total + trial.exported_game(template)?;
    }
    if options.window {
        total = total + trial.window()?;
        total = total + panel::window(workspace, godot, &zip, options.pictures.as_deref())?;
        total = total + trial.reload(Profile::Release)? + trial.reload(Profile::Debug)?;
    }
    println!("{total}");
    Ok(())
}

/// An empty project with the addon from the zip.
pub struct Trial<'a> {
    pub workspace: &'a Workspace,
    godot: &'a Godot,
    pub folder: TempDir,
    /// The addon's files as the zip had them.
    shipped: Vec<PathBuf>,
}

impl<'a> Trial<'a> {
    /// Unpacks `zip` into a new project, which is removed on drop.
    pub fn install(workspace: &'a Workspace, godot: &'a Godot, zip: &Path) -> Result<Self> {
        let folder = project::with_addon(workspace, "trial-", zip, &FILES)?;
        let shipped = archive::files_under(&folder.path().join("addons").join(EXTENSION))?;
        Ok(Self { workspace, godot, folder, shipped })
    }

    /// Opens the project in the editor for the first time, without a window.
    pub fn first_open(&self) -> Result<Tally> {
        let project = self.project()?;
        let _step = Progress::spinner("opening a new project in the editor");
        let mut command = project.headless();
        command.args(["--editor", "--quit-after", SETTLED]);
        self.judge_editor(run::watch(&mut command, Echo::Nothing, EDITOR_LIMIT)?)?;
        let list = self.folder.path().join(".godot/extension_list.cfg");
        let listed = fs::read_to_string(&list).context("the editor wrote no .godot/extension_list.cfg")?;
        ensure!(listed.contains(EXTENSION), "the editor did not list the extension: {listed}");
        let changed = self.unexpected_files()?;
        ensure!(changed.is_empty(), "opening the project added files to the addon: {}", changed.join(", "));
        Ok(Tally { passed: 3, failed: 0 })
    }

    pub fn window(&self) -> Result<Tally> {
        let screen = Screen::open()?;
        let project = self.project()?;
        let _step = Progress::spinner("opening the project in an editor window");
        let mut command = project.engine(&self.godot.editor);
        command.arg("--path").arg(self.folder.path()).args(["--quit-after", SETTLED]);
        command.arg("--editor");
        screen.apply(&mut command);
        let mut outcome = run::watch(&mut command, Echo::Nothing, EDITOR_LIMIT)?;
        outcome.log = without_vulkan_probe(&outcome.log);
        self.judge_editor(outcome)?;
        Ok(Tally { passed: 1, failed: 0 })
    }

    pub fn script(&self) -> Result<Tally> {
        let mut command = self.project()?.script("res://compare_and_quit.gd", &[]);
        judge::suite(&run::watch(&mut command, Echo::All, RUN_LIMIT)?)
    }

    /// Quits `runs` times in each of three states: after a batch, with new jobs, and with jobs that are one
    /// frame old. Every run must end by itself and cleanly, and must keep the data being saved.
    pub fn quit(&self, runs: u64) -> Result<Tally> {
        let step = Progress::count("quitting", runs);
        for number in 1..=runs {
            for (script, argument) in [
                ("batch_and_quit.gd", ""),
                ("jobs_and_quit.gd", ""),
                ("jobs_and_quit.gd", "--check"),
                ("jobs_and_quit.gd", "--later"),
                ("jobs_and_quit.gd", "--check"),
            ] {
                let mut command = self.project()?.headless();
                command.args(["--verbose", "--script", &format!("res://{script}"), "--", argument]);
                let outcome = run::watch(&mut command, Echo::Nothing, QUIT_LIMIT)?;
                judge::clean(&outcome).with_context(|| {
                    format!("{script} {argument}, run {number} of {runs}:\n{}", outcome.log)
                })?;
            }
            step.step();
        }
        step.done();
        Ok(Tally { passed: 5 * runs, failed: 0 })
    }

    /// Replaces and reloads the addon's library in the editor while threads call it. A debug library is
    /// unloaded; a release library stays loaded until the process ends.
    pub fn reload(&self, profile: Profile) -> Result<Tally> {
        let addon = self.folder.path().join("addons").join(EXTENSION);
        let library = build::build_into(self.workspace, &Build { profile, ..Build::default() }, &addon)?;
        let replacement = self.folder.path().join("replacement");
        fs::write(&replacement, with_another_message(fs::read(&library)?)?)?;

        let project = self.project()?;
        let _step = Progress::spinner("reloading the library in the editor");
        let mut command = project.headless();
        command.args(["--editor", "--quit-after", SETTLED, "--", "--reload"]).args([&library, &replacement]);
        let outcome = run::watch(&mut command, Echo::Nothing, EDITOR_LIMIT)?;
        let message = if profile == Profile::Debug { NEW_MESSAGE } else { OLD_MESSAGE };
        ensure!(
            outcome.log.contains(&format!(
                "reload: calls during all reloads: true, saved: true, Nodes freed: true, limits kept: true, message: {message}"
            )),
            "the editor printed:\n{}",
            outcome.log
        );
        self.judge_editor(outcome)?;
        Ok(Tally { passed: 1, failed: 0 })
    }

    /// Exports a game that compares a batch, and runs it. The project must have been opened before.
    pub fn exported_game(&self, template: &Path) -> Result<Tally> {
        self.add_schemas()?;
        let project = self.project()?;
        let game = export::game(&project, self.folder.path(), template, export::ARCHITECTURE)?;
        let packed = fs::read(game.with_extension("pck"))?;
        let copies = packed.windows(FILTERED.len()).filter(|bytes| *bytes == FILTERED.as_bytes()).count();
        ensure!(copies == 1, "the game contains {copies} copies, not 1, of a schema in the preset's filters");
        let mut run = project.engine(&game);
        run.arg("--headless");
        judge::suite(&run::watch(&mut run, Echo::All, RUN_LIMIT)?)
    }

    /// Adds circular links and schemas. `main.gd` expects some of the schemas in the game.
    fn add_schemas(&self) -> Result<()> {
        let folder = self.folder.path();
        project::add_files(folder, &SCHEMAS)?;
        #[cfg(unix)]
        for link in ["circle", "another_circle"] {
            std::os::unix::fs::symlink(".", folder.join(link))?;
        }
        Ok(())
    }

    pub fn project(&self) -> Result<Project<'_>> {
        Project::new(self.workspace, self.godot, self.folder.path())
    }

    pub fn judge_editor(&self, outcome: Finished) -> Result<()> {
        judge::clean(&outcome).with_context(|| format!("the editor printed:\n{}", outcome.log))?;
        ensure!(
            outcome.log.contains("trial: plugin enabled: true, class known: true"),
            "the plugin was not enabled; the editor printed:\n{}",
            outcome.log
        );
        Ok(())
    }

    /// Files in the addon folder that the engine would add to every user's version control.
    fn unexpected_files(&self) -> Result<Vec<String>> {
        let addon = self.folder.path().join("addons").join(EXTENSION);
        Ok(archive::files_under(&addon)?
            .into_iter()
            .filter(|file| !self.shipped.contains(file))
            .map(|file| file.display().to_string())
            .collect())
    }
}

/// The start of a message in the library, and its replacement in another library.
const OLD_MESSAGE: &str = "unknown type id";
const NEW_MESSAGE: &str = "UNKNOWN TYPE ID";

/// The same library with [`NEW_MESSAGE`] instead of [`OLD_MESSAGE`].
fn with_another_message(mut library: Vec<u8>) -> Result<Vec<u8>> {
    let old = OLD_MESSAGE.as_bytes();
    let place = library.windows(old.len()).position(|bytes| bytes == old);
    let place = place.context("the library does not hold its message in one piece")?;
    library[place..][..old.len()].copy_from_slice(NEW_MESSAGE.as_bytes());
    Ok(library)
}
