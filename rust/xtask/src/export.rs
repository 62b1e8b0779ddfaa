//! Exports a project as a game for Linux, or as a web page.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::judge;
use crate::progress::Progress;
use crate::project::Project;
use crate::run::{self, Echo};

const PRESETS: &str = include_str!("../trial/export_presets.cfg");
const PAGE: &str = include_str!("../platforms/export_presets.cfg");
const LIMIT: Duration = Duration::from_secs(300);

/// The folder of an exported game in its project.
pub const FOLDER: &str = "build";

/// This machine's architecture, as the engine names it.
pub const ARCHITECTURE: &str = if cfg!(target_arch = "aarch64") { "arm64" } else { "x86_64" };

/// Exports the project in `folder` as a game for `architecture`, and returns its path. A project that was
/// never opened is imported first.
///
/// # Errors
/// Fails if the engine printed an error or wrote no game. The error contains the engine's output.
pub fn game(project: &Project<'_>, folder: &Path, template: &Path, architecture: &str) -> Result<PathBuf> {
    let presets = PRESETS
        .replace("{template}", &template.display().to_string())
        .replace("{architecture}", architecture);
    let game = folder.join(FOLDER).join(format!("game.{architecture}"));
    export(project, folder, &presets, ["--export-release", "Linux"], &game)?;
    Ok(game)
}

/// Exports the project in `folder` as a blank web page, whose shell is `shell.html` in the same folder.
/// Returns the path of the page.
///
/// # Errors
/// Fails as [`game`] does.
pub fn page(project: &Project<'_>, folder: &Path, template: &Path, threads: bool) -> Result<PathBuf> {
    let presets = PAGE
        .replace("{template}", &template.display().to_string())
        .replace("{threads}", if threads { "true" } else { "false" });
    let page = folder.join(FOLDER).join("index.html");
    export(project, folder, &presets, ["--export-debug", "Web"], &page)?;
    Ok(page)
}

fn export(
    project: &Project<'_>,
    folder: &Path,
    presets: &str,
    arguments: [&str; 2],
    game: &Path,
) -> Result<()> {
    fs::write(folder.join("export_presets.cfg"), presets)?;
    fs::create_dir_all(game.parent().context("a game lies in a folder")?)?;
    let step = Progress::spinner("exporting a game");
    let mut export = project.headless();
    export.args(arguments).arg(game);
    let outcome = run::watch(&mut export, Echo::Nothing, LIMIT)?;
    judge::clean(&outcome).with_context(|| format!("the export printed:\n{}", outcome.log))?;
    ensure!(game.is_file(), "the export made no game:\n{}", outcome.log);
    step.done();
    Ok(())
}
