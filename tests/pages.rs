//! Generated tables in pages. `ACCEPT=1 cargo test -p conformance pages::` writes them.

use std::path::Path;
use std::{env, fs};

use variant_codec::Limits;
use variant_codec::limits::ALL_TYPES;

/// A promise, and its tests: suites (`godot-project/suites/NAME_suite.gd`, with NAME in the singular),
/// modules of these tests, and activities of `cargo xtask soak`.
struct Promise(&'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]);

#[rustfmt::skip]
const CALLS: &[Promise] = &[
    Promise("No input crashes or aborts the process, and within the limits of `for_network` none hangs it, on any thread, at any depth of nesting (but [not on the web](platforms.md#the-web) from deep inside a script)",
        &["hostile", "threads"], &["fuzz"], &["fuzz", "values", "valgrind"]),
    Promise("Nothing is allocated for an announced count before its bytes are known to be there",
        &["hostile"], &["memory"], &[]),
    Promise("A typed container never holds a value that its type does not allow, which a script would misinterpret",
        &["hostile", "conversions"], &[], &[]),
    Promise("No byte outside the input is read, and no uninitialised byte is returned; the codec crate forbids unsafe code",
        &["values", "hostile"], &["fuzz"], &["valgrind"]),
    Promise("`decode` prints one error for an input that fails, and `try_` methods, `validate`, `inspect` and `describe` print none, however deep or large the damage",
        &[], &[], &["messages", "panics"]),
    Promise("Everything that a failed call created is freed, Nodes included, and so is everything that a job created but nobody received",
        &["objects", "limits", "ownership"], &[], &["calls"]),
    Promise("After a bad record, `unpack_batch` and `load_batch` create no objects and run no setters",
        &["ownership"], &[], &[]),
    Promise("A job decodes the bytes as they were at the call, whatever happens to the buffers later; so does a batch whose setters change the buffers",
        &["ownership"], &[], &[]),
    Promise("A bug in the library itself is reported like any other error, as `INTERNAL_ERROR`: it does not end the script's function, prints only its message, and the next call works",
        &[], &[], &["panics"]),
    Promise("No script, resource or class is loaded or instantiated unless objects are allowed",
        &["objects"], &[], &[]),
    Promise("`FastVariantClasses` makes objects of registered classes only, and sets only their registered properties",
        &["classes"], &[], &[]),
];

#[rustfmt::skip]
const FILES: &[Promise] = &[
    Promise("A save or an append that fails changes nothing and leaves nothing behind: on folders, pipes, devices, `/proc`, circular links, names that are too long, full disks",
        &["files"], &[], &["writers"]),
    Promise("Only two kinds of files are removed: the empty file that a failed append has just created, and abandoned temporary files, `.fast-variant-codec-….tmp` with 16 letters or digits, if a lock proves that no process writes to them",
        &[], &[], &["writers"]),
    Promise("Processes that append to, save, load and view one file lose no record and see no partial record, on a file system with locks",
        &[], &[], &["writers", "kill"]),
    Promise("A script that runs during a call (a getter or setter) can use the same file in another call",
        &["files"], &[], &[]),
];

/// Each limit with its meaning and the error code for exceeding it, in the order of [`shown`].
#[rustfmt::skip]
const LIMITS: [(&str, &str, &str); 12] = [
    ("max_bytes", "", "MAX_BYTES_EXCEEDED"),
    ("max_depth", "beyond the engine's own limit, the code is `TOO_DEEP`", "MAX_DEPTH_EXCEEDED"),
    ("max_elements", "values in all, elements of packed arrays and names of NodePaths included", "MAX_ELEMENTS_EXCEEDED"),
    ("max_memory", "bytes that the value takes in the engine", "MAX_MEMORY_EXCEEDED"),
    ("max_key_comparisons", "if all keys and names collide", "MAX_KEY_COMPARISONS_EXCEEDED"),
    ("allow_trailing_bytes", "", "TRAILING_BYTES"),
    ("allow_non_canonical", "non-canonical encodings that other programs write", "NOT_CANONICAL"),
    ("lost_objects_as_null", "objects that were saved only by instance id", ""),
    ("allowed_types", "`allow_only([TYPE_INT, …])` sets it", "TYPE_NOT_ALLOWED"),
    ("allow_objects", "", "OBJECTS_NOT_ALLOWED"),
    ("allowed_classes", "native classes, by exact name; empty is all", "CLASS_NOT_ALLOWED"),
    ("allowed_scripts", "scripts, by path; empty is all", "SCRIPT_NOT_ALLOWED"),
];

/// The limits of a preset. The pattern has no `..`, so that a new limit requires a row.
fn shown(limits: Limits) -> [String; LIMITS.len()] {
    let Limits {
        max_bytes,
        max_depth,
        max_elements,
        max_memory,
        max_key_comparisons,
        allow_trailing_bytes,
        allow_non_canonical,
        lost_objects_as_null,
        allow_objects,
        allowed_classes,
        allowed_scripts,
        allowed_types,
    } = limits;
    let bytes = |bytes: u64| match bytes {
        u64::MAX => "none".to_owned(),
        0x7FFF_FFFF => "2 GiB − 1".to_owned(),
        bytes => format!("{} MiB", bytes >> 20),
    };
    let count = |count: u64| match count {
        u64::MAX => "none".to_owned(),
        1_000_000.. => format!("{},000,000", count / 1_000_000),
        count => format!("{},{:03}", count / 1000, count % 1000),
    };
    let flag = |flag: bool| if flag { "yes" } else { "no" }.to_owned();
    let all = |all: bool| if all { "all" } else { "some" }.to_owned();
    [
        bytes(max_bytes as u64),
        max_depth.to_string(),
        count(max_elements),
        bytes(max_memory),
        count(max_key_comparisons),
        flag(allow_trailing_bytes),
        flag(allow_non_canonical),
        flag(lost_objects_as_null),
        all(allowed_types == ALL_TYPES),
        flag(allow_objects),
        all(allowed_classes.is_empty()),
        all(allowed_scripts.is_empty()),
    ]
}

fn limits_table() -> String {
    let presets = [Limits::for_network(), Limits::for_save_files()].map(shown);
    let head = ["property", "`for_network()`", "`for_save_files()`", "code when exceeded"];
    let rows = LIMITS.iter().enumerate().map(|(at, (name, meaning, code))| {
        let colon = if meaning.is_empty() { "" } else { ": " };
        let [network, save] = [0, 1].map(|preset| presets[preset][at].clone());
        let code = if code.is_empty() { String::new() } else { format!("`{code}`") };
        vec![format!("`{name}`{colon}{meaning}"), network, save, code]
    });
    table(&head, rows)
}

/// The table of promises. Panics if a promise names a suite, a test or an activity that does not exist.
fn promises_table(promises: &[Promise]) -> String {
    let named = |kind: &str, names: &[&str]| {
        let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
        (!names.is_empty()).then(|| format!("{kind} {}", names.join(", ")))
    };
    let rows = promises.iter().map(|&Promise(promise, suites, tests, soak)| {
        let runner = fs::read_to_string(root("godot-project/suites/run.gd")).expect("the list of suites");
        suites
            .iter()
            .for_each(|suite| assert!(runner.contains(&format!("\"{suite}\": preload(")), "{suite}"));
        let activities = fs::read_to_string(root("rust/xtask/src/soak/mod.rs")).expect("the activities");
        soak.iter().for_each(|name| assert!(activities.contains(&format!("\"{name}\",")), "{name}"));
        let sources = tests.iter().map(|test| format!("tests/{test}.rs"));
        sources.for_each(|file| assert!(root(&file).is_file(), "{promise}: there is no {file}"));
        let held = [named("suites", suites), named("Rust tests", tests), named("`cargo xtask soak`", soak)];
        vec![promise.to_owned(), held.into_iter().flatten().collect::<Vec<_>>().join("; ")]
    });
    table(&["promise", "held by"], rows)
}

fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let head = line(head.iter().map(|&cell| cell.to_owned()).collect()) + &"|---".repeat(head.len()) + "|\n";
    rows.fold(head, |table, row| table + &line(row))
}

fn root(file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file)
}

/// Compares a page's tables, between `<!-- NAME: begin -->` and `<!-- NAME: end -->`, with the expected
/// tables.
fn check(page: &str, tables: &[(&str, String)]) {
    let path = root(page);
    let before = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{page}: {error}"));
    let mut after = before.clone();
    for (name, table) in tables {
        let [begin, end] = ["begin", "end"].map(|edge| format!("<!-- {name}: {edge} -->"));
        let (head, rest) = after.split_once(&begin).unwrap_or_else(|| panic!("{page} lacks {begin}"));
        let (_, tail) = rest.split_once(&end).unwrap_or_else(|| panic!("{page} lacks {end}"));
        after = format!("{head}{begin}\n{table}{end}{tail}");
    }
    if env::var_os("ACCEPT").is_some() {
        fs::write(&path, after).unwrap_or_else(|error| panic!("{page}: {error}"));
    } else {
        assert!(before == after, "{page} is out of date: `cargo xtask accept pages` writes it");
    }
}

#[test]
fn pages_have_the_tables_of_the_code() {
    let security =
        [("promises", promises_table(CALLS)), ("limits", limits_table()), ("files", promises_table(FILES))];
    check("docs/security.md", &security);
}
