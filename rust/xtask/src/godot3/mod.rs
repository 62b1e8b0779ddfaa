//! Finds real Godot 3 engines, the oldest and newest available, or installs them in private folders.

pub mod padding;
pub mod vectors;

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, ensure};

use crate::debian;
use crate::godot::{release, remove_folder};
use crate::workspace::Workspace;

/// The advice that ends every error about a missing engine.
const ADVICE: &str = "Set GODOT3_BIN to the program of a Godot 3, best a server or headless build.";

const VARIABLE: &str = "GODOT3_BIN";

/// A server build of the engine, which needs no display.
struct Edition {
    /// The official release, for machines without a suitable package.
    release: &'static str,
    /// The suite of Debian that has this version.
    suite: &'static str,
}

const EDITIONS: [Edition; 2] = [
    Edition { release: "3.2.3-stable", suite: "bookworm" },
    Edition { release: "3.6.2-stable", suite: debian::TESTING },
];

/// The name of the package and of its program.
const SERVER: &str = "godot3-server";

const HAS_SERVER: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));

/// The project's folder in the user's home. This program creates the folder first, because Godot 3.2 reports
/// an error when it creates the folder itself.
const USER_FOLDER: &str = "godot/app_userdata/Vectors of Godot 3";

/// A Godot 3 engine that is known to start.
#[derive(Debug, Clone)]
pub struct Godot3 {
    pub program: PathBuf,
    /// The version, as `--version` prints it.
    pub version: String,
}

impl Godot3 {
    /// The version's three numbers.
    pub fn numbers(&self) -> &str {
        let end = self.version.match_indices('.').nth(2).map_or(self.version.len(), |(at, _)| at);
        &self.version[..end]
    }

    /// A command that runs a script of `tests/godot3`, given as `res://…`, with these arguments.
    pub fn script(&self, workspace: &Workspace, script: &str, arguments: &[String]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--path").arg(workspace.root.join("tests/godot3")).args(["-s", script]).args(arguments);
        // Godot 3 looks for its folders in the user's home, and prints an error for a locale without a
        // language.
        command.env("HOME", workspace.godot_home()).env("LANG", "en_US").env_remove("LC_ALL");
        for variable in ["XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"] {
            command.env(variable, workspace.godot_home());
        }
        command
    }
}

/// The engine that `GODOT3_BIN` names, otherwise the engines under `target/godot3`, installed as needed.
pub fn find_or_install(workspace: &Workspace) -> Result<Vec<Godot3>> {
    fs::create_dir_all(workspace.godot_home().join(USER_FOLDER))?;
    if let Some(program) = env::var_os(VARIABLE) {
        let engine =
            try_program(program.into()).with_context(|| format!("{VARIABLE} names what cannot be used"))?;
        return Ok(vec![engine]);
    }
    let parent = workspace.target.join("godot3");
    fs::create_dir_all(&parent)?;
    // Concurrent runs must not install into the same folder.
    let lock = File::create(parent.join("lock"))?;
    lock.lock().context("cannot lock the folder for Godot 3")?;
    let find = |edition: &Edition| {
        let program = edition.private(&parent);
        program
            .and_then(try_program)
            .map_err(|error| anyhow!("no Godot {}: {error:#}\n{ADVICE}", edition.release))
    };
    EDITIONS.iter().map(find).collect()
}

impl Edition {
    /// The program in its folder under `parent`, installed there as needed.
    fn private(&self, parent: &Path) -> Result<PathBuf> {
        let home = parent.join(self.release);
        if !home.is_dir() {
            let unfinished = parent.join(format!("{}.unfinished", self.release));
            remove_folder(&unfinished)?;
            fs::create_dir(&unfinished)?;
            self.install(&unfinished)?;
            fs::rename(&unfinished, &home)?;
        }
        if debian::root(&home).is_dir() {
            debian::script(&home, &format!("usr/bin/{SERVER}"), SERVER)
        } else {
            Ok(home.join(self.artifact()))
        }
    }

    fn install(&self, folder: &Path) -> Result<()> {
        ensure!(HAS_SERVER, "there is no server build of it for this system");
        if let Some(machine) = debian::machine() {
            match machine.install(self.suite, "Godot 3", &[SERVER], folder) {
                Ok(()) => return Ok(()),
                Err(error) => eprintln!("   Debian's Godot 3 cannot be installed: {error:#}"),
            }
            remove_folder(folder)?;
            fs::create_dir(folder)?;
        }
        release::fetch(self.release, &format!("{}.zip", self.artifact()), folder)
    }

    fn artifact(&self) -> String {
        format!("Godot_v{}_linux_server.64", self.release)
    }
}

fn try_program(program: PathBuf) -> Result<Godot3> {
    // Godot 3.2 prints its version, but then exits with a failure.
    let output = Command::new(&program).arg("--version").env("LANG", "en_US").output();
    let output = output.with_context(|| format!("cannot start {}", program.display()))?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    ensure!(version.starts_with("3."), "{} answers `{version}`, which is no Godot 3", program.display());
    Ok(Godot3 { program, version })
}
