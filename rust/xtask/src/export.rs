//! Exporting a project as a game for Linux.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::judge;
use crate::progress::Progress;
use crate::project::Project;
use crate::run::{self, Echo};

const PRESETS: &str = include_str!("../trial/export_presets.cfg");
const LIMIT: Duration = Duration::from_secs(300);

/// This machine's architecture, as the engine names it.
pub const ARCHITECTURE: &str = if cfg!(target_arch = "aarch64") { "arm64" } else { "x86_64" };

/// Exports the project in `folder`, which is imported if it has never been opened, as a game for a machine of this
/// architecture, and returns the game.
///
/// # Errors
/// What the engine printed, if there was an error in it, or if it made no game.
pub fn game(project: &Project<'_>, folder: &Path, template: &Path, architecture: &str) -> Result<PathBuf> {
    let presets = PRESETS
        .replace("{template}", &template.display().to_string())
        .replace("{architecture}", architecture);
    fs::write(folder.join("export_presets.cfg"), presets)?;
    let game = folder.join(format!("build/game.{architecture}"));
    fs::create_dir_all(game.parent().expect("it was just joined"))?;
    let step = Progress::spinner("exporting a game");
    let mut export = project.headless();
    export.args(["--export-release", "Linux"]).arg(&game);
    let outcome = run::watch(&mut export, Echo::Nothing, LIMIT)?;
    judge::clean(&outcome).with_context(|| format!("the export printed:\n{}", outcome.log))?;
    ensure!(game.is_file(), "the export made no game:\n{}", outcome.log);
    step.done();
    Ok(game)
}
