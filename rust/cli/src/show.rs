//! `show`: values as a tree.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use variant_codec::error::quoted;
use variant_codec::outline::{Node, Outline, Role};
use variant_codec::{Error, ErrorKind, VariantType, View, frames};

use crate::exact::encoded;
use crate::failure::{Failure, Outcome, in_words};
use crate::input::{Input, ValuePath, no_record};
use crate::output::Output;

const NAME: Style = AnsiColor::Cyan.on_default();
const TEXT: Style = AnsiColor::Green.on_default();
const NUMBER: Style = AnsiColor::Yellow.on_default();
const FAINT: Style = Style::new().dimmed();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// Prints the value at the path as a tree. Prints a damaged value up to the damage, and then fails.
pub fn show(input: &Input, path: &str, offsets: bool, most: usize, out: &mut Output) -> Outcome<()> {
    let path = ValuePath::of(input, path)?;
    let mut out = out.text();
    let shown = if path.steps.is_empty() {
        show_values(input, &path, offsets, most, &mut out)
    } else {
        show_part(input, &path, offsets, most, &mut out)
    };
    if let Some(damage) = &input.damage {
        writeln!(out, "{BAD}the compressed file is damaged: {damage}{BAD:#}").map_err(Failure::output)?;
        return Err(Failure::Data(String::new()));
    }
    shown
}

/// Prints the records that the path selects, or the single value, in the format in which they are stored.
fn show_values(
    input: &Input,
    path: &ValuePath<'_>,
    offsets: bool,
    most: usize,
    out: &mut dyn Write,
) -> Outcome<()> {
    let wanted = path.record.map_or(0..u64::MAX, |record| record..record.saturating_add(1));
    let (mut is_damaged, mut is_found) = (false, false);
    let mut tree = |index: u64, start: u64, bytes: &[u8], torn: Option<&Error>| {
        let outline = match input.godot3 {
            Some(_) => Outline::of_godot3(bytes, most),
            None => Outline::of(bytes, most),
        };
        let label = if input.has_records { format!("[{index}]") } else { String::new() };
        is_damaged |= torn.is_some() || outline.error().is_some() || outline.end() < bytes.len();
        is_found = true;
        Tree { outline: &outline, bytes, start, offsets, torn }.write(out, &label).map_err(Failure::output)
    };
    let mut end = (wanted.start, 0);
    let mut read = input.each_stored(wanted.clone(), |index, offset, bytes| {
        end = (index + 1, offset + bytes.len() as u64);
        tree(index, offset, bytes, None)
    });
    if read.is_err() && end == (wanted.start, 0) {
        // The damage may come before the wanted record.
        let passed = input.each_stored(0..wanted.start, |index, offset, bytes| {
            end = (index + 1, offset + bytes.len() as u64);
            Ok(())
        });
        read = passed.and(read);
    }
    let (index, at) = end;
    if let (Err(Failure::Data(_)), true) = (&read, wanted.contains(&index))
        && let Some((bytes, error)) = input.torn_record(at)?
    {
        tree(index, at + frames::FRAME_BYTES as u64, &bytes, Some(&error))?;
        read = Ok(());
    }
    read?;
    match path.record {
        Some(record) if !is_found => Err(no_record(input, record)),
        _ if is_damaged => Err(Failure::Data(String::new())),
        _ => Ok(()),
    }
}

/// Prints a part of each value that the path selects.
fn show_part(
    input: &Input,
    path: &ValuePath<'_>,
    offsets: bool,
    most: usize,
    out: &mut dyn Write,
) -> Outcome<()> {
    if offsets && input.godot3.is_some() {
        return Err(Failure::Data(format!(
            "{}: Godot 3's format, whose parts are converted before they are shown: leave out --offsets",
            input.name
        )));
    }
    path.each(input, |index, offset, view: View<'_>| {
        let failed = |error| Failure::data_in(&input.name_of(index), error, offset);
        let start = offset + view.range().map_err(failed)?.start as u64;
        let bytes = &encoded(&view).map_err(failed)?;
        let outline = Outline::of(bytes, most);
        let label = if input.has_records { format!("[{index}]") } else { String::new() };
        Tree { outline: &outline, bytes, start, offsets, torn: None }
            .write(out, &label)
            .map_err(Failure::output)
    })
}

struct Tree<'o> {
    outline: &'o Outline<'o>,
    bytes: &'o [u8],
    /// The offset of `bytes` in the file.
    start: u64,
    offsets: bool,
    /// The error of the record, if it is truncated.
    torn: Option<&'o Error>,
}

impl Tree<'_> {
    fn write(&self, out: &mut dyn Write, root: &str) -> std::io::Result<()> {
        let nodes = self.outline.nodes();
        let mut label = root.to_owned();
        // The label of an entry's value is its key, so the nodes inside a key are skipped.
        let mut key_depth = None;
        for node in nodes {
            if key_depth.is_some_and(|depth| node.depth > depth) {
                continue;
            }
            key_depth = None;
            match &node.role {
                Role::Key(_) => {
                    (label, key_depth) = (key(node), Some(node.depth));
                    continue;
                }
                Role::Element(index) => label = format!("[{index}]"),
                Role::Property(name) => label = format!("{}:", quoted(name)),
                Role::Root | Role::Value(_) => {}
            }
            self.node(out, node, &std::mem::take(&mut label))?;
        }
        let left_out: usize = nodes.iter().map(|node| node.left_out.count).sum();
        if left_out > 0 {
            writeln!(
                out,
                "{FAINT}… and {left_out} more keys and values; raise --most to show them, or give the path of a part{FAINT:#}"
            )?;
        }
        let end = self.outline.end();
        if let Some(error) = self.torn {
            let error = in_words(error.clone());
            return writeln!(out, "{BAD}damaged: {error}{BAD:#}");
        }
        match self.outline.error() {
            Some(error) => self.error(out, error.kind(), error.offset().unwrap_or(end)),
            None if end < self.bytes.len() => {
                self.error(out, &ErrorKind::TrailingBytes(self.bytes.len() - end), end)
            }
            None => Ok(()),
        }
    }

    fn node(&self, out: &mut dyn Write, node: &Node, label: &str) -> std::io::Result<()> {
        if self.offsets {
            write!(out, "{FAINT}{:>10}{FAINT:#}  ", self.start + node.bytes.start as u64)?;
        }
        write!(out, "{}", "  ".repeat(node.depth as usize))?;
        if !label.is_empty() {
            write!(out, "{NAME}{label}{NAME:#} ")?;
        }
        let element_types = match &node.element_types[..] {
            [] => String::new(),
            types => format!("[{}]", types.join(", ")),
        };
        write!(out, "{FAINT}{}{element_types}{FAINT:#}", node.ty)?;
        let style = match node.ty {
            VariantType::String | VariantType::StringName | VariantType::NodePath => TEXT,
            VariantType::Array | VariantType::Dictionary | VariantType::Object => FAINT,
            _ => NUMBER,
        };
        if !node.preview.is_empty() {
            write!(out, " {style}{}{style:#}", node.preview)?;
        }
        if !node.is_complete {
            write!(out, " {BAD}(incomplete){BAD:#}")?;
        }
        writeln!(out)
    }

    fn error(&self, out: &mut dyn Write, kind: &ErrorKind, at: usize) -> std::io::Result<()> {
        let error = in_words(kind.clone().into());
        writeln!(out, "{BAD}damaged at byte {}: {error}{BAD:#}", self.start + at as u64)
    }
}

/// The label for a key: its preview, after its type unless the key is text or an int.
fn key(node: &Node) -> String {
    match node.ty {
        VariantType::String | VariantType::StringName | VariantType::Int => format!("{}:", node.preview),
        ty => format!("{ty} {}:", node.preview),
    }
}
