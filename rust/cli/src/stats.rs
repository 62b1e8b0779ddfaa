//! `stats`: the bytes of each key and type.

use std::collections::HashMap;
use std::io::Write;

use variant_codec::error::quoted;
use variant_codec::stream::{Decoder, ElementType, Header, Sink, Text};
use variant_codec::{Result, Strictness, VariantType};

use crate::check::Checker;
use crate::failure::{Failure, Outcome};
use crate::input::{self, Input};
use crate::output::Output;

/// The values at a path, or of a type.
#[derive(Clone, Copy, Default)]
struct Sum {
    count: u64,
    /// The bytes of the values. At a path, includes the values inside and, for an entry, its key.
    bytes: u64,
}

impl Sum {
    fn add(&mut self, bytes: usize) {
        self.count += 1;
        self.bytes += bytes as u64;
    }
}

/// Prints the paths and types that take the most bytes. The elements of an Array share one path. Entries
/// whose keys are not text share one path for each type of key.
pub fn stats(input: &Input, most: usize, out: &mut Output) -> Outcome<()> {
    let mut tally = Tally::new(if input.has_records { "[]" } else { "" });
    let mut total = 0_u64;
    let mut damaged = None;
    let mut checker = Checker::default();
    let limits = input::limits();
    input.each(0..u64::MAX, |index, offset, bytes| {
        total += bytes.len() as u64;
        tally.start();
        let read = Decoder::new(bytes, Strictness::Strict, &limits).decode_only(&mut tally);
        // Also refuse values that the decoder accepts, such as Dictionaries that repeat a key.
        let read = read.and_then(|_| checker.check(bytes, &limits));
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

/// A key in a path, in quotes unless it is a name.
fn label(text: &str) -> String {
    let quoted = quoted(text);
    let is_name = !text.is_empty() && text.chars().all(|char| char.is_alphanumeric() || char == '_');
    // `quoted` truncates a long text and adds an ellipsis after the quote.
    if is_name && quoted.ends_with('"') { text.to_owned() } else { quoted }
}

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

/// The index of the root path: the path of each record, or of the single value.
const ROOT: usize = 0;

/// A node in the tree of paths: its parent, last step and children.
#[derive(Default)]
struct Path {
    parent: usize,
    step: String,
    sum: Sum,
    /// The index of the path of the elements.
    elements: Option<usize>,
    /// The paths of entries whose keys are not text, by the type of the key.
    by_type: HashMap<VariantType, usize>,
    by_text: HashMap<String, usize>,
}

/// A step from one value to another.
enum Step {
    Element,
    /// An entry whose key is of this type.
    Key(VariantType),
    /// An entry or property whose key or name is [`Tally::text`].
    Text,
}

/// A value that has started.
struct Open {
    ty: VariantType,
    start: usize,
    /// Bytes of the values inside.
    inner: usize,
    /// `None` for keys and the values inside keys.
    path: Option<usize>,
    /// Bytes of the key, if this is the value of an entry.
    key: usize,
}

/// A sink that sums the bytes by path and by type.
struct Tally {
    paths: Vec<Path>,
    types: [Sum; VariantType::ALL.len()],
    /// The values that have started, outermost first.
    open: Vec<Open>,
    /// The path of the next value.
    next: Option<usize>,
    /// The step of the last key, and the bytes of that key.
    key: Step,
    key_bytes: usize,
    /// The last text key or property name, and whether the current key is text.
    text: String,
    is_text: bool,
}

impl Tally {
    fn new(root: &str) -> Self {
        Self {
            paths: vec![Path { parent: ROOT, step: root.to_owned(), ..Path::default() }],
            types: [Sum::default(); VariantType::ALL.len()],
            open: Vec::new(),
            next: Some(ROOT),
            key: Step::Element,
            key_bytes: 0,
            text: String::new(),
            is_text: false,
        }
    }

    fn start(&mut self) {
        self.open.clear();
        (self.next, self.key_bytes, self.is_text) = (Some(ROOT), 0, false);
    }

    /// Sets the path of the next value to the path of the innermost open value, plus this step.
    fn step(&mut self, step: Step) {
        self.next = self.open.last().and_then(|open| open.path).and_then(|parent| {
            let new = self.paths.len();
            let path = self.paths.get_mut(parent)?;
            let found = match step {
                Step::Element => *path.elements.get_or_insert(new),
                Step::Key(ty) => *path.by_type.entry(ty).or_insert(new),
                Step::Text => match path.by_text.get(self.text.as_str()) {
                    Some(known) => *known,
                    None => *path.by_text.entry(self.text.clone()).or_insert(new),
                },
            };
            if found == new {
                let step = match step {
                    Step::Element => "[]".to_owned(),
                    Step::Key(ty) => format!("[{ty}]"),
                    Step::Text => format!(".{}", label(&self.text)),
                };
                self.paths.push(Path { parent, step, ..Path::default() });
            }
            Some(found)
        });
    }

    fn note(&mut self, text: Text<'_>) {
        self.text.clear();
        match text {
            Text::Utf8(text) => self.text.push_str(text),
            text => self.text = text.to_lossy(),
        }
    }

    /// The text of the path at this index.
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
        let key = std::mem::take(&mut self.key_bytes);
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
            if path.is_none() && outer.path.is_some() {
                let is_text = std::mem::take(&mut self.is_text);
                self.key = if is_text { Step::Text } else { Step::Key(ty) };
                self.key_bytes = bytes;
            }
        }
    }

    fn text(&mut self, _: VariantType, text: Text<'_>) -> Result<()> {
        if let [.., Open { path: Some(_), .. }, Open { path: None, .. }] = &self.open[..] {
            self.note(text);
            self.is_text = true;
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
        self.step(Step::Element);
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
        let key = std::mem::replace(&mut self.key, Step::Element);
        self.step(key);
        Ok(())
    }

    fn begin_object(&mut self, _: Text<'_>, _: usize) -> Result<()> {
        Ok(())
    }

    fn begin_property(&mut self, _: &mut (), name: Text<'_>) -> Result<()> {
        self.note(name);
        self.step(Step::Text);
        Ok(())
    }

    fn begin_strings(&mut self, _: usize) -> Result<()> {
        Ok(())
    }

    fn string(&mut self, _: &mut (), _: Text<'_>) -> Result<()> {
        Ok(())
    }
}
