//! The crates that programs in Rust use: their packages, documentation and public interfaces.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::judge::Tally;
use crate::run::{self, Echo};
use crate::workspace::Workspace;

/// Each with its folder; those that others depend on come first.
const CRATES: [(&str, &str); 2] = [("variant_codec", "rust/codec"), ("variant_protobuf", "rust/protobuf")];
const LIMIT: Duration = Duration::from_secs(3600);
/// The format of rustdoc's JSON that the crate `public-api` reads: that of Rust 1.95.
const FORMAT: u64 = 57;

/// What to do beside checking.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Options {
    /// Take the public interfaces as they are for those that are wanted, and write them to tests/interfaces
    #[arg(long)]
    accept: bool,
}

/// Packages that can be published, and documentation without warnings. The examples run with the Rust tests.
pub fn check(workspace: &Workspace) -> Result<Tally> {
    packages(workspace)?;
    described(workspace)?;
    Ok(Tally::default())
}

fn for_crates(workspace: &Workspace, command: &str) -> Command {
    let mut cargo = workspace.cargo();
    cargo.args([command, "--all-features"]).args(CRATES.iter().flat_map(|(name, _)| ["--package", name]));
    cargo
}

/// Packs both as they would be published, and compiles what is packed. A warning is an error here.
fn packages(workspace: &Workspace) -> Result<()> {
    let license = fs::read(workspace.root.join("LICENSE"))?;
    for (name, folder) in CRATES {
        let own = fs::read(workspace.root.join(folder).join("LICENSE"))?;
        ensure!(own == license, "{folder}/LICENSE is not the licence of the repository; {name} needs a copy");
    }
    let mut cargo = for_crates(workspace, "publish");
    // What is not committed yet is checked as well.
    cargo.args(["--dry-run", "--allow-dirty"]);
    // Reuses what the tests have compiled. Packages are compiled without the workspace's profile, hence `--config`.
    cargo.args(["--config", "profile.dev.package.\"*\".debug=false", "--target-dir"]).arg(&workspace.target);
    let outcome = run::watch(&mut cargo, Echo::Nothing, LIMIT)?;
    if let Some(end) = outcome.bad_end() {
        bail!("`cargo publish --dry-run` {end}:\n{}", outcome.log);
    }
    // Each upload that did not happen is one.
    let complaints = outcome.stderr.lines().filter(|line| line.starts_with("warning: "));
    let complaints: Vec<_> = complaints.filter(|line| !line.contains("due to dry run")).collect();
    ensure!(complaints.is_empty(), "{}", complaints.join("\n"));
    Ok(())
}

/// Whether rustdoc writes what can be read here; its JSON is not stable yet.
pub fn can_read_interfaces(workspace: &Workspace) -> Result<bool> {
    described(workspace)?;
    Ok(format_of(&parsed(&description(workspace, CRATES[0].0))?) == Some(FORMAT))
}

/// The public interfaces beside those that are wanted: nothing gone, nothing new, and an example for each item.
pub fn interfaces(workspace: &Workspace, options: Options) -> Result<Tally> {
    described(workspace)?;
    let mut passed = 0;
    for (name, _) in CRATES {
        let json = description(workspace, name);
        let items = parsed(&json)?;
        ensure!(
            format_of(&items) == Some(FORMAT),
            "rustdoc writes JSON in the format {:?}, and {FORMAT} is what can be read: take another version of the crate \
             `public-api`, or another toolchain",
            format_of(&items)
        );
        let without = without_example(&items)?;
        ensure!(without.is_empty(), "no example for:\n  {}", without.join("\n  "));
        let interface = public_api::Builder::from_rustdoc_json(&json)
            .omit_blanket_impls(true)
            .omit_auto_trait_impls(true)
            .build()
            .with_context(|| format!("cannot read {}", json.display()))?;
        let lines: Vec<String> = interface.items().map(ToString::to_string).collect();
        let kept = workspace.root.join("tests/interfaces").join(name).with_extension("txt");
        if options.accept {
            fs::create_dir_all(kept.parent().context("a folder")?)?;
            fs::write(&kept, lines.join("\n") + "\n")?;
        }
        let wanted = fs::read_to_string(&kept).with_context(|| format!("cannot open {}", kept.display()))?;
        let changes = changes(&wanted, &lines);
        ensure!(
            changes.is_empty(),
            "the public interface of {name} has changed:\n{}\n`cargo xtask crates --accept` takes it as it is; what is gone \
             breaks programs",
            changes.join("\n")
        );
        println!("{name}: {} lines of public interface", lines.len());
        passed += 1;
    }
    Ok(Tally { passed, failed: 0 })
}

/// Has rustdoc describe each crate in JSON, with all its features. A warning is an error here.
fn described(workspace: &Workspace) -> Result<()> {
    let mut cargo = for_crates(workspace, "doc");
    cargo.args(["--quiet", "--no-deps", "--target-dir"]).arg(folder(workspace));
    // A stable toolchain writes JSON only with this variable. Build scripts depend on it too, hence a separate folder.
    cargo.env("RUSTC_BOOTSTRAP", "1");
    cargo.env("RUSTDOCFLAGS", "-D warnings -Z unstable-options --output-format json");
    run::through(&mut cargo)
}

fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("interfaces")
}

/// The JSON that rustdoc wrote for a crate.
fn description(workspace: &Workspace, name: &str) -> PathBuf {
    folder(workspace).join("doc").join(name).with_extension("json")
}

fn parsed(json: &Path) -> Result<Value> {
    let text = fs::read(json).with_context(|| format!("cannot open {}", json.display()))?;
    Ok(serde_json::from_slice(&text)?)
}

fn format_of(items: &Value) -> Option<u64> {
    items["format_version"].as_u64()
}

/// The lines that are in one of them only.
fn changes(wanted: &str, lines: &[String]) -> Vec<String> {
    let wanted: BTreeSet<&str> = wanted.lines().collect();
    let found: BTreeSet<&str> = lines.iter().map(String::as_str).collect();
    let gone = wanted.difference(&found).map(|line| format!("- {line}"));
    gone.chain(found.difference(&wanted).map(|line| format!("+ {line}"))).collect()
}

/// The public items that no example shows. Constants, and what `#[serde(with = "…")]` calls, are shown by their module.
fn without_example(items: &Value) -> Result<Vec<String>> {
    let mut found = BTreeMap::new();
    let root = items["root"].to_string();
    let name = items["index"][&root]["name"].as_str().context("rustdoc names no crate")?;
    found.insert(
        name.to_owned(),
        Item { kind: "crate".to_owned(), has_example: has_example(&items["index"][&root]) },
    );
    collect(items, &root, name, &mut found);
    ensure!(found.len() > 4, "rustdoc lists hardly any item");
    let has = |path: &str| found.get(path).is_some_and(|item: &Item| item.has_example);
    let is_shown = |path: &str, item: &Item| {
        let by_module =
            item.kind == "constant" || path.ends_with("::serialize") || path.ends_with("::deserialize");
        item.has_example || by_module && path.rsplit_once("::").is_some_and(|(module, _)| has(module))
    };
    let missing = found.iter().filter(|(path, item)| !is_shown(path, item));
    Ok(missing.map(|(path, item)| format!("{} {path}", item.kind)).collect())
}

fn has_example(item: &Value) -> bool {
    item["docs"].as_str().is_some_and(|docs| docs.contains("```"))
}

struct Item {
    kind: String,
    has_example: bool,
}

/// Walks a module of rustdoc's JSON, and what it exports from others.
fn collect(items: &Value, id: &str, path: &str, found: &mut BTreeMap<String, Item>) {
    let Some(inside) = items["index"][id]["inner"]["module"]["items"].as_array() else { return };
    for id in inside.iter().map(ToString::to_string) {
        let item = &items["index"][&id];
        let Some((kind, inner)) = item["inner"].as_object().and_then(|inner| inner.iter().next()) else {
            continue;
        };
        let (target, name) = match kind.as_str() {
            // What it exports counts as being here.
            "use" if inner["is_glob"] == true => {
                collect(items, &inner["id"].to_string(), path, found);
                continue;
            }
            "use" => (inner["id"].to_string(), inner["name"].as_str()),
            "impl" => continue,
            _ => (id.clone(), item["name"].as_str()),
        };
        let target_item = &items["index"][&target];
        let Some((kind, _)) = target_item["inner"].as_object().and_then(|inner| inner.iter().next()) else {
            continue;
        };
        let path = match name {
            Some(name) => format!("{path}::{name}"),
            None => continue,
        };
        let has_example = has_example(target_item);
        if kind == "module" {
            collect(items, &target, &path, found);
        }
        found.insert(path, Item { kind: kind.clone(), has_example });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_gone_and_what_is_new_is_told() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        assert!(changes("a\nb\n", &lines("b\na")).is_empty());
        assert_eq!(changes("a\nb\n", &lines("b")), ["- a"]);
        assert_eq!(changes("a\n", &lines("a\nc")), ["+ c"]);
    }

    #[test]
    fn items_without_an_example_are_found() {
        let function = |docs: &str| json!({"name": "f", "docs": docs, "inner": {"function": {}}});
        let mut items = json!({"root": 0, "index": {
            "0": {"name": "a", "docs": "```", "inner": {"module": {"items": [1, 2, 3, 5, 6, 7]}}},
            "1": function("```\n```"),
            "2": {"name": null, "docs": null, "inner": {"use": {"id": 4, "name": "g"}}},
            "3": {"name": "m", "docs": "```\n```", "inner": {"module": {"items": [8]}}},
            "4": function("```\n```"),
            "5": {"name": "S", "docs": "```", "inner": {"struct": {}}},
            "6": {"name": "T", "docs": "```", "inner": {"struct": {}}},
            "7": {"name": null, "docs": null, "inner": {"impl": {}}},
            "8": {"name": "C", "docs": "no example", "inner": {"constant": {}}},
        }});
        assert!(without_example(&items).unwrap().is_empty());
        items["index"]["4"]["docs"] = json!("none");
        assert_eq!(without_example(&items).unwrap(), ["function a::g"]);
        items["index"]["3"]["docs"] = json!("none");
        assert_eq!(without_example(&items).unwrap(), ["function a::g", "module a::m", "constant a::m::C"]);
    }
}
