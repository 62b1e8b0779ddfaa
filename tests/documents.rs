//! Every link, anchor and repository path in the Markdown documents is valid, and every document outside of
//! `addons` is the target of a link. Web links are not checked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// The file extensions by which a code span is recognised as a file path.
const ENDINGS: [&str; 9] = [".rs", ".gd", ".md", ".toml", ".tsv", ".json", ".proto", ".py", ".yml"];
/// Folders that are not part of the repository.
const BUILT: [&str; 4] = ["target", "bin", ".git", ".godot"];

/// The references of a document with their lines, and the anchors of its headings.
#[derive(Debug, Default)]
struct Document {
    links: Vec<(usize, String)>,
    code: Vec<(usize, String)>,
    anchors: BTreeSet<String>,
}

impl Document {
    fn new(text: &str) -> Self {
        let mut document = Self::default();
        let mut heading: Option<String> = None;
        for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
            let line = 1 + text[..range.start].matches('\n').count();
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    document.links.push((line, dest_url.into_string()));
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    let slug = slug(&heading.take().unwrap_or_default());
                    let numbered = (1..).map(|number| format!("{slug}-{number}"));
                    let mut anchors = std::iter::once(slug.clone()).chain(numbered);
                    document.anchors.extend(anchors.find(|anchor| !document.anchors.contains(anchor)));
                }
                Event::Text(text) => heading.iter_mut().for_each(|heading| heading.push_str(&text)),
                Event::Code(code) => {
                    heading.iter_mut().for_each(|heading| heading.push_str(&code));
                    document.code.push((line, code.into_string()));
                }
                _ => {}
            }
        }
        document
    }
}

/// GitHub's anchor for a heading: lower case, hyphens for spaces, and no punctuation except `-` and `_`.
fn slug(title: &str) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The target of a link in the document `from`, as a path from the repository root; `None` if it is outside.
fn resolved(from: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    let folder = Path::new(from).parent().unwrap_or(Path::new(""));
    for part in folder.components().chain(Path::new(target).components()) {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::ParentDir => drop(parts.pop()?),
            _ => {}
        }
    }
    Some(parts.join("/"))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All files of the repository, as paths from its root.
fn files() -> BTreeSet<String> {
    let (mut found, mut folders) = (BTreeSet::new(), vec![String::new()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).expect("a folder") {
            let entry = entry.expect("an entry");
            let name = entry.file_name().into_string().expect("names are Unicode");
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            match entry.file_type().expect("its type") {
                kind if kind.is_dir() && !BUILT.contains(&&*name) => folders.push(path),
                kind if kind.is_file() => drop(found.insert(path)),
                _ => {}
            }
        }
    }
    found
}

#[test]
fn links_anchors_and_paths_exist() {
    let files = files();
    let read =
        |file: &String| (file.clone(), Document::new(&fs::read_to_string(root().join(file)).expect("text")));
    let documents: BTreeMap<_, _> = files.iter().filter(|file| file.ends_with(".md")).map(read).collect();
    assert!(documents["docs/format.md"].anchors.contains("5-text-string-and-stringname"));
    let exists = |path: &str| root().join(path).exists();
    let is_named = |name: &str| files.iter().any(|file| file.rsplit('/').next() == Some(name));
    let mut problems = Vec::new();
    let mut reached = BTreeSet::from(["README.md".to_owned()]);
    for (name, document) in &documents {
        let is_web = |link: &&(usize, String)| link.1.contains("://") || link.1.starts_with("mailto:");
        for (line, link) in document.links.iter().filter(|link| !is_web(link)) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { Some(name.clone()) } else { resolved(name, path) };
            let page = target.as_ref().and_then(|target| documents.get(target));
            if !target.as_deref().is_some_and(exists) {
                problems.push(format!("{name}:{line}: no file for the link {link}"));
            } else if !anchor.is_empty() && !page.is_some_and(|page| page.anchors.contains(anchor)) {
                problems.push(format!("{name}:{line}: no heading for the link {link}"));
            }
            reached.extend(target.filter(|target| target != name));
        }
        for (line, code) in &document.code {
            let is_plain = !code.contains(|c: char| c.is_whitespace() || "*<>…{$:".contains(c));
            let is_file = is_plain && ENDINGS.iter().any(|ending| code.ends_with(ending));
            let is_wrong = match code.split_once('/') {
                Some(("", _)) => false,
                Some((folder, _)) => {
                    is_plain && (is_file || exists(folder)) && !BUILT.contains(&folder) && !exists(code)
                }
                None => is_file && code.ends_with(".rs") && code != ".rs" && !is_named(code),
            };
            if is_wrong {
                problems.push(format!("{name}:{line}: no file `{code}`"));
            }
        }
    }
    // Users install the addon without the repository, so no link needs to lead to the addon's documents.
    let is_lost = |name: &&String| !reached.contains(*name) && !name.starts_with("addons/");
    problems.extend(documents.keys().filter(is_lost).map(|name| format!("no link leads to {name}")));
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn each_class_has_an_icon() {
    let manifest = "addons/fast_variant_codec/fast_variant_codec.gdextension";
    let manifest = fs::read_to_string(root().join(manifest)).expect("text");
    for file in fs::read_dir(root().join("rust/extension/src/api")).expect("a folder") {
        let code = fs::read_to_string(file.expect("a file").path()).expect("text");
        for class in
            code.split("#[derive(GodotClass)]").skip(1).filter_map(|rest| rest.split("pub struct ").nth(1))
        {
            let name = class.split([' ', ';']).next().expect("a name");
            assert!(manifest.contains(&format!("\n{name} = \"icons/")), "{name} has no icon");
        }
    }
}
