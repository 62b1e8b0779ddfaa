//! Runs Godot projects headless.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use tempfile::TempDir;

use crate::archive;
use crate::build::{self, Build};
use crate::godot::Godot;
use crate::workspace::{EXTENSION, Workspace};

/// A project folder, the engine that runs it, and a private home folder.
pub struct Project<'a> {
    godot: &'a Godot,
    folder: &'a Path,
    home: PathBuf,
}

impl<'a> Project<'a> {
    pub fn new(workspace: &Workspace, godot: &'a Godot, folder: &'a Path) -> Result<Self> {
        // Each project under `target/` has its own home, because several may run at once.
        let is_temporary = folder.starts_with(&workspace.target);
        let home = if is_temporary { folder.join(".godot/home") } else { workspace.godot_home() };
        for part in HOMES.map(|(_, part)| part) {
            fs::create_dir_all(home.join(part))?;
        }
        Ok(Self { godot, folder, home })
    }

    /// Adds the extension to the project's list of extensions, as an editor does when it opens the project.
    pub fn register_extension(&self) -> Result<()> {
        let list = self.folder.join(".godot/extension_list.cfg");
        if list.is_file() {
            return Ok(());
        }
        fs::create_dir_all(self.folder.join(".godot"))?;
        fs::write(&list, format!("res://addons/{EXTENSION}/{EXTENSION}.gdextension\n"))
            .with_context(|| format!("cannot write {}", list.display()))
    }

    /// A command that runs the engine on this project, without a window.
    pub fn headless(&self) -> Command {
        let mut command = self.engine(&self.godot.editor);
        command.arg("--headless").arg("--path").arg(self.folder);
        command
    }

    /// A command that runs a script of the project, given as `res://…`, with these arguments.
    pub fn script(&self, script: &str, arguments: &[String]) -> Command {
        let mut command = self.headless();
        command.args(["--script", script, "--"]).args(arguments);
        command
    }

    /// A command that runs a program of the engine, isolated from the user's settings and data.
    pub fn engine(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.envs(HOMES.map(|(variable, part)| (variable, self.home.join(part))));
        command
    }
}

/// A copy of the bundled project and of the addon, with a library of this build. The workspace's addon keeps
/// its library.
pub fn copied(workspace: &Workspace, build: &Build) -> Result<TempDir> {
    copied_with(workspace, |addon| build::build_into(workspace, build, addon))
}

/// Like [`copied`], with a library that `put` puts into the copy of the addon.
pub fn copied_with(workspace: &Workspace, put: impl FnOnce(&Path) -> Result<PathBuf>) -> Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("copy-").tempdir_in(&workspace.target)?;
    for part in ["bench", "suites"] {
        archive::copy(&workspace.project().join(part), &folder.path().join(part))?;
    }
    fs::copy(workspace.project().join("project.godot"), folder.path().join("project.godot"))?;
    let addon = folder.path().join("addons").join(EXTENSION);
    archive::copy(&workspace.addon(), &addon)?;
    put(&addon)?;
    Ok(folder)
}

/// A new project with these files and the addon from the zip.
pub fn with_addon(
    workspace: &Workspace,
    prefix: &str,
    zip: &Path,
    files: &[(&str, &str)],
) -> Result<TempDir> {
    let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(&workspace.target)?;
    archive::unpack(zip, folder.path())?;
    add_files(folder.path(), files)?;
    Ok(folder)
}

/// Writes files, given as path and text, into a folder.
pub fn add_files(folder: &Path, files: &[(&str, &str)]) -> Result<()> {
    for (path, text) in files {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().expect("it was just joined"))?;
        fs::write(&file, text)?;
    }
    Ok(())
}

/// The variables for the engine's folders of data, settings and caches on Linux and on Windows.
const HOMES: [(&str, &str); 5] = [
    ("XDG_DATA_HOME", "data"),
    ("XDG_CONFIG_HOME", "config"),
    ("XDG_CACHE_HOME", "cache"),
    ("APPDATA", "data"),
    ("LOCALAPPDATA", "cache"),
];
