//! Output: standard output, and files that are written as a whole.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

use anstream::{AutoStream, ColorChoice, StripStream};

use crate::failure::{Failure, Outcome};

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

/// Writes a whole file at once, so that it is there as a whole or not at all; standard output for none.
pub fn write(path: Option<&Path>, parts: &[Vec<u8>], force: bool) -> Outcome<()> {
    let Some(path) = path else {
        let mut out = io::stdout().lock();
        if out.is_terminal() {
            return Err(Failure::File(
                "encoded bytes are not for a terminal: name a file with --output".to_owned(),
            ));
        }
        let written = parts.iter().try_for_each(|part| out.write_all(part));
        return written.and_then(|()| out.flush()).map_err(Failure::output);
    };
    let name = path.display();
    if path.exists() && !force {
        return Err(Failure::File(format!("{name}: exists already; --force replaces it")));
    }
    let place = variant_disk::resolved(path.to_path_buf()).map_err(|error| Failure::file(&name, &error))?;
    variant_disk::replace(&place, parts).map_err(|failure| Failure::File(format!("{name}: {failure}")))
}
