//! Which files of a crate import which, read from their source.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;
use syn::{Attribute, Expr, Item, ItemMod, Lit, Meta, UseTree};

/// The modules of a crate and the arrows between their files.
#[derive(Debug, Default)]
pub struct Imports {
    /// The files of a module: several where it has one for each platform.
    files: BTreeMap<Vec<String>, BTreeSet<PathBuf>>,
    /// What a module takes from elsewhere under a name: its own imports, and what it hands on.
    names: BTreeMap<(Vec<String>, String), Vec<String>>,
    /// Paths named in a module, from the root of the crate on.
    paths: Vec<(Vec<String>, Vec<String>)>,
}

impl Imports {
    /// Reads a crate from its root file on.
    ///
    /// # Errors
    /// If a file cannot be read or is no Rust.
    pub fn of(root: &Path) -> Result<Self> {
        let mut imports = Self::default();
        let folder = root.parent().context("a root file lies in a folder")?;
        imports.read(root, folder, Vec::new())?;
        Ok(imports)
    }

    fn read(&mut self, file: &Path, folder: &Path, module: Vec<String>) -> Result<()> {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let parsed = syn::parse_file(&text).with_context(|| file.display().to_string())?;
        self.files.entry(module.clone()).or_default().insert(file.to_owned());
        self.items(&parsed.items, file, folder, &module)
    }

    /// `folder` is where the files of child modules lie.
    fn items(&mut self, items: &[Item], file: &Path, folder: &Path, module: &[String]) -> Result<()> {
        for item in items {
            if let Item::Mod(child) = item {
                self.child(child, file, folder, module)?;
            } else {
                Paths { imports: self, module }.visit_item(item);
            }
        }
        Ok(())
    }

    fn child(&mut self, child: &ItemMod, file: &Path, folder: &Path, module: &[String]) -> Result<()> {
        let name = child.ident.to_string();
        let path = [module, std::slice::from_ref(&name)].concat();
        self.names.insert((module.to_vec(), name.clone()), path.clone());
        if let Some((_, items)) = &child.content {
            self.files.entry(path.clone()).or_default().insert(file.to_owned());
            return self.items(items, file, &folder.join(&name), &path);
        }
        let named = child.attrs.iter().flat_map(paths_of);
        let named: Vec<PathBuf> = named
            .map(|path| file.parent().unwrap_or(folder).join(path))
            .filter(|path| path.exists())
            .collect();
        let usual = [folder.join(format!("{name}.rs")), folder.join(&name).join("mod.rs")];
        let files: Vec<_> = match named.is_empty() {
            true => usual.into_iter().filter(|path| path.exists()).collect(),
            false => named,
        };
        anyhow::ensure!(!files.is_empty(), "{}: there is no file for `mod {name}`", file.display());
        for file in files {
            self.read(&file, &folder.join(&name), path.clone())?;
        }
        Ok(())
    }

    /// The module that a path leads to, by way of what other modules hand on, in at most so many steps: names can lead to
    /// themselves, as those of enums do whose variants are imported.
    fn module_of(&self, path: &[String], steps: usize) -> Vec<String> {
        let (mut at, mut rest) = (Vec::new(), path);
        while let [name, behind @ ..] = rest {
            match self.names.get(&(at.clone(), name.clone())) {
                Some(target) if self.files.contains_key(target) => at = target.clone(),
                Some(target) if steps > 0 => return self.module_of(&[target, behind].concat(), steps - 1),
                _ => break,
            }
            rest = behind;
        }
        at
    }

    /// Which files import which others.
    pub fn arrows(&self) -> BTreeSet<(PathBuf, PathBuf)> {
        let mut arrows = BTreeSet::new();
        for (module, path) in &self.paths {
            let target = self.module_of(path, 16);
            if target == *module {
                // Its files are alternatives, one for each system.
                continue;
            }
            for from in &self.files[module] {
                for to in self.files.get(&target).into_iter().flatten().filter(|to| *to != from) {
                    arrows.insert((from.clone(), to.clone()));
                }
            }
        }
        arrows
    }

    /// Files that import each other in a circle.
    pub fn circles(&self) -> Vec<Vec<PathBuf>> {
        let arrows = self.arrows();
        let graph: DiGraphMap<&Path, ()> =
            arrows.iter().map(|(from, to)| (from.as_path(), to.as_path())).collect();
        let circles = tarjan_scc(&graph).into_iter().filter(|files| files.len() > 1);
        circles.map(|files| files.into_iter().map(Path::to_owned).collect()).collect()
    }
}

/// The paths of files that attributes name, also for some platforms only.
fn paths_of(attribute: &Attribute) -> Vec<String> {
    let mut found = Vec::new();
    let mut add = |meta: &Meta| {
        if let Meta::NameValue(pair) = meta
            && pair.path.is_ident("path")
            && let Expr::Lit(value) = &pair.value
            && let Lit::Str(path) = &value.lit
        {
            found.push(path.value());
        }
    };
    add(&attribute.meta);
    if attribute.path().is_ident("cfg_attr")
        && let Ok(parts) =
            attribute.parse_args_with(syn::punctuated::Punctuated::<Meta, syn::Token![,]>::parse_terminated)
    {
        parts.iter().for_each(add);
    }
    found
}

/// Collects the paths of one module.
struct Paths<'a> {
    imports: &'a mut Imports,
    module: &'a [String],
}

impl Paths<'_> {
    /// The same path from the root of the crate on; `None` if it leads out of the crate.
    fn absolute(&self, path: &[String]) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([self.module, rest].concat()),
            "super" => {
                let levels = path.iter().take_while(|name| *name == "super").count();
                let parent = self.module.get(..self.module.len().checked_sub(levels)?)?;
                Some([parent, &path[levels..]].concat())
            }
            _ => Some([self.module, path].concat()),
        }
    }

    fn add(&mut self, path: &[String]) {
        if let Some(path) = self.absolute(path) {
            self.imports.paths.push((self.module.to_vec(), path));
        }
    }

    /// A path outside of imports. One name alone is a variable, or has been imported.
    fn add_path(&mut self, path: &[String]) {
        if path.len() > 1 {
            self.add(path);
        }
    }

    fn add_use(&mut self, tree: &UseTree, before: &[String]) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.add_use(&path.tree, &with(&path.ident)),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.add_use(tree, before)),
            UseTree::Glob(_) => self.add(before),
            UseTree::Name(name) if name.ident == "self" => {
                let last = before.last().cloned().unwrap_or_default();
                self.add_name(before, last);
            }
            UseTree::Name(name) => self.add_name(&with(&name.ident), name.ident.to_string()),
            UseTree::Rename(name) if name.ident == "self" => self.add_name(before, name.rename.to_string()),
            UseTree::Rename(name) => self.add_name(&with(&name.ident), name.rename.to_string()),
        }
    }

    fn add_name(&mut self, path: &[String], name: String) {
        let is_own = matches!(path.first().map(String::as_str), Some("crate" | "self" | "super"));
        self.add(path);
        if let Some(absolute) = self.absolute(path) {
            let starts_here = self.imports.names.contains_key(&(self.module.to_vec(), path[0].clone()));
            let place = (self.module.to_vec(), name);
            // A function may have the name of a module.
            let is_module =
                self.imports.names.get(&place).is_some_and(|path| self.imports.files.contains_key(path));
            if (is_own || starts_here) && !is_module {
                self.imports.names.insert(place, absolute);
            }
        }
    }

    /// What looks like a path in the tokens of a macro. `super` may be said in a module that the macro makes, so it counts for
    /// nothing.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.add_path(&std::mem::take(&mut path));
                    }
                    if name != "super" {
                        path.push(name.to_string());
                    }
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.add_path(&std::mem::take(&mut path));
                    self.add_tokens(group.stream());
                }
                _ => self.add_path(&std::mem::take(&mut path)),
            }
        }
        self.add_path(&path);
    }
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.add_use(&item.tree, &[]);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.add_path(&names);
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.add_tokens(item.tokens.clone());
        syn::visit::visit_macro(self, item);
    }

    // Links in the documentation are no imports, nor is `pub(super)`.
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}
}
