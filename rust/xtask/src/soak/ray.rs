//! Reads files with the Python package on the workers of Ray.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::work::{Done, Stage, Work};
use crate::build::Profile;
use crate::python_package::Package;
use crate::run::{self, Echo};
use crate::{judge, python};

/// The time limit of a round, which starts three clusters.
const LIMIT: Duration = Duration::from_secs(300);

/// Compares the tables and the damage that the workers find with those of a single process.
pub fn run(on: &Stage<'_>, work: &Work) -> Result<Done> {
    let package = Package::build(on.workspace, Profile::Debug)?.with(&python::RAY)?;
    let started = Instant::now();
    let mut done = Done::default();
    while work.needs_another_round(done.amount, started) {
        let seed = u64::from(work.seed) + done.amount;
        let outcome =
            run::watch(package.command()?.args(["cluster.py", &seed.to_string()]), Echo::All, LIMIT)?;
        done = Done { amount: done.amount + 1, tally: done.tally + judge::suite(&outcome)? };
    }
    Ok(done)
}
