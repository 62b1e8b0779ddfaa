//! Schemas from `.proto` files and descriptor sets.
//!
//! protox compiles the files. Its panics are caught, but a stack overflow or an endless loop could not be.
//! Files that might cause either are therefore refused first. This crate itself checks all descriptor sets.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use miette::Diagnostic;
use prost::Message as _;
use prost_types::{FileDescriptorProto, FileDescriptorSet};
use protox::Compiler;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};

use crate::descriptors::{self, MAX_NAME, MAX_NAMES};
use crate::edition::Text;
use crate::error::{Error, Result};
use crate::features::FileSet;
use crate::schema::Schema;
use crate::tokens::{Tokens, error_at, is_word};

/// The maximum size of a file in bytes, because the compiler takes up to 300 times as much memory.
const MAX_BYTES: usize = 1 << 20;
/// The maximum number of statements, because the compiler compares all invalid statements with each other.
const MAX_STATEMENTS: usize = 10_000;
/// The maximum number of dots and commas in a file, because the compiler needs hundreds of bytes for each part of a name
/// or list.
const MAX_PARTS: usize = 20_000;
/// The maximum number of characters of a compiler error. Longer errors are truncated.
const MAX_REASON: usize = 300;
/// The maximum nesting of brackets and of imports, because the compiler is recursive. Its own limit for nested messages
/// is lower.
const MAX_DEPTH: usize = 100;
/// The maximum number of paths through public imports, because the compiler follows each path.
const MAX_IMPORT_PATHS: usize = 10_000;

impl Schema {
    /// Compiles a `.proto` file and its imports.
    ///
    /// `resolve` returns the text of a file by name: first `root`, then the paths of imports. The paths have
    /// no `.` or `..` components and no `//`. The standard files of `google/protobuf/` are built in. Files
    /// may use proto2, proto3, or the editions 2023 and 2024.
    ///
    /// # Errors
    /// [`Error::Schema`] with file, line and column.
    pub fn compile(root: &str, resolve: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let compile = || {
            let texts = Texts::collect(root, resolve)?;
            let mut resolver = ChainFileResolver::new();
            resolver.add(texts.clone());
            resolver.add(GoogleFileResolver::new());
            let mut compiler = Compiler::with_file_resolver(resolver);
            compiler.include_imports(true).include_source_info(true);
            compiler.open_file(root).map_err(|error| texts.as_written(located(root, &error)))?;
            Ok((compiler.encode_file_descriptor_set(), texts))
        };
        let (set, texts) = catch_unwind(AssertUnwindSafe(compile)).unwrap_or_else(|_| {
            Err(of_file(root, "internal error in the schema compiler, please report it"))
        })?;
        load(&set, |file| texts.0.get(file)?.edition).map_err(|error| texts.as_written(error))
    }

    /// Loads a descriptor set from `protoc --include_imports --descriptor_set_out`.
    ///
    /// # Errors
    /// [`Error::Schema`].
    pub fn from_descriptor_set(bytes: &[u8]) -> Result<Self> {
        check_size("", bytes.len())?;
        load(bytes, |_| None)
    }
}

/// Loads a descriptor set. `edition` returns the edition of a file that was compiled as proto2.
fn load(bytes: &[u8], edition: impl Fn(&str) -> Option<i32>) -> Result<Schema> {
    let invalid = |error| of_file("", &format!("invalid descriptor set: {error}"));
    let mut set = FileDescriptorSet::decode(bytes).map_err(invalid)?;
    let mut features = FileSet::decode(bytes).map_err(invalid)?;
    for (file, features) in set.file.iter_mut().zip(&mut features.file) {
        if let Some(edition) = edition(file.name()) {
            (file.syntax, features.edition) = (Some("editions".to_owned()), edition);
        }
    }
    descriptors::schema(&set.file, &features.file)
}

fn of_file(file: &str, reason: &str) -> Error {
    Error::Schema { file: file.to_owned(), line: 0, column: 0, reason: reason.to_owned() }
}

fn check_size(file: &str, bytes: usize) -> Result<()> {
    if bytes > MAX_BYTES {
        return Err(of_file(file, &format!("schema file larger than {MAX_BYTES} bytes")));
    }
    Ok(())
}

#[derive(Clone)]
struct Texts(Arc<HashMap<String, Text>>);

/// A file whose imports are being read.
struct Opened {
    name: String,
    descriptor: FileDescriptorProto,
    /// The number of the file's imports already read.
    seen: usize,
}

impl Opened {
    /// Returns `None` if the file is invalid. The compiler reports the error later.
    fn read(name: &str, text: &str) -> Option<Self> {
        let file = File::from_source(name, text).ok()?;
        Some(Self { name: name.to_owned(), descriptor: file.file_descriptor_proto().clone(), seen: 0 })
    }
}

impl Texts {
    /// Reads the file and its imports, in the compiler's order.
    fn collect(root: &str, resolve: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let mut texts = HashMap::new();
        let mut import_paths: HashMap<String, usize> = HashMap::new();
        let mut open = Vec::new();
        let mut next = Some(root.to_owned());
        loop {
            if let Some(name) = next.take()
                && !texts.contains_key(&name)
                && let Some(text) = resolve(&name)
            {
                check_size(&name, text.len())?;
                check_text(&name, &text)?;
                let text = Text::new(&name, text)?;
                open.extend(Opened::read(&name, &text.compiled));
                texts.insert(name, text);
            }
            if open.len() > MAX_DEPTH {
                return Err(of_file(root, &format!("imports nested deeper than {MAX_DEPTH} levels")));
            }
            let Some(Opened { name, descriptor, seen }) = open.last_mut() else {
                return Ok(Self(Arc::new(texts)));
            };
            next = descriptor.dependency.get(*seen).cloned();
            *seen += 1;
            if next.is_none() {
                let public = descriptor.public_dependency.iter();
                let public =
                    public.filter_map(|index| descriptor.dependency.get(usize::try_from(*index).ok()?));
                let count = public.fold(1, |count: usize, name| {
                    count.saturating_add(import_paths.get(name).copied().unwrap_or(1))
                });
                if count > MAX_IMPORT_PATHS {
                    return Err(of_file(name, "too many paths through public imports"));
                }
                import_paths.insert(name.clone(), count);
                open.pop();
            }
        }
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

impl FileResolver for Texts {
    fn resolve_path(&self, path: &std::path::Path) -> Option<String> {
        // Paths stay unchanged, including `res://`.
        path.to_str().map(str::to_owned)
    }

    fn open_file(&self, name: &str) -> std::result::Result<File, protox::Error> {
        let text = self.0.get(name).ok_or_else(|| protox::Error::file_not_found(name))?;
        File::from_source(name, &text.compiled)
    }
}

/// Refuses files that exceed the limits above.
fn check_text(file: &str, text: &str) -> Result<()> {
    let at = |offset, reason| Err(error_at(file, text, offset, reason));
    let mut depth = 0_usize;
    let (mut statements, mut parts, mut names) = (0, 0, Names::default());
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
        statements += usize::from(matches!(byte, b';' | b'{'));
        parts += usize::from(matches!(byte, b'.' | b','));
        for (count, most, what) in [
            (statements, MAX_STATEMENTS, "statements"),
            (parts, MAX_PARTS, "dots and commas"),
            (names.all, MAX_NAMES, "bytes of full names"),
        ] {
            if count > most {
                return at(start, format!("more than {most} {what} in one file"));
            }
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

fn located(root: &str, error: &protox::Error) -> Error {
    let label = error.labels().and_then(|mut labels| labels.next());
    let span = label.zip(error.source_code()).and_then(|(label, code)| {
        let span = code.read_span(label.inner(), 0, 0).ok()?;
        Some((span.line() + 1, span.column() + 1))
    });
    let (line, column) = span.unwrap_or_default();
    // An error without a file means that the root file is missing: other missing files are reported at their
    // imports.
    let reason = if error.file().is_none() { "file not found".to_owned() } else { cut(error.to_string()) };
    Error::Schema { file: error.file().unwrap_or(root).to_owned(), line, column, reason }
}
