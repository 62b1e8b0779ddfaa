//! Helpers for tests that run gdvar.

// Not every test uses everything.
#![allow(dead_code)]

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::TempDir;
use variant_codec::{Value, frames};

pub struct Folder(TempDir);

#[derive(Debug)]
pub struct Printed {
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Printed {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("UTF-8")
    }

    /// Standard output of a command that must succeed.
    #[track_caller]
    pub fn good(self) -> Vec<u8> {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self.stdout
    }
}

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        fs::write(self.path(name), contents).expect("written");
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).expect("there")
    }

    pub fn gdvar(&self, arguments: &[&str]) -> Printed {
        self.gdvar_of(arguments, b"")
    }

    /// Like [`Folder::gdvar`], with this standard input.
    pub fn gdvar_of(&self, arguments: &[&str], input: &[u8]) -> Printed {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gdvar"));
        command.args(arguments).current_dir(self.0.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("gdvar runs");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.to_vec();
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().expect("it ends");
        writer.join().expect("written");
        Printed {
            code: output.status.code(),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    #[track_caller]
    pub fn encoded(&self, json: &str) -> Vec<u8> {
        self.gdvar_of(&["from-json"], json.as_bytes()).good()
    }
}

/// A save of these encoded values.
pub fn batch<'v>(values: impl IntoIterator<Item = &'v Vec<u8>>) -> Vec<u8> {
    let mut batch = Vec::new();
    values.into_iter().for_each(|value| frames::append(&mut batch, value));
    batch
}

pub fn encoded(value: impl Into<Value>) -> Vec<u8> {
    value.into().encode().expect("encoded")
}
