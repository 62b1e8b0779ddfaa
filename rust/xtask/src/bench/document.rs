//! The measured parts of `docs/benchmarks.md`, and the files beside it.

use std::fs;

use anyhow::{Context, Result};

use super::report::{Report, Verdict};
use super::table::{self, Place};
use super::{chart, report};
use crate::document::replaced;
use crate::workspace::Workspace;

/// Writes the newest run; the text between the measured parts stays as it is.
pub fn write(workspace: &Workspace, reports: &[Report], charted: &[&str]) -> Result<()> {
    let docs = workspace.root.join("docs");
    let file = docs.join("benchmarks.md");
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let text = replaced(&text, "machine", &machine(reports))?;
    let text = replaced(&text, "results", &results(reports, charted))?;
    let text = replaced(&text, "rows not met", &not_met(reports))?;
    chart::draw(reports, charted, &docs.join("benchmarks.svg"))?;
    report::write(reports, &docs.join("benchmarks.json"))?;
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
}

fn machine(reports: &[Report]) -> String {
    let lines = reports.iter().map(|report| format!("- {}; heap: `{}`", table::title(report), report.heap));
    lines.collect::<Vec<_>>().join("\n")
}

fn results(reports: &[Report], charted: &[&str]) -> String {
    let mut parts = Vec::new();
    for report in reports {
        let (rows, growth): (Vec<_>, Vec<_>) =
            report.rows.iter().partition(|row| charted.contains(&row.workload.as_str()));
        parts.push(format!("### {} build", capitalised(&report.build.to_string())));
        parts.push(table::results(rows.iter().copied(), Place::Markdown).to_string());
        parts.extend(
            report
                .skipped
                .iter()
                .map(|skipped| format!("Skipped: {}: {}.", skipped.workload, skipped.reason)),
        );
        let more = [
            ("how the cost grows", (!growth.is_empty()).then(|| table::results(growth, Place::Markdown))),
            ("the engine's text formats", table::others(rows.iter().copied(), Place::Markdown)),
            ("memory that one call adds", table::memory(rows.iter().copied(), Place::Markdown)),
        ];
        for (title, table) in more {
            if let Some(table) = table {
                parts.push(format!("#### {} build: {title}", capitalised(&report.build.to_string())));
                parts.push(table.to_string());
            }
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

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::{report, row};
    use super::super::report::{Build, Row};
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
        let reports = [report(Build::Release, vec![row("ints", 3.0, 0.0), row("100 ints", 2.0, 0.0)])];
        let text = results(&reports, &["ints"]);
        let (main, growth) = text.split_once("how the cost grows").unwrap();
        assert!(main.contains("| ints") && growth.contains("| 100 ints"), "{text}");
    }
}
