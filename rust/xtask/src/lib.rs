//! Every chore of this repository, as a library: `cargo xtask` is its command line, and the tests use it to run Godot.

pub mod archive;
pub mod bench;
pub mod checks;
pub mod endure;
pub mod godot;
pub mod judge;
pub mod library;
pub mod notices;
pub mod package;
pub mod progress;
pub mod project;
pub mod run;
pub mod sanitize;
pub mod suites;
pub mod trial;
pub mod valgrind;
pub mod workspace;
