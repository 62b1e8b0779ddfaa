//! Which files of the Godot project a script needs: those that it names, and those that they name.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result};

use crate::workspace::Workspace;

const PROJECT: &str = "godot-project";

/// The scripts and everything that they need, from the repository's root, sorted.
///
/// # Errors
/// If there is no such script.
pub fn named_by(workspace: &Workspace, scripts: &[&str]) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let mut waiting: Vec<String> = scripts.iter().map(|&script| script.to_owned()).collect();
    while let Some(name) = waiting.pop() {
        let path = format!("{PROJECT}/{name}");
        if !found.insert(path.clone()) || !name.ends_with(".gd") {
            continue;
        }
        let text =
            fs::read_to_string(workspace.root.join(&path)).with_context(|| format!("cannot read {path}"))?;
        let named = text.split("\"res://").skip(1).filter_map(|rest| rest.split('"').next());
        // Some names are of files that tests expect not to be there, or make.
        let is_file = |name: &&str| workspace.root.join(PROJECT).join(name).is_file();
        waiting.extend(named.filter(is_file).map(str::to_owned));
    }
    Ok(found)
}
