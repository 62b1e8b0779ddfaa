//! `stats`: which keys and types take the bytes.

use std::collections::HashMap;
use std::io::Write as _;

use variant_codec::error::quoted;
use variant_codec::outline::{Node, Outline, Role};

use crate::failure::{Failure, Outcome};
use crate::input::Input;
use crate::output;

const QUOTE: char = '"';

/// What has been found at a path, or of a type.
#[derive(Default)]
struct Sum {
    count: u64,
    /// Bytes of the values, with those in them; of an entry or property, also its key.
    bytes: u64,
}

impl Sum {
    fn add(&mut self, bytes: usize) {
        self.count += 1;
        self.bytes += bytes as u64;
    }
}

/// Prints the paths and types that take most bytes. Elements of one Array are one path.
pub fn stats(input: &Input, most: usize) -> Outcome<()> {
    let (mut paths, mut types): (HashMap<String, Sum>, HashMap<String, Sum>) = Default::default();
    let mut total = 0_u64;
    let mut damaged = None;
    input.each(0..u64::MAX, |index, offset, bytes| {
        total += bytes.len() as u64;
        let outline = Outline::of(bytes, usize::MAX);
        if let (None, Some(error)) = (&damaged, outline.error()) {
            damaged = Some(Failure::data_at(&input.name_of(index), error.clone(), bytes, offset));
        }
        let mut steps: Vec<String> = Vec::new();
        let mut key: Option<&Node> = None;
        for (index, node) in outline.nodes().iter().enumerate() {
            types.entry(node.ty.to_string()).or_default().add(own_bytes(&outline, index));
            // What is in a key counts as the key.
            if key.is_some_and(|key| node.depth > key.depth) {
                continue;
            }
            let (step, key_bytes) = match &node.role {
                Role::Root if input.has_records => ("[]".to_owned(), 0),
                Role::Root => (String::new(), 0),
                Role::Element(_) => ("[]".to_owned(), 0),
                Role::Property(name) => (format!(".{}", quoted(name).trim_matches(QUOTE)), 0),
                Role::Key(_) => {
                    key = Some(node);
                    continue;
                }
                Role::Value(_) => key.take().map_or_else(Default::default, |key| {
                    (format!(".{}", key.preview.trim_matches(QUOTE)), key.bytes.len())
                }),
            };
            steps.truncate(node.depth as usize);
            steps.push(step);
            paths.entry(steps.concat()).or_default().add(node.bytes.len() + key_bytes);
        }
        Ok(())
    })?;
    let mut out = output::coloured();
    table(&mut *out, "path", paths, total, most)
        .and_then(|()| writeln!(out))
        .and_then(|()| table(&mut *out, "type", types, total, most))
        .and_then(|()| out.flush())
        .map_err(Failure::output)?;
    damaged.map_or(Ok(()), Err)
}

/// Bytes of a value without those of the values in it.
fn own_bytes(outline: &Outline<'_>, index: usize) -> usize {
    let nodes = outline.nodes();
    let inner: usize = outline.children(index).map(|child| nodes[child].bytes.len()).sum();
    nodes[index].bytes.len().saturating_sub(inner)
}

fn table(
    out: &mut dyn std::io::Write,
    what: &str,
    sums: HashMap<String, Sum>,
    total: u64,
    most: usize,
) -> std::io::Result<()> {
    writeln!(out, "{:>12} {:>6} {:>9}  {what}", "bytes", "share", "count")?;
    let mut rows: Vec<(String, Sum)> = sums.into_iter().collect();
    rows.sort_by(|(a, x), (b, y)| y.bytes.cmp(&x.bytes).then_with(|| a.cmp(b)));
    for (name, Sum { count, bytes }) in rows.iter().take(most) {
        let share = 100.0 * *bytes as f64 / total.max(1) as f64;
        let name = if name.is_empty() { "(all)" } else { name };
        writeln!(out, "{bytes:>12} {share:>5.1}% {count:>9}  {name}")?;
    }
    match rows.len().saturating_sub(most) {
        0 => Ok(()),
        more => writeln!(out, "… and {more} more"),
    }
}
