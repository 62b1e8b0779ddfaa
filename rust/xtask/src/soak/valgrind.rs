//! Runs the extension in the engine under valgrind's memcheck: no invalid access, no definite leak.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use roxmltree::{Document, Node};

use super::script;
use super::work::{Done, Stage, Work};
use crate::build::{Build, Profile};
use crate::godot;
use crate::judge::Tally;
use crate::project::{self, Project};
use crate::run::{self, Echo};
use crate::workspace::EXTENSION;

const SUPPRESSIONS: &str = include_str!("../../valgrind.supp");

/// The default number of calls.
const CALLS: u64 = 50_000;
/// The time limit. Programs run about thirty times slower under valgrind.
const LIMIT: Duration = Duration::from_secs(2 * 3600);

/// The allowed growth of valgrind's own memory in MiB. Valgrind shadows the program's memory, and keeps freed
/// blocks.
const OWN_MEMORY: &str = "1024";

const SHOWN_FRAMES: usize = 12;

pub fn run(on: &Stage<'_>, work: &Work) -> Result<Done> {
    let valgrind = godot::valgrind(on.workspace, on.godot)?;
    let folder = project::copied(on.workspace, &Build { profile: Profile::Memcheck, ..Build::default() })?;
    let project = Project::new(on.workspace, on.godot, folder.path())?;
    project.register_extension()?;
    let suppressions = folder.path().join("valgrind.supp");
    fs::write(&suppressions, SUPPRESSIONS)?;
    let report = folder.path().join("report.xml");

    let calls = work.count.unwrap_or(CALLS);
    let mut tally = Tally::default();
    let mut threads = project.script("res://suites/run.gd", &["--only", "threads"].map(str::to_owned));
    work.mode.access().apply(&mut threads);
    let work = Work { name: "calls", count: Some(calls), ..*work };
    for engine in [threads, script::working(&project, &work, &[("--slack", OWN_MEMORY)])] {
        let mut watched = under(&valgrind, &suppressions, &report, &engine);
        let done = script::judged(&run::watch(&mut watched, Echo::All, LIMIT)?)?;

        let xml = fs::read_to_string(&report).context("valgrind wrote no report")?;
        let findings = findings(&xml).context("valgrind's report cannot be read")?;
        ensure!(findings.is_empty(), "{} finding(s):\n{}", findings.len(), findings.join("\n"));
        tally = tally + done.tally + Tally { passed: 1, failed: 0 };
    }
    Ok(Done { amount: calls, tally })
}

fn under(valgrind: &Command, suppressions: &Path, report: &Path, engine: &Command) -> Command {
    let mut command = Command::new(valgrind.get_program());
    command.args(valgrind.get_args());
    command.args(["--tool=memcheck", "--xml=yes", "--leak-check=full", "--show-leak-kinds=definite"]);
    // Valgrind searches for leaks when libraries are already unloaded.
    command.args(["--keep-debuginfo=yes", "--error-limit=no", "--num-callers=50"]);
    command.arg(format!("--suppressions={}", suppressions.display()));
    command.arg(format!("--xml-file={}", report.display()));
    command.arg(engine.get_program()).args(engine.get_args());
    for (name, value) in valgrind.get_envs().chain(engine.get_envs()) {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// The reported errors with the extension in one of their stacks. Other errors are the engine's own.
fn findings(xml: &str) -> Result<Vec<String>> {
    let report = Document::parse(xml)?;
    let errors = report.root_element().children().filter(|node| node.has_tag_name("error"));
    Ok(errors.filter(|error| error.descendants().any(is_ours)).map(shown).collect())
}

/// Returns whether a frame is in the library. The frame names the library's file or, if the library is
/// unloaded, only the function.
fn is_ours(frame: Node<'_, '_>) -> bool {
    frame.has_tag_name("frame")
        && (text(frame, "obj").contains(EXTENSION) || text(frame, "fn").contains(EXTENSION))
}

fn shown(error: Node<'_, '_>) -> String {
    let what = error.descendants().find(|node| node.has_tag_name("what") || node.has_tag_name("text"));
    let frames = error.descendants().filter(|node| node.has_tag_name("frame")).take(SHOWN_FRAMES);
    let frames = frames.map(|frame| {
        format!("\n    {} ({}:{})", text(frame, "fn"), text(frame, "file"), text(frame, "line"))
    });
    let what = what.and_then(|node| node.text()).unwrap_or_default();
    format!("{}: {what}{}", text(error, "kind"), frames.collect::<String>())
}

fn text<'a>(node: Node<'a, '_>, tag: &str) -> &'a str {
    node.children().find(|child| child.has_tag_name(tag)).and_then(|child| child.text()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(frames: &str) -> String {
        format!(
            "<?xml version=\"1.0\"?>\n<valgrindoutput><status/><error><kind>InvalidRead</kind><what>Invalid read</what>\
             <stack>{frames}</stack></error><errorcounts/></valgrindoutput>"
        )
    }

    #[test]
    fn only_stacks_in_the_extension_count() {
        let engine = "<frame><obj>/usr/bin/godot</obj><fn>a</fn></frame>";
        let ours =
            "<frame><obj>/x/libfast_variant_codec.so</obj><fn>b</fn><file>c.rs</file><line>7</line></frame>";
        let unloaded = "<frame><fn>fast_variant_codec::threads::pool::stop</fn></frame>";
        assert_eq!(findings(&report(engine)).unwrap(), Vec::<String>::new());
        assert_eq!(
            findings(&report(&format!("{engine}{ours}"))).unwrap(),
            ["InvalidRead: Invalid read\n    a (:)\n    b (c.rs:7)"]
        );
        assert_eq!(findings(&report(unloaded)).unwrap().len(), 1);
    }

    #[test]
    fn a_truncated_report_is_refused() {
        assert!(findings("<?xml version=\"1.0\"?>\n<valgrindoutput><status/>").is_err());
    }
}
