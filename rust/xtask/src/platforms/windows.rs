//! Runs Godot for Windows, compiled from Debian's source, under wine.

use std::path::Path;

use anyhow::Result;

use super::compile;
use super::engine;
use super::table::Platform;
use super::toolchain::Toolchain;
use super::wine::Wine;
use crate::judge::Tally;
use crate::run;

const OPTIONS: [&str; 7] = [
    "target=template_debug",
    "optimize=none",
    "platform=windows",
    "arch=x86_64",
    "use_mingw=yes",
    "d3d12=no",
    "windows_subsystem=console",
];
/// The stack size, which overrides the build system's. An unoptimised engine uses 100 KiB of stack for each
/// call of a script function.
const STACK: &str = "--stack=268435456";
const PROGRAM: &str = "godot.windows.template_debug.x86_64.exe";

/// Runs the suites in Godot for Windows. Returns the engine's version and the tally.
pub fn conformance(
    toolchain: &Toolchain<'_>,
    platform: &Platform,
    library: &Path,
) -> Result<(String, Tally)> {
    for tool in ["g++", "gcc", "gcc-ar", "gcc-ranlib"] {
        let name = format!("x86_64-w64-mingw32-{tool}");
        toolchain.sandbox.alternative(&name, &format!("{name}-posix"))?;
    }
    let [program] = compile::engine(toolchain, platform.name, &OPTIONS, [PROGRAM])?;
    let with_stack = toolchain.folder("godot-windows.exe");
    let mut objcopy = toolchain.command("x86_64-w64-mingw32-objcopy");
    run::read(objcopy.arg(STACK).arg(&program).arg(&with_stack))?;
    let wine = Wine::open(toolchain)?;
    let godot = engine::started(toolchain, "godot-windows.sh", &wine.command(&with_stack))?;
    let tally = engine::suites(toolchain, platform, &godot, library)?;
    Ok((godot.version, tally))
}
