//! The outline of bytes, including damaged bytes.

use variant_codec::error::Oddity;
use variant_codec::outline::{Notes, Outline, Role, SpanKind};
use variant_codec::stream::{Decoder, Source, ValueBuilder};
use variant_codec::{Error, ErrorKind, Object, Strictness, Value, VariantType};

use super::{Tail, everything, one_value};

/// The outline shows what lenient reading reads, and notes what strict reading refuses.
pub fn check(data: &[u8]) {
    check_outline(data);
    check_outline(&data[..Tail::of(data).below(data.len() as u64 + 1) as usize]);
}

fn check_outline(data: &[u8]) {
    let outline = Outline::of(data, usize::MAX);
    check_places(&outline, "all nodes");
    check_pieces(&outline, "all nodes");
    let limits = everything();
    let mut builder = ValueBuilder::default();
    let mut decoder = Decoder::new(data, Strictness::Lenient, &limits);
    let read = decoder.write_into(&mut builder);
    assert_eq!(outline.error(), read.as_ref().err());
    // The outline also shows the items before the end of a container whose count is too large.
    let has_bad_count = matches!(outline.error().map(Error::kind), Some(ErrorKind::BadCount { .. }));
    assert!(outline.end() == decoder.position() || has_bad_count && outline.end() > decoder.position());
    if read.is_ok() {
        check_value(&outline, 0, &builder.into_value(), &Role::Root, "the engine's strictness");
    }
    match Value::decode(data, &one_value()) {
        Ok(_) => assert_eq!((outline.notes(), outline.error()), (&Notes::default(), None)),
        Err(error) if Some(error.kind()) == outline.error().map(Error::kind) => {}
        // The outline does not compare keys.
        Err(error) if *error.kind() == ErrorKind::NotCanonical(Oddity::DuplicateKey) => {}
        // If undefined bits of the first header show another format, the strict reader names the format.
        Err(error) if matches!(error.kind(), ErrorKind::Foreign(_)) => {}
        Err(error) => {
            let is_noted = |note: &Error| (note.offset(), note.kind()) == (error.offset(), error.kind());
            assert!(outline.notes().first.iter().any(is_noted), "{error}");
        }
    }
    let text = outline.to_string();
    assert!(text.lines().count() >= outline.nodes().len());
    if let Some(error) = outline.error() {
        assert!(text.contains(&format!("^ error: {}", error.kind())), "{text}");
    }

    let most = Tail::of(data).below(outline.nodes().len() as u64 + 1) as usize;
    let few = Outline::of(data, most);
    check_places(&few, "few nodes");
    assert!(few.spans().len() <= most.max(1) * 8, "{}", few.spans().len());
    assert_eq!(few.nodes().len(), most);
    assert_eq!((few.end(), few.error(), few.notes()), (outline.end(), outline.error(), outline.notes()));
    for (index, (node, full)) in few.nodes().iter().zip(outline.nodes()).enumerate() {
        assert_eq!((&node.bytes, &node.preview, &node.role), (&full.bytes, &full.preview, &full.role));
        let children = outline.children(index).skip(few.children(index).count());
        let left_out: Vec<_> = children.map(|child| &outline.nodes()[child].bytes).collect();
        assert_eq!(node.left_out.count, left_out.len());
        if let (Some(first), Some(last)) = (left_out.first(), left_out.last()) {
            assert_eq!(node.left_out.bytes, first.start..last.end);
        }
    }
}

/// Children lie within their parents after the header, in order and without overlap.
pub fn check_places(outline: &Outline<'_>, label: &str) {
    let nodes = outline.nodes();
    let mut reached = usize::from(!nodes.is_empty());
    for (index, node) in nodes.iter().enumerate() {
        assert!(node.bytes.len() >= 4, "{label}: {node:?}");
        let mut at = node.bytes.start + 4;
        for child in outline.children(index) {
            reached += 1;
            let child = &nodes[child];
            assert_eq!(child.depth, node.depth + 1, "{label}");
            assert!(at <= child.bytes.start && child.bytes.end <= node.bytes.end, "{label}: {child:?}");
            assert!(child.is_complete || !node.is_complete, "{label}: {child:?}");
            at = child.bytes.end;
        }
        let left_out = &node.left_out;
        assert!(
            left_out.count == 0 || (at <= left_out.bytes.start && left_out.bytes.end <= node.bytes.end),
            "{label}: {node:?}"
        );
    }
    assert_eq!(reached, nodes.len(), "{label}: each node is a child of one other");
}

/// Spans are in byte order, and each node starts with a header.
pub fn check_pieces(outline: &Outline<'_>, label: &str) {
    let pieces = outline.spans();
    assert!(pieces.is_sorted_by(|one, next| one.start < next.start && one.kind != next.kind), "{label}");
    assert!(pieces.iter().all(|piece| piece.start <= outline.end()), "{label}: {pieces:?}");
    for node in outline.nodes() {
        assert_eq!(kind_at(outline, node.bytes.start), Some(SpanKind::Header), "{label}: {node:?}");
    }
}

/// The kind of the byte at `at`.
pub fn kind_at(outline: &Outline<'_>, at: usize) -> Option<SpanKind> {
    let next = outline.spans().partition_point(|piece| piece.start <= at);
    Some(outline.spans()[..next].last()?.kind)
}

/// Checks the nodes of a value and of everything inside it.
pub fn check_value(outline: &Outline<'_>, index: usize, value: &Value, role: &Role, label: &str) {
    let node = &outline.nodes()[index];
    let ty = if *value == Value::Object(Object::Null) { VariantType::Object } else { value.ty() };
    assert!(node.ty == ty && is_role(&node.role, role), "{label}: {node:?}, not a {ty}, {role:?}");
    let held: Vec<(Role, &Value)> = match value {
        Value::Array(array) => {
            array.values.iter().enumerate().map(|(index, value)| (Role::Element(index), value)).collect()
        }
        Value::Dictionary(dictionary) => {
            let entries = dictionary.entries.iter().enumerate();
            entries
                .flat_map(|(index, (key, value))| [(Role::Key(index), key), (Role::Value(index), value)])
                .collect()
        }
        Value::Object(Object::Full { properties, .. }) => {
            properties.iter().map(|(name, value)| (Role::Property(name.clone()), value)).collect()
        }
        _ => Vec::new(),
    };
    let children: Vec<usize> = outline.children(index).collect();
    assert_eq!(children.len(), held.len(), "{label}: {node:?}");
    for (child, (role, value)) in children.into_iter().zip(held) {
        check_value(outline, child, value, &role, label);
    }
}

/// Returns whether a node has this role; long property names are truncated.
fn is_role(found: &Role, role: &Role) -> bool {
    match (found, role) {
        (Role::Property(found), Role::Property(name)) => {
            found == name || found.strip_suffix('…').is_some_and(|start| name.starts_with(start))
        }
        _ => found == role,
    }
}
