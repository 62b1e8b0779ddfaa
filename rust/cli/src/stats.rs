//! `stats`: which keys and types take the bytes.

use std::collections::HashMap;
use std::io::Write;

use variant_codec::stream::{Decoder, ElementType, Header, Sink, Source as _, Text};
use variant_codec::{Result, Strictness, VariantType};

use crate::failure::{Failure, Outcome};
use crate::input::{self, Input};
use crate::output::Output;

const QUOTE: char = '"';

/// What has been found at a path, or of a type.
#[derive(Clone, Copy, Default)]
struct Sum {
    count: u64,
    /// Bytes of the values, with those in them; of an entry, also its key.
    bytes: u64,
}

impl Sum {
    fn add(&mut self, bytes: usize) {
        self.count += 1;
        self.bytes += bytes as u64;
    }
}

/// Prints the paths and types that take most bytes. Elements of one Array are one path, and so are entries whose keys are not Strings, by
/// the type of the key.
pub fn stats(input: &Input, most: usize, out: &mut Output) -> Outcome<()> {
    let mut tally = Tally::new(if input.has_records { "[]" } else { "" });
    let mut total = 0_u64;
    let mut damaged = None;
    let limits = input::limits();
    input.each(0..u64::MAX, |index, offset, bytes| {
        total += bytes.len() as u64;
        tally.open.clear();
        tally.next = Some(ROOT);
        tally.key = Default::default();
        let read = Decoder::new(bytes, Strictness::Strict, &limits).write_into(&mut tally);
        if let (None, Err(error)) = (&damaged, read) {
            damaged = Some(Failure::data_at(&input.name_of(index), error, bytes, offset));
        }
        Ok(())
    })?;
    let mut text = out.text();
    let paths = tally.paths.iter().map(|path| path.sum);
    let types = VariantType::ALL.map(VariantType::name);
    table(&mut text, "path", paths, |index| tally.text(index), total, most)
        .and_then(|()| writeln!(text))
        .and_then(|()| {
            let name = |index: usize| types.get(index).copied().unwrap_or_default().to_owned();
            table(&mut text, "type", tally.types.iter().copied(), name, total, most)
        })
        .map_err(Failure::output)?;
    damaged.map_or(Ok(()), Err)
}

/// Prints the largest sums.
fn table(
    out: &mut dyn Write,
    what: &str,
    sums: impl Iterator<Item = Sum>,
    name: impl Fn(usize) -> String,
    total: u64,
    most: usize,
) -> std::io::Result<()> {
    writeln!(out, "{:>12} {:>6} {:>9}  {what}", "bytes", "share", "count")?;
    let mut rows: Vec<(usize, Sum)> = sums.enumerate().filter(|(_, sum)| sum.count > 0).collect();
    rows.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.bytes));
    for (index, Sum { count, bytes }) in rows.iter().take(most) {
        let share = 100.0 * *bytes as f64 / total.max(1) as f64;
        let name = name(*index);
        let name = if name.is_empty() { "(all)" } else { &name };
        writeln!(out, "{bytes:>12} {share:>5.1}% {count:>9}  {name}")?;
    }
    match rows.len().saturating_sub(most) {
        0 => Ok(()),
        more => writeln!(out, "… and {more} more"),
    }
}

/// The path of the values themselves.
const ROOT: usize = 0;

/// A path: the last step, and the path before it.
struct Path {
    parent: usize,
    step: String,
    sum: Sum,
}

/// A value that has started.
struct Open {
    ty: VariantType,
    start: usize,
    /// Bytes of the values in it.
    inner: usize,
    /// `None` for keys and what is in them.
    path: Option<usize>,
    /// Bytes of its key.
    key: usize,
}

/// Sums of everything that has been read.
struct Tally {
    paths: Vec<Path>,
    by_step: HashMap<(usize, String), usize>,
    types: [Sum; VariantType::ALL.len()],
    /// The values around the current one.
    open: Vec<Open>,
    /// The path of the next value.
    next: Option<usize>,
    /// The key that was read last, as a step, and its bytes.
    key: (String, usize),
    /// The text of the current key, as a step.
    key_text: Option<String>,
}

impl Tally {
    fn new(root: &str) -> Self {
        let root = Path { parent: ROOT, step: root.to_owned(), sum: Sum::default() };
        Self {
            paths: vec![root],
            by_step: HashMap::new(),
            types: [Sum::default(); VariantType::ALL.len()],
            open: Vec::new(),
            next: Some(ROOT),
            key: Default::default(),
            key_text: None,
        }
    }

    /// The path behind this step from the value that is open.
    fn step(&mut self, step: String) {
        self.next = self.open.last().and_then(|open| open.path).map(|parent| {
            let known = self.by_step.get(&(parent, step.clone()));
            known.copied().unwrap_or_else(|| {
                self.paths.push(Path { parent, step: step.clone(), sum: Sum::default() });
                self.by_step.insert((parent, step), self.paths.len() - 1);
                self.paths.len() - 1
            })
        });
    }

    /// The path at this index.
    fn text(&self, mut index: usize) -> String {
        let mut steps = Vec::new();
        while let Some(path) = self.paths.get(index) {
            steps.push(path.step.as_str());
            if index == ROOT {
                break;
            }
            index = path.parent;
        }
        steps.into_iter().rev().collect()
    }
}

impl Sink for Tally {
    type Array = ();
    type Dictionary = ();
    type Object = ();
    type Strings = ();

    const WANTS_PLACES: bool = true;

    fn value_starts(&mut self, at: usize, header: Header) {
        let key = std::mem::take(&mut self.key.1);
        self.open.push(Open { ty: header.ty, start: at, inner: 0, path: self.next.take(), key });
    }

    fn value_ends(&mut self, end: usize) {
        let Some(Open { ty, start, inner, path, key }) = self.open.pop() else { return };
        let bytes = end - start;
        if let Some(sum) = self.types.get_mut(usize::from(ty.id())) {
            sum.add(bytes - inner);
        }
        if let Some(path) = path.and_then(|path| self.paths.get_mut(path)) {
            path.sum.add(bytes + key);
        }
        if let Some(outer) = self.open.last_mut() {
            outer.inner += bytes;
        }
        let is_key = path.is_none() && self.open.last().is_some_and(|outer| outer.path.is_some());
        if is_key {
            let step = self.key_text.take().unwrap_or_else(|| format!("[{ty}]"));
            self.key = (step, bytes);
        }
    }

    fn text(&mut self, _: VariantType, text: Text<'_>) -> Result<()> {
        if let [.., Open { path: Some(_), .. }, Open { path: None, .. }] = &self.open[..] {
            self.key_text = Some(format!(".{}", text.quoted().trim_matches(QUOTE)));
        }
        Ok(())
    }

    fn other(&mut self, _: VariantType) -> Result<()> {
        Ok(())
    }

    fn begin_array(&mut self, _: usize, _: ElementType<'_>) -> Result<()> {
        Ok(())
    }

    fn begin_element(&mut self, _: &mut ()) -> Result<()> {
        self.step("[]".to_owned());
        Ok(())
    }

    fn begin_dictionary(&mut self, _: usize, _: ElementType<'_>, _: ElementType<'_>) -> Result<()> {
        Ok(())
    }

    fn begin_key(&mut self, _: &mut ()) -> Result<()> {
        self.next = None;
        Ok(())
    }

    fn begin_value(&mut self, _: &mut ()) -> Result<()> {
        let step = std::mem::take(&mut self.key.0);
        self.step(step);
        Ok(())
    }

    fn begin_object(&mut self, _: Text<'_>, _: usize) -> Result<()> {
        Ok(())
    }

    fn begin_property(&mut self, _: &mut (), name: Text<'_>) -> Result<()> {
        self.step(format!(".{}", name.quoted().trim_matches(QUOTE)));
        Ok(())
    }

    fn begin_strings(&mut self, _: usize) -> Result<()> {
        Ok(())
    }

    fn string(&mut self, _: &mut (), _: Text<'_>) -> Result<()> {
        Ok(())
    }
}
