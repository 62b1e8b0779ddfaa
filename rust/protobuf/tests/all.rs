//! Every test of this crate in one program.

mod errors;
mod oracle_findings;
mod reading;
mod support;
mod wire;
