//! `cargo xtask soak`: activities that check random input for a given time, and short slices of them for
//! `cargo xtask test`.

mod fuzz;
mod kill;
mod protobuf;
mod ray;
mod script;
mod snapshots;
mod valgrind;
mod work;
mod writers;

use std::time::{Instant, SystemTime};

use anyhow::{Context, Result, ensure};

use crate::build::{self, Build};
use crate::godot;
use crate::godot::Godot;
use crate::judge::Tally;
use crate::suite;
use crate::workspace::Workspace;

use work::{Done, Mode, Stage, Work};

use Mode::{Direct, Portable, SharedOut};

/// All activities, in the order in which they run.
const ACTIVITIES: &[Activity] = &[
    activity(
        "values",
        "cases",
        "random values and damaged bytes, through the engine and the codec",
        script::run,
    )
    .modes(&[Direct, Portable, SharedOut])
    .test(&[(Direct, 10_000), (Portable, 1_000), (SharedOut, 1_000)]),
    activity("calls", "calls", "every method again and again; memory and objects must not grow", script::run)
        .modes(&[Direct, Portable])
        .test(&[(Direct, 300_000), (Portable, 30_000)]),
    activity(
        "kill",
        "kills",
        "Godot is killed while it saves and appends; the files must be whole",
        kill::run,
    )
    .test(&[(Direct, 20)]),
    activity("writers", "rounds", "several processes append to, save, load and lock one file", writers::run)
        .test(&[(Direct, 1)]),
    activity(
        "network",
        "ticks",
        "snapshots over ENet, which loses packets; clients must see the server's world",
        script::run,
    )
    .test(&[(Direct, 2000)]),
    activity(
        "protobuf",
        "checks",
        "random messages of random schemas, beside the official library",
        protobuf::run,
    )
    .test(&[(Direct, 60)]),
    activity(
        "snapshots",
        "ticks",
        "simulated networks that lose and delay snapshots, some beside a second decoder",
        snapshots::run,
    )
    .test(&[(Direct, 100_000)]),
    activity(
        "ray",
        "rounds",
        "tables of many files, read by workers of Ray, also if one dies, beside a single process",
        ray::run,
    ),
    activity("worst", "seconds", "search for packets that take much time or memory", script::search),
    activity("fuzz", "executions", "libFuzzer on every target of tests/fuzz", fuzz::run),
    activity("panics", "calls", "a panic in every method; none must reach the script", |on, _| {
        suite::panics(on.workspace, on.godot).map(Done::from)
    })
    .test(&[(Direct, 1)]),
    activity("messages", "calls", "every failure prints exactly the error lines that it should", |on, _| {
        suite::messages(on.workspace, on.godot).map(Done::from)
    })
    .test(&[(Direct, 1)]),
    activity(
        "valgrind",
        "calls",
        "calls, also on several threads, under memcheck: no invalid access, no leak",
        valgrind::run,
    )
    .modes(&[Direct, Portable]),
];

type Run = fn(&Stage<'_>, &Work) -> Result<Done>;

struct Activity {
    name: &'static str,
    /// The unit that the activity counts.
    unit: &'static str,
    help: &'static str,
    run: Run,
    /// The modes between which the time is split. The first mode gets the largest share.
    modes: &'static [Mode],
    /// The amounts for `cargo xtask test`.
    test: &'static [(Mode, u64)],
}

const fn activity(name: &'static str, unit: &'static str, help: &'static str, run: Run) -> Activity {
    Activity { name, unit, help, run, modes: &[Direct], test: &[] }
}

impl Activity {
    const fn modes(self, modes: &'static [Mode]) -> Self {
        Self { modes, ..self }
    }

    const fn test(self, test: &'static [(Mode, u64)]) -> Self {
        Self { test, ..self }
    }

    fn named(name: &str) -> Result<&'static Self> {
        let found = ACTIVITIES.iter().find(|activity| activity.name == name);
        found.with_context(|| format!("unknown activity \"{name}\"; `cargo xtask soak --list` prints them"))
    }

    /// Does the work. An error names the command that repeats the work.
    fn run(&self, on: &Stage<'_>, work: &Work) -> Result<Done> {
        (self.run)(on, work).map_err(|error| {
            let repeat = work.to_repeat(error.downcast_ref());
            error.context(format!("`cargo xtask soak {} {repeat}` repeats it", self.name))
        })
    }
}

/// Options of `cargo xtask soak`.
#[derive(Debug, Default, clap::Args)]
pub struct Options {
    /// Activities, as `--list` names them [default: all]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Print the activities
    #[arg(long)]
    pub list: bool,
    /// Minutes for each activity, split among its modes; ignored by panics, messages and valgrind
    #[arg(long, value_name = "N", default_value_t = 1.0)]
    pub minutes: f64,
    /// Amount of work for each mode, instead of a time
    #[arg(long, value_name = "N", conflicts_with = "minutes")]
    pub count: Option<u64>,
    /// Seed, to repeat a run [default: the time]
    #[arg(long, value_name = "S")]
    pub seed: Option<u32>,
    /// Start at this case, and print each input before it is tried; without --count, run only this case
    #[arg(long, value_name = "I")]
    pub case: Option<u64>,
    /// Only this mode [default: all modes of the activity, most of the time direct]
    #[arg(long, value_name = "MODE")]
    pub mode: Option<Mode>,
}

/// Runs activities one after the other, prints a line for each, and returns whether all succeeded.
pub fn run(workspace: &Workspace, options: &Options) -> Result<bool> {
    if options.list {
        ACTIVITIES.iter().for_each(|activity| println!("{:10} {}", activity.name, activity.help));
        return Ok(true);
    }
    let named = options.names.iter().map(|name| Activity::named(name));
    let mut chosen = named.collect::<Result<Vec<_>>>()?;
    if chosen.is_empty() {
        chosen.extend(ACTIVITIES);
    }
    ensure!(options.case.is_none() || chosen.len() == 1, "--case needs the name of one activity");
    let godot = &godot::find_or_install(workspace)?;
    build::build(workspace, &Build::default())?;
    let stage = Stage { workspace, godot };
    let seed = options
        .seed
        .unwrap_or_else(|| SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs() as u32));
    let mut lines = Vec::new();
    let mut succeeded = true;
    for activity in chosen {
        for (mode, seconds) in shares(activity, options) {
            let work =
                Work { name: activity.name, seconds, count: options.count, seed, case: options.case, mode };
            println!("\n== {} ({mode}), seed {seed}", activity.name);
            let started = Instant::now();
            let verdict = match activity.run(&stage, &work) {
                Ok(done) => format!("ok, {} {}", done.amount, activity.unit),
                Err(error) => {
                    eprintln!("{error:#}");
                    succeeded = false;
                    format!("FAILED, {error}")
                }
            };
            let seconds = started.elapsed().as_secs();
            lines.push(format!("{:10} {mode:10} {seconds:>6} s  seed {seed}  {verdict}", activity.name));
            println!("{}", lines[lines.len() - 1]);
        }
    }
    println!("\n{}", lines.join("\n"));
    Ok(succeeded)
}

/// The modes of an activity with the seconds of each: three fifths of the time for the first mode, and equal
/// shares of the remainder for the others.
fn shares(activity: &Activity, options: &Options) -> Vec<(Mode, u64)> {
    let seconds = |share: f64| ((options.minutes * 60.0 * share) as u64).max(1);
    match (options.mode, activity.modes) {
        (Some(mode), _) | (None, &[mode]) => vec![(mode, seconds(1.0))],
        (None, modes) if options.case.is_some() => vec![(modes[0], seconds(1.0))],
        (None, modes) => {
            let others = 0.4 / (modes.len() - 1) as f64;
            let share = |index: usize| if index == 0 { 0.6 } else { others };
            modes.iter().enumerate().map(|(index, mode)| (*mode, seconds(share(index)))).collect()
        }
    }
}

/// Runs the short slices of an activity for `cargo xtask test`. Amounts and seeds are fixed, so that results
/// can be repeated.
///
/// # Errors
/// Fails if the activity fails.
pub fn slice(workspace: &Workspace, godot: &Godot, name: &str) -> Result<Tally> {
    let activity = Activity::named(name)?;
    let one = |&(mode, count): &(Mode, u64)| {
        let work = Work { name: activity.name, seconds: 0, count: Some(count), seed: 1, case: None, mode };
        activity.run(&Stage { workspace, godot }, &work).map(|done| done.tally)
    };
    activity.test.iter().map(one).sum()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_activity_has_a_name_of_its_own() {
        let names: BTreeSet<_> = ACTIVITIES.iter().map(|activity| activity.name).collect();
        assert_eq!(names.len(), ACTIVITIES.len());
    }

    #[test]
    fn the_first_mode_gets_the_largest_share() {
        let options = Options { minutes: 1.0, ..Options::default() };
        let values = Activity::named("values").unwrap();
        assert_eq!(shares(values, &options), [(Direct, 36), (Portable, 12), (SharedOut, 12)]);
        let options = Options { mode: Some(Portable), ..options };
        assert_eq!(shares(values, &options), [(Portable, 60)]);
    }
}
