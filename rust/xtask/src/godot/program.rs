//! The programs of an engine.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A Godot engine that is known to start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Godot {
    /// The editor program, which also runs projects.
    pub editor: PathBuf,
    pub template_release: Option<PathBuf>,
    /// The version, as `godot --version` prints it.
    pub version: String,
}
