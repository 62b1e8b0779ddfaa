//! Runs Godot for the web, compiled from Debian's source, in Debian's Chromium.

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::compile;
use super::engine::{self, RANDOM};
use super::table::Platform;
use super::toolchain::Toolchain;
use crate::document;
use crate::export;
use crate::godot;
use crate::judge::{self, Tally};
use crate::run::{self, Echo};
use crate::suite;

/// The build options of the engine. With size optimisation, the engine's functions fit on a browser's stack.
const OPTIONS: [&str; 5] =
    ["optimize=size", "target=template_debug", "platform=web", "dlink_enabled=yes", "lto=none"];
const SERVER: &str = include_str!("../../platforms/browser.mjs");
const SHELL: &str = include_str!("../../platforms/shell.html");
/// The binary, not Debian's wrapper script.
const BROWSER: &str = "/usr/lib/chromium/chromium";
/// Options for a browser without a window and without network access.
const CHROMIUM: [&str; 11] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-proxy-server",
    "--user-data-dir=/tmp/chromium",
];
const LIMIT: Duration = Duration::from_secs(900);

/// Runs the suites in an exported game. Returns the engine's version and the tally.
pub fn conformance(
    toolchain: &Toolchain<'_>,
    platform: &Platform,
    library: &Path,
) -> Result<(String, Tally)> {
    let (threads, kind) =
        if platform.no_threads { ("threads=no", ".nothreads") } else { ("threads=yes", "") };
    let options = [OPTIONS.as_slice(), &[threads]].concat();
    let template = format!("godot.web.template_debug.wasm32{kind}.dlink.zip");
    let [template] = compile::engine(toolchain, platform.name, &options, [&template])?;

    let game = Game { toolchain, platform, library, template };
    let suites = game.export(suite::RUNNER)?;
    let threads = !platform.no_threads;
    let names = engine::SUITES.into_iter().filter(|&name| threads || name != "threads");
    let names: Vec<_> = names.chain(["hostile"]).collect();
    let version = OnceCell::new();
    let tally = engine::each(platform, &names, |only| {
        let mut browser = game.opened(suites.path(), &format!("--random {RANDOM} --only {only}"))?;
        let outcome = run::watch(&mut browser, Echo::Nothing, LIMIT)?;
        if let Some(said) = version_in(&outcome.log) {
            version.get_or_init(|| said.to_owned());
        }
        judge::suite(&outcome).with_context(|| format!("the page printed:\n{}", outcome.log))
    })?;

    let panics = game.export(suite::PANICS)?;
    set_variable(panics.path(), suite::PANIC_VARIABLE, "nowhere")?;
    let panics = suite::announced(&mut game.opened(panics.path(), "")?)?;
    println!("{}, panics: {panics}", platform.name);
    Ok((version.into_inner().context("no suite's log contains the engine's version")?, tally + panics))
}

/// The version in the engine's first line.
fn version_in(log: &str) -> Option<&str> {
    log.lines().find_map(|line| line.strip_prefix("Godot Engine v")?.split(' ').next())
}

struct Game<'a> {
    toolchain: &'a Toolchain<'a>,
    platform: &'a Platform,
    library: &'a Path,
    template: PathBuf,
}

impl Game<'_> {
    /// Exports a copy of the project with this script as its main loop.
    fn export(&self, script: &str) -> Result<TempDir> {
        let Self { toolchain, platform, .. } = self;
        let folder = engine::exportable(toolchain, platform, self.library)?;
        fs::write(folder.path().join("shell.html"), SHELL)?;
        suite::make_game(folder.path(), script)?;
        engine::for_small_engine(folder.path())?;
        let godot = godot::find_or_install(toolchain.workspace)?;
        let project = suite::bundled(toolchain.workspace, &godot, folder.path())?;
        export::page(&project, folder.path(), &self.template, !platform.no_threads)?;
        if !platform.no_threads {
            mend_threads(folder.path())?;
        }
        Ok(folder)
    }

    /// The command that opens an exported page with these arguments for the game.
    fn opened(&self, folder: &Path, arguments: &str) -> Result<Command> {
        let server = self.toolchain.folder("browser.mjs");
        fs::write(&server, SERVER)?;
        let mut node = self.toolchain.command("node");
        node.arg(&server).arg(folder.join(export::FOLDER)).arg(arguments).arg(BROWSER).args(CHROMIUM);
        Ok(node)
    }
}

/// Sets an environment variable in an exported game.
fn set_variable(folder: &Path, name: &str, value: &str) -> Result<()> {
    let first = "USER:\"web_user\"";
    document::replace_once(&script(folder), first, &format!("{name}:\"{value}\",{first}"))
}

/// Patches a bug of emscripten 6.0.5: a thread uses its memory object before that object exists, and ends.
fn mend_threads(folder: &Path) -> Result<()> {
    let looks = "function growMemViews(){if(wasmMemory";
    document::replace_once(&script(folder), looks, &format!("{looks}&&wasmMemory"))
}

fn script(folder: &Path) -> PathBuf {
    folder.join(export::FOLDER).join("index.js")
}
