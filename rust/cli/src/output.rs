//! Standard output, and files that are written atomically.

use std::env;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anstream::{AutoStream, ColorChoice, StripStream};
use clap::Args;

use crate::failure::{Failure, Outcome};
use crate::input::{self, Key};

/// A writer for results.
pub struct Output {
    to: Box<dyn Write>,
    is_coloured: bool,
    is_terminal: bool,
    pager: Option<Child>,
}

impl Output {
    /// Standard output, buffered.
    pub fn stdout() -> Self {
        let stdout = io::stdout();
        let is_coloured = AutoStream::choice(&stdout) != ColorChoice::Never;
        let is_terminal = stdout.is_terminal();
        let to = BufWriter::new(stdout.lock());
        let to: Box<dyn Write> = if is_terminal { Box::new(ForTerminal::of(to)) } else { Box::new(to) };
        Self { to, is_coloured, is_terminal, pager: None }
    }

    /// A pager if standard output is a terminal: the program in GDVAR_PAGER or PAGER, or `less`. Otherwise,
    /// standard output.
    pub fn paged() -> Self {
        let output = Self::stdout();
        let program = ["GDVAR_PAGER", "PAGER"].into_iter().find_map(|name| env::var(name).ok());
        let program = program.unwrap_or_else(|| "less".to_owned());
        let mut words = program.split_whitespace();
        let command = words.next().filter(|program| output.is_terminal && *program != "cat");
        let Some(command) = command else { return output };
        let mut command = Command::new(command);
        command.args(words).stdin(Stdio::piped());
        // As git does: quit if all fits on the screen, show colours, leave the text on the screen.
        if env::var_os("LESS").is_none() {
            command.env("LESS", "FRX");
        }
        let Ok(mut pager) = command.spawn() else { return output };
        match pager.stdin.take() {
            Some(stdin) => {
                Self { to: Box::new(ForTerminal::of(BufWriter::new(stdin))), pager: Some(pager), ..output }
            }
            None => output,
        }
    }

    /// An output to any other writer, without colours.
    pub fn new(to: impl Write + 'static) -> Self {
        Self { to: Box::new(to), is_coloured: false, is_terminal: false, pager: None }
    }

    /// A writer for coloured text, which strips colours that are not wanted.
    pub fn text(&mut self) -> Box<dyn Write + '_> {
        if self.is_coloured { Box::new(&mut self.to) } else { Box::new(StripStream::new(&mut self.to)) }
    }

    /// A writer for bytes.
    pub fn bytes(&mut self) -> &mut dyn Write {
        &mut self.to
    }

    /// Whether colours are wanted.
    pub fn is_coloured(&self) -> bool {
        self.is_coloured
    }

    /// Whether standard output is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Flushes the output and waits for the pager.
    pub fn finish(mut self) -> Outcome<()> {
        let flushed = self.to.flush().map_err(Failure::output);
        drop(self.to);
        if let Some(mut pager) = self.pager {
            // The exit code of the pager does not matter.
            let _ = pager.wait();
        }
        flushed
    }
}

/// Whether a terminal acts on this character instead of showing it: control characters except newline and
/// tab, and bidirectional controls.
fn is_unprintable(char: char) -> bool {
    let changes_order = matches!(char, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    changes_order || char.is_control() && char != '\n' && char != '\t'
}

/// The text with escapes for characters on which a terminal acts.
pub fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for char in text.chars() {
        if is_unprintable(char) {
            printable += &format!("\\u{:04x}", u32::from(char));
        } else {
            printable.push(char);
        }
    }
    printable
}

/// Escapes characters on which a terminal acts, except characters below U+0020: escape sequences for colours
/// start with U+001B. The escapes mean the same in JSON.
pub struct ForTerminal<W> {
    to: W,
    /// The first bytes of an incomplete character.
    begun: Vec<u8>,
}

impl<W: Write> ForTerminal<W> {
    /// Passes everything on to `to`.
    pub fn of(to: W) -> Self {
        Self { to, begun: Vec::new() }
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        let mut rest = text;
        while let Some(at) = rest.find(|char| char >= '\u{7F}' && is_unprintable(char)) {
            let (before, from) = rest.split_at(at);
            self.to.write_all(before.as_bytes())?;
            let mut chars = from.chars();
            if let Some(char) = chars.next() {
                write!(self.to, "\\u{:04x}", u32::from(char))?;
            }
            rest = chars.as_str();
        }
        self.to.write_all(rest.as_bytes())
    }
}

impl<W: Write> Write for ForTerminal<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let joined;
        let mut rest = bytes;
        if !self.begun.is_empty() {
            joined = [&std::mem::take(&mut self.begun), bytes].concat();
            rest = &joined;
        }
        loop {
            let (text, invalid) = match std::str::from_utf8(rest) {
                Ok(text) => (text, None),
                Err(error) => {
                    let (valid, _) = rest.split_at(error.valid_up_to());
                    (std::str::from_utf8(valid).unwrap_or_default(), Some(error.error_len()))
                }
            };
            self.put(text)?;
            rest = rest.get(text.len()..).unwrap_or_default();
            match invalid {
                None => return Ok(bytes.len()),
                Some(None) => {
                    self.begun = rest.to_vec();
                    return Ok(bytes.len());
                }
                Some(Some(count)) => {
                    self.to.write_all("\u{FFFD}".as_bytes())?;
                    rest = rest.get(count..).unwrap_or_default();
                }
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// A file to write.
#[derive(Args)]
pub struct Target {
    /// The file to write; by default or for `-`, standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace a file that exists
    #[arg(long)]
    force: bool,
    /// Compress the output, for FileAccess.open_compressed
    #[arg(long)]
    compress: bool,
    /// Encrypt the output, for open_encrypted_with_pass of FileAccess, or of Godot 3's File
    #[arg(long, value_name = "PASS", conflicts_with = "compress")]
    encrypt: Option<String>,
}

impl Target {
    /// Compresses or encrypts the contents if the user asks for it, and writes the file as [`write()`] does.
    /// Godot 3 has its own encryption.
    pub fn write(&self, contents: Vec<u8>, for_godot3: bool, out: &mut Output) -> Outcome<()> {
        let wrapped = match (self.compress, &self.encrypt) {
            (true, _) => input::compress(&contents),
            (_, Some(pass)) if for_godot3 => Ok(input::encrypt_for_godot3(&contents, &Key::of_pass(pass))),
            (_, Some(pass)) => input::encrypt(&contents, &Key::of_pass(pass)),
            (false, None) => Ok(contents),
        };
        write(self.output.as_deref(), wrapped.map_err(Failure::File)?, self.force, out)
    }
}

/// Writes a file atomically. Writes to standard output if `path` is `None` or `-`.
pub fn write(path: Option<&Path>, contents: Vec<u8>, force: bool, out: &mut Output) -> Outcome<()> {
    let Some(path) = path.filter(|path| *path != Path::new("-")) else {
        if out.is_terminal {
            return Err(Failure::File(
                "encoded bytes are not for a terminal: name a file with --output".to_owned(),
            ));
        }
        let out = out.bytes();
        return out.write_all(&contents).and_then(|()| out.flush()).map_err(Failure::output);
    };
    let name = input::name_of(path);
    if path.as_os_str().to_string_lossy().ends_with(std::path::is_separator) {
        return Err(Failure::File(format!("{name}: a folder, not a file")));
    }
    let exists = || Failure::File(format!("{name}: exists already; --force replaces it"));
    if path.exists() && !force {
        return Err(exists());
    }
    let place = variant_disk::resolved(path.to_path_buf()).map_err(|error| Failure::file(&name, &error))?;
    let write = if force { variant_disk::replace } else { variant_disk::create };
    write(&place, &[contents]).map_err(|failure| match failure {
        // Another program has created the file since the check.
        variant_disk::Failure::System(error) if error.kind() == io::ErrorKind::AlreadyExists => exists(),
        failure => Failure::File(format!("{name}: {failure}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() -> io::Result<()> {
        let text = "a\u{1b}[31mé\n\u{7f}\u{9b}2J\u{202e}b\u{2066}\u{200f}漢🎲";
        let expected = "a\u{1b}[31mé\n\\u007f\\u009b2J\\u202eb\\u2066\\u200f漢🎲";
        // A split inside a character must not matter.
        for size in 1..=text.len() {
            let mut terminal = ForTerminal::of(Vec::new());
            text.as_bytes().chunks(size).try_for_each(|piece| terminal.write_all(piece))?;
            assert_eq!(String::from_utf8_lossy(&terminal.to), expected);
        }
        let mut terminal = ForTerminal::of(Vec::new());
        terminal.write_all(b"a\xff\x9bb")?;
        assert_eq!(String::from_utf8_lossy(&terminal.to), "a\u{FFFD}\u{FFFD}b");
        assert_eq!(printable("a\u{1b}]0;\u{7}\tb\n"), "a\\u001b]0;\\u0007\tb\n");
        Ok(())
    }
}
