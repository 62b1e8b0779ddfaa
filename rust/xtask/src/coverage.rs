//! `cargo xtask coverage`: which lines and branches of the codec crate the Rust tests reach.

use std::process::Command;

use anyhow::Result;

use crate::godot::Godot;
use crate::run;
use crate::tools;
use crate::workspace::Workspace;

/// On crates.io.
const CARGO_LLVM_COV: &str = "0.9.1";
/// Everything but the codec crate.
const OTHERS: &str = "/(tests|rust/xtask)/";

/// Runs the tests with counters compiled in, prints a table, and writes the marked source to `target/coverage/`.
pub fn run(workspace: &Workspace, godot: &Godot) -> Result<()> {
    let llvm = tools::llvm(workspace)?;
    let program = tools::from_crate(workspace, "cargo-llvm-cov", CARGO_LLVM_COV)?;
    let command = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command
            .arg("llvm-cov")
            .args(arguments)
            .current_dir(&workspace.root)
            .env("LLVM_COV", &llvm.cov)
            .env("LLVM_PROFDATA", &llvm.profdata)
            .env("GODOT4_BIN", &godot.editor)
            // Counting branches is unstable; this way it needs no other compiler.
            .env("RUSTC_BOOTSTRAP", "1");
        command
    };
    let packages = ["--package", "variant_codec", "--package", "conformance"];
    run::through(command(&["test", "--branch", "--no-report"]).args(packages))?;
    let report = ["report", "--ignore-filename-regex", OTHERS];
    let pages = workspace.target.join("coverage");
    run::through(command(&report).arg("--html").arg("--output-dir").arg(&pages))?;
    run::through(command(&report).arg("--show-missing-lines"))
}
