//! `diff` and `fingerprint`.

use std::io::Write;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use variant_codec::error::quoted;
use variant_codec::outline::Outline;
use variant_codec::patch::{Difference, PathStep, differences};
use variant_codec::stream::Precision;
use variant_codec::{View, fingerprint as fingerprint_of};

use crate::failure::{Failure, Outcome};
use crate::input::{self, Format, Input};
use crate::output::Output;

const OLD: Style = AnsiColor::Red.on_default();
const NEW: Style = AnsiColor::Green.on_default();

/// Prints what differs, and fails if anything does.
pub fn diff(old: &Path, new: &Path, format: &Format, most: usize, out: &mut Output) -> Outcome<()> {
    let (old, new) = (Input::open(old, format)?, Input::open(new, format)?);
    let (old_values, new_values) = (values(&old)?, values(&new)?);
    let limits = input::limits();
    let mut text = out.text();
    let mut left = most;
    let mut differs = false;
    for index in 0..old_values.len().max(new_values.len()) {
        let record = if old.has_records || new.has_records { format!("[{index}]") } else { String::new() };
        match (old_values.get(index), new_values.get(index)) {
            (Some(a), Some(b)) => {
                let found = differences(a, b, left, &limits);
                let found = found.map_err(|error| {
                    let name = format!("{} and {}", old.name_of(index as u64), new.name_of(index as u64));
                    Failure::data(&name, &error)
                })?;
                left -= found.len();
                differs |= a != b;
                found.iter().try_for_each(|difference| print(&mut text, &record, difference))?;
            }
            (Some(a), None) => {
                differs = true;
                line(&mut text, &record, Some(&summary(a)), None)?;
                left = left.saturating_sub(1);
            }
            (None, b) => {
                differs = true;
                line(&mut text, &record, None, b.map(|b| summary(b)).as_deref())?;
                left = left.saturating_sub(1);
            }
        }
        if left == 0 {
            writeln!(text, "… there may be more; --most prints them").map_err(Failure::output)?;
            break;
        }
    }
    if differs { Err(Failure::Data(String::new())) } else { Ok(()) }
}

fn values(input: &Input) -> Outcome<Vec<Vec<u8>>> {
    let mut values = Vec::new();
    input.each(0..u64::MAX, |_, _, bytes| {
        values.push(bytes.to_vec());
        Ok(())
    })?;
    Ok(values)
}

fn print(out: &mut dyn Write, record: &str, difference: &Difference<'_>) -> Outcome<()> {
    let mut path = record.to_owned();
    for step in &difference.path {
        match step {
            PathStep::Index(index) => path += &format!("[{index}]"),
            PathStep::Key(key) => path += &format!(".{}", label(key)),
        }
    }
    let shown = |view: &View<'_>| view.bytes().map(summary).unwrap_or_default();
    let (old, new) = (difference.old.as_ref().map(shown), difference.new.as_ref().map(shown));
    line(out, &path, old.as_deref(), new.as_deref())
}

/// Prints one difference.
fn line(out: &mut dyn Write, path: &str, old: Option<&str>, new: Option<&str>) -> Outcome<()> {
    let path = if path.is_empty() { "(all)" } else { path };
    let written = match (old, new) {
        (Some(old), Some(new)) => writeln!(out, "{path}: {OLD}{old}{OLD:#} → {NEW}{new}{NEW:#}"),
        (Some(old), None) => writeln!(out, "{path}: {OLD}removed {old}{OLD:#}"),
        (None, new) => writeln!(out, "{path}: {NEW}added {}{NEW:#}", new.unwrap_or_default()),
    };
    written.map_err(Failure::output)
}

fn label(key: &View<'_>) -> String {
    match (key.as_str(), key.as_i64()) {
        (Ok(text), _) => quoted(text),
        (_, Ok(int)) => int.to_string(),
        _ => key.bytes().map(summary).unwrap_or_default(),
    }
}

/// A value in a few words.
fn summary(bytes: &[u8]) -> String {
    let outline = Outline::of(bytes, 1);
    let Some(node) = outline.nodes().first() else { return String::new() };
    if node.preview.is_empty() { node.ty.to_string() } else { format!("{} {}", node.ty, node.preview) }
}

/// Prints the fingerprint of each value.
pub fn fingerprint(input: &Input, out: &mut Output) -> Outcome<()> {
    let limits = input::limits();
    input.each(0..u64::MAX, |index, offset, bytes| {
        let found = fingerprint_of(bytes, Precision::Single, &limits);
        let found = found.map_err(|error| Failure::data_at(&input.name_of(index), error, bytes, offset))?;
        writeln!(out.text(), "{}", found.cast_signed()).map_err(Failure::output)
    })
}
