//! `cargo xtask bench`: the codec beside the engine's own functions, in the real engine.
//!
//! Each workload runs in a process of its own (`godot-project/bench/main.gd`), engine and codec in turns. Workloads and
//! targets are in [`workloads`].

mod chart;
mod check;
mod document;
pub mod report;
mod samples;
mod stage;
mod statistics;
mod table;
mod workloads;

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;

use anyhow::{Context, Result, ensure};

use self::report::{Build, Op, Report, Row, Skipped, Verdict};
use self::samples::{Line, Memory};
use self::stage::{Purpose, Stage};
use self::table::Place;
use self::workloads::{Threads, Workload};
use crate::godot::Godot;
use crate::progress::Progress;
use crate::workspace::Workspace;

/// Choices for a run.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Options {
    /// Few samples, and neither series of sizes nor a warm heap; at most three minutes
    #[arg(long)]
    pub quick: bool,
    /// A folder of JSON documents to measure as well
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The addon of GUS 2, compiled for this machine, to measure as well
    #[arg(long, value_name = "DIR")]
    pub peer: Option<PathBuf>,
    /// Where to write the rows
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Where to draw the ratios as bars
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Fail if a ratio fell by more than 10 % beyond its spread since this file was written with --json
    #[arg(long, value_name = "FILE")]
    pub check: Option<PathBuf>,
    /// Only the workload with this name, or those whose names contain it
    #[arg(long, value_name = "NAME")]
    pub only: Option<String>,
    /// Only this build [default: both, if the engine has a release template]
    #[arg(long)]
    pub build: Option<Build>,
    /// Measure the library in the addon, without compiling it first
    #[arg(long)]
    pub no_build: bool,
    /// Update the measured parts of docs/benchmarks.md, its chart and its benchmarks.json
    #[arg(long, conflicts_with_all = ["quick", "only", "build"])]
    pub document: bool,
}

/// The amount of samples.
struct Pace {
    /// The minimum number of pairs.
    pairs: u32,
    /// The minimum time.
    seconds: f64,
}

const FULL: Pace = Pace { pairs: 15, seconds: 1.0 };
const QUICK: Pace = Pace { pairs: 5, seconds: 0.1 };

/// Measures, prints and writes; returns whether no row fell behind the earlier run.
pub fn run(workspace: &Workspace, godot: &Godot, options: &Options) -> Result<bool> {
    // Read first, so that an unreadable file fails before the run.
    let before = options.check.as_deref().map(report::read).transpose()?;
    let mut workloads = workloads::all(options.data.as_deref(), !options.quick || options.only.is_some())?;
    if let Some(name) = &options.only {
        workloads = workloads::only(workloads, name)?;
    }
    let builds = builds(godot, options.build)?;
    let stage = Stage::set(workspace, godot, &builds, options.peer.as_deref())?;
    let bench = Bench { stage, workloads, quick: options.quick };
    let mut reports = bench.time(&builds, &godot.version)?;
    bench.memory(&mut reports)?;

    print(&reports);
    if let Some(file) = &options.json {
        report::write(&reports, file)?;
    }
    if let Some(file) = &options.svg {
        chart::draw(&reports, &bench.charted(), file)?;
    }
    if options.document {
        document::write(workspace, &reports)?;
    }
    before.map_or(Ok(true), |before| judge(&before, &reports))
}

/// The chosen one, else all that this engine has.
fn builds(godot: &Godot, chosen: Option<Build>) -> Result<Vec<Build>> {
    let has_template = godot.template_release.is_some();
    ensure!(
        chosen != Some(Build::Release) || has_template,
        "{} has no release template beside it",
        godot.editor.display()
    );
    if !has_template {
        eprintln!("   no release template beside the engine: only the editor build is measured");
    }
    let exists = |build: &Build| *build == Build::Editor || has_template;
    let all = [Build::Release, Build::Editor];
    Ok(all
        .into_iter()
        .filter(|build| exists(build) && chosen.is_none_or(|chosen| chosen == *build))
        .collect())
}

struct Bench<'a> {
    stage: Stage<'a>,
    workloads: Vec<Workload>,
    quick: bool,
}

/// How a process that measures time is set up.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Run {
    threads: Threads,
    /// Whether it keeps the memory that it frees.
    is_warm: bool,
}

/// One call whose memory is watched.
#[derive(Clone, Copy)]
struct Call<'a> {
    workload: &'a Workload,
    op: Op,
    /// [`CODEC`] or [`ENGINE`].
    side: &'static str,
}

/// As the project's functions end.
const CODEC: &str = "codec";
const ENGINE: &str = "engine";

impl Bench<'_> {
    /// Builds and thread counts in turns, so that a slow minute of the machine touches all of them.
    fn time(&self, builds: &[Build], engine: &str) -> Result<Vec<Report>> {
        let mut reports: Vec<_> = builds
            .iter()
            .map(|build| Report {
                engine: engine.to_owned(),
                build: *build,
                rows: Vec::new(),
                machine: machine(),
                warm_heap: Stage::warm_heap().unwrap_or_default(),
                quick: self.quick,
                skipped: Vec::new(),
            })
            .collect();
        let step = Progress::count("workloads", self.workloads.len() as u64);
        for workload in &self.workloads {
            for (index, report) in reports.iter_mut().enumerate() {
                // Players have the first build.
                for run in self.runs(workload, index == 0) {
                    self.time_one(workload, run, report)
                        .with_context(|| format!("`{}` could not be measured", workload.name))?;
                }
            }
            step.step();
        }
        step.done();
        Ok(reports)
    }

    fn time_one(&self, workload: &Workload, run: Run, report: &mut Report) -> Result<()> {
        let pace = if self.quick { QUICK } else { FULL };
        let mut arguments = vec![("pairs", pace.pairs.to_string()), ("seconds", pace.seconds.to_string())];
        let with_others = run == Run { threads: Threads::All, is_warm: false };
        if with_others && !workload.is_growth && !self.quick {
            arguments.push(("others", "1".to_owned()));
        }
        let count = run.threads.count();
        let purpose = if run.is_warm { Purpose::WarmTime } else { Purpose::Time };
        let lines = self.stage.run(report.build, workload, purpose, count, &arguments)?;
        for line in lines {
            match line {
                Line::Samples(samples) => {
                    let mut row = samples.row(&workload.name, count).context("nothing was measured")?;
                    if run.is_warm {
                        if let Some(cold) = report.rows.iter_mut().find(|cold| cold.is_same_work(&row)) {
                            cold.warm_ratio = Some(row.ratio);
                        }
                        continue;
                    }
                    row.target = workload.target(report.build, row.op, run.threads);
                    report.rows.push(row);
                }
                Line::Skipped { skipped: reason } => {
                    let skipped = Skipped { workload: workload.name.clone(), reason };
                    if !report.skipped.contains(&skipped) {
                        report.skipped.push(skipped);
                    }
                }
                Line::Memory(_) => {}
            }
        }
        Ok(())
    }

    /// In separate processes, several at a time, because they do not measure time. Only for the first build: the other
    /// would give the same.
    fn memory(&self, reports: &mut [Report]) -> Result<()> {
        let Some(report) = reports.first_mut() else { return Ok(()) };
        let build = report.build;
        let calls = self.calls_to_watch();
        let step = Progress::count("memory", calls.len() as u64);
        let waiting = Mutex::new(calls.into_iter());
        let work = || -> Result<Vec<_>> {
            let mut watched = Vec::new();
            loop {
                let next = waiting.lock().expect("no worker panics").next();
                let Some(call) = next else { return Ok(watched) };
                watched.extend(self.watch(build, &call)?.map(|memory| (call, memory)));
                step.step();
            }
        };
        let watched = thread::scope(|scope| {
            let workers: Vec<_> = (0..Threads::All.count()).map(|_| scope.spawn(work)).collect();
            let finished = workers.into_iter().map(|worker| worker.join().expect("no worker panics"));
            finished.collect::<Result<Vec<_>>>()
        })?;
        step.done();
        for (call, memory) in watched.into_iter().flatten() {
            add(report, &call, memory);
        }
        Ok(())
    }

    fn calls_to_watch(&self) -> Vec<Call<'_>> {
        let sides: &[&str] = if self.quick { &[CODEC] } else { &[CODEC, ENGINE] };
        let mut calls = Vec::new();
        for workload in self.workloads.iter().filter(|workload| !workload.is_growth) {
            for op in [Op::Encode, Op::Decode] {
                calls.extend(sides.iter().map(|side| Call { workload, op, side }));
            }
        }
        calls
    }

    /// `None` where the workload cannot be run.
    fn watch(&self, build: Build, call: &Call<'_>) -> Result<Option<Memory>> {
        let arguments = [("memory", call.side.to_owned()), ("op", call.op.to_string())];
        let all = Threads::All.count();
        let lines = self.stage.run(build, call.workload, Purpose::Memory, all, &arguments)?;
        Ok(lines.into_iter().find_map(|line| match line {
            Line::Memory(memory) => Some(memory),
            _ => None,
        }))
    }

    /// The processes for one workload in one build.
    fn runs(&self, workload: &Workload, is_first_build: bool) -> Vec<Run> {
        let cold = |threads| Run { threads, is_warm: false };
        let all = cold(Threads::All);
        if workload.is_growth {
            return if is_first_build { vec![all] } else { vec![] };
        }
        let several = Threads::All.count() > 1;
        let mut runs = Vec::new();
        if several && (if self.quick { workload.counts_with_one_thread() } else { is_first_build }) {
            runs.push(cold(Threads::One));
        }
        runs.push(all);
        if is_first_build && !self.quick && Stage::warm_heap().is_some() {
            runs.push(Run { is_warm: true, ..all });
        }
        runs
    }

    /// The workloads that a chart shows, in their order.
    fn charted(&self) -> Vec<&str> {
        self.workloads
            .iter()
            .filter(|workload| !workload.is_growth)
            .map(|workload| workload.name.as_str())
            .collect()
    }
}

impl Threads {
    fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::All => thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// Memory was measured with all threads.
fn add(report: &mut Report, call: &Call<'_>, memory: Memory) {
    let is_it = |row: &&mut Row| {
        row.workload == call.workload.name && row.op == call.op && row.threads == Threads::All.count()
    };
    let (Some(row), Some(peak)) = (report.rows.iter_mut().find(is_it), memory.peak) else { return };
    let kept = memory.kept.map(|kept| kept as i64);
    if call.side == ENGINE {
        row.engine_peak_bytes = Some(peak as i64);
        row.engine_kept_bytes = kept;
    } else {
        row.peak_bytes = Some(peak as i64);
        row.scratch_bytes = memory.held.map(|held| (peak - held) as i64);
        row.kept_bytes = kept;
    }
}

fn print(reports: &[Report]) {
    for report in reports {
        println!("\n{}\n", table::title(report));
        println!("{}", table::results(&report.rows, Place::Terminal));
        let more =
            [table::others(&report.rows, Place::Terminal), table::memory(&report.rows, Place::Terminal)];
        for table in more.into_iter().flatten() {
            println!("\n{table}");
        }
        for skipped in &report.skipped {
            println!("\nskipped: {}: {}", skipped.workload, skipped.reason);
        }
        let count = |verdict| report.rows.iter().filter(|row| row.verdict() == verdict).count();
        println!(
            "\n{} build: {} target(s) met, {} missed, {} row(s) slower than the engine",
            report.build,
            count(Verdict::Met),
            count(Verdict::Missed),
            count(Verdict::Slower)
        );
    }
}

fn judge(before: &[Report], now: &[Report]) -> Result<bool> {
    let comparison = check::compare(before, now);
    ensure!(comparison.compared > 0, "the earlier run has no row in common with this one");
    for fallen in &comparison.fallen {
        println!("FELL: {fallen}");
    }
    println!("{} row(s) compared, {} fell", comparison.compared, comparison.fallen.len());
    Ok(comparison.fallen.is_empty())
}

/// The processor and how many there are.
pub(crate) fn machine() -> String {
    let described = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = described.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("a processor that does not tell its name", |(_, name)| name);
    format!("{model}, {} thread(s)", Threads::All.count())
}
