//! The editor panel of the packaged addon, driven by mouse and keyboard.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

use crate::godot::Godot;
use crate::judge::{self, Tally};
use crate::progress::Progress;
use crate::project::{self, Project};
use crate::run::{self, Echo, Finished};
use crate::screen::{Screen, without_vulkan_probe};
use crate::workspace::{EXTENSION, Workspace};

/// The files of the project, besides the addon.
const FILES: [(&str, &str); 4] = [
    ("project.godot", include_str!("../panel/project.godot")),
    ("drive.gd", include_str!("../panel/drive.gd")),
    ("addons/drive/plugin.cfg", include_str!("../panel/addons/drive/plugin.cfg")),
    ("addons/drive/plugin.gd", include_str!("../panel/addons/drive/plugin.gd")),
];

const LIMIT: Duration = Duration::from_secs(300);

/// Drives the panel in an editor window on a virtual display. If `pictures` is set, saves a picture of each
/// tab in that folder.
///
/// # Errors
/// Fails if the panel's results differ from the engine's, or if the editor prints an error.
pub fn window(workspace: &Workspace, godot: &Godot, zip: &Path, pictures: Option<&Path>) -> Result<Tally> {
    let screen = Screen::open()?;
    let folder = project::with_addon(workspace, "panel-", zip, &FILES)?;
    let mut command = Project::new(workspace, godot, folder.path())?.engine(&godot.editor);
    command.arg("--editor").arg("--path").arg(folder.path());
    screen.apply(&mut command);
    if let Some(pictures) = pictures {
        fs::create_dir_all(pictures)?;
        command.args(["--", "--pictures"]).arg(fs::canonicalize(pictures)?);
    }
    let _step = Progress::spinner("driving the panel in an editor window");
    let mut outcome = run::watch(&mut command, Echo::Nothing, LIMIT)?;
    outcome.log = without_vulkan_probe(&outcome.log);
    judged(&outcome)
}

/// Like [`window`], in an editor without a window, which draws nothing.
///
/// # Errors
/// Fails as [`window`] does.
pub fn headless(workspace: &Workspace, godot: &Godot, zip: &Path) -> Result<Tally> {
    let folder = project::with_addon(workspace, "panel-", zip, &FILES)?;
    let mut command = Project::new(workspace, godot, folder.path())?.headless();
    command.arg("--editor");
    let _step = Progress::spinner("driving the panel");
    judged(&run::watch(&mut command, Echo::Nothing, LIMIT)?)
}

/// Judges the editor's output. The panel must not cause engine warnings. From Godot 4.5 on, a warning names
/// the script that causes it.
fn judged(outcome: &Finished) -> Result<Tally> {
    let warned =
        outcome.log.contains("WARNING:") && outcome.log.contains(&format!("(res://addons/{EXTENSION}/"));
    let tally = if warned { Err(anyhow!("the engine warned of the panel")) } else { judge::suite(outcome) };
    tally.with_context(|| format!("the editor printed:\n{}", outcome.log))
}
