//! `cargo xtask platforms`: builds and tests each platform as far as this machine can.

mod compile;
mod double;
mod engine;
mod report;
mod table;
mod toolchain;
mod web;
mod windows;
mod wine;

use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::godot;
use crate::judge::Tally;
use crate::workspace::Workspace;
use report::Row;
use table::{BRIEF_CHECKS, BRIEF_TESTS, Engine, Library, PLATFORMS, Platform, Runner, named};
use toolchain::{Extent, Toolchain};

/// What to run.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Options {
    /// Only these platforms [default: all]
    #[arg(value_name = "NAME", value_parser = PLATFORMS.map(|platform| platform.name))]
    names: Vec<String>,
    /// Only the part that `cargo xtask test` runs
    #[arg(long, conflicts_with_all = ["names", "write"])]
    brief: bool,
    /// Save the results to docs/platforms.json, and update the tables in README.md and docs/platforms.md
    #[arg(long)]
    write: bool,
}

/// How many platforms run at once: the suites of one mostly use a single core, so another can compile meanwhile.
const AT_ONCE: usize = 2;

/// Builds and runs what the options choose, prints the table, and returns whether all went well. A platform that fails
/// is named, and the others go on.
pub fn run(workspace: &Workspace, options: &Options) -> Result<bool> {
    if options.brief {
        println!("{}", brief(workspace)?);
        return Ok(true);
    }
    let toolchain = Toolchain::open(workspace)?;
    let chosen: Vec<_> = PLATFORMS
        .iter()
        .filter(|platform| options.names.is_empty() || options.names.iter().any(|name| name == platform.name))
        .map(|platform| named(platform.name))
        .collect();
    let (rows, failed) = run_each(&toolchain, &chosen);
    println!("\n{}", report::printed(&rows));
    if options.write {
        report::write(workspace, rows, &failed)?;
    }
    if !failed.is_empty() {
        println!("failed: {}", failed.join(", "));
    }
    Ok(failed.is_empty())
}

/// Builds and runs platforms, [`AT_ONCE`] at a time. Returns the rows of those that succeeded and the names of those that
/// failed, each in the order of `chosen`.
fn run_each(toolchain: &Toolchain<'_>, chosen: &[&'static Platform]) -> (Vec<Row>, Vec<&'static str>) {
    // Before all else: while packages are being unpacked, a running program might not find its files.
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

/// Runs all platforms as one check, which fails if any of them does.
pub fn all(workspace: &Workspace) -> Result<Tally> {
    ensure!(run(workspace, &Options::default())?, "some platforms failed");
    Ok(Tally { passed: COUNT, failed: 0 })
}

/// How many there are.
pub const COUNT: u64 = PLATFORMS.len() as u64;

/// Builds and runs the platform of this number, from 0; returns its name and what passed.
pub fn numbered(workspace: &Workspace, number: u64) -> Result<(&'static str, Tally)> {
    let name = PLATFORMS.get(number as usize).context("there is no such platform")?.name;
    let toolchain = Toolchain::open(workspace)?;
    prepare(&toolchain, named(name))?;
    let row = one(&toolchain, named(name))?;
    Ok((name, Tally { passed: row.tests.unwrap_or(0) + row.checks, failed: 0 }))
}

/// What fits in every test run.
pub fn brief(workspace: &Workspace) -> Result<Tally> {
    let toolchain = Toolchain::open(workspace)?;
    let tested = BRIEF_TESTS.map(named);
    for platform in tested {
        toolchain.install_packages(platform)?;
    }
    toolchain.check(&BRIEF_CHECKS.map(named))?;
    let mut total = Tally { passed: BRIEF_CHECKS.len() as u64, failed: 0 };
    for platform in tested {
        total = total
            + tests(&toolchain, platform, Extent::Brief)?
                .context("a platform in BRIEF_TESTS has no runner")?;
    }
    Ok(total)
}

/// Why the platforms cannot be run here, if they cannot.
pub fn obstacle(workspace: &Workspace) -> Option<String> {
    Toolchain::open(workspace).err().map(|error| format!("{error:#}"))
}

/// Installs a platform's packages and, where it needs them, wine and this machine's Godot.
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
    let mut row = Row::of(platform.name, platform.title);
    let extent = match platform.runner {
        Runner::Qemu(_) | Runner::Node => Extent::Emulated,
        Runner::Itself | Runner::Wine | Runner::Nothing => Extent::Whole,
    };
    row.tests = tests(toolchain, platform, extent)?.map(|tally| tally.passed);
    match (platform.library, platform.engine) {
        (_, Engine::Own | Engine::Double) => {
            let (version, tally) = match platform.engine {
                Engine::Double => double::conformance(toolchain, platform)?,
                _ => engine::own(toolchain)?,
            };
            row.library = "built".into();
            (row.engine, row.checks) = (Some(version), tally.passed);
        }
        (Library::Without, _) => row.library = "no Godot 4 for it".into(),
        (Library::Checked, _) => {
            toolchain.check(&[platform])?;
            row.library = "types checked".into();
        }
        (Library::Built, engine) => {
            let library = toolchain.library(platform)?;
            row.library = "built".into();
            if platform.runner == Runner::Wine {
                wine::start(toolchain, &library)?;
            }
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

/// The tests of the crates that need no engine, as programs of the platform.
fn tests(toolchain: &Toolchain<'_>, platform: &Platform, extent: Extent) -> Result<Option<Tally>> {
    let tally = match platform.runner {
        Runner::Nothing => return Ok(None),
        Runner::Itself => {
            toolchain.tests(platform, extent, &|program| toolchain.command(&program.display().to_string()))
        }
        Runner::Qemu(emulator) => toolchain.tests(platform, extent, &|program| {
            let mut command = toolchain.command(emulator);
            command.arg(program).env("EMULATOR", emulator);
            command
        }),
        Runner::Node => toolchain.tests(platform, extent, &|program| {
            let mut command = toolchain.command("node");
            command.arg(program);
            command
        }),
        Runner::Wine => {
            let wine = wine::Wine::open(toolchain)?;
            toolchain.tests(platform, extent, &|program| wine.command(program))
        }
    };
    tally.map(Some)
}
