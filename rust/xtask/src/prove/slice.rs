//! A slice of a proof: what it runs with, and what it did.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::godot::Godot;
use crate::workspace::Workspace;

/// What a proof runs with.
pub struct Tools<'a> {
    pub workspace: &'a Workspace,
    pub godot: &'a Godot,
}

/// What a slice of a proof did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// How much of the goal.
    pub amount: u64,
    /// Checks that held.
    pub checks: u64,
    /// The same for each of several things that are proven together, such as fuzz targets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, u64>,
}

impl Done {
    pub fn add(&mut self, other: Self) {
        self.amount += other.amount;
        self.checks += other.checks;
        for (name, amount) in other.parts {
            *self.parts.entry(name).or_default() += amount;
        }
    }
}
