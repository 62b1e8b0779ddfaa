//! Replaces generated parts of documents, and text in files.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Returns `text` with `content` between the comments `<!-- NAME: begin -->` and `<!-- NAME: end -->`.
///
/// # Errors
/// Fails if the text does not contain both comments.
pub fn replaced(text: &str, name: &str, content: &str) -> Result<String> {
    let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->"));
    let (before, rest) =
        text.split_once(&begin).with_context(|| format!("there is no `{}`", begin.trim()))?;
    let (_, after) = rest.split_once(&end).with_context(|| format!("there is no `{end}`"))?;
    Ok(format!("{before}{begin}{}\n{end}{after}", content.trim_end()))
}

/// Replaces a text that `file` contains exactly once.
///
/// # Errors
/// Fails if `file` does not contain `from` exactly once.
pub fn replace_once(file: &Path, from: &str, to: &str) -> Result<()> {
    let text = fs::read_to_string(file)?;
    ensure!(text.matches(from).count() == 1, "{} does not contain `{from}` exactly once", file.display());
    Ok(fs::write(file, text.replace(from, to))?)
}
