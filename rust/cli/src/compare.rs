//! `diff` and `fingerprint`.

use std::io::Write;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use variant_codec::error::quoted;
use variant_codec::outline::Outline;
use variant_codec::patch::{Difference, PathStep, differences};
use variant_codec::{Limits, Result, VariantType, View};

use crate::check::Checker;
use crate::exact;
use crate::failure::{Failure, Outcome};
use crate::input::{self, Format, Input, Placed};
use crate::json::{self, Notation};
use crate::output::Output;

const OLD: Style = AnsiColor::Red.on_default();
const NEW: Style = AnsiColor::Green.on_default();

/// Prints the differences, and fails if there are any. Ignores the order of keys, as fingerprints do.
pub fn diff(old: &Path, new: &Path, format: &Format, most: usize, out: &mut Output) -> Outcome<()> {
    input::refuse_stdin_twice([old, new])?;
    let (old, new) = (Input::open(old, format)?, Input::open(new, format)?);
    let mut comparison = Comparison {
        old: &old,
        new: &new,
        limits: input::limits(),
        text: out.text(),
        left: most,
        is_cut: false,
        differs: false,
    };
    let done = old.each_beside(&new, |index, a, b| comparison.record(index, a, b));
    let (differs, is_cut) = (comparison.differs, comparison.is_cut);
    match done {
        Err(Failure::Closed) => {}
        done => done?,
    }
    if is_cut {
        match writeln!(comparison.text, "… there are more; --most prints them").map_err(Failure::output) {
            Err(Failure::Closed) => {}
            written => written?,
        }
    }
    // The files differ even if a reader such as `head` has closed the output.
    if differs { Err(Failure::Data(String::new())) } else { Ok(()) }
}

struct Comparison<'i, 'o> {
    old: &'i Input,
    new: &'i Input,
    limits: Limits,
    text: Box<dyn Write + 'o>,
    /// The number of differences that may still be printed.
    left: usize,
    /// Whether more differences exist than are printed.
    is_cut: bool,
    differs: bool,
}

impl Comparison<'_, '_> {
    /// Compares two records; one may be missing. Returns whether to compare more records.
    fn record(&mut self, index: u64, old: Option<Placed<'_>>, new: Option<Placed<'_>>) -> Outcome<bool> {
        let record =
            if self.old.has_records || self.new.has_records { format!("[{index}]") } else { String::new() };
        match (old, new) {
            (Some(old), Some(new)) => self.values(index, &record, old, new)?,
            (old, new) => {
                let summary = |(_, bytes)| summary(bytes);
                self.differs = true;
                if self.left == 0 {
                    self.is_cut = true;
                } else {
                    self.left -= 1;
                    line(&mut self.text, &record, old.map(summary).as_deref(), new.map(summary).as_deref())?;
                }
            }
        }
        Ok(!self.is_cut)
    }

    fn values(
        &mut self,
        index: u64,
        record: &str,
        (old_start, old): Placed<'_>,
        (new_start, new): Placed<'_>,
    ) -> Outcome<()> {
        let failed = |error| {
            let (old_name, new_name) = (self.old.name_of(index), self.new.name_of(index));
            for (name, start, bytes) in [(&old_name, old_start, old), (&new_name, new_start, new)] {
                if let Err(error) = Checker::default().check(bytes, &self.limits) {
                    return Failure::data_at(name, error, bytes, start);
                }
            }
            Failure::data(&format!("{old_name} and {new_name}"), &error)
        };
        let old = &exact::canonical(old, &self.limits, &mut Checker::default()).map_err(failed)?;
        let new = &exact::canonical(new, &self.limits, &mut Checker::default()).map_err(failed)?;
        // Ask for one more difference than is printed, to know whether more differences exist.
        let found = differences(old, new, self.left.saturating_add(1), &self.limits).map_err(failed)?;
        let is_equal =
            || Ok(exact::fingerprint(old, &self.limits)? == exact::fingerprint(new, &self.limits)?);
        if found.is_empty() && (old == new || is_equal().map_err(failed)?) {
            return Ok(());
        }
        self.differs = true;
        self.is_cut = found.len().max(1) > self.left;
        for difference in found.iter().take(self.left) {
            let old = difference.old.as_ref().map(exact::encoded).transpose().map_err(failed)?;
            let new = difference.new.as_ref().map(exact::encoded).transpose().map_err(failed)?;
            let (old, new) = match (old, new) {
                (Some(old), Some(new)) => {
                    let (old, new) = summaries(&old, &new, &self.limits).map_err(failed)?;
                    (Some(old), Some(new))
                }
                (old, new) => (old.as_deref().map(summary), new.as_deref().map(summary)),
            };
            line(&mut self.text, &path(record, difference), old.as_deref(), new.as_deref())?;
        }
        if found.is_empty() && self.left > 0 {
            let (old, new) = summaries(old, new, &self.limits).map_err(failed)?;
            line(&mut self.text, record, Some(&old), Some(&new))?;
        }
        self.left -= found.len().max(1).min(self.left);
        Ok(())
    }
}

fn path(record: &str, difference: &Difference<'_>) -> String {
    let mut path = record.to_owned();
    for step in &difference.path {
        match step {
            PathStep::Index(index) => path += &format!("[{index}]"),
            PathStep::Key(key) => path += &format!(".{}", label(key)),
        }
    }
    path
}

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
        (Ok(text), _) if key.has_header() && key.ty() == VariantType::StringName => {
            format!("&{}", quoted(text))
        }
        (Ok(text), _) => quoted(text),
        (_, Ok(int)) => int.to_string(),
        _ => described(key).unwrap_or_default(),
    }
}

fn described(view: &View<'_>) -> Result<String> {
    exact::encoded(view).map(|bytes| summary(&bytes))
}

fn summary(bytes: &[u8]) -> String {
    let outline = Outline::of(bytes, 1);
    let Some(node) = outline.nodes().first() else { return String::new() };
    if node.preview.is_empty() { node.ty.to_string() } else { format!("{} {}", node.ty, node.preview) }
}

/// Summaries that distinguish two different values.
fn summaries(old: &[u8], new: &[u8], limits: &Limits) -> Result<(String, String)> {
    let (short_old, short_new) = (summary(old), summary(new));
    if short_old != short_new {
        return Ok((short_old, short_new));
    }
    let json = |bytes: &[u8]| -> Result<String> {
        let mut text = Vec::new();
        json::append(bytes, limits, Notation::Lossless, &mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    };
    let (old, new) = (json(old)?, json(new)?);
    let same = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    Ok((around(&old, same), around(&new, same)))
}

fn around(text: &str, at: usize) -> String {
    const BEFORE: usize = 40;
    const LONGEST: usize = 120;

    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let start = text.floor_char_boundary(at.saturating_sub(BEFORE));
    let end = text.floor_char_boundary((start + LONGEST).min(text.len()));
    let dots = |is_cut| if is_cut { "…" } else { "" };
    let shown = text.get(start..end).unwrap_or_default();
    format!("{}{shown}{}", dots(start > 0), dots(end < text.len()))
}

/// Prints the fingerprint of each value.
pub fn fingerprint(input: &Input, out: &mut Output) -> Outcome<()> {
    let limits = input::limits();
    input.each(0..u64::MAX, |index, offset, bytes| {
        let found = exact::fingerprint(bytes, &limits);
        let found = found.map_err(|error| Failure::data_at(&input.name_of(index), error, bytes, offset))?;
        writeln!(out.text(), "{}", found.cast_signed()).map_err(Failure::output)
    })
}
