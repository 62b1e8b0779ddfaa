//! Packages and documents the crates for programs in Rust.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail, ensure};

use crate::godot::remove_folder;
use crate::judge::Tally;
use crate::run::{self, Echo};
use crate::workspace::{self, Workspace};

/// The crates with their folders, dependencies first.
const CRATES: [(&str, &str); 2] = [("variant_codec", "rust/codec"), ("variant_protobuf", "rust/protobuf")];
const LIMIT: Duration = Duration::from_secs(3600);

/// Checks that both crates can be published and documented without a warning.
pub fn check(workspace: &Workspace) -> Result<Tally> {
    packages(workspace)?;
    let mut cargo = for_crates(workspace, "doc");
    run::through(cargo.args(["--quiet", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(Tally::default())
}

fn for_crates(workspace: &Workspace, command: &str) -> Command {
    let mut cargo = workspace.cargo();
    cargo.args([command, "--all-features"]).args(CRATES.iter().flat_map(|(name, _)| ["--package", name]));
    cargo
}

/// Packs both crates as for publishing, and compiles the packages. Treats a warning as an error.
fn packages(workspace: &Workspace) -> Result<()> {
    let license = fs::read(workspace.root.join("LICENSE"))?;
    for (name, folder) in CRATES {
        let own = fs::read(workspace.root.join(folder).join("LICENSE"))?;
        ensure!(own == license, "{folder}/LICENSE is not the licence of the repository; {name} needs a copy");
    }
    forget_unpacked(workspace)?;
    let mut cargo = for_crates(workspace, "publish");
    // Also checks uncommitted changes.
    cargo.args(["--dry-run", "--allow-dirty"]);
    // Reuses the build of the tests. Packages are compiled without the workspace's profile, hence `--config`.
    cargo.args(["--config", "profile.dev.package.\"*\".debug=false", "--target-dir"]).arg(&workspace.target);
    let outcome = run::watch(&mut cargo, Echo::Nothing, LIMIT)?;
    if let Some(end) = outcome.bad_end() {
        bail!("`cargo publish --dry-run` {end}:\n{}", outcome.log);
    }
    // Cargo prints one warning for each upload that it skips.
    let complaints = outcome.stderr.lines().filter(|line| line.starts_with("warning: "));
    let complaints: Vec<_> = complaints.filter(|line| !line.contains("due to dry run")).collect();
    ensure!(complaints.is_empty(), "{}", complaints.join("\n"));
    Ok(())
}

/// Removes Cargo's unpacked packages and marks them as not compiled: Cargo unpacks and compiles each version once, so it
/// would miss later changes.
fn forget_unpacked(workspace: &Workspace) -> Result<()> {
    let debug = workspace.target.join("debug");
    for compiled in fs::read_dir(debug.join("deps")).into_iter().flatten().flatten() {
        let name = compiled.file_name().to_string_lossy().into_owned();
        let Some(package) = name.strip_suffix(".d") else { continue };
        if CRATES.iter().any(|(name, _)| package.starts_with(name))
            && fs::read_to_string(compiled.path())?.contains("registry")
        {
            remove_folder(&debug.join(".fingerprint").join(package))?;
        }
    }
    let Ok(registries) = fs::read_dir(workspace::cargo_home()?.join("registry/src")) else { return Ok(()) };
    for registry in
        registries.flatten().filter(|folder| folder.file_name().to_string_lossy().starts_with('-'))
    {
        for (name, _) in CRATES {
            remove_folder(&registry.path().join(format!("{name}-{}", workspace.version)))?;
        }
    }
    Ok(())
}
