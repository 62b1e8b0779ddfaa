//! Encodes events into the bytes of a message.

mod components;
mod fields;
mod lists;
mod order;

use variant_codec::format::MAX_BYTES;
use variant_codec::stream::{ElementType, Lanes, Sink, Source, Text};
use variant_codec::text::{Utf8Rule, utf8_len};
use variant_codec::{Error as CodecError, ErrorKind, Result, Value, VariantType};

use crate::buffer::Buffer;
use crate::error::Error;
use crate::floats::narrow_keeping_nan;
use crate::kind::{Class, Kind};
use crate::order::{order_of, start_of};
use crate::reader::Reader;
use crate::schema::{EnumTable, Field, Label, Message, MessageTable, NONE, Tables};
use crate::wire::{MAX_NESTING, Wire};

/// Options for encoding messages.
///
/// ```
/// use variant_codec::Value;
/// use variant_protobuf::{EncodeOptions, Schema, Wire};
///
/// let file = "syntax = \"proto3\"; message Player { string name = 1; int32 hp = 2; }";
/// let schema = Schema::compile("game.proto", |name| (name == "game.proto").then(|| file.to_owned()))?;
/// let player = schema.message("Player")?;
/// let own = EncodeOptions { wire: Wire::Own };
/// assert_eq!(player.encode(&Value::from_iter([("hp", -1)]), &own)?.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct EncodeOptions {
    /// The wire format.
    pub wire: Wire,
}

impl Message {
    /// Encodes a message, in the official implementation's deterministic form.
    ///
    /// # Errors
    /// Fails with the path if the value does not fit the message.
    pub fn encode(&self, value: &Value, options: &EncodeOptions) -> Result<Vec<u8>> {
        let mut encoder = MessageEncoder::new(self, options);
        let mut source = value;
        source.write_into(&mut encoder)?;
        Ok(encoder.into_bytes())
    }
}

/// Encodes one message from a Dictionary with its field names as keys, in any order.
///
/// ```
/// use variant_codec::Value;
/// use variant_protobuf::{EncodeOptions, MessageEncoder, Schema};
///
/// let file = "syntax = \"proto3\"; message Player { string name = 1; int32 hp = 2; }";
/// let schema = Schema::compile("game.proto", |name| (name == "game.proto").then(|| file.to_owned()))?;
/// let player = schema.message("Player")?;
/// use variant_codec::stream::Source;
///
/// // The same memory for each message.
/// let mut encoder = MessageEncoder::new(&player, &EncodeOptions::default());
/// for hp in [7, 8] {
///     (&Value::from_iter([("hp", hp)])).write_into(&mut encoder)?;
///     assert_eq!(encoder.written(), [0x10, hp as u8]);
///     encoder.clear();
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MessageEncoder<'s> {
    tables: &'s Tables,
    root: &'s MessageTable,
    wire: Wire,
    out: Buffer,
    next: NextValue<'s>,
    level: Level<'s>,
    /// Fields and entries written so far, of all levels.
    segments: Vec<Segment>,
    depth: u32,
    /// Scratch memory for sorting segments.
    spare: Vec<u8>,
    /// The rank of the member found so far in each oneof, or [`NONE`].
    members: Vec<u16>,
    /// The rank of the field that followed each field last time, as in [`Tables::followers`]. Empty while
    /// all keys arrive in order.
    followers: Vec<u16>,
}

/// The role of the next value.
#[derive(Clone, Copy, Debug)]
enum NextValue<'s> {
    /// The message.
    Root,
    /// The name of a field.
    Name,
    /// The only value of a field, or a value of a map.
    Single(&'s Field),
    /// A key of a map.
    Key(&'s Field),
    /// The whole list of a repeated field.
    List(&'s Field),
    /// All entries of a map.
    Map(&'s Field),
    /// An element with its own tag.
    Element(&'s Field),
    /// An element without a tag.
    Packed(&'s Field),
    /// The unknown fields of a message.
    Unknown,
}

/// A message or map that is being written.
#[derive(Clone, Copy, Debug)]
struct Level<'s> {
    /// The message, or a map's entries.
    message: &'s MessageTable,
    /// The map's field.
    map: Option<&'s Field>,
    /// The index of its first segment.
    first: u32,
    /// The rank of the last key.
    last: u16,
    /// Whether the keys have arrived in the order of the output.
    in_order: bool,
}

/// A field of a message or an entry of a map, with everything in it.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// The sort key: a field's rank, or the start of a map's key.
    rank: u64,
    start: u32,
    len: u32,
}

/// A Dictionary being written, and the state to restore at its end.
#[derive(Debug)]
pub struct OpenDictionary<'s> {
    next: NextValue<'s>,
    level: Level<'s>,
    /// The offset of its length prefix; 0 if it has none, like a group. A tag precedes every prefix, so no
    /// prefix is at offset 0.
    length_at: u32,
}

/// An Array being written.
#[derive(Debug)]
pub struct OpenArray {
    length_at: u32,
    /// The number of bytes reserved for its length prefix; 0 if it has none.
    reserved: u8,
}

impl<'s> MessageEncoder<'s> {
    /// An encoder of one message.
    pub fn new(message: &'s Message, options: &EncodeOptions) -> Self {
        Self::with_memory(message, options, Vec::new())
    }

    /// An encoder of one message that reuses `memory` and discards its contents.
    pub fn with_memory(message: &'s Message, options: &EncodeOptions, memory: Vec<u8>) -> Self {
        let root = message.table();
        Self {
            tables: &message.schema.0,
            root,
            wire: options.wire,
            out: Buffer::new(memory),
            next: NextValue::Root,
            level: Level::new(root, None, 0),
            segments: Vec::new(),
            depth: 0,
            spare: Vec::new(),
            members: Vec::new(),
            followers: Vec::new(),
        }
    }

    /// The bytes of the message.
    pub fn written(&self) -> &[u8] {
        self.out.written()
    }

    /// The bytes of the message.
    pub fn into_bytes(self) -> Vec<u8> {
        self.out.into_bytes()
    }

    /// Resets the encoder for the next message, also after an error. Keeps its buffers.
    pub fn clear(&mut self) {
        self.out.clear();
        self.segments.clear();
        self.next = NextValue::Root;
        self.level = Level::new(self.root, None, 0);
        self.depth = 0;
    }

    fn enumeration(&self, index: u32) -> &'s EnumTable {
        &self.tables.enums[index as usize]
    }

    fn expected(&self) -> String {
        let one = |field: &Field| match field.kind {
            Kind::Bool => "bool".to_owned(),
            Kind::Float | Kind::Double => format!("float for {}", field.type_name),
            Kind::String => "String".to_owned(),
            Kind::Bytes => "PackedByteArray for bytes".to_owned(),
            Kind::Enum(_) => format!("int or a name of enum {}", field.type_name),
            Kind::Message(index) => self.expected_for(&self.tables.messages[index as usize]),
            _ => format!("int for {}", field.type_name),
        };
        match self.next {
            NextValue::Root => self.expected_for(self.root),
            NextValue::Name => "field name".to_owned(),
            NextValue::List(field) if field.kind.can_be_packed() => {
                format!("Array or packed array for repeated {}", field.type_name)
            }
            NextValue::List(field) => format!("Array for repeated {}", field.type_name),
            NextValue::Map(field) => format!("Dictionary for {}", field.type_name),
            NextValue::Unknown => "PackedByteArray of unknown fields".to_owned(),
            NextValue::Single(field)
            | NextValue::Key(field)
            | NextValue::Element(field)
            | NextValue::Packed(field) => one(field),
        }
    }

    fn expected_for(&self, message: &MessageTable) -> String {
        match message.components {
            Some(components) => format!("{} or Dictionary for message {}", components.ty, message.name),
            None => format!("Dictionary for message {}", message.name),
        }
    }

    #[cold]
    #[inline(never)]
    fn refuse(&self, found: VariantType) -> CodecError {
        Error::WrongType { expected: self.expected(), found: found.name().to_owned() }.into()
    }

    #[cold]
    #[inline(never)]
    fn out_of_range(&self, value: i64) -> CodecError {
        Error::OutOfRange { value, expected: self.expected() }.into()
    }

    #[inline(always)]
    fn open(
        &mut self,
        message: &'s MessageTable,
        map: Option<&'s Field>,
        length_at: u32,
    ) -> Result<OpenDictionary<'s>> {
        self.depth += 1;
        let level = Level::new(message, map, self.segments.len());
        let level = std::mem::replace(&mut self.level, level);
        Ok(OpenDictionary { next: self.next, level, length_at })
    }

    /// Checks the unknown fields of a message, and writes them unchanged.
    #[inline(never)]
    fn put_unknown(&mut self, bytes: &[u8]) -> Result<()> {
        Reader::new(bytes, 0, self.wire, false).skip_all(self.depth - 1)?;
        self.out.put_bytes(bytes)
    }
}

impl<'s> Level<'s> {
    #[inline(always)]
    fn new(message: &'s MessageTable, map: Option<&'s Field>, first: usize) -> Self {
        Self { message, map, first: first as u32, last: NONE, in_order: true }
    }
}

impl Segment {
    fn range(&self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

impl<'s> Sink for MessageEncoder<'s> {
    type Array = OpenArray;
    type Dictionary = OpenDictionary<'s>;
    type Object = ();
    type Strings = OpenArray;

    #[cold]
    fn other(&mut self, ty: VariantType) -> Result<()> {
        Err(self.refuse(ty))
    }

    /// Leaves the field absent.
    #[inline(always)]
    fn nil(&mut self) -> Result<()> {
        match self.next {
            NextValue::Single(_) | NextValue::List(_) | NextValue::Map(_) | NextValue::Unknown
                if self.level.map.is_none() =>
            {
                self.segments.pop();
                Ok(())
            }
            _ => Err(self.refuse(VariantType::Nil)),
        }
    }

    #[inline(always)]
    fn bool(&mut self, value: bool) -> Result<()> {
        match self.next {
            NextValue::Single(field) => {
                if !value && field.kind == Kind::Bool && self.leaves_zero_out(field) {
                    return Ok(());
                }
                self.put_bool(field, value)
            }
            NextValue::Element(field) => self.put_bool(field, value),
            NextValue::Packed(field) if field.kind == Kind::Bool => self.out.put_bytes(&[value.into()]),
            NextValue::Key(field) => {
                self.note_key(value.into());
                self.put_bool(field, value)
            }
            _ => Err(self.refuse(VariantType::Bool)),
        }
    }

    #[inline(always)]
    fn int(&mut self, value: i64) -> Result<()> {
        match self.next {
            NextValue::Single(field) => {
                if value == 0 && self.leaves_zero_out(field) {
                    // A field that does not take numbers must refuse a zero rather than omit it.
                    return if field.kind.accepts_numbers() {
                        Ok(())
                    } else {
                        Err(self.refuse(VariantType::Int))
                    };
                }
                self.put_int(field, value)
            }
            NextValue::Element(field) => self.put_int(field, value),
            NextValue::Packed(field) => {
                let mut one = std::iter::once(value);
                self.put_ints(field, &mut one)
            }
            NextValue::Key(field) => {
                self.note_key(order_of(field.kind, value));
                self.put_int(field, value)
            }
            _ => Err(self.refuse(VariantType::Int)),
        }
    }

    #[inline(always)]
    fn float(&mut self, value: f64) -> Result<()> {
        match self.next {
            NextValue::Single(field) => {
                // A negative zero is not omitted; a number that rounds to zero is.
                let is_zero = match field.kind {
                    Kind::Float => narrow_keeping_nan(value) == 0,
                    Kind::Double => value.to_bits() == 0,
                    _ => false,
                };
                if is_zero && self.leaves_zero_out(field) {
                    return Ok(());
                }
                self.put_float(field, value)
            }
            NextValue::Element(field) => self.put_float(field, value),
            NextValue::Packed(field) => {
                let mut one = std::iter::once(value);
                self.put_floats(field, &mut one)
            }
            _ => Err(self.refuse(VariantType::Float)),
        }
    }

    #[inline(always)]
    fn text(&mut self, ty: VariantType, text: Text<'_>) -> Result<()> {
        match self.next {
            NextValue::Name => self.name(text),
            NextValue::Single(field) | NextValue::Element(field) => self.put_string(field, ty, text),
            NextValue::Packed(field) => match field.kind {
                Kind::Enum(index) => self.put_enum_name(self.enumeration(index), text),
                _ => Err(self.refuse(ty)),
            },
            NextValue::Key(field) => {
                self.put_string(field, ty, text)?;
                let len = match text {
                    Text::Utf8(text) => text.len(),
                    Text::Utf32(units) => utf8_len(units, Utf8Rule::Scalars)?,
                };
                let written = self.out.written();
                let rank = start_of(&written[written.len() - len..]);
                self.note_key(rank);
                Ok(())
            }
            _ => Err(self.refuse(ty)),
        }
    }

    #[inline(never)]
    fn fixed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        self.put_components(ty, lanes)
    }

    #[inline(always)]
    fn packed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        match (self.next, ty) {
            (NextValue::Single(field) | NextValue::Element(field), VariantType::PackedByteArray)
                if field.kind == Kind::Bytes =>
            {
                if lanes.le.is_empty() && self.leaves_zero_out(field) {
                    return Ok(());
                }
                let tag = self.wire.tag(field.tag, Class::Bytes);
                self.out.put_tagged(tag, field.tag.len, lanes.le.len() as u64)?;
                self.out.put_bytes(lanes.le)
            }
            (NextValue::List(field), _) => self.put_packed_numbers(field, ty, lanes),
            (NextValue::Unknown, VariantType::PackedByteArray) => self.put_unknown(lanes.le),
            _ => Err(self.refuse(ty)),
        }
    }

    #[inline(always)]
    fn begin_array(&mut self, len: usize, _element: ElementType<'_>) -> Result<OpenArray> {
        match self.next {
            NextValue::List(field) => self.open_list(field, len),
            _ => Err(self.refuse(VariantType::Array)),
        }
    }

    #[inline(always)]
    fn end_array(&mut self, array: OpenArray) -> Result<()> {
        match array.reserved {
            0 => Ok(()),
            reserved => self.out.close(array.length_at as usize, reserved.into()),
        }
    }

    #[inline(always)]
    fn ints(&mut self, _array: &mut OpenArray, ints: &mut impl Iterator<Item = i64>) -> Result<()> {
        match self.next {
            NextValue::Packed(field) => self.put_ints(field, ints),
            _ => ints.try_for_each(|int| self.int(int)),
        }
    }

    #[inline(always)]
    fn floats(&mut self, _array: &mut OpenArray, floats: &mut impl Iterator<Item = f64>) -> Result<()> {
        match self.next {
            NextValue::Packed(field) => self.put_floats(field, floats),
            _ => floats.try_for_each(|float| self.float(float)),
        }
    }

    #[inline(always)]
    fn begin_dictionary(
        &mut self,
        len: usize,
        _key: ElementType<'_>,
        _value: ElementType<'_>,
    ) -> Result<OpenDictionary<'s>> {
        // A map is not a nested message, but its entries are.
        let is_nested = len > 0 || !matches!(self.next, NextValue::Map(_));
        if is_nested && self.depth > MAX_NESTING {
            return Err(Error::TooDeep.into());
        }
        let (NextValue::Single(field) | NextValue::Element(field) | NextValue::Map(field)) = self.next else {
            return match self.next {
                NextValue::Root => self.open(self.root, None, 0),
                _ => Err(self.refuse(VariantType::Dictionary)),
            };
        };
        let Kind::Message(index) = field.kind else { return Err(self.refuse(VariantType::Dictionary)) };
        let message = &self.tables.messages[index as usize];
        if let NextValue::Map(_) = self.next {
            return self.open(message, Some(field), 0);
        }
        if field.accepts(Class::StartGroup, self.wire) {
            self.put_tag(field, Class::StartGroup)?;
            return self.open(message, None, 0);
        }
        self.put_tag(field, Class::Bytes)?;
        let length_at = self.out.len() as u32;
        self.out.put_bytes(&[0])?;
        self.open(message, None, length_at)
    }

    #[inline(always)]
    fn begin_key(&mut self, _dictionary: &mut OpenDictionary<'s>) -> Result<()> {
        match self.level.map {
            None => self.next = NextValue::Name,
            Some(map) => {
                self.begin_segment(0)?;
                self.put_tag(map, Class::Bytes)?;
                self.out.put_bytes(&[0])?;
                self.next = NextValue::Key(self.level.message.entry().0);
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn begin_value(&mut self, _dictionary: &mut OpenDictionary<'s>) -> Result<()> {
        let level = &mut self.level;
        if level.map.is_some() {
            if let [.., before, last] = &self.segments[level.first as usize..] {
                level.in_order &= before.rank < last.rank;
            }
            self.next = NextValue::Single(level.message.entry().1);
            return Ok(());
        }
        let (message, last) = (level.message, level.last);
        self.begin_segment(last.into())?;
        self.next = match message.fields.get(usize::from(last)) {
            None => NextValue::Unknown,
            Some(field) => match field.label {
                Label::Implicit | Label::Explicit | Label::Required => NextValue::Single(field),
                Label::Repeated | Label::Packed => NextValue::List(field),
                Label::Map => NextValue::Map(field),
            },
        };
        Ok(())
    }

    #[inline(always)]
    fn end_entry(&mut self, _dictionary: &mut OpenDictionary<'s>) -> Result<()> {
        match (self.level.map, self.segments.last()) {
            (Some(map), Some(segment)) => {
                self.out.close(segment.start as usize + usize::from(map.tag.len), 1)
            }
            _ => Ok(()),
        }
    }

    #[inline(always)]
    fn end_dictionary(&mut self, dictionary: OpenDictionary<'s>) -> Result<()> {
        let level = std::mem::replace(&mut self.level, dictionary.level);
        if !level.in_order {
            self.sort(&level)?;
        }
        if level.map.is_none() && (level.message.required > 0 || !level.message.oneofs.is_empty()) {
            self.check_together(&level)?;
        }
        self.segments.truncate(level.first as usize);
        self.next = dictionary.next;
        self.depth -= 1;
        match dictionary.next {
            _ if dictionary.length_at > 0 => self.out.close(dictionary.length_at as usize, 1)?,
            NextValue::Single(field) | NextValue::Element(field) => self.put_tag(field, Class::EndGroup)?,
            _ => {}
        }
        if self.out.len() > MAX_BYTES {
            return Err(ErrorKind::TooLarge.into());
        }
        Ok(())
    }

    #[cold]
    fn begin_object(&mut self, _class: Text<'_>, _properties: usize) -> Result<()> {
        Err(self.refuse(VariantType::Object))
    }

    #[inline(always)]
    fn begin_strings(&mut self, len: usize) -> Result<OpenArray> {
        match self.next {
            NextValue::List(field) if matches!(field.kind, Kind::String | Kind::Enum(_)) => {
                self.open_list(field, len)
            }
            _ => Err(self.refuse(VariantType::PackedStringArray)),
        }
    }

    #[inline(always)]
    fn end_strings(&mut self, strings: OpenArray) -> Result<()> {
        self.end_array(strings)
    }
}
