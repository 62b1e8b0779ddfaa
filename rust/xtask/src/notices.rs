//! The licences of all code linked into the library.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, Metadata, Package, PackageId};

use crate::workspace::{EXTENSION, Workspace};

/// A library that is part of the addon's library.
struct Component {
    title: String,
    license: String,
    source: String,
    texts: Vec<String>,
}

/// The text of `THIRD-PARTY-NOTICES.txt`.
pub fn write(workspace: &Workspace) -> Result<String> {
    let metadata = workspace.metadata()?;
    let mut components = vec![Component {
        title: "The Rust standard library".into(),
        license: "MIT OR Apache-2.0".into(),
        source: "https://github.com/rust-lang/rust".into(),
        texts: vec![],
    }];
    for package in linked_packages(&metadata)? {
        components.push(component(package)?);
    }
    Ok(render(&components))
}

/// The extension's dependencies, without those for builds and tests and without the workspace's own packages.
fn linked_packages(metadata: &Metadata) -> Result<Vec<&Package>> {
    let graph = metadata.resolve.as_ref().context("`cargo metadata` gave no dependency graph")?;
    let nodes: HashMap<&PackageId, _> = graph.nodes.iter().map(|node| (&node.id, node)).collect();
    let packages: HashMap<&PackageId, _> =
        metadata.packages.iter().map(|package| (&package.id, package)).collect();
    let start = metadata.packages.iter().find(|package| package.name.as_str() == EXTENSION);
    let mut open = vec![&start.context("the extension's package is missing")?.id];
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        let linked = |kinds: &[cargo_metadata::DepKindInfo]| {
            kinds.iter().any(|kind| kind.kind == DependencyKind::Normal)
        };
        open.extend(nodes[id].deps.iter().filter(|dep| linked(&dep.dep_kinds)).map(|dep| &dep.pkg));
    }
    let mut found: Vec<&Package> = seen
        .into_iter()
        .filter(|id| !metadata.workspace_members.contains(id))
        .map(|id| packages[id])
        .collect();
    found.sort_by(|a, b| (a.name.as_str(), &a.version).cmp(&(b.name.as_str(), &b.version)));
    Ok(found)
}

fn component(package: &Package) -> Result<Component> {
    let folder = package.manifest_path.parent().context("a manifest lies in a folder")?;
    let license = package.license.clone().unwrap_or_else(|| "see the text below".into());
    // The MPL requires that distributors of a compiled program say where the source is.
    let source = package.repository.clone().or_else(|| package.homepage.clone()).unwrap_or_default();
    Ok(Component {
        title: format!("{} {}", package.name, package.version),
        license,
        source,
        texts: license_texts(folder.as_std_path())?,
    })
}

fn license_texts(folder: &Path) -> Result<Vec<String>> {
    let starts = ["license", "licence", "copying", "notice", "unlicense", "copyright"];
    let mut files: Vec<_> = fs::read_dir(folder)
        .with_context(|| format!("cannot read {}", folder.display()))?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
            path.is_file() && starts.iter().any(|start| name.starts_with(start))
        })
        .collect();
    files.sort();
    files
        .iter()
        .map(|file| fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display())))
        .collect()
}

fn render(components: &[Component]) -> String {
    let mut out = String::from(
        "FastVariantCodec is distributed under the MIT licence (see LICENSE).\n\
         Its library contains the following works of others, unchanged.\n\n\
         godot-rust (the crates godot, godot-bindings, godot-cell, godot-codegen, godot-core, godot-ffi and\n\
         godot-macros) is subject to the terms of the Mozilla Public License, v. 2.0, which can be read at\n\
         https://mozilla.org/MPL/2.0/. Its source code form can be had, free of charge, at\n\
         https://github.com/godot-rust/gdext under the tag of the version named below, and as the crates of\n\
         that version in the registry of the Rust language.\n\n",
    );
    for Component { title, license, source, .. } in components {
        let _ = writeln!(out, "{title}\n    licence: {license}\n    source:  {source}");
    }
    for (text, users) in same_texts(components) {
        let _ = write!(out, "\n{}\n{}\n\n{}\n", "=".repeat(78), users.join(", "), text);
    }
    out
}

/// The distinct texts in order of first use, each with the components that contain the text.
fn same_texts(components: &[Component]) -> Vec<(String, Vec<&str>)> {
    let mut places = BTreeMap::new();
    let mut texts: Vec<(String, Vec<&str>)> = Vec::new();
    for component in components {
        for text in &component.texts {
            let text = tidy(text);
            if text.is_empty() {
                continue;
            }
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let place = *places.entry(words).or_insert_with(|| {
                texts.push((text, Vec::new()));
                texts.len() - 1
            });
            let users = &mut texts[place].1;
            if users.last() != Some(&component.title.as_str()) {
                users.push(&component.title);
            }
        }
    }
    texts
}

/// Strips trailing spaces, which differ between copies of the same text.
fn tidy(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}
