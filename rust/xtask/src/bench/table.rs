//! Reports as tables, for the terminal and for Markdown.

use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};
use indicatif::HumanBytes;

use super::report::{Report, Row};

/// Where a table is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On a terminal.
    Terminal,
    /// In a document.
    Markdown,
}

/// Engine and codec.
pub fn results<'a>(rows: impl IntoIterator<Item = &'a Row>, place: Place) -> Table {
    let header = [
        "workload",
        "op",
        "threads",
        "engine",
        "codec",
        "ratio",
        "spread",
        "warm heap",
        "target",
        "",
        "floor",
        "engine frees",
        "codec frees",
        "bytes",
    ];
    let mut table = table(&header, place);
    for row in rows {
        table.add_row([
            row.workload.clone(),
            row.op.to_string(),
            row.threads.to_string(),
            time(row.engine_ns),
            time(row.codec_ns),
            format!("{:.2} ×", row.ratio),
            format!("{:.0} %", row.spread * 100.0),
            row.warm_ratio.map_or_else(String::new, |ratio| format!("{ratio:.2} ×")),
            row.target.map_or_else(String::new, |target| format!("{target} ×")),
            row.verdict().to_string(),
            row.floor_ns.map_or_else(String::new, time),
            time(row.engine_free_ns),
            time(row.free_ns),
            match row.codec_bytes {
                Some(bytes) if bytes != row.bytes => format!("{}, codec {bytes}", row.bytes),
                _ => row.bytes.to_string(),
            },
        ]);
    }
    table
}

/// What else the engine offers, where it was measured.
pub fn others<'a>(rows: impl IntoIterator<Item = &'a Row>, place: Place) -> Option<Table> {
    let header = ["workload", "op", "codec", "JSON", "ratio", "var_to_str", "ratio", "GUS 2", "ratio"];
    let mut table = table(&header, place);
    for row in rows {
        let others = [row.json_ns, row.text_ns, row.peer_ns];
        if others == [None; 3] {
            continue;
        }
        let cells = others.map(|other| match other {
            Some(other) => [time(other), format!("{:.1} ×", other / row.codec_ns)],
            None => Default::default(),
        });
        let names = [row.workload.clone(), row.op.to_string(), time(row.codec_ns)];
        table.add_row(names.into_iter().chain(cells.into_iter().flatten()));
    }
    (!table.is_empty()).then_some(table)
}

/// Memory, where it was measured.
pub fn memory<'a>(rows: impl IntoIterator<Item = &'a Row>, place: Place) -> Option<Table> {
    let header =
        ["workload", "op", "engine's peak", "kept after", "codec's peak", "of it scratch", "kept after"];
    let mut table = table(&header, place);
    for row in rows {
        let Some(peak) = row.peak_bytes else { continue };
        let cell = |bytes: Option<i64>| bytes.map_or_else(String::new, memory_size);
        table.add_row([
            row.workload.clone(),
            row.op.to_string(),
            cell(row.engine_peak_bytes),
            cell(row.engine_kept_bytes),
            memory_size(peak),
            cell(row.scratch_bytes),
            cell(row.kept_bytes),
        ]);
    }
    (!table.is_empty()).then_some(table)
}

/// What a reader must know before the numbers.
pub fn title(report: &Report) -> String {
    let pace = if report.quick { ", quick run with few samples" } else { "" };
    format!("Godot {}, {} build, {}{pace}", report.engine, report.build, report.machine)
}

fn table(header: &[&str], place: Place) -> Table {
    let mut table = Table::new();
    table.load_preset(if place == Place::Markdown { presets::ASCII_MARKDOWN } else { presets::NOTHING });
    table.set_header(header);
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Three digits that matter: `74.1 ns`, `3.41 ms`. Shorter than the clock's tick is nothing.
fn time(nanoseconds: f64) -> String {
    let (value, unit) = match Duration::from_nanos(nanoseconds as u64) {
        Duration::ZERO => return "0 ns".to_owned(),
        short if short < Duration::from_micros(1) => (nanoseconds, "ns"),
        short if short < Duration::from_millis(1) => (nanoseconds / 1e3, "µs"),
        short if short < Duration::from_secs(1) => (nanoseconds / 1e6, "ms"),
        _ => (nanoseconds / 1e9, "s"),
    };
    let digits = match value {
        large if large >= 100.0 => 0,
        middle if middle >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$} {unit}")
}

/// A call can also leave less in use than before.
fn memory_size(bytes: i64) -> String {
    HumanBytes(bytes.max(0) as u64).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::row;
    use super::*;

    #[test]
    fn times_have_three_digits() {
        for (nanoseconds, text) in
            [(0.1, "0 ns"), (74.12, "74.1 ns"), (999.0, "999 ns"), (3410.0, "3.41 µs"), (2.5e9, "2.50 s")]
        {
            assert_eq!(time(nanoseconds), text);
        }
    }

    #[test]
    fn a_row_shows_its_verdict() {
        let rows = [Row { target: Some(6.0), ..row("ints", 3.0, 0.02) }, row("floats", 0.5, 0.0)];
        let text = results(&rows, Place::Markdown).to_string();
        assert!(text.lines().next().unwrap().starts_with("| workload"));
        assert!(text.contains("3.00 ×") && text.contains("6 ×") && text.contains("missed"), "{text}");
        assert!(text.contains("slower"), "{text}");
    }

    #[test]
    fn tables_without_rows_are_left_out() {
        assert!(others(&[row("x", 1.0, 0.0)], Place::Terminal).is_none());
        assert!(memory(&[row("x", 1.0, 0.0)], Place::Terminal).is_none());
    }
}
