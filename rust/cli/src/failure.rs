//! Failures of commands: a message for people, and an exit code for pipelines.

use std::fmt::Write as _;
use std::io;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use variant_codec::{Error, ErrorKind};

use crate::terminal::printable;

/// The result of a command.
pub type Outcome<T> = Result<T, Failure>;

/// The reason why a command fails.
#[derive(Debug)]
pub enum Failure {
    /// The data are damaged or differ. An empty text prints no message.
    Data(String),
    /// An argument is wrong.
    Arguments(String),
    /// A file cannot be read or written.
    File(String),
    /// The filter of `query` has ended with `halt` and this exit code.
    Halted(u8),
    /// The reader has closed standard output, as `head` or a pager does.
    Closed,
}

const RED: Style = AnsiColor::Red.on_default().bold();

impl Failure {
    /// An error in the data of the file `name`.
    pub fn data(name: &str, error: &Error) -> Self {
        Self::Data(format!("{name}: {}", in_words(error.clone())))
    }

    /// Like [`Failure::data`], for an error whose offset counts from the byte `start` of the file.
    pub fn data_in(name: &str, error: Error, start: u64) -> Self {
        Self::data(name, &error.shifted(usize::try_from(start).unwrap_or(usize::MAX)))
    }

    /// Like [`Failure::data`], with the bytes around the invalid byte. `bytes` starts at `start` in the file.
    pub fn data_at(name: &str, error: Error, bytes: &[u8], start: u64) -> Self {
        let excerpt = error.offset().map_or_else(String::new, |at| excerpt(bytes, at, start));
        match Self::data_in(name, error, start) {
            Self::Data(text) => Self::Data(text + &excerpt),
            other => other,
        }
    }

    /// An error in reading or writing the file `name`.
    pub fn file(name: impl std::fmt::Display, error: &io::Error) -> Self {
        Self::File(format!("{name}: {error}"))
    }

    /// An error in writing to standard output.
    pub fn output(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::file("standard output", &error),
        }
    }

    /// Prints the message and returns the exit code.
    pub fn report(self) -> ExitCode {
        let (text, code) = match self {
            Self::Data(text) => (text, 1),
            Self::Arguments(text) => (text, 2),
            Self::File(text) => (text, 3),
            Self::Halted(code) => (String::new(), code),
            Self::Closed => (String::new(), 0),
        };
        if !text.is_empty() {
            anstream::eprintln!("{RED}error:{RED:#} {}", printable(&text));
        }
        ExitCode::from(code)
    }
}

/// The error without names of the addon's options, because the commands do not have these options.
pub fn in_words(error: Error) -> Error {
    match error.kind() {
        ErrorKind::LimitExceeded(limit, most) => {
            let message = format!("more than {most} {}; gdvar reads at most that", limit.unit());
            error.with_kind(ErrorKind::Message(message.into()))
        }
        ErrorKind::TrailingBytes(count) => {
            let bytes = if *count == 1 { "byte follows" } else { "bytes follow" };
            let message = format!("{count} {bytes} the value; expected none");
            error.with_kind(ErrorKind::Message(message.into()))
        }
        ErrorKind::NotCanonical(oddity) | ErrorKind::NotComparable(oddity) if oddity.is_harmless() => {
            let message = format!(
                "non-canonical encoding: {oddity}; engines read it, and so does check --allow-non-canonical"
            );
            error.with_kind(ErrorKind::Message(message.into()))
        }
        _ => error,
    }
}

/// The bytes around `at`, with a mark below the byte at `at`. `bytes` starts at `offset` in the file.
fn excerpt(bytes: &[u8], at: usize, offset: u64) -> String {
    const AROUND: usize = 8;

    let start = at.saturating_sub(AROUND) / 4 * 4;
    let Some(shown) = bytes.get(start..bytes.len().min(at.saturating_add(AROUND))) else {
        return String::new();
    };
    let (mut hex, mut marks) = (String::new(), String::new());
    for index in start..=start + shown.len() {
        let byte = bytes.get(index).filter(|_| index < start + shown.len());
        let _ = match byte {
            Some(byte) => write!(hex, " {byte:02x}"),
            None if index == at => write!(hex, " end"),
            None => Ok(()),
        };
        marks.push_str(if index == at { " ^^" } else { "   " });
    }
    format!("\n  {:>8}:{hex}\n  {:>8} {}", offset + start as u64, "", marks.trim_end())
}
