//! Runs programs with a time limit; shows and keeps their output.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

/// The time allowed for more output after the program has ended.
const DRAIN: Duration = Duration::from_secs(5);

/// The maximum silence after a script error. The error aborts the script, which then may not reach the call
/// that quits the engine.
const STUCK: Duration = Duration::from_secs(20);

/// The treatment of a program's output while it runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Echo {
    /// Both streams are shown line by line.
    All,
    /// Standard error goes straight to the terminal (where Cargo draws its own progress) and is not kept.
    DirectErrors,
    Nothing,
}

#[derive(Debug)]
pub struct Finished {
    /// The exit status; `None` if the program was killed at its time limit or because it was silent after a
    /// script error.
    pub status: Option<ExitStatus>,
    /// Both streams, in the order of arrival.
    pub log: String,
    pub stdout: String,
    pub stderr: String,
    pub elapsed: Duration,
}

impl Finished {
    /// The exit code, if the program ended by itself.
    pub fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    /// The reason why the end counts as a failure, if it does.
    pub fn bad_end(&self) -> Option<String> {
        match self.status {
            None => Some(format!("did not end by itself within {:.0} s", self.elapsed.as_secs_f32())),
            Some(status) if !status.success() => Some(format!("ended with {status}")),
            Some(_) => None,
        }
    }
}

/// Runs `command` for at most `limit`, and keeps its output without colour codes.
pub fn watch(command: &mut Command, echo: Echo, limit: Duration) -> Result<Finished> {
    let started = Instant::now();
    let errors = if echo == Echo::DirectErrors { Stdio::inherit() } else { Stdio::piped() };
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(errors)
        .spawn()
        .with_context(|| format!("cannot start {}", shown(command)))?;
    let (send, lines) = mpsc::channel();
    if let Some(stream) = child.stdout.take() {
        forward(stream, false, send.clone());
    }
    if let Some(stream) = child.stderr.take() {
        forward(stream, true, send.clone());
    }
    drop(send);

    let mut outcome = Finished {
        status: None,
        log: String::new(),
        stdout: String::new(),
        stderr: String::new(),
        elapsed: Duration::ZERO,
    };
    let mut ended = None;
    let mut script_failed = false;
    let mut last_line = Instant::now();
    loop {
        match lines.recv_timeout(Duration::from_millis(50)) {
            Ok((is_error, line)) => {
                outcome.keep(is_error, &line, echo);
                script_failed |= line.starts_with("SCRIPT ERROR");
                last_line = Instant::now();
            }
            Err(RecvTimeoutError::Disconnected) if ended.is_some() => break,
            Err(RecvTimeoutError::Disconnected) => thread::sleep(Duration::from_millis(5)),
            Err(RecvTimeoutError::Timeout) => {}
        }
        match ended {
            Some(at) if Instant::now().duration_since(at) > DRAIN => {
                bail!("{} ended, but a process that it started still holds its output", shown(command))
            }
            Some(_) => {}
            None if started.elapsed() > limit || (script_failed && last_line.elapsed() > STUCK) => {
                stop(&mut child)?;
                ended = Some(Instant::now());
            }
            None => {
                if let Some(status) = child.try_wait()? {
                    outcome.status = Some(status);
                    ended = Some(Instant::now());
                }
            }
        }
    }
    outcome.elapsed = started.elapsed();
    Ok(outcome)
}

/// A command that runs the same program with a system limit, in the syntax of the shell's `ulimit`.
pub fn limited(command: &Command, limit: &str) -> Command {
    let mut limited = Command::new("sh");
    // The shell's limit also applies to the program that replaces the shell.
    limited.args(["-c", &format!("ulimit {limit} && exec \"$0\" \"$@\"")]);
    limited.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    limited
}

/// Runs `command` with this program's own streams. An unsuccessful end is an error.
pub fn through(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", shown(command)))?;
    ensure!(status.success(), "{} ended with {status}", shown(command));
    Ok(())
}

/// Runs `command` silently and returns its standard output. If the program fails, the error
/// contains its standard error.
pub fn read(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {}", shown(command)))?;
    ensure!(
        output.status.success(),
        "{} ended with {}:\n{}",
        shown(command),
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

impl Finished {
    fn keep(&mut self, is_error: bool, line: &str, echo: Echo) {
        if echo != Echo::Nothing {
            if is_error {
                eprintln!("{line}");
            } else {
                println!("{line}");
            }
        }
        let stream = if is_error { &mut self.stderr } else { &mut self.stdout };
        for text in [stream, &mut self.log] {
            text.push_str(line);
            text.push('\n');
        }
    }
}

fn forward(stream: impl Read + Send + 'static, is_error: bool, to: Sender<(bool, String)>) {
    thread::spawn(move || {
        for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
            let text = String::from_utf8_lossy(&line);
            let text = console::strip_ansi_codes(text.trim_end_matches('\r')).into_owned();
            if to.send((is_error, text)).is_err() {
                return;
            }
        }
    });
}

fn stop(child: &mut Child) -> Result<()> {
    child.kill()?;
    child.wait()?;
    Ok(())
}

fn shown(command: &Command) -> String {
    let program = command.get_program().to_string_lossy();
    let arguments = command.get_args().map(|argument| argument.to_string_lossy());
    std::iter::once(program).chain(arguments).collect::<Vec<_>>().join(" ")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn keeps_streams_apart_and_together() {
        let outcome =
            watch(&mut shell("echo out; echo err >&2; exit 3"), Echo::Nothing, Duration::from_secs(10))
                .unwrap();
        assert_eq!(outcome.code(), Some(3));
        assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("out\n", "err\n"));
        assert_eq!(outcome.log.lines().count(), 2);
        assert!(outcome.bad_end().unwrap().contains('3'));
    }

    #[test]
    fn kills_processes_that_time_out() {
        let outcome = watch(&mut shell("exec sleep 60"), Echo::Nothing, Duration::from_millis(200)).unwrap();
        assert_eq!(outcome.code(), None);
        assert!(outcome.bad_end().unwrap().contains("did not end by itself"));
    }

    #[test]
    fn removes_colours() {
        let outcome = watch(
            &mut shell(r"printf '\033[1;31mERROR:\033[0m x\n'"),
            Echo::Nothing,
            Duration::from_secs(10),
        )
        .unwrap();
        assert_eq!(outcome.stdout, "ERROR: x\n");
    }
}
