//! `cargo xtask mutants`: small changes to the codec crate, each of which a test should detect.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use anyhow::Result;

use crate::tools;
use crate::workspace::Workspace;

/// On crates.io.
const CARGO_MUTANTS: &str = "27.1.0";
/// On crates.io; any other installed version works as well.
const CARGO_NEXTEST: &str = "0.9.143";
/// Memory limit of a test or a compiler in kilobytes: a mutant may fill all memory before its timeout.
const MEMORY: &str = "4000000";
/// Stack of a test in bytes: without optimisation, a level of nesting takes tens of times as much.
const STACK: &str = "67108864";

/// Tries every mutant of the codec crate, or those that cargo-mutants' own arguments choose, and returns whether all
/// were detected. The lists of the others are in `target/mutation/mutants.out/`.
pub fn run(workspace: &Workspace, extra: &[String]) -> Result<bool> {
    let program = tools::from_crate(workspace, "cargo-mutants", CARGO_MUTANTS)?;
    let output = workspace.target.join("mutation");
    fs::create_dir_all(&output)?;
    let mut command = limited(&program);
    // It works in a copy, which needs its own target folder.
    command.env_remove("CARGO_TARGET_DIR").current_dir(&workspace.root);
    command
        .args(["mutants", "--package", "variant_codec", "--no-shuffle", "--output"])
        .arg(&output)
        .args(extra);
    command.env("RUST_MIN_STACK", STACK);
    // Fuzz targets must end before the timeout of a test.
    command.env("MADE_INPUTS", "500");
    // One failing input is enough.
    command.env("PROPTEST_MAX_SHRINK_ITERS", "0");
    if which::which("cargo-nextest").is_err() {
        let nextest = tools::from_crate(workspace, "cargo-nextest", CARGO_NEXTEST)?;
        let known = env::var_os("PATH").unwrap_or_default();
        let folders = nextest.parent().map(Path::to_path_buf).into_iter().chain(env::split_paths(&known));
        command.env("PATH", env::join_paths(folders)?);
    }
    Ok(command.status()?.success())
}

/// The program, with limited memory if the system supports it.
fn limited(program: &Path) -> Command {
    if !cfg!(target_os = "linux") {
        return Command::new(program);
    }
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit -v {MEMORY} && exec \"$0\" \"$@\"")).arg(program);
    command
}
