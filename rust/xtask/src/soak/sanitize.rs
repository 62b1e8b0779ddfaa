//! The Rust tests, compiled with the compiler's sanitizers.

use std::env::consts::ARCH;
use std::io::Write;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use tempfile::NamedTempFile;

use super::{Done, Stage, Work};
use crate::judge::{self, Tally};
use crate::run::{self, Echo};

/// Their names, with what the compiler is told. The standard library comes compiled without them, which the compiler
/// would refuse for threads.
const SANITIZERS: [(&str, &str); 2] = [
    ("address", "-Zsanitizer=address"),
    ("thread", "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer"),
];

/// What the thread sanitizer takes for a race and is none.
const SUPPRESSIONS: &str = include_str!("../../tsan.supp");

/// What is tested. Engines, which the tests of `xtask` start, know no sanitizer.
const PACKAGES: [&str; 3] = ["variant_codec", "variant_disk", "conformance"];

/// Deeply nested values take more stack with the checks in between.
const STACK_BYTES: &str = "67108864";

const LIMIT: Duration = Duration::from_secs(3600);

/// Runs them, one sanitizer after the other; the one for addresses looks for leaks, too.
pub fn run(on: &Stage<'_>, _: &Work) -> Result<Done> {
    let workspace = on.workspace;
    let mut suppressions = NamedTempFile::new()?;
    suppressions.write_all(SUPPRESSIONS.as_bytes())?;
    let mut all = Tally::default();
    for (sanitizer, flags) in SANITIZERS {
        println!("\n{sanitizer} sanitizer");
        let mut cargo = workspace.cargo();
        // Lets a stable compiler take the options.
        cargo.arg("test").env("RUSTC_BOOTSTRAP", "1");
        // With a target named, build scripts and macros are compiled without the flags.
        cargo.args(["--target", &format!("{ARCH}-unknown-linux-gnu"), "--tests"]);
        cargo.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
        cargo.env("CARGO_TARGET_DIR", workspace.target.join("sanitize").join(sanitizer));
        cargo.env("RUSTFLAGS", flags).env("RUST_MIN_STACK", STACK_BYTES);
        cargo.env("TSAN_OPTIONS", format!("suppressions={}", suppressions.path().display()));
        let outcome = run::watch(&mut cargo, Echo::DirectErrors, LIMIT)?;
        let tally = judge::rust_tally(&outcome.stdout);
        if let Some(end) = outcome.bad_end() {
            bail!("the tests with the {sanitizer} sanitizer {end}; {tally}\n{}", outcome.stdout);
        }
        ensure!(tally.passed > 0, "there were no tests");
        println!("{tally}");
        all = all + tally;
    }
    Ok(all.into())
}
