//! Inputs that are not files of values, and output that cannot be written.

#![cfg(unix)]

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn gdvar(arguments: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gdvar"));
    command.args(arguments).current_dir(folder);
    command
}

fn said(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stderr).trim_end().to_owned())
}

#[test]
fn paths_that_are_not_files_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    assert!(Command::new("mkfifo").arg("pipe").current_dir(folder).status().is_ok_and(|made| made.success()));
    fs::write(folder.join("empty"), "").expect("written");
    let commands = ["show", "json", "check", "stats", "textconv", "fingerprint"];
    for command in commands {
        let run = |name: &str| said(&gdvar(&[command, name], folder).output().expect("gdvar runs"));
        assert_eq!(run("."), (Some(3), "error: .: a folder, not a file".to_owned()));
        for name in ["pipe", "/dev/zero"] {
            let message = format!("error: {name}: not a file; to read a pipe, use - and redirect it");
            assert_eq!(run(name), (Some(3), message));
        }
        assert_eq!(run("none").0, Some(3));
        // A file name must not set the title of the terminal.
        assert_eq!(run("\u{1b}]0;title\u{7}\u{202e}").1.find(['\u{1b}', '\u{7}', '\u{202e}']), None);
        let (code, message) = run("empty");
        assert_eq!(
            (code, message.contains("no records")),
            if command == "check" { (Some(1), true) } else { (Some(0), false) }
        );
    }
}

#[test]
fn output_that_cannot_be_written_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("many.json"), "[1,\"text\"]\n".repeat(20_000)).expect("written");
    let encode = ["from-json", "many.json", "--records", "--output", "many.dat"];
    assert!(gdvar(&encode, folder).status().is_ok_and(|done| done.success()));
    let written = fs::read(folder.join("many.dat")).expect("written");

    let again = said(&gdvar(&encode, folder).output().expect("gdvar runs"));
    assert_eq!(again, (Some(3), "error: many.dat: exists already; --force replaces it".to_owned()));
    assert_eq!(fs::read(folder.join("many.dat")).expect("there"), written);

    fs::write(folder.join("empty.dat"), "").expect("written");
    let commands: [&[&str]; 9] = [
        &["repair", "many.dat", "--output", "-"],
        &["show", "many.dat"],
        &["json", "many.dat"],
        &["textconv", "many.dat"],
        &["fingerprint", "many.dat"],
        &["completions", "bash"],
        &["completions", "fish"],
        &["man"],
        &["diff", "many.dat", "empty.dat"],
    ];
    for command in commands {
        // Output that a reader such as `head` has closed is not an error. `diff` still reports a difference.
        let expected = if command.first() == Some(&"diff") { 1 } else { 0 };
        let mut closed = gdvar(command, folder).stdout(Stdio::piped()).spawn().expect("gdvar runs");
        drop(closed.stdout.take());
        assert_eq!(closed.wait().expect("it ends").code(), Some(expected), "{command:?}");
        if let Ok(full) = File::options().write(true).open("/dev/full") {
            let output = gdvar(command, folder).stdout(full).output().expect("gdvar runs");
            let (code, message) = said(&output);
            assert_eq!(code, Some(3), "{command:?}");
            // The message starts with the error: `repair` must not first report its records as written.
            assert!(message.starts_with("error: standard output: "), "{command:?}: {message}");
        }
    }
}

/// The offset is in the file, as in the output of `check`, and the message names the bad file.
#[test]
fn commands_report_the_same_offset_of_damage() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let records = [1, 2].map(|hp| {
        let player = variant_codec::Value::from_iter([("hp", hp)]);
        player.encode().expect("encoded")
    });
    let mut batch = Vec::new();
    records.iter().for_each(|record| variant_codec::frames::append(&mut batch, record));
    fs::write(folder.join("good.dat"), &batch).expect("written");
    // The key of the second record.
    let at = batch.len() - records[1].len() + 8;
    batch[at] = 99;
    fs::write(folder.join("bad.dat"), &batch).expect("written");
    let place = format!("(at byte {at})");
    let commands: [&[&str]; 5] = [
        &["check", "bad.dat"],
        &["get", "bad.dat", "1/hp"],
        &["get", "bad.dat", "1"],
        &["diff", "good.dat", "bad.dat"],
        &["diff", "bad.dat", "good.dat"],
    ];
    for command in commands {
        let (code, message) = said(&gdvar(command, folder).output().expect("gdvar runs"));
        assert_eq!(code, Some(1), "{command:?}");
        assert!(message.starts_with("error: bad.dat: record 1: "), "{command:?}: {message}");
        assert!(message.contains(&place), "{command:?}: {message}, expected {place}");
    }
}

#[test]
fn special_file_names_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("one.dat"), "[1]").expect("written");
    let run = |arguments: &[&str]| {
        said(&gdvar(arguments, folder).stdin(Stdio::null()).output().expect("gdvar runs"))
    };
    for arguments in [&["diff", "-", "-"][..], &["check", "-", "-"], &["patch", "-", "-"]] {
        let message = "error: standard input (-) given twice; name a file for one of them";
        assert_eq!(run(arguments), (Some(2), message.to_owned()), "{arguments:?}");
    }
    assert_eq!(run(&["from-json", "one.dat", "--output", "-"]).0, Some(0));
    assert_eq!(run(&["from-json", "one.dat", "--output", "new/"]).0, Some(3));
    assert!(!folder.join("-").exists() && !folder.join("new").exists());
    // Files in /proc have a size of 0.
    if Path::new("/proc/version").exists() {
        let (code, message) = run(&["check", "/proc/version"]);
        assert_eq!(code, Some(1), "{message}");
    }
}
