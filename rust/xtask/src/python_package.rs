//! The Python package in `rust/python`: its tests, an exchange of values with the engine, and its speed.

use std::env;
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::archive;
use crate::build::Profile;
use crate::godot::Godot;
use crate::judge::{self, Tally};
use crate::python::{self, Python, Requirements};
use crate::run::{self, Echo};
use crate::suite;
use crate::workspace::Workspace;

const LIMIT: Duration = Duration::from_secs(600);
/// The number of values that the engine and Python exchange.
const VALUES: u32 = 20_000;

/// The package, built under `target/`, and the Python that imports it.
pub struct Package<'a> {
    workspace: &'a Workspace,
    program: PathBuf,
    /// The folders from which Python imports.
    paths: Vec<PathBuf>,
}

impl<'a> Package<'a> {
    /// Builds the package, for the tests unoptimised.
    pub fn build(workspace: &'a Workspace, profile: Profile) -> Result<Self> {
        let Python { program, packages } = python::find_or_install(workspace, &python::VARIANT)?;
        let mut cargo = workspace.cargo();
        let (built, folder) = match profile {
            // With the features of `cargo test --workspace`, so that nothing is compiled twice.
            Profile::Debug => (cargo.args(["build", "--quiet", "--workspace", "--lib"]), "debug"),
            _ => (cargo.args(["build", "--quiet", "--release", "--package", "variant_python"]), "release"),
        };
        run::through(built)?;
        let library = workspace.target.join(folder);
        let folder = workspace.target.join("python").join(folder);
        let package = folder.join("godot_variant");
        if package.is_dir() {
            fs::remove_dir_all(&package)?;
        }
        archive::copy(&workspace.root.join("rust/python/godot_variant"), &package)?;
        let library = library.join(format!("{DLL_PREFIX}godot_variant_native{DLL_SUFFIX}"));
        let module = if cfg!(windows) { "_native.pyd" } else { "_native.abi3.so" };
        fs::copy(library, package.join(module))?;
        Ok(Self { workspace, program, paths: vec![folder, packages] })
    }

    /// The package, with more packages beside it.
    pub fn with(mut self, requirements: &Requirements) -> Result<Self> {
        self.paths.push(python::find_or_install(self.workspace, requirements)?.packages);
        Ok(self)
    }

    /// Python in the folder of the tests.
    pub fn command(&self) -> Result<Command> {
        let mut command = Command::new(&self.program);
        command.current_dir(self.workspace.root.join("rust/python/tests"));
        let others = env::var_os("PYTHONPATH").unwrap_or_default();
        let paths = env::join_paths(self.paths.iter().cloned().chain(env::split_paths(&others)))?;
        // The tests leave no compiled files beside them.
        command.env("PYTHONPATH", paths).env("PYTHONDONTWRITEBYTECODE", "1");
        Ok(command)
    }
}

/// Runs the tests of the package.
pub fn tests(workspace: &Workspace) -> Result<Tally> {
    let package = Package::build(workspace, Profile::Debug)?;
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
    let package = Package::build(workspace, Profile::Debug)?;
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

/// Measures the package beside other libraries, and prints a table.
pub fn speed(workspace: &Workspace) -> Result<()> {
    let package = Package::build(workspace, Profile::Release)?.with(&python::SPEED)?;
    run::through(package.command()?.arg("speed.py").arg(&workspace.target))
}
