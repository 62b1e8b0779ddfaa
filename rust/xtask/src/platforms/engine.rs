//! Debian's Godot for another machine, under emulation.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::table::{Platform, Runner};
use super::toolchain::Toolchain;
use crate::debian::TESTING;
use crate::godot::{self, Godot};
use crate::judge::{self, Tally};
use crate::project;
use crate::room::starter;
use crate::run::{self, Echo};
use crate::suites::{self, Access, Conformance};

/// Random values for each run: emulation is some twenty times slower.
const RANDOM: u64 = 500;
/// All suites but `hostile`, which repeats for thousands of packets what `random` does, and takes most of an hour here.
const SUITES: [&str; 19] = [
    "surface",
    "report",
    "values",
    "rows",
    "batches",
    "large",
    "threads",
    "objects",
    "outlines",
    "files",
    "jobs",
    "ownership",
    "messages",
    "dialects",
    "conversions",
    "limits",
    "faults",
    "quirks",
    "random",
];
/// Once more, on the other access path and with another number of threads.
const AGAIN: [&str; 5] = ["values", "batches", "large", "files", "jobs"];
const LIMIT: Duration = Duration::from_secs(3600);

/// The suites in the engine for a platform, and in an exported game; with the engine's version.
pub fn conformance(
    toolchain: &Toolchain<'_>,
    platform: &Platform,
    architecture: &str,
    library: &Path,
) -> Result<(String, Tally)> {
    let Runner::Qemu(emulator) = platform.runner else { anyhow::bail!("no emulator for {}", platform.name) };
    let emulated = Emulated { toolchain, emulator };
    let godot = emulated.install(architecture)?;
    let folder = project::copied_with(toolchain.workspace, |addon| {
        crate::library::put(library, &platform.build(), addon)
    })?;
    let project = suites::bundled(toolchain.workspace, &godot, folder.path())?;
    let mut total = Tally::default();
    let one = Access { threads: Some(1), portable: true, ..Access::default() };
    let two = Access { threads: Some(2), ..Access::default() };
    for (access, names) in [(two, SUITES.as_slice()), (one, &AGAIN)] {
        for only in names {
            let choices =
                Conformance { access, random: Some(RANDOM), only: Some((*only).to_owned()), seed: None };
            let tally = suites::in_project(&project, &choices, LIMIT).with_context(|| (*only).to_owned())?;
            println!("{}, suite {only}, {access:?}: {tally}", platform.name);
            total = total + tally;
        }
    }
    if let Some(template) = &godot.template_release {
        // The editor of this machine exports; the game runs on the other.
        let own = godot::find_or_install(toolchain.workspace)?;
        let game = suites::exported_game(toolchain.workspace, &own, folder.path(), template, architecture)?;
        let mut command = suites::bundled(toolchain.workspace, &own, folder.path())?.engine(Path::new("sh"));
        let start = folder.path().join("start.sh");
        starter(emulated.command(&game).arg("--headless"), &start)?;
        command.arg(&start);
        let tally = judge::suite(&run::watch(&mut command, Echo::Nothing, LIMIT)?)?;
        println!("{}, exported game: {tally}", platform.name);
        total = total + tally;
    }
    Ok((godot.version, total))
}

struct Emulated<'a> {
    toolchain: &'a Toolchain<'a>,
    emulator: &'static str,
}

impl Emulated<'_> {
    /// The engine of this architecture.
    fn install(&self, architecture: &str) -> Result<Godot> {
        let Toolchain { machine, room, .. } = self.toolchain;
        let [editor, template] =
            ["godot", "godot-template-release"].map(|name| format!("{name}:{architecture}"));
        // The suite `files` makes pipes and links with programs of the machine.
        let packages = [&*editor, &*template, "coreutils", "dash"];
        room.add(machine, TESTING, &format!("Godot for {architecture}"), &packages)?;
        let editor = self.toolchain.folder(&format!("godot-{architecture}.sh"));
        starter(&self.command(Path::new("/usr/bin/godot")), &editor)?;
        let template = room.root().join("usr/bin/godot-template-release");
        Ok(Godot {
            version: godot::version(&editor)?,
            editor,
            template_release: template.is_file().then_some(template),
            template_debug: None,
        })
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = self.toolchain.command(self.emulator);
        command.arg(program);
        command
    }
}
