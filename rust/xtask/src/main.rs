//! `cargo xtask`: the command line.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};
use xtask::bench::{self, report};
use xtask::endure::Endurance;
use xtask::godot3::{self, Godot3};
use xtask::library::{self, Build, Profile};
use xtask::suites::{self, Access, Conformance};
use xtask::workspace::Workspace;
use xtask::{
    checks, coverage, crates, diff, endure, exchange, fuzz, godot, jobs, kill, mutants, package, panel,
    protobuf, prove, python, sanitize, stress, valgrind, writers,
};

/// Every chore of this repository.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Find a real Godot 4, or install one under target/, and print its path
    ///
    /// Looks at GODOT4_BIN, then for `godot4` and `godot` on PATH, then in target/godot. Installs from Debian's testing
    /// suite if the machine has a Debian archive, else the official release. Nothing is installed system-wide.
    Godot,
    /// Find or install real Godot 3 engines, and print their paths
    ///
    /// Looks at GODOT3_BIN, then in target/godot3. Installs the servers 3.2 and 3.6 from Debian if the machine has a
    /// Debian archive, else the official releases. Nothing is installed system-wide.
    Godot3,
    /// Compile the addon's library and copy it into addons/fast_variant_codec/bin/
    ///
    /// The release library is the default, in the editor too.
    Build(BuildArgs),
    /// Encode and decode real data in Godot, beside the engine's own functions, and print a table
    ///
    /// Finds or installs Godot and builds the library first.
    Demo {
        /// A folder of your own files as additional input
        dir: Option<PathBuf>,
        /// Arguments for the demo script
        #[arg(last = true)]
        extra: Vec<String>,
    },
    /// Compare every value with the engine's own functions, inside Godot
    Conformance(ConformanceArgs),
    /// Export the bundled project as a release game that runs the suites
    Exported,
    /// Compare random values and damaged bytes with the engine's own functions, inside Godot, until stopped
    Diff(diff::Options),
    /// Let Godot 3 and Godot 4 exchange files and packets, Godot 4 through the codec, and compare every byte
    Exchange(exchange::Options),
    /// Call everything from many threads of Godot at once, and compare with the engine's own functions
    Stress(stress::Options),
    /// Change, clear, overwrite and free the arguments of running background jobs, and check their results
    Jobs(jobs::Options),
    /// Kill Godot while it saves and appends, repeatedly, and check the files
    Kill(kill::Options),
    /// Let several processes append to, save, load and lock one file at once, and check it
    Writers {
        /// Records that each of two processes appends
        #[arg(long, value_name = "N", default_value_t = writers::RECORDS)]
        records: u64,
    },
    /// Check that every failure prints exactly the error lines that it should
    Messages,
    /// Inject a panic into every method of the extension, inside Godot, and check that none reaches the script
    Panics,
    /// Run every method out of memory, inside Godot, in a limited address space (Linux)
    Memory,
    /// Check that the editor's help is complete, and run every GDScript snippet of the documentation
    Docs,
    /// Measure the codec beside the engine's own functions, in the editor and in an exported game
    Bench(BenchArgs),
    /// Measure the effect of a background load on the frame times of a scene, in a window on a virtual display
    Frames,
    /// Measure the most expensive packets, with the limits for the network and without
    ///
    /// With --search, search for packets that take over 100 ms, or more memory than they are charged, and store them in
    /// godot-project/suites/fixtures/found.json.
    Worst(suites::Search),
    /// Measure which lines and branches of the codec crate the Rust tests reach
    ///
    /// Prints a table, and writes the source with counts to target/coverage/html.
    Coverage,
    /// Change the codec crate in a thousand small ways, and check that the tests detect each
    ///
    /// Takes hours. Fails if tests miss any: they are listed in target/mutation/mutants.out; those that no test can
    /// detect are in docs/testing.md.
    Mutants {
        /// Arguments for cargo-mutants itself, such as `--file '*/decoder.rs'`
        #[arg(last = true)]
        extra: Vec<String>,
    },
    /// Encode and decode repeatedly, valid and damaged input: memory and objects must not grow
    Endure(EndureArgs),
    /// Run a short endurance test under valgrind: no invalid access, no definite leak
    Valgrind(ValgrindArgs),
    /// Run the Rust tests with the address, leak and thread sanitizers
    Sanitize,
    /// Let the engine write the byte vectors for the Rust tests
    Vectors {
        /// Where to write them
        #[arg(long, value_name = "FILE", default_value = "tests/vectors/godot4.tsv")]
        out: PathBuf,
        /// Those of Godot 3 instead, to tests/vectors/godot3.tsv
        #[arg(long, conflicts_with = "out")]
        godot3: bool,
        /// Those for types of Rust programs instead, to tests/vectors/serde.tsv
        #[arg(long, conflicts_with_all = ["out", "godot3"])]
        serde: bool,
    },
    /// Run the fuzz targets of tests/fuzz, and print what they executed, covered and found
    ///
    /// Installs cargo-fuzz under target/ first. Inputs are kept in target/fuzz/corpus from run to run.
    Fuzz(FuzzArgs),
    /// Compare random messages of random schemas with the official implementation of protobuf, until stopped
    Protobuf(protobuf::Options),
    /// Run the long proofs behind docs/testing.md, and update its figures
    ///
    /// Fuzzing, differential fuzzing, endurance, kills and all others, each up to its goal. A stopped run continues
    /// later if the code is the same; proofs that are complete for this code are not repeated.
    Prove(prove::Options),
    /// Find a Python, or install one under target/, with the official implementation of protobuf, and print its path
    ///
    /// Takes `python3` or `python` on PATH if it is 3.10 to 3.15 with pip, else Debian's. The packages, pinned with their
    /// checksums, come from PyPI. Nothing is installed system-wide.
    Python,
    /// Drive the editor panel by mouse and keyboard, in an editor window on a virtual display
    Panel(panel::Options),
    /// Check the crates for programs in Rust: documents without a warning, examples, packages, public interfaces
    Crates(crates::Options),
    /// Write the zip for users, with every library that has been built
    Package {
        /// Where to write it [default: target/package/fast_variant_codec-VERSION.zip]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Run every check: format, lints, Rust tests, and everything that needs a real Godot
    Test {
        /// Longer checks: more random values, more runs, an editor window, an exported game
        #[arg(long)]
        all: bool,
    },
}

#[derive(Args)]
struct BuildArgs {
    /// Unoptimised, but the editor can reload it while running
    #[arg(long)]
    debug: bool,
    /// A Rust target, or universal-apple-darwin for both Mac targets in one file [default: this machine]
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
    /// Without threads, for games exported to the web without thread support
    #[arg(long)]
    no_threads: bool,
}

#[derive(Args)]
struct ConformanceArgs {
    #[command(flatten)]
    access: Access,
    /// Seed of the random values, to repeat a run
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// The number of random values
    #[arg(long, value_name = "N")]
    random: Option<u64>,
    /// Only the suite of this name
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
}

#[derive(Args)]
struct EndureArgs {
    /// The number of calls for one value
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    calls: u64,
    /// The number of batch calls
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    batches: u64,
    /// Seed of the damage to the input
    #[arg(long, value_name = "S", default_value_t = endure::SEED)]
    seed: u64,
    /// Only through the engine's documented functions, not directly
    #[arg(long)]
    portable: bool,
}

#[derive(Args)]
struct ValgrindArgs {
    /// The number of calls for one value
    #[arg(long, value_name = "N", default_value_t = valgrind::CALLS)]
    calls: u64,
    /// The number of batch calls
    #[arg(long, value_name = "N", default_value_t = valgrind::BATCHES)]
    batches: u64,
    /// The number of background jobs
    #[arg(long, value_name = "N", default_value_t = valgrind::JOBS)]
    jobs: u64,
}

#[derive(Args)]
struct BenchArgs {
    /// Few samples and no series of sizes; at most two minutes
    #[arg(long)]
    quick: bool,
    /// A folder of JSON documents to measure as well
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Where to write the rows
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Where to draw the ratios as bars
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Fail if a ratio fell by more than 10 % beyond its spread since this file was written with --json
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
    /// Only the workload with this name, or those whose names contain it
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Only this build [default: both, if the engine has a release template]
    #[arg(long)]
    build: Option<report::Build>,
    /// Measure the library in the addon, without compiling it first
    #[arg(long)]
    no_build: bool,
    /// Update the measured parts of docs/benchmarks.md, its chart and its benchmarks.json
    #[arg(long, conflicts_with_all = ["quick", "only", "build"])]
    document: bool,
}

#[derive(Args)]
struct FuzzArgs {
    /// The total time, shared by all targets
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u64,
    /// Only this target [default: all]
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// The number of targets that run at once
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: u32,
    /// With address sanitizer, slower
    #[arg(long)]
    address: bool,
    /// Then replace the inputs in tests/fuzz/corpus by a minimal set with the same coverage
    #[arg(long)]
    keep: bool,
}

fn main() -> ExitCode {
    match run(Cli::parse().chore) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether the chore succeeded.
fn run(chore: Chore) -> Result<bool> {
    let workspace = Workspace::find()?;
    match chore {
        Chore::Godot => {
            let godot = godot::find_or_install(&workspace)?;
            println!("{}\n{}", godot.editor.display(), godot.version);
        }
        Chore::Godot3 => {
            for Godot3 { program, version } in godot3::find_or_install(&workspace)? {
                println!("{}\n{version}", program.display());
            }
        }
        Chore::Build(args) => {
            let profile = if args.debug { Profile::Debug } else { Profile::Release };
            let build = Build { profile, target: args.target, no_threads: args.no_threads };
            println!("{}", library::build(&workspace, &build)?.display());
        }
        Chore::Demo { dir, extra } => {
            let godot = ready(&workspace)?;
            suites::demo(&workspace, &godot, dir, &extra)?;
        }
        Chore::Conformance(args) => {
            let options =
                Conformance { access: args.access, seed: args.seed, random: args.random, only: args.only };
            suites::conformance(&workspace, &ready(&workspace)?, &options)?;
        }
        Chore::Exported => {
            let godot = ready(&workspace)?;
            let template =
                godot.template_release.as_deref().context("this Godot has no release template beside it")?;
            suites::exported(&workspace, &godot, template)?;
        }
        Chore::Diff(options) => {
            println!("{}", diff::run(&workspace, &ready(&workspace)?, &options)?);
        }
        Chore::Exchange(options) => {
            let (godot, old) = (ready(&workspace)?, godot3::find_or_install(&workspace)?);
            let files = exchange::files(&workspace, &godot, &old, &options)?;
            println!("{}", files + exchange::packets(&workspace, &godot, &old, &options)?);
        }
        Chore::Stress(options) => {
            stress::run(&workspace, &ready(&workspace)?, &options)?;
        }
        Chore::Jobs(options) => {
            jobs::run(&workspace, &ready(&workspace)?, &options)?;
        }
        Chore::Writers { records } => {
            writers::run(&workspace, &ready(&workspace)?, records)?;
        }
        Chore::Kill(options) => {
            kill::run(&workspace, &ready(&workspace)?, options)?;
        }
        Chore::Memory => {
            suites::no_memory(&workspace, &ready(&workspace)?)?;
        }
        Chore::Panics => {
            suites::panics(&workspace, &ready(&workspace)?)?;
        }
        Chore::Messages => {
            suites::messages(&workspace, &ready(&workspace)?)?;
        }
        Chore::Docs => println!("{}", checks::documentation(&workspace, &ready(&workspace)?)?),
        Chore::Bench(args) => {
            let godot = if args.no_build { godot::find_or_install(&workspace)? } else { ready(&workspace)? };
            let options = bench::Options {
                quick: args.quick,
                data: args.data,
                json: args.json,
                svg: args.svg,
                check: args.check,
                only: args.only,
                build: args.build,
                document: args.document,
            };
            return bench::run(&workspace, &godot, &options);
        }
        Chore::Frames => suites::frames(&workspace, &ready(&workspace)?)?,
        Chore::Worst(search) => suites::worst(&workspace, &ready(&workspace)?, &search)?,
        Chore::Coverage => coverage::run(&workspace, &godot::find_or_install(&workspace)?)?,
        Chore::Mutants { extra } => return mutants::run(&workspace, &extra),
        Chore::Endure(EndureArgs { calls, batches, seed, portable }) => {
            let endurance = Endurance { calls, batches, seed, portable };
            endure::run(&workspace, &ready(&workspace)?, &endurance)?;
        }
        Chore::Valgrind(ValgrindArgs { calls, batches, jobs }) => {
            let size = valgrind::Size { calls, batches, jobs };
            valgrind::run(&workspace, &godot::find_or_install(&workspace)?, size)?;
        }
        Chore::Sanitize => {
            sanitize::run(&workspace)?;
        }
        Chore::Vectors { godot3: true, .. } => {
            let out = workspace.root.join("tests/vectors/godot3.tsv");
            println!("{} rows in {}", godot3::vectors::write(&workspace, &out)?, out.display());
        }
        Chore::Vectors { serde: true, .. } => {
            let out = workspace.root.join("tests/vectors/serde.tsv");
            let lines = suites::write_serde_vectors(&workspace, &ready(&workspace)?, &out)?;
            println!("{lines} lines in {}", out.display());
        }
        Chore::Vectors { out, .. } => {
            let out = workspace.root.join(out);
            let lines = suites::write_vectors(&workspace, &ready(&workspace)?, &out)?;
            println!("{lines} lines in {}", out.display());
        }
        Chore::Fuzz(args) => {
            let options = fuzz::Options {
                seconds: args.seconds,
                target: args.target,
                jobs: args.jobs,
                address: args.address,
                keep: args.keep,
            };
            return fuzz::run(&workspace, &options);
        }
        Chore::Prove(options) => return prove::run(&workspace, &options),
        Chore::Protobuf(options) => println!("{}", protobuf::run(&workspace, &options)?),
        Chore::Python => {
            let python = python::find_or_install(&workspace)?;
            println!("{} ({})\n{}", python.program.display(), python.version, python.packages.display());
        }
        Chore::Panel(options) => {
            let godot = ready(&workspace)?;
            let zip = package::write(&workspace, None)?;
            println!("{}", panel::window(&workspace, &godot, &zip, &options)?);
        }
        Chore::Crates(options) => {
            let tally = crates::check(&workspace)?;
            println!("{}", tally + crates::interfaces(&workspace, options)?);
        }
        Chore::Package { out } => {
            let written = package::write(&workspace, out)?;
            println!("{}", written.display());
        }
        Chore::Test { all } => return Ok(checks::all(&workspace, all)),
    }
    Ok(true)
}

/// An engine and a fresh library.
fn ready(workspace: &Workspace) -> Result<godot::Godot> {
    let godot = godot::find_or_install(workspace)?;
    library::build(workspace, &Build::default())?;
    Ok(godot)
}
