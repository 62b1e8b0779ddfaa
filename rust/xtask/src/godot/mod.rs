//! Finds a real Godot 4, or installs one in a private folder.

mod debian;
mod program;
pub(crate) mod release;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, io};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::run::{self, Echo};
use crate::workspace::Workspace;
pub use program::Godot;

/// The version of the oldest engine that the addon supports.
pub const OLDEST: (u32, u32) = (4, 4);

const NO_VALGRIND: &str = "valgrind cannot be had; on Debian: apt-get install valgrind libc6-dbg";

/// The advice that ends every error about a missing engine.
const ADVICE: &str = "Install Godot 4.4 or newer from godotengine.org and put it on PATH as `godot`, or set \
                      GODOT4_BIN to its program.";

/// The file that marks a finished install. It is written last into the private folder, so that an interrupted
/// install is never mistaken for a finished install.
#[derive(Serialize, Deserialize)]
struct Stamp {
    /// The prepared folder. Its programs hold absolute paths, so a moved folder is prepared again.
    home: PathBuf,
    godot: Godot,
}

/// Tries `GODOT4_BIN`, then `godot4` and `godot` on PATH, then the engine in the private folder. Installs the
/// private engine if needed.
pub fn find_or_install(workspace: &Workspace) -> Result<Godot> {
    if let Some(program) = env::var_os("GODOT4_BIN") {
        let program = PathBuf::from(program);
        return try_program(&program).with_context(|| {
            format!("GODOT4_BIN names {}, which cannot be used; correct or unset it", program.display())
        });
    }
    for name in ["godot4", "godot"] {
        let Ok(program) = which::which(name) else { continue };
        match try_program(&program) {
            Ok(godot) => return Ok(godot),
            Err(reason) => eprintln!("   passing over {}: {reason:#}", program.display()),
        }
    }
    private(&workspace.private_godot())
}

/// The engine's extension API description. It is written only once for each version, because Cargo compiles
/// again after each change of the file.
///
/// # Errors
/// Fails if the engine wrote no description. The error contains the engine's output.
pub fn api_description(workspace: &Workspace, godot: &Godot) -> Result<PathBuf> {
    const LIMIT: Duration = Duration::from_secs(120);

    let kept = workspace.target.join(format!("extension_api-{}.json", godot.version));
    if kept.is_file() {
        return Ok(kept);
    }
    let written = tempfile::tempdir_in(&workspace.target)?;
    let mut command = Command::new(&godot.editor);
    command.args(["--headless", "--dump-extension-api"]).current_dir(written.path());
    let outcome = run::watch(&mut command, Echo::Nothing, LIMIT)?;
    ensure!(outcome.bad_end().is_none(), "Godot could not describe itself:\n{}", outcome.log);
    fs::rename(written.path().join("extension_api.json"), &kept)
        .context("Godot wrote no extension_api.json")?;
    Ok(kept)
}

/// Valgrind for this engine: a private Valgrind if the engine has its own C library, otherwise the machine's.
pub fn valgrind(workspace: &Workspace, godot: &Godot) -> Result<Command> {
    let home = workspace.private_godot();
    if godot.editor.starts_with(&home) && debian::is_in(&home) {
        return debian::valgrind(&home);
    }
    let program = which::which("valgrind").context(NO_VALGRIND)?;
    Ok(Command::new(program))
}

/// Asks `program` for its version and looks for export templates beside it.
fn try_program(program: &Path) -> Result<Godot> {
    let version = version(program)?;
    let folder = fs::canonicalize(program).ok().and_then(|real| real.parent().map(Path::to_path_buf));
    let template = folder.map(|folder| folder.join("godot-template-release"));
    Ok(Godot {
        editor: program.to_path_buf(),
        template_release: template.filter(|file| file.is_file()),
        version,
    })
}

/// The version of the engine. Fails unless the engine starts and the addon supports it.
pub fn version(program: &Path) -> Result<String> {
    let answer = run::read(Command::new(program).args(["--headless", "--version"]))?;
    let version = answer.lines().last().unwrap_or_default().trim().to_owned();
    let numbers = parse_version(&version)
        .with_context(|| format!("{} answers `{version}`, which is no Godot version", program.display()))?;
    ensure!(
        numbers >= OLDEST && numbers.0 == 4,
        "{} is Godot {version}; the addon needs {}.{} or newer",
        program.display(),
        OLDEST.0,
        OLDEST.1
    );
    Ok(version)
}

/// `4.6.3.stable.…` gives (4, 6).
fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// The engine in `home`, installed or made ready again as needed.
fn private(home: &Path) -> Result<Godot> {
    let parent = home.parent().context("the target folder has no parent")?;
    fs::create_dir_all(parent)?;
    // Concurrent runs must not install into the same folder.
    let lock = File::create(parent.join("godot.lock"))?;
    lock.lock().context("cannot lock the folder for Godot")?;

    let stamp_file = home.join(".complete");
    if let Some(stamp) = read_stamp(&stamp_file) {
        if stamp.home == home && version(&stamp.godot.editor).is_ok() {
            return Ok(stamp.godot);
        }
        eprintln!("   {} was moved or damaged: making it ready again", home.display());
    } else {
        let unfinished = parent.join("godot-unfinished");
        for leftover in [&unfinished, home] {
            remove_folder(leftover)?;
        }
        fs::create_dir(&unfinished)?;
        install(&unfinished).map_err(|error| anyhow!("cannot install Godot: {error:#}\n{ADVICE}"))?;
        fs::rename(&unfinished, home)?;
    }

    let godot = make_ready(home).with_context(|| {
        format!("the Godot in {} cannot be used; delete that folder and try again", home.display())
    })?;
    let stamp = Stamp { home: home.to_path_buf(), godot: godot.clone() };
    fs::write(&stamp_file, serde_json::to_string_pretty(&stamp)?)?;
    Ok(godot)
}

fn install(folder: &Path) -> Result<()> {
    if cfg!(all(target_os = "linux", target_arch = "x86_64"))
        && let Some(machine) = crate::debian::machine()
    {
        match debian::install(&machine, folder) {
            Ok(()) => return Ok(()),
            Err(error) => eprintln!("   Debian's Godot cannot be installed: {error:#}"),
        }
        remove_folder(folder)?;
        fs::create_dir(folder)?;
    }
    release::install(folder)
}

/// Adapts the programs to their current folder, and checks that they start.
fn make_ready(home: &Path) -> Result<Godot> {
    let programs = if debian::is_in(home) { debian::make_ready(home)? } else { release::programs(home)? };
    let version = version(&programs.editor)?;
    Ok(Godot { version, ..programs })
}

fn read_stamp(file: &Path) -> Option<Stamp> {
    serde_json::from_str(&fs::read_to_string(file).ok()?).ok()
}

pub(crate) fn remove_folder(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            bail!("cannot remove {}: {error}", folder.display())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert_eq!(parse_version("4.6.3.stable.debian4.6.3+ds-2"), Some((4, 6)));
        assert_eq!(parse_version("3.2.3.stable.custom_build"), Some((3, 2)));
        assert_eq!(parse_version("command not found"), None);
    }

    #[test]
    fn an_unfinished_stamp_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".complete");
        assert!(read_stamp(&file).is_none());
        fs::write(&file, "{\"home\": \"").unwrap();
        assert!(read_stamp(&file).is_none());
    }
}
