//! `cargo xtask platforms`: builds and tests each platform as far as this machine can.

mod compile;
mod double;
mod engine;
mod link;
mod report;
mod table;
mod toolchain;
mod verify;
mod web;
mod windows;
mod wine;

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use anyhow::Result;
use clap::builder::PossibleValuesParser;

use crate::godot;
use crate::judge::Tally;
use crate::workspace::Workspace;
use report::Row;
use table::{CHECKED, CHECKED_WITHOUT_ENGINE, Engine, Library, PLATFORMS, Platform, Runner, named};
use toolchain::Toolchain;

/// The platforms to run.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Options {
    /// Only these platforms, or all of a system, as in `android` [default: all]
    #[arg(value_name = "NAME", value_parser = names())]
    names: Vec<String>,
    /// Update the table in docs/platforms.md
    #[arg(long)]
    write: bool,
}

/// The systems whose name stands for several platforms.
const SYSTEMS: [&str; 3] = ["android", "linux", "windows"];

fn names() -> PossibleValuesParser {
    PLATFORMS.iter().map(|platform| platform.name).chain(SYSTEMS).into()
}

/// The number of concurrent platforms. The suites mostly use one core, so another platform can compile
/// meanwhile.
const AT_ONCE: usize = 2;

/// Builds and runs the chosen platforms, prints the table, and returns whether all succeeded. If a platform
/// fails, reports it and continues with the others.
pub fn run(workspace: &Workspace, options: &Options) -> Result<bool> {
    let toolchain = Toolchain::open(workspace)?;
    let chosen: Vec<_> = PLATFORMS
        .iter()
        .filter(|platform| {
            options.names.is_empty() || options.names.iter().any(|name| platform.is_called(name))
        })
        .map(|platform| named(platform.name))
        .collect();
    let (rows, failed) = run_each(&toolchain, &chosen);
    println!("\n{}", report::printed(&rows));
    if options.write {
        report::write(workspace, &rows, &failed)?;
    }
    if !failed.is_empty() {
        println!("failed: {}", failed.join(", "));
    }
    Ok(failed.is_empty())
}

/// Builds and runs platforms, [`AT_ONCE`] at a time. Returns the rows of the successful platforms and the
/// names of the failed platforms, in the order of `chosen`.
fn run_each(toolchain: &Toolchain<'_>, chosen: &[&'static Platform]) -> (Vec<Row>, Vec<&'static str>) {
    // Prepares all platforms first, because a running program might miss its files while packages are
    // unpacked.
    let prepared: Vec<_> = chosen.iter().map(|platform| (*platform, prepare(toolchain, platform))).collect();
    let next = Mutex::new(prepared.into_iter().enumerate());
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((index, (platform, prepared))) = take_next(&next) {
                    println!("\n== {}: started", platform.title);
                    let started = Instant::now();
                    let row = prepared.and_then(|()| one(toolchain, platform));
                    let row = row.map(|row| Row { seconds: started.elapsed().as_secs(), ..row });
                    if let Err(error) = &row {
                        eprintln!("error: {}: {error:#}", platform.name);
                    }
                    done.lock().expect("no thread panics while it holds this lock").push((
                        index,
                        platform.name,
                        row.ok(),
                    ));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no thread panics while it holds this lock");
    done.sort_by_key(|(index, ..)| *index);
    let failed = done.iter().filter(|(.., row)| row.is_none()).map(|(_, name, _)| *name).collect();
    (done.into_iter().filter_map(|(.., row)| row).collect(), failed)
}

fn take_next<T>(next: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    next.lock().expect("no thread panics while it holds this lock").next()
}

/// Type-checks every `cfg`, with one platform of each kind.
pub fn check(workspace: &Workspace) -> Result<Tally> {
    let toolchain = Toolchain::open(workspace)?;
    toolchain.check(&CHECKED.map(named))?;
    toolchain.check_without_engine(&CHECKED_WITHOUT_ENGINE.map(named))?;
    Ok(Tally { passed: (CHECKED.len() + CHECKED_WITHOUT_ENGINE.len()) as u64, failed: 0 })
}

/// The reason why the platforms cannot run here, if there is one.
pub fn obstacle(workspace: &Workspace) -> Option<String> {
    Toolchain::open(workspace).err().map(|error| format!("{error:#}"))
}

/// Installs a platform's packages and, if needed, wine, this machine's Godot and the engine's source.
fn prepare(toolchain: &Toolchain<'_>, platform: &Platform) -> Result<()> {
    toolchain.install_packages(platform)?;
    if platform.runner == Runner::Wine {
        wine::Wine::open(toolchain)?;
    }
    if platform.engine != Engine::Nothing {
        godot::find_or_install(toolchain.workspace)?;
    }
    if matches!(platform.engine, Engine::Double | Engine::Windows | Engine::Web) {
        compile::source(toolchain)?;
    }
    Ok(())
}

fn one(toolchain: &Toolchain<'_>, platform: &'static Platform) -> Result<Row> {
    let mut row = Row { name: platform.name, ..Row::default() };
    row.tests = tests(toolchain, platform)?.map(|tally| tally.passed);
    match (platform.library, platform.engine) {
        (_, Engine::Own | Engine::Double) => {
            let (version, tally) = match platform.engine {
                Engine::Double => double::conformance(toolchain, platform)?,
                _ => engine::own(toolchain)?,
            };
            row.library = "built";
            (row.engine, row.checks) = (Some(version), tally.passed);
        }
        (Library::Without, _) => row.library = "no Godot 4 for it",
        (Library::Checked, _) => {
            toolchain.check(&[platform])?;
            row.library = "types checked";
        }
        (Library::Linked(system), _) => {
            let library = link::library(toolchain, platform, system)?;
            verify::library(toolchain, system, &library)?;
            row.library = "linked and checked";
        }
        (Library::Static, _) => {
            let library = link::archive(toolchain, platform)?;
            verify::archive(toolchain, &library)?;
            row.library = "compiled, not linked";
        }
        (Library::Built, engine) => {
            let library = toolchain.library(platform)?;
            row.library = "built";
            let (version, tally) = match engine {
                Engine::Debian(architecture) => {
                    engine::conformance(toolchain, platform, architecture, &library)?
                }
                Engine::Windows => windows::conformance(toolchain, platform, &library)?,
                Engine::Web => web::conformance(toolchain, platform, &library)?,
                Engine::Own | Engine::Double | Engine::Nothing => return Ok(row),
            };
            (row.engine, row.checks) = (Some(version), tally.passed);
        }
    }
    Ok(row)
}

/// Runs the tests of the engine-free crates as programs of the platform.
fn tests(toolchain: &Toolchain<'_>, platform: &Platform) -> Result<Option<Tally>> {
    let is_emulated = matches!(platform.runner, Runner::Qemu(_) | Runner::Node);
    let run = |runner: &dyn Fn(&Path) -> Command| toolchain.tests(platform, is_emulated, runner);
    let tally = match platform.runner {
        Runner::Nothing => return Ok(None),
        Runner::Itself => run(&|program| toolchain.command(&program.display().to_string())),
        Runner::Qemu(emulator) => run(&|program| {
            let mut command = toolchain.command(emulator);
            command.arg(program).env("EMULATOR", emulator);
            command
        }),
        Runner::Node => run(&|program| {
            let mut command = toolchain.command("node");
            command.arg(program);
            command
        }),
        Runner::Wine => {
            let wine = wine::Wine::open(toolchain)?;
            run(&|program| wine.command(program))
        }
    };
    tally.map(Some)
}
