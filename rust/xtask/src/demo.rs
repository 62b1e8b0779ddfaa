//! `cargo xtask demo`: the demo of the bundled project.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::godot::Godot;
use crate::judge::{self, Tally};
use crate::run::{self, Echo};
use crate::suite::{self, LIMIT};
use crate::workspace::Workspace;

/// Encodes and decodes real data in the engine and the codec, with the folder `data` as additional input.
pub fn run(workspace: &Workspace, godot: &Godot, data: Option<PathBuf>, extra: &[String]) -> Result<()> {
    let folder = workspace.project();
    let project = suite::bundled(workspace, godot, &folder)?;
    let mut arguments = Vec::new();
    if let Some(data) = data {
        let data = fs::canonicalize(&data).with_context(|| format!("cannot open {}", data.display()))?;
        arguments.extend(["--data".to_owned(), data.display().to_string()]);
    }
    arguments.extend_from_slice(extra);
    judge::clean(&run::watch(&mut project.script("res://demo/compare.gd", &arguments), Echo::All, LIMIT)?)
}

/// Runs a few hundred frames of the demo scene in each mode, and compares its snapshots with the engine's; then the netcode
/// demo, and compares the client with the server.
pub fn scene(workspace: &Workspace, godot: &Godot) -> Result<Tally> {
    let folder = workspace.project();
    let mut command = suite::bundled(workspace, godot, &folder)?.headless();
    command.args(["--fixed-fps", "60", "--script", "res://suites/demo.gd"]);
    judge::suite(&run::watch(&mut command, Echo::All, LIMIT)?)
}
