//! Workloads and their targets.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::report::{Build, Op};

/// One input, and how it is encoded and decoded.
#[derive(Debug, Clone)]
pub struct Workload {
    /// Its name in tables and files.
    pub name: String,
    /// What `godot-project/bench/` makes it of.
    pub input: Input,
    /// A class in `godot-project/bench/forms.gd`.
    pub form: &'static str,
    /// Whether it is one of a series of sizes, which shows how the cost grows.
    pub is_growth: bool,
    reach: Reach,
}

/// Where a workload's value comes from.
#[derive(Debug, Clone)]
pub enum Input {
    /// A kind in `godot-project/bench/data.gd`, and the count.
    Made(&'static str, u32),
    /// A JSON document.
    Document(PathBuf),
}

/// The number of codec threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// The calling one.
    One,
    /// One per processor, the default.
    All,
}

/// Engine time over codec time, for encoding and for decoding.
type Ratios = [Option<f64>; 2];

#[derive(Debug, Clone, Copy)]
struct Reach {
    one_thread: Ratios,
    all_threads: Ratios,
    /// Other targets for the editor build.
    editor: Option<Ratios>,
}

const OPEN: Ratios = [None, None];
const NOTHING: Reach = Reach { one_thread: OPEN, all_threads: OPEN, editor: None };

/// With the same targets in the editor.
const fn reach(encode: f64, decode: f64) -> Reach {
    Reach { all_threads: [Some(encode), Some(decode)], ..NOTHING }
}

const fn reach_apart(one_thread: [f64; 2], all_threads: [f64; 2]) -> Reach {
    let [encode, decode] = one_thread;
    Reach { one_thread: [Some(encode), Some(decode)], ..reach(all_threads[0], all_threads[1]) }
}

const fn reach_packed(editor_encode: f64, editor_decode: f64) -> Reach {
    Reach { editor: Some([Some(editor_encode), Some(editor_decode)]), ..reach(1.0, 1.0) }
}

/// What is only decoded, or read in part.
const fn reach_reading(ratio: f64) -> Reach {
    let ratios = [None, Some(ratio)];
    Reach { one_thread: ratios, all_threads: ratios, editor: None }
}

/// What counts with one thread, and only when it is decoded.
const fn reach_reading_alone(ratio: f64) -> Reach {
    Reach { one_thread: [None, Some(ratio)], ..NOTHING }
}

/// What is only compared.
const fn reach_comparing(ratio: f64) -> Reach {
    let ratios = [Some(ratio), None];
    Reach { one_thread: ratios, all_threads: ratios, editor: None }
}

/// Decoding one tiny value is bounded by the cost of a call into an extension.
const REACH_TINY: Reach = Reach { all_threads: [Some(1.0), None], ..NOTHING };

const REACH_UNICODE: Reach = Reach { one_thread: [None, Some(1.5)], ..reach(5.0, 2.0) };

const REACH_DOCUMENT: Reach = reach_apart([4.0, 1.8], [6.0, 3.0]);

/// Name, kind, count, form, and target.
const TABLE: [(&str, &str, u32, &str, Reach); 35] = [
    ("entities", "entities", 50_000, "value", reach_apart([5.0, 1.8], [8.0, 3.0])),
    ("ints", "ints", 1_000_000, "value", reach(6.0, 8.0)),
    ("floats", "floats", 500_000, "value", reach(4.0, 9.0)),
    ("Vector3 in an Array", "vectors", 500_000, "value", reach(5.0, 8.0)),
    ("ASCII Strings", "ascii", 200_000, "value", reach(6.0, 2.5)),
    ("Unicode Strings", "unicode", 200_000, "value", REACH_UNICODE),
    ("PackedStringArray", "packed strings", 200_000, "value", reach(6.0, 2.5)),
    ("PackedVector3Array", "packed vectors", 2_000_000, "value", reach(2.0, 1.0)),
    ("PackedInt32Array", "packed ints", 8_000_000, "value", reach_packed(3.0, 3.0)),
    ("PackedFloat32Array", "packed floats", 8_000_000, "value", reach_packed(3.0, 3.0)),
    ("PackedByteArray", "packed bytes", 32_000_000, "value", reach_packed(1.0, 3.0)),
    ("nil, one call", "nil", 1, "nil", REACH_TINY),
    ("int, one call", "int", 1, "int", REACH_TINY),
    ("int, one call, all arguments", "int", 1, "int, all arguments", NOTHING),
    ("Vector3, one call", "vector3", 1, "vector3", REACH_TINY),
    ("short String, one call", "string", 1, "string", REACH_TINY),
    ("3-key message, one call", "message", 1, "message", reach(3.0, 1.6)),
    ("events: small Dictionaries", "events", 2_000, "value", reach_reading_alone(1.5)),
    ("objects with scripts", "objects", 10_000, "objects", NOTHING),
    ("entities: one part, first access", "entities", 50_000, "first part", reach_reading(25.0)),
    ("entities: 1,000 parts again", "entities", 50_000, "parts", NOTHING),
    ("entities: three columns", "entities", 50_000, "columns", reach_reading(15.0)),
    ("entities: rows that match", "entities", 50_000, "rows", reach_reading(15.0)),
    ("file of records: one column", "entities", 10_000, "records", reach_reading(15.0)),
    ("entities: validated", "entities", 50_000, "validate", reach_reading(10.0)),
    ("entities: patch of one change", "entities", 50_000, "one change", reach_comparing(1.0)),
    ("lists: patch of one insertion", "lists", 1_000, "one insertion", reach_comparing(1.0)),
    ("entities: fingerprint", "entities", 50_000, "fingerprint", reach_comparing(4.0)),
    ("batch of entities", "entities", 50_000, "batch", reach(6.0, 3.0)),
    ("batch of ints", "ints", 50_000, "batch", NOTHING),
    ("batch of Strings", "ascii", 50_000, "batch", NOTHING),
    ("pack_batch of entities", "entities", 50_000, "pack", reach(10.0, 3.0)),
    ("pack_batch of ints", "ints", 50_000, "pack", NOTHING),
    ("entities as a protobuf message", "messages", 50_000, "protobuf", reach_apart([1.0, 1.0], [1.0, 1.0])),
    ("entities as a compact message", "messages", 50_000, "compact", reach_apart([1.0, 1.0], [1.0, 1.0])),
];

/// What many of them are called, kind, form and largest size. A million entities would need several gigabytes.
const GROWTH: [(&str, &str, &str, u32); 4] = [
    ("# ints", "ints", "value", 1_000_000),
    ("# ASCII Strings", "ascii", "value", 1_000_000),
    ("# entities", "entities", "value", 100_000),
    ("batch of # entities", "entities", "batch", 100_000),
];
const SMALLEST: u32 = 100;

/// What docs/benchmarks.md shows, in this order: names of [`TABLE`], and what the engine does for the row.
pub const SUMMARY: [(&str, &str); 19] = [
    ("entities", "`var_to_bytes`, `bytes_to_var`"),
    ("ints", "the same"),
    ("floats", "the same"),
    ("Vector3 in an Array", "the same"),
    ("ASCII Strings", "the same"),
    ("Unicode Strings", "the same"),
    ("PackedVector3Array", "the same"),
    ("PackedByteArray", "the same"),
    ("events: small Dictionaries", "the same"),
    ("objects with scripts", "`var_to_bytes_with_objects`, `bytes_to_var_with_objects`"),
    ("int, one call", "`var_to_bytes`, `bytes_to_var`"),
    ("3-key message, one call", "the same"),
    ("batch of entities", "a loop of `var_to_bytes`, `bytes_to_var`"),
    ("pack_batch of entities", "the same"),
    ("entities: one part, first access", "`bytes_to_var`, then the part"),
    ("entities: three columns", "`bytes_to_var`, then a loop"),
    ("entities: validated", "`bytes_to_var`"),
    ("entities: patch of one change", "`var_to_bytes` of both"),
    ("entities: fingerprint", "`hash(var_to_bytes(value))`"),
];

impl Workload {
    /// The ratio to reach, where there is one.
    pub fn target(&self, build: Build, op: Op, threads: Threads) -> Option<f64> {
        let ratios = match (threads, build, self.reach.editor) {
            (Threads::One, ..) => self.reach.one_thread,
            (Threads::All, Build::Editor, Some(ratios)) => ratios,
            (Threads::All, ..) => self.reach.all_threads,
        };
        ratios[op as usize]
    }

    /// Whether there is a target for one thread.
    pub fn counts_with_one_thread(&self) -> bool {
        self.reach.one_thread != OPEN
    }
}

/// Every workload, with the documents of the folder `data`.
pub fn all(data: Option<&Path>, with_growth: bool) -> Result<Vec<Workload>> {
    let mut all: Vec<_> = TABLE.into_iter().map(made).collect();
    if let Some(folder) = data {
        all.extend(documents(folder)?);
    }
    if with_growth {
        all.extend(GROWTH.into_iter().flat_map(sizes));
    }
    Ok(all)
}

/// The names of what shows how the cost grows.
pub fn growing() -> Vec<String> {
    GROWTH.into_iter().flat_map(sizes).map(|workload| workload.name).collect()
}

/// The workload with this name, else all whose names contain it.
pub fn only(all: Vec<Workload>, name: &str) -> Result<Vec<Workload>> {
    let exact = all.iter().any(|workload| workload.name == name);
    let names: Vec<_> = all.iter().map(|workload| workload.name.clone()).collect();
    let chosen: Vec<_> = all
        .into_iter()
        .filter(|workload| if exact { workload.name == name } else { workload.name.contains(name) })
        .collect();
    ensure!(!chosen.is_empty(), "no workload is called `{name}`; there are: {}", names.join("; "));
    Ok(chosen)
}

fn made((name, kind, count, form, reach): (&str, &'static str, u32, &'static str, Reach)) -> Workload {
    Workload { name: name.to_owned(), input: Input::Made(kind, count), form, is_growth: false, reach }
}

fn sizes(
    (name, kind, form, largest): (&'static str, &'static str, &'static str, u32),
) -> impl Iterator<Item = Workload> {
    let counts = std::iter::successors(Some(SMALLEST), |count| count.checked_mul(10));
    counts.take_while(move |count| *count <= largest).map(move |count| Workload {
        name: name.replace('#', &count.to_string()),
        input: Input::Made(kind, count),
        form,
        is_growth: true,
        reach: NOTHING,
    })
}

fn documents(folder: &Path) -> Result<Vec<Workload>> {
    let folder = fs::canonicalize(folder).with_context(|| format!("cannot open {}", folder.display()))?;
    let mut files = fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    ensure!(!files.is_empty(), "there is no JSON document in {}", folder.display());
    Ok(files
        .into_iter()
        .map(|file| Workload {
            name: file.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            input: Input::Document(file),
            form: "value",
            is_growth: false,
            reach: REACH_DOCUMENT,
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Workload {
        only(all(None, true).unwrap(), name).unwrap().remove(0)
    }

    #[test]
    fn names_are_unique() {
        let all = all(None, true).unwrap();
        for workload in &all {
            assert_eq!(
                all.iter().filter(|other| other.name == workload.name).count(),
                1,
                "{}",
                workload.name
            );
        }
    }

    #[test]
    fn the_summary_names_workloads() {
        for (name, _) in SUMMARY {
            assert_eq!(named(name).name, name);
        }
    }

    #[test]
    fn targets_depend_on_threads_and_build() {
        let entities = named("entities");
        assert_eq!(entities.target(Build::Release, Op::Encode, Threads::One), Some(5.0));
        assert_eq!(entities.target(Build::Editor, Op::Decode, Threads::All), Some(3.0));
        let packed = named("PackedInt32Array");
        assert_eq!(packed.target(Build::Release, Op::Encode, Threads::All), Some(1.0));
        assert_eq!(packed.target(Build::Editor, Op::Encode, Threads::All), Some(3.0));
        assert_eq!(packed.target(Build::Release, Op::Encode, Threads::One), None);
        assert_eq!(named("int, one call").target(Build::Release, Op::Decode, Threads::All), None);
    }

    #[test]
    fn part_of_a_name_chooses_several() {
        assert_eq!(only(all(None, false).unwrap(), "ints").unwrap().len(), 1);
        assert_eq!(only(all(None, false).unwrap(), "batch of").unwrap().len(), 5);
        assert!(only(all(None, false).unwrap(), "nothing").is_err());
    }

    #[test]
    fn the_project_knows_every_kind_and_form() {
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../godot-project/bench");
        let data = fs::read_to_string(project.join("data.gd")).unwrap();
        let forms = fs::read_to_string(project.join("forms.gd")).unwrap();
        for workload in all(None, true).unwrap() {
            let Input::Made(kind, _) = workload.input else { continue };
            assert!(kind == "nil" || data.contains(&format!("\"{kind}\":")), "{kind}");
            let form = workload.form;
            assert!(form == "value" || forms.contains(&format!("\"{form}\":")), "{form}");
        }
    }
}
