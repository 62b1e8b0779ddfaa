//! Writes the measured parts of `docs/benchmarks.md` and `README.md`, and the chart.

use std::fs;

use anyhow::{Context, Result};

use super::chart;
use super::report::Report;
use super::samples::{Op, Row};
use super::workloads::TABLE;
use crate::document::replaced;
use crate::workspace::Workspace;

/// The workloads in the README, with their descriptions.
const README: [(&str, &str); 6] = [
    ("entities", "50,000 entities (Dictionaries) in one value"),
    ("batch of entities", "50,000 entities, each encoded separately"),
    ("ints", "an Array of 1,000,000 ints"),
    ("PackedVector3Array", "a large PackedVector3Array"),
    ("entities: one part, first access", "one number of the last of 50,000 entities"),
    ("int, one call", "one int, one call"),
];

/// Writes the newest results. Keeps the text between the measured parts.
pub fn write(workspace: &Workspace, report: &Report) -> Result<()> {
    let rows = &report.rows;
    fill(workspace, "docs/benchmarks.md", "machine", &report.to_string())?;
    fill(workspace, "docs/benchmarks.md", "results", &summary(rows))?;
    fill(workspace, "README.md", "speed", &readme(rows))?;
    let names: Vec<_> = shown().map(|(name, _)| name).collect();
    chart::draw(rows, &names, &workspace.root.join("docs/benchmarks.svg"))
}

fn fill(workspace: &Workspace, document: &str, part: &str, content: &str) -> Result<()> {
    let text = fs::read_to_string(workspace.root.join(document));
    let text = replaced(&text.with_context(|| format!("cannot read {document}"))?, part, content)?;
    fs::write(workspace.root.join(document), text).with_context(|| format!("cannot write {document}"))
}

/// The workloads on the page, with the engine's functions for each.
fn shown() -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLE.iter().map(|(name, .., engine)| (*name, *engine)).filter(|(_, engine)| !engine.is_empty())
}

/// The ratios of encoding and decoding, with one thread and with all threads.
fn summary(rows: &[Row]) -> String {
    let most = rows.iter().map(|row| row.threads).max().unwrap_or(1);
    let mut lines = vec![
        format!("| data | engine | encode, 1 thread | {most} threads | decode, 1 thread | {most} threads |"),
        "|---|---|---:|---:|---:|---:|".to_owned(),
    ];
    for (name, engine) in shown() {
        let cells = [Op::Encode, Op::Decode].map(|op| [1, most].map(|threads| cell(rows, name, op, threads)));
        lines.push(format!("| {name} | {engine} | {} |", cells.map(|cells| cells.join(" | ")).join(" | ")));
    }
    lines.join("\n")
}

/// The ratios with all threads.
fn readme(rows: &[Row]) -> String {
    let most = rows.iter().map(|row| row.threads).max().unwrap_or(1);
    let head = "| data | encode | decode |\n|---|---:|---:|".to_owned();
    let line = |(name, data): &(&str, &str)| {
        let cells = [Op::Encode, Op::Decode].map(|op| cell(rows, name, op, most));
        format!("| {data} | {} |", cells.join(" | "))
    };
    std::iter::once(head).chain(README.iter().map(line)).collect::<Vec<_>>().join("\n")
}

fn cell(rows: &[Row], name: &str, op: Op, threads: usize) -> String {
    let is_it = |row: &&Row| row.workload == name && row.op == op && row.threads == threads;
    rows.iter().find(is_it).map_or_else(String::new, |row| format!("{:.1}×", row.ratio))
}

#[cfg(test)]
mod tests {
    use super::super::samples::tests::row;
    use super::*;

    #[test]
    fn the_summary_has_a_column_for_each_direction_and_number_of_threads() {
        let text = summary(&[row("ints", Op::Encode, 1, 3.0), row("ints", Op::Encode, 2, 6.0)]);
        assert!(text.contains("| ints | the same | 3.0× | 6.0× |  |  |"), "{text}");
        assert_eq!(text.lines().count(), 2 + shown().count());
    }

    #[test]
    fn the_readme_names_workloads() {
        for (name, _) in README {
            assert!(TABLE.iter().any(|(known, ..)| *known == name), "{name}");
        }
    }
}
