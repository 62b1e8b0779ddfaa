//! Godot 3 and Godot 4 exchange files and packets, Godot 4 through the codec.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use super::{Amount, Done, Stage, Work, script};
use crate::godot3::{self, Godot3, padding};
use crate::judge::{self, Tally};
use crate::project::Project;
use crate::run::{self, Echo, Outcome};
use crate::suites;
use crate::workspace::Workspace;

const LIMIT: Duration = Duration::from_secs(300);
/// How long an engine may take to start.
const START: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(10);
const PRINTED_FAILURES: u64 = 20;
/// The name of values that contain objects.
const OBJECT: &str = "object";
/// The values of a round, besides the edge values.
const ROUND: u64 = 1000;

/// A Godot 3, a Godot 4 and their shared folder.
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

    fn new_script(&self, activity: &str, count: u64) -> Command {
        let work = Work { amount: Amount::Count(count), ..self.work };
        let folder = self.folder.path().display().to_string();
        script::working(&self.new, activity, &work, &[("--folder", &folder)])
    }

    /// The output of an engine; on failure, its log.
    fn judged(outcome: &Outcome) -> Result<Tally> {
        judge::suite(outcome).with_context(|| outcome.log.clone())
    }

    fn lines(&self, name: &str) -> Result<Vec<String>> {
        let text = fs::read_to_string(self.folder.path().join(name)).with_context(|| name.to_owned())?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// The length-prefixed values of a file.
    fn values(&self, name: &str) -> Result<Vec<Vec<u8>>> {
        let bytes = fs::read(self.folder.path().join(name)).with_context(|| name.to_owned())?;
        let mut rest = bytes.as_slice();
        let mut values = Vec::new();
        while let Some((length, behind)) = rest.split_first_chunk() {
            let length = u32::from_le_bytes(*length) as usize;
            let (value, behind) =
                behind.split_at_checked(length).with_context(|| format!("{name} is cut"))?;
            values.push(value.to_vec());
            rest = behind;
        }
        ensure!(rest.is_empty(), "{name} is cut");
        Ok(values)
    }
}

/// Rounds of files and packets with each Godot 3.
///
/// # Errors
/// If any byte differs, except the padding of NodePaths, which Godot 3 does not set, or a packet is missing.
pub fn run(on: &Stage<'_>, work: &Work) -> Result<Done> {
    let engines = godot3::find_or_install(on.workspace)?;
    let project = on.workspace.project();
    let started = Instant::now();
    let mut all = Done::default();
    let mut round = 0;
    while work.goes_on(all.amount, started) {
        let values = work.count().map_or(ROUND, |count| ROUND.min(count - all.amount));
        let seed = work.seed.wrapping_add(round);
        for old in &engines {
            let pair = Pair {
                workspace: on.workspace,
                old,
                new: suites::bundled(on.workspace, on.godot, &project)?,
                folder: tempfile::Builder::new().prefix("exchange-").tempdir_in(&on.workspace.target)?,
                work: Work { amount: work.amount, seed, case: None, mode: work.mode },
            };
            let repeat = || format!("Godot {}, `--seed {seed} --count {values}`", old.version);
            let files = exchange_files(&pair, values).with_context(repeat)?;
            ensure!(files.failed == 0, "{files}; {}", repeat());
            // There are fewer packets than values, because each waits for an answer.
            all.tally = all.tally + files + exchange_packets(&pair, values * 3 / 10).with_context(repeat)?;
        }
        all.amount += values;
        round += 1;
    }
    Ok(all)
}

/// Each engine writes edge values and random values for the other, which describes them and writes them again.
fn exchange_files(pair: &Pair<'_>, count: u64) -> Result<Tally> {
    let values = [("--values", count.to_string())];
    let outcome = run::watch(&mut pair.old_script("res://write.gd", &values), Echo::Nothing, LIMIT)?;
    judge::clean(&outcome).with_context(|| outcome.log.clone())?;
    let outcome = run::watch(&mut pair.new_script("godot3_files", count), Echo::Nothing, LIMIT)?;
    let forms = Pair::judged(&outcome)?;
    let outcome = run::watch(&mut pair.old_script("res://read.gd", &[]), Echo::Nothing, LIMIT)?;
    judge::clean(&outcome).with_context(|| outcome.log.clone())?;

    let named = pair.lines("from3.txt")?;
    let named: Vec<_> = named.iter().map(|line| line.split_once('\t').unwrap_or(("", line))).collect();
    let (names, texts): (Vec<_>, Vec<_>) =
        named.into_iter().map(|(name, text)| (name, text.to_owned())).unzip();
    let (mut bytes, mut text) = (Compared::default(), Compared::default());
    let (written, read) = (pair.values("again3.dat")?, pair.values("back3.dat")?);
    ensure!(written.len() == names.len() && read.len() == names.len(), "not as many values as were written");
    for ((name, mut theirs), ours) in names.iter().zip(written).zip(read) {
        if *name != OBJECT {
            padding::clear(&mut theirs)?;
            bytes.compare(name, &hex::encode(theirs), &hex::encode(ours));
        }
    }
    text.compare_all(&names, &texts, &pair.lines("back3.txt")?)?;
    text.compare_all(&names, &texts, &pair.lines("converted3.txt")?)?;

    let texts = pair.lines("from4.txt")?;
    let names: Vec<_> = (0..texts.len()).map(|number| format!("value {number} of Godot 4")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let (written, read) = (pair.values("from4.dat")?, pair.values("back4.dat")?);
    ensure!(written.len() == names.len() && read.len() == names.len(), "not as many values as were written");
    for ((name, ours), mut theirs) in names.iter().zip(&written).zip(read) {
        padding::clear(&mut theirs)?;
        bytes.compare(name, &hex::encode(ours), &hex::encode(theirs));
    }
    text.compare_all(&names, &texts, &pair.lines("back4.txt")?)?;
    ensure!(
        pair.values("converted4.dat")? == written,
        "convert_file_to_godot3 writes other bytes than encode_godot3"
    );

    println!(
        "Godot {} and {}, seed {}: bytes {}; texts {}; forms of the calls {forms}",
        pair.old.numbers(),
        pair.new.version(),
        pair.work.seed,
        bytes.tally,
        text.tally
    );
    Ok(bytes.tally + text.tally + forms)
}

/// Counts equal items, and prints different ones.
#[derive(Default)]
struct Compared {
    tally: Tally,
}

impl Compared {
    fn compare(&mut self, name: &str, written: &str, read: &str) {
        if written == read {
            self.tally.passed += 1;
            return;
        }
        self.tally.failed += 1;
        if self.tally.failed <= PRINTED_FAILURES {
            println!("FAILED {name}:\n    {written:.400}\n    {read:.400}");
        }
    }

    fn compare_all(&mut self, names: &[&str], written: &[String], read: &[String]) -> Result<()> {
        ensure!(written.len() == read.len(), "{} values were written, {} read", written.len(), read.len());
        names
            .iter()
            .zip(written)
            .zip(read)
            .for_each(|((name, written), read)| self.compare(name, written, read));
        Ok(())
    }
}

/// Both engines run at once and send each other packets over the loopback network; returns what both checked.
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
        let mut compared = Compared::default();
        let line = |text: &str| vec![text.to_owned()];
        compared.compare_all(&["a"], &line("1"), &line("1")).unwrap();
        compared.compare_all(&["b"], &line("1"), &line("2")).unwrap();
        assert_eq!(compared.tally, Tally { passed: 1, failed: 1 });
        assert!(compared.compare_all(&["c"], &line("1"), &[]).is_err());
    }
}
