//! The measured project: exported for the release build, unexported for the editor build.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;
use tempfile::TempDir;

use super::samples::{self, Row};
use super::workloads::{Input, Workload};
use crate::archive;
use crate::export;
use crate::godot::Godot;
use crate::judge;
use crate::project::Project;
use crate::run::{self, Echo};
use crate::suite::THREADS_VARIABLE;
use crate::workspace::{EXTENSION, Workspace};

const PROJECT: &str = include_str!("project.godot");

const RUN_LIMIT: Duration = Duration::from_secs(600);

/// The build of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Build {
    /// The build that players run.
    Release,
    /// The editor program, which is a debug build.
    Editor,
}

/// The number of samples to take.
pub struct Pace {
    /// The minimum number of pairs of samples.
    pub pairs: u32,
    /// The minimum time, in seconds.
    pub seconds: f64,
}

/// A temporary project with the workloads and a copy of the addon. The copy does not change during
/// measurements.
pub struct Stage<'a> {
    workspace: &'a Workspace,
    godot: &'a Godot,
    folder: TempDir,
    /// The exported game; `None` for the editor build.
    game: Option<PathBuf>,
}

impl<'a> Stage<'a> {
    /// Makes the project with this main scene and, for the release build, the game.
    pub fn set(workspace: &'a Workspace, godot: &'a Godot, build: Build, scene: &str) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("bench-").tempdir_in(&workspace.target)?;
        archive::copy(&workspace.project().join("bench"), &folder.path().join("bench"))?;
        fs::create_dir(folder.path().join("suites"))?;
        fs::copy(workspace.project().join("suites/options.gd"), folder.path().join("suites/options.gd"))?;
        archive::copy(&workspace.addon(), &folder.path().join("addons").join(EXTENSION))?;
        fs::write(folder.path().join("project.godot"), PROJECT.replace("{scene}", scene))?;
        let mut stage = Self { workspace, godot, folder, game: None };
        stage.project()?.register_extension()?;
        if build == Build::Release {
            let template = godot.template_release.as_deref().context("there is no release template")?;
            let game = export::game(&stage.project()?, stage.folder.path(), template, export::ARCHITECTURE)?;
            stage.game = Some(game);
        }
        Ok(stage)
    }

    /// Measures a workload in its own process, which shares neither heap nor caches with others.
    pub fn run(&self, workload: &Workload, threads: usize, pace: &Pace) -> Result<Vec<Row>> {
        let mut command = self.command()?;
        command.env(THREADS_VARIABLE, threads.to_string());
        command.args(["--", "--form", workload.form]);
        command.args(["--pairs", &pace.pairs.to_string(), "--seconds", &pace.seconds.to_string()]);
        match &workload.input {
            Input::Made(kind, count) => command.args(["--kind", kind, "--count", &count.to_string()]),
            Input::Document(file) => command.arg("--document").arg(file),
        };
        samples::rows(&printed(&mut command)?, &workload.name, threads)
    }

    /// A command that starts the measured scene.
    pub fn command(&self) -> Result<Command> {
        let project = self.project()?;
        Ok(match &self.game {
            None => project.headless(),
            Some(game) => {
                let mut game = project.engine(game);
                game.arg("--headless");
                game
            }
        })
    }

    fn project(&self) -> Result<Project<'_>> {
        Project::new(self.workspace, self.godot, self.folder.path())
    }
}

/// Runs a command of [`Stage::command`], and returns what it prints.
pub fn printed(command: &mut Command) -> Result<String> {
    let outcome = run::watch(command, Echo::Nothing, RUN_LIMIT)?;
    judge::clean(&outcome).with_context(|| format!("the engine printed:\n{}", outcome.log))?;
    Ok(outcome.stdout)
}
