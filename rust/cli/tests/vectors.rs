//! `gdvar` on values that the engine has written and read.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use variant_codec::{Limits, Value, frames};

fn gdvar(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gdvar"));
    command.args(arguments).current_dir(folder).output().expect("gdvar runs")
}

/// The inputs in tests/vectors/godot4.tsv, valid and invalid.
fn inputs() -> Vec<Vec<u8>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/godot4.tsv");
    let table = fs::read_to_string(path).expect("the vectors are there");
    let rows = table.lines().skip(2).filter_map(|row| row.split('\t').nth(1));
    rows.map(|hex| hex::decode(hex).expect("hexadecimal")).collect()
}

fn batch(records: &[Vec<u8>]) -> Vec<u8> {
    let mut batch = Vec::new();
    records.iter().for_each(|record| frames::append(&mut batch, record));
    batch
}

#[test]
fn json_loses_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    // JSON nests at most 127 levels deep, and a level of a value takes up to five.
    let limits = Limits { allow_objects: true, max_depth: 25, ..Limits::for_save_files() };
    let is_canonical = |bytes: &Vec<u8>| Value::decode(bytes, &limits).is_ok();
    let records: Vec<Vec<u8>> = inputs().into_iter().filter(is_canonical).collect();
    assert!(records.len() > 400, "only {} vectors are canonical", records.len());
    fs::write(folder.path().join("save.dat"), batch(&records)).expect("written");
    let arguments: [&[&str]; 2] = [&["json", "save.dat"], &["json", "save.dat", "--lines"]];
    for arguments in arguments {
        let printed = gdvar(arguments, folder.path());
        assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
        fs::write(folder.path().join("save.json"), printed.stdout).expect("written");
        let back = ["from-json", "save.json", "--records", "--force", "--output", "back.dat"];
        let written = gdvar(&back, folder.path());
        assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
        assert!(fs::read(folder.path().join("back.dat")).expect("written") == batch(&records));
    }
    let converted = gdvar(&["convert", "save.dat"], folder.path());
    assert!(converted.status.success() && converted.stdout == batch(&records));
}

#[test]
fn damaged_files_are_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let records: Vec<Vec<u8>> = inputs().into_iter().filter(|bytes| !bytes.is_empty()).collect();
    fs::write(folder.path().join("save.dat"), batch(&records)).expect("written");
    for bytes in records.iter().step_by(7) {
        fs::write(folder.path().join("value.dat"), bytes).expect("written");
        for command in ["show", "json", "check", "fingerprint", "textconv", "stats"] {
            let output = gdvar(&[command, "value.dat", "--as", "value"], folder.path());
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(matches!(output.status.code(), Some(0 | 1)), "{command} {}: {said}", hex::encode(bytes));
            assert!(
                output.status.success()
                    || ["show", "textconv"].contains(&command)
                    || said.contains("error: value.dat: "),
                "{said}"
            );
        }
    }
    let spelled = records.first().map(hex::encode).expect("a vector");
    fs::write(folder.path().join("value.txt"), format!("{spelled}\n")).expect("written");
    assert_eq!(
        gdvar(&["show", "value.txt"], folder.path()).status.code(),
        Some(1),
        "the first vector is broken"
    );
    let shown = gdvar(&["show", "save.dat", "--as", "records"], folder.path());
    assert_eq!(shown.status.code(), Some(1));
    let shown = String::from_utf8(shown.stdout).expect("UTF-8");
    let last = format!("[{}] ", records.len() - 1);
    assert!(shown.lines().any(|line| line.starts_with(&last)), "every record is shown");
}
