//! Runs Windows programs under wine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::toolchain::Toolchain;
use crate::debian::STABLE;
use crate::run::{self, Echo};
use crate::sandbox::Sandbox;

/// Wine, from the stable suite because the testing suite lacks it; the zlib that wine's libraries need, which
/// Debian installs outside wine's folder; and a locale that allows any file name.
const PACKAGES: [&str; 4] = ["libc-bin", "libwine", "libz-mingw-w64", "wine64"];
const ZLIB: &str = "usr/x86_64-w64-mingw32/lib/zlib1.dll";
const OWN_LIBRARIES: &str = "usr/lib/x86_64-linux-gnu/wine/x86_64-windows";
const PROGRAM: &str = "/usr/lib/wine/wine64";
const LIMIT: Duration = Duration::from_secs(600);

/// Wine with its own drive C.
pub struct Wine<'a> {
    toolchain: &'a Toolchain<'a>,
    sandbox: Sandbox,
    prefix: PathBuf,
}

impl<'a> Wine<'a> {
    pub fn open(toolchain: &'a Toolchain<'a>) -> Result<Self> {
        let sandbox =
            Sandbox::open(&toolchain.machine, &toolchain.workspace.tools(), &toolchain.folder("wine"))?;
        sandbox.add(&toolchain.machine, STABLE, "wine", &PACKAGES)?;
        let own = sandbox.root().join(OWN_LIBRARIES);
        fs::copy(sandbox.root().join(ZLIB), own.join("zlib1.dll")).context("wine has no zlib")?;
        // Debian's script `wineserver` finds its folder through /etc/alternatives.
        let server = sandbox.root().join("usr/lib/wine/wineserver");
        fs::copy(sandbox.root().join("usr/lib/wine/wineserver64"), &server)?;
        let prefix = toolchain.folder("drive");
        fs::create_dir_all(&prefix)?;
        let wine = Self { toolchain, sandbox, prefix };
        // Ignores the exit code: it reports a failure because Debian's 64-bit packages lack a 32-bit
        // program.
        let is_made = || wine.prefix.join("drive_c/windows/system32/kernel32.dll").is_file();
        if !is_made() {
            let boot = run::watch(wine.bare().args(["wineboot", "--init"]), Echo::Nothing, LIMIT)?;
            ensure!(is_made(), "wine does not start:\n{}", boot.log);
        }
        let system = wine.prefix.join("drive_c/windows/system32/zlib1.dll");
        fs::copy(wine.sandbox.root().join(ZLIB), system).context("wine has no zlib")?;
        Ok(wine)
    }

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
