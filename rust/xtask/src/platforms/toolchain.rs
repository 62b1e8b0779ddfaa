//! Debian's Rust in a sandbox, with compilers for other machines and emulators for their programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::Message;

use crate::build;
use crate::debian::{self, Machine, TESTING};
use crate::judge::{self, Tally};
use crate::run::{self, Echo};
use crate::sandbox::Sandbox;
use crate::workspace::{self, Workspace};

use super::table::{Library, Platform};

/// The compiler for every target. `rust-src` is for targets that compile the standard library.
const COMPILER: [&str; 4] = ["cargo", "gcc", "rust-src", "rustc"];
/// Cargo's arguments for the tests of the engine-free crates.
const TESTS: [&[&str]; 2] = [
    &["--package=conformance", "--test=all"],
    &["--package=variant_codec", "--package=variant_disk", "--package=variant_protobuf", "--lib", "--tests"],
];
/// Cargo's argument for also compiling the standard library, for targets whose standard library Debian lacks.
const BUILD_STD: &str = "-Zbuild-std=std,panic_unwind,panic_abort";
/// The time limit, long enough for an unoptimised test under emulation.
const LIMIT: Duration = Duration::from_secs(3600);

pub struct Toolchain<'a> {
    pub workspace: &'a Workspace,
    pub machine: Machine,
    pub sandbox: Sandbox,
    folder: PathBuf,
    cargo_home: PathBuf,
}

impl<'a> Toolchain<'a> {
    /// Installs the compiler under `target/`, unless it is installed.
    ///
    /// # Errors
    /// Fails with a one-line error if this machine does not meet the requirements.
    pub fn open(workspace: &'a Workspace) -> Result<Self> {
        let machine = debian::machine()
            .filter(|_| cfg!(all(target_os = "linux", target_arch = "x86_64")))
            .context("building for other platforms needs Linux x86_64 with apt and a Debian archive")?;
        let folder = workspace.target.join("platforms");
        fs::create_dir_all(folder.join("target"))?;
        let sandbox = Sandbox::open(&machine, &workspace.tools(), &folder.join("sandbox"))?;
        sandbox.add(&machine, TESTING, "a Rust compiler", &COMPILER)?;
        Ok(Self { workspace, machine, sandbox, folder, cargo_home: workspace::cargo_home()? })
    }

    /// A folder with this name beside the sandbox.
    pub fn folder(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub fn install_packages(&self, platform: &Platform) -> Result<()> {
        let what = format!("what {} needs", platform.name);
        self.sandbox.add(&self.machine, TESTING, &what, &platform.packages.concat())
    }

    /// A command that runs a program of the sandbox with access to the repository and to Cargo's home.
    pub fn command(&self, program: &str) -> Command {
        let open = [self.workspace.root.as_path(), &self.workspace.target, &self.cargo_home];
        let mut command = self.sandbox.command(program, &open);
        command.current_dir(&self.workspace.root);
        command
    }

    pub fn cargo(&self) -> Command {
        let mut cargo = self.command("cargo");
        cargo.env("CARGO_HOME", &self.cargo_home).env("CARGO_TARGET_DIR", self.folder.join("target"));
        // The sandbox has no compiler called `cc`.
        cargo.env("HOST_CC", "gcc").env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER", "gcc");
        // Lets a stable compiler accept `-Zbuild-std`.
        cargo.env("RUSTC_BOOTSTRAP", "1");
        cargo.env("CARGO_PROFILE_DEV_DEBUG", "0");
        cargo
    }

    fn cargo_for(&self, platform: &Platform, action: &[&str]) -> Command {
        let mut cargo = self.cargo();
        let variable = platform.triple.to_uppercase().replace('-', "_");
        if !platform.linker.is_empty() {
            cargo.env(format!("CARGO_TARGET_{variable}_LINKER"), platform.linker);
            cargo.env(format!("CC_{}", platform.triple.replace('-', "_")), platform.linker);
        }
        cargo.args(action).args(["--target", platform.triple]);
        cargo
    }

    /// Type-checks the library for each platform, with one run of Cargo per set of features.
    pub fn check(&self, platforms: &[&Platform]) -> Result<()> {
        let mut left: Vec<&Platform> = platforms.to_vec();
        while let Some(first) = left.first().copied() {
            let (now, later): (Vec<_>, Vec<_>) =
                left.into_iter().partition(|other| other.has_features_of(first));
            left = later;
            let mut cargo = self.cargo();
            build::choose(cargo.args(["check", "--quiet"]), &first.build());
            // The tests of `variant_disk` differ between platforms.
            cargo.args(["--package", "variant_disk", "--lib", "--tests"]);
            if !first.is_web() {
                cargo.arg(BUILD_STD);
            }
            check_for(&mut cargo, &now)?;
        }
        Ok(())
    }

    pub fn check_without_engine(&self, platforms: &[&Platform]) -> Result<()> {
        let mut cargo = self.cargo();
        cargo.args(["check", "--quiet", BUILD_STD, "--lib", "--tests", "--features", "variant_codec/serde"]);
        cargo.args([
            "--package",
            "variant_codec",
            "--package",
            "variant_disk",
            "--package",
            "variant_protobuf",
        ]);
        check_for(&mut cargo, platforms)
    }

    /// Builds the release library for a platform, and returns its path.
    pub fn library(&self, platform: &Platform) -> Result<PathBuf> {
        run::through(&mut self.release(platform, &["build", "--release"]))?;
        Ok(self.built(platform.triple, &build::file_name(platform.triple)?))
    }

    /// Cargo's command for the release library.
    pub fn release(&self, platform: &Platform, action: &[&str]) -> Command {
        let mut cargo = self.cargo_for(platform, action);
        // Link-time optimisation takes minutes for each platform; other tests cover it on this machine.
        cargo.envs([("CARGO_PROFILE_RELEASE_LTO", "off"), ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")]);
        if matches!(platform.library, Library::Linked(_) | Library::Static) {
            // Saves minutes. Nothing of these libraries runs.
            cargo.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0");
        }
        build::choose(&mut cargo, &platform.build());
        if platform.lacks_std() {
            cargo.arg(BUILD_STD);
        }
        cargo
    }

    /// The path of a file that Cargo built for a target.
    pub fn built(&self, triple: &str, file: &str) -> PathBuf {
        self.folder.join("target").join(triple).join("release").join(file)
    }

    /// Builds the tests of the engine-free crates, and runs them as programs of the platform.
    pub fn tests(
        &self,
        platform: &Platform,
        is_emulated: bool,
        runner: &dyn Fn(&Path) -> Command,
    ) -> Result<Tally> {
        println!("building the tests for {}", platform.name);
        let mut found = Vec::new();
        for tests in TESTS {
            let mut cargo = self.cargo_for(platform, &["test", "--no-run", "--quiet"]);
            cargo.args(tests);
            cargo.args(["--features=variant_codec/serde", "--message-format=json-render-diagnostics"]);
            if platform.compiles_std {
                cargo.arg(BUILD_STD);
            }
            for (name, value) in platform.variables {
                cargo.env(name, value);
            }
            let outcome = run::watch(&mut cargo, Echo::Nothing, LIMIT)?;
            ensure!(outcome.bad_end().is_none(), "the tests cannot be built:\n{}", outcome.stderr);
            found.extend(programs(&outcome.stdout)?);
        }
        let mut total = Tally::default();
        for Program { name, file, package } in found {
            let mut command = runner(&file);
            // The documents are the same on every platform.
            command.current_dir(package).args(["--skip=documents::", "--skip=pages::"]);
            // Emulation is about twenty times slower.
            if is_emulated {
                command.envs([("PROPTEST_CASES", "64"), ("MADE_INPUTS", "2000")]);
            }
            total = total + one(&name, &mut command).with_context(|| format!("the tests `{name}`"))?;
        }
        println!("{}: {total}", platform.name);
        Ok(total)
    }
}

fn check_for(cargo: &mut Command, platforms: &[&Platform]) -> Result<()> {
    for platform in platforms {
        println!("checking types for {}", platform.name);
        cargo.args(["--target", platform.triple]);
    }
    run::through(cargo)
}

fn one(name: &str, command: &mut Command) -> Result<Tally> {
    let outcome = run::watch(command, Echo::Nothing, LIMIT)?;
    let tally = judge::rust_tally(&outcome.stdout);
    if let Some(end) = outcome.bad_end() {
        bail!("the program {end}; {tally}\n{}", outcome.log);
    }
    ensure!(tally.failed == 0, "{tally}\n{}", outcome.log);
    println!("  {name}: {tally}, {:.1} s", outcome.elapsed.as_secs_f32());
    Ok(tally)
}

struct Program {
    name: String,
    file: PathBuf,
    /// The folder of the program's package, in which Cargo would start the program.
    package: PathBuf,
}

/// The test programs that Cargo's messages name.
fn programs(messages: &str) -> Result<Vec<Program>> {
    let mut found = Vec::new();
    for message in Message::parse_stream(messages.as_bytes()) {
        if let Message::CompilerArtifact(artifact) = message?
            && let Some(file) = artifact.executable
            && artifact.profile.test
        {
            let package = artifact.manifest_path.parent().context("a manifest lies in a folder")?;
            found.push(Program {
                name: artifact.target.name,
                file: file.into_std_path_buf(),
                package: package.as_std_path().to_owned(),
            });
        }
    }
    ensure!(!found.is_empty(), "there are no test programs");
    Ok(found)
}
