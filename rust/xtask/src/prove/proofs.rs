//! Which proofs there are.

use std::collections::BTreeMap;
use std::thread;

use anyhow::{Context, Result, bail, ensure};

use super::scripts;
use super::slice::{Done, Tools};
use crate::endure::{self, Endurance};
use crate::judge::Tally;
use crate::suites::{self, Access, Conformance, ENTRIES, Search};
use crate::workspace::Workspace;
use crate::{
    diff, exchange, fuzz, godot3, jobs, kill, platforms, protobuf, sanitize, stress, valgrind, writers,
};

/// One long run.
pub struct Proof {
    pub name: &'static str,
    /// How much is to be done.
    pub goal: u64,
    /// What is counted.
    pub unit: &'static str,
    /// The code that it runs, as git pathspecs. The proof stands until that changes.
    pub code: &'static [&'static [&'static str]],
    /// The scripts of `godot-project` that it runs; with them goes every file that they name.
    pub scripts: &'static [&'static str],
    /// How to do some of it by hand.
    pub command: &'static str,
    /// Does a slice: the first, second … of them, when so much of the goal is left.
    pub slice: fn(&Tools<'_>, u64, u64) -> Result<Done>,
}

impl Proof {
    /// The code that it runs, as arguments for git.
    ///
    /// # Errors
    /// If there is no such script.
    pub fn paths(&self, workspace: &Workspace) -> Result<Vec<String>> {
        let mut paths: Vec<String> = self.code.concat().into_iter().map(str::to_owned).collect();
        paths.extend(scripts::named_by(workspace, self.scripts)?);
        if !self.code.contains(&FOUND) {
            paths.retain(|path| !FOUND.contains(&path.as_str()));
        }
        Ok(paths)
    }
}

/// What every build depends on.
const BUILD: &[&str] = &["Cargo.toml", "Cargo.lock", ".cargo"];
/// The crates without an engine. The library and the fuzz targets have no serde.
const CODEC: &[&str] = &[
    "rust/codec/Cargo.toml",
    "rust/codec/src",
    "rust/protobuf/Cargo.toml",
    "rust/protobuf/src",
    ":(exclude)rust/codec/src/serde",
];
/// What loads schemas, which the search does once, before it measures.
const NO_SCHEMAS: &[&str] =
    &[":(exclude)rust/protobuf/src/compile.rs", ":(exclude)rust/protobuf/src/descriptors.rs"];
/// Random values and checks in Rust.
const CHECKS: &[&str] = &["tests/Cargo.toml", ":(glob)tests/*.rs", "tests/fuzzing"];
const FUZZ: &[&str] = &["tests/fuzz", "rust/xtask/src/fuzz.rs"];
/// The library, the project that uses it inside the engine, and what judges it.
const ENGINE: &[&str] = &[
    "rust/disk",
    "rust/engine",
    "rust/extension",
    "addons/fast_variant_codec/fast_variant_codec.gdextension",
    "godot-project/project.godot",
    "rust/xtask/src/godot",
    "rust/xtask/src/judge.rs",
    "rust/xtask/src/library.rs",
    "rust/xtask/src/project.rs",
    "rust/xtask/src/run.rs",
    "rust/xtask/src/suites.rs",
];

/// What the search has found, which does not affect the other proofs.
const FOUND: &[&str] = &["godot-project/suites/fixtures/found.json"];

/// The seconds of a slice whose length can be chosen.
const SLICE: u64 = 120;
/// The same for fuzzing, which reads its inputs again for each slice and target.
const FUZZ_SLICE: u64 = 600;
/// The cases of a slice of differential fuzzing, which two engines share.
const DIFF_SLICE: u64 = 30_000;
const ENGINES: u32 = 2;
/// The values, or pairs of them, of a slice of a suite.
const RANDOM_SLICE: u64 = 100_000;
const KILL_SLICE: u64 = 50;
const JOB_SLICE: u64 = 20_000;
/// For how many seconds packets are searched for, for each entry point.
const SEARCH: u64 = 600;
const ENDURANCE: Endurance =
    Endurance { calls: 10_000_000, batches: 10_000, seed: endure::SEED, portable: false };

/// All proofs, in the order in which they are run.
pub const PROOFS: &[Proof] = &[
    Proof {
        name: "fuzzing",
        goal: 100_000_000,
        unit: "executions",
        code: &[CODEC, BUILD, CHECKS, FUZZ],
        scripts: &[],
        command: "cargo xtask fuzz --jobs 2",
        slice: |tools, _, _| fuzzing(tools, false),
    },
    Proof {
        name: "fuzzing, address sanitizer",
        goal: 3_000_000,
        unit: "executions",
        code: &[CODEC, BUILD, CHECKS, FUZZ],
        scripts: &[],
        command: "cargo xtask fuzz --jobs 2 --address",
        slice: |tools, _, _| fuzzing(tools, true),
    },
    Proof {
        name: "differential fuzzing",
        goal: 1_000_000,
        unit: "cases",
        code: &[CODEC, BUILD, ENGINE, &["rust/xtask/src/diff.rs"]],
        scripts: &["suites/diff.gd"],
        command: "cargo xtask diff --processes 2",
        slice: differential,
    },
    Proof {
        name: "random parts of values",
        goal: 1_000_000,
        unit: "values",
        code: &[CODEC, BUILD, ENGINE],
        scripts: &["suites/view_suite.gd"],
        command: "cargo xtask conformance --only views --random 2000000",
        // Half as many values as `--random` says.
        slice: |tools, slice, left| random(tools, "views", 2, slice, left),
    },
    Proof {
        name: "random patches",
        goal: 1_000_000,
        unit: "pairs",
        code: &[CODEC, BUILD, ENGINE],
        scripts: &["suites/patch_suite.gd"],
        command: "cargo xtask conformance --only patches --random 4000000",
        // A quarter as many pairs as `--random` says.
        slice: |tools, slice, left| random(tools, "patches", 4, slice, left),
    },
    Proof {
        name: "endurance",
        goal: ENDURANCE.calls,
        unit: "calls",
        code: &[CODEC, BUILD, ENGINE, &["rust/xtask/src/endure.rs"]],
        scripts: &["suites/endure.gd"],
        command: "cargo xtask endure",
        slice: |tools, _, _| endurance(tools, ENDURANCE),
    },
    Proof {
        name: "endurance, portable",
        goal: ENDURANCE.calls,
        unit: "calls",
        code: &[CODEC, BUILD, ENGINE, &["rust/xtask/src/endure.rs"]],
        scripts: &["suites/endure.gd"],
        command: "cargo xtask endure --portable",
        slice: |tools, _, _| endurance(tools, Endurance { portable: true, ..ENDURANCE }),
    },
    Proof {
        name: "jobs whose arguments change",
        goal: 100_000,
        unit: "jobs",
        code: &[CODEC, BUILD, ENGINE, &["rust/xtask/src/jobs.rs"]],
        scripts: &["suites/jobs.gd"],
        command: "cargo xtask jobs",
        slice: changing_jobs,
    },
    Proof {
        name: "search for costly packets",
        goal: SEARCH * ENTRIES.len() as u64,
        unit: "seconds",
        code: &[CODEC, NO_SCHEMAS, BUILD, ENGINE, FOUND],
        scripts: &["bench/search.gd"],
        command: "cargo xtask worst --search 600",
        slice: search,
    },
    Proof {
        name: "several processes and one file",
        goal: 3_000,
        unit: "records each",
        code: &[CODEC, BUILD, ENGINE, &["rust/xtask/src/writers.rs"]],
        scripts: &["suites/writers.gd"],
        command: "cargo xtask writers --records 3000",
        slice: |tools, _, left| Ok(done(left, writers::run(tools.workspace, tools.godot, left)?)),
    },
    Proof {
        name: "kills while saving",
        goal: 200,
        unit: "kills",
        code: &[CODEC, BUILD, ENGINE, &["rust/xtask/src/kill.rs"]],
        scripts: &["suites/save_until_killed.gd"],
        command: "cargo xtask kill",
        slice: |tools, slice, left| {
            let times = KILL_SLICE.min(left);
            let options = kill::Options { times, seed: 1 + slice };
            Ok(done(times, kill::run(tools.workspace, tools.godot, options)?))
        },
    },
    Proof {
        name: "many threads",
        goal: 600,
        unit: "seconds",
        code: &[CODEC, BUILD, ENGINE, &["rust/xtask/src/stress.rs"]],
        scripts: &["suites/stress.gd"],
        command: "cargo xtask stress",
        slice: many_threads,
    },
    Proof {
        name: "protobuf oracle",
        goal: 400_000,
        unit: "checks",
        code: &[CODEC, BUILD, CHECKS, &["tests/protobuf", "rust/xtask/src/protobuf.rs"]],
        scripts: &[],
        command: "cargo xtask protobuf",
        slice: |tools, slice, _| {
            /// More than there are schemas in a slice.
            const SEEDS: u64 = 1_000_000;
            let seed = 1 + slice * SEEDS;
            let options = protobuf::Options { seconds: Some(SLICE), seed, ..Default::default() };
            let tally = protobuf::run(tools.workspace, &options)?;
            Ok(Done { amount: tally.passed, ..Done::default() })
        },
    },
    Proof {
        name: "exchange with Godot 3",
        goal: 20_000,
        unit: "values",
        code: &[
            CODEC,
            BUILD,
            ENGINE,
            &["tests/godot3", "rust/xtask/src/exchange.rs", "rust/xtask/src/godot3"],
        ],
        scripts: &["suites/exchange.gd", "suites/packets.gd"],
        command: "cargo xtask exchange --values 20000 --packets 3000",
        slice: |tools, slice, left| {
            let old = godot3::find_or_install(tools.workspace)?;
            let options = exchange::Options {
                seed: Some(99 + slice as u32),
                values: left,
                packets: 3000,
                access: Access::default(),
            };
            let files = exchange::files(tools.workspace, tools.godot, &old, &options)?;
            let packets = exchange::packets(tools.workspace, tools.godot, &old, &options)?;
            Ok(done(left, files + packets))
        },
    },
    Proof {
        name: "valgrind",
        goal: 2 * valgrind::CALLS,
        unit: "calls",
        code: &[CODEC, BUILD, ENGINE, &["rust/xtask/src/valgrind.rs"]],
        scripts: &["suites/endure.gd"],
        command: "cargo xtask valgrind",
        slice: |tools, _, left| {
            let tally = valgrind::run(tools.workspace, tools.godot, valgrind::Size::default())?;
            Ok(done(left, tally))
        },
    },
    Proof {
        name: "sanitizers, Rust tests",
        goal: 1,
        unit: "run with each",
        code: &[
            &["rust/codec", "rust/protobuf"],
            BUILD,
            &["tests", "rust/xtask/src/sanitize.rs", "rust/xtask/tsan.supp"],
        ],
        scripts: &[],
        command: "cargo xtask sanitize",
        slice: |tools, _, left| Ok(done(left, sanitize::run(tools.workspace)?)),
    },
    Proof {
        name: "platforms",
        goal: platforms::COUNT,
        unit: "platforms",
        code: &[
            CODEC,
            BUILD,
            CHECKS,
            ENGINE,
            &[
                "addons/fast_variant_codec",
                "godot-project/suites",
                ":(exclude)godot-project/suites/fixtures/found.json",
                "rust/xtask/platforms",
                "rust/xtask/src/debian",
                "rust/xtask/src/platforms",
                "rust/xtask/src/room.rs",
            ],
        ],
        scripts: &[],
        command: "cargo xtask platforms",
        slice: |tools, slice, _| {
            let (name, tally) = platforms::numbered(tools.workspace, slice)?;
            Ok(Done { parts: BTreeMap::from([(name.to_owned(), 1)]), ..done(1, tally) })
        },
    },
];

fn done(amount: u64, tally: Tally) -> Done {
    Done { amount, checks: tally.passed, parts: BTreeMap::new() }
}

fn fuzzing(tools: &Tools<'_>, address: bool) -> Result<Done> {
    let options = fuzz::Options { seconds: FUZZ_SLICE, target: None, jobs: ENGINES, address, keep: false };
    let executed = fuzz::executions(tools.workspace, &options)?;
    let findings: usize = executed.values().map(|target| target.findings).sum();
    ensure!(findings == 0, "{findings} finding(s)");
    let parts: BTreeMap<_, _> =
        executed.into_iter().map(|(name, target)| (name, target.executions)).collect();
    Ok(Done { amount: parts.values().sum(), checks: 0, parts })
}

/// Direct, through documented functions, and with everything shared out to threads, in turns.
fn access(slice: u64) -> (&'static str, Access) {
    match slice % 3 {
        0 => ("direct", Access::default()),
        1 => ("portable", Access { portable: true, ..Access::default() }),
        _ => ("all shared out", Access { portable: false, threads: Some(4), threshold: Some(0) }),
    }
}

fn differential(tools: &Tools<'_>, slice: u64, left: u64) -> Result<Done> {
    let (how, access) = access(slice);
    let cases = DIFF_SLICE.min(left).div_ceil(ENGINES.into());
    let options = diff::Options {
        cases: Some(cases),
        seed: 1 + slice as u32 * ENGINES,
        processes: Some(ENGINES),
        access,
        ..Default::default()
    };
    let tally = diff::run(tools.workspace, tools.godot, &options)?;
    let amount = cases * u64::from(ENGINES);
    Ok(Done { parts: BTreeMap::from([(how.to_owned(), amount)]), ..done(amount, tally) })
}

/// A suite that is told to make `each` random values for one that counts.
fn random(tools: &Tools<'_>, suite: &str, each: u64, slice: u64, left: u64) -> Result<Done> {
    let (how, access) = access(slice);
    let amount = RANDOM_SLICE.min(left);
    let options = Conformance {
        access,
        seed: Some(1 + slice),
        random: Some(amount * each),
        only: Some(suite.to_owned()),
    };
    let tally = suites::conformance(tools.workspace, tools.godot, &options)?;
    Ok(Done { parts: BTreeMap::from([(how.to_owned(), amount)]), ..done(amount, tally) })
}

fn endurance(tools: &Tools<'_>, endurance: Endurance) -> Result<Done> {
    Ok(done(endurance.calls, endure::run(tools.workspace, tools.godot, &endurance)?))
}

fn many_threads(tools: &Tools<'_>, slice: u64, left: u64) -> Result<Done> {
    let (how, access) = access(slice);
    let seconds = SLICE.min(left);
    let options =
        stress::Options { seconds: Some(seconds), seed: Some(slice as u32), access, ..Default::default() };
    let tally = stress::run(tools.workspace, tools.godot, &options)?;
    Ok(Done { parts: BTreeMap::from([(how.to_owned(), seconds)]), ..done(seconds, tally) })
}

fn changing_jobs(tools: &Tools<'_>, slice: u64, left: u64) -> Result<Done> {
    let (how, access) = access(slice);
    let jobs = JOB_SLICE.min(left);
    let options = jobs::Options { jobs, seed: 1 + slice, access };
    let tally = jobs::run(tools.workspace, tools.godot, &options)?;
    Ok(Done { parts: BTreeMap::from([(how.to_owned(), jobs)]), ..done(jobs, tally) })
}

/// The entry points that are searched at once. The search counts the time of its own thread, but two logical
/// processors may share one core: `inspect`, which comes closest to the bound, is searched alone.
const SEARCHED_AT_ONCE: [&[&str]; 4] = [
    &["try_decode", "validate"],
    &["unpack_batch", "try_decode_godot3"],
    &["messages", "describe"],
    &["inspect"],
];

fn search(tools: &Tools<'_>, slice: u64, _: u64) -> Result<Done> {
    let entries = *SEARCHED_AT_ONCE.get(slice as usize).context("all have been searched")?;
    let one = |entry: &str| {
        let options = Search { search: Some(SEARCH), seed: Some(1 + slice), only: Some(entry.to_owned()) };
        suites::worst(tools.workspace, tools.godot, &options).with_context(|| entry.to_owned())
    };
    thread::scope(|scope| {
        let engines: Vec<_> = entries.iter().map(|entry| scope.spawn(move || one(entry))).collect();
        engines.into_iter().try_for_each(|engine| engine.join().unwrap_or_else(|_| bail!("panicked")))
    })?;
    let parts: BTreeMap<_, _> = entries.iter().map(|entry| ((*entry).to_owned(), SEARCH)).collect();
    Ok(Done { amount: parts.values().sum(), checks: 0, parts })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run;

    #[test]
    fn every_path_names_code() {
        let workspace = Workspace::find().unwrap();
        for proof in PROOFS {
            for path in proof.paths(&workspace).unwrap() {
                let path = path.trim_start_matches(":(exclude)");
                let mut git = std::process::Command::new("git");
                git.current_dir(&workspace.root).args(["ls-files", "--", path]);
                assert_ne!(run::read(&mut git).unwrap(), "", "{}: {path}", proof.name);
            }
        }
    }

    #[test]
    fn every_entry_point_is_searched_once() {
        let mut searched = SEARCHED_AT_ONCE.concat();
        let mut all = ENTRIES.to_vec();
        searched.sort_unstable();
        all.sort_unstable();
        assert_eq!(searched, all);
    }

    #[test]
    fn a_find_of_the_search_concerns_no_other_proof() {
        let workspace = Workspace::find().unwrap();
        for proof in PROOFS {
            let mut git = std::process::Command::new("git");
            git.current_dir(&workspace.root).args(["ls-files", "--"]).args(proof.paths(&workspace).unwrap());
            let files = run::read(&mut git).unwrap();
            let is_searched = proof.name == "search for costly packets";
            assert_eq!(files.lines().any(|file| FOUND.contains(&file)), is_searched, "{}", proof.name);
        }
    }

    #[test]
    fn scripts_bring_what_they_name() {
        let workspace = Workspace::find().unwrap();
        let search = PROOFS.iter().find(|proof| proof.name == "search for costly packets").unwrap();
        let paths = search.paths(&workspace).unwrap();
        for named in [
            "bench/search.gd",
            "suites/entries.gd",
            "suites/costly_messages.gd",
            "suites/fixtures/found.json",
        ] {
            assert!(paths.contains(&format!("godot-project/{named}")), "{named}: {paths:?}");
        }
        assert!(!paths.contains(&"godot-project/suites/diff.gd".to_owned()));
        assert!(scripts::named_by(&workspace, &["suites/none.gd"]).is_err());
    }
}
