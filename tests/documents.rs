//! Keeps the Markdown documents of the repository whole: every link, anchor and repository path leads somewhere, every
//! document can be reached from the README, and the README is short. No network: links to the web are not followed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// The README as a whole, code and tables included, as `wc -w` counts it.
const README_WORDS: usize = 1300;
/// A code span with such an ending is the path of a file if it has a folder in it.
const ENDINGS: [&str; 10] = [".rs", ".gd", ".md", ".toml", ".tsv", ".json", ".proto", ".py", ".supp", ".yml"];
/// Not part of the repository.
const BUILT: [&str; 4] = ["target", "bin", ".git", ".godot"];

/// What a document says of other files, each with its line.
#[derive(Debug, Default)]
struct Document {
    links: Vec<(usize, String)>,
    paths: Vec<(usize, String)>,
    anchors: BTreeSet<String>,
}

impl Document {
    fn new(text: &str) -> Self {
        let mut document = Self::default();
        let mut heading: Option<String> = None;
        let mut slugs = BTreeMap::new();
        for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
            let line = 1 + text[..range.start].matches('\n').count();
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    document.links.push((line, dest_url.into_string()));
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    let title = heading.take().unwrap_or_default();
                    document.anchors.insert(unique(&mut slugs, slug(&title)));
                }
                Event::Text(words) => {
                    if let Some(title) = &mut heading {
                        title.push_str(&words);
                    }
                }
                Event::Code(code) => {
                    if let Some(title) = &mut heading {
                        title.push_str(&code);
                    }
                    document.paths.push((line, code.into_string()));
                }
                _ => {}
            }
        }
        document
    }
}

/// GitHub's anchor for a heading: lower case, spaces as hyphens, and no other punctuation than `-` and `_`.
fn slug(title: &str) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The second heading with the same anchor gets the suffix `-1`, and so on.
fn unique(slugs: &mut BTreeMap<String, usize>, slug: String) -> String {
    let before = slugs.entry(slug.clone()).or_default();
    let anchor = if *before == 0 { slug } else { format!("{slug}-{before}") };
    *before += 1;
    anchor
}

/// The target of a link in the document `from`, as a path from the root of the repository; `None` if it leads out of it.
fn resolved(from: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    let folder = Path::new(from).parent().unwrap_or(Path::new(""));
    for part in folder.components().chain(Path::new(target).components()) {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop()?;
            }
            _ => return None,
        }
    }
    Some(parts.join("/"))
}

/// The path that a code span names, if it names one in this repository.
fn named_path<'a>(code: &'a str, roots: &BTreeSet<String>) -> Option<&'a str> {
    let (first, _) = code.split_once('/')?;
    let is_plain =
        !code.contains("://") && !code.contains(|c: char| c.is_whitespace() || "*<>…{$".contains(c));
    let is_file = ENDINGS.iter().any(|ending| code.ends_with(ending));
    (is_plain && (roots.contains(first) || (is_file && !first.is_empty() && !BUILT.contains(&first))))
        .then_some(code)
}

/// Whether a code span is the bare name of a source file, as documents call files that a search finds.
fn is_source_name(code: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    code.strip_suffix(".rs").is_some_and(|stem| !stem.is_empty() && stem.chars().all(is_name))
}

/// Everything that leads nowhere, as `document:line: what`; `sources` are the names of the source files.
fn problems(
    documents: &BTreeMap<String, Document>,
    roots: &BTreeSet<String>,
    sources: &BTreeSet<String>,
    exists: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, document) in documents {
        let mut problem = |line: &usize, what: String| problems.push(format!("{name}:{line}: {what}"));
        for (line, link) in &document.links {
            if ["https://", "http://", "mailto:"].iter().any(|scheme| link.starts_with(scheme)) {
                continue;
            }
            let (path, anchor) =
                link.split_once('#').map_or((&**link, None), |(path, anchor)| (path, Some(anchor)));
            let target = if path.is_empty() { Some(name.clone()) } else { resolved(name, path) };
            let Some(target) = target.filter(|target| documents.contains_key(target) || exists(target))
            else {
                problem(line, format!("no file for the link {link}"));
                continue;
            };
            let Some(anchor) = anchor else { continue };
            if !documents.get(&target).is_some_and(|document| document.anchors.contains(anchor)) {
                problem(line, format!("no heading for the link {link}"));
            }
        }
        for (line, code) in &document.paths {
            if let Some(path) = named_path(code, roots).filter(|path| !exists(path)) {
                problem(line, format!("no file `{path}`"));
            }
            if is_source_name(code) && !sources.contains(code) {
                problem(line, format!("no source file is called `{code}`"));
            }
        }
    }
    problems
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All files of the repository with one of these endings, as paths from its root. Links are not followed.
fn files(endings: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).expect("a folder") {
            let entry = entry.expect("an entry");
            let name = entry.file_name().into_string().expect("names are Unicode");
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            let kind = entry.file_type().expect("its type");
            if kind.is_dir() && !BUILT.contains(&&*name) {
                folders.push(path);
            } else if kind.is_file() && endings.iter().any(|ending| name.ends_with(ending)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn documents() -> BTreeMap<String, Document> {
    files(&[".md"]).into_iter().map(|file| (file.clone(), Document::new(&read(&file)))).collect()
}

/// The names of all Rust files, without their folders.
fn sources() -> BTreeSet<String> {
    files(&[".rs"]).iter().filter_map(|path| path.rsplit('/').next().map(str::to_owned)).collect()
}

/// The names at the root of the repository.
fn roots() -> BTreeSet<String> {
    let entries = fs::read_dir(root()).expect("the repository");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("Unicode"));
    names.filter(|name| !BUILT.contains(&&**name)).collect()
}

#[test]
fn every_link_anchor_and_path_leads_somewhere() {
    let documents = documents();
    assert!(documents.len() > 10, "{:?}", documents.keys());
    assert!(documents["docs/format.md"].anchors.contains("5-text-string-and-stringname"));
    let problems = problems(&documents, &roots(), &sources(), |path| root().join(path).exists());
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn every_document_can_be_reached_from_the_readme() {
    let documents = documents();
    let mut reached = BTreeSet::new();
    let mut open = vec!["README.md".to_owned()];
    while let Some(name) = open.pop() {
        if let Some(document) = documents.get(&name).filter(|_| reached.insert(name.clone())) {
            let links = document.links.iter().filter_map(|(_, link)| link.split('#').next());
            open.extend(links.filter_map(|path| resolved(&name, path)));
        }
    }
    // What users find in the addon, which is installed without the rest of the repository.
    let lost = documents.keys().filter(|name| !reached.contains(*name) && !name.starts_with("addons/"));
    assert_eq!(lost.collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn documents_named_in_the_sources_exist() {
    let mut named = 0;
    // This file has names that lead nowhere on purpose.
    let files = files(&[".rs", ".gd", ".toml", ".yml"]).into_iter();
    for file in files.filter(|file| !file.ends_with("tests/documents.rs")) {
        let text = read(&file);
        for (start, _) in text.match_indices("docs/") {
            let is_name = |c: char| c.is_ascii_alphanumeric() || "-_/.".contains(c);
            let before = text[..start].chars().next_back();
            let path =
                &text[start..start + text[start..].find(|c| !is_name(c)).unwrap_or(text.len() - start)];
            // The examples in tests are called `a.md`.
            if before.is_some_and(is_name) || !path.ends_with(".md") || path.ends_with("/a.md") {
                continue;
            }
            assert!(root().join(path).is_file(), "{file} names {path}");
            named += 1;
        }
    }
    assert!(named > 20, "{named} documents are named");
}

/// Settings and environment variables, but for those that only tests set.
#[test]
fn every_setting_has_its_row() {
    const FOR_TESTS: [&str; 2] = ["FAST_VARIANT_CODEC_WRONG_FACT", "FAST_VARIANT_CODEC_PANIC"];
    let document = read("docs/settings.md");
    let [file] = &files(&["settings.rs"])[..] else { panic!("not one settings.rs") };
    let source = read(file);
    let quoted = source.split('"').skip(1).step_by(2);
    let names = quoted
        .filter(|text| text.starts_with("fast_variant_codec/") || text.starts_with("FAST_VARIANT_CODEC_"))
        .filter(|name| !FOR_TESTS.contains(name));
    let names: BTreeSet<&str> = names.collect();
    assert_eq!(names.len(), 6, "{names:?}");
    for name in names {
        assert!(document.contains(&format!("`{name}`")), "docs/settings.md lacks {name}");
    }
}

/// Fails if a speedup in the README is not the one in `docs/benchmarks.md`, for encoding and decoding with all threads.
#[test]
fn the_readme_quotes_the_benchmarks() {
    let benchmarks = read("docs/benchmarks.md");
    let rows: Vec<Vec<&str>> =
        benchmarks.lines().map(|line| line.split('|').map(str::trim).collect()).collect();
    let readme = read("README.md");
    let mut quoted = 0;
    for line in readme.lines().filter(|line| line.starts_with('|')) {
        let Some((numbers, workload)) = line.split_once("`cargo xtask bench --only \"") else { continue };
        let (workload, _) = workload.split_once('"').expect("a workload in quotes");
        let row = rows.iter().find(|cells| cells.len() == 8 && cells[1] == workload);
        let [_, _, _, _, encode, _, decode, _] = row.map(Vec::as_slice).unwrap_or_default() else {
            panic!("docs/benchmarks.md has no row {workload}")
        };
        let cells: Vec<&str> = numbers.split('|').map(str::trim).collect();
        assert_eq!(cells[2..4], [*encode, *decode], "{workload}");
        quoted += 1;
    }
    assert_eq!(quoted, 5);
}

#[test]
fn the_readme_is_short() {
    let words = read("README.md").split_whitespace().count();
    assert!(words <= README_WORDS, "README.md has {words} words");
}

/// Each way in which a document can be wrong, put into it on purpose.
#[test]
fn what_leads_nowhere_is_noticed() {
    let good = "# A *title*: `x_y` & more\n\n## Same\n\n## Same\n\n[a](docs/b.md#part-1) [b](#same-1) [c](https://example.org/#x) \
                ![d](d.png) `rust/a.rs` `a.rs` `rust` `*.rs` `res://a.gd`\n\n| [e](#a-title-x_y--more) |\n|---|\n| `suites/a.gd` |\n";
    let other = "# Part 1\n\n[up](../README.md) [code](../rust/a.rs)\n";
    let roots = BTreeSet::from(["rust".to_owned()]);
    let sources = BTreeSet::from(["a.rs".to_owned()]);
    let files = ["d.png", "rust/a.rs", "suites/a.gd"];
    let check = |readme: &str, other: &str| {
        let documents = [("README.md", readme), ("docs/b.md", other)];
        let documents = documents.map(|(name, text)| (name.to_owned(), Document::new(text))).into();
        problems(&documents, &roots, &sources, |path| files.contains(&path))
    };
    assert_eq!(check(good, other), Vec::<String>::new());
    for (from, to, problem) in [
        ("docs/b.md#part-1", "docs/c.md#part-1", "README.md:7: no file for the link docs/c.md#part-1"),
        ("docs/b.md#part-1", "docs/b.md#part-2", "README.md:7: no heading for the link docs/b.md#part-2"),
        ("docs/b.md#part-1", "rust/a.rs#part-1", "README.md:7: no heading for the link rust/a.rs#part-1"),
        ("docs/b.md#part-1", "../b.md", "README.md:7: no file for the link ../b.md"),
        ("(#same-1)", "(#same-2)", "README.md:7: no heading for the link #same-2"),
        ("d.png", "e.png", "README.md:7: no file for the link e.png"),
        ("`rust/a.rs`", "`rust/b`", "README.md:7: no file `rust/b`"),
        ("`a.rs`", "`b.rs`", "README.md:7: no source file is called `b.rs`"),
        ("#a-title", "#title", "README.md:9: no heading for the link #title-x_y--more"),
        ("suites/a.gd", "suites/b.gd", "README.md:11: no file `suites/b.gd`"),
    ] {
        assert!(good.contains(from), "{from}");
        assert_eq!(check(&good.replacen(from, to, 1), other), [problem]);
    }
    let moved = other.replace("../rust", "rust");
    assert_eq!(check(good, &moved), ["docs/b.md:3: no file for the link rust/a.rs"]);
}
