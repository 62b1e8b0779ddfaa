//! Runs the GDScript of the documentation in the real engine.
//!
//! A fenced block of GDScript is a function body, or a whole script if it begins with `extends`. A script
//! that extends SceneTree runs by itself. HTML comments and output blocks complete the other blocks:
//!
//! - `<!-- set-up` before the block holds declarations outside the function;
//! - `<!-- then` after the block holds code that runs after the block in the same function. In this code,
//!   `snippet` is an instance of the whole script, and is in the tree if it is a Node;
//! - a fenced block `text output` after the block holds the expected output.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

use crate::archive;
use crate::judge::{self, Tally};
use crate::run::{self, Echo};
use crate::trial::{RUN_LIMIT, Trial};
use crate::workspace::{EXTENSION, Workspace};

/// The timeout of the example, which reads one file.
const EXAMPLE_LIMIT: Duration = Duration::from_secs(60);

/// A block of GDScript, with the parts that complete it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Snippet {
    /// The document, and the first line of the block.
    place: (PathBuf, usize),
    code: String,
    set_up: String,
    then: String,
    output: Option<String>,
}

/// Runs all snippets in the project of a trial, and judges their output.
pub fn check(trial: &Trial<'_>) -> Result<Tally> {
    let snippets = all(trial.workspace)?;
    write(&snippets, &trial.folder.path().join("snippets"))?;
    let project = trial.project()?;
    let run = |script: &str| {
        let outcome = run::watch(&mut project.script(script, &[]), Echo::Nothing, RUN_LIMIT)?;
        judge::clean(&outcome).with_context(|| format!("the snippets printed:\n{}", outcome.log))?;
        anyhow::Ok(outcome)
    };
    for program in snippets.iter().filter_map(Snippet::program) {
        run(&format!("res://snippets/{program}"))?;
    }
    let outcome = run("res://snippets.gd")?;
    let judged = compare(&snippets, &outcome.stdout)?;
    Ok(judged + judge_example(trial.workspace, &trial.folder.path().join("characters.dat"))?)
}

/// All snippets of the documents and of the editor's help.
///
/// # Errors
/// Fails if a document cannot be read, or if a part belongs to no snippet.
fn all(workspace: &Workspace) -> Result<Vec<Snippet>> {
    let addon = format!("addons/{EXTENSION}/README.md");
    let mut files = vec![PathBuf::from("README.md"), PathBuf::from(addon)];
    for folder in ["docs", "rust/extension/src"].map(Path::new) {
        files
            .extend(archive::files_under(&workspace.root.join(folder))?.iter().map(|file| folder.join(file)));
    }
    let mut snippets = Vec::new();
    for file in files {
        let read = || fs::read_to_string(workspace.root.join(&file));
        let text = match file.extension().and_then(|extension| extension.to_str()) {
            Some("md") => read()?,
            Some("rs") => help(&read()?),
            _ => continue,
        };
        snippets.extend(extract(&file, &text)?);
    }
    Ok(snippets)
}

/// The doc comments of a source file. All other lines of the file become empty lines.
fn help(source: &str) -> String {
    let documented = source.lines().map(|line| line.trim_start().strip_prefix("///").unwrap_or_default());
    documented.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

fn extract(file: &Path, text: &str) -> Result<Vec<Snippet>> {
    let mut snippets: Vec<Snippet> = Vec::new();
    let mut set_up = None;
    let mut open = None;
    for (event, range) in Parser::new(text).into_offset_iter() {
        let line = 1 + text[..range.start].matches('\n').count();
        let place = || format!("{}:{line}", file.display());
        let last = snippets.last_mut().with_context(|| format!("{}: there is no snippet before", place()));
        match event {
            Event::Start(Tag::HtmlBlock) => {
                let comment =
                    text[range].trim().strip_prefix("<!--").and_then(|text| text.strip_suffix("-->"));
                match comment.and_then(|text| text.trim_start().split_once('\n')) {
                    Some(("set-up", code)) => set_up = Some(code.to_owned()),
                    Some(("then", code)) => code.clone_into(&mut last?.then),
                    _ => {}
                }
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => open = Some((info, line)),
            Event::Text(code) => match open.take() {
                Some((info, line)) if &*info == "gdscript" => snippets.push(Snippet {
                    place: (file.to_owned(), line),
                    code: code.into_string(),
                    set_up: set_up.take().unwrap_or_default(),
                    ..Snippet::default()
                }),
                Some((info, _)) if &*info == "text output" => last?.output = Some(code.into_string()),
                _ => {}
            },
            _ => {}
        }
    }
    ensure!(set_up.is_none(), "{}: no snippet follows on a set-up", file.display());
    Ok(snippets)
}

impl Snippet {
    fn name(&self) -> String {
        let (file, line) = &self.place;
        let file = file.with_extension("").display().to_string();
        format!("{}_line_{line:04}", file.replace(|c: char| !c.is_ascii_alphanumeric(), "_").to_lowercase())
    }

    /// The file name of the script, if the engine runs it by itself.
    fn program(&self) -> Option<String> {
        self.code.starts_with("extends SceneTree\n").then(|| self.whole())
    }

    fn whole(&self) -> String {
        format!("whole_{}.gd", self.name())
    }

    /// The scripts with their file names. The first script has the method `run`, unless the snippet is a
    /// program.
    fn scripts(&self) -> Vec<(String, String)> {
        let name = self.name();
        if let Some(file) = self.program() {
            return vec![(file, self.code.clone())];
        }
        let whole = self.code.starts_with("extends ");
        let file = self.whole();
        let body = if whole {
            format!(
                "\tvar snippet: Variant = load(\"res://snippets/{file}\").new()\n\
                 \tif snippet is Node:\n\t\tadd_child(snippet)\n"
            )
        } else {
            indented(&self.code, 1)
        };
        let script = format!(
            "extends Node\n{}\n\nfunc run() -> void:\n{body}{}",
            indented(&self.set_up, 0),
            indented(&self.then, 1)
        );
        let mut scripts = vec![(format!("{name}.gd"), script)];
        if whole {
            scripts.push((file, self.code.clone()));
        }
        scripts
    }
}

/// Replaces every four spaces of indentation with a tab, and indents by `tabs` more.
fn indented(code: &str, tabs: usize) -> String {
    let mut script = String::new();
    for line in code.lines() {
        let text = line.trim_start_matches(' ');
        script.push_str(&"\t".repeat(tabs + (line.len() - text.len()) / 4));
        script.push_str(text);
        script.push('\n');
    }
    script
}

fn write(snippets: &[Snippet], folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    for (name, script) in snippets.iter().flat_map(Snippet::scripts) {
        fs::write(folder.join(name), script)?;
    }
    Ok(())
}

/// Fails unless every snippet except the programs ran to its end and printed the expected output. `printed`
/// is the output of all snippets.
fn compare(snippets: &[Snippet], printed: &str) -> Result<Tally> {
    for snippet in snippets.iter().filter(|snippet| snippet.program().is_none()) {
        let (file, line) = &snippet.place;
        let place = format!("{}:{line}", file.display());
        let begin = format!("@@ begin {}.gd\n", snippet.name());
        let output = printed.split_once(&begin).and_then(|(_, rest)| rest.split_once("@@ end"));
        let Some((output, _)) = output else { bail!("the snippet {place} did not run to its end") };
        if let Some(expected) = &snippet.output {
            ensure!(output == expected, "the snippet {place} printed\n{output}instead of\n{expected}");
        }
    }
    ensure!(!snippets.is_empty(), "there are no snippets");
    Ok(Tally { passed: snippets.len() as u64, failed: 0 })
}

/// Fails unless the crate's example prints the guide's output for a file that a snippet saved.
fn judge_example(workspace: &Workspace, file: &Path) -> Result<Tally> {
    let guide = fs::read_to_string(workspace.root.join("docs/guide.md"))?;
    let mut example = workspace.program("--example", "read_save")?;
    let outcome = run::watch(example.arg(file), Echo::DirectErrors, EXAMPLE_LIMIT)?;
    if let Some(end) = outcome.bad_end() {
        bail!("the example read_save {end}");
    }
    let printed = &outcome.stdout;
    ensure!(guide.contains(&format!("```text\n{printed}```")), "the example read_save printed\n{printed}");
    Ok(Tally { passed: 1, failed: 0 })
}
