//! Programs that a few chores need beside Cargo, installed under `target/` when they are first asked for.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::debian;
use crate::run;
use crate::workspace::Workspace;

/// A program from crates.io that has the same name as its package.
pub fn from_crate(workspace: &Workspace, package: &str, version: &str) -> Result<PathBuf> {
    let folder = workspace.tools();
    let program = folder.join("bin").join(package).with_extension(env::consts::EXE_EXTENSION);
    if !program.is_file() {
        eprintln!("   compiling {package} {version} ...");
    }
    // Does nothing where that version is installed already.
    let mut cargo = workspace.cargo();
    cargo.args(["install", "--quiet", "--locked", "--root"]).arg(&folder);
    cargo.arg(format!("{package}@{version}"));
    run::through(&mut cargo)?;
    Ok(program)
}

/// The programs that read what rustc's instrumentation wrote. They must be as new as the LLVM inside of rustc.
pub struct Llvm {
    /// `llvm-cov`.
    pub cov: PathBuf,
    /// `llvm-profdata`.
    pub profdata: PathBuf,
}

/// rustup's component where it is installed, else Debian's package of the same LLVM.
pub fn llvm(workspace: &Workspace) -> Result<Llvm> {
    let about = run::read(Command::new("rustc").arg("-vV"))?;
    let line = |name| about.lines().find_map(|line| line.strip_prefix(name)).context("rustc without LLVM");
    let (host, version) = (line("host: ")?, line("LLVM version: ")?);
    let sysroot = run::read(Command::new("rustc").args(["--print", "sysroot"]))?;
    let component = PathBuf::from(sysroot.trim()).join("lib/rustlib").join(host).join("bin");
    let program = |name: &str| component.join(name).with_extension(env::consts::EXE_EXTENSION);
    let found = Llvm { cov: program("llvm-cov"), profdata: program("llvm-profdata") };
    if found.cov.is_file() && found.profdata.is_file() {
        return Ok(found);
    }
    let major = version.split('.').next().unwrap_or(version);
    match debian::machine() {
        Some(machine) if cfg!(all(target_os = "linux", target_arch = "x86_64")) => {
            from_debian(workspace, &machine, &format!("llvm-{major}"))
        }
        _ => bail!("rustc has no llvm-cov: `rustup component add llvm-tools` installs it"),
    }
}

fn from_debian(workspace: &Workspace, machine: &debian::Machine, package: &str) -> Result<Llvm> {
    let home = workspace.tools().join(package);
    machine.install_once(debian::TESTING, package, &[package], &home)?;
    let program = |name: &str| debian::script(&home, &format!("usr/lib/{package}/bin/{name}"), name);
    Ok(Llvm { cov: program("llvm-cov")?, profdata: program("llvm-profdata")? })
}
