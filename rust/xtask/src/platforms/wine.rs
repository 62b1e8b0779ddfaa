//! Windows programs under wine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::toolchain::Toolchain;
use crate::debian::STABLE;
use crate::run::{self, Echo};
use crate::sandbox::Sandbox;

/// Wine, which testing does not have, the zlib that its own libraries are linked with, which Debian has in another place, and a locale with which
/// files can have any name.
const PACKAGES: [&str; 4] = ["libc-bin", "libwine", "libz-mingw-w64", "wine64"];
const ZLIB: &str = "usr/x86_64-w64-mingw32/lib/zlib1.dll";
const OWN_LIBRARIES: &str = "usr/lib/x86_64-linux-gnu/wine/x86_64-windows";
const PROGRAM: &str = "/usr/lib/wine/wine64";
/// Loads a library and calls its entry symbol without any functions of an engine.
const HOST: &str = include_str!("../../platforms/host.c");
const LIMIT: Duration = Duration::from_secs(600);

/// Wine, and a drive C of its own.
pub struct Wine<'a> {
    toolchain: &'a Toolchain<'a>,
    sandbox: Sandbox,
    prefix: PathBuf,
}

impl<'a> Wine<'a> {
    /// Installs it, unless it is there.
    pub fn open(toolchain: &'a Toolchain<'a>) -> Result<Self> {
        let sandbox =
            Sandbox::open(&toolchain.machine, &toolchain.workspace.tools(), &toolchain.folder("wine"))?;
        sandbox.add(&toolchain.machine, STABLE, "wine", &PACKAGES)?;
        let own = sandbox.root().join(OWN_LIBRARIES);
        fs::copy(sandbox.root().join(ZLIB), own.join("zlib1.dll")).context("wine has no zlib")?;
        // Debian's script of that name looks for its folder by way of /etc/alternatives.
        let server = sandbox.root().join("usr/lib/wine/wineserver");
        fs::copy(sandbox.root().join("usr/lib/wine/wineserver64"), &server)?;
        let prefix = toolchain.folder("drive");
        fs::create_dir_all(&prefix)?;
        let wine = Self { toolchain, sandbox, prefix };
        // Its exit code is that of a 32-bit program, which Debian's 64-bit packages do not have.
        let is_made = || wine.prefix.join("drive_c/windows/system32/kernel32.dll").is_file();
        if !is_made() {
            let boot = run::watch(wine.bare().args(["wineboot", "--init"]), Echo::Nothing, LIMIT)?;
            ensure!(is_made(), "wine does not start:\n{}", boot.log);
        }
        let system = wine.prefix.join("drive_c/windows/system32/zlib1.dll");
        fs::copy(wine.sandbox.root().join(ZLIB), system).context("wine has no zlib")?;
        Ok(wine)
    }

    /// Runs a Windows program.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = self.bare();
        command.arg(program);
        command
    }

    fn bare(&self) -> Command {
        let open = [self.toolchain.workspace.root.as_path(), &self.toolchain.workspace.target];
        let mut command = self.sandbox.command(PROGRAM, &open);
        command.env("WINEPREFIX", &self.prefix).env("WINEDEBUG", "-all").env("HOME", &self.prefix);
        command.env("XDG_RUNTIME_DIR", "/tmp");
        command.current_dir(&self.toolchain.workspace.root);
        command
    }
}

/// Loads the library in a Windows program, which finds its entry symbol.
pub fn start(toolchain: &Toolchain<'_>, library: &Path) -> Result<()> {
    let folder = toolchain.folder("host");
    fs::create_dir_all(&folder)?;
    let (source, program) = (folder.join("host.c"), folder.join("host.exe"));
    fs::write(&source, HOST)?;
    let mut compiler = toolchain.command("x86_64-w64-mingw32-gcc-posix");
    run::read(compiler.arg("-o").arg(&program).arg(&source))?;
    let wine = Wine::open(toolchain)?;
    let outcome = run::watch(wine.command(&program).arg(library), Echo::Nothing, LIMIT)?;
    ensure!(outcome.code() == Some(0), "the library does not load:\n{}", outcome.log);
    Ok(())
}
