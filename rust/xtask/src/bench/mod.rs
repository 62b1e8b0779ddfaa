//! `cargo xtask bench`: measures the codec against the engine's own functions, in the real engine.
//!
//! Each workload runs in its own process (`godot-project/bench/main.gd`), which alternates between engine and
//! codec. `--snapshots` measures snapshots instead, and `--python` the Python package, without the engine.

mod chart;
mod page;
mod quiet;
mod report;
mod samples;
mod snapshots;
mod stage;
mod table;
mod workloads;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use self::report::{Report, machine, threads};
use self::stage::{Build, Pace, Stage};
use crate::godot::Godot;
use crate::progress::Progress;
use crate::workspace::Workspace;

/// Options of a run.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Options {
    /// Only the workload with this name, or those whose names contain it
    #[arg(value_name = "NAME")]
    pub only: Option<String>,
    /// Take fewer samples, for a rough result
    #[arg(long)]
    pub quick: bool,
    /// A folder of JSON documents to measure as well
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Measure in the editor, which is a debug build, instead of an exported release game
    #[arg(long)]
    pub editor: bool,
    /// Rewrite docs/benchmarks.md and its chart; refused while other processes use the processors
    #[arg(long, conflicts_with_all = ["only", "quick", "data", "editor"])]
    pub document: bool,
    /// Measure snapshots, beside packing by hand and MultiplayerSynchronizer
    #[arg(long, conflicts_with_all = ["only", "data", "document"])]
    pub snapshots: bool,
    /// Measure the Python package beside orjson and pyarrow
    #[arg(long, exclusive = true)]
    pub python: bool,
}

const FULL: Pace = Pace { pairs: 15, seconds: 1.0 };
const QUICK: Pace = Pace { pairs: 5, seconds: 0.1 };

/// Measures, prints a table, and writes every figure to `target/bench.json`.
pub fn run(workspace: &Workspace, godot: &Godot, options: &Options) -> Result<()> {
    let mut workloads = workloads::all(options.data.as_deref())?;
    if let Some(name) = &options.only {
        workloads = workloads::only(workloads, name)?;
    }
    let has_template = godot.template_release.is_some();
    let build = if options.editor || !has_template { Build::Editor } else { Build::Release };
    if !has_template {
        ensure!(!options.document, "{} has no release template beside it", godot.editor.display());
        eprintln!("   no release template beside the engine: the editor build is measured");
    }
    let mut report = Report {
        engine: godot.version.clone(),
        build,
        machine: machine(),
        quick: options.quick,
        rows: Vec::new(),
    };
    if options.snapshots {
        return snapshots::run(workspace, godot, &report);
    }
    let stage = Stage::set(workspace, godot, build, "res://bench/main.tscn")?;
    let pace = if options.quick { QUICK } else { FULL };
    let step = Progress::count("workloads", workloads.len() as u64);
    for workload in &workloads {
        for threads in threads() {
            if options.document {
                quiet::require()?;
            }
            let rows = stage
                .run(workload, threads, &pace)
                .with_context(|| format!("`{}` could not be measured", workload.name))?;
            report.rows.extend(rows);
        }
        step.step();
    }
    step.done();

    println!("\n{report}\n\n{}", table::full(&report.rows));
    let file = workspace.target.join("bench.json");
    fs::write(&file, serde_json::to_string_pretty(&report)? + "\n")?;
    println!("\nevery figure: {}", file.display());
    if options.document { page::write(workspace, &report) } else { Ok(()) }
}
