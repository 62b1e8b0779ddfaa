//! Every test of this crate in one program.

mod errors;
mod groups;
mod oracle_findings;
mod reading;
mod support;
mod wire;
