//! stub
use crate::{godot::Godot, judge::Tally, workspace::Workspace};
use anyhow::Result;
/// x
#[derive(Clone, Debug, clap::Args)]
pub struct Options {}
/// x
pub fn run(_: &Workspace, _: &Godot, _: &Options) -> Result<bool> {
    Ok(true)
}
/// x
pub fn slice(_: &Workspace, _: &Godot, _: &str) -> Result<Tally> {
    Ok(Tally::default())
}
