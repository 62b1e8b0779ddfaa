//! Keeps `docs/security.md` true: each promise names tests that exist, and the table of limits is that of the code.

use std::fs;
use std::path::Path;

use variant_codec::Limits;
use variant_codec::limits::ALL_TYPES;

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The cells of all tables whose first line begins so, without their heads.
fn rows(document: &str, head: &str) -> Vec<Vec<String>> {
    let lines: Vec<&str> = document.lines().collect();
    let heads = lines.iter().enumerate().filter(|(_, line)| line.starts_with(head));
    let rows = heads.flat_map(|(at, _)| lines[at + 2..].iter().take_while(|line| line.starts_with('|')));
    let cells =
        |line: &&str| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect();
    rows.map(cells).collect()
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn every_promise_names_tests_that_exist() {
    let suites = read("godot-project/suites/run.gd");
    let chores = read("rust/xtask/src/main.rs");
    let chores = chores.split_once("enum Chore {").expect("the chores").1;
    let is_suite = |name: &str| suites.contains(&format!("\t\"{name}\": preload("));
    let is_chore = |name: &str| {
        let mut letters = name.chars();
        let variant: String =
            letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
        ["(", " {", ","].iter().any(|end| chores.contains(&format!("\n    {variant}{end}")))
    };
    let rows = rows(&read("docs/security.md"), "| promise |");
    assert!(rows.len() > 13, "{} promises", rows.len());
    for row in rows {
        let [promise, held_by] = row.as_slice() else { panic!("{row:?}") };
        let mut tests = 0;
        for name in quoted(held_by) {
            let exists = match name.strip_prefix("cargo xtask ") {
                Some(chore) => is_chore(chore),
                None => is_suite(name),
            };
            assert!(exists, "{promise}: there is no test called {name}");
            tests += 1;
        }
        assert!(tests > 0, "{promise}: no test is named");
    }
}

#[test]
fn the_limits_are_those_of_the_presets() {
    let presets = [Limits::for_network(), Limits::for_save_files(), Limits::unlimited()];
    let rows = rows(&read("docs/security.md"), "| property |");
    for row in &rows {
        let name = quoted(&row[0]).next().expect("a property");
        for (cell, preset) in row[1..].iter().zip(&presets) {
            assert_eq!(cell, &shown(name, preset), "{name}");
        }
    }
    let named: Vec<_> = rows.iter().filter_map(|row| quoted(&row[0]).next()).collect();
    // As `Debug` has them; a property that the document forgets is missing here.
    let all = format!("{:?}", presets[0]);
    let all = all.split(['{', ',', '}']).filter_map(|field| Some(field.split_once(':')?.0.trim()));
    assert!(all.clone().count() > 8);
    for field in all.filter(|field| !field.is_empty()) {
        assert!(named.contains(&field), "docs/security.md lacks {field}");
    }
}

/// A preset's property as the document writes it.
fn shown(name: &str, limits: &Limits) -> String {
    let bytes = |bytes: u64| match bytes {
        u64::MAX => "none".to_owned(),
        0x7fff_ffff => "2 GiB − 1".to_owned(),
        bytes if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        bytes => bytes.to_string(),
    };
    let count = |count: u64| match count {
        u64::MAX => "none".to_owned(),
        count if count >= 10_000 => format!("{},{:03}", count / 1000, count % 1000),
        count => count.to_string(),
    };
    let flag = |flag: bool| if flag { "yes" } else { "no" }.to_owned();
    match name {
        "max_bytes" => bytes(limits.max_bytes as u64),
        "max_depth" => limits.max_depth.to_string(),
        "max_elements" => count(limits.max_elements),
        "max_dictionary_entries" => count(limits.max_dictionary_entries),
        "max_memory" => bytes(limits.max_memory),
        "refuse_colliding_keys" => flag(limits.refuse_colliding_keys),
        "allow_trailing_bytes" => flag(limits.allow_trailing_bytes),
        "allow_non_canonical" => flag(limits.allow_non_canonical),
        "allow_objects" => flag(limits.allow_objects),
        "allowed_types" if limits.allowed_types == ALL_TYPES => "all".to_owned(),
        "allowed_classes" if limits.allowed_classes.is_empty() => "all".to_owned(),
        other => panic!("{other} is no property"),
    }
}
