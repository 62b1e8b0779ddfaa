//! The platforms.

use crate::build::{Build, MAC_TARGETS, MAC_UNIVERSAL, Profile, WEB};

/// The extent to which the library is built here.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Library {
    /// Type-checked with `cargo check`, not linked.
    Checked,
    /// Linked as it is released.
    Built,
    /// Linked with LLVM's linker, and checked as the system's loader does. It cannot run here.
    Linked(System),
    /// Compiled to a static library, which the system's own tools link into a game.
    Static,
    /// Not built: Godot 4 does not run there. Only the engine-free crates are built.
    Without,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum System {
    Mac,
    Windows,
    Android,
}

/// The runner of the platform's programs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Runner {
    Nothing,
    /// This machine.
    Itself,
    /// QEMU's user mode, by the name of its program.
    Qemu(&'static str),
    Wine,
    Node,
}

/// The engine in which the library runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// No engine on this machine.
    Nothing,
    /// The engine of all other tests.
    Own,
    /// Debian's engine for the platform, under QEMU; the field is Godot's name of the architecture.
    Debian(&'static str),
    /// An engine compiled from Debian's source with `precision=double`, on this machine.
    Double,
    /// An engine compiled from Debian's source, under wine.
    Windows,
    /// An engine compiled from Debian's source, in a browser.
    Web,
}

/// A platform that the addon supports, or that tests an aspect of the format.
pub struct Platform {
    /// The name on the command line.
    pub name: &'static str,
    pub title: &'static str,
    pub triple: &'static str,
    /// Debian packages besides the compiler, in groups that platforms can share.
    pub packages: &'static [&'static [&'static str]],
    pub linker: &'static str,
    /// Whether Debian has no standard library for the platform, so that Cargo compiles it.
    pub compiles_std: bool,
    /// Environment variables for the compiler when it builds tests.
    pub variables: &'static [(&'static str, &'static str)],
    pub no_threads: bool,
    pub library: Library,
    pub runner: Runner,
    pub engine: Engine,
    /// The program that runs the engine, if the engine does not run natively.
    pub under: &'static str,
}

/// The variables for tests in Node.js, which need access to the machine's files and a stack for the deepest
/// values.
const IN_NODE: [(&str, &str); 2] = [
    ("EMCC_CFLAGS", "-sNODERAWFS=1 -sSTACK_SIZE=67108864 -sALLOW_MEMORY_GROWTH=1"),
    // Uses emscripten's linker, because Rust distributions override it in different ways.
    ("CARGO_TARGET_WASM32_UNKNOWN_EMSCRIPTEN_RUSTFLAGS", "-Zunstable-options -Clink-self-contained=-linker"),
];

/// The packages of the engine's build system, and of the tools that unpack Debian's sources.
const COMPILES_GODOT: &[&str] = &[
    "bzip2",
    "coreutils",
    "dash",
    "dpkg-dev",
    "g++",
    "gcc",
    "gzip",
    "libc-bin",
    "patch",
    "pkgconf",
    "scons",
    "sed",
    "tar",
    "xz-utils",
];

/// The linkers, the compiler that starts them, and the tools that check what they linked.
const LLVM: &[&str] = &["clang", "dash", "lld", "llvm"];

const NONE: Platform = Platform {
    name: "",
    title: "",
    triple: "",
    packages: &[],
    linker: "",
    compiles_std: false,
    variables: &[],
    no_threads: false,
    library: Library::Checked,
    runner: Runner::Nothing,
    engine: Engine::Nothing,
    under: "",
};

/// Every platform, in the order of the table.
pub const PLATFORMS: [Platform; 14] = [
    Platform {
        name: "linux-x86_64",
        title: "Linux x86_64",
        triple: "x86_64-unknown-linux-gnu",
        library: Library::Built,
        runner: Runner::Itself,
        engine: Engine::Own,
        ..NONE
    },
    Platform {
        name: "linux-x86_64-double",
        title: "Linux x86_64, double precision",
        triple: "x86_64-unknown-linux-gnu",
        // The second group is for building an editor.
        packages: &[COMPILES_GODOT, &["libfreetype-dev", "libpcre2-dev", "libpng-dev", "zlib1g-dev"]],
        library: Library::Built,
        engine: Engine::Double,
        ..NONE
    },
    Platform {
        name: "linux-arm64",
        title: "Linux arm64",
        triple: "aarch64-unknown-linux-gnu",
        packages: &[&[
            // The suite `files` needs the first two packages to create pipes and links.
            "coreutils",
            "dash",
            "gcc-aarch64-linux-gnu",
            "godot:arm64",
            "godot-template-release:arm64",
            "libc6-dev-arm64-cross",
            "libc6:arm64",
            "libgcc-s1:arm64",
            "libstd-rust-dev:arm64",
            "qemu-user",
        ]],
        linker: "aarch64-linux-gnu-gcc",
        library: Library::Built,
        runner: Runner::Qemu("qemu-aarch64"),
        engine: Engine::Debian("arm64"),
        under: "under QEMU",
        ..NONE
    },
    Platform {
        name: "linux-i386",
        title: "Linux i386 (32-bit)",
        triple: "i686-unknown-linux-gnu",
        packages: &[&[
            "gcc-i686-linux-gnu",
            "libc6-dev-i386-cross",
            "libc6:i386",
            "libgcc-s1:i386",
            "libstd-rust-dev:i386",
            "qemu-user",
        ]],
        linker: "i686-linux-gnu-gcc",
        runner: Runner::Qemu("qemu-i386"),
        ..NONE
    },
    Platform {
        name: "linux-armhf",
        title: "Linux armhf (32-bit)",
        triple: "armv7-unknown-linux-gnueabihf",
        packages: &[&[
            "gcc-arm-linux-gnueabihf",
            "libc6-dev-armhf-cross",
            "libc6:armhf",
            "libgcc-s1:armhf",
            "libstd-rust-dev:armhf",
            "qemu-user",
        ]],
        linker: "arm-linux-gnueabihf-gcc",
        runner: Runner::Qemu("qemu-arm"),
        ..NONE
    },
    Platform {
        name: "linux-s390x",
        title: "Linux s390x (big-endian)",
        triple: "s390x-unknown-linux-gnu",
        packages: &[&[
            "gcc-s390x-linux-gnu",
            "libc6-dev-s390x-cross",
            "libc6:s390x",
            "libgcc-s1:s390x",
            "libstd-rust-dev:s390x",
            "qemu-user",
        ]],
        linker: "s390x-linux-gnu-gcc",
        library: Library::Without,
        runner: Runner::Qemu("qemu-s390x"),
        ..NONE
    },
    Platform {
        name: "windows-x86_64",
        title: "Windows x86_64",
        triple: "x86_64-pc-windows-gnu",
        packages: &[COMPILES_GODOT, &["g++-mingw-w64-x86-64-posix", "gcc-mingw-w64-x86-64-posix"]],
        linker: "x86_64-w64-mingw32-gcc-posix",
        compiles_std: true,
        library: Library::Built,
        runner: Runner::Wine,
        engine: Engine::Windows,
        under: "under wine",
        ..NONE
    },
    Platform {
        name: "windows-arm64",
        title: "Windows arm64",
        // The workflow builds for `aarch64-pc-windows-msvc`, whose libraries only Microsoft has.
        triple: "aarch64-pc-windows-gnullvm",
        packages: &[LLVM],
        linker: "ld.lld",
        compiles_std: true,
        library: Library::Linked(System::Windows),
        ..NONE
    },
    Platform {
        name: "web",
        title: "Web, with threads",
        triple: WEB,
        packages: &[COMPILES_GODOT, &["chromium", "emscripten", "nodejs", "zip"]],
        compiles_std: true,
        variables: &IN_NODE,
        library: Library::Built,
        engine: Engine::Web,
        under: "in Chromium",
        ..NONE
    },
    Platform {
        name: "web-nothreads",
        title: "Web, without threads",
        triple: WEB,
        packages: &[COMPILES_GODOT, &["chromium", "emscripten", "nodejs", "zip"]],
        compiles_std: true,
        variables: &IN_NODE,
        no_threads: true,
        library: Library::Built,
        runner: Runner::Node,
        engine: Engine::Web,
        under: "in Chromium",
        ..NONE
    },
    Platform {
        name: "macos",
        title: "macOS, arm64 and x86_64 in one file",
        triple: MAC_UNIVERSAL,
        packages: &[LLVM],
        linker: "ld64.lld",
        compiles_std: true,
        library: Library::Linked(System::Mac),
        ..NONE
    },
    Platform {
        name: "android-arm64",
        title: "Android arm64",
        triple: "aarch64-linux-android",
        packages: &[LLVM],
        linker: "ld.lld",
        compiles_std: true,
        library: Library::Linked(System::Android),
        ..NONE
    },
    Platform {
        name: "android-x86_64",
        title: "Android x86_64",
        triple: "x86_64-linux-android",
        packages: &[LLVM],
        linker: "ld.lld",
        compiles_std: true,
        library: Library::Linked(System::Android),
        ..NONE
    },
    Platform {
        name: "ios",
        title: "iOS arm64",
        triple: "aarch64-apple-ios",
        packages: &[LLVM],
        compiles_std: true,
        library: Library::Static,
        ..NONE
    },
];

/// Platforms for which `cargo xtask test` type-checks the library. The web has 32-bit pointers.
pub const CHECKED: [&str; 2] = ["windows-arm64", "web-nothreads"];
/// Platforms for which `cargo xtask test` type-checks only the engine-free crates, because no Godot 4 is
/// big-endian.
pub const CHECKED_WITHOUT_ENGINE: [&str; 1] = ["linux-s390x"];

impl Platform {
    pub fn build(&self) -> Build {
        Build {
            profile: Profile::Release,
            target: Some(self.triple.to_owned()),
            no_threads: self.no_threads,
            double: None,
            // The web suites inject panics.
            faults: self.triple == WEB,
        }
    }

    /// The triples that Cargo knows.
    pub fn triples(&self) -> &[&'static str] {
        if self.triple == MAC_UNIVERSAL { &MAC_TARGETS } else { std::slice::from_ref(&self.triple) }
    }

    /// Returns whether this is the platform, or the system of the platform, that a command line names.
    pub fn is_called(&self, name: &str) -> bool {
        let is_platform = PLATFORMS.iter().any(|platform| platform.name == name);
        self.name == name || (!is_platform && self.name.split('-').next() == Some(name))
    }

    /// Returns whether Cargo needs `BUILD_STD`. For the web, it does not: `build::choose` already passes
    /// `-Zbuild-std`.
    pub fn lacks_std(&self) -> bool {
        self.compiles_std && !self.is_web()
    }

    pub fn is_web(&self) -> bool {
        self.triple == WEB
    }

    /// Returns whether Cargo can compile for both platforms at once.
    pub fn has_features_of(&self, other: &Self) -> bool {
        (self.is_web(), self.no_threads) == (other.is_web(), other.no_threads)
    }
}

pub fn named(name: &str) -> &'static Platform {
    const ALL: &[Platform] = &PLATFORMS;
    ALL.iter().find(|platform| platform.name == name).expect("the lists above name platforms")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_name_platforms() {
        for name in CHECKED.into_iter().chain(CHECKED_WITHOUT_ENGINE) {
            assert_eq!(named(name).name, name);
        }
    }
}
