//! What has been proven, of which code: `docs/ledger.json`, and the table in `docs/testing.md` that is made of it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use indicatif::HumanCount;
use serde::{Deserialize, Serialize};

use super::proofs::PROOFS;
use crate::document;
use crate::run;
use crate::workspace::Workspace;

/// How much of a commit's name is written.
const SHORT_COMMIT: usize = 9;

/// A proof that was completed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub proof: String,
    pub amount: u64,
    pub unit: String,
    pub checks: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, u64>,
    pub seconds: u64,
    pub commit: String,
    pub date: String,
    pub machine: String,
}

/// The newest entry of each proof.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Ledger {
    pub entries: Vec<Entry>,
}

impl Ledger {
    pub fn read(workspace: &Workspace) -> Result<Self> {
        let file = file(workspace);
        match fs::read(&file) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).with_context(|| format!("{} is damaged", file.display()))
            }
            Err(_) => Ok(Self::default()),
        }
    }

    /// Replaces what there was of the same proof.
    pub fn enter(&mut self, entry: Entry) {
        self.entries.retain(|other| other.proof != entry.proof);
        self.entries.push(entry);
        let place = |entry: &Entry| PROOFS.iter().position(|proof| proof.name == entry.proof);
        self.entries.sort_by_key(|entry| place(entry).unwrap_or(usize::MAX));
    }

    /// Writes the ledger and the table in the document.
    pub fn write(&self, workspace: &Workspace) -> Result<()> {
        let mut json = serde_json::to_string_pretty(self)?;
        json.push('\n');
        fs::write(file(workspace), json)?;
        let page = workspace.root.join("docs/testing.md");
        let text = fs::read_to_string(&page).with_context(|| format!("cannot read {}", page.display()))?;
        fs::write(&page, document::replaced(&text, "ledger", &self.table())?)
            .with_context(|| format!("cannot write {}", page.display()))
    }

    /// The table, with the machines below it.
    pub fn table(&self) -> String {
        let mut machines: Vec<&str> = self.entries.iter().map(|entry| entry.machine.as_str()).collect();
        machines.sort_unstable();
        machines.dedup();
        let mut lines = vec![
            "| proof | done | checks | minutes | commit | date | command |".to_owned(),
            "|---|---:|---:|---:|---|---|---|".to_owned(),
        ];
        for entry in &self.entries {
            let command =
                PROOFS.iter().find(|proof| proof.name == entry.proof).map_or("", |proof| proof.command);
            let checks = if entry.checks > 0 { HumanCount(entry.checks).to_string() } else { String::new() };
            lines.push(format!(
                "| {} | {} {} | {checks} | {:.0} | {} | {} | `{command}` |",
                entry.proof,
                HumanCount(entry.amount),
                entry.unit,
                (entry.seconds as f64 / 60.0).max(1.0),
                short(&entry.commit),
                entry.date,
            ));
        }
        for entry in self.entries.iter().filter(|entry| !entry.parts.is_empty()) {
            let parts = entry.parts.iter().map(|(name, amount)| format!("`{name}` {}", HumanCount(*amount)));
            lines.push(format!("\n{}: {}.", entry.proof, parts.collect::<Vec<_>>().join(", ")));
        }
        for machine in machines {
            lines.push(format!("\nMachine: {machine}."));
        }
        lines.join("\n")
    }
}

fn short(commit: &str) -> &str {
    commit.get(..SHORT_COMMIT).unwrap_or(commit)
}

fn file(workspace: &Workspace) -> PathBuf {
    workspace.root.join("docs/ledger.json")
}

fn git(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut git = Command::new("git");
    git.current_dir(&workspace.root).args(arguments);
    git
}

/// The commit that is checked out.
pub fn commit(workspace: &Workspace) -> Result<String> {
    Ok(run::read(&mut git(workspace, &["rev-parse", "HEAD"]))?.trim().to_owned())
}

/// Those of these files that have uncommitted changes, one per line.
pub fn uncommitted(workspace: &Workspace, paths: &[impl AsRef<OsStr>]) -> Result<String> {
    run::read(git(workspace, &["status", "--porcelain", "--"]).args(paths))
}

/// Today's date, in UTC.
pub fn today() -> String {
    jiff::Timestamp::now().strftime("%F").to_string()
}

/// Whether these files are unchanged since this commit.
pub fn is_same_code(workspace: &Workspace, commit: &str, paths: &[impl AsRef<OsStr>]) -> Result<bool> {
    if commit.is_empty() {
        return Ok(false);
    }
    let mut diff = git(workspace, &["diff", "--quiet", commit, "--"]);
    // Fails if the code differs, or if this clone does not have the commit.
    Ok(diff.args(paths).stderr(std::process::Stdio::null()).status()?.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(proof: &str, amount: u64) -> Entry {
        Entry {
            proof: proof.into(),
            amount,
            unit: "things".into(),
            checks: 0,
            parts: BTreeMap::new(),
            seconds: 90,
            commit: "0123456789abcdef".into(),
            date: "2026-01-01".into(),
            machine: "a machine".into(),
        }
    }

    #[test]
    fn an_entry_replaces_the_one_before_and_keeps_the_order_of_the_proofs() {
        let mut ledger = Ledger::default();
        let [first, second] = [PROOFS[0].name, PROOFS[1].name];
        for (proof, amount) in [(second, 1), (first, 2), (second, 3)] {
            ledger.enter(entry(proof, amount));
        }
        assert_eq!(ledger.entries, [entry(first, 2), entry(second, 3)]);
        let table = ledger.table();
        assert!(
            table.contains(&format!("| {second} | 3 things |  | 2 | 012345678 | 2026-01-01 |")),
            "{table}"
        );
    }

    #[test]
    fn only_a_change_of_its_own_code_ends_a_proof() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_path_buf();
        let workspace = Workspace { target: root.join("target"), root, version: String::new() };
        let write = |name: &str, text: &str| fs::write(workspace.root.join(name), text).unwrap();
        let git = |arguments: &[&str]| {
            let identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
            let status = git(&workspace, &identity).args(arguments).status().unwrap();
            assert!(status.success(), "{arguments:?}");
        };
        git(&["init", "--quiet"]);
        write("own", "1");
        write("other", "1");
        git(&["add", "."]);
        git(&["commit", "--quiet", "--message", "a"]);
        let first = commit(&workspace).unwrap();
        assert!(is_same_code(&workspace, &first, &["own"]).unwrap());

        write("other", "2");
        write("new", "1");
        assert_eq!(uncommitted(&workspace, &["own"]).unwrap(), "");
        assert!(uncommitted(&workspace, &["other"]).unwrap().contains("other"));
        assert!(uncommitted(&workspace, &["new"]).unwrap().contains("new"));
        assert_eq!(uncommitted(&workspace, &[".", ":(exclude)other", ":(exclude)new"]).unwrap(), "");
        git(&["commit", "--quiet", "--all", "--message", "b"]);
        assert!(is_same_code(&workspace, &first, &["own"]).unwrap());
        assert!(!is_same_code(&workspace, &first, &["own", "other"]).unwrap());

        write("own", "2");
        assert!(!is_same_code(&workspace, &first, &["own"]).unwrap());
        for unknown in ["", "0123456789012345678901234567890123456789"] {
            assert!(!is_same_code(&workspace, unknown, &["other"]).unwrap());
        }
    }

    #[test]
    fn the_document_shows_the_ledger() {
        let workspace = Workspace::find().unwrap();
        let page = fs::read_to_string(workspace.root.join("docs/testing.md")).unwrap();
        let ledger = Ledger::read(&workspace).unwrap();
        assert_eq!(document::replaced(&page, "ledger", &ledger.table()).unwrap(), page);
    }
}
