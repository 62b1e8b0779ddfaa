//! Runs the extension of `tests/misuse` in the engine. The extension is safe code that misuses `rust/engine`.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX, OS};
use std::fs;
use std::time::Duration;

use anyhow::Result;

use crate::build;
use crate::godot::Godot;
use crate::judge::{self, Tally};
use crate::project::Project;
use crate::run::{self, Echo};
use crate::workspace::Workspace;

const LIMIT: Duration = Duration::from_secs(300);
/// The environment variable that restricts the extension to the engine's documented functions.
/// `tests/misuse/src/lib.rs` reads it.
const PORTABLE: &str = "MISUSE_PORTABLE";

/// Runs all cases with direct access and with portable access.
pub fn run(workspace: &Workspace, godot: &Godot) -> Result<Tally> {
    let mut cargo = workspace.cargo();
    // Builds with the same features as other steps, so that nothing is compiled twice.
    build::choose_among_tests(cargo.arg("build"), &build::with_faults());
    run::through(&mut cargo)?;
    let sources = workspace.root.join("tests/misuse");
    let folder = tempfile::Builder::new().prefix("misuse-").tempdir_in(&workspace.target)?;
    for file in ["project.godot", "main.gd"] {
        fs::copy(sources.join(file), folder.path().join(file))?;
    }
    let library = format!("{DLL_PREFIX}misuse{DLL_SUFFIX}");
    fs::copy(workspace.target.join("debug").join(&library), folder.path().join(&library))?;
    let extension = format!(
        "[configuration]\nentry_symbol = \"gdext_rust_init\"\ncompatibility_minimum = 4.4\n\n\
         [libraries]\n{OS} = \"res://{library}\"\n"
    );
    fs::write(folder.path().join("misuse.gdextension"), extension)?;
    fs::create_dir(folder.path().join(".godot"))?;
    fs::write(folder.path().join(".godot/extension_list.cfg"), "res://misuse.gdextension\n")?;
    let project = Project::new(workspace, godot, folder.path())?;
    let mut all = Tally::default();
    for portable in [false, true] {
        let mut command = project.script("res://main.gd", &[]);
        if portable {
            command.env(PORTABLE, "1");
        }
        all = all + judge::suite(&run::watch(&mut command, Echo::All, LIMIT)?)?;
    }
    Ok(all)
}
