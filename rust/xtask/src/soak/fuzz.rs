//! Runs libFuzzer on every target of `tests/fuzz`, through cargo-fuzz.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::work::{Done, Stage, Work};
use crate::judge::Tally;
use crate::run::{self, Echo};
use crate::workspace::Workspace;

/// The package that is installed under `target/tools`.
const CARGO_FUZZ: &str = "cargo-fuzz@0.13.1";
/// Two passes over each target, with their shares of the time: first small inputs, which run fast, then large
/// inputs.
const PASSES: [(f64, &[&str]); 2] = [(0.8, &["-max_len=1024"]), (0.2, &["-max_len=32768", "-len_control=0"])];
/// libFuzzer's limits on the seconds per input and on the program's memory in megabytes.
const LIMITS: [&str; 2] = ["-timeout=10", "-rss_limit_mb=2048"];
/// Extra time to compile a target and to run the existing inputs.
const START: Duration = Duration::from_secs(1200);

/// Runs every target for its share of the time. Inputs are kept in `target/fuzz/corpus` from run to run.
pub fn run(on: &Stage<'_>, work: &Work) -> Result<Done> {
    let tools = on.workspace.target.join("tools");
    let mut install = on.workspace.cargo();
    install.args(["install", "--quiet", "--locked", CARGO_FUZZ, "--root"]).arg(&tools);
    run::through(&mut install).context("cargo-fuzz is needed")?;
    let source = on.workspace.root.join("tests/fuzz");
    let mut targets = fs::read_dir(source.join("targets"))?
        .map(|entry| Ok(entry?.path().file_stem().unwrap_or_default().to_string_lossy().into_owned()))
        .collect::<Result<Vec<String>>>()?;
    targets.sort();
    let seconds = work.count.unwrap_or(work.seconds) as f64 / targets.len() as f64;
    let mut executions = 0;
    for target in &targets {
        let folders = folders(on.workspace, &source, target)?;
        for (share, options) in PASSES {
            let time = (seconds * share).ceil() as u64;
            let mut fuzz = Command::new(tools.join("bin/cargo-fuzz"));
            fuzz.args(["run", "--sanitizer", "none", "--fuzz-dir"]).arg(&source).arg("--target-dir");
            fuzz.arg(on.workspace.target.join("fuzz/none")).arg(target).args(&folders).arg("--");
            fuzz.args(LIMITS).args(options).arg("-print_final_stats=1");
            fuzz.args([format!("-max_total_time={time}"), format!("-seed={}", work.seed.max(1))]);
            fuzz.current_dir(&on.workspace.root);
            let outcome = run::watch(&mut fuzz, Echo::Nothing, START + Duration::from_secs(time))?;
            if let Some(end) = outcome.bad_end() {
                let found = outcome.log.lines().find_map(|line| line.split_once("Test unit written to "));
                let input = found.map(|(_, path)| fs::read(path)).transpose()?.unwrap_or_default();
                bail!("{target} {end}:\n{}\ninput: {}", outcome.log, hex::encode(input));
            }
            executions += executed(&outcome.log).with_context(|| format!("{target} did not run"))?;
        }
        println!("  {target}: {executions} executions so far");
    }
    Ok(Done { amount: executions, tally: Tally { passed: targets.len() as u64, failed: 0 } })
}

/// The folder with a target's inputs from earlier runs, and the folder with the target's inputs in the
/// repository.
fn folders(workspace: &Workspace, source: &Path, target: &str) -> Result<[PathBuf; 2]> {
    let folders = ["corpus", "seeds"].map(|name| workspace.target.join("fuzz").join(name).join(target));
    for folder in &folders {
        fs::create_dir_all(folder)?;
    }
    for name in ["corpus", "findings"] {
        // One input per line, with an optional remark after `|`.
        let text = fs::read_to_string(source.join(name).join(format!("{target}.hex"))).unwrap_or_default();
        for (index, line) in text.lines().enumerate() {
            let hex = line.split('|').next().unwrap_or_default().trim();
            fs::write(folders[1].join(format!("{name}-{index}")), hex::decode(hex)?)?;
        }
    }
    Ok(folders)
}

fn executed(log: &str) -> Option<u64> {
    let (_, rest) = log.rsplit_once("stat::number_of_executed_units:")?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executions_come_from_the_statistics() {
        assert_eq!(
            executed("#2 DONE\nstat::number_of_executed_units: 1185502\nstat::x: 1\n"),
            Some(1_185_502)
        );
        assert_eq!(executed("#2 DONE\n"), None);
    }
}
