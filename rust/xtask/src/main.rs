//! `cargo xtask`: the command line.

mod accept;
mod archive;
mod bench;
mod build;
mod checklist;
mod crates;
mod debian;
mod definitions;
mod demo;
mod docs;
mod document;
mod export;
mod godot;
mod godot3;
mod judge;
mod loadable;
mod notices;
mod package;
mod panel;
mod platforms;
mod progress;
mod project;
mod python;
mod python_package;
mod run;
mod sandbox;
mod screen;
mod soak;
mod suite;
mod test;
mod trial;
mod workflows;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};

use crate::build::{Build, Profile};
use crate::godot::Godot;
use crate::godot3::Godot3;
use crate::suite::Conformance;
use crate::workspace::Workspace;

/// Every command of this repository.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
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
    /// Run every check: format, lints, Rust tests, the suites, short soaks, the addon in a new project
    Test {
        /// Only this step and those after it
        #[arg(long, value_name = "STEP")]
        from: Option<String>,
    },
    /// Compare values with the engine's own functions, inside Godot: one suite, or all of them
    Suite(Conformance),
    /// Measure the codec beside the engine's own functions, and print a table
    Bench(bench::Options),
    /// Check random input for minutes or hours against the engine or an official implementation
    Soak(soak::Options),
    /// Check that the editor's help is complete, and run every GDScript snippet of the documentation
    Docs,
    /// Run the Kaitai Struct and Wireshark definitions of the format on data that the engine wrote
    Definitions,
    /// Rewrite the vectors from the engines, and the generated pages from the code
    Accept(accept::Options),
    /// Write the zip for users, with every library that the .gdextension file names
    Package(package::Options),
    /// Install the addon in a new project as a user does, and use it in the editor and in an exported game
    Trial(trial::Options),
    /// Build the library for every platform, run what this machine can run, and print a table
    ///
    /// Compilers, emulators and engines come from Debian and stay under target/platforms. If a platform
    /// fails, reports it and continues with the others.
    Platforms(platforms::Options),
    /// Find a real Godot 4, or install one under target/, and print its path
    ///
    /// Looks at GODOT4_BIN, then for `godot4` and `godot` on PATH, then in target/godot. Installs from Debian's testing
    /// suite if the machine has a Debian archive, else the official release. Nothing is installed system-wide.
    Godot {
        /// Find or install Godot 3 instead: look at GODOT3_BIN, then in target/godot3, else install the
        /// servers 3.2 and 3.6
        #[arg(long)]
        godot3: bool,
    },
}

#[derive(Args)]
struct BuildArgs {
    /// Build an unoptimised library, which a running editor can reload
    #[arg(long)]
    debug: bool,
    /// A Rust target, or universal-apple-darwin for both Mac targets in one file [default: this machine]
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
    /// Build without threads, for games exported to the web without thread support
    #[arg(long)]
    no_threads: bool,
    /// Build for an engine compiled with precision=double, from the file that its --dump-extension-api writes
    #[arg(long, value_name = "FILE")]
    double: Option<PathBuf>,
}

fn main() -> ExitCode {
    match execute(Cli::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the command, and returns whether it succeeded.
fn execute(command: Command) -> Result<bool> {
    let at = &Workspace::find()?;
    match command {
        Command::Build(args) => build_library(at, args)?,
        Command::Demo { dir, extra } => demo::run(at, &ready(at)?, dir, &extra)?,
        Command::Test { from } => return Ok(test::all(at, from.as_deref())),
        Command::Suite(options) => drop(suite::run(at, &ready(at)?, &options)?),
        Command::Bench(bench::Options { python: true, .. }) => python_package::speed(at)?,
        Command::Bench(options) => bench::run(at, &ready(at)?, &options)?,
        Command::Soak(options) => return soak::run(at, &options),
        Command::Definitions => definitions::run(at)?,
        Command::Docs => println!("{}", docs::run(at, &ready(at)?)?),
        Command::Accept(options) => accept::run(at, &options)?,
        Command::Package(options) => {
            println!("{}", package::contents(at, &package::write(at, &options)?)?);
        }
        Command::Trial(options) => trial::run(at, &options)?,
        Command::Platforms(options) => return platforms::run(at, &options),
        Command::Godot { godot3: true } => {
            for Godot3 { program, version } in godot3::find_or_install(at)? {
                println!("{}\n{version}", program.display());
            }
        }
        Command::Godot { godot3: false } => {
            let godot = godot::find_or_install(at)?;
            println!("{}\n{}", godot.editor.display(), godot.version);
        }
    }
    Ok(true)
}

fn ready(workspace: &Workspace) -> Result<Godot> {
    let godot = godot::find_or_install(workspace)?;
    build::build(workspace, &Build::default())?;
    Ok(godot)
}

fn build_library(workspace: &Workspace, args: BuildArgs) -> Result<()> {
    let profile = if args.debug { Profile::Debug } else { Profile::Release };
    let double = args.double.map(std::path::absolute).transpose()?;
    let build =
        Build { profile, target: args.target, no_threads: args.no_threads, double, ..Build::default() };
    println!("{}", build::build(workspace, &build)?.display());
    Ok(())
}
