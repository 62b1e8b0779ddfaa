//! What `cargo xtask platforms` found, and the tables of it in the documents.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use comfy_table::presets::ASCII_MARKDOWN;
use indicatif::HumanCount;
use serde::{Deserialize, Serialize};

use super::table::{Library, PLATFORMS, Platform, named};
use crate::document;
use crate::workspace::Workspace;

const FILE: &str = "docs/platforms.json";
/// The documents with a table, between comments of this name.
const DOCUMENTS: [(&str, Table); 2] = [("README.md", in_short), ("docs/platforms.md", documented)];
const NAME: &str = "platforms";

/// Writes a table.
type Table = fn(&Found) -> String;
/// What became of each platform, by its name.
type Found = BTreeMap<String, Row>;

/// What became of one platform.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    #[serde(skip)]
    pub name: String,
    pub title: String,
    /// How far the library was built.
    pub library: String,
    /// Engine-free tests that ran as programs of the platform.
    pub tests: Option<u64>,
    /// The version of the engine that loaded the library.
    pub engine: Option<String>,
    /// How many checks passed in it.
    pub checks: u64,
    pub seconds: u64,
}

impl Row {
    pub fn of(name: &str, title: &str) -> Self {
        Self { name: name.to_owned(), title: title.to_owned(), ..Self::default() }
    }
}

/// A table for the terminal, with the time that each took.
pub fn printed(rows: &[Row]) -> String {
    let mut table = comfy_table::Table::new();
    table.load_preset(ASCII_MARKDOWN);
    table.set_header(["platform", "library", "engine-free tests", "in a real engine", "checks", "seconds"]);
    for row in rows {
        let [title, library, tests, engine, checks] = cells(named(&row.name), row);
        table.add_row([title, library, tests, engine, checks, row.seconds.to_string()]);
    }
    table.to_string()
}

/// The same for documents, without times.
fn documented(found: &Found) -> String {
    let mut lines = vec![
        "| platform | library | engine-free tests | in a real engine | checks |".to_owned(),
        "|---|---|---:|---|---:|".to_owned(),
    ];
    lines.extend(rows(found).map(|(platform, row)| format!("| {} |", cells(platform, row).join(" | "))));
    lines.join("\n")
}

/// The platforms that the addon has a library for, and how it was run.
fn in_short(found: &Found) -> String {
    let mut lines = vec!["| platform | library | in a real engine |".to_owned(), "|---|---|---|".to_owned()];
    for (platform, row) in rows(found).filter(|(platform, _)| platform.ships) {
        let [title, library, _, engine, _] = cells(platform, row);
        lines.push(format!("| {title} | {library} | {engine} |"));
    }
    lines.join("\n")
}

fn rows(found: &Found) -> impl Iterator<Item = (&'static Platform, &Row)> {
    PLATFORMS.iter().filter_map(|platform| Some((platform, found.get(platform.name)?)))
}

fn cells(platform: &Platform, row: &Row) -> [String; 5] {
    let or_no = |text: Option<String>| text.unwrap_or_else(|| "not run".into());
    let under = if platform.under.is_empty() { String::new() } else { format!(", {}", platform.under) };
    let checks = if row.engine.is_some() { HumanCount(row.checks).to_string() } else { String::new() };
    let by_workflow = if platform.ships && platform.library == Library::Checked {
        "; job in the workflow, never run"
    } else {
        ""
    };
    [
        row.title.clone(),
        format!("{}{by_workflow}", row.library),
        or_no(row.tests.map(|tests| format!("{tests} passed"))),
        or_no(row.engine.as_ref().map(|version| format!("Godot {}{under}", short(version)))),
        checks,
    ]
}

/// `4.6.3.stable.debian…` gives 4.6.3.
fn short(version: &str) -> &str {
    version.split(".stable").next().unwrap_or(version)
}

/// Notes these rows beside those of earlier runs, without the platforms that failed, and writes the tables.
pub fn write(workspace: &Workspace, rows: Vec<Row>, failed: &[&str]) -> Result<()> {
    let file = workspace.root.join(FILE);
    let mut found: Found = serde_json::from_str(&fs::read_to_string(&file)?)?;
    found.extend(rows.into_iter().map(|row| (row.name.clone(), row)));
    found.retain(|name, _| !failed.contains(&name.as_str()));
    fs::write(&file, format!("{}\n", serde_json::to_string_pretty(&found)?))?;
    for (name, table) in DOCUMENTS {
        let file = workspace.root.join(name);
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {name}"))?;
        fs::write(&file, document::replaced(&text, NAME, &table(&found))?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn documents_show_what_was_found() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let found = serde_json::from_str(&fs::read_to_string(root.join(FILE)).unwrap()).unwrap();
        for (name, table) in DOCUMENTS {
            let text = fs::read_to_string(root.join(name)).unwrap();
            assert_eq!(text, document::replaced(&text, NAME, &table(&found)).unwrap(), "{name}");
        }
    }
}
