//! Godot for the web, compiled from Debian's source, in Debian's Chromium.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use super::compile;
use super::engine::{self, RANDOM};
use super::table::Platform;
use super::toolchain::Toolchain;
use crate::debian::TESTING;
use crate::export;
use crate::godot;
use crate::judge::{self, Tally};
use crate::library;
use crate::project;
use crate::run::{self, Echo};
use crate::suites;

const PACKAGES: [&str; 2] = ["chromium", "zip"];
/// Without optimisation, its functions would not fit on a browser's stack.
const OPTIONS: [&str; 5] =
    ["optimize=size", "target=template_debug", "platform=web", "dlink_enabled=yes", "lto=none"];
const SERVER: &str = include_str!("../../platforms/browser.mjs");
const SHELL: &str = include_str!("../../platforms/shell.html");
/// Itself, without the shell script that starts it.
const BROWSER: &str = "/usr/lib/chromium/chromium";
/// Without a window, and without looking for the network.
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
const LIMIT: Duration = Duration::from_secs(3600);

/// The suites in an exported game, and the engine's version.
pub fn conformance(
    toolchain: &Toolchain<'_>,
    platform: &Platform,
    library: &Path,
) -> Result<(String, Tally)> {
    toolchain.room.add(&toolchain.machine, TESTING, "a browser", &PACKAGES)?;
    let (threads, kind) =
        if platform.no_threads { ("threads=no", ".nothreads") } else { ("threads=yes", "") };
    let options = [OPTIONS.as_slice(), &[threads]].concat();
    let template = format!("godot.web.template_debug.wasm32{kind}.dlink.zip");
    let [template] = compile::engine(toolchain, platform.name, &options, [&template])?;

    let folder =
        project::copied_with(toolchain.workspace, |addon| library::put(library, &platform.build(), addon))?;
    fs::write(folder.path().join("shell.html"), SHELL)?;
    let godot = godot::find_or_install(toolchain.workspace)?;
    suites::make_game(folder.path())?;
    engine::for_small_engine(folder.path())?;
    let project = suites::bundled(toolchain.workspace, &godot, folder.path())?;
    let page = export::page(&project, folder.path(), &template, !platform.no_threads)?;
    let page = page.parent().context("the page lies in a folder")?;

    let server = toolchain.folder("browser.mjs");
    fs::write(&server, SERVER)?;
    let threads = !platform.no_threads;
    let names: Vec<_> = engine::SUITES.into_iter().filter(|&name| threads || name != "threads").collect();
    let tally = engine::each(platform, &names, |only| {
        let mut node = toolchain.command("node");
        node.arg(&server).arg(page).arg(format!("--random {RANDOM} --only {only}"));
        node.arg(BROWSER).args(CHROMIUM);
        let outcome = run::watch(&mut node, Echo::Nothing, LIMIT)?;
        judge::suite(&outcome).with_context(|| format!("the page printed:\n{}", outcome.log))
    })?;
    Ok((godot.version, tally))
}
