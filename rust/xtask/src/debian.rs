//! Programs from a suite of Debian, unpacked into a private folder.
//!
//! The programs need a different C library from the machine's, so the folder's own loader starts them with
//! the folder's libraries. Nothing is installed system-wide, and no root privileges are needed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, ensure};

use crate::progress::Progress;
use crate::run;

/// The subfolder for the unpacked packages, in a private folder.
const ROOT: &str = "root";
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
/// The library folder of older suites.
const OLD_LIBRARIES: &str = "lib/x86_64-linux-gnu";
const LOADER: &str = "ld-linux-x86-64.so.2";

/// The suite with the newest programs.
pub const TESTING: &str = "testing";
pub const STABLE: &str = "trixie";
pub const OLD_STABLE: &str = "bookworm";
/// The architecture of the programs, unless the package name has a suffix, as in `libc6:arm64`.
const ARCHITECTURE: &str = "amd64";

/// A machine with apt and a Debian archive.
pub struct Machine {
    /// The archive's address in apt's syntax.
    archive: String,
    keyring: Option<PathBuf>,
}

/// This machine, if it meets the requirements.
pub fn machine() -> Option<Machine> {
    for tool in ["apt-get", "dpkg"] {
        which::which(tool).ok()?;
    }
    // With an empty, writable folder for its lists, apt needs no privileges and prints the lists' addresses.
    let lists = tempfile::tempdir().ok()?;
    fs::create_dir(lists.path().join("partial")).ok()?;
    let mut apt = Command::new("apt-get");
    apt.args(["update", "--print-uris", "-o", "Debug::NoLocking=1", "-o"]);
    apt.arg(format!("Dir::State::Lists={}", lists.path().display()));
    let archive = debian_archive(&run::read(&mut apt).ok()?)?;
    let known = ["debian-archive-keyring.gpg", "debian-archive-keyring.pgp"];
    let keyring =
        known.map(|name| Path::new("/usr/share/keyrings").join(name)).into_iter().find(|key| key.is_file());
    Some(Machine { archive, keyring })
}

/// The Debian archive in apt's output, from `'http://deb.debian.org/debian/dists/bookworm/InRelease' …`.
/// Skips the security archive, which has no testing suite, and prefers short addresses, because those of
/// third parties are longer.
fn debian_archive(printed: &str) -> Option<String> {
    let addresses =
        printed.lines().filter_map(|line| Some(line.strip_prefix('\'')?.split_once("/dists/")?.0));
    let debian = addresses.filter(|address| address.contains("debian") && !address.contains("security"));
    debian.min_by_key(|address| (!address.ends_with("/debian"), address.len())).map(str::to_owned)
}

impl Machine {
    /// Installs into the folder `home`, unless it exists. An interrupted install leaves no `home`.
    pub fn install_once(&self, suite: &str, what: &str, packages: &[&str], home: &Path) -> Result<()> {
        if home.is_dir() {
            return Ok(());
        }
        let unfinished = home.with_extension("unfinished");
        if unfinished.is_dir() {
            fs::remove_dir_all(&unfinished)?;
        }
        fs::create_dir_all(&unfinished)?;
        self.install(suite, what, packages, &unfinished)?;
        Ok(fs::rename(&unfinished, home)?)
    }

    /// Downloads `packages` of a suite and their dependencies, and unpacks them into `folder`. The output
    /// calls the packages `what`.
    pub fn install(&self, suite: &str, what: &str, packages: &[&str], folder: &Path) -> Result<()> {
        let apt = Apt::prepare(folder, self, suite, packages)?;

        let step = Progress::spinner(format!("reading the package lists of Debian {suite}"));
        run::read(apt.command().arg("update"))?;
        step.done();

        let step = Progress::spinner(format!("downloading {what} and its libraries"));
        run::read(&mut apt.install(packages)).context("the download from Debian failed")?;
        step.done();

        let archives = apt.archives()?;
        ensure!(!archives.is_empty(), "apt downloaded nothing");
        let step = Progress::count("unpacking packages", archives.len() as u64);
        let root = root(folder);
        for package in &archives {
            run::read(Command::new("dpkg").arg("-x").arg(package).arg(&root))?;
            step.step();
        }
        step.done();
        fs::remove_dir_all(&apt.folder)?;
        Ok(())
    }
}

impl Machine {
    /// Downloads a package's source and `.dsc` file into `folder`, from the first suite that has it. A mirror
    /// may lack a file of one suite.
    pub fn source(&self, suites: &[&str], package: &str, folder: &Path) -> Result<()> {
        let step = Progress::spinner(format!("downloading the source of {package}"));
        let mut verdict = Err(anyhow!("there is no suite"));
        for suite in suites {
            let apt = Apt::prepare(folder, self, suite, &[])?;
            run::read(apt.command().arg("update"))?;
            let mut download = apt.command();
            download.args(["source", "--download-only", package]).current_dir(folder);
            verdict = run::read(&mut download).map(drop);
            fs::remove_dir_all(&apt.folder)?;
            if verdict.is_ok() {
                break;
            }
        }
        step.done();
        verdict
    }
}

/// An apt configuration that has a single suite and keeps apt's state in one folder.
struct Apt {
    folder: PathBuf,
    configuration: PathBuf,
}

impl Apt {
    fn prepare(parent: &Path, machine: &Machine, suite: &str, packages: &[&str]) -> Result<Self> {
        let folder = parent.join("apt");
        for part in ["lists/partial", "cache/archives/partial", "empty"] {
            fs::create_dir_all(folder.join(part))?;
        }
        let key = machine.keyring.as_ref().map(|key| format!("[signed-by={}] ", key.display()));
        let source = format!("{}{} {suite} main\n", key.unwrap_or_default(), machine.archive);
        fs::write(folder.join("sources.list"), format!("deb {source}deb-src {source}"))?;
        fs::write(folder.join("status"), "")?;

        let path = folder.display();
        let architectures = architectures(packages);
        // Overrides the machine's hooks, pins and download user.
        let configuration = format!(
            r##"Dir::Etc::sourcelist "{path}/sources.list";
Dir::Etc::sourceparts "-";
Dir::Etc::preferences "{path}/empty/none";
Dir::Etc::preferencesparts "{path}/empty";
Dir::State::Lists "{path}/lists";
Dir::State::status "{path}/status";
Dir::State::extended_states "{path}/extended_states";
Dir::Cache "{path}/cache";
Dir::Cache::archives "archives";
Dir::Log "{path}";
APT::Architecture "{ARCHITECTURE}";
APT::Architectures {{ {architectures} }};
APT::Install-Recommends "false";
APT::Keep-Downloaded-Packages "true";
Debug::NoLocking "true";
Acquire::Languages "none";
Acquire::Retries "3";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Invoke;
#clear DPkg::Post-Invoke;
#clear DPkg::Pre-Install-Pkgs;
#clear Acquire::IndexTargets::deb::DEP-11;
#clear Acquire::IndexTargets::deb::DEP-11-icons;
#clear Acquire::IndexTargets::deb::Contents-deb;
"##
        );
        let file = folder.join("apt.conf");
        fs::write(&file, configuration)?;
        Ok(Self { folder, configuration: file })
    }

    fn command(&self) -> Command {
        let mut command = Command::new("apt-get");
        command.arg("--config-file").arg(&self.configuration).arg("--quiet=2");
        command
    }

    fn install(&self, packages: &[&str]) -> Command {
        let mut command = self.command();
        command.args(["--yes", "--no-install-recommends", "--download-only", "install"]).args(packages);
        command
    }

    fn archives(&self) -> Result<Vec<PathBuf>> {
        files_with_extension(&self.folder.join("cache/archives"), "deb")
    }
}

/// The architectures of the packages, in the syntax of apt's configuration.
fn architectures(packages: &[&str]) -> String {
    let others = packages.iter().filter_map(|package| Some(package.split_once(':')?.1));
    let all: BTreeSet<&str> = others.chain([ARCHITECTURE]).collect();
    all.iter().map(|name| format!("\"{name}\";")).collect()
}

pub fn files_with_extension(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .with_context(|| format!("cannot read {}", folder.display()))?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    Ok(files)
}

/// The folder of the unpacked packages in the private folder `home`.
pub fn root(home: &Path) -> PathBuf {
    home.join(ROOT)
}

pub fn libraries(home: &Path) -> PathBuf {
    root(home).join(LIBRARIES)
}

pub fn loader(home: &Path) -> PathBuf {
    libraries(home).join(LOADER)
}

/// Writes a script that starts an unpacked program with the unpacked loader and libraries, and returns
/// the path of the script.
pub fn script(home: &Path, program: &str, name: &str) -> Result<PathBuf> {
    let (root, script) = (root(home), home.join(name));
    let program = root.join(program);
    ensure!(program.is_file(), "{} was not unpacked", program.display());
    let [new, old] = [LIBRARIES, OLD_LIBRARIES].map(|folder| root.join(folder));
    let loader = [&new, &old].map(|folder| folder.join(LOADER)).into_iter().find(|file| file.exists());
    let text = format!(
        "#!/bin/sh\nexec '{}' --library-path '{}:{}' '{}' \"$@\"\n",
        loader.with_context(|| format!("{LOADER} was not unpacked"))?.display(),
        new.display(),
        old.display(),
        program.display()
    );
    // Does not rewrite an up-to-date script, because the script may be running.
    if fs::read_to_string(&script).ok().as_ref() != Some(&text) {
        fs::write(&script, text)?;
        #[cfg(unix)]
        fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    }
    Ok(script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_come_from_the_names_of_packages() {
        assert_eq!(architectures(&["gcc"]), "\"amd64\";");
        assert_eq!(architectures(&["libc6:s390x", "gcc", "libc6:i386"]), "\"amd64\";\"i386\";\"s390x\";");
    }

    #[test]
    fn only_the_debian_archive_is_used() {
        let found = |addresses: &[&str]| {
            let lines = addresses.iter().map(|address| format!("'{address}/dists/bookworm/InRelease' x 0\n"));
            debian_archive(&lines.collect::<String>())
        };
        let vendor = "https://download.vendor.example/linux/debian";
        let security = "http://deb.debian.org/debian-security";
        let debian = "http://deb.debian.org/debian";
        assert_eq!(found(&[vendor, security, debian]).as_deref(), Some(debian));
        let mirror = "http://mirror.example/debian-copy";
        assert_eq!(found(&[security, mirror]).as_deref(), Some(mirror));
        assert_eq!(found(&["http://archive.ubuntu.example/ubuntu", security]), None);
    }
}
