//! `cargo xtask definitions`: tests the format's definitions for other tools, using the engine's bytes.

use std::env;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::run::{self, Echo};
use crate::workflows;
use crate::workspace::Workspace;

/// The pinned packages that read `godot_variant.ksy`.
const KAITAI: [(&str, &str); 3] =
    [("kaitai-struct-compiler", "0.11.0"), ("kaitai-struct", "0.11.0"), ("js-yaml", "4.1.0")];
const VECTORS: &str = "tests/vectors/godot4.tsv";
const LIMIT: Duration = Duration::from_secs(600);
const ADVICE: &str =
    "Install Node.js with npm, Python and tshark; on Debian: apt-get install nodejs npm python3 tshark.";

/// Runs the Kaitai Struct definition and the Wireshark dissector on the vectors, on damaged vectors, and on a
/// recorded exchange of two Godot processes. Installs Kaitai's compiler under `target/`.
pub fn run(workspace: &Workspace) -> Result<()> {
    for tool in ["node", "npm", "python3", "tshark"] {
        which::which(tool).with_context(|| format!("{tool} is missing. {ADVICE}"))?;
    }
    let packages = KAITAI.map(|(name, version)| workflows::install(workspace, name, version));
    let packages = packages.into_iter().collect::<Result<Vec<_>>>()?;
    let packages = env::join_paths(packages.iter().filter_map(|folder| folder.parent()))?;
    let vectors = workspace.root.join(VECTORS);
    for (program, test) in [("node", "kaitai.mjs"), ("python3", "wireshark.py")] {
        println!("{test}:");
        let mut command = Command::new(program);
        command.arg(workspace.root.join("tests/definitions").join(test)).arg(&vectors);
        command.env("NODE_PATH", &packages);
        let outcome = run::watch(&mut command, Echo::All, LIMIT)?;
        ensure!(outcome.code() == Some(0), "{test} fails");
    }
    Ok(())
}
