//! Every chore of this repository, as a library: `cargo xtask` is its command line, and the tests use it to run Godot.

pub mod archive;
pub mod bench;
pub mod checks;
pub mod coverage;
pub mod debian;
pub mod diff;
pub mod endure;
pub mod fuzz;
pub mod godot;
mod help;
pub mod judge;
pub mod kill;
pub mod library;
pub mod mutants;
pub mod notices;
pub mod package;
pub mod progress;
pub mod project;
pub mod run;
pub mod sanitize;
mod snippets;
pub mod stress;
pub mod suites;
pub mod tools;
pub mod trial;
pub mod valgrind;
pub mod workspace;
