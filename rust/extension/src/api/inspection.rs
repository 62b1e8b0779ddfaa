//! The structure of encoded bytes, for scripts.

use std::borrow::Cow;

use godot::prelude::VarDictionary;
use variant_codec::frames::{self, Contents, FRAME_BYTES, Layout};
use variant_codec::outline::{Node, Outline, Role};
use variant_codec::stream::{ElementType, Lanes, Precision, Sink, Source};
use variant_codec::{Error, Limits, Result, Strictness, VariantType};

use super::error_code::ErrorCode;
use variant_live::decode::decoding::Decoding;

const DESCRIBED: usize = 10_000;
const MAX_NODES: i64 = 100_000;

/// The outline of these bytes as text. Records follow each other, each with a line of its own.
pub fn describe(bytes: &[u8]) -> String {
    match frames::recognise(bytes, |_| true) {
        Ok(Contents::Values { layout: Layout { has_records: true, is_godot3: false }, .. })
            if !bytes.is_empty() =>
        {
            describe_records(bytes)
        }
        Ok(contents) => match format_error(&contents) {
            Some(error) => format!("{error}\n"),
            None => Outline::of(bytes, DESCRIBED).to_string(),
        },
        Err(error) => error.to_string(),
    }
}

fn describe_records(bytes: &[u8]) -> String {
    let (records, torn) = frames::records(bytes, &Limits::unlimited());
    let rest = torn.as_ref().and_then(Error::offset).map(|at| at.saturating_add(FRAME_BYTES)..bytes.len());
    let (mut text, mut left) = (String::new(), DESCRIBED);
    for (index, record) in records.into_iter().chain(rest).enumerate() {
        if left == 0 {
            text += "… and more records\n";
            break;
        }
        let outline = Outline::of(bytes.get(record.clone()).unwrap_or_default(), left);
        left -= outline.nodes().len().clamp(1, left);
        text += &format!("record {index}, {} bytes at byte {}\n{outline}", record.len(), record.start);
    }
    torn.map_or(text.clone(), |error| format!("{text}{error}\n"))
}

/// The reason why the bytes are no value of Godot 4 and no records of such values, if their contents are known.
fn format_error(contents: &Contents) -> Option<Error> {
    let format = match contents {
        Contents::Values { layout: Layout { is_godot3: false, .. }, .. } => None,
        contents => contents.refusal(),
    };
    format.map(|format| Error::new(format.into()).at(0))
}

/// A layout in words; empty for the file of another program.
fn in_words(layout: Option<Layout>) -> &'static str {
    match layout {
        Some(Layout { has_records: true, is_godot3: false }) => "records",
        Some(Layout { has_records: false, is_godot3: false }) => "value",
        Some(Layout { has_records: true, is_godot3: true }) => "records of Godot 3",
        Some(Layout { has_records: false, is_godot3: true }) => "value of Godot 3",
        None => "",
    }
}

/// The outline of these bytes for scripts: flat, because the engine handles only about a hundred levels of nesting.
///
/// # Errors
/// Fails if memory runs out.
pub fn to_dictionary(bytes: &[u8], max_nodes: i64) -> Result<VarDictionary> {
    let outline = Outline::of(bytes, max_nodes.clamp(1, MAX_NODES) as usize);
    let contents = frames::recognise(bytes, |_| true)?;
    let error = format_error(&contents).or_else(|| outline.error().cloned());
    // The builder for decoded values makes the result, because it is fastest for thousands of Dictionaries
    // with the same keys.
    let limits = Limits::unlimited();
    let (built, ()) = Decoding::new(&limits, Strictness::Lenient)
        .build(None, |builder, _| Inspection { outline, error, contents }.write_into(builder))?;
    Ok(built.into_value().to())
}

/// The Dictionary that `inspect` returns.
struct Inspection<'o> {
    outline: Outline<'o>,
    error: Option<Error>,
    contents: Contents,
}

impl Source for Inspection<'_> {
    fn write_into<S: Sink>(&mut self, sink: &mut S) -> Result<()> {
        let (outline, error) = (&self.outline, self.error.as_ref());
        let offsets: Vec<u8> =
            outline.spans().iter().flat_map(|span| (span.start as i64).to_le_bytes()).collect();
        let kinds: Vec<u8> = outline.spans().iter().map(|span| span.kind as u8).collect();
        let (layout, other) = match self.contents {
            Contents::Foreign(_) => (None, None),
            Contents::Values { layout, other } => (Some(layout), other),
        };
        let mut entries = Entries::begin(sink, 11)?;
        entries.add_text("contents", in_words(layout))?;
        entries.add_text("other_contents", in_words(other))?;
        entries.add("nodes", |sink| write_nodes(outline, sink))?;
        entries.add_int("end", outline.end())?;
        entries.add("error", |sink| sink.int(error.map_or(ErrorCode::Ok, ErrorCode::from) as i64))?;
        entries.add_text("message", &error.map_or_else(String::new, Error::to_string))?;
        entries.add_offset(error)?;
        entries.add("notes", |sink| write_notes(&outline.notes().first, sink))?;
        entries.add_int("notes_left_out", outline.notes().left_out)?;
        entries.add_packed("piece_offsets", VariantType::PackedInt64Array, &offsets)?;
        entries.add_packed("piece_kinds", VariantType::PackedByteArray, &kinds)?;
        entries.end()
    }
}

fn write_notes<S: Sink>(notes: &[Error], sink: &mut S) -> Result<()> {
    write_dictionaries(sink, notes.iter(), |note, sink| {
        let mut entries = Entries::begin(sink, 2)?;
        entries.add_offset(Some(note))?;
        entries.add_text("message", &note.kind().to_string())?;
        entries.end()
    })
}

fn write_nodes<S: Sink>(outline: &Outline<'_>, sink: &mut S) -> Result<()> {
    let mut parents = vec![-1; outline.nodes().len()];
    let mut children = Vec::new();
    write_dictionaries(sink, outline.nodes().iter().enumerate(), |(index, node), sink| {
        children.clear();
        for child in outline.children(index) {
            parents[child] = index as i64;
            children.extend((child as i32).to_le_bytes());
        }
        write_node(node, parents[index], &children, sink)
    })
}

/// Writes a node, whose children are given as little-endian 32-bit indexes.
fn write_node<S: Sink>(node: &Node, parent: i64, children: &[u8], sink: &mut S) -> Result<()> {
    let role = match &node.role {
        Role::Root => "root",
        Role::Element(_) => "element",
        Role::Key(_) => "key",
        Role::Value(_) => "value",
        Role::Property(_) => "property",
    };
    let len = 11
        + usize::from(node.role != Role::Root)
        + usize::from(node.count.is_some())
        + usize::from(!node.element_types.is_empty())
        + if node.left_out.count > 0 { 3 } else { 0 };
    let mut entries = Entries::begin(sink, len)?;
    entries.add_int("type", node.ty.id().into())?;
    entries.add_text("type_name", node.ty.name())?;
    entries.add("parent", |sink| sink.int(parent))?;
    entries.add_packed("children", VariantType::PackedInt32Array, children)?;
    entries.add_text("role", role)?;
    entries.add_int("offset", node.bytes.start)?;
    entries.add_int("size", node.bytes.len())?;
    entries.add("is_complete", |sink| sink.bool(node.is_complete))?;
    entries.add("header", |sink| sink.int(node.header.into()))?;
    entries.add_strings("flags", &node.flags())?;
    entries.add_text("preview", &node.preview)?;
    match &node.role {
        Role::Root => {}
        Role::Element(index) | Role::Key(index) | Role::Value(index) => entries.add_int("index", *index)?,
        Role::Property(name) => entries.add_text("name", name)?,
    }
    if let Some(count) = node.count {
        entries.add_int("count", count)?;
    }
    if !node.element_types.is_empty() {
        entries.add_strings("element_types", &node.element_types)?;
    }
    if node.left_out.count > 0 {
        entries.add_int("left_out", node.left_out.count)?;
        entries.add_int("left_out_offset", node.left_out.bytes.start)?;
        entries.add_int("left_out_size", node.left_out.bytes.len())?;
    }
    entries.end()
}

/// Writes an `Array[Dictionary]` with one Dictionary for each item.
fn write_dictionaries<S: Sink, T>(
    sink: &mut S,
    items: impl ExactSizeIterator<Item = T>,
    mut write: impl FnMut(T, &mut S) -> Result<()>,
) -> Result<()> {
    let mut array = sink.begin_array(items.len(), ElementType::Builtin(VariantType::Dictionary))?;
    for item in items {
        sink.begin_element(&mut array)?;
        write(item, sink)?;
        sink.end_element(&mut array)?;
    }
    sink.end_array(array)
}

/// A Dictionary that is being written.
struct Entries<'s, S: Sink> {
    sink: &'s mut S,
    dictionary: S::Dictionary,
}

impl<'s, S: Sink> Entries<'s, S> {
    fn begin(sink: &'s mut S, len: usize) -> Result<Self> {
        let dictionary = sink.begin_dictionary(len, ElementType::Untyped, ElementType::Untyped)?;
        Ok(Self { sink, dictionary })
    }

    fn add(&mut self, key: &str, write: impl FnOnce(&mut S) -> Result<()>) -> Result<()> {
        self.sink.begin_key(&mut self.dictionary)?;
        self.sink.text(VariantType::String, key.into())?;
        self.sink.begin_value(&mut self.dictionary)?;
        write(self.sink)?;
        self.sink.end_entry(&mut self.dictionary)
    }

    fn add_int(&mut self, key: &str, int: usize) -> Result<()> {
        self.add(key, |sink| sink.int(int as i64))
    }

    fn add_offset(&mut self, error: Option<&Error>) -> Result<()> {
        let offset = error.and_then(Error::offset).map_or(-1, |offset| offset as i64);
        self.add("offset", |sink| sink.int(offset))
    }

    fn add_text(&mut self, key: &str, text: &str) -> Result<()> {
        self.add(key, |sink| sink.text(VariantType::String, without_nul(text).as_ref().into()))
    }

    fn add_strings(&mut self, key: &str, texts: &[String]) -> Result<()> {
        self.add(key, |sink| {
            let mut strings = sink.begin_strings(texts.len())?;
            texts.iter().try_for_each(|text| sink.string(&mut strings, without_nul(text).as_ref().into()))?;
            sink.end_strings(strings)
        })
    }

    fn add_packed(&mut self, key: &str, ty: VariantType, le: &[u8]) -> Result<()> {
        self.add(key, |sink| sink.packed(ty, Lanes { precision: Precision::Single, le }))
    }

    fn end(self) -> Result<()> {
        self.sink.end_dictionary(self.dictionary)
    }
}

/// Replaces each NUL, which damaged bytes may contain, because the engine's Strings end at a NUL.
fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{FFFD}").into() } else { text.into() }
}
