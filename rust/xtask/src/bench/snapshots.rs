//! `cargo xtask bench --snapshots`: `godot-project/bench/snapshots/` measures snapshots beside what games use without
//! them.

use anyhow::{Context, Result};
use comfy_table::{CellAlignment, Table, presets};

use super::report::Report;
use super::samples;
use super::stage::{self, Stage};
use crate::godot::Godot;
use crate::progress::Progress;
use crate::workspace::Workspace;

/// Measures, and prints a table. `report` has no rows.
pub fn run(workspace: &Workspace, godot: &Godot, report: &Report) -> Result<()> {
    let stage = Stage::set(workspace, godot, report.build, "res://bench/snapshots/main.tscn")?;
    let step = Progress::spinner("measuring snapshots");
    let ticks = if report.quick { "300" } else { "3000" };
    let stdout = stage::printed(stage.command()?.args(["--", "--ticks", ticks]))?;
    step.done();
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["for each of 120 units and tick", "figure", "of by hand, of on change", "goals"]);
    for column in table.column_iter_mut().skip(1).take(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for line in samples::marked(&stdout) {
        let row: [String; 4] = serde_json::from_str(line).with_context(|| format!("cannot read `{line}`"))?;
        table.add_row(row);
    }
    println!("\n{report}\n\n{table}");
    Ok(())
}
