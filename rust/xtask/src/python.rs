//! Finds or installs a Python with the packages that tests need: the official protobuf implementation, or those for our
//! own package.

use std::fs::{self, File};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::debian;
use crate::progress::Progress;
use crate::run;
use crate::workspace::Workspace;

/// Pinned packages.
pub struct Requirements {
    /// The file that pins them.
    file: &'static str,
    /// The folder under `target/`, after the version of Python.
    folder: &'static str,
    /// The minor versions of Python 3 that they support.
    minors: RangeInclusive<u32>,
}

/// The official protobuf implementation and its compiler.
pub const PROTOBUF: Requirements =
    Requirements { file: "tests/protobuf/requirements.txt", folder: "packages", minors: 10..=15 };
/// The packages for the tests of `rust/python`.
pub const VARIANT: Requirements =
    Requirements { file: "rust/python/tests/requirements.txt", folder: "variant", minors: 11..=14 };
/// The sources of systems' libraries, for `cargo xtask platforms`.
pub const ZIG: Requirements =
    Requirements { file: "rust/xtask/platforms/requirements.txt", folder: "zig", minors: 9..=15 };

/// Ray, beside the packages of `VARIANT`.
pub const RAY: Requirements =
    Requirements { file: "rust/python/tests/ray_requirements.txt", folder: "ray", ..VARIANT };
/// Rivals of the package, which are measured beside it together with the packages of `VARIANT`.
pub const SPEED: Requirements =
    Requirements { file: "rust/python/tests/speed_requirements.txt", folder: "speed", ..VARIANT };

/// The packages to unpack if the machine has no suitable Python.
const PACKAGES: [&str; 2] = ["python3", "python3-pip"];

pub struct Python {
    pub program: PathBuf,
    pub packages: PathBuf,
}

/// Finds `python3` or `python` on PATH, or installs Debian's Python under `target/`. Installs the packages under
/// `target/`, unless they are installed.
pub fn find_or_install(workspace: &Workspace, requirements: &Requirements) -> Result<Python> {
    let folder = workspace.tools();
    fs::create_dir_all(&folder)?;
    // Concurrent runs must not install into the same folder.
    let lock = File::create(folder.join("python.lock"))?;
    lock.lock().context("cannot lock the folder for Python")?;

    let minors = &requirements.minors;
    let (program, version) = match on_path(minors) {
        Some(found) => found,
        None => private(&folder.join("python"), minors).with_context(|| {
            let (first, last) = (minors.start(), minors.end());
            format!("Install Python 3.{first} to 3.{last} with pip, and put it on PATH as `python3`.")
        })?,
    };
    let packages = folder.join(format!("python{version}-{}", requirements.folder));
    let python = Python { program, packages };
    install_packages(&python, &workspace.root.join(requirements.file))?;
    Ok(python)
}

fn on_path(minors: &RangeInclusive<u32>) -> Option<(PathBuf, String)> {
    ["python3", "python"].iter().find_map(|name| {
        let program = which::which(name).ok()?;
        match version(&program, minors) {
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
fn version(program: &Path, minors: &RangeInclusive<u32>) -> Result<String> {
    let question = "import pip, sys; print('%d.%d' % sys.version_info[:2])";
    let version = run::read(Command::new(program).args(["-c", question]))?.trim().to_owned();
    match version.strip_prefix("3.").and_then(|minor| minor.parse().ok()) {
        Some(minor) if minors.contains(&minor) => Ok(version),
        _ => bail!("there are no packages for Python {version}"),
    }
}

/// Debian's Python, unpacked in `home` on first use.
fn private(home: &Path, minors: &RangeInclusive<u32>) -> Result<(PathBuf, String)> {
    let machine = debian::machine().filter(|_| cfg!(all(target_os = "linux", target_arch = "x86_64")));
    let machine = machine.context("no Python of this machine serves")?;
    machine.install_once(debian::TESTING, "Python", &PACKAGES, home)?;
    let program = debian::script(home, "usr/bin/python3", "python3")?;
    let version = version(&program, minors)?;
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
    let step = Progress::spinner("downloading packages for tests from PyPI");
    let mut pip = Command::new(&python.program);
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes"]);
    pip.arg("--target").arg(&python.packages).arg("--requirement").arg(requirements);
    run::read(&mut pip).context("cannot install the packages; is the network up?")?;
    fs::write(stamp, wanted)?;
    step.done();
    Ok(())
}
