//! `cargo xtask fuzz`: libFuzzer on every target of `tests/fuzz`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;
use std::{fs, iter, thread};

use anyhow::{Context, Result, bail, ensure};
use comfy_table::{CellAlignment, Table, presets};
use indicatif::HumanCount;

use crate::progress::Progress;
use crate::run::{self, Echo, Outcome};
use crate::workspace::Workspace;

/// What is installed under `target/tools`.
const CARGO_FUZZ: &str = "cargo-fuzz@0.13.1";
/// Phases of a target's time, with the options of libFuzzer: small inputs are fast, but some must be large.
const PASSES: [(u32, &[&str]); 2] = [(4, &["-max_len=1024"]), (1, &["-max_len=32768", "-len_control=0"])];
/// The limits: seconds per input, and megabytes of the whole program.
const LIMITS: [&str; 2] = ["-timeout=10", "-rss_limit_mb=2048"];
/// Extra time for a target to run the existing inputs.
const START: Duration = Duration::from_secs(300);
/// The options for choosing the inputs in the repository: few and short, by edges alone.
const CHOICE: [&str; 3] = ["-set_cover_merge=1", "-use_counters=0", "-max_len=256"];

/// The options.
#[derive(clap::Args)]
pub struct Options {
    /// The total time, shared by all targets
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub seconds: u64,
    /// Only this target [default: all]
    #[arg(long, value_name = "NAME")]
    pub target: Option<String>,
    /// The number of targets that run at once
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub jobs: u32,
    /// With address sanitizer, slower
    #[arg(long)]
    pub address: bool,
    /// Then replace the inputs in tests/fuzz/corpus by a minimal set with the same coverage
    #[arg(long)]
    pub keep: bool,
}

/// Runs every target for its share of the time, prints the results, and returns whether nothing was found.
pub fn run(workspace: &Workspace, options: &Options) -> Result<bool> {
    let executed = executions(workspace, options)?;
    Ok(executed.values().all(|target| target.findings == 0))
}

/// What one target did.
pub struct Executed {
    /// The number of inputs executed.
    pub executions: u64,
    /// The number of findings.
    pub findings: usize,
}

/// Runs every target for its share of the time, prints the results, and returns them by target name.
pub fn executions(workspace: &Workspace, options: &Options) -> Result<BTreeMap<String, Executed>> {
    let fuzz = Fuzz::build(workspace, options.address)?;
    let targets = fuzz.targets(options.target.as_deref())?;
    let all = targets.len() as u32;
    let time = Duration::from_secs(options.seconds) * options.jobs.clamp(1, all) / all;
    let progress = Progress::count(format!("fuzzing, {} s each", time.as_secs()), all.into());
    let waiting = Mutex::new(targets.iter());
    let work = || {
        let next = || waiting.lock().ok()?.next();
        let rows = iter::from_fn(next).map(|target| {
            let row = fuzz.run(target, time);
            progress.step();
            row
        });
        rows.collect::<Result<Vec<Row>>>()
    };
    let done = thread::scope(|scope| {
        let threads: Vec<_> = (0..options.jobs).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Result<Vec<_>>>()
    });
    let mut rows: Vec<Row> = done?.into_iter().flatten().collect();
    progress.done();
    rows.sort_by(|a, b| a.target.cmp(&b.target));
    println!("{}", table(&rows));
    if options.keep {
        for target in &targets {
            println!("{target}: {} inputs kept", fuzz.keep(target)?);
        }
    }
    for finding in rows.iter().flat_map(|row| &row.findings) {
        println!("found: {}\n{}", finding.display(), hex::encode(fs::read(finding)?));
    }
    let executed =
        |row: Row| (row.target, Executed { executions: row.executions, findings: row.findings.len() });
    Ok(rows.into_iter().map(executed).collect())
}

/// The targets, compiled.
struct Fuzz {
    /// `tests/fuzz`.
    source: PathBuf,
    programs: PathBuf,
    /// Where inputs are kept from run to run.
    work: PathBuf,
}

impl Fuzz {
    fn build(workspace: &Workspace, address: bool) -> Result<Self> {
        let tools = workspace.target.join("tools");
        let mut install = workspace.cargo();
        install.args(["install", "--quiet", "--locked", CARGO_FUZZ, "--root"]).arg(&tools);
        run::through(&mut install).context("cargo-fuzz is needed")?;

        let source = workspace.root.join("tests/fuzz");
        let work = workspace.target.join("fuzz");
        let sanitizer = if address { "address" } else { "none" };
        let target = work.join(sanitizer);
        let mut build = Command::new(tools.join("bin/cargo-fuzz"));
        build.args(["build", "--sanitizer", sanitizer, "--fuzz-dir"]).arg(&source);
        build.arg("--target-dir").arg(&target).current_dir(&workspace.root);
        if address {
            // Lets a stable compiler take the option for it.
            build.env("RUSTC_BOOTSTRAP", "1");
        }
        run::through(&mut build)?;
        let programs = fs::read_dir(&target)?
            .filter_map(|entry| Some(entry.ok()?.path().join("release")))
            .find(|folder| folder.join("decode").is_file())
            .with_context(|| format!("no programs under {}", target.display()))?;
        Ok(Self { source, programs, work })
    }

    /// The names of all targets, or the only one.
    fn targets(&self, only: Option<&str>) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.source.join("targets"))? {
            let name = entry?.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
            names.push(name);
        }
        names.sort();
        if let Some(only) = only {
            ensure!(names.iter().any(|name| name == only), "no such target; there are {}", names.join(", "));
            names.retain(|name| name == only);
        }
        Ok(names)
    }

    fn run(&self, target: &str, time: Duration) -> Result<Row> {
        let mut row = Row { target: target.to_owned(), ..Row::default() };
        let seeds = self.seeds(target)?;
        let corpus = self.folder("corpus", target)?;
        let parts: u32 = PASSES.iter().map(|(part, _)| part).sum();
        for (part, arguments) in PASSES {
            let time = time * part / parts;
            let mut program = self.program(target)?;
            program.args(LIMITS).args(arguments).arg("-print_final_stats=1");
            program.arg(format!("-max_total_time={}", time.as_secs().max(1))).args([&corpus, &seeds]);
            let outcome = run::watch(&mut program, Echo::Nothing, time + START)?;
            row.add(&outcome)?;
        }
        Ok(row)
    }

    /// Writes the minimal set of inputs to the repository, and returns its size.
    fn keep(&self, target: &str) -> Result<usize> {
        let merged = tempfile::tempdir_in(&self.work)?;
        let mut program = self.program(target)?;
        program.args(CHOICE).arg(merged.path());
        program.args([self.folder("corpus", target)?, self.seeds(target)?]);
        let outcome = run::watch(&mut program, Echo::Nothing, START)?;
        if let Some(end) = outcome.bad_end() {
            bail!("{target} {end}:\n{}", end_of(&outcome.log));
        }
        let inputs = fs::read_dir(merged.path())?.map(|entry| Ok(hex::encode(fs::read(entry?.path())?)));
        let mut inputs = inputs.collect::<Result<Vec<_>>>()?;
        inputs.sort_by_key(|hex| (hex.len(), hex.clone()));
        fs::write(self.file("corpus", target), inputs.join("\n") + "\n")?;
        Ok(inputs.len())
    }

    /// A target with the common arguments.
    fn program(&self, target: &str) -> Result<Command> {
        // With address sanitizer, a level of nesting takes twenty times the stack.
        let mut program = Command::new("sh");
        program.args(["-c", "ulimit -S -s 60000 && exec \"$0\" \"$@\""]).arg(self.programs.join(target));
        let findings = self.folder("findings", target)?;
        program.arg(format!("-artifact_prefix={}/", findings.display()));
        Ok(program)
    }

    fn folder(&self, name: &str, target: &str) -> Result<PathBuf> {
        let folder = self.work.join(name).join(target);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Inputs in the repository: one per line, with an optional remark after a bar.
    fn file(&self, name: &str, target: &str) -> PathBuf {
        self.source.join(name).join(format!("{target}.hex"))
    }

    /// A folder with the repository's inputs for a target.
    fn seeds(&self, target: &str) -> Result<PathBuf> {
        let folder = self.folder("seeds", target)?;
        for name in ["corpus", "findings"] {
            let text = fs::read_to_string(self.file(name, target)).unwrap_or_default();
            for (index, line) in text.lines().enumerate() {
                let hex = line.split('|').next().unwrap_or_default().trim();
                fs::write(folder.join(format!("{name}-{index}")), hex::decode(hex)?)?;
            }
        }
        Ok(folder)
    }
}

/// The result of a target.
#[derive(Default)]
struct Row {
    target: String,
    executions: u64,
    elapsed: Duration,
    edges: u64,
    features: u64,
    findings: BTreeSet<PathBuf>,
}

impl Row {
    fn add(&mut self, outcome: &Outcome) -> Result<()> {
        let log = &outcome.log;
        let executions = number_behind(log, "stat::number_of_executed_units:");
        self.executions +=
            executions.with_context(|| format!("{} did not run:\n{}", self.target, end_of(log)))?;
        self.elapsed += outcome.elapsed;
        self.edges = self.edges.max(number_behind(log, " cov:").unwrap_or(0));
        self.features = self.features.max(number_behind(log, " ft:").unwrap_or(0));
        if let Some(end) = outcome.bad_end() {
            let written = log.lines().find_map(|line| line.split_once("Test unit written to "));
            let (_, finding) = written.with_context(|| format!("{} {end}:\n{}", self.target, end_of(log)))?;
            self.findings.insert(Path::new(finding).to_owned());
            eprintln!("{}", report(log));
        }
        Ok(())
    }
}

/// The number after the last `label`.
fn number_behind(log: &str, label: &str) -> Option<u64> {
    let (_, rest) = log.rsplit_once(label)?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The report of a finding by libFuzzer and the target, without the log before it.
fn report(log: &str) -> &str {
    let start = log.find("panicked at").or_else(|| log.find("ERROR:")).unwrap_or(0);
    &log[log[..start].rfind('\n').map_or(0, |end| end + 1)..]
}

/// The last lines.
fn end_of(log: &str) -> &str {
    let start = log.rmatch_indices('\n').nth(20).map_or(0, |(at, _)| at + 1);
    &log[start..]
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(["target", "executions", "s", "a second", "edges", "features", "findings"]);
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    let seconds = |row: &Row| row.elapsed.as_secs_f64();
    for row in rows {
        table.add_row([
            row.target.clone(),
            HumanCount(row.executions).to_string(),
            format!("{:.0}", seconds(row)),
            HumanCount((row.executions as f64 / seconds(row)) as u64).to_string(),
            row.edges.to_string(),
            row.features.to_string(),
            row.findings.len().to_string(),
        ]);
    }
    let executions: u64 = rows.iter().map(|row| row.executions).sum();
    let all: f64 = rows.iter().map(seconds).sum();
    table.add_row([
        "all".to_owned(),
        HumanCount(executions).to_string(),
        format!("{all:.0}"),
        HumanCount((executions as f64 / all) as u64).to_string(),
        String::new(),
        String::new(),
        rows.iter().map(|row| row.findings.len()).sum::<usize>().to_string(),
    ]);
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
        #12\tNEW    cov: 10 ft: 11 corp: 2/3b\n\
        #1185502\tDONE   cov: 1432 ft: 6420 corp: 2042/286Kb lim: 1024\n\
        thread '<unnamed>' panicked at decode.rs:1:\nassertion failed\n\
        artifact_prefix='a/'; Test unit written to a/crash-1\n\
        stat::number_of_executed_units: 1185502\n";

    #[test]
    fn figures_are_those_of_the_last_line() {
        assert_eq!(number_behind(LOG, " cov:"), Some(1432));
        assert_eq!(number_behind(LOG, " ft:"), Some(6420));
        assert_eq!(number_behind(LOG, "stat::number_of_executed_units:"), Some(1_185_502));
        assert!(report(LOG).starts_with("thread '<unnamed>' panicked"));
    }
}
