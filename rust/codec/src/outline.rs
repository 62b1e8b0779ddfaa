//! [`Outline`]: the values in a byte buffer and their positions, as far as the bytes are valid.
//!
//! ```
//! use variant_codec::Value;
//! use variant_codec::outline::Outline;
//!
//! let bytes = Value::from_iter([("hp", 7)]).encode()?;
//! println!("{}", Outline::of(&bytes, 1000));
//! # Ok::<(), variant_codec::Error>(())
//! ```

use std::fmt::{self, Display, Formatter, Write};
use std::ops::Range;

use crate::changes::Loss;
use crate::decoder::Decoder;
use crate::error::{Error, ErrorKind, QUOTED, Result, counted, quoted};
use crate::events::{ElementType, NodePathParts, Sink, Text};
pub use crate::findings::{Notes, Span, SpanKind};
use crate::format::{ContainerKind, Lane, Shape, VariantType};
use crate::lanes::Lanes;
use crate::limits::Limits;
use crate::wire::dialect::{Dialect, Godot3, Godot4};
use crate::wire::header::Header;

/// A Dictionary is an object of a registered class if the preview of its first key is this text: see docs/classes.md.
const CLASS_KEY: &str = "\"@class\"";
/// Maximum length of a preview, in characters.
const PREVIEW: usize = 120;
/// The number of spans allowed per node; a typed container has the most. Texts in PackedStringArrays and
/// NodePaths, and names of properties, are not nodes, so they use up the spans of other nodes.
const SPANS: usize = 8;
/// The length in bytes after which a list is truncated at its next item.
const LIST: usize = 60;

/// The values in a byte buffer as a tree of nodes, up to the end or to the first invalid byte.
///
/// Objects become nodes, but are not created. The number of nodes bounds the memory, except while the parts
/// of a NodePath are read. The format's depth bounds the stack. [`Display`] writes one line per node, with
/// its first bytes.
///
/// ```
/// use variant_codec::Value;
/// use variant_codec::outline::Outline;
///
/// let bytes = Value::from_iter([("hp", 7)]).encode()?;
/// let outline = Outline::of(&bytes[..20], 1000);
/// assert!(outline.error().is_some());
/// assert_eq!(outline.nodes()[1].preview, r#""hp""#);
/// # Ok::<(), variant_codec::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Outline<'a> {
    bytes: &'a [u8],
    nodes: Vec<Node>,
    end: usize,
    error: Option<Error>,
    notes: Notes,
    spans: Vec<Span>,
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The value's type.
    pub ty: VariantType,
    /// The value's role in the value that holds it.
    pub role: Role,
    /// The value's header word.
    pub header: u32,
    /// The value's byte range, header and padding included. If a final PackedByteArray lacks its padding, the
    /// range extends past the end of the data, as in the engine. For an incomplete value, it covers the bytes
    /// read.
    pub bytes: Range<usize>,
    /// Whether the value was read to its end.
    pub is_complete: bool,
    /// The value's nesting level; the outermost value is at level 0.
    pub depth: u32,
    /// The types that a typed container declares: of its elements, or of its keys and values.
    pub element_types: Vec<String>,
    /// The number of elements, entries or properties that the value announces.
    pub count: Option<usize>,
    /// A short form of the value: a text, numbers, or a count.
    pub preview: String,
    /// The values inside this one that exceed the maximum number of nodes.
    pub left_out: LeftOut,
    /// The index after the last node inside this one.
    next: usize,
}

/// The role of a value in the value that holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The outermost value.
    Root,
    /// The element at this index of an Array.
    Element(usize),
    /// The key of the entry at this position of a Dictionary.
    Key(usize),
    /// The value of the entry at this position of a Dictionary.
    Value(usize),
    /// A property of an Object, by name; long names are truncated. The name precedes the value's header.
    Property(String),
}

/// Values beyond the maximum number of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// The number of these values.
    pub count: usize,
    /// The byte range of these values.
    pub bytes: Range<usize>,
}

impl<'a> Outline<'a> {
    /// Reads the value in `bytes`. The first `max_nodes` values become nodes, in byte order.
    pub fn of(bytes: &'a [u8], max_nodes: usize) -> Self {
        Self::in_dialect(Godot4, bytes, max_nodes)
    }

    /// Like [`Outline::of`], for a value in the format of Godot 3.
    pub fn of_godot3(bytes: &'a [u8], max_nodes: usize) -> Self {
        Self::in_dialect(Godot3 { loss: Loss::Accepted, changes: Vec::new() }, bytes, max_nodes)
    }

    fn in_dialect<D: Dialect>(dialect: D, bytes: &'a [u8], max_nodes: usize) -> Self {
        let limits = Limits { allow_objects: true, ..Limits::unlimited() };
        let mut decoder = Decoder::noting(dialect, bytes, &limits, max_nodes.saturating_mul(SPANS));
        let mut drawing = Drawing::new(max_nodes);
        let error = decoder.decode_only(&mut drawing).err();
        let end = decoder.position();
        let (mut notes, spans) = decoder.into_findings();
        if error.is_none() && end < bytes.len() {
            notes.add(end, || ErrorKind::TrailingBytes(bytes.len() - end));
        }
        notes.first.sort_by_key(Error::offset);
        Self { bytes, nodes: drawing.finish(end), end, error, notes, spans }
    }

    /// The nodes, each before those inside it; the first is the outermost value.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The indexes of the nodes directly inside the node at `index`.
    pub fn children(&self, index: usize) -> impl Iterator<Item = usize> {
        let end = self.nodes.get(index).map_or(0, |node| node.next);
        let mut next = index + 1;
        std::iter::from_fn(move || {
            let child = next;
            next = self.nodes.get(child).filter(|_| child < end)?.next;
            Some(child)
        })
    }

    /// The offset where the value ended or reading stopped.
    pub fn end(&self) -> usize {
        self.end
    }

    /// The reason why reading stopped, with the offset of the invalid byte; `None` if the value is complete.
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Encodings that the engine reads but no encoder writes, and trailing bytes, ordered by offset.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// The purposes of the bytes up to [`Outline::end`], in order. There are at most 8 × `max_nodes` spans;
    /// the last of these marks all further bytes as content.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }
}

impl Node {
    /// The header's flags in words.
    pub fn flags(&self) -> Vec<String> {
        let header = Header { ty: self.ty, bits: self.header & self.ty.header_mask() };
        let kind_of = |what: &str, kind| {
            let kind = match kind {
                ContainerKind::Untyped => return None,
                ContainerKind::Builtin => "built-in type",
                ContainerKind::Class => "class",
                ContainerKind::Script => "script",
            };
            Some(format!("{what}: {kind}"))
        };
        let flags = match self.ty.shape() {
            Shape::Array => [kind_of("elements", header.element_kind()), None],
            Shape::Dictionary => {
                [kind_of("keys", header.element_kind()), kind_of("values", header.value_kind())]
            }
            Shape::Object if header.is_object_id() => [Some("object as id".to_owned()), None],
            _ if header.is_wide() => [Some("64 bits".to_owned()), None],
            _ => [None, None],
        };
        flags.into_iter().flatten().collect()
    }
}

/// Builds the nodes of an [`Outline`].
struct Drawing {
    nodes: Vec<Node>,
    max_nodes: usize,
    /// The indexes of the nodes that have started but not ended.
    open: Vec<usize>,
    /// The number of values without a node that have started but not ended.
    hidden: usize,
    /// The role of the next value.
    role: Role,
}

impl Drawing {
    fn new(max_nodes: usize) -> Self {
        Self { nodes: Vec::new(), max_nodes, open: Vec::new(), hidden: 0, role: Role::Root }
    }

    /// The nodes; those that have not ended get `end` as their end.
    fn finish(mut self, end: usize) -> Vec<Node> {
        if self.hidden > 0
            && let Some(node) = self.last_open()
        {
            node.left_out.bytes.end = end;
        }
        let next = self.nodes.len();
        for index in self.open {
            let node = &mut self.nodes[index];
            node.bytes.end = end;
            node.next = next;
        }
        for index in 0..self.nodes.len() {
            if let [object, key, class, ..] = &mut self.nodes[index..]
                && object.ty == VariantType::Dictionary
                && key.role == Role::Key(0)
                && key.preview == CLASS_KEY
                && class.role == Role::Value(0)
                && let Some(properties) = object.count.and_then(|count| count.checked_sub(1))
            {
                let preview = format!("{}, {}", class.preview, counted(properties, "property", "properties"));
                object.preview = cut(preview);
            }
        }
        self.nodes
    }

    fn last_open(&mut self) -> Option<&mut Node> {
        self.open.last().map(|index| &mut self.nodes[*index])
    }

    /// The node of the current value, if it has one.
    fn node(&mut self) -> Option<&mut Node> {
        if self.hidden > 0 { None } else { self.last_open() }
    }

    fn show(&mut self, preview: impl FnOnce() -> String) -> Result<()> {
        if let Some(node) = self.node() {
            node.preview = cut(preview());
        }
        Ok(())
    }

    /// Shows a container of `len` items and its declared types.
    fn open(
        &mut self,
        len: usize,
        elements: &[ElementType<'_>],
        preview: impl FnOnce() -> String,
    ) -> Result<()> {
        if let Some(node) = self.node() {
            node.count = Some(len);
            if elements.iter().any(|element| *element != ElementType::Untyped) {
                node.element_types = elements.iter().map(|element| cut(element.to_string())).collect();
            }
        }
        self.show(preview)
    }

    fn next_is(&mut self, role: impl FnOnce() -> Role) -> Result<()> {
        if self.hidden == 0 && self.nodes.len() < self.max_nodes {
            self.role = role();
        }
        Ok(())
    }
}

impl Sink for Drawing {
    // The index of the next item.
    type Array = usize;
    type Dictionary = usize;
    type Object = ();
    type Strings = List;

    const WANTS_PLACES: bool = true;

    #[inline(never)]
    fn value_starts(&mut self, at: usize, Header { ty, bits: header }: Header) {
        if self.hidden > 0 || self.nodes.len() >= self.max_nodes {
            if let Some(holder) = self.node() {
                if holder.left_out.count == 0 {
                    holder.left_out.bytes.start = at;
                }
                holder.left_out.count += 1;
            }
            self.hidden += 1;
            return;
        }
        let node = Node {
            ty,
            role: std::mem::replace(&mut self.role, Role::Root),
            header,
            bytes: at..at,
            is_complete: false,
            depth: self.open.len() as u32,
            element_types: Vec::new(),
            count: None,
            preview: String::new(),
            left_out: LeftOut::default(),
            next: 0,
        };
        self.open.push(self.nodes.len());
        self.nodes.push(node);
    }

    #[inline(never)]
    fn value_ends(&mut self, end: usize) {
        if self.hidden > 0 {
            self.hidden -= 1;
            if let Some(holder) = self.node() {
                holder.left_out.bytes.end = end;
            }
            return;
        }
        let next = self.nodes.len();
        if let Some(node) = self.node() {
            node.bytes.end = end;
            node.is_complete = true;
            node.next = next;
        }
        self.open.pop();
    }

    #[inline(never)]
    fn nil(&mut self) -> Result<()> {
        self.show(|| "null".to_owned())
    }

    #[inline(never)]
    fn bool(&mut self, value: bool) -> Result<()> {
        self.show(|| value.to_string())
    }

    #[inline(never)]
    fn int(&mut self, value: i64) -> Result<()> {
        self.show(|| value.to_string())
    }

    #[inline(never)]
    fn float(&mut self, value: f64) -> Result<()> {
        self.show(|| real(value))
    }

    #[inline(never)]
    fn text(&mut self, _ty: VariantType, text: Text<'_>) -> Result<()> {
        self.show(|| text.quoted())
    }

    #[inline(never)]
    fn fixed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        self.show(|| elements(ty, lanes).text)
    }

    #[inline(never)]
    fn packed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        let count = lanes.le.len() / ty.lanes_bytes(lanes.precision);
        self.open(count, &[], || elements(ty, lanes).counted(count))
    }

    #[inline(never)]
    fn node_path(&mut self, path: NodePathParts<'_>) -> Result<()> {
        self.show(|| {
            let mut text = if path.absolute { "/".to_owned() } else { String::new() };
            let names =
                path.names.iter().enumerate().map(|(index, name)| (if index > 0 { "/" } else { "" }, name));
            let subnames = path.subnames.iter().map(|subname| (":", subname));
            for (separator, part) in names.chain(subnames) {
                text.push_str(separator);
                text.push_str(&part.start(QUOTED + 1));
                if text.len() > PREVIEW {
                    break;
                }
            }
            quoted(&text)
        })
    }

    #[inline(never)]
    fn rid(&mut self, id: u64) -> Result<()> {
        self.show(|| format!("RID({id})"))
    }

    #[inline(never)]
    fn callable(&mut self) -> Result<()> {
        self.show(|| "not stored".to_owned())
    }

    #[inline(never)]
    fn signal(&mut self, name: Text<'_>, object: u64) -> Result<()> {
        self.show(|| format!("{} of the object {}", name.quoted(), object.cast_signed()))
    }

    #[inline(never)]
    fn object_id(&mut self, id: u64) -> Result<()> {
        self.show(|| {
            // Signed, as `Object.get_instance_id` returns it.
            if id == 0 {
                "null".to_owned()
            } else {
                format!("instance id {}, without meaning to a reader", id.cast_signed())
            }
        })
    }

    #[inline(never)]
    fn begin_array(&mut self, len: usize, element: ElementType<'_>) -> Result<usize> {
        self.open(len, &[element], || counted(len, "element", "elements"))?;
        Ok(0)
    }

    #[inline(never)]
    fn begin_element(&mut self, array: &mut usize) -> Result<()> {
        let index = *array;
        *array += 1;
        self.next_is(|| Role::Element(index))
    }

    #[inline(never)]
    fn begin_dictionary(
        &mut self,
        len: usize,
        key: ElementType<'_>,
        value: ElementType<'_>,
    ) -> Result<usize> {
        self.open(len, &[key, value], || counted(len, "entry", "entries"))?;
        Ok(0)
    }

    #[inline(never)]
    fn begin_key(&mut self, dictionary: &mut usize) -> Result<()> {
        let index = *dictionary;
        self.next_is(|| Role::Key(index))
    }

    #[inline(never)]
    fn begin_value(&mut self, dictionary: &mut usize) -> Result<()> {
        let index = *dictionary;
        *dictionary += 1;
        self.next_is(|| Role::Value(index))
    }

    #[inline(never)]
    fn begin_object(&mut self, class: Text<'_>, properties: usize) -> Result<()> {
        self.open(properties, &[], || {
            format!("{}, {}", class.quoted(), counted(properties, "property", "properties"))
        })
    }

    #[inline(never)]
    fn begin_property(&mut self, _object: &mut (), name: Text<'_>) -> Result<()> {
        self.next_is(|| Role::Property(cut(name.start(PREVIEW + 1))))
    }

    #[inline(never)]
    fn begin_strings(&mut self, len: usize) -> Result<List> {
        self.open(len, &[], || counted(len, "element", "elements"))?;
        Ok(List::default())
    }

    #[inline(never)]
    fn string(&mut self, strings: &mut List, text: Text<'_>) -> Result<()> {
        if self.hidden == 0 && !strings.is_cut {
            strings.add(&text.quoted());
        }
        Ok(())
    }

    #[inline(never)]
    fn end_strings(&mut self, strings: List) -> Result<()> {
        let count = self.node().and_then(|node| node.count).unwrap_or_default();
        self.show(|| strings.counted(count))
    }
}

/// A comma-separated list that is truncated after [`LIST`] bytes.
#[derive(Default)]
struct List {
    text: String,
    is_cut: bool,
}

impl List {
    fn add(&mut self, item: &str) {
        if !self.text.is_empty() {
            self.text.push_str(", ");
        }
        self.is_cut = self.text.len() > LIST;
        self.text.push_str(if self.is_cut { "…" } else { item });
    }

    fn counted(self, count: usize) -> String {
        let number = counted(count, "element", "elements");
        if count > 0 { format!("{number}: {}", self.text) } else { number }
    }
}

/// Formats elements of type `ty`, but no more than a preview shows, since formatting floats takes time.
fn elements(ty: VariantType, lanes: Lanes<'_>) -> List {
    let (Shape::Fixed(lane, per_element) | Shape::Packed(lane, per_element)) = ty.shape() else {
        unreachable!("{ty} has no components")
    };
    let mut list = List::default();
    let mut text = String::new();
    for element in lanes.le.chunks(ty.lanes_bytes(lanes.precision)) {
        text.clear();
        for le in element.chunks(element.len() / per_element) {
            text.push_str(if !text.is_empty() {
                ", "
            } else if per_element > 1 {
                "("
            } else {
                ""
            });
            text.push_str(&component(lane, Lanes { le, ..lanes }));
            if text.len() > PREVIEW {
                break;
            }
        }
        if per_element > 1 {
            text.push(')');
        }
        list.add(&text);
        if list.is_cut {
            break;
        }
    }
    list
}

fn component(lane: Lane, lanes: Lanes<'_>) -> String {
    let shown = match lane {
        Lane::Byte => lanes.le.first().map(u8::to_string),
        Lane::Int32 => lanes.i32s().next().map(|int| int.to_string()),
        Lane::Int64 => lanes.i64s().next().map(|int| int.to_string()),
        Lane::Float32 | Lane::Float64 | Lane::Real if lanes.le.len() == 4 => lanes.f32s().next().map(real),
        Lane::Float32 | Lane::Float64 | Lane::Real => lanes.f64s().next().map(real),
    };
    shown.unwrap_or_default()
}

/// A float with as many digits as distinguish it from the neighbouring floats.
fn real(value: impl fmt::Debug) -> String {
    let mut text = format!("{value:?}");
    // Only affects NaN.
    text.make_ascii_lowercase();
    text
}

fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(PREVIEW) {
        text.truncate(end);
        text.push('…');
    }
    text
}

impl Display for Outline<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>10} {:>10}  {:<29}  value", "byte", "size", "hex")?;
        let mut page = Page { outline: self, notes: self.notes.first.iter().peekable(), f };
        let mut open: Vec<&Node> = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            while let Some(holder) = open.pop_if(|holder| holder.next <= index) {
                page.left_out(holder)?;
            }
            page.node(index, node)?;
            open.push(node);
        }
        while let Some(holder) = open.pop() {
            page.left_out(holder)?;
        }
        page.notes_before(usize::MAX)?;
        if self.notes.left_out > 0 {
            page.write("", "", "", 0, &format!("… and {} more notes", self.notes.left_out))?;
        }
        match &self.error {
            Some(error) => page.mark("error", error),
            None => Ok(()),
        }
    }
}

/// Writes an [`Outline`] line by line, in the order of the offsets.
struct Page<'o, 'f, 'w, N: Iterator<Item = &'o Error>> {
    outline: &'o Outline<'o>,
    notes: std::iter::Peekable<N>,
    f: &'f mut Formatter<'w>,
}

impl<'o, N: Iterator<Item = &'o Error>> Page<'o, '_, '_, N> {
    /// The number of bytes shown per value: the header and up to 8 more.
    const SHOWN: usize = 12;

    fn node(&mut self, index: usize, node: &Node) -> fmt::Result {
        self.notes_before(node.bytes.start)?;
        let child = self.outline.children(index).next().map(|child| self.outline.nodes[child].bytes.start);
        let left_out = (node.left_out.count > 0).then_some(node.left_out.bytes.start);
        let own = node.bytes.start..child.or(left_out).unwrap_or(node.bytes.end);
        let mut text = node.role.to_string() + node.ty.name();
        if !node.element_types.is_empty() {
            write!(text, "[{}]", node.element_types.join(", "))?;
        }
        if !node.preview.is_empty() {
            write!(text, " {}", node.preview)?;
        }
        let flags = node.flags();
        if !flags.is_empty() {
            write!(text, " ({})", flags.join(", "))?;
        }
        if !node.is_complete {
            text.push_str(" (incomplete)");
        }
        self.write(node.bytes.start, node.bytes.len(), &self.hex(own), node.depth, &text)
    }

    fn left_out(&mut self, holder: &Node) -> fmt::Result {
        let LeftOut { count, bytes } = &holder.left_out;
        if *count == 0 {
            return Ok(());
        }
        self.notes_before(bytes.start)?;
        self.write(bytes.start, bytes.len(), "", holder.depth + 1, &format!("… and {count} more"))
    }

    fn notes_before(&mut self, at: usize) -> fmt::Result {
        while let Some(note) = self.notes.next_if(|note| note.offset() < Some(at)) {
            self.mark("note", note)?;
        }
        Ok(())
    }

    /// Writes a line that marks the byte at the error's offset.
    fn mark(&mut self, what: &str, error: &Error) -> fmt::Result {
        let at = error.offset().unwrap_or_default();
        let path = error.path();
        let place = if path.is_empty() { path } else { format!(" (at {})", cut(path)) };
        let hex = match self.hex(at..self.outline.bytes.len()) {
            hex if hex.is_empty() => "[end]".to_owned(),
            hex => format!("[{}]{}", &hex[..2], &hex[2..]),
        };
        self.write(at, "", &hex, 0, &format!("^ {what}: {}{place}", error.kind()))
    }

    /// The first of these bytes in hex, in groups of four, up to the end of the data.
    fn hex(&self, bytes: Range<usize>) -> String {
        let there = bytes.start.min(self.outline.bytes.len())..bytes.end.min(self.outline.bytes.len());
        let Some(bytes) = self.outline.bytes.get(there) else { return String::new() };
        let mut hex = String::new();
        for (index, byte) in bytes.iter().take(Self::SHOWN).enumerate() {
            let space = if index > 0 && index % 4 == 0 { " " } else { "" };
            hex += &format!("{space}{byte:02x}");
        }
        if bytes.len() > Self::SHOWN {
            hex.push('…');
        }
        hex
    }

    fn write(
        &mut self,
        at: impl Display,
        size: impl Display,
        hex: &str,
        depth: u32,
        text: &str,
    ) -> fmt::Result {
        /// Maximum indentation, in levels.
        const INDENTED: u32 = 32;
        let indent = "  ".repeat(depth.min(INDENTED) as usize);
        let level = if depth > INDENTED { format!("(level {depth}) ") } else { String::new() };
        writeln!(self.f, "{at:>10} {size:>10}  {hex:<29}  {indent}{level}{text}")
    }
}

impl Display for Role {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Element(index) => write!(f, "[{index}] "),
            Self::Key(index) => write!(f, "key {index}: "),
            Self::Value(index) => write!(f, "value {index}: "),
            Self::Property(name) => write!(f, "{}: ", quoted(name)),
        }
    }
}
