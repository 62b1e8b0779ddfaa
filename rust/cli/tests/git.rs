//! `git diff` of saves, set up as the help describes.

use std::fs;
use std::path::Path;
use std::process::Command;

use variant_codec::{Value, frames};

/// The output of git; `None` if it is not installed.
fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    let output = Command::new("git").args(identity).args(arguments).current_dir(folder).output().ok()?;
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).expect("UTF-8"))
}

fn save(folder: &Path, hp: i64) {
    let mut batch = Vec::new();
    for (name, hp) in [("Ada", hp), ("Mia", 12)] {
        let player = Value::from_iter([("name", Value::from(name)), ("hp", Value::from(hp))]);
        frames::append(&mut batch, &player.encode().expect("encoded"));
    }
    fs::write(folder.join("save.dat"), batch).expect("written");
}

#[test]
fn changed_paths_are_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    if git(folder, &["init", "--quiet"]).is_none() {
        println!("git is not installed");
        return;
    }
    fs::write(folder.join(".gitattributes"), "*.dat diff=gdvar\n").expect("written");
    let textconv = format!("'{}' textconv --", env!("CARGO_BIN_EXE_gdvar"));
    git(folder, &["config", "diff.gdvar.textconv", &textconv]);
    git(folder, &["config", "diff.gdvar.cachetextconv", "true"]);
    save(folder, 87);
    git(folder, &["add", "."]);
    git(folder, &["commit", "--quiet", "--message", "a save"]);
    save(folder, 80);
    let changed = ["-[0].hp = 87", "+[0].hp = 80"];
    let diff = git(folder, &["diff"]).expect("git is installed");
    assert!(changed.iter().all(|line| diff.lines().any(|shown| shown == *line)), "{diff}");
    git(folder, &["commit", "--quiet", "--all", "--message", "wounded"]);
    for command in [&["log", "-p"][..], &["show"]] {
        let shown = git(folder, command).expect("git is installed");
        assert!(changed.iter().all(|line| shown.lines().any(|shown| shown == *line)), "{shown}");
    }
}
