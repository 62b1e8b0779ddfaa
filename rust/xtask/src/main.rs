//! `cargo xtask`: the command line.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::{Args, Parser, Subcommand};
use xtask::endure::Endurance;
use xtask::godot::{self, Godot};
use xtask::godot3::{self, Godot3};
use xtask::judge::Tally;
use xtask::library::{self, Build, Profile};
use xtask::suites::{self, Conformance};
use xtask::workspace::Workspace;
use xtask::{
    bench, checks, coverage, crates, diff, endure, exchange, fuzz, jobs, kill, mutants, package, panel,
    platforms, protobuf, prove, python, sanitize, stress, valgrind, writers,
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
    Conformance(Conformance),
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
    Bench(bench::Options),
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
    Endure(Endurance),
    /// Run a short endurance test under valgrind: no invalid access, no definite leak
    Valgrind(valgrind::Size),
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
    Fuzz(fuzz::Options),
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
    /// Check the crates for programs in Rust: packages, and documentation without warnings
    Crates,
    /// Build the library for every platform, run what this machine can run, and print a table
    ///
    /// Compilers, emulators and engines come from Debian and stay under target/platforms. A platform that fails is named,
    /// and the others go on.
    Platforms(platforms::Options),
    /// Write the zip for users, with every library that has been built
    Package {
        /// Where to write it [default: target/package/fast_variant_codec-VERSION.zip]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Install a zip in a new project, open it in the editor, and compare a batch with the engine's own functions
    Trial {
        /// The zip that `cargo xtask package` writes
        zip: PathBuf,
        /// Skip the trial, and succeed, if the zip has no library for this machine
        #[arg(long)]
        skip_missing: bool,
    },
    /// Run every check: format, lints, Rust tests, and everything that needs a real Godot
    Test {
        /// Longer checks as well: more random values, kills and quits, valgrind, reloading, an editor window
        #[arg(long)]
        all: bool,
        /// Only this step and those after it
        #[arg(long, value_name = "STEP")]
        from: Option<String>,
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
    /// For an engine compiled with precision=double, given the file that its --dump-extension-api writes
    #[arg(long, value_name = "FILE")]
    double: Option<PathBuf>,
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
    let at = &Workspace::find()?;
    match chore {
        Chore::Godot => print_godot(at),
        Chore::Godot3 => print_godot_3(at),
        Chore::Build(args) => build(at, args),
        Chore::Demo { dir, extra } => done(suites::demo(at, &ready(at)?, dir, &extra)),
        Chore::Conformance(options) => done(suites::conformance(at, &ready(at)?, &options)),
        Chore::Exported => exported(at),
        Chore::Diff(options) => total(diff::run(at, &ready(at)?, &options)),
        Chore::Exchange(options) => exchange_both(at, &options),
        Chore::Stress(options) => done(stress::run(at, &ready(at)?, &options)),
        Chore::Jobs(options) => done(jobs::run(at, &ready(at)?, &options)),
        Chore::Kill(options) => done(kill::run(at, &ready(at)?, options)),
        Chore::Writers { records } => done(writers::run(at, &ready(at)?, records)),
        Chore::Messages => done(suites::messages(at, &ready(at)?)),
        Chore::Panics => done(suites::panics(at, &ready(at)?)),
        Chore::Memory => done(suites::no_memory(at, &ready(at)?)),
        Chore::Docs => total(checks::documentation(at, &ready(at)?)),
        Chore::Bench(options) => benchmark(at, &options),
        Chore::Frames => done(suites::frames(at, &ready(at)?)),
        Chore::Worst(search) => done(suites::worst(at, &ready(at)?, &search)),
        Chore::Coverage => done(coverage::run(at, &godot::find_or_install(at)?)),
        Chore::Mutants { extra } => mutants::run(at, &extra),
        Chore::Endure(endurance) => done(endure::run(at, &ready(at)?, &endurance)),
        Chore::Valgrind(size) => done(valgrind::run(at, &godot::find_or_install(at)?, size)),
        Chore::Sanitize => done(sanitize::run(at)),
        Chore::Vectors { godot3: true, .. } => godot_3_vectors(at),
        Chore::Vectors { serde: true, .. } => {
            vectors(at, Path::new("tests/vectors/serde.tsv"), suites::write_serde_vectors)
        }
        Chore::Vectors { out, .. } => vectors(at, &out, suites::write_vectors),
        Chore::Fuzz(options) => fuzz::run(at, &options),
        Chore::Prove(options) => prove::run(at, &options),
        Chore::Protobuf(options) => total(protobuf::run(at, &options)),
        Chore::Python => print_python(at),
        Chore::Panel(options) => total(panel::window(at, &ready(at)?, &package::write(at, None)?, &options)),
        Chore::Crates => total(crates::check(at)),
        Chore::Platforms(options) => platforms::run(at, &options),
        Chore::Package { out } => {
            println!("{}", package::contents(at, &package::write(at, out)?)?);
            Ok(true)
        }
        Chore::Trial { zip, skip_missing } => trial(at, &zip, skip_missing),
        Chore::Test { all, from } => Ok(checks::all(at, all, from.as_deref())),
    }
}

fn trial(workspace: &Workspace, zip: &Path, skip_missing: bool) -> Result<bool> {
    let library = library::host_library_path()?;
    if package::contains_file(zip, &library)? {
        return total(checks::trial(workspace, &godot::find_or_install(workspace)?, zip));
    }
    let missing = format!("{} has no library for this machine ({library})", zip.display());
    ensure!(skip_missing, missing);
    println!("skipped: {missing}");
    Ok(true)
}

/// An engine and a fresh library.
fn ready(workspace: &Workspace) -> Result<Godot> {
    let godot = godot::find_or_install(workspace)?;
    library::build(workspace, &Build::default())?;
    Ok(godot)
}

fn done<T>(result: Result<T>) -> Result<bool> {
    result.map(|_| true)
}

fn total(tally: Result<Tally>) -> Result<bool> {
    println!("{}", tally?);
    Ok(true)
}

fn print_path(path: Result<PathBuf>) -> Result<bool> {
    println!("{}", path?.display());
    Ok(true)
}

fn print_godot(workspace: &Workspace) -> Result<bool> {
    let godot = godot::find_or_install(workspace)?;
    println!("{}\n{}", godot.editor.display(), godot.version);
    Ok(true)
}

fn print_godot_3(workspace: &Workspace) -> Result<bool> {
    for Godot3 { program, version } in godot3::find_or_install(workspace)? {
        println!("{}\n{version}", program.display());
    }
    Ok(true)
}

fn print_python(workspace: &Workspace) -> Result<bool> {
    let python = python::find_or_install(workspace)?;
    println!("{} ({})\n{}", python.program.display(), python.version, python.packages.display());
    Ok(true)
}

fn build(workspace: &Workspace, args: BuildArgs) -> Result<bool> {
    let profile = if args.debug { Profile::Debug } else { Profile::Release };
    let double = args.double.map(std::path::absolute).transpose()?;
    let build = Build { profile, target: args.target, no_threads: args.no_threads, double };
    print_path(library::build(workspace, &build))
}

fn exported(workspace: &Workspace) -> Result<bool> {
    let godot = ready(workspace)?;
    let template = godot.template_release.as_deref();
    done(suites::exported(
        workspace,
        &godot,
        template.context("this Godot has no release template beside it")?,
    ))
}

fn exchange_both(workspace: &Workspace, options: &exchange::Options) -> Result<bool> {
    let (godot, old) = (ready(workspace)?, godot3::find_or_install(workspace)?);
    let files = exchange::files(workspace, &godot, &old, options)?;
    total(exchange::packets(workspace, &godot, &old, options).map(|packets| files + packets))
}

fn benchmark(workspace: &Workspace, options: &bench::Options) -> Result<bool> {
    let godot = if options.no_build { godot::find_or_install(workspace)? } else { ready(workspace)? };
    bench::run(workspace, &godot, options)
}

fn vectors(
    workspace: &Workspace,
    out: &Path,
    write: fn(&Workspace, &Godot, &Path) -> Result<usize>,
) -> Result<bool> {
    let out = workspace.root.join(out);
    println!("{} lines in {}", write(workspace, &ready(workspace)?, &out)?, out.display());
    Ok(true)
}

fn godot_3_vectors(workspace: &Workspace) -> Result<bool> {
    let out = workspace.root.join("tests/vectors/godot3.tsv");
    println!("{} rows in {}", godot3::vectors::write(workspace, &out)?, out.display());
    Ok(true)
}
