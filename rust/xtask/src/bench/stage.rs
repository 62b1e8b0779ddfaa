//! The project that is measured, in the editor build and exported for the release build.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::report::Build;
use super::samples::{self, Line};
use super::workloads::{Input, Workload};
use crate::archive;
use crate::debian::files_with_extension;
use crate::export;
use crate::godot::Godot;
use crate::judge;
use crate::project::Project;
use crate::run::{self, Echo};
use crate::suites::THREADS_VARIABLE;
use crate::workspace::{EXTENSION, Workspace};

const PROJECT: &str = include_str!("project.godot");

const RUN_LIMIT: Duration = Duration::from_secs(600);

/// Memory that is freed stays with the process: with glibc's own choice, every large result is fetched from the system page
/// by page, on either side. 32 MiB is the highest threshold that glibc accepts.
const WARM_HEAP: [(&str, &str); 3] = [
    ("MALLOC_TRIM_THRESHOLD_", "4294967296"),
    ("MALLOC_MMAP_THRESHOLD_", "33554432"),
    ("MALLOC_TOP_PAD_", "67108864"),
];

/// Memory that is freed goes back to the system, so that what is in use can be seen.
const LEAN_HEAP: [(&str, &str); 3] =
    [("MALLOC_TRIM_THRESHOLD_", "65536"), ("MALLOC_MMAP_THRESHOLD_", "65536"), ("MALLOC_TOP_PAD_", "0")];

/// Why a process runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Time, with the heap that players have.
    Time,
    /// Time, with memory kept.
    WarmTime,
    /// Memory, with the heap kept small.
    Memory,
}

/// A temporary project with the workloads and a copy of the addon, which stays as it is while it is measured.
pub struct Stage<'a> {
    workspace: &'a Workspace,
    godot: &'a Godot,
    folder: TempDir,
    /// Empty without one.
    game: PathBuf,
}

impl<'a> Stage<'a> {
    /// Makes the project, and the game if there is a release template.
    pub fn set(
        workspace: &'a Workspace,
        godot: &'a Godot,
        builds: &[Build],
        peer: Option<&Path>,
    ) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("bench-").tempdir_in(&workspace.target)?;
        archive::copy(&workspace.project().join("bench"), &folder.path().join("bench"))?;
        fs::create_dir(folder.path().join("suites"))?;
        fs::copy(workspace.project().join("suites/options.gd"), folder.path().join("suites/options.gd"))?;
        archive::copy(&workspace.addon(), &folder.path().join("addons").join(EXTENSION))?;
        let mut also_registered = Vec::new();
        if let Some(peer) = peer {
            let name = peer.file_name().context("an addon is a folder")?;
            archive::copy(peer, &folder.path().join("addons").join(name))?;
            let found = files_with_extension(peer, "gdextension")?;
            let file = found.first().and_then(|file| file.file_name()).context("no .gdextension in it")?;
            let file = format!("res://addons/{}/{}", name.display(), file.display());
            also_registered.push(file);
        }
        fs::write(folder.path().join("project.godot"), PROJECT)?;
        let mut stage = Self { workspace, godot, folder, game: PathBuf::new() };
        stage.project()?.register_extensions(&also_registered)?;
        if builds.contains(&Build::Release) {
            let template = godot.template_release.as_deref().context("there is no release template")?;
            stage.game =
                export::game(&stage.project()?, stage.folder.path(), template, export::ARCHITECTURE)?;
        }
        Ok(stage)
    }

    /// One process for one workload; it shares neither heap nor caches with others.
    pub fn run(
        &self,
        build: Build,
        workload: &Workload,
        purpose: Purpose,
        threads: usize,
        options: &[(&str, String)],
    ) -> Result<Vec<Line>> {
        let project = self.project()?;
        let mut command = match build {
            Build::Editor => project.headless(),
            Build::Release => {
                let mut game = project.engine(&self.game);
                game.arg("--headless");
                game
            }
        };
        command.env(THREADS_VARIABLE, threads.to_string());
        match purpose {
            Purpose::Time => {}
            Purpose::WarmTime => drop(command.envs(WARM_HEAP)),
            Purpose::Memory => drop(command.envs(LEAN_HEAP)),
        }
        command.args(["--", "--form", workload.form]);
        match &workload.input {
            Input::Made(kind, count) => command.args(["--kind", kind, "--count", &count.to_string()]),
            Input::Document(file) => command.arg("--document").arg(file),
        };
        for (name, value) in options {
            command.args([format!("--{name}"), value.clone()]);
        }
        let outcome = run::watch(&mut command, Echo::Nothing, RUN_LIMIT)?;
        judge::clean(&outcome)
            .with_context(|| format!("`{}` in the {build} build printed:\n{}", workload.name, outcome.log))?;
        samples::lines(&outcome.stdout)
    }

    /// How a warm heap is set up; `None` where it cannot be.
    pub fn warm_heap() -> Option<String> {
        cfg!(target_env = "gnu").then(|| WARM_HEAP.map(|(name, value)| format!("{name}={value}")).join(" "))
    }

    fn project(&self) -> Result<Project<'_>> {
        Project::new(self.workspace, self.godot, self.folder.path())
    }
}
