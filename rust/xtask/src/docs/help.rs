//! Checks that the editor's help is complete, by comparing the editor's pages with the output of `--doctool`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use roxmltree::{Document, Node};

use crate::judge::{self, Tally};
use crate::progress::Progress;
use crate::run::{self, Echo};
use crate::trial::{EDITOR_LIMIT, RUN_LIMIT, Trial};
use crate::workspace::EXTENSION;

/// The engine's text in place of a missing description.
const NO_DESCRIPTION: &str = "There is currently no description for this";

/// Checks that the editor's help describes all that the extension registers. The project must have been
/// opened before.
pub fn check(trial: &Trial<'_>) -> Result<Tally> {
    let project = trial.project()?;
    let pages = trial.folder.path().join("pages.json");
    let step = Progress::spinner("reading the help in the editor");
    let read = || {
        let mut command = project.headless();
        command.args(["--editor", "--", "--pages"]).arg(&pages);
        run::watch(&mut command, Echo::Nothing, EDITOR_LIMIT)
    };
    let mut outcome = read()?;
    // The editor may crash, because its threads can still write to the help while the editor shows it.
    if judge::crashed_outside_of(EXTENSION, &outcome.log) {
        println!("the editor crashed in its own code, and is asked again:\n{}", outcome.log);
        outcome = read()?;
    }
    trial.judge_editor(outcome)?;
    step.done();

    // `--doctool` runs last, because it removes the help cache that the editor needs for extensions.
    let listed = tempfile::tempdir_in(&trial.workspace.target)?;
    let mut command = project.headless();
    command.arg("--doctool").arg(listed.path()).arg("--gdextension-docs");
    let outcome = run::watch(&mut command, Echo::Nothing, RUN_LIMIT)?;
    judge::clean(&outcome).with_context(|| format!("`--doctool` printed:\n{}", outcome.log))?;
    compare(&listed.path().join("doc_classes"), &serde_json::from_str(&fs::read_to_string(pages)?)?)
}

/// Fails unless each class's page describes the class and all members in the XML of `--doctool`.
fn compare(folder: &Path, pages: &BTreeMap<String, String>) -> Result<Tally> {
    let mut passed = 0;
    let mut gaps = Vec::new();
    for file in fs::read_dir(folder)? {
        let file = file?.path();
        let class = file.file_stem().unwrap_or_default().to_string_lossy();
        let page = pages.get(&*class).with_context(|| format!("the editor has no help on {class}"))?;
        let (described, missing) = look_up(&fs::read_to_string(&file)?, page)?;
        passed += described;
        gaps.extend(missing);
    }
    ensure!(gaps.is_empty(), "the editor's help does not describe:\n  {}", gaps.join("\n  "));
    ensure!(passed > 0, "there is nothing to describe");
    println!("{passed} descriptions of {} classes", pages.len());
    Ok(Tally { passed, failed: 0 })
}

/// The number of listed items that a page describes, and the items that it does not describe.
fn look_up(listed: &str, page: &str) -> Result<(u64, Vec<String>)> {
    let listed = Document::parse(listed)?;
    let page = &page.replace('\u{a0}', " ");
    let class = listed.root_element().attribute("name").unwrap_or_default();
    let mut described = 0;
    let mut missing = Vec::new();
    let mut note = |holds: bool, what: String| if holds { described += 1 } else { missing.push(what) };
    let opening = page.split("\nDescription\n").nth(1).unwrap_or_default().trim_start();
    note(!opening.is_empty() && !page.contains(&format!("{NO_DESCRIPTION} class")), class.to_owned());
    for thing in listed.descendants() {
        let name = thing.attribute("name").unwrap_or_default();
        let kind = thing.attribute("enum").or(thing.attribute("type")).unwrap_or_default();
        // Pages show the type of a typed Array as in scripts.
        let kind = kind.strip_suffix("[]").map_or_else(|| kind.into(), |element| format!("Array[{element}]"));
        let text = match thing.tag_name().name() {
            "method" => description(page, |heading| heading.contains(&format!(" {name}("))),
            "signal" => description(page, |heading| heading.starts_with(&format!("{name}("))),
            "member" => description(page, |heading| heading.starts_with(&format!("{kind}{name}"))),
            // Without a description, the next part of the page follows immediately.
            "constant" => description(page, |heading| heading.starts_with(&format!("{name} = ")))
                .lines()
                .next()
                .unwrap_or_default()
                .trim(),
            _ => continue,
        };
        note(!text.trim().is_empty() && !text.contains(NO_DESCRIPTION), format!("{class}.{name}"));
        for parameter in thing.children().filter_map(|child| parameter(&child)) {
            note(has_word(text, parameter), format!("{class}.{name}, {parameter}"));
        }
    }
    Ok((described, missing))
}

fn parameter<'a>(node: &Node<'a, '_>) -> Option<&'a str> {
    node.has_tag_name("param").then(|| node.attribute("name"))?
}

/// The text under the wanted heading, which is a line with a bullet.
fn description(page: &str, wanted: impl Fn(&str) -> bool) -> &str {
    let mut sections = page.split("● ").filter_map(|section| section.split_once('\n'));
    sections.find(|(heading, _)| wanted(heading)).map_or("", |(_, text)| text)
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: &str = r#"<class name="Codec"><methods><method name="encode"><param index="0" name="value" />
        </method></methods><signals><signal name="ended" /></signals><members><member name="size" type="int" /></members>
        <constants><constant name="OK" value="0" enum="E" /></constants></class>"#;
    const PAGE: &str = "Class: Codec\nDescription\n\n\tA codec.\n\nSignals\n● ended()\n\tIt ended.\nEnumerations\n\
        ● OK\u{a0}=\u{a0}0\n\tFine.\n● intsize\n\tIts size.\n● void encode(value: Variant)\n\tWrites the value.\n";

    fn missing(page: &str) -> Vec<String> {
        look_up(LISTED, page).unwrap().1
    }

    #[test]
    fn descriptions_are_complete() {
        assert_eq!(look_up(LISTED, PAGE).unwrap(), (6, vec![]));
    }

    #[test]
    fn missing_descriptions_are_found() {
        assert_eq!(missing("").len(), 6);
        assert_eq!(
            missing(&PAGE.replace("A codec.", "There is currently no description for this class.")),
            ["Codec"]
        );
        assert_eq!(missing(&PAGE.replace("\tFine.\n", "")), ["Codec.OK"]);
        assert_eq!(
            missing(&PAGE.replace("Its size.", "There is currently no description for this property.")),
            ["Codec.size"]
        );
        assert_eq!(missing(&PAGE.replace("the value", "it")), ["Codec.encode, value"]);
        assert_eq!(
            missing(&PAGE.replace("It ended.", "There is currently no description for this signal.")),
            ["Codec.ended"]
        );
    }
}
