//! Schemas from `.proto` files and descriptor sets.
//!
//! protox-parse parses the files, and prost-reflect resolves names and options. Their panics are caught, but a stack
//! overflow or an endless loop could not be. Files that might cause either are therefore refused first. This crate
//! itself checks all descriptor sets.

use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};

use miette::Diagnostic as _;
use prost::Message as _;
use prost_reflect::DescriptorPool;
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FileDescriptorProto, FileDescriptorSet, SourceCodeInfo,
};

use crate::descriptors::{self, MAX_NAME, MAX_NAMES};
use crate::edition::Text;
use crate::error::{Error, Result};
use crate::features::{self, FileSet};
use crate::schema::Schema;
use crate::tokens::{Tokens, error_at, is_word};

/// The maximum size of a descriptor set in bytes, because the tables take up to 300 times as much memory.
const MAX_SET: usize = 4 << 20;
/// The maximum size of a file without comments and spaces, because the compiler takes up to 450 bytes of memory for
/// each byte of it. The largest public schemas have half of that.
const MAX_CODE: usize = 2 << 20;
/// The way to a schema that is too large to compile.
const ADVICE: &str = "compile it with `protoc --include_imports --descriptor_set_out`, and load the result";
/// The maximum number of characters of a compiler error. Longer errors are truncated.
const MAX_REASON: usize = 300;
/// The maximum nesting of brackets and of imports, because the compiler is recursive. Its own limit for nested messages
/// is lower.
const MAX_DEPTH: usize = 100;
/// The maximum number of paths through public imports, because the compiler follows each path.
const MAX_IMPORT_PATHS: usize = 10_000;
/// The number of a file's imports in descriptors.
const FILE_DEPENDENCY: i32 = 3;

impl Schema {
    /// The maximum size of a file in bytes. Readers of files need not read more than one byte more.
    pub const MAX_BYTES: usize = 16 << 20;

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
        let compiled = catch_unwind(AssertUnwindSafe(|| sources.compile(root, resolve)));
        let compiled = compiled.unwrap_or_else(|_| {
            Err(of_file(root, "internal error in the schema compiler, please report it"))
        });
        let schema = compiled.and_then(|set| load(&set, |file, features| sources.complete(file, features)));
        schema.map_err(|error| sources.as_written(error))
    }

    /// Loads a descriptor set from `protoc --include_imports --descriptor_set_out`.
    ///
    /// # Errors
    /// [`Error::Schema`].
    pub fn from_descriptor_set(bytes: &[u8]) -> Result<Self> {
        if bytes.len() > MAX_SET {
            return Err(of_file("", &format!("descriptor set larger than {MAX_SET} bytes")));
        }
        load(bytes, |_, _| {})
    }
}

/// Loads a descriptor set. `complete` adds what the compiler does not know to each file.
fn load(
    bytes: &[u8],
    mut complete: impl FnMut(&mut FileDescriptorProto, &mut features::File),
) -> Result<Schema> {
    let invalid = |error| of_file("", &format!("invalid descriptor set: {error}"));
    let mut set = FileDescriptorSet::decode(bytes).map_err(invalid)?;
    let mut features = FileSet::decode(bytes).map_err(invalid)?;
    for (file, features) in set.file.iter_mut().zip(&mut features.file) {
        complete(file, features);
    }
    descriptors::schema(&set.file, &features.file)
}

fn of_file(file: &str, reason: &str) -> Error {
    Error::Schema { file: file.to_owned(), line: 0, column: 0, reason: reason.to_owned() }
}

/// The files that have been read, except the standard files, by name.
#[derive(Default)]
struct Sources(HashMap<String, Source>);

struct Source {
    text: Text,
    /// The locations in the compiled text. prost-reflect does not get them: it searches all of them for each error and
    /// each option.
    locations: Option<SourceCodeInfo>,
}

/// A file whose imports are being read.
struct Opened {
    file: FileDescriptorProto,
    /// The number of the file's imports already read.
    seen: usize,
}

impl Sources {
    /// Compiles the file and its imports to a descriptor set.
    fn compile(&mut self, root: &str, resolve: impl Fn(&str) -> Option<String>) -> Result<Vec<u8>> {
        let mut pool = DescriptorPool::new();
        // For each compiled file, the number of paths through public imports.
        let mut compiled: HashMap<String, usize> = HashMap::new();
        let file = self.read(root, &resolve)?.ok_or_else(|| of_file(root, "file not found"))?;
        let mut open = vec![Opened { file, seen: 0 }];
        while let Some(Opened { file, seen }) = open.last_mut() {
            let (name, index) = (file.name().to_owned(), *seen);
            let Some(import) = file.dependency.get(index).cloned() else {
                let public = file.public_dependency.iter();
                let public = public.filter_map(|index| file.dependency.get(usize::try_from(*index).ok()?));
                let count = public.fold(1, |count: usize, name| {
                    count.saturating_add(compiled.get(name).copied().unwrap_or(1))
                });
                if count > MAX_IMPORT_PATHS {
                    return Err(of_file(&name, "too many paths through public imports"));
                }
                let added = pool.add_file_descriptor_proto(std::mem::take(file));
                added.map_err(|error| {
                    self.error(&name, error.path().unwrap_or_default(), error.to_string())
                })?;
                compiled.insert(name, count);
                open.pop();
                continue;
            };
            *seen += 1;
            let path = [FILE_DEPENDENCY, index as i32];
            if file.dependency[..index].contains(&import) {
                return Err(self.error(&name, &path, format!("import '{import}' was listed twice")));
            }
            if open.iter().any(|opened| opened.file.name() == import) {
                let names = open.iter().map(|opened| opened.file.name()).chain([&*import]);
                let cycle = names.collect::<Vec<_>>().join(" -> ");
                return Err(self.error(&name, &path, format!("import cycle detected: {cycle}")));
            }
            if compiled.contains_key(&import) {
                continue;
            }
            if open.len() == MAX_DEPTH {
                return Err(of_file(root, &format!("imports nested deeper than {MAX_DEPTH} levels")));
            }
            let Some(file) = self.read(&import, &resolve)? else {
                return Err(self.error(&name, &path, format!("import '{import}' not found")));
            };
            open.push(Opened { file, seen: 0 });
        }
        Ok(pool.encode_to_vec())
    }

    /// Reads and parses a file. `None` if there is no such file.
    fn read(
        &mut self,
        name: &str,
        resolve: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<FileDescriptorProto>> {
        let Some(text) = resolve(name) else {
            let standard = DescriptorPool::global().get_file_by_name(name);
            return Ok(standard.map(|file| file.file_descriptor_proto().clone()));
        };
        if text.len() > Schema::MAX_BYTES {
            return Err(of_file(
                name,
                &format!("schema file larger than {} bytes; {ADVICE}", Schema::MAX_BYTES),
            ));
        }
        check_text(name, &text)?;
        let text = Text::new(name, text)?;
        let parsed = protox_parse::parse(name, &text.compiled).map_err(|error| located(name, &error));
        let source = self.0.entry(name.to_owned()).insert_entry(Source { text, locations: None }).into_mut();
        let mut file = parsed?;
        source.locations = file.source_code_info.take();
        file.message_type.iter_mut().for_each(keep_conflict);
        file.enum_type.iter_mut().for_each(keep_enum_conflict);
        Ok(Some(file))
    }

    /// An error of the compiler at a path of the descriptor.
    fn error(&self, name: &str, path: &[i32], reason: String) -> Error {
        let locations = self.0.get(name).and_then(|source| source.locations.as_ref());
        descriptors::error_at(name, locations, path, cut(reason))
    }

    /// Adds to a compiled file what the compiler does not know.
    fn complete(&mut self, file: &mut FileDescriptorProto, features: &mut features::File) {
        let Some(source) = self.0.get_mut(file.name()) else { return };
        file.source_code_info = source.locations.take();
        if let Some(edition) = source.text.edition {
            (file.syntax, features.edition) = (Some("editions".to_owned()), edition);
        }
    }

    /// Maps the column of an error back to the original text, which [`Text::new`] may have rewritten.
    fn as_written(&self, mut error: Error) -> Error {
        if let Error::Schema { file, line, column, .. } = &mut error
            && let Some(source) = self.0.get(file)
        {
            *column = source.text.column(*line, *column);
        }
        error
    }
}

/// Removes reserved ranges, except one that conflicts with a field or a value, because the compiler compares each range
/// with each number, and reports each conflict.
fn keep_conflict(message: &mut DescriptorProto) {
    let numbers: BTreeSet<i32> = message.field.iter().map(|field| field.number()).collect();
    let first_from = |start| numbers.range(start..).next();
    message
        .reserved_range
        .retain(|range| first_from(range.start()).is_some_and(|number| *number < range.end()));
    message.reserved_range.truncate(1);
    message.nested_type.iter_mut().for_each(keep_conflict);
    message.enum_type.iter_mut().for_each(keep_enum_conflict);
}

/// As [`keep_conflict`]; the ends of these ranges are inclusive.
fn keep_enum_conflict(item: &mut EnumDescriptorProto) {
    let numbers: BTreeSet<i32> = item.value.iter().map(|value| value.number()).collect();
    let first_from = |start| numbers.range(start..).next();
    item.reserved_range
        .retain(|range| first_from(range.start()).is_some_and(|number| *number <= range.end()));
    item.reserved_range.truncate(1);
}

/// Refuses files that exceed the limits above.
fn check_text(file: &str, text: &str) -> Result<()> {
    let at = |offset, reason| Err(error_at(file, text, offset, reason));
    let mut depth = 0_usize;
    let (mut code, mut names) = (0, Names::default());
    for (start, token) in Tokens::new(text) {
        let byte = token.as_bytes()[0];
        match byte {
            b'"' | b'\'' => {
                let path = &token.as_bytes()[1..];
                if names.is_import && !is_import_path(path.strip_suffix(&[byte]).unwrap_or(path)) {
                    let reason =
                        "invalid import path: it must be relative, with names separated by single slashes";
                    return at(start, reason.to_owned());
                }
            }
            b'{' | b'[' | b'<' | b'(' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return at(start, format!("brackets nested deeper than {MAX_DEPTH} levels"));
                }
            }
            b'}' | b']' | b'>' | b')' => depth = depth.saturating_sub(1),
            _ if is_word(token) => {
                if token.len() > MAX_NAME {
                    return at(start, format!("name longer than {MAX_NAME} bytes"));
                }
                names.word(token);
            }
            _ => {}
        }
        names.end(byte);
        code += token.len();
        if code > MAX_CODE {
            return at(start, format!("more than {MAX_CODE} bytes without comments and spaces; {ADVICE}"));
        }
        if names.all > MAX_NAMES {
            return at(start, format!("more than {MAX_NAMES} bytes of full names in one file"));
        }
        if names.package > MAX_NAME {
            return at(start, format!("package name longer than {MAX_NAME} bytes"));
        }
    }
    Ok(())
}

/// Whether the compiler accepts this as a file path. This crate checks paths itself, because the compiler's
/// own error names another cause.
fn is_import_path(path: &[u8]) -> bool {
    !path.contains(&b'\\') && path.split(|byte| *byte == b'/').all(|name| !matches!(name, b"" | b"." | b".."))
}

/// An estimate of the length of all full names: each statement counts as if its words were one name.
#[derive(Default)]
struct Names {
    /// The length of the package name.
    package: usize,
    /// The lengths of the names of the blocks that enclose the statement.
    scopes: Vec<usize>,
    /// The length of the statement's words so far.
    words: usize,
    is_package: bool,
    is_import: bool,
    all: usize,
}

impl Names {
    fn word(&mut self, word: &str) {
        self.is_package |= self.words == 0 && word == "package";
        self.is_import |= self.words == 0 && word == "import";
        self.words += word.len() + 1;
    }

    /// Ends a statement or a block, if `byte` does.
    fn end(&mut self, byte: u8) {
        match byte {
            b'}' => drop(self.scopes.pop()),
            b';' | b'{' => {
                let words = std::mem::take(&mut self.words);
                self.is_import = false;
                self.all += self.package + self.scopes.iter().sum::<usize>() + words;
                if byte == b'{' {
                    self.scopes.push(words);
                } else if std::mem::take(&mut self.is_package) {
                    self.package = words;
                }
            }
            _ => {}
        }
    }
}

/// Truncates a reason, because the compiler quotes texts of the file in full.
fn cut(mut reason: String) -> String {
    if let Some((end, _)) = reason.char_indices().nth(MAX_REASON) {
        reason.truncate(end);
        reason.push('…');
    }
    reason
}

fn located(file: &str, error: &protox_parse::ParseError) -> Error {
    let label = error.labels().and_then(|mut labels| labels.next());
    let span = label.zip(error.source_code()).and_then(|(label, code)| {
        let span = code.read_span(label.inner(), 0, 0).ok()?;
        Some((span.line() + 1, span.column() + 1))
    });
    let (line, column) = span.unwrap_or_default();
    Error::Schema { file: file.to_owned(), line, column, reason: cut(error.to_string()) }
}
