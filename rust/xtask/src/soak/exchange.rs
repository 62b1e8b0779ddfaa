//! Godot 3 and Godot 4 exchange files and packets, Godot 4 through the codec.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use super::{Done, Stage, Work, script};
use crate::godot3::{self, Godot3, padding};
use crate::judge::{self, Tally};
use crate::project::Project;
use crate::run::{self, Echo, Outcome};
use crate::suite;
use crate::workspace::Workspace;

const LIMIT: Duration = Duration::from_secs(300);
/// The time allowed for an engine to start.
const START: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(10);
/// The name of values that contain objects.
const OBJECT: &str = "object";
/// The number of random values in a round, besides the edge values.
const ROUND: u64 = 1000;

struct Pair<'a> {
    workspace: &'a Workspace,
    old: &'a Godot3,
    new: Project<'a>,
    folder: TempDir,
    work: Work,
}

impl Pair<'_> {
    fn old_script(&self, script: &str, options: &[(&str, String)]) -> Command {
        let own =
            [("--folder", self.folder.path().display().to_string()), ("--seed", self.work.seed.to_string())];
        let all = own.iter().chain(options).flat_map(|(name, value)| [(*name).to_owned(), value.clone()]);
        self.old.script(self.workspace, script, &all.collect::<Vec<_>>())
    }

    fn new_script(&self, name: &'static str, count: u64) -> Command {
        let folder = self.folder.path().display().to_string();
        script::working(&self.new, &Work { name, count: Some(count), ..self.work }, &[("--folder", &folder)])
    }

    fn judged(outcome: &Outcome) -> Result<Tally> {
        judge::suite(outcome).with_context(|| outcome.log.clone())
    }

    fn lines(&self, name: &str) -> Result<Vec<String>> {
        let text = fs::read_to_string(self.folder.path().join(name)).with_context(|| name.to_owned())?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// The length-prefixed values of a file, in hexadecimal. Leaves objects empty, because their bytes vary.
    fn values(&self, file: &str, names: &[String], clear_padding: bool) -> Result<Vec<String>> {
        let bytes = fs::read(self.folder.path().join(file)).with_context(|| file.to_owned())?;
        let mut rest = bytes.as_slice();
        let mut values = Vec::new();
        while let Some((length, behind)) = rest.split_first_chunk() {
            let length = u32::from_le_bytes(*length) as usize;
            let value = behind.get(..length).with_context(|| format!("{file} is cut"))?;
            let mut value = value.to_vec();
            if names.get(values.len()).is_some_and(|name| name == OBJECT) {
                value.clear();
            } else if clear_padding {
                padding::clear(&mut value)?;
            }
            values.push(hex::encode(value));
            rest = &behind[length..];
        }
        ensure!(rest.is_empty(), "{file} is cut");
        Ok(values)
    }
}

/// Exchanges files and packets with each Godot 3, in rounds.
///
/// # Errors
/// Fails if a packet is missing or a byte differs, except NodePath padding, which Godot 3 leaves unset.
pub fn run(on: &Stage<'_>, work: &Work) -> Result<Done> {
    let engines = godot3::find_or_install(on.workspace)?;
    let project = on.workspace.project();
    let started = Instant::now();
    let mut all = Done::default();
    let mut round = 0;
    while work.goes_on(all.amount, started) {
        let values = work.count.map_or(ROUND, |count| ROUND.min(count - all.amount));
        let seed = work.seed.wrapping_add(round);
        for old in &engines {
            let pair = Pair {
                workspace: on.workspace,
                old,
                new: suite::bundled(on.workspace, on.godot, &project)?,
                folder: tempfile::Builder::new().prefix("exchange-").tempdir_in(&on.workspace.target)?,
                work: Work { seed, ..*work },
            };
            let repeat = || format!("Godot {}, `--seed {seed} --count {values}`", old.version);
            let files = exchange_files(&pair, values).with_context(repeat)?;
            ensure!(files.failed == 0, "{files}; {}", repeat());
            // Sends fewer packets than values, because each packet waits for an answer.
            all.tally = all.tally + files + exchange_packets(&pair, values * 3 / 10).with_context(repeat)?;
        }
        all.amount += values;
        round += 1;
    }
    Ok(all)
}

/// Each engine writes edge values and random values; the other engine describes and rewrites them.
fn exchange_files(pair: &Pair<'_>, count: u64) -> Result<Tally> {
    let values = [("--values", count.to_string())];
    let outcome = run::watch(&mut pair.old_script("res://write.gd", &values), Echo::Nothing, LIMIT)?;
    judge::clean(&outcome).with_context(|| outcome.log.clone())?;
    let outcome = run::watch(&mut pair.new_script("godot3_files", count), Echo::Nothing, LIMIT)?;
    let forms = Pair::judged(&outcome)?;
    let outcome = run::watch(&mut pair.old_script("res://read.gd", &[]), Echo::Nothing, LIMIT)?;
    judge::clean(&outcome).with_context(|| outcome.log.clone())?;

    let named = pair.lines("from3.txt")?;
    let named = named.iter().map(|line| line.split_once('\t').unwrap_or(("", line)));
    let (names, texts): (Vec<_>, Vec<_>) =
        named.map(|(name, text)| (name.to_owned(), text.to_owned())).unzip();
    let own_texts = pair.lines("from4.txt")?;
    let own: Vec<_> = (0..own_texts.len()).map(|number| format!("value {number} of Godot 4")).collect();
    let written = pair.values("from4.dat", &own, false)?;
    let tallies = [
        compare(&names, &texts, &pair.lines("back3.txt")?)?,
        compare(&names, &texts, &pair.lines("converted3.txt")?)?,
        compare(
            &names,
            &pair.values("again3.dat", &names, true)?,
            &pair.values("back3.dat", &names, false)?,
        )?,
        compare(&own, &own_texts, &pair.lines("back4.txt")?)?,
        compare(&own, &written, &pair.values("back4.dat", &own, true)?)?,
        compare(&own, &written, &pair.values("converted4.dat", &own, false)?)?,
    ];
    let tally = tallies.into_iter().sum::<Tally>() + forms;
    println!("Godot {} and {}: files {tally}", pair.old.numbers(), pair.new.version());
    Ok(tally)
}

fn compare(names: &[String], written: &[String], read: &[String]) -> Result<Tally> {
    ensure!(
        [written.len(), read.len()] == [names.len(); 2],
        "{} of {} values are written, {} read",
        written.len(),
        names.len(),
        read.len()
    );
    let mut tally = Tally::default();
    for ((name, written), read) in names.iter().zip(written).zip(read) {
        if written == read {
            tally.passed += 1;
        } else {
            tally.failed += 1;
            println!("FAILED {name}:\n    {written:.400}\n    {read:.400}");
        }
    }
    Ok(tally)
}

/// Runs both engines, which send each other packets over the loopback network. Returns the sum of their
/// tallies.
fn exchange_packets(pair: &Pair<'_>, count: u64) -> Result<Tally> {
    let packets = ("--packets", count.to_string());
    let port_file = pair.folder.path().join("port");
    thread::scope(|scope| {
        let mut new = pair.new_script("godot3_packets", count);
        let new = scope.spawn(move || run::watch(&mut new, Echo::Nothing, LIMIT));
        let started = Instant::now();
        while !port_file.is_file() && !new.is_finished() && started.elapsed() < START {
            thread::sleep(POLL);
        }
        let old = match fs::read_to_string(&port_file) {
            Ok(port) => {
                let mut old = pair.old_script("res://peer.gd", &[packets, ("--port", port)]);
                Some(run::watch(&mut old, Echo::Nothing, LIMIT)?)
            }
            Err(_) => None,
        };
        let new = new.join().expect("no panic")?;
        let ours = Pair::judged(&new)?;
        let Some(old) = old else { bail!("Godot 4 did not listen:\n{}", new.log) };
        let theirs = Pair::judged(&old)?;
        println!("Godot {}: {count} rounds of packets; there {theirs}; here {ours}", pair.old.numbers());
        Ok(theirs + ours)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_counted() {
        let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let tally = compare(&lines("a b"), &lines("1 1"), &lines("1 2")).unwrap();
        assert_eq!(tally, Tally { passed: 1, failed: 1 });
        assert!(compare(&lines("a b"), &lines("1 1"), &lines("1")).is_err());
    }
}
