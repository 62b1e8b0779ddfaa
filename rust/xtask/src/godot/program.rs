//! The programs of an engine.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A Godot engine that was seen to start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Godot {
    /// The editor program, which also runs projects.
    pub editor: PathBuf,
    /// The program that exported games are made of.
    pub template_release: Option<PathBuf>,
    /// Its debug form.
    pub template_debug: Option<PathBuf>,
    /// As `godot --version` prints it.
    pub version: String,
}
