//! Byte vectors as Godot 3 writes them.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::{Godot3, find_or_install, padding};
use crate::run::{self, Echo};
use crate::workspace::Workspace;

const LIMIT: Duration = Duration::from_secs(120);
const HEADER: &str = "engines\tmode\tinput_hex\tresult\treencoded_hex\ttext\tlabel";

/// Writes the distinct rows of all engines to a file, each with the engines that printed the row. Returns the
/// number of rows.
pub fn write(workspace: &Workspace, to: &Path) -> Result<usize> {
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    let mut known = HashMap::new();
    for engine in find_or_install(workspace)? {
        for row in rows_of(workspace, &engine)? {
            let place = *known.entry(row.clone()).or_insert(rows.len());
            if place == rows.len() {
                rows.push((row, Vec::new()));
            }
            rows[place].1.push(engine.numbers().to_owned());
        }
    }
    let lines = rows.iter().map(|(row, engines)| format!("{}\t{row}\n", engines.join(" ")));
    let text = format!("{HEADER}\n{}", lines.collect::<String>());
    fs::write(to, text).with_context(|| format!("cannot write {}", to.display()))?;
    Ok(rows.len())
}

/// The rows that the script prints, with the padding of NodePaths zeroed.
fn rows_of(workspace: &Workspace, engine: &Godot3) -> Result<Vec<String>> {
    let mut command = engine.script(workspace, "res://vectors.gd", &[]);
    // Each input that the engine refuses causes a script error.
    let outcome = run::watch(&mut command, Echo::Nothing, LIMIT)?;
    ensure!(outcome.bad_end().is_none(), "Godot {}:\n{}", engine.version, outcome.log);
    ensure!(outcome.stdout.ends_with("@@ end\n"), "the script stopped:\n{}", outcome.log);
    outcome.stdout.lines().filter_map(|line| line.strip_prefix("@@ row ")).map(cleared).collect()
}

fn cleared(row: &str) -> Result<String> {
    let mut columns: Vec<String> = row.split('\t').map(str::to_owned).collect();
    let [mode, input, _result, reencoded, ..] = &mut columns[..] else { bail!("not enough columns: {row}") };
    let by_engine = if mode == "crafted" { vec![reencoded] } else { vec![input, reencoded] };
    for column in by_engine {
        // A column with masked instance ids is not hexadecimal, and contains no NodePath.
        if let Ok(mut bytes) = hex::decode(column.as_str())
            && !bytes.is_empty()
        {
            padding::clear(&mut bytes).with_context(|| row.to_owned())?;
            *column = hex::encode(bytes);
        }
    }
    Ok(columns.join("\t"))
}
