//! Godot from Debian's testing suite.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::program::Godot;
use crate::archive;
use crate::debian::{Machine, TESTING, files_with_extension, libraries, loader, machine, root};
use crate::progress::Progress;
use crate::run;

/// The packages to unpack with their dependencies. The engine loads the graphics libraries to open a window.
/// patchelf sets the folder's paths in the engine.
const PACKAGES: [&str; 8] = [
    "godot",
    "godot-template-release",
    "patchelf",
    "libgl1",
    "libegl1",
    "libgl1-mesa-dri",
    "libglx-mesa0",
    "libegl-mesa0",
];

/// Valgrind, and the debug symbols of the folder's C library, which Valgrind needs.
const WATCH_PACKAGES: [&str; 2] = ["valgrind", "libc6-dbg"];

const PROGRAMS: &str = "usr/bin";

pub fn install(machine: &Machine, folder: &Path) -> Result<()> {
    machine.install(TESTING, "Godot", &PACKAGES, folder)
}

/// Whether `home` holds an engine from Debian.
pub fn is_in(home: &Path) -> bool {
    root(home).is_dir()
}

/// Points programs and libraries at the folder's loader and libraries, by absolute path. A library path in
/// the environment would also apply to child processes, which need the machine's libraries.
pub fn make_ready(home: &Path) -> Result<Godot> {
    let (root, libraries) = (root(home), libraries(home));
    let patchelf = Patchelf { home };
    let run_path = format!("{0}:{0}/pulseaudio", libraries.display());
    let step = Progress::spinner("fitting Godot to its folder");

    let program = |name: &str| root.join(PROGRAMS).join(name);
    let (editor, release) = (program("godot"), program("godot-template-release"));
    for file in [&editor, &release] {
        patchelf.run(&["--set-interpreter".as_ref(), &loader(home), file])?;
        patchelf.run(&["--force-rpath".as_ref(), "--set-rpath".as_ref(), run_path.as_ref(), file])?;
    }
    for library in files_with_extension(&libraries, "so")?.iter().chain(&versioned_libraries(&libraries)?) {
        if library.is_symlink() {
            continue;
        }
        // Linker scripts also end in `.so`; patchelf refuses them, and they have no run path.
        let Ok(old) = patchelf.run(&["--print-rpath".as_ref(), library]) else { continue };
        // A library with a run path of its own does not search the run path of the program.
        if !old.trim().is_empty() {
            patchelf.run(&["--force-rpath".as_ref(), "--set-rpath".as_ref(), run_path.as_ref(), library])?;
        }
    }
    step.done();
    Ok(Godot { editor, template_release: Some(release), version: String::new() })
}

/// Libraries such as `libname.so.1`.
fn versioned_libraries(folder: &Path) -> Result<Vec<PathBuf>> {
    let is_versioned = |path: &PathBuf| {
        path.is_file() && path.file_name().is_some_and(|name| name.to_string_lossy().contains(".so."))
    };
    Ok(fs::read_dir(folder)?.flatten().map(|entry| entry.path()).filter(is_versioned).collect())
}

/// Valgrind for the engine in `home`, unpacked on first use.
pub fn valgrind(home: &Path) -> Result<Command> {
    let root = root(home);
    let program = root.join(PROGRAMS).join("valgrind.bin");
    if !program.is_file() {
        let machine = machine().context("this machine knows no Debian archive to install valgrind from")?;
        machine.install(TESTING, "valgrind", &WATCH_PACKAGES, home)?;
        // Valgrind looks for the C library's symbols in this folder beside the library, but not in the
        // private folder's `usr/lib/debug`.
        let beside = libraries(home).join(".debug");
        fs::create_dir_all(&beside)?;
        let symbols = root.join("usr/lib/debug/.build-id");
        for file in archive::files_under(&symbols)? {
            fs::copy(symbols.join(&file), beside.join(file.file_name().expect("it is a file")))?;
        }
    }
    let mut command = Command::new(loader(home));
    command.arg("--library-path").arg(libraries(home)).arg(program);
    command.env("VALGRIND_LIB", root.join("usr/libexec/valgrind"));
    Ok(command)
}

/// The patchelf of Debian's testing suite, started through the folder's loader. The machine may have no
/// patchelf.
struct Patchelf<'a> {
    home: &'a Path,
}

impl Patchelf<'_> {
    fn run(&self, arguments: &[&Path]) -> Result<String> {
        let mut command = Command::new(loader(self.home));
        command.arg("--library-path").arg(libraries(self.home));
        command.arg(root(self.home).join(PROGRAMS).join("patchelf")).args(arguments);
        run::read(&mut command)
    }
}
