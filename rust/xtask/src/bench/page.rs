//! The measured parts of `docs/benchmarks.md`, and its chart.

use std::fs;

use anyhow::{Context, Result};

use super::samples::{Op, Row};
use super::workloads::TABLE;
use super::{Report, chart};
use crate::document::replaced;
use crate::workspace::Workspace;

/// Writes the newest run; the text between the measured parts stays as it is.
pub fn write(workspace: &Workspace, report: &Report) -> Result<()> {
    let page = workspace.root.join("docs/benchmarks.md");
    let text = fs::read_to_string(&page).with_context(|| format!("cannot read {}", page.display()))?;
    let text = replaced(&text, "machine", &report.to_string())?;
    let text = replaced(&text, "results", &summary(&report.rows))?;
    fs::write(&page, text).with_context(|| format!("cannot write {}", page.display()))?;
    let names: Vec<_> = shown().map(|(name, _)| name).collect();
    chart::draw(&report.rows, &names, &workspace.root.join("docs/benchmarks.svg"))
}

/// The rows of the page: a workload, and what the engine does for it.
fn shown() -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLE.iter().map(|(name, .., engine)| (*name, *engine)).filter(|(_, engine)| !engine.is_empty())
}

/// Ratios of encoding and decoding, with one thread and with all.
fn summary(rows: &[Row]) -> String {
    let most = rows.iter().map(|row| row.threads).max().unwrap_or(1);
    let mut lines = vec![
        format!("| data | engine | encode, 1 thread | {most} threads | decode, 1 thread | {most} threads |"),
        "|---|---|---:|---:|---:|---:|".to_owned(),
    ];
    for (name, engine) in shown() {
        let cell = |op, threads| {
            let is_it = |row: &&Row| row.workload == name && row.op == op && row.threads == threads;
            rows.iter().find(is_it).map_or_else(String::new, |row| format!("{:.1}×", row.ratio))
        };
        let cells = [Op::Encode, Op::Decode].map(|op| [cell(op, 1), cell(op, most)].join(" | "));
        lines.push(format!("| {name} | {engine} | {} |", cells.join(" | ")));
    }
    lines.join("\n")
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
}
