//! Output: standard output, and files that are written as a whole.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use anstream::{AutoStream, ColorChoice, StripStream};

use clap::Args;

use crate::failure::{Failure, Outcome};
use crate::input::{self, Key};

/// Standard output in large pieces, without colours where they are not wanted.
pub fn coloured() -> Box<dyn io::Write> {
    let stdout = io::stdout();
    let choice = AutoStream::choice(&stdout);
    let buffered: Box<dyn io::Write> = Box::new(io::BufWriter::new(stdout.lock()));
    if choice == ColorChoice::Never { Box::new(StripStream::new(buffered)) } else { buffered }
}

/// Prints a text.
pub fn text(text: &[u8]) -> Outcome<()> {
    let mut out = io::stdout().lock();
    out.write_all(text).and_then(|()| out.flush()).map_err(Failure::output)
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
    pub fn write(&self, contents: Vec<u8>) -> Outcome<()> {
        let wrapped = match (self.compress, &self.encrypt) {
            (true, _) => input::compress(&contents),
            (_, Some(pass)) => input::encrypt(&contents, &Key::of_pass(pass)),
            (false, None) => Ok(contents),
        };
        write(self.output.as_deref(), wrapped.map_err(Failure::File)?, self.force)
    }
}

/// Writes a whole file at once, so that it is there as a whole or not at all; standard output for none.
pub fn write(path: Option<&Path>, contents: Vec<u8>, force: bool) -> Outcome<()> {
    let Some(path) = path else {
        let mut out = io::stdout().lock();
        if out.is_terminal() {
            return Err(Failure::File(
                "encoded bytes are not for a terminal: name a file with --output".to_owned(),
            ));
        }
        return out.write_all(&contents).and_then(|()| out.flush()).map_err(Failure::output);
    };
    let name = path.display();
    if path.exists() && !force {
        return Err(Failure::File(format!("{name}: exists already; --force replaces it")));
    }
    let place = variant_disk::resolved(path.to_path_buf()).map_err(|error| Failure::file(&name, &error))?;
    variant_disk::replace(&place, &[contents]).map_err(|failure| Failure::File(format!("{name}: {failure}")))
}
