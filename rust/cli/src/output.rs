//! Output: standard output, and files that are written as a whole.

use std::env;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anstream::{AutoStream, ColorChoice, StripStream};
use clap::Args;

use crate::failure::{Failure, Outcome};
use crate::input::{self, Key};

/// Where results are printed.
pub struct Output {
    to: Box<dyn Write>,
    is_coloured: bool,
    is_terminal: bool,
    pager: Option<Child>,
}

impl Output {
    /// Standard output, in large pieces.
    pub fn stdout() -> Self {
        let stdout = io::stdout();
        let is_coloured = AutoStream::choice(&stdout) != ColorChoice::Never;
        let is_terminal = stdout.is_terminal();
        Self { to: Box::new(BufWriter::new(stdout.lock())), is_coloured, is_terminal, pager: None }
    }

    /// A pager, if standard output is a terminal: the program in GDVAR_PAGER or PAGER, or `less`.
    pub fn paged() -> Self {
        let output = Self::stdout();
        let program = ["GDVAR_PAGER", "PAGER"].into_iter().find_map(|name| env::var(name).ok());
        let program = program.unwrap_or_else(|| "less".to_owned());
        let mut words = program.split_whitespace();
        let command = words.next().filter(|program| output.is_terminal && *program != "cat");
        let Some(command) = command else { return output };
        let mut command = Command::new(command);
        command.args(words).stdin(Stdio::piped());
        // As git has it: quit if all fits on the screen, show colours, leave the text on the screen.
        if env::var_os("LESS").is_none() {
            command.env("LESS", "FRX");
        }
        let Ok(mut pager) = command.spawn() else { return output };
        match pager.stdin.take() {
            Some(stdin) => Self { to: Box::new(BufWriter::new(stdin)), pager: Some(pager), ..output },
            None => output,
        }
    }

    /// Anything else, without colours.
    pub fn new(to: impl Write + 'static) -> Self {
        Self { to: Box::new(to), is_coloured: false, is_terminal: false, pager: None }
    }

    /// What takes text with colours, and prints them only where they are wanted.
    pub fn text(&mut self) -> Box<dyn Write + '_> {
        if self.is_coloured { Box::new(&mut self.to) } else { Box::new(StripStream::new(&mut self.to)) }
    }

    /// What takes bytes.
    pub fn bytes(&mut self) -> &mut dyn Write {
        &mut self.to
    }

    /// Whether colours are wanted.
    pub fn is_coloured(&self) -> bool {
        self.is_coloured
    }

    /// Whether results are seen as they come.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Prints what is left, and waits for the pager.
    pub fn finish(mut self) -> Outcome<()> {
        let flushed = self.to.flush().map_err(Failure::output);
        drop(self.to);
        if let Some(mut pager) = self.pager {
            // How it ends is its own affair.
            let _ = pager.wait();
        }
        flushed
    }
}

/// A file to write.
#[derive(Args)]
pub struct Target {
    /// The file to write; without it, standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace a file that exists
    #[arg(long)]
    force: bool,
    /// Compress it, for FileAccess.open_compressed
    #[arg(long)]
    compress: bool,
    /// Encrypt it, for FileAccess.open_encrypted_with_pass
    #[arg(long, value_name = "PASS", conflicts_with = "compress")]
    encrypt: Option<String>,
}

impl Target {
    /// Writes a whole file, so that it is there as a whole or not at all.
    pub fn write(&self, contents: Vec<u8>, out: &mut Output) -> Outcome<()> {
        let wrapped = match (self.compress, &self.encrypt) {
            (true, _) => input::compress(&contents),
            (_, Some(pass)) => input::encrypt(&contents, &Key::of_pass(pass)),
            (false, None) => Ok(contents),
        };
        write(self.output.as_deref(), wrapped.map_err(Failure::File)?, self.force, out)
    }
}

/// Writes a whole file at once, so that it is there as a whole or not at all; standard output for none.
pub fn write(path: Option<&Path>, contents: Vec<u8>, force: bool, out: &mut Output) -> Outcome<()> {
    let Some(path) = path else {
        if out.is_terminal {
            return Err(Failure::File(
                "encoded bytes are not for a terminal: name a file with --output".to_owned(),
            ));
        }
        return out.bytes().write_all(&contents).map_err(Failure::output);
    };
    let name = path.display();
    if path.exists() && !force {
        return Err(Failure::File(format!("{name}: exists already; --force replaces it")));
    }
    let place = variant_disk::resolved(path.to_path_buf()).map_err(|error| Failure::file(&name, &error))?;
    variant_disk::replace(&place, &[contents]).map_err(|failure| Failure::File(format!("{name}: {failure}")))
}
