//! The figures of a run, and the machine that they come from.

use std::fmt;
use std::fs;
use std::thread;

use serde::Serialize;

use super::samples::Row;
use super::stage::Build;

#[derive(Debug, Serialize)]
pub struct Report {
    pub engine: String,
    pub build: Build,
    /// The processor model and the number of threads.
    pub machine: String,
    pub quick: bool,
    pub rows: Vec<Row>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let build = if self.build == Build::Release { "exported release game" } else { "editor" };
        let quick = if self.quick { ", quick run with few samples" } else { "" };
        write!(f, "Godot {}, {build}, {}{quick}", self.engine, self.machine)
    }
}

/// The numbers of threads to measure: 1, and the number of processors.
pub fn threads() -> Vec<usize> {
    let all = thread::available_parallelism().map_or(1, usize::from);
    if all > 1 { vec![1, all] } else { vec![1] }
}

/// The processor model and the number of threads.
pub fn machine() -> String {
    let described = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = described.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("unnamed processor", |(_, name)| name);
    format!("{model}, {} thread(s)", threads().last().unwrap_or(&1))
}
