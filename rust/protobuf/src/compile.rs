//! Schemas from `.proto` files and descriptor sets.
//!
//! protox-parse parses the files, and prost-reflect resolves names and options. Their panics are caught, but a stack
//! overflow or an endless loop could not be. Files that might cause either are therefore refused first.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use miette::Diagnostic as _;
use prost::Message as _;
use prost_reflect::DescriptorPool;

use crate::descriptors::{File, FileSet, Files};
use crate::edition::Text;
use crate::error::{Error, Result};
use crate::schema::Schema;
use crate::tokens::{Tokens, error_at};

/// The maximum nesting of brackets and of imports, because compiling is recursive. The parser's own limit for nested
/// messages is lower.
const MAX_DEPTH: usize = 100;
const INVALID_IMPORT: &str =
    "invalid import path: it must be relative, with names separated by single slashes";
/// The number of a file's imports in descriptors.
const FILE_DEPENDENCY: i32 = 3;

impl Schema {
    /// The maximum size of a `.proto` file or a descriptor set in bytes. Readers of files need not read more than one
    /// byte more.
    pub const MAX_BYTES: usize = 4 << 20;

    /// Compiles a `.proto` file and its imports.
    ///
    /// `resolve` returns the text of a file by name: first `root`, then the paths of imports. The paths have
    /// no `.` or `..` components and no `//`. The standard files of `google/protobuf/` are built in. Files
    /// may use proto2, proto3, or the editions 2023 and 2024.
    ///
    /// # Errors
    /// [`Error::Schema`] with file, line and column.
    pub fn compile(root: &str, resolve: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let mut sources = Sources::default();
        let compiled = guarded(root, || {
            let mut files = Files::default();
            if !sources.add(root, &mut Vec::new(), &mut files, &resolve)? {
                return Err(of_file(root, "file not found"));
            }
            files.schema()
        });
        compiled.map_err(|error| sources.as_written(error))
    }

    /// Loads a descriptor set from `protoc --include_imports --descriptor_set_out`.
    ///
    /// # Errors
    /// [`Error::Schema`].
    pub fn from_descriptor_set(bytes: &[u8]) -> Result<Self> {
        check_size("", bytes.len())?;
        let set = FileSet::decode(bytes)
            .map_err(|error| of_file("", &format!("invalid descriptor set: {error}")))?;
        guarded("", || {
            let mut files = Files::default();
            set.file.into_iter().try_for_each(|file| files.add(file))?;
            files.schema()
        })
    }
}

/// Turns a panic into an error.
fn guarded(file: &str, load: impl FnOnce() -> Result<Schema>) -> Result<Schema> {
    catch_unwind(AssertUnwindSafe(load))
        .unwrap_or_else(|_| Err(of_file(file, "internal error in the schema compiler, please report it")))
}

fn check_size(file: &str, len: usize) -> Result<()> {
    let max = Schema::MAX_BYTES;
    if len > max { Err(of_file(file, &format!("schema larger than {max} bytes"))) } else { Ok(()) }
}

fn of_file(file: &str, reason: &str) -> Error {
    Error::Schema { file: file.to_owned(), line: 0, column: 0, reason: reason.to_owned() }
}

/// The texts of the files that have been read, except the standard files, by name.
#[derive(Default)]
struct Sources(HashMap<String, Text>);

impl Sources {
    /// Adds a file after its imports. Returns `false` if there is no such file. `open` names the files whose imports
    /// are being added.
    fn add(
        &mut self,
        name: &str,
        open: &mut Vec<String>,
        files: &mut Files,
        resolve: &impl Fn(&str) -> Option<String>,
    ) -> Result<bool> {
        let Some(file) = self.read(name, files, resolve)? else { return Ok(false) };
        open.push(name.to_owned());
        for (import, index) in file.dependency.iter().zip(0..) {
            if files.contains(import) {
                continue;
            }
            let reason = if open.contains(import) {
                format!("import cycle detected: {} -> {import}", open.join(" -> "))
            } else if open.len() == MAX_DEPTH {
                format!("imports nested deeper than {MAX_DEPTH} levels")
            } else if self.add(import, open, files, resolve)? {
                continue;
            } else {
                format!("import '{import}' not found")
            };
            return Err(files.error(name, &[FILE_DEPENDENCY, index], reason));
        }
        open.pop();
        files.add(file)?;
        Ok(true)
    }

    /// Reads and parses a file. `None` if there is no such file.
    fn read(
        &mut self,
        name: &str,
        files: &mut Files,
        resolve: &impl Fn(&str) -> Option<String>,
    ) -> Result<Option<File>> {
        let decoded =
            |bytes: Vec<u8>| File::decode(&*bytes).map_err(|error| of_file(name, &error.to_string()));
        let Some(text) = resolve(name) else {
            let standard = DescriptorPool::global().get_file_by_name(name);
            return standard.map(|file| decoded(file.encode_to_vec())).transpose();
        };
        check_size(name, text.len())?;
        check_depth(name, &text)?;
        let text = Text::new(name, text)?;
        let edition = text.edition;
        let parsed = protox_parse::parse(name, &text.compiled).map_err(|error| located(name, &error));
        self.0.insert(name.to_owned(), text);
        let mut parsed = parsed?;
        files.locations.extend(parsed.source_code_info.take().map(|locations| (name.to_owned(), locations)));
        let mut file = decoded(parsed.encode_to_vec())?;
        if let Some(edition) = edition {
            (file.syntax, file.edition) = ("editions".to_owned(), edition);
        }
        Ok(Some(file))
    }

    /// Maps the column of an error back to the original text, which [`Text::new`] may have rewritten.
    fn as_written(&self, mut error: Error) -> Error {
        if let Error::Schema { file, line, column, .. } = &mut error
            && let Some(text) = self.0.get(file)
        {
            *column = text.column(*line, *column);
        }
        error
    }
}

fn check_depth(file: &str, text: &str) -> Result<()> {
    let mut depth = 0_usize;
    for (start, token) in Tokens::new(text) {
        match token {
            "{" | "[" | "<" | "(" => depth += 1,
            "}" | "]" | ">" | ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            let reason = format!("brackets nested deeper than {MAX_DEPTH} levels");
            return Err(error_at(file, text, start, reason));
        }
    }
    Ok(())
}

fn located(file: &str, error: &protox_parse::ParseError) -> Error {
    let label = error.labels().and_then(|mut labels| labels.next());
    let span = label.zip(error.source_code()).and_then(|(label, code)| {
        let span = code.read_span(label.inner(), 0, 0).ok()?;
        Some((span.line() + 1, span.column() + 1))
    });
    let (line, column) = span.unwrap_or_default();
    // The parser's error for an invalid import speaks of a group; only its help speaks of imports.
    let is_import = error.help().is_some_and(|help| help.to_string().starts_with("imports"));
    let reason = if is_import { INVALID_IMPORT.to_owned() } else { error.to_string() };
    Error::Schema { file: file.to_owned(), line, column, reason }
}
