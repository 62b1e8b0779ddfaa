//! The measured parts of `docs/benchmarks.md`, of the pages in `docs/benchmarks`, and the files beside them.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::report::{Op, Report, Row, Verdict};
use super::table::{self, Place};
use super::workloads::{self, SUMMARY};
use super::{chart, report};
use crate::document::replaced;
use crate::workspace::Workspace;

/// Writes the newest run; the text between the measured parts stays as it is.
pub fn write(workspace: &Workspace, reports: &[Report]) -> Result<()> {
    let docs = workspace.root.join("docs");
    let first = reports.first().context("no build was measured")?;
    let page = docs.join("benchmarks.md");
    fill(&page, "machine", &table::title(first))?;
    fill(&page, "results", &summary(first))?;
    fill(&docs.join("benchmarks/targets.md"), "rows not met", &not_met(reports))?;
    for report in reports {
        fill(&docs.join(format!("benchmarks/{}.md", report.build)), "results", &results(report))?;
    }
    let charted: Vec<_> = SUMMARY.iter().map(|(name, _)| *name).collect();
    chart::draw(reports, &charted, &docs.join("benchmarks.svg"))?;
    report::write(reports, &docs.join("benchmarks.json"))
}

fn fill(file: &Path, part: &str, content: &str) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    fs::write(file, replaced(&text, part, content)?)
        .with_context(|| format!("cannot write {}", file.display()))
}

/// The rows that a person reads: ratios of encoding and decoding, with one thread and with all.
fn summary(report: &Report) -> String {
    let most = report.rows.iter().map(|row| row.threads).max().unwrap_or_default();
    let mut lines = vec![
        format!("| data | engine | encode, 1 thread | {most} threads | decode, 1 thread | {most} threads |"),
        "|---|---|---:|---:|---:|---:|".to_owned(),
    ];
    for (name, beside) in SUMMARY {
        let cell = |op, threads| {
            let is_it = |row: &&Row| row.workload == name && row.op == op && row.threads == threads;
            let row = report.rows.iter().find(is_it);
            row.map_or_else(String::new, |row| format!("{:.1} ×", row.ratio))
        };
        let cells = [Op::Encode, Op::Decode].map(|op| [cell(op, 1), cell(op, most)].join(" | "));
        lines.push(format!("| {name} | {beside} | {} |", cells.join(" | ")));
    }
    lines.join("\n")
}

fn results(report: &Report) -> String {
    let series = workloads::growing();
    let (growth, rows): (Vec<_>, Vec<_>) = report.rows.iter().partition(|row| series.contains(&row.workload));
    let mut parts = vec![table::title(report)];
    if !report.warm_heap.is_empty() {
        parts.push(format!("Warm heap: `{}`.", report.warm_heap));
    }
    parts.push(table::results(rows.iter().copied(), Place::Markdown).to_string());
    let skipped = report.skipped.iter();
    parts.extend(skipped.map(|skipped| format!("Skipped: {}: {}.", skipped.workload, skipped.reason)));
    let more = [
        ("How the cost grows", (!growth.is_empty()).then(|| table::results(growth, Place::Markdown))),
        ("Other formats", table::others(rows.iter().copied(), Place::Markdown)),
        ("Memory that one call adds", table::memory(rows.iter().copied(), Place::Markdown)),
    ];
    for (title, table) in more {
        if let Some(table) = table {
            parts.push(format!("## {title}\n\n{table}"));
        }
    }
    parts.join("\n\n")
}

fn not_met(reports: &[Report]) -> String {
    let mut lines = Vec::new();
    for report in reports {
        for row in &report.rows {
            let line = format!(
                "- {}, {}, {} thread(s), {} build: reached {:.2} ×",
                row.workload, row.op, row.threads, report.build, row.ratio
            );
            match (row.verdict(), row.target) {
                (Verdict::Missed | Verdict::Slower, Some(target)) => {
                    lines.push(format!("{line}, target {target} ×"));
                }
                (Verdict::Slower, None) => lines.push(format!("{line}, slower than the engine")),
                _ => {}
            }
        }
    }
    if lines.is_empty() { "None.".to_owned() } else { lines.join("\n") }
}

#[cfg(test)]
mod tests {
    use super::super::report::Build;
    use super::super::report::tests::{report, row};
    use super::*;

    #[test]
    fn missed_and_slower_rows_are_listed() {
        let rows = vec![
            Row { target: Some(6.0), ..row("missed", 3.0, 0.0) },
            Row { target: Some(6.0), ..row("met", 7.0, 0.0) },
            row("slower", 0.5, 0.0),
            row("open", 1.5, 0.0),
        ];
        let list = not_met(&[report(Build::Release, rows)]);
        assert_eq!(list.lines().count(), 2, "{list}");
        assert!(list.contains("reached 3.00 ×, target 6 ×") && list.contains("0.50 ×, slower"), "{list}");
        assert_eq!(not_met(&[report(Build::Editor, vec![])]), "None.");
    }

    #[test]
    fn growing_sizes_have_a_table_of_their_own() {
        let text = results(&report(Build::Release, vec![row("ints", 3.0, 0.0), row("100 ints", 2.0, 0.0)]));
        let (main, growth) = text.split_once("## How the cost grows").unwrap();
        assert!(main.contains("| ints") && growth.contains("| 100 ints"), "{text}");
    }

    #[test]
    fn the_summary_has_a_column_for_each_direction_and_number_of_threads() {
        let one = Row { threads: 1, ..row("ints", 3.0, 0.0) };
        let text = summary(&report(Build::Release, vec![one, row("ints", 6.0, 0.0)]));
        assert!(text.contains("| ints | the same | 3.0 × | 6.0 × |  |  |"), "{text}");
        assert_eq!(text.lines().count(), 2 + SUMMARY.len());
    }
}
