//! Keeps `docs/errors.md` true: its table has every error code with its number, and the messages of the code that it stands
//! for, as the sources have them.
//!
//! `UPDATE_DOCUMENTS=1 cargo test -p conformance --test errors_document` writes the messages anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::parse::{Parse, ParseStream};
use syn::visit::{self, Visit};
use syn::{Arm, Expr, ExprMatch, ExprPath, File, Ident, Item, LitStr, Pat, Path as RustPath};

const DOCUMENT: &str = "docs/errors.md";
const HEAD: &str = "| code | constant | message |";
/// Between the messages of one code.
const BREAK: &str = "<br>";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn parsed(file: &Path) -> File {
    syn::parse_file(&read(file)).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The one file of this name below a folder.
fn found(folder: &Path, name: &str) -> PathBuf {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|found| found == name) {
                return path;
            }
        }
    }
    panic!("there is no {name}")
}

/// One line of `codes!`.
struct Code {
    variant: Ident,
    constant: LitStr,
    #[expect(dead_code, reason = "the editor's help has it")]
    help: LitStr,
}

struct Codes(Vec<Code>);

impl Parse for Codes {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut codes = Vec::new();
        while !input.is_empty() {
            codes.push(Code { variant: input.parse()?, constant: input.parse()?, help: input.parse()? });
        }
        Ok(Self(codes))
    }
}

/// The codes as the enum of the extension has them: variant and constant, by number. 0 is `OK`.
fn codes(file: &File) -> Vec<(String, String)> {
    let calls = file.items.iter().filter_map(|item| match item {
        Item::Macro(item) if item.mac.path.is_ident("codes") => Some(&item.mac),
        _ => None,
    });
    let [call] = calls.collect::<Vec<_>>()[..] else { panic!("not one call of codes!") };
    let Codes(codes) = call.parse_body().expect("variant, constant and help of each code");
    let named = codes.iter().map(|code| (code.variant.to_string(), code.constant.value()));
    [("Ok".to_owned(), "OK".to_owned())].into_iter().chain(named).collect()
}

/// The variants of an enum with their messages, in order. What is put into a message is `…`; a message of nothing else is empty.
fn messages(file: &File, name: &str) -> Vec<(String, String)> {
    let enums = file.items.iter().filter_map(|item| match item {
        Item::Enum(item) if item.ident == name => Some(item),
        _ => None,
    });
    let variants = enums.flat_map(|item| &item.variants).map(|variant| {
        let attributes = variant.attrs.iter().filter(|attribute| attribute.path().is_ident("error"));
        let mut template = attributes.filter_map(|attribute| {
            let first = attribute.meta.require_list().ok()?.tokens.clone().into_iter().next()?;
            Some(syn::parse_str::<LitStr>(&first.to_string()).ok()?.value())
        });
        (variant.ident.to_string(), template.next().map(|template| shown(&template)).unwrap_or_default())
    });
    let variants: Vec<_> = variants.collect();
    assert!(!variants.is_empty(), "there is no enum {name}");
    variants
}

/// A format string as the document shows it.
fn shown(template: &str) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        if !text.ends_with('…') {
            text.push('…');
        }
        rest = after.split_once('}').expect("a closing brace").1;
    }
    text.push_str(rest);
    if text == "…" { String::new() } else { text }
}

/// The matches that turn errors into codes.
#[derive(Default)]
struct Matches<'f>(Vec<&'f ExprMatch>);

impl<'f> Visit<'f> for Matches<'f> {
    fn visit_expr_match(&mut self, expression: &'f ExprMatch) {
        self.0.push(expression);
        visit::visit_expr_match(self, expression);
    }
}

/// The variants that a pattern names, by their last names; none for a wildcard.
fn variants(pattern: &Pat) -> Vec<String> {
    let last = |path: &RustPath| path.segments.last().map(|segment| segment.ident.to_string());
    match pattern {
        Pat::Or(or) => or.cases.iter().flat_map(variants).collect(),
        Pat::Path(path) => last(&path.path).into_iter().collect(),
        Pat::Struct(item) => last(&item.path).into_iter().collect(),
        Pat::TupleStruct(item) => last(&item.path).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The codes that an expression names, `Self::Name`.
struct Named<'c> {
    codes: &'c BTreeSet<String>,
    found: Vec<String>,
}

impl<'f> Visit<'f> for Named<'_> {
    fn visit_expr_path(&mut self, path: &'f ExprPath) {
        let name = path.path.segments.last().map(|segment| segment.ident.to_string());
        self.found.extend(name.filter(|name| self.codes.contains(name)));
    }
}

fn named(codes: &BTreeSet<String>, body: &Expr) -> Vec<String> {
    let mut named = Named { codes, found: Vec::new() };
    named.visit_expr(body);
    named.found
}

/// The messages of each code, by its variant: those of all errors that the sources turn into it.
fn messages_by_code(
    codes: &BTreeSet<String>,
    source: &File,
    enums: &[Vec<(String, String)>],
) -> BTreeMap<String, Vec<String>> {
    let mut matches = Matches::default();
    matches.visit_file(source);
    let mut by_code: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut seen = 0;
    for expression in matches.0 {
        let of_arm = |arm: &Arm| variants(&arm.pat);
        let matched: BTreeSet<String> = expression.arms.iter().flat_map(of_arm).collect();
        let has = |list: &&Vec<(String, String)>| {
            matched.iter().all(|name| list.iter().any(|(variant, _)| variant == name))
        };
        let Some(list) = enums.iter().find(has).filter(|_| !matched.is_empty()) else { continue };
        seen += 1;
        for (variant, message) in list {
            // The wildcard is for kinds that a newer codec may have.
            let arm = expression.arms.iter().find(|arm| of_arm(arm).contains(variant));
            let arm = arm.unwrap_or_else(|| panic!("{variant} has no code"));
            for code in named(codes, &arm.body).into_iter().filter(|_| !message.is_empty()) {
                let messages = by_code.entry(code).or_default();
                if !messages.contains(message) {
                    messages.push(message.clone());
                }
            }
        }
    }
    assert_eq!(seen, enums.len(), "each enum of errors is matched once");
    by_code
}

/// A message as a code span.
fn span(message: &str) -> String {
    if message.contains('`') { format!("`` {message} ``") } else { format!("`{message}`") }
}

fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split(" | ").map(str::trim).collect()
}

#[test]
fn the_table_is_that_of_the_sources() {
    let source = parsed(&found(&root().join("rust/extension/src"), "error_code.rs"));
    let codes = codes(&source);
    let variants: BTreeSet<String> = codes.iter().map(|(variant, _)| variant.clone()).collect();
    let enums = [("rust/codec/src/error.rs", "ErrorKind"), ("rust/protobuf/src/error.rs", "Error")];
    let enums = enums.map(|(file, name)| messages(&parsed(&root().join(file)), name));
    let by_code = messages_by_code(&variants, &source, &enums);
    assert!(by_code.len() > 20, "{by_code:?}");

    let document = read(&root().join(DOCUMENT));
    let mut updated = document.clone();
    let (_, rows) = document.split_once(HEAD).expect("the table of codes");
    let rows: Vec<&str> = rows.lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), codes.len(), "rows and codes");
    for (number, (row, (variant, constant))) in rows.iter().zip(&codes).enumerate() {
        let cells = cells(row);
        let [code, name, message, cause, remedy] = cells[..] else { panic!("not five cells: {row}") };
        assert_eq!((code, name), (number.to_string().as_str(), format!("`{constant}`").as_str()));
        assert!(
            number == 0 || !(cause.is_empty() || remedy.is_empty()),
            "{constant} has no cause or no remedy"
        );
        // Codes without messages here have them in words, from many places.
        let Some(messages) = by_code.get(variant) else { continue };
        let expected = messages.iter().map(|message| span(message)).collect::<Vec<_>>().join(BREAK);
        updated =
            updated.replace(row, &row.replacen(&format!(" | {message} | "), &format!(" | {expected} | "), 1));
    }
    if std::env::var_os("UPDATE_DOCUMENTS").is_some() {
        fs::write(root().join(DOCUMENT), &updated).expect("the document can be written");
    } else if let Some((now, wanted)) =
        document.lines().zip(updated.lines()).find(|(now, wanted)| now != wanted)
    {
        panic!("{DOCUMENT} says\n{now}\ninstead of\n{wanted}\n(UPDATE_DOCUMENTS=1 writes it anew)");
    }
}

#[test]
fn messages_are_shown_without_what_is_put_into_them() {
    assert_eq!(shown("a {0} b {x:?}{y}"), "a … b …");
    assert_eq!(shown("{0}"), "");
    let file = syn::parse_file(
        "#[derive(Error)] enum E { #[error(\"a {} b\", f(.0))] A(u8), #[error(transparent)] B(X) }",
    );
    let file = file.expect("Rust");
    assert_eq!(messages(&file, "E"), [("A".to_owned(), "a … b".to_owned()), ("B".to_owned(), String::new())]);
}

#[test]
fn codes_get_the_messages_of_their_errors() {
    let source = "fn f(e: &E) -> Self { match e { E::A | E::B { .. } => Self::One, E::C(l) => match l { _ => Self::Two }, _ => Self::Three } }";
    let source = syn::parse_file(source).expect("Rust");
    let codes = ["One", "Two", "Three"].map(str::to_owned).into();
    let list = ["A", "B", "C"].map(|name| (name.to_owned(), format!("message {name}")));
    let by_code = messages_by_code(&codes, &source, &[list.to_vec()]);
    let expected = [("One", vec!["message A", "message B"]), ("Two", vec!["message C"])];
    let expected =
        expected.map(|(code, messages)| (code.to_owned(), messages.into_iter().map(str::to_owned).collect()));
    assert_eq!(by_code, BTreeMap::from(expected));
}

#[test]
#[should_panic(expected = "B has no code")]
fn errors_without_a_code_are_found() {
    let source = "fn f(e: &E) -> Self { match e { E::A => Self::One, _ => Self::One } }";
    let source = syn::parse_file(source).expect("Rust");
    let list = ["A", "B"].map(|name| (name.to_owned(), String::new()));
    messages_by_code(&["One".to_owned()].into(), &source, &[list.to_vec()]);
}
