//! `cargo xtask accept`: rewrites the generated files of the repository.

use std::path::Path;

use anyhow::Result;

use crate::build::{self, Build};
use crate::godot::{self, Godot};
use crate::godot3;
use crate::run;
use crate::suite;
use crate::workspace::Workspace;

/// The files to rewrite.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Files to rewrite [default: all]
    #[arg(value_name = "WHAT")]
    what: Vec<What>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum What {
    /// tests/vectors/godot4.tsv: bytes that Godot 4 writes and reads
    Vectors,
    /// tests/vectors/godot3.tsv: bytes that Godot 3 writes and reads
    Godot3,
    /// tests/vectors/wrapped.tsv: the compressed and encrypted files of Godot 4
    Wrapped,
    /// tests/vectors/serde.tsv: bytes that Godot 4 writes for types of Rust programs
    Serde,
    /// The generated tables in docs/security.md
    Pages,
}

pub fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let has = |what| options.what.is_empty() || options.what.contains(&what);
    let file = |name: &str| workspace.root.join("tests/vectors").join(name);
    if [What::Vectors, What::Wrapped, What::Serde].into_iter().any(has) {
        let godot = godot::find_or_install(workspace)?;
        build::build(workspace, &Build::default())?;
        let write = |script: &str, name: &str, write: Write| -> Result<()> {
            let lines = write(workspace, &godot, &file(name))?;
            println!("{script}: {lines} lines in tests/vectors/{name}");
            Ok(())
        };
        if has(What::Vectors) {
            write("Godot 4", "godot4.tsv", suite::write_vectors)?;
        }
        if has(What::Wrapped) {
            write("Godot 4's files", "wrapped.tsv", suite::write_wrapped_vectors)?;
        }
        if has(What::Serde) {
            write("types of Rust programs", "serde.tsv", suite::write_serde_vectors)?;
        }
    }
    if has(What::Godot3) {
        let lines = godot3::vectors::write(workspace, &file("godot3.tsv"))?;
        println!("Godot 3: {lines} lines in tests/vectors/godot3.tsv");
    }
    if has(What::Pages) {
        run::through(workspace.cargo().args(PAGES).env("ACCEPT", "1"))?;
        println!("generated pages: written");
    }
    Ok(())
}

type Write = fn(&Workspace, &Godot, &Path) -> Result<usize>;

/// Cargo's arguments for the test that checks the generated tables and, if `ACCEPT` is set, writes them.
const PAGES: [&str; 5] = ["test", "--quiet", "--package", "conformance", "pages::"];
