//! The structure of encoded bytes, for scripts.

use godot::builtin::PackedByteArray;
use godot::prelude::VarDictionary;
use variant_codec::outline::{Node, Outline, Role};
use variant_codec::stream::Source as _;
use variant_codec::value::OwnedElementType;
use variant_codec::{Array, Dictionary, Error, Limits, Result, Strictness, Value, VariantType};

use super::error_code::ErrorCode;
use crate::variant::builder::VariantBuilder;
use crate::variant::input::{Input, Reading};
use crate::variant::keys::KeyCache;

/// The number of values that a description shows.
pub const DESCRIBED: usize = 10_000;
/// Each node is a Dictionary of some 2 KiB.
const MAX_NODES: i64 = 100_000;

/// The number of nodes that a script gets.
pub fn within_limit(max_nodes: i64) -> usize {
    max_nodes.clamp(1, MAX_NODES) as usize
}

/// The outline for scripts: flat, because the engine handles only about a hundred levels of nesting.
///
/// # Errors
/// If memory runs out.
pub fn to_dictionary(outline: &Outline<'_>) -> Result<VarDictionary> {
    // Built like decoded values, whose best case is thousands of Dictionaries with the same keys.
    let (nothing, limits) = (Input::Owned(PackedByteArray::new()), Limits::unlimited());
    let (strictness, mut keys) = (Strictness::Lenient, KeyCache::default());
    let mut builder =
        VariantBuilder::new(Reading { input: &nothing, strictness, limits: &limits, keys: &mut keys });
    (&Value::from(described(outline))).pour(&mut builder)?;
    Ok(builder.finish().give().to())
}

fn described(outline: &Outline<'_>) -> Dictionary {
    let mut parents = vec![-1; outline.nodes().len()];
    let mut nodes = Vec::with_capacity(parents.len());
    for (index, node) in outline.nodes().iter().enumerate() {
        let children: Vec<i32> = outline.children(index).map(|child| child as i32).collect();
        children.iter().for_each(|child| parents[*child as usize] = index as i32);
        nodes.push(self::node(node, parents[index], children));
    }
    let notes = outline.notes().first.iter().map(note).collect();
    let offsets = outline.spans().iter().map(|span| span.start as i64).collect();
    let kinds = outline.spans().iter().map(|span| span.kind as u8).collect();
    let error = outline.error();
    dictionary([
        ("nodes", dictionaries(nodes)),
        ("end", int(outline.end())),
        ("error", Value::Int(error.map_or(ErrorCode::Ok, ErrorCode::from) as i64)),
        ("message", text(error.map_or_else(String::new, Error::to_string))),
        ("offset", error.and_then(Error::offset).map_or(Value::Int(-1), int)),
        ("notes", dictionaries(notes)),
        ("notes_left_out", int(outline.notes().left_out)),
        ("piece_offsets", Value::PackedInt64Array(offsets)),
        ("piece_kinds", Value::PackedByteArray(kinds)),
    ])
}

fn note(note: &Error) -> Dictionary {
    dictionary([
        ("offset", note.offset().map_or(Value::Int(-1), int)),
        ("message", text(note.kind().to_string())),
    ])
}

fn node(node: &Node, parent: i32, children: Vec<i32>) -> Dictionary {
    let (role, detail) = match &node.role {
        Role::Root => ("root", None),
        Role::Element(index) => ("element", Some(("index", int(*index)))),
        Role::Key(index) => ("key", Some(("index", int(*index)))),
        Role::Value(index) => ("value", Some(("index", int(*index)))),
        Role::Property(name) => ("property", Some(("name", text(name.clone())))),
    };
    let mut entries = dictionary([
        ("type", Value::Int(node.ty.id().into())),
        ("type_name", text(node.ty.name())),
        ("parent", Value::Int(parent.into())),
        ("children", Value::PackedInt32Array(children)),
        ("role", text(role)),
        ("offset", int(node.bytes.start)),
        ("size", int(node.bytes.len())),
        ("is_complete", Value::Bool(node.is_complete)),
        ("header", Value::Int(node.header.into())),
        ("flags", Value::PackedStringArray(node.flags())),
        ("preview", text(node.preview.clone())),
    ]);
    let mut add = |key: &str, value| entries.entries.push((key.into(), value));
    if let Some((key, value)) = detail {
        add(key, value);
    }
    if let Some(count) = node.count {
        add("count", int(count));
    }
    if !node.element_types.is_empty() {
        add("element_types", Value::PackedStringArray(node.element_types.clone()));
    }
    if node.left_out.count > 0 {
        add("left_out", int(node.left_out.count));
        add("left_out_offset", int(node.left_out.bytes.start));
        add("left_out_size", int(node.left_out.bytes.len()));
    }
    entries
}

/// A text; the engine's end at a NUL, so one out of damaged bytes is shown as a character that is none.
fn text(text: impl Into<String>) -> Value {
    let text = text.into();
    Value::String(if text.contains('\0') { text.replace('\0', "\u{FFFD}") } else { text })
}

fn int(number: usize) -> Value {
    Value::Int(number as i64)
}

fn dictionary<const N: usize>(entries: [(&str, Value); N]) -> Dictionary {
    let entries = entries.into_iter().map(|(key, value)| (key.into(), value)).collect();
    Dictionary { entries, ..Dictionary::default() }
}

/// An Array typed as Array[Dictionary].
fn dictionaries(values: Vec<Dictionary>) -> Value {
    let element = OwnedElementType::Builtin(VariantType::Dictionary);
    Value::Array(Array { element, values: values.into_iter().map(Value::Dictionary).collect() })
}
