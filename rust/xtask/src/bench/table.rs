//! Formats rows as a table for the terminal.

use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};

use super::samples::Row;

pub fn full(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header([
        "workload",
        "op",
        "threads",
        "engine",
        "codec",
        "ratio",
        "spread",
        "engine frees",
        "codec frees",
        "bytes",
    ]);
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for row in rows {
        table.add_row([
            row.workload.clone(),
            row.op.to_string(),
            row.threads.to_string(),
            time(row.engine_ns),
            time(row.codec_ns),
            format!("{:.2} ×", row.ratio),
            format!("{:.0} %", row.spread * 100.0),
            time(row.engine_free_ns),
            time(row.codec_free_ns),
            match row.codec_bytes {
                bytes if bytes != row.bytes => format!("{}, codec {bytes}", row.bytes),
                _ => row.bytes.to_string(),
            },
        ]);
    }
    table
}

/// Formats with three significant digits: `74.1 ns`, `3.41 ms`.
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
