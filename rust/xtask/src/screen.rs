//! A virtual display for editor windows, and the errors that it makes the engine print.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};

/// Removes the errors of the editor's Vulkan probe; a missing Vulkan is not an error of the addon.
pub fn without_vulkan_probe(log: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for line in log.lines() {
        if line.trim_start().starts_with("at: ") && line.contains("(drivers/vulkan/") {
            kept.pop();
        } else {
            kept.push(line);
        }
    }
    kept.join("\n")
}

/// A virtual display, which closes on drop.
pub struct Screen {
    server: Child,
    name: String,
}

impl Screen {
    /// Opens a display of 1280 × 800 pixels.
    pub fn open() -> Result<Self> {
        let program =
            which::which("Xvfb").context("Xvfb is not installed; on Debian: apt-get install xvfb")?;
        let mut server = Command::new(program)
            .args(["-displayfd", "1", "-screen", "0", "1280x800x24", "-nolisten", "tcp"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start Xvfb")?;
        let mut number = String::new();
        let output = server.stdout.take().expect("its output is piped");
        BufReader::new(output).read_line(&mut number)?;
        let screen = Self { server, name: format!(":{}", number.trim()) };
        ensure!(screen.name.len() > 1, "Xvfb opened no display");
        Ok(screen)
    }

    pub fn apply(&self, engine: &mut Command) {
        engine
            .args(["--rendering-driver", "opengl3", "--audio-driver", "Dummy"])
            .env("DISPLAY", &self.name)
            .env_remove("WAYLAND_DISPLAY");
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // The server may have exited already.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_vulkan_probe_is_ignored() {
        let log = "a\nERROR: no surface\n   at: init (drivers/vulkan/context.cpp:1)\nERROR: x\n   at: f (core/y.cpp:2)";
        assert_eq!(without_vulkan_probe(log), "a\nERROR: x\n   at: f (core/y.cpp:2)");
    }
}
