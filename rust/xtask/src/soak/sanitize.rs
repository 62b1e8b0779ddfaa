//! The Rust tests, compiled with the compiler's sanitizers.

use std::env::consts::ARCH;
use std::io::Write;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use tempfile::NamedTempFile;

use super::{Done, Stage, Work};
use crate::judge::{self, Tally};
use crate::run::{self, Echo};

/// The sanitizers and their compiler flags. The precompiled standard library is not instrumented. For
/// the thread sanitizer, the compiler accepts such a library only with the second flag.
const SANITIZERS: [(&str, &str); 2] = [
    ("address", "-Zsanitizer=address"),
    ("thread", "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer"),
];

/// Suppressions of the thread sanitizer's false positives.
const SUPPRESSIONS: &str = include_str!("../../tsan.supp");

/// The tested packages. The tests of `xtask` start engines, which are not instrumented.
const PACKAGES: [&str; 3] = ["variant_codec", "variant_disk", "conformance"];

/// The stack size of test threads. Deeply nested values need more stack in instrumented code.
const STACK_BYTES: &str = "67108864";

const LIMIT: Duration = Duration::from_secs(3600);

/// Runs the tests with each sanitizer in turn. The address sanitizer also detects leaks.
pub fn run(on: &Stage<'_>, _: &Work) -> Result<Done> {
    let workspace = on.workspace;
    let mut suppressions = NamedTempFile::new()?;
    suppressions.write_all(SUPPRESSIONS.as_bytes())?;
    let mut all = Tally::default();
    for (sanitizer, flags) in SANITIZERS {
        println!("\n{sanitizer} sanitizer");
        let mut cargo = workspace.cargo();
        // Lets a stable compiler accept `-Z` flags.
        cargo.arg("test").env("RUSTC_BOOTSTRAP", "1");
        // An explicit target keeps the flags away from build scripts and macros.
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
