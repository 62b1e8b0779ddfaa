//! The workloads of `cargo xtask bench`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// One input, and the functions that encode and decode it.
#[derive(Debug, Clone)]
pub struct Workload {
    /// The name in tables and files.
    pub name: String,
    pub input: Input,
    /// The name of a class in `godot-project/bench/forms.gd`.
    pub form: &'static str,
}

#[derive(Debug, Clone)]
pub enum Input {
    /// A kind in `godot-project/bench/data.gd`, and the number of items.
    Made(&'static str, u32),
    /// A JSON document.
    Document(PathBuf),
}

/// The name, kind, count, form and engine's functions of each workload. The functions are empty if
/// docs/benchmarks.md omits the workload.
pub const TABLE: [(&str, &str, u32, &str, &str); 27] = [
    ("entities", "entities", 50_000, "value", "`var_to_bytes`, `bytes_to_var`"),
    ("ints", "ints", 1_000_000, "value", SAME),
    ("floats", "floats", 500_000, "value", SAME),
    ("Vector3 in an Array", "vectors", 500_000, "value", SAME),
    ("ASCII Strings", "ascii", 200_000, "value", SAME),
    ("Unicode Strings", "unicode", 200_000, "value", SAME),
    ("PackedStringArray", "packed strings", 200_000, "value", ""),
    ("PackedVector3Array", "packed vectors", 2_000_000, "value", SAME),
    ("PackedByteArray", "packed bytes", 32_000_000, "value", SAME),
    ("events: small Dictionaries", "events", 2_000, "value", SAME),
    ("int, one call", "int", 1, "int", SAME),
    ("short String, one call", "string", 1, "string", SAME),
    ("3-key message, one call", "message", 1, "message", SAME),
    (
        "objects with scripts",
        "objects",
        10_000,
        "objects",
        "`var_to_bytes_with_objects`, `bytes_to_var_with_objects`",
    ),
    (
        "objects of registered classes",
        "objects",
        10_000,
        "classes",
        "`var_to_bytes_with_objects`, `bytes_to_var_with_objects`",
    ),
    (
        "the same, beside conversion by hand",
        "objects",
        10_000,
        "classes by hand",
        "a loop of `to_dict`, `var_to_bytes`; `bytes_to_var`, `from_dict`",
    ),
    ("batch of entities", "entities", 50_000, "batch", "a loop of `var_to_bytes`, `bytes_to_var`"),
    ("batch of ints", "ints", 50_000, "batch", ""),
    ("pack_batch of entities", "entities", 50_000, "pack", "the same loop"),
    ("entities: one part, first access", "entities", 50_000, "first part", "`bytes_to_var`, then the part"),
    ("entities: three columns", "entities", 50_000, "columns", "`bytes_to_var`, then a loop"),
    ("entities: rows that match", "entities", 50_000, "rows", ""),
    ("file of records: one column", "entities", 10_000, "records", "a loop of `FileAccess.get_var`"),
    ("entities: validated", "entities", 50_000, "validate", "`bytes_to_var`"),
    ("entities: patch of one change", "entities", 50_000, "one change", "`var_to_bytes` of both"),
    ("entities: fingerprint", "entities", 50_000, "fingerprint", "`hash(var_to_bytes(value))`"),
    ("entities as a protobuf message", "messages", 50_000, "protobuf", "`var_to_bytes`, `bytes_to_var`"),
];
const SAME: &str = "the same";

/// Every workload, and the documents of the folder `data`.
pub fn all(data: Option<&Path>) -> Result<Vec<Workload>> {
    let made = |(name, kind, count, form, _): (&str, _, _, _, _)| Workload {
        name: name.to_owned(),
        input: Input::Made(kind, count),
        form,
    };
    let mut all: Vec<_> = TABLE.into_iter().map(made).collect();
    if let Some(folder) = data {
        all.extend(documents(folder)?);
    }
    Ok(all)
}

/// The workload with this name, or all workloads whose names contain it.
pub fn only(all: Vec<Workload>, name: &str) -> Result<Vec<Workload>> {
    let exact = all.iter().any(|workload| workload.name == name);
    let names: Vec<_> = all.iter().map(|workload| workload.name.clone()).collect();
    let is_chosen =
        |workload: &Workload| if exact { workload.name == name } else { workload.name.contains(name) };
    let chosen: Vec<_> = all.into_iter().filter(is_chosen).collect();
    ensure!(!chosen.is_empty(), "no workload is called `{name}`; expected one of: {}", names.join("; "));
    Ok(chosen)
}

fn documents(folder: &Path) -> Result<Vec<Workload>> {
    let folder = fs::canonicalize(folder).with_context(|| format!("cannot open {}", folder.display()))?;
    let mut files = fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    ensure!(!files.is_empty(), "there is no JSON document in {}", folder.display());
    let workload = |file: PathBuf| Workload {
        name: file.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        input: Input::Document(file),
        form: "value",
    };
    Ok(files.into_iter().map(workload).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_of_a_name_chooses_several() {
        let chosen = |name| only(all(None).unwrap(), name).map(|chosen| chosen.len()).ok();
        assert_eq!([chosen("ints"), chosen("batch of"), chosen("nothing")], [Some(1), Some(3), None]);
    }

    #[test]
    fn the_project_knows_every_kind_and_form() {
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../godot-project/bench");
        let data = fs::read_to_string(project.join("data.gd")).unwrap();
        let forms = fs::read_to_string(project.join("forms.gd")).unwrap();
        for (name, kind, _, form, _) in TABLE {
            assert!(data.contains(&format!("\"{kind}\":")), "{name}: {kind}");
            assert!(form == "value" || forms.contains(&format!("\"{form}\":")), "{name}: {form}");
        }
    }
}
