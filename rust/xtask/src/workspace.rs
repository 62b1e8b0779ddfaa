//! The folders of this repository.

use std::env::{self, consts::EXE_SUFFIX};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use cargo_metadata::{Metadata, MetadataCommand};

use crate::run;

/// The package that becomes the addon's library.
pub const EXTENSION: &str = "fast_variant_codec";

/// The repository, as Cargo describes it.
pub struct Workspace {
    /// The folder with the workspace's `Cargo.toml`.
    pub root: PathBuf,
    /// Cargo's target folder; it honours `CARGO_TARGET_DIR`.
    pub target: PathBuf,
    /// The version that all crates share.
    pub version: String,
}

impl Workspace {
    /// Finds the repository with the help of Cargo, whatever the current folder is.
    pub fn find() -> Result<Self> {
        let metadata = metadata_command()
            .no_deps()
            .exec()
            .context("`cargo metadata` failed: is the Rust toolchain installed?")?;
        let version = metadata
            .packages
            .iter()
            .find(|package| package.name.as_str() == EXTENSION)
            .with_context(|| format!("the workspace has no package {EXTENSION}"))?
            .version
            .to_string();
        Ok(Self {
            root: metadata.workspace_root.into_std_path_buf(),
            target: metadata.target_directory.into_std_path_buf(),
            version,
        })
    }

    pub fn metadata(&self) -> Result<Metadata> {
        metadata_command().exec().context("`cargo metadata` failed")
    }

    /// The addon, as a user installs it.
    pub fn addon(&self) -> PathBuf {
        self.root.join("addons").join(EXTENSION)
    }

    /// The Godot project with the suites and the demo.
    pub fn project(&self) -> PathBuf {
        self.root.join("godot-project")
    }

    /// The folder of a Godot installed by this tool.
    pub fn private_godot(&self) -> PathBuf {
        self.target.join("godot")
    }

    /// The folder of other programs that this tool installs.
    pub fn tools(&self) -> PathBuf {
        self.target.join("tools")
    }

    /// The home folder for Godot, so that runs leave no files outside the target folder.
    pub fn godot_home(&self) -> PathBuf {
        self.target.join("godot-home")
    }

    pub fn cargo(&self) -> Command {
        let mut command = Command::new(cargo_program());
        command.current_dir(&self.root);
        command
    }

    /// Builds a test program, of kind `--bin` or `--example`, and returns the command that runs it. Uses the
    /// features of `cargo test --workspace`, so that nothing is compiled twice.
    pub fn program(&self, kind: &str, name: &str) -> Result<Command> {
        run::through(self.cargo().args(["build", "--quiet", "--workspace", kind, name]))?;
        let folder = self.target.join(if kind == "--example" { "debug/examples" } else { "debug" });
        let mut command = Command::new(folder.join(format!("{name}{EXE_SUFFIX}")));
        command.current_dir(&self.root);
        Ok(command)
    }
}

/// The `cargo metadata` command for this repository. Cargo passes the package's folder to the programs that
/// it starts; a program started by hand uses the current folder.
fn metadata_command() -> MetadataCommand {
    let mut command = MetadataCommand::new();
    if let Some(package) = env::var_os("CARGO_MANIFEST_DIR") {
        command.manifest_path(Path::new(&package).join("Cargo.toml"));
    }
    command
}

/// The folder where Cargo keeps its downloads.
pub fn cargo_home() -> Result<PathBuf> {
    let named = env::var_os("CARGO_HOME").map(PathBuf::from);
    named.or_else(|| Some(env::home_dir()?.join(".cargo"))).context("no CARGO_HOME")
}

fn cargo_program() -> PathBuf {
    env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from)
}
