//! Godot from Debian's testing suite, unpacked into a private folder.
//!
//! It needs a newer C library than stable Debian has, so it brings its own: the programs are pointed at the loader and
//! libraries of the folder. Nothing is installed on the machine, and no root is needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::Godot;
use super::apt_sources::{self, Archive};
use crate::archive;
use crate::progress::Progress;
use crate::run;

/// What is unpacked, beside everything that these depend on: the engine, the tool that fits it to the folder, and the
/// graphics libraries that it loads when it opens a window.
const PACKAGES: [&str; 9] = [
    "godot",
    "godot-template-release",
    "godot-template-debug",
    "patchelf",
    "libgl1",
    "libegl1",
    "libgl1-mesa-dri",
    "libglx-mesa0",
    "libegl-mesa0",
];

/// What runs programs of the folder under watch: valgrind, and what it must know about the folder's C library.
const WATCH_PACKAGES: [&str; 2] = ["valgrind", "libc6-dbg"];

/// Where the packages are unpacked, inside the private folder.
const ROOT: &str = "root";
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
const PROGRAMS: &str = "usr/bin";

/// A machine with apt that knows the Debian archive.
pub struct Machine {
    archive: Archive,
    keyring: Option<PathBuf>,
}

/// This machine, if it has what the install needs.
pub fn machine() -> Option<Machine> {
    for tool in ["apt-get", "dpkg"] {
        which::which(tool).ok()?;
    }
    let archive = apt_sources::debian_archive(Path::new("/etc/apt"))?;
    let known = ["debian-archive-keyring.gpg", "debian-archive-keyring.pgp"];
    let known = known.map(|name| Path::new("/usr/share/keyrings").join(name));
    let keyring = archive.signed_by.iter().chain(&known).find(|key| key.is_file()).cloned();
    Some(Machine { archive, keyring })
}

impl Machine {
    /// Downloads and unpacks everything into `folder`.
    pub fn install(&self, folder: &Path) -> Result<()> {
        self.unpack(&PACKAGES, "Godot and its libraries", folder)
    }

    /// Unpacks valgrind beside the engine in `folder`.
    pub fn install_valgrind(&self, folder: &Path) -> Result<()> {
        self.unpack(&WATCH_PACKAGES, "valgrind", folder)?;
        // It looks for them here, whatever folder they are meant for.
        let root = folder.join(ROOT);
        let beside = root.join(LIBRARIES).join(".debug");
        fs::create_dir_all(&beside)?;
        let symbols = root.join("usr/lib/debug/.build-id");
        for file in archive::files_under(&symbols)? {
            fs::copy(symbols.join(&file), beside.join(file.file_name().expect("it is a file")))?;
        }
        Ok(())
    }

    fn unpack(&self, packages: &[&str], what: &str, folder: &Path) -> Result<()> {
        let apt = Apt::prepare(folder, self)?;

        let step = Progress::spinner("reading the package lists of Debian testing");
        run::read(apt.command().arg("update"))?;
        step.done();

        let total = download_size(&run::read(apt.install(packages).arg("--print-uris"))?);
        let step = Progress::bytes(format!("downloading {what}"), total);
        apt.download(packages, &step)?;
        step.done();

        let archives = apt.archives()?;
        ensure!(!archives.is_empty(), "apt downloaded nothing");
        let step = Progress::count("unpacking packages", archives.len() as u64);
        let root = folder.join(ROOT);
        for package in &archives {
            run::read(Command::new("dpkg").arg("-x").arg(package).arg(&root))?;
            step.step();
        }
        step.done();
        fs::remove_dir_all(&apt.folder)?;
        Ok(())
    }
}

/// An apt that knows only the testing suite and keeps its whole state in one folder.
struct Apt {
    folder: PathBuf,
    configuration: PathBuf,
}

impl Apt {
    fn prepare(parent: &Path, machine: &Machine) -> Result<Self> {
        let folder = parent.join("apt");
        for part in ["lists/partial", "cache/archives/partial", "empty"] {
            fs::create_dir_all(folder.join(part))?;
        }
        let key = machine.keyring.as_ref().map(|key| format!("[signed-by={}] ", key.display()));
        let source = format!("deb {}{} testing main\n", key.unwrap_or_default(), machine.archive.uri);
        fs::write(folder.join("sources.list"), source)?;
        fs::write(folder.join("status"), "")?;

        let path = folder.display();
        // The machine's own hooks, pins and download groups are no part of this.
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
APT::Architecture "amd64";
APT::Architectures "amd64";
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

    /// Runs the download and moves the bar by what has arrived.
    fn download(&self, packages: &[&str], step: &Progress) -> Result<()> {
        let log = self.folder.join("download.log");
        let errors = fs::File::create(&log)?;
        let mut child = self
            .install(packages)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors)
            .spawn()
            .context("cannot start apt-get")?;
        let archives = self.folder.join("cache/archives");
        let status = loop {
            step.at(folder_size(&archives) + folder_size(&archives.join("partial")));
            match child.try_wait()? {
                Some(status) => break status,
                None => thread::sleep(Duration::from_millis(200)),
            }
        };
        if !status.success() {
            bail!("the download from Debian testing failed:\n{}", fs::read_to_string(&log)?);
        }
        Ok(())
    }

    fn archives(&self) -> Result<Vec<PathBuf>> {
        files_with_extension(&self.folder.join("cache/archives"), "deb")
    }
}

/// The sum of the sizes that `apt-get --print-uris` prints: `'uri' file size hash`.
fn download_size(listing: &str) -> u64 {
    listing
        .lines()
        .filter(|line| line.starts_with('\''))
        .filter_map(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok())
        .sum()
}

fn folder_size(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .filter_map(|entry| entry.metadata().ok())
        .filter(|file| file.is_file())
        .map(|file| file.len())
        .sum()
}

fn files_with_extension(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .with_context(|| format!("cannot read {}", folder.display()))?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    Ok(files)
}

/// Whether `home` holds an engine of this kind.
pub fn is_in(home: &Path) -> bool {
    home.join(ROOT).is_dir()
}

/// Points programs and libraries at the loader and libraries of the folder, by absolute path: a library path in the
/// environment would also reach child processes, which are programs of the machine.
pub fn make_ready(home: &Path) -> Result<Godot> {
    let root = home.join(ROOT);
    let libraries = root.join(LIBRARIES);
    let patchelf = Patchelf { root: &root };
    let run_path = format!("{0}:{0}/pulseaudio", libraries.display());
    let step = Progress::spinner("fitting Godot to its folder");

    let program = |name: &str| root.join(PROGRAMS).join(name);
    let (editor, release, debug) =
        (program("godot"), program("godot-template-release"), program("godot-template-debug"));
    for file in [&editor, &release, &debug] {
        patchelf.run(&["--set-interpreter".as_ref(), &loader(&root), file])?;
        patchelf.run(&["--force-rpath".as_ref(), "--set-rpath".as_ref(), run_path.as_ref(), file])?;
    }
    for library in files_with_extension(&libraries, "so")?.iter().chain(&versioned_libraries(&libraries)?) {
        if library.is_symlink() {
            continue;
        }
        // Linker scripts also end in `.so`; patchelf refuses them, and they have no run path.
        let Ok(old) = patchelf.run(&["--print-rpath".as_ref(), library]) else { continue };
        // A library with a run path of its own does not search its program's.
        if !old.trim().is_empty() {
            patchelf.run(&["--force-rpath".as_ref(), "--set-rpath".as_ref(), run_path.as_ref(), library])?;
        }
    }
    step.done();
    Ok(Godot { editor, template_release: Some(release), template_debug: Some(debug), version: String::new() })
}

/// `libname.so.1` and the like.
fn versioned_libraries(folder: &Path) -> Result<Vec<PathBuf>> {
    let is_versioned = |path: &PathBuf| {
        path.is_file() && path.file_name().is_some_and(|name| name.to_string_lossy().contains(".so."))
    };
    Ok(fs::read_dir(folder)?.flatten().map(|entry| entry.path()).filter(is_versioned).collect())
}

/// Valgrind of the folder's engine in `home`, unpacked when first needed.
pub fn valgrind(home: &Path) -> Result<Command> {
    let root = home.join(ROOT);
    let program = root.join(PROGRAMS).join("valgrind.bin");
    if !program.is_file() {
        let machine = machine().context("this machine knows no Debian archive to install valgrind from")?;
        machine.install_valgrind(home)?;
    }
    let mut command = Command::new(loader(&root));
    command.arg("--library-path").arg(root.join(LIBRARIES)).arg(program);
    command.env("VALGRIND_LIB", root.join("usr/libexec/valgrind"));
    Ok(command)
}

fn loader(root: &Path) -> PathBuf {
    root.join(LIBRARIES).join("ld-linux-x86-64.so.2")
}

/// The testing suite's own patchelf, started through the folder's loader: the machine need not have one.
struct Patchelf<'a> {
    root: &'a Path,
}

impl Patchelf<'_> {
    fn run(&self, arguments: &[&Path]) -> Result<String> {
        let mut command = Command::new(loader(self.root));
        command.arg("--library-path").arg(self.root.join(LIBRARIES));
        command.arg(self.root.join(PROGRAMS).join("patchelf")).args(arguments);
        run::read(&mut command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_summed() {
        let listing = "Reading package lists...\n'http://m.example/a_1.deb' a_1_amd64.deb 1200 SHA256:00\n\
                       'http://m.example/b_2.deb' b_2_all.deb 34 SHA256:11\n";
        assert_eq!(download_size(listing), 1234);
    }
}
