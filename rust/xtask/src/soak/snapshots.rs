//! Runs snapshots over bad networks.

use std::time::Duration;

use anyhow::Result;

use super::work::{Done, Stage, Work};
use crate::judge::{self, Tally};
use crate::run::{self, Echo};
use crate::{python, suite};

const TICKS_PER_SECOND: u64 = 1000;
const START: Duration = Duration::from_secs(120);

pub fn run(on: &Stage<'_>, work: &Work) -> Result<Done> {
    simulated(on, work).map(Done::from)
}

/// Simulated networks, some of them beside a second decoder.
fn simulated(on: &Stage<'_>, work: &Work) -> Result<Tally> {
    let python = python::find_or_install(on.workspace, &python::PROTOBUF)?;
    let mut soak = on.workspace.program("--bin", "snapshot_soak")?;
    soak.arg("--python").arg(&python.program);
    soak.args(suite::named([
        ("--seed", Some(work.seed.to_string())),
        ("--seconds", work.count.is_none().then(|| work.seconds.to_string())),
        ("--ticks", work.count.map(|count| count.to_string())),
    ]));
    judge::suite(&run::watch(&mut soak, Echo::All, START + work.limit(TICKS_PER_SECOND))?)
}
