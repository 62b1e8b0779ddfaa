//! The structure of encoded bytes, for scripts.

use godot::builtin::{
    Array, GString, PackedByteArray, PackedInt32Array, PackedInt64Array, PackedStringArray, Variant, vdict,
};
use godot::meta::ToGodot;
use godot::prelude::VarDictionary;
use variant_codec::Error;
use variant_codec::outline::{Node, Outline, Role};

use super::error_code::ErrorCode;

/// The number of values that a description shows.
pub const DESCRIBED: usize = 10_000;
/// Each node is a Dictionary of some 2 KiB.
const MAX_NODES: i64 = 100_000;

/// The number of nodes that a script gets.
pub fn within_limit(max_nodes: i64) -> usize {
    max_nodes.clamp(1, MAX_NODES) as usize
}

/// The outline for scripts: flat, because the engine handles only about a hundred levels of nesting.
pub fn to_dictionary(outline: &Outline<'_>) -> VarDictionary {
    let mut parents = vec![-1; outline.nodes().len()];
    let mut nodes: Array<VarDictionary> = Array::new();
    for (index, node) in outline.nodes().iter().enumerate() {
        let children: Vec<i32> = outline.children(index).map(|child| child as i32).collect();
        children.iter().for_each(|child| parents[*child as usize] = index as i32);
        nodes.push(&self::node(node, parents[index], &children));
    }
    let notes: Array<VarDictionary> = outline.notes().first.iter().map(note).collect();
    let offsets: PackedInt64Array = outline.spans().iter().map(|span| span.start as i64).collect();
    let kinds: PackedByteArray = outline.spans().iter().map(|span| span.kind as u8).collect();
    let error = outline.error();
    vdict! {
        "nodes" => &nodes,
        "end" => outline.end() as i64,
        "error" => &error.map_or(ErrorCode::Ok, ErrorCode::from).to_variant(),
        "message" => &text(&error.map_or_else(String::new, Error::to_string)),
        "offset" => error.and_then(Error::offset).map_or(-1, |offset| offset as i64),
        "notes" => &notes,
        "notes_left_out" => outline.notes().left_out as i64,
        "piece_offsets" => &offsets,
        "piece_kinds" => &kinds,
    }
}

fn note(note: &Error) -> VarDictionary {
    vdict! {
        "offset" => note.offset().map_or(-1, |offset| offset as i64),
        "message" => &text(&note.kind().to_string()),
    }
}

fn node(node: &Node, parent: i32, children: &[i32]) -> VarDictionary {
    let (role, detail) = match &node.role {
        Role::Root => ("root", None),
        Role::Element(index) => ("element", Some(("index", (*index as i64).to_variant()))),
        Role::Key(index) => ("key", Some(("index", (*index as i64).to_variant()))),
        Role::Value(index) => ("value", Some(("index", (*index as i64).to_variant()))),
        Role::Property(name) => ("property", Some(("name", text(name)))),
    };
    let mut entries = vdict! {
        "type" => i64::from(node.ty.id()),
        "type_name" => node.ty.name(),
        "parent" => parent,
        "children" => &PackedInt32Array::from(children),
        "role" => role,
        "offset" => node.bytes.start as i64,
        "size" => node.bytes.len() as i64,
        "is_complete" => node.is_complete,
        "header" => i64::from(node.header),
        "flags" => &texts(&node.flags()),
        "preview" => &text(&node.preview),
    };
    if let Some((key, value)) = detail {
        entries.set(key, &value);
    }
    if let Some(count) = node.count {
        entries.set("count", count as i64);
    }
    if !node.element_types.is_empty() {
        entries.set("element_types", &texts(&node.element_types));
    }
    if node.left_out.count > 0 {
        entries.set("left_out", node.left_out.count as i64);
        entries.set("left_out_offset", node.left_out.bytes.start as i64);
        entries.set("left_out_size", node.left_out.bytes.len() as i64);
    }
    entries
}

fn text(text: &str) -> Variant {
    GString::from(text).to_variant()
}

fn texts(texts: &[String]) -> PackedStringArray {
    texts.iter().map(|text| GString::from(text.as_str())).collect()
}
