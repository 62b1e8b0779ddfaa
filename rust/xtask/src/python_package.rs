//! The Python package in `rust/python`: its tests, and an exchange of values with the engine.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::archive;
use crate::godot::Godot;
use crate::judge::{self, Tally};
use crate::python::{self, Python};
use crate::run::{self, Echo};
use crate::suite;
use crate::workspace::Workspace;

const LIMIT: Duration = Duration::from_secs(600);
/// The number of values that the engine and Python exchange.
const VALUES: u32 = 20_000;

/// The package, built under `target/`, and the Python that imports it.
struct Package<'a> {
    workspace: &'a Workspace,
    python: Python,
    folder: PathBuf,
}

impl<'a> Package<'a> {
    fn build(workspace: &'a Workspace) -> Result<Self> {
        let python = python::find_or_install(workspace, &python::VARIANT)?;
        // With the features of `cargo test --workspace`, so that nothing is compiled twice.
        run::through(workspace.cargo().args(["build", "--quiet", "--workspace", "--lib"]))?;
        let folder = workspace.target.join("python");
        let package = folder.join("godot_variant");
        if package.is_dir() {
            fs::remove_dir_all(&package)?;
        }
        archive::copy(&workspace.root.join("rust/python/godot_variant"), &package)?;
        let library = format!("{DLL_PREFIX}godot_variant_native{DLL_SUFFIX}");
        let module = if cfg!(windows) { "_native.pyd" } else { "_native.abi3.so" };
        fs::copy(workspace.target.join("debug").join(library), package.join(module))?;
        Ok(Self { workspace, python, folder })
    }

    /// Python with these arguments, in the folder of the tests.
    fn command(&self) -> Result<Command> {
        let mut command = Command::new(&self.python.program);
        command.current_dir(self.workspace.root.join("rust/python/tests"));
        let paths = std::env::join_paths([&self.folder, &self.python.packages])?;
        // The tests leave no compiled files beside them.
        command.env("PYTHONPATH", paths).env("PYTHONDONTWRITEBYTECODE", "1");
        Ok(command)
    }
}

/// Runs the tests of the package.
pub fn tests(workspace: &Workspace) -> Result<Tally> {
    let package = Package::build(workspace)?;
    let mut command = package.command()?;
    let outcome = run::watch(command.args(["-m", "unittest", "discover"]), Echo::All, LIMIT)?;
    if let Some(end) = outcome.bad_end() {
        anyhow::bail!("the tests of the Python package {end}");
    }
    let count =
        outcome.log.lines().find_map(|line| line.strip_prefix("Ran ")?.split(' ').next()?.parse().ok());
    let passed = count.context("the tests ended without a line `Ran N tests`")?;
    ensure!(passed > 0, "there are no tests");
    Ok(Tally { passed, failed: 0 })
}

/// The engine writes random values, Python reads and writes them, and the engine compares the bytes.
pub fn exchange(workspace: &Workspace, godot: &Godot) -> Result<Tally> {
    let package = Package::build(workspace)?;
    let folder = tempfile::Builder::new().prefix("exchange-").tempdir_in(&workspace.target)?;
    let [written, returned] =
        ["written.dat", "returned.dat"].map(|name| folder.path().join(name).to_string_lossy().into_owned());
    let place = workspace.project();
    let project = suite::bundled(workspace, godot, &place)?;
    let script = |arguments: &[&str]| {
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        run::watch(&mut project.script("res://suites/python_values.gd", &arguments), Echo::All, LIMIT)
    };
    judge::clean(&script(&["write", &written, &VALUES.to_string()])?)?;
    run::through(package.command()?.args(["exchange.py", &written, &returned]))?;
    judge::suite(&script(&["compare", &written, &returned])?)
}
