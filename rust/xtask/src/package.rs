//! The zip that users install.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use indicatif::DecimalBytes;
use pulldown_cmark::{Event, Parser, Tag};
use sha2::{Digest, Sha256};

use crate::archive::{self, Entry, Size};
use crate::loadable;
use crate::notices;
use crate::progress::Progress;
use crate::workspace::{EXTENSION, Workspace};

const NOTICES: &str = "THIRD-PARTY-NOTICES.txt";
const DOCUMENTS: &str = "docs/";
/// The parts of `docs/` that the zip leaves out.
const NOT_FOR_USERS: [&str; 4] = ["architecture.md", "gdvar.in/", "gdvar.out/", "testing.md"];

/// The zip to write.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Options {
    /// The path of the zip [default: target/package/fast_variant_codec-VERSION.zip]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Also pack the libraries of these folders, each the addon's `bin` from another machine
    #[arg(long, value_name = "DIR", num_args = 1..)]
    from: Vec<PathBuf>,
    /// Write a zip without libraries that the .gdextension file names
    #[arg(long)]
    partial: bool,
}

/// Writes the zip for tests on this machine, with the libraries that have been built.
pub fn partial(workspace: &Workspace) -> Result<PathBuf> {
    write(workspace, &Options { partial: true, ..Options::default() })
}

/// Writes the zip, and returns its path.
pub fn write(workspace: &Workspace, options: &Options) -> Result<PathBuf> {
    let out = match &options.out {
        Some(out) => std::path::absolute(out)?,
        None => workspace.target.join("package").join(format!("{EXTENSION}-{}.zip", workspace.version)),
    };
    let step = Progress::spinner("packing the addon");
    let addon = workspace.addon();
    let manifest = fs::read_to_string(addon.join(format!("{EXTENSION}.gdextension")))
        .context("the addon has no .gdextension file")?;
    let mut files = BTreeMap::new();
    for file in archive::files_under(&addon)? {
        let name = slashes(&file);
        if ships(&name, &manifest) {
            files.insert(name, addon.join(file));
        }
    }
    for folder in &options.from {
        add_libraries(folder, &manifest, &mut files)?;
    }
    let missing: Vec<String> = libraries(&manifest)
        .into_iter()
        .filter(|library| !files.keys().any(|file| is_in(file, library)))
        .collect();
    ensure!(
        missing.len() < libraries(&manifest).len(),
        "no library has been built for any platform: run `cargo xtask build` first"
    );
    ensure!(
        options.partial || missing.is_empty(),
        "the zip would lack libraries that the .gdextension file names: {}. Name the folders that have them after --from, or \
         accept their absence with --partial",
        missing.join(", ")
    );

    let name = |file: &str| format!("addons/{EXTENSION}/{file}");
    let mut entries = vec![Entry { name: name(NOTICES), bytes: notices::write(workspace)?.into_bytes() }];
    for (file, path) in &files {
        let mut bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        loadable::check(file, &bytes).with_context(|| format!("{} cannot ship", path.display()))?;
        if file == "README.md" {
            bytes = with_platforms(&String::from_utf8(bytes)?, files.keys())?.into_bytes();
        }
        entries.push(Entry { name: name(file), bytes });
    }
    for (file, bytes) in documents(workspace)? {
        entries.push(Entry { name: name(&format!("{DOCUMENTS}{file}")), bytes });
    }
    fs::create_dir_all(out.parent().context("the zip needs a folder")?)?;
    archive::pack(entries, &out)?;
    write_checksum(&out)?;
    step.done();
    Ok(out)
}

/// Adds the libraries of a folder that is another machine's `bin`.
fn add_libraries(folder: &Path, manifest: &str, files: &mut BTreeMap<String, PathBuf>) -> Result<()> {
    let mut is_empty = true;
    for file in archive::files_under(folder)? {
        let (name, path) = (format!("bin/{}", slashes(&file)), folder.join(&file));
        if !ships(&name, manifest) {
            continue;
        }
        is_empty = false;
        if let Some(other) = files.insert(name, path.clone()) {
            ensure!(
                fs::read(&other)? == fs::read(&path)?,
                "{} and {} differ; which one ships?",
                other.display(),
                path.display()
            );
        }
    }
    ensure!(
        !is_empty,
        "{} has no library that the .gdextension file names; expected a copy of the addon's folder `bin`",
        folder.display()
    );
    Ok(())
}

/// The README of the zip, which names the platforms of the libraries in it.
fn with_platforms<'a>(readme: &str, files: impl Iterator<Item = &'a String>) -> Result<String> {
    const PLACE: &str = "<!-- platforms -->";
    ensure!(readme.contains(PLACE), "the addon's README has no place for the platforms: {PLACE}");
    let folders: BTreeSet<&str> =
        files.filter_map(|file| file.strip_prefix("bin/")?.split('/').next()).collect();
    let platforms: Vec<String> = folders.into_iter().map(platform).collect();
    Ok(readme.replace(PLACE, &format!("This zip has libraries for {}.", platforms.join(", "))))
}

/// The platform of a folder in `bin/`, as people write it.
fn platform(folder: &str) -> String {
    let (system, architecture) = folder.split_once('.').unwrap_or((folder, ""));
    let system = match system {
        "linux" => "Linux",
        "windows" => "Windows",
        "macos" => "macOS",
        "android" => "Android",
        "ios" => "iOS",
        "web" => return "the web".to_owned(),
        other => other,
    };
    if architecture.is_empty() { system.to_owned() } else { format!("{system} ({architecture})") }
}

/// The documents for users, by their path in `docs/`. An empty `.gdignore` keeps the engine from importing
/// their pictures.
fn documents(workspace: &Workspace) -> Result<Vec<(String, Vec<u8>)>> {
    let docs = workspace.root.join("docs");
    let mut files: Vec<String> = archive::files_under(&docs)?.iter().map(|file| slashes(file)).collect();
    files.retain(|file| !NOT_FOR_USERS.iter().any(|start| file.starts_with(start)));
    let mut documents = vec![(".gdignore".to_owned(), Vec::new())];
    for file in &files {
        let mut bytes = fs::read(docs.join(file))?;
        if file.ends_with(".md") {
            let is_packed = |target: &str| files.iter().any(|file| file.starts_with(target));
            let text = without_comments(&String::from_utf8(bytes)?);
            bytes = without_links(&text, |target| !is_packed(target)).into_bytes();
        }
        documents.push((file.clone(), bytes));
    }
    Ok(documents)
}

/// Removes HTML comments, which hold tests of examples and mark generated tables.
fn without_comments(text: &str) -> String {
    let mut shown = text.to_owned();
    let events: Vec<_> = Parser::new(text).into_offset_iter().collect();
    for (event, range) in events.into_iter().rev() {
        if event == Event::Start(Tag::HtmlBlock) && text[range.clone()].starts_with("<!--") {
            shown.replace_range(range, "");
        }
    }
    shown
}

/// Replaces a link with its text if `leads_out` returns true for the file that the link names.
fn without_links(text: &str, leads_out: impl Fn(&str) -> bool) -> String {
    let mut shown = text.to_owned();
    let events: Vec<_> = Parser::new(text).into_offset_iter().collect();
    for (event, range) in events.into_iter().rev() {
        let Event::Start(Tag::Link { dest_url, .. }) = event else { continue };
        let file = dest_url.split('#').next().unwrap_or_default();
        if !file.is_empty()
            && !file.contains("://")
            && leads_out(file)
            && let Some(end) = text[range.clone()].rfind("](")
        {
            shown.replace_range(range.clone(), &text[range.start + 1..range.start + end]);
        }
    }
    shown
}

/// Writes the checksum beside a file, in the format of `sha256sum --check`.
fn write_checksum(file: &Path) -> Result<()> {
    let name = file.file_name().context("a file has a name")?.to_string_lossy();
    let sum = hex::encode(Sha256::digest(fs::read(file)?));
    let beside = file.with_file_name(format!("{name}.sha256"));
    Ok(fs::write(beside, format!("{sum}  {name}\n"))?)
}

/// Describes the zip: its size, each library's size before and after packing, and the missing libraries.
///
/// # Errors
/// Fails if the zip cannot be read.
pub fn contents(workspace: &Workspace, zip: &Path) -> Result<String> {
    let manifest = fs::read_to_string(workspace.addon().join(format!("{EXTENSION}.gdextension")))?;
    let held = archive::sizes(zip)?;
    let mut lines = vec![format!("{}: {}", zip.display(), DecimalBytes(fs::metadata(zip)?.len()))];
    for library in libraries(&manifest) {
        let path = format!("addons/{EXTENSION}/{library}");
        let parts: Vec<_> = held.iter().filter(|size| is_in(&size.name, &path)).collect();
        let sum = |size: fn(&Size) -> u64| DecimalBytes(parts.iter().map(|part| size(part)).sum());
        lines.push(if parts.is_empty() {
            format!("  {library}: missing")
        } else {
            format!("  {library}: {}, {} packed", sum(|part| part.bytes), sum(|part| part.packed))
        });
    }
    Ok(lines.join("\n"))
}

/// Returns whether the zip contains this file, given by its path in the addon's folder.
///
/// # Errors
/// Fails if the zip cannot be read.
pub fn contains_file(zip: &Path, file: &str) -> Result<bool> {
    Ok(archive::sizes(zip)?.iter().any(|held| held.name.ends_with(file)))
}

/// The distinct libraries that the `.gdextension` file names.
fn libraries(manifest: &str) -> BTreeSet<String> {
    let named = manifest.split('"').skip(1).step_by(2).filter(|name| name.starts_with("bin/"));
    named.map(str::to_owned).collect()
}

/// Returns whether a file is this library, or part of it: an xcframework is a folder.
fn is_in(file: &str, library: &str) -> bool {
    file.strip_prefix(library).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns whether an addon file ships. A file in `bin/` ships only if `manifest` names it.
fn ships(file: &str, manifest: &str) -> bool {
    if file.starts_with("bin/") {
        return libraries(manifest).iter().any(|library| is_in(file, library));
    }
    let name = file.rsplit('/').next().unwrap_or(file);
    !name.starts_with('.') && !name.ends_with('~') && !name.ends_with(".tmp") && name != NOTICES
}

fn slashes(path: &Path) -> String {
    path.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_outside_the_zip_become_text() {
        let text = "[a](b.md#c), [`d`](../d.md), [e](#f), [g](https://h)";
        let expected = "[a](b.md#c), `d`, [e](#f), [g](https://h)";
        assert_eq!(without_links(text, |file| file.starts_with("..")), expected);
    }
}
