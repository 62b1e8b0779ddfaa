//! `cargo xtask docs`: checks that the editor's help is complete, and runs the documentation's snippets.

pub mod help;
pub mod snippets;

use anyhow::Result;

use crate::godot::Godot;
use crate::judge::Tally;
use crate::package;
use crate::trial::Trial;
use crate::workspace::Workspace;

/// Runs both checks in a new project.
pub fn run(workspace: &Workspace, godot: &Godot) -> Result<Tally> {
    let trial = Trial::install(workspace, godot, &package::partial(workspace)?)?;
    trial.first_open()?;
    Ok(snippets::check(&trial)? + help::check(&trial)?)
}
