//! The tables of `cargo xtask platforms`: with figures on the terminal, without figures in docs/platforms.md.

use std::fs;

use anyhow::Result;
use comfy_table::presets::ASCII_MARKDOWN;
use indicatif::HumanCount;

use super::table::{PLATFORMS, Platform, named};
use crate::document;
use crate::workspace::Workspace;

const DOCUMENT: &str = "docs/platforms.md";
const HEAD: &str = "| platform | library | engine-free tests | in a real engine | `cargo xtask platforms …` |\n|---|---|---|---|---|";

#[derive(Clone, Debug, Default)]
pub struct Row {
    /// The platform's name on the command line.
    pub name: &'static str,
    /// The extent to which the library was built.
    pub library: &'static str,
    /// The number of passed engine-free tests that ran as programs of the platform.
    pub tests: Option<u64>,
    /// The version of the engine that loaded the library.
    pub engine: Option<String>,
    /// The number of passed checks in that engine.
    pub checks: u64,
    pub seconds: u64,
}

pub fn printed(rows: &[Row]) -> String {
    let mut table = comfy_table::Table::new();
    table.load_preset(ASCII_MARKDOWN);
    table.set_header(["platform", "library", "engine-free tests", "in a real engine", "checks", "seconds"]);
    for row in rows {
        let platform = named(row.name);
        let tests = row.tests.map_or_else(|| NOT_RUN.into(), |tests| format!("{tests} passed"));
        let checks = row.engine.as_ref().map(|_| HumanCount(row.checks).to_string()).unwrap_or_default();
        let [title, library, engine] = [platform.title.into(), row.library.into(), engine(platform, row)];
        table.add_row([title, library, tests, engine, checks, row.seconds.to_string()]);
    }
    table.to_string()
}

/// Replaces the rows of the platforms that succeeded, and removes the rows of the platforms that failed.
/// Keeps the other rows.
pub fn write(workspace: &Workspace, rows: &[Row], failed: &[&str]) -> Result<()> {
    let file = workspace.root.join(DOCUMENT);
    let text = fs::read_to_string(&file)?;
    let line_of = |platform: &Platform| {
        if let Some(row) = rows.iter().find(|row| row.name == platform.name) {
            return Some(documented(platform, row));
        }
        let start = format!("| {} |", platform.title);
        let kept = text.lines().find(|line| line.starts_with(&start));
        kept.filter(|_| !failed.contains(&platform.name)).map(str::to_owned)
    };
    let lines: Vec<_> =
        std::iter::once(HEAD.to_owned()).chain(PLATFORMS.iter().filter_map(line_of)).collect();
    Ok(fs::write(&file, document::replaced(&text, "platforms", &lines.join("\n"))?)?)
}

fn documented(platform: &Platform, row: &Row) -> String {
    let tests = if row.tests.is_some() { "passed" } else { NOT_RUN };
    let Platform { title, name, .. } = platform;
    format!("| {title} | {} | {tests} | {} | `{name}` |", row.library, engine(platform, row))
}

const NOT_RUN: &str = "not run";

fn engine(platform: &Platform, row: &Row) -> String {
    let under = if platform.under.is_empty() { String::new() } else { format!(", {}", platform.under) };
    let version = row.engine.as_ref().map(|version| format!("Godot {}{under}", short(version)));
    version.unwrap_or_else(|| NOT_RUN.into())
}

/// Shortens `4.6.3.stable.debian…` to 4.6.3.
fn short(version: &str) -> &str {
    version.split(".stable").next().unwrap_or(version)
}
