//! Standard output, and files that are written atomically.

use std::env;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anstream::{AutoStream, ColorChoice, StripStream};
use clap::Args;

use crate::failure::{Failure, Outcome};
use crate::input::{self, Key};
use crate::terminal::ForTerminal;

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
