//! `cargo xtask protobuf`: compares our protobuf with the official one.

use std::time::Duration;

use anyhow::Result;

use crate::judge::{self, Tally};
use crate::python;
use crate::run::{self, Echo};
use crate::suites;
use crate::workspace::Workspace;

/// The minimum number of schemas per second.
const SCHEMAS_PER_SECOND: u64 = 1;
/// The time allowed for everything else.
const START: Duration = Duration::from_secs(120);

/// Choices for the comparison.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Options {
    /// Duration [default: 60, unless --schemas is given]
    #[arg(long, value_name = "N")]
    pub seconds: Option<u64>,
    /// Number of schemas
    #[arg(long, value_name = "N")]
    pub schemas: Option<u64>,
    /// Seed of the first schema, to repeat a run; the others have the seeds after it
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
}

/// Compares, and adds up what was compared.
///
/// # Errors
/// With what differs.
pub fn run(workspace: &Workspace, options: &Options) -> Result<Tally> {
    let python = python::find_or_install(workspace)?;
    let seconds = options.seconds.or(options.schemas.is_none().then_some(60));
    let mut oracle = workspace.program("--bin", "protobuf_oracle")?;
    oracle.arg("--python").arg(&python.program).env("PYTHONPATH", &python.packages);
    oracle.args(suites::named([
        ("--seed", Some(options.seed.to_string())),
        ("--seconds", seconds.map(|seconds| seconds.to_string())),
        ("--schemas", options.schemas.map(|schemas| schemas.to_string())),
    ]));
    let longest = seconds.unwrap_or_default() + options.schemas.unwrap_or_default() / SCHEMAS_PER_SECOND;
    judge::suite(&run::watch(&mut oracle, Echo::All, START + Duration::from_secs(longest))?)
}
