//! Paths: resolves links, and refuses the names that no file may have.

use std::io;
use std::path::{Path, PathBuf};

use tempfile::Builder;

use crate::access;
use crate::failure::Failure;

/// The name of a temporary file: prefix, random letters and digits, suffix. It does not contain the name of the final
/// file, which may already have the maximum length.
const PREFIX: &str = ".fast-variant-codec-";
const RANDOM: usize = 16;
const SUFFIX: &str = ".tmp";

/// The maximum number of links followed, as on Linux.
const MAX_LINKS: usize = 40;

/// The canonical path of a file, with links resolved; the file need not exist.
///
/// # Errors
/// Fails if there are too many links, as in a loop, or the system cannot resolve the path.
pub fn resolved(mut place: PathBuf) -> io::Result<PathBuf> {
    for _ in 0..MAX_LINKS {
        // On Windows, resolving the name of a device would access the device.
        if !is_named_as_device(&place) && !is_ambiguous(&place) {
            match place.canonicalize() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                // Paths on some Windows drives cannot be canonicalized, nor can long paths in wine.
                Err(_) if cfg!(windows) && place.metadata().is_ok() => return std::path::absolute(place),
                found => return found,
            }
            // A pipe or a deleted file that is reached through /proc exists without a path.
            if place.metadata().is_ok() {
                return Ok(place);
            }
        }
        let (Some(Ok(folder)), Some(name)) = (place.parent().map(in_full), place.file_name()) else {
            return Ok(place);
        };
        if is_ambiguous(&place) {
            return Ok(place);
        }
        place = folder.join(name);
        let Ok(next) = place.read_link() else { return Ok(place) };
        place = folder.join(next);
    }
    Err(io::Error::other("too many levels of symbolic links"))
}

/// Whether the system may open a different file from the one that the folder lists under this name.
fn is_ambiguous(place: &Path) -> bool {
    access::is_ambiguous(&place.as_os_str().to_string_lossy())
}

fn is_named_as_device(place: &Path) -> bool {
    place.file_name().is_some_and(|name| access::is_device(&name.to_string_lossy()))
}

fn in_full(folder: &Path) -> io::Result<PathBuf> {
    // The parent of a bare name is the empty path, which means the current folder.
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }.canonicalize()
}

/// Fails for names that must not be written to.
pub(crate) fn refuse_names(place: &Path) -> Result<(), Failure> {
    if place.file_name().is_some_and(|name| is_temporary_name(&name.to_string_lossy())) {
        return Err(Failure::ReservedName);
    }
    if is_named_as_device(place) {
        return Err(Failure::DeviceName);
    }
    if is_ambiguous(place) {
        return Err(Failure::AmbiguousName);
    }
    Ok(())
}

pub(crate) fn is_temporary_name(name: &str) -> bool {
    name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX)).is_some_and(|random| {
        random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Makes files with the names of temporary files.
pub(crate) fn temporary_files() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(PREFIX).rand_bytes(RANDOM).suffix(SUFFIX);
    builder
}
