//! A root folder of Debian's packages, in which programs run as on a Debian machine.
//!
//! Cross compilers, wine and emscripten contain absolute paths, so they cannot run from another folder.
//! `bubblewrap` makes the sandbox the root of one command. Nothing is installed system-wide. Root is not
//! needed if the system allows user namespaces.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::debian::{Machine, TESTING, root, script};
use crate::run;

/// Debian's folders that moved into `usr`; packages still use the old paths.
const MOVED: [&str; 4] = ["bin", "lib", "lib64", "sbin"];
/// Files that a sandbox shares with the machine: names of users and hosts, and certificates.
const SHARED: [&str; 6] =
    ["/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/etc/passwd", "/etc/resolv.conf", "/etc/ssl/certs"];
/// Prefixes of the variables that configure network access.
const NETWORK: [&str; 5] = ["CARGO_HTTP_", "CARGO_NET_", "CARGO_SOURCE_", "PIP_", "SSL_CERT_"];
/// The file that lists the packages in a sandbox, one per line.
const LIST: &str = "packages";

/// A root folder, and the program that enters it.
#[derive(Clone)]
pub struct Sandbox {
    home: PathBuf,
    bubblewrap: PathBuf,
}

impl Sandbox {
    /// The sandbox in the folder `home`, created if needed. bubblewrap is unpacked in `tools`.
    ///
    /// # Errors
    /// Fails with a one-line error if this machine has no bubblewrap or does not allow it to run.
    pub fn open(machine: &Machine, tools: &Path, home: &Path) -> Result<Self> {
        let bubblewrap = bubblewrap(machine, tools)?;
        let root = root(home);
        for name in MOVED {
            fs::create_dir_all(root.join("usr").join(name))?;
            link(&Path::new("usr").join(name), &root.join(name))?;
        }
        for name in ["etc/ssl/certs", "dev", "proc", "tmp", "run"] {
            fs::create_dir_all(root.join(name))?;
        }
        Ok(Self { home: home.to_owned(), bubblewrap })
    }

    /// Adds packages and their dependencies, unless they are installed.
    pub fn add(&self, machine: &Machine, suite: &str, what: &str, packages: &[&str]) -> Result<()> {
        let list = self.home.join(LIST);
        let mut held: BTreeSet<String> = match fs::read_to_string(&list) {
            Ok(text) => text.lines().map(str::to_owned).collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeSet::new(),
            Err(error) => return Err(error).context("cannot read what the sandbox holds"),
        };
        let missing: Vec<&str> = packages.iter().filter(|name| !held.contains(**name)).copied().collect();
        if missing.is_empty() {
            return Ok(());
        }
        machine.install(suite, what, &missing, &self.home)?;
        held.extend(missing.iter().map(|name| (*name).to_owned()));
        let lines: Vec<_> = held.into_iter().collect();
        Ok(fs::write(&list, lines.join("\n"))?)
    }

    /// Gives a program of `usr/bin` another name, as Debian's alternatives do when packages are configured.
    ///
    /// # Errors
    /// Fails if the link cannot be made.
    pub fn alternative(&self, name: &str, program: &str) -> Result<()> {
        link(Path::new(program), &self.root().join("usr/bin").join(name))
    }

    /// The root folder, as seen from outside.
    pub fn root(&self) -> PathBuf {
        root(&self.home)
    }

    /// A command that runs a program of the sandbox. The program can read and write the folders `open`, at
    /// their own paths.
    pub fn command(&self, program: &str, open: &[&Path]) -> Command {
        let mut command = Command::new(&self.bubblewrap);
        command.arg("--bind").arg(self.root()).arg("/");
        command.args(["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]);
        // Ends background processes together with the program. Otherwise, wine's server would keep the
        // program's output open.
        command.args(["--unshare-pid", "--die-with-parent"]);
        for file in SHARED {
            command.args(["--ro-bind-try", file, file]);
        }
        for folder in open {
            command.arg("--bind").arg(folder).arg(folder);
        }
        command.arg("--").arg(program);
        command.env_clear().envs(env::vars_os().filter(|(name, _)| {
            let name = name.to_string_lossy();
            name.to_lowercase().ends_with("_proxy") || NETWORK.iter().any(|start| name.starts_with(start))
        }));
        command.env("PATH", "/usr/bin:/usr/sbin:/usr/games").env("LANG", "C.UTF-8").env("HOME", "/tmp");
        command
    }
}

/// Writes a script that runs this command with the script's arguments and environment.
///
/// # Errors
/// Fails if the script cannot be written.
pub fn starter(command: &Command, at: &Path) -> Result<()> {
    let quoted = |text: &OsStr| format!("'{}'", text.to_string_lossy().replace('\'', "'\\''"));
    let words: Vec<_> =
        std::iter::once(command.get_program()).chain(command.get_args()).map(quoted).collect();
    let variables: String = command
        .get_envs()
        .filter_map(|(name, value)| Some(format!("export {}={}\n", name.to_string_lossy(), quoted(value?))))
        .collect();
    executable(at, &format!("#!/bin/sh\n{variables}exec {} \"$@\"\n", words.join(" ")))
}

/// Writes a script.
///
/// # Errors
/// Fails if the script cannot be written.
pub fn executable(at: &Path, text: &str) -> Result<()> {
    fs::write(at, text)?;
    #[cfg(unix)]
    fs::set_permissions(at, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    Ok(())
}

/// Finds the machine's bubblewrap or installs Debian's, and checks that it works.
fn bubblewrap(machine: &Machine, tools: &Path) -> Result<PathBuf> {
    let program = match which::which("bwrap") {
        Ok(program) => program,
        Err(_) => {
            let home = tools.join("bubblewrap");
            machine.install_once(TESTING, "bubblewrap", &["bubblewrap"], &home)?;
            script(&home, "usr/bin/bwrap", "bwrap")?
        }
    };
    run::read(Command::new(&program).args(["--ro-bind", "/", "/", "true"]))
        .context("bubblewrap cannot make a sandbox here: does the system allow user namespaces?")?;
    Ok(program)
}

fn link(to: &Path, from: &Path) -> Result<()> {
    #[cfg(unix)]
    match std::os::unix::fs::symlink(to, from) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(error).with_context(|| format!("cannot link {}", from.display()))
        }
        _ => Ok(()),
    }
    #[cfg(not(unix))]
    anyhow::bail!("a sandbox needs Linux: {} cannot lead to {}", from.display(), to.display())
}
