//! Programs in Python that answer questions: each line is JSON.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

/// A process that answers questions.
pub struct Python {
    process: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    complaints: File,
}

impl Python {
    /// Starts a script of this folder with these environment variables.
    ///
    /// # Errors
    /// Fails if the interpreter cannot be started.
    pub fn start(interpreter: &Path, script: &str, variables: &[(&str, &str)]) -> Result<Self> {
        let complaints = tempfile::tempfile()?;
        let mut process = Command::new(interpreter)
            .args(["-s", "-B"])
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(script))
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(complaints.try_clone()?)
            .spawn()
            .context("cannot start Python")?;
        let questions = process.stdin.take().context("no way in")?;
        let answers = BufReader::new(process.stdout.take().context("no way out")?);
        Ok(Self { process, questions, answers, complaints })
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// As [`Python::answer`].
    pub fn ask<T: DeserializeOwned>(&mut self, question: &Json) -> Result<T> {
        // Ignores a failed write: if the process has ended, `answer` reports its standard error, which says more.
        let _ = writeln!(self.questions, "{question}");
        self.answer()
    }

    /// Waits for an answer.
    ///
    /// # Errors
    /// Fails if the process has ended, or the answer is of another type.
    pub fn answer<T: DeserializeOwned>(&mut self) -> Result<T> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            let mut complaints = String::new();
            self.complaints.rewind()?;
            self.complaints.read_to_string(&mut complaints)?;
            bail!("Python has ended:\n{complaints}");
        }
        let mut reader = serde_json::Deserializer::from_str(&line);
        // Only the process limits the nesting of its answers.
        reader.disable_recursion_limit();
        T::deserialize(&mut reader).context("not what was asked")
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
