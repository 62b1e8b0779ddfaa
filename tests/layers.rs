//! Keeps imports running one way: no circle of files in any crate, and no arrow upwards in the extension.

mod imports;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use imports::Imports;

fn rust() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../rust")
}

/// The root file of each crate.
fn roots() -> Result<Vec<PathBuf>> {
    let mut roots = Vec::new();
    for folder in fs::read_dir(rust())? {
        let source = folder?.path().join("src");
        roots.extend(
            ["lib.rs", "main.rs"].map(|name| source.join(name)).into_iter().filter(|root| root.exists()),
        );
    }
    assert!(roots.len() >= 5, "all crates are looked at: {roots:?}");
    Ok(roots)
}

#[test]
fn no_crate_has_a_circle_of_files() -> Result<()> {
    let (mut circles, mut arrows) = (Vec::new(), 0);
    for root in roots()? {
        let imports = Imports::of(&root)?;
        arrows += imports.arrows().len();
        circles.extend(imports.circles());
    }
    assert!(arrows > 500, "the imports of all crates were read: {arrows}");
    assert_eq!(circles, Vec::<Vec<PathBuf>>::new());
    Ok(())
}

/// The rows of the table at the top of the extension: each imports only itself and what stands below it.
#[test]
fn arrows_run_down_in_the_extension() -> Result<()> {
    let source = rust().join("extension/src");
    let root = source.join("lib.rs");
    let text = fs::read_to_string(&root)?;
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter_map(|line| line.strip_prefix("//! | `"))
        .filter_map(|line| line.split('|').next())
        .map(|cell| cell.split('`').filter(|name| name.ends_with(['/', 's'])).collect())
        .collect();
    let row_of = |file: &Path| {
        let file = file.strip_prefix(&source).expect("it lies in the crate").to_string_lossy();
        let holds = |name: &&str| *file == **name || name.ends_with('/') && file.starts_with(*name);
        rows.iter()
            .position(|row| row.iter().any(holds))
            .unwrap_or_else(|| panic!("{file} is in no row of {rows:?}"))
    };
    for (from, to) in Imports::of(&root)?.arrows() {
        if from != root {
            assert!(row_of(&from) <= row_of(&to), "{} imports {}", from.display(), to.display());
        }
    }
    Ok(())
}

/// A crate of these files.
fn made(files: &[(&str, &str)]) -> Result<Imports> {
    let folder = tempfile::tempdir()?;
    for (name, text) in files {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().expect("a file lies in a folder"))?;
        fs::write(file, text)?;
    }
    Imports::of(&folder.path().join("lib.rs"))
}

/// The test for circles finds each of these, in whatever way they are written.
#[test]
fn circles_are_found() -> Result<()> {
    let ways = [
        ("use crate::b::B;", "use crate::a::A;"),
        ("use super::b;", "use super::a::A;"),
        ("fn a(b: crate::b::B) {}", "use crate::a;"),
        ("use crate::{b};", "use crate::{a::{A, Other}};"),
        ("fn a() { println!(\"{}\", crate::b::B); }", "use crate::a::*;"),
        ("use crate::Handed;", "use crate::a::A;"),
        ("fn a() { use crate::b::B; }", "fn b() -> crate::a::A {}"),
        ("mod tests { use crate::b::B; }", "use crate::a::A;"),
    ];
    for (a, b) in ways {
        let root = "mod a;\nmod b;\npub use b::Handed;";
        let circles = made(&[("lib.rs", root), ("a.rs", a), ("b.rs", b)])?.circles();
        assert_eq!(circles.len(), 1, "{a} and {b}: {circles:?}");
        assert_eq!(circles[0].len(), 2, "{a} and {b}: {circles:?}");
    }
    let child = [("lib.rs", "mod a;"), ("a/mod.rs", "mod c;\nuse c::C;"), ("a/c.rs", "use super::A;")];
    assert_eq!(made(&child)?.circles().len(), 1, "a module and its child");
    let apart =
        [("lib.rs", "mod a;\nmod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "use std::a::A;\nfn a() {}")];
    assert_eq!(made(&apart)?.circles().len(), 0, "names of other crates are no arrows");
    Ok(())
}
