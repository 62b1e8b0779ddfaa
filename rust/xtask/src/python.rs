//! Finds or installs a Python with the official protobuf implementation, the reference for the tests.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::debian;
use crate::progress::Progress;
use crate::run;
use crate::workspace::Workspace;

/// The minor versions of Python 3 that the pinned packages support.
const MINORS: std::ops::RangeInclusive<u32> = 10..=15;
/// The packages to unpack if the machine has no suitable Python.
const PACKAGES: [&str; 2] = ["python3", "python3-pip"];
const REQUIREMENTS: &str = "tests/protobuf/requirements.txt";
const ADVICE: &str = "Install Python 3.10 to 3.15 with pip, and put it on PATH as `python3`.";

pub struct Python {
    pub program: PathBuf,
    pub packages: PathBuf,
}

/// Finds `python3` or `python` on PATH, or installs Debian's Python under `target/`. Installs the packages of
/// `tests/protobuf/requirements.txt` under `target/`, unless they are installed.
pub fn find_or_install(workspace: &Workspace) -> Result<Python> {
    let folder = workspace.tools();
    fs::create_dir_all(&folder)?;
    // Concurrent runs must not install into the same folder.
    let lock = File::create(folder.join("python.lock"))?;
    lock.lock().context("cannot lock the folder for Python")?;

    let (program, version) = match on_path() {
        Some(found) => found,
        None => private(&folder.join("python")).context(ADVICE)?,
    };
    let packages = folder.join(format!("python{version}-packages"));
    let python = Python { program, packages };
    install_packages(&python, &workspace.root.join(REQUIREMENTS))?;
    Ok(python)
}

fn on_path() -> Option<(PathBuf, String)> {
    ["python3", "python"].iter().find_map(|name| {
        let program = which::which(name).ok()?;
        match version(&program) {
            Ok(version) => Some((program, version)),
            Err(reason) => {
                eprintln!("   passing over {}: {reason:#}", program.display());
                None
            }
        }
    })
}

/// The version of the interpreter. Fails unless the interpreter starts, has pip, and is supported by the
/// packages.
fn version(program: &Path) -> Result<String> {
    let question = "import pip, sys; print('%d.%d' % sys.version_info[:2])";
    let version = run::read(Command::new(program).args(["-c", question]))?.trim().to_owned();
    match version.strip_prefix("3.").and_then(|minor| minor.parse().ok()) {
        Some(minor) if MINORS.contains(&minor) => Ok(version),
        _ => bail!("there are no packages for Python {version}"),
    }
}

/// Debian's Python, unpacked in `home` on first use.
fn private(home: &Path) -> Result<(PathBuf, String)> {
    let machine = debian::machine().filter(|_| cfg!(all(target_os = "linux", target_arch = "x86_64")));
    let machine = machine.context("no Python of this machine serves")?;
    machine.install_once(debian::TESTING, "Python", &PACKAGES, home)?;
    let program = debian::script(home, "usr/bin/python3", "python3")?;
    let version = version(&program)?;
    Ok((program, version))
}

/// Installs the packages that `requirements` pins, unless the folder was made from the same file.
fn install_packages(python: &Python, requirements: &Path) -> Result<()> {
    let wanted = fs::read(requirements)?;
    // The stamp is written last, so that an interrupted install is never mistaken for a finished install.
    let stamp = python.packages.join("requirements.txt");
    if fs::read(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    if python.packages.is_dir() {
        fs::remove_dir_all(&python.packages)?;
    }
    let step = Progress::spinner("downloading the official protobuf and its compiler from PyPI");
    let mut pip = Command::new(&python.program);
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes"]);
    pip.arg("--target").arg(&python.packages).arg("--requirement").arg(requirements);
    run::read(&mut pip).context("cannot install the official protobuf; is the network up?")?;
    fs::write(stamp, wanted)?;
    step.done();
    Ok(())
}
