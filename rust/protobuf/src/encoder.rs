//! Events → bytes of a message.

use variant_codec::error::quoted;
use variant_codec::format::MAX_BYTES;
use variant_codec::stream::{ElementType, Lanes, Sink, Source, Text};
use variant_codec::{Error as CodecError, ErrorKind, Result, Value, VariantType};

use crate::buffer::Buffer;
use crate::error::Error;
use crate::floats::{narrow_keeping_nan, widen_keeping_nan};
use crate::kind::{Class, Kind};
use crate::order::{order_of, start_of};
use crate::reader::Reader;
use crate::schema::{EnumTable, Field, Label, Message, MessageTable, NONE, Tables, UNKNOWN_KEY};
use crate::text;
use crate::varint::{varint_len, zigzag};
use crate::wire::{MAX_NESTING, Wire};

/// How messages are written.
#[derive(Clone, Copy, Debug, Default)]
pub struct EncodeOptions {
    /// The wire.
    pub wire: Wire,
}

impl Message {
    /// Encodes a message, in the official implementation's deterministic form.
    ///
    /// # Errors
    /// Why the value does not fit the message, with the path to the place.
    pub fn encode(&self, value: &Value, options: &EncodeOptions) -> Result<Vec<u8>> {
        let mut encoder = MessageEncoder::new(self, options);
        let mut source = value;
        source.pour(&mut encoder)?;
        Ok(encoder.into_bytes())
    }
}

/// Encodes one message from a Dictionary with its field names as keys, in any order.
#[derive(Debug)]
pub struct MessageEncoder<'s> {
    tables: &'s Tables,
    root: &'s MessageTable,
    wire: Wire,
    out: Buffer,
    /// What the next event is for.
    place: Place<'s>,
    level: Level<'s>,
    /// Fields and entries written so far, of all levels.
    segments: Vec<Segment>,
    depth: u32,
    /// Scratch memory for sorting segments.
    spare: Vec<u8>,
    /// The members of oneofs seen so far.
    members: Vec<u16>,
    /// The field that followed each one last time, by their index in the schema; empty while all keys arrive in order.
    followers: Vec<u16>,
}

/// Where the next value goes.
#[derive(Clone, Copy, Debug)]
enum Place<'s> {
    /// It is the message.
    Root,
    /// It is the name of a field.
    Name,
    /// It is the only value of a field, or a value of a map.
    Single(&'s Field),
    /// It is a map's key.
    Key(&'s Field),
    /// It is all that a repeated field holds.
    List(&'s Field),
    /// It is all entries of a map.
    Map(&'s Field),
    /// It is an element with a tag of its own.
    Element(&'s Field),
    /// It is an element without a tag.
    Packed(&'s Field),
    /// It is the unknown fields of a message.
    Unknown,
}

/// A message or map that is being written.
#[derive(Clone, Copy, Debug)]
struct Level<'s> {
    /// The message, or a map's entries.
    message: &'s MessageTable,
    /// The map's field.
    map: Option<&'s Field>,
    /// Its first segment.
    first: u32,
    /// The rank of the last key.
    last: u16,
    /// Whether the keys have come in the order in which they are to be written.
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

/// A Dictionary being written: the state around it.
#[derive(Debug)]
pub struct OpenDictionary<'s> {
    place: Place<'s>,
    level: Level<'s>,
    /// The position of its length; 0 for none, because a tag comes first.
    length_at: u32,
}

/// An Array being written.
#[derive(Debug)]
pub struct OpenArray {
    length_at: u32,
    /// The bytes reserved for its length; 0 if it has none.
    reserved: u8,
}

impl<'s> MessageEncoder<'s> {
    /// An encoder of one message.
    pub fn new(message: &'s Message, options: &EncodeOptions) -> Self {
        Self::with_memory(message, options, Vec::new())
    }

    /// The same, reusing a buffer, whose contents are cleared.
    pub fn with_memory(message: &'s Message, options: &EncodeOptions, memory: Vec<u8>) -> Self {
        let root = message.table();
        Self {
            tables: &message.schema.0,
            root,
            wire: options.wire,
            out: Buffer::new(memory),
            place: Place::Root,
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

    /// Clears the encoder for the next message, also after an error. Memory is kept.
    pub fn clear(&mut self) {
        self.out.clear();
        self.segments.clear();
        self.place = Place::Root;
        self.level = Level::new(self.root, None, 0);
        self.depth = 0;
    }

    fn enumeration(&self, index: u32) -> &'s EnumTable {
        &self.tables.enums[index as usize]
    }

    /// What the next value must be, for error messages.
    fn expected(&self) -> String {
        let one = |field: &Field| match field.kind {
            Kind::Bool => "bool".to_owned(),
            Kind::Float | Kind::Double => format!("float for {}", field.type_name),
            Kind::String => "String".to_owned(),
            Kind::Bytes => "PackedByteArray for bytes".to_owned(),
            Kind::Enum(_) => format!("int or a name of enum {}", field.type_name),
            Kind::Message(_) => format!("Dictionary for message {}", field.type_name),
            _ => format!("int for {}", field.type_name),
        };
        match self.place {
            Place::Root => format!("Dictionary for message {}", self.root.name),
            Place::Name => "field name".to_owned(),
            Place::List(field) if field.kind.can_be_packed() => {
                format!("Array or packed array for repeated {}", field.type_name)
            }
            Place::List(field) => format!("Array for repeated {}", field.type_name),
            Place::Map(field) => format!("Dictionary for {}", field.type_name),
            Place::Unknown => "PackedByteArray of unknown fields".to_owned(),
            Place::Single(field) | Place::Key(field) | Place::Element(field) | Place::Packed(field) => {
                one(field)
            }
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

    /// A tag and a varint or fixed bytes.
    #[inline(always)]
    fn put_record(&mut self, field: &Field, class: Class, value: u64) -> Result<()> {
        let tag = self.wire.tag(field.tag, class);
        match class {
            Class::Fixed32 => self.put_fixed(field, tag, value, 4),
            Class::Fixed64 => self.put_fixed(field, tag, value, 8),
            Class::True | Class::False => self.put_fixed(field, tag, 0, 0),
            _ => self.out.put_tagged(tag, field.tag.len, value),
        }
    }

    #[inline(always)]
    fn put_fixed(&mut self, field: &Field, tag: u64, value: u64, len: usize) -> Result<()> {
        self.out.put::<16>(|room| {
            let at = usize::from(field.tag.len);
            room[..8].copy_from_slice(&tag.to_le_bytes());
            if let Some(rest) = room.get_mut(at..at + 8) {
                rest.copy_from_slice(&value.to_le_bytes());
            }
            at + len
        })
    }

    /// Starts an entry; entries are sorted later.
    #[inline(always)]
    fn begin_segment(&mut self, rank: u64) -> Result<()> {
        let bytes = size_of::<Segment>();
        self.segments.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory(bytes))?;
        self.segments.push(Segment { rank, start: self.out.len() as u32, len: 0 });
        Ok(())
    }

    /// Only a tag.
    #[inline(always)]
    fn put_tag(&mut self, field: &Field) -> Result<()> {
        let tag = self.wire.tag(field.tag, Class::Bytes);
        self.put_fixed(field, tag, 0, 0)
    }

    /// The wire form of a number after its tag.
    #[inline(always)]
    fn spelled(&self, kind: Kind, value: i64) -> (Class, u64) {
        match kind {
            _ if self.wire.has_signs(kind) => match value {
                0.. => (Class::Varint, value as u64),
                _ => (Class::Negative, value.unsigned_abs()),
            },
            Kind::Sint32 | Kind::Sint64 => (Class::Varint, zigzag(value)),
            _ => (kind.class(), value as u64),
        }
    }

    /// Whether a field can hold this number.
    #[inline(always)]
    fn takes(&self, kind: Kind, value: i64) -> bool {
        match kind {
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => i32::try_from(value).is_ok(),
            Kind::Uint32 | Kind::Fixed32 => u32::try_from(value).is_ok(),
            Kind::Enum(index) => {
                i32::try_from(value).is_ok_and(|number| self.enumeration(index).takes(number))
            }
            _ => true,
        }
    }

    /// Puts a number.
    #[inline(always)]
    fn put_int(&mut self, field: &'s Field, value: i64) -> Result<()> {
        match field.kind {
            Kind::Double | Kind::Float => return self.put_float(field, value as f64),
            Kind::Bool | Kind::String | Kind::Bytes | Kind::Message(_) => {
                return Err(self.refuse(VariantType::Int));
            }
            kind if !self.takes(kind, value) => return Err(self.out_of_range(value)),
            _ => {}
        }
        let (class, number) = self.spelled(field.kind, value);
        self.put_record(field, class, number)
    }

    #[inline(always)]
    fn put_float(&mut self, field: &'s Field, value: f64) -> Result<()> {
        match field.kind {
            Kind::Double => self.put_record(field, Class::Fixed64, value.to_bits()),
            Kind::Float => self.put_record(field, Class::Fixed32, narrow_keeping_nan(value).into()),
            _ => Err(self.refuse(VariantType::Float)),
        }
    }

    #[inline(always)]
    fn put_bool(&mut self, field: &'s Field, value: bool) -> Result<()> {
        match (field.kind, self.wire, value) {
            (Kind::Bool, Wire::Protobuf, _) => self.put_record(field, Class::Varint, value.into()),
            (Kind::Bool, Wire::Compact, true) => self.put_record(field, Class::True, 0),
            (Kind::Bool, Wire::Compact, false) => self.put_record(field, Class::False, 0),
            _ => Err(self.refuse(VariantType::Bool)),
        }
    }

    /// Puts text of `len` bytes after a tag.
    #[inline(always)]
    fn put_text(&mut self, field: &'s Field, text: Text<'_>, bytes: usize) -> Result<()> {
        let tag = self.wire.tag(field.tag, Class::Bytes);
        self.out.put_tagged(tag, field.tag.len, bytes as u64)?;
        let room = self.out.take(bytes)?;
        match text {
            Text::Utf8(text) => room.copy_from_slice(text.as_bytes()),
            Text::Utf32(units) => text::put_utf8(room, units),
        }
        Ok(())
    }

    /// Puts a String or StringName.
    #[inline(always)]
    fn put_string(&mut self, field: &'s Field, ty: VariantType, text: Text<'_>) -> Result<()> {
        match field.kind {
            Kind::String => {
                let bytes = match text {
                    Text::Utf8(text) => text.len(),
                    Text::Utf32(units) => text::utf8_len(units)?,
                };
                if bytes == 0 && self.leaves_zero_out(field) {
                    return Ok(());
                }
                self.put_text(field, text, bytes)
            }
            Kind::Enum(index) => self.put_enum_name(self.enumeration(index), text),
            _ => Err(self.refuse(ty)),
        }
    }

    #[inline(never)]
    fn put_enum_name(&mut self, names: &EnumTable, text: Text<'_>) -> Result<()> {
        let number = match text {
            Text::Utf8(name) => names.number_of(name),
            Text::Utf32(_) => names.number_of(&text.to_lossy()),
        };
        let Some(number) = number else {
            return Err(Error::NoEnumValue { name: names.name.to_string(), value: text.quoted() }.into());
        };
        self.int(number.into())
    }

    /// Whether a zero is omitted here.
    #[inline(always)]
    fn leaves_zero_out(&self, field: &Field) -> bool {
        field.label == Label::Implicit
    }

    /// Finds the field with this name.
    #[inline(always)]
    fn name(&mut self, text: Text<'_>) -> Result<()> {
        let message = self.level.message;
        // 0 for the first field.
        let next = self.level.last.wrapping_add(1);
        let follower = message.first_follower + usize::from(next);
        let expected = self.followers.get(follower).copied().unwrap_or(next);
        let hit = message.fields.get(usize::from(expected)).is_some_and(|field| match text {
            Text::Utf32(units) => text::same_units(&field.units, units),
            Text::Utf8(text) => text::same_bytes(field.name.as_bytes(), text.as_bytes()),
        });
        let rank = if hit { expected } else { self.look_up(text, follower)? };
        self.level.in_order &= rank.wrapping_add(1) > next;
        self.level.last = rank;
        Ok(())
    }

    #[inline(never)]
    fn look_up(&mut self, text: Text<'_>, follower: usize) -> Result<u16> {
        let message = self.level.message;
        let rank = match text {
            Text::Utf32(units) => message.rank_of_name(units.iter().copied()),
            Text::Utf8(text) => message.rank_of_name(text.chars().map(u32::from)),
        };
        if rank == NONE && text.to_lossy() != UNKNOWN_KEY {
            return Err(self.no_field(text.quoted()));
        }
        if self.followers.is_empty() {
            self.followers = self.tables.followers();
        }
        self.followers[follower] = rank;
        Ok(rank)
    }

    #[cold]
    fn no_field(&self, name: String) -> CodecError {
        Error::NoField { message: self.level.message.name.to_string(), name }.into()
    }

    /// Sorts fields by number, or entries by key.
    #[inline(never)]
    fn sort(&mut self, level: &Level<'s>) -> Result<()> {
        let segments = &mut self.segments[level.first as usize..];
        let Some(start) = segments.first().map(|segment| segment.start as usize) else { return Ok(()) };
        let mut end = self.out.len();
        for segment in segments.iter_mut().rev() {
            segment.len = (end - segment.start as usize) as u32;
            end = segment.start as usize;
        }
        let has_text_keys = level.map.is_some() && level.message.entry().0.kind == Kind::String;
        let key = |segment: &Segment| {
            if has_text_keys { entry_key(&self.out.written()[segment.range()]) } else { &[] }
        };
        segments.sort_unstable_by(|a, b| a.rank.cmp(&b.rank).then_with(|| key(a).cmp(key(b))));
        for pair in segments.windows(2) {
            if pair[0].rank == pair[1].rank && key(&pair[0]) == key(&pair[1]) {
                let what = match level.map {
                    None => match level.message.fields.get(pair[0].rank as usize) {
                        Some(field) => format!("field {}", field.name),
                        None => UNKNOWN_KEY.to_owned(),
                    },
                    Some(_) if has_text_keys => {
                        format!("key {}", quoted(&String::from_utf8_lossy(key(&pair[0]))))
                    }
                    Some(_) => "key".to_owned(),
                };
                return Err(Error::Duplicate(what).into());
            }
        }
        self.out.rearrange(start, segments.iter().map(Segment::range), &mut self.spare)
    }

    /// Checks required fields and oneofs.
    #[inline(never)]
    fn check_together(&mut self, level: &Level<'s>) -> Result<()> {
        let message = level.message;
        let segments = &self.segments[level.first as usize..];
        let mut fields = segments.iter().filter_map(|segment| message.fields.get(segment.rank as usize));
        if fields.clone().filter(|field| field.is_required()).count() < message.required {
            let found = |field: &&Field| !fields.clone().any(|other| other.number == field.number);
            let field = message.fields.iter().filter(|field| field.is_required()).find(found);
            let field = field.map(|field| field.name.to_string()).unwrap_or_default();
            return Err(Error::Missing { message: message.name.to_string(), field }.into());
        }
        self.members.clear();
        self.members.resize(message.oneofs.len(), NONE);
        fields.try_for_each(|field| {
            let Some(oneof) = field.oneof.map(usize::from) else { return Ok(()) };
            let rank = message.rank_of(field.number);
            let first = std::mem::replace(&mut self.members[oneof], rank);
            if first == NONE {
                return Ok(());
            }
            let first = message.fields[usize::from(first)].name.to_string();
            let (oneof, second) = (message.oneofs[oneof].to_string(), field.name.to_string());
            Err(Error::Oneof { oneof, first, second }.into())
        })
    }

    /// Notes the sort key of a map entry.
    #[inline(always)]
    fn note_key(&mut self, rank: u64) {
        let [.., last] = self.segments.as_mut_slice() else { return };
        last.rank = rank;
    }

    /// Opens a message or a map.
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
        Ok(OpenDictionary { place: self.place, level, length_at })
    }

    /// Opens the record of a packed list, if the list is packed.
    #[inline(always)]
    fn open_list(&mut self, field: &'s Field, len: usize) -> Result<OpenArray> {
        let mut open = OpenArray { length_at: 0, reserved: 0 };
        self.place = Place::Element(field);
        if field.label == Label::Packed && len > 0 {
            let least = match field.kind.class() {
                Class::Fixed64 => 8,
                Class::Fixed32 => 4,
                _ => 1,
            };
            self.put_tag(field)?;
            open.reserved = varint_len(len.saturating_mul(least) as u64) as u8;
            open.length_at = self.out.len() as u32;
            self.out.take(open.reserved.into())?;
            self.place = Place::Packed(field);
        }
        Ok(open)
    }

    /// Puts all elements of a list of numbers.
    #[inline(never)]
    fn put_packed_numbers(&mut self, field: &'s Field, ty: VariantType, le: &[u8]) -> Result<()> {
        use VariantType as T;

        let width = match ty {
            T::PackedByteArray => 1,
            T::PackedInt32Array | T::PackedFloat32Array => 4,
            T::PackedInt64Array | T::PackedFloat64Array => 8,
            _ => return Err(self.refuse(ty)),
        };
        if !field.kind.can_be_packed() {
            return Err(self.refuse(ty));
        }
        let mut array = self.open_list(field, le.len() / width)?;
        let same = matches!(
            (field.kind, ty),
            (Kind::Sfixed32, T::PackedInt32Array)
                | (Kind::Fixed64 | Kind::Sfixed64, T::PackedInt64Array)
                | (Kind::Float, T::PackedFloat32Array)
                | (Kind::Double, T::PackedFloat64Array)
        );
        if same && let Place::Packed(_) = self.place {
            self.out.put_bytes(le)?;
            return self.end_array(array);
        }
        let (words, long_words) = (le.as_chunks::<4>().0.iter(), le.as_chunks::<8>().0.iter());
        match ty {
            T::PackedByteArray => self.ints(&mut array, &mut le.iter().map(|&byte| byte.into())),
            T::PackedInt32Array => self.ints(&mut array, &mut words.map(|le| i32::from_le_bytes(*le).into())),
            T::PackedInt64Array => self.ints(&mut array, &mut long_words.map(|le| i64::from_le_bytes(*le))),
            T::PackedFloat32Array => {
                self.floats(&mut array, &mut words.map(|le| widen_keeping_nan(u32::from_le_bytes(*le))))
            }
            _ => self.floats(&mut array, &mut long_words.map(|le| f64::from_le_bytes(*le))),
        }?;
        self.end_array(array)
    }

    /// Puts the unknown fields of a message unchanged.
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

/// The key in a map entry, which is text.
fn entry_key(entry: &[u8]) -> &[u8] {
    let end = |bytes: &[u8]| bytes.iter().position(|byte| *byte < 0x80).map_or(0, |last| last + 1);
    // After its tag, its length and the tag of the key.
    let entry = &entry[end(entry)..];
    let entry = &entry[end(entry) + 1..];
    let (len, text) = entry.split_at(end(entry));
    let len = len.iter().rev().fold(0, |len, byte| len << 7 | usize::from(byte & 0x7F));
    &text[..len]
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

    /// The field is absent.
    #[inline(always)]
    fn nil(&mut self) -> Result<()> {
        match self.place {
            Place::Single(_) | Place::List(_) | Place::Map(_) | Place::Unknown
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
        match self.place {
            Place::Single(field) => {
                if !value && field.kind == Kind::Bool && self.leaves_zero_out(field) {
                    return Ok(());
                }
                self.put_bool(field, value)
            }
            Place::Element(field) => self.put_bool(field, value),
            Place::Packed(field) if field.kind == Kind::Bool => self.out.put_bytes(&[value.into()]),
            Place::Key(field) => {
                self.note_key(value.into());
                self.put_bool(field, value)
            }
            _ => Err(self.refuse(VariantType::Bool)),
        }
    }

    #[inline(always)]
    fn int(&mut self, value: i64) -> Result<()> {
        match self.place {
            Place::Single(field) => {
                if value == 0 && self.leaves_zero_out(field) {
                    // Refused where numbers are not allowed.
                    return if field.kind.takes_numbers() {
                        Ok(())
                    } else {
                        Err(self.refuse(VariantType::Int))
                    };
                }
                self.put_int(field, value)
            }
            Place::Element(field) => self.put_int(field, value),
            Place::Packed(field) => {
                let mut one = std::iter::once(value);
                self.put_ints(field, &mut one)
            }
            Place::Key(field) => {
                self.note_key(order_of(field.kind, value));
                self.put_int(field, value)
            }
            _ => Err(self.refuse(VariantType::Int)),
        }
    }

    #[inline(always)]
    fn float(&mut self, value: f64) -> Result<()> {
        match self.place {
            Place::Single(field) => {
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
            Place::Element(field) => self.put_float(field, value),
            Place::Packed(field) => {
                let mut one = std::iter::once(value);
                self.put_floats(field, &mut one)
            }
            _ => Err(self.refuse(VariantType::Float)),
        }
    }

    #[inline(always)]
    fn text(&mut self, ty: VariantType, text: Text<'_>) -> Result<()> {
        match self.place {
            Place::Name => self.name(text),
            Place::Single(field) | Place::Element(field) => self.put_string(field, ty, text),
            Place::Packed(field) => match field.kind {
                Kind::Enum(index) => self.put_enum_name(self.enumeration(index), text),
                _ => Err(self.refuse(ty)),
            },
            Place::Key(field) => {
                self.put_string(field, ty, text)?;
                let len = match text {
                    Text::Utf8(text) => text.len(),
                    Text::Utf32(units) => text::utf8_len(units)?,
                };
                let written = self.out.written();
                let rank = start_of(&written[written.len() - len..]);
                self.note_key(rank);
                Ok(())
            }
            _ => Err(self.refuse(ty)),
        }
    }

    #[inline(always)]
    fn packed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        match (self.place, ty) {
            (Place::Single(field) | Place::Element(field), VariantType::PackedByteArray)
                if field.kind == Kind::Bytes =>
            {
                if lanes.le.is_empty() && self.leaves_zero_out(field) {
                    return Ok(());
                }
                let tag = self.wire.tag(field.tag, Class::Bytes);
                self.out.put_tagged(tag, field.tag.len, lanes.le.len() as u64)?;
                self.out.put_bytes(lanes.le)
            }
            (Place::List(field), _) => self.put_packed_numbers(field, ty, lanes.le),
            (Place::Unknown, VariantType::PackedByteArray) => self.put_unknown(lanes.le),
            _ => Err(self.refuse(ty)),
        }
    }

    #[inline(always)]
    fn begin_array(&mut self, len: usize, _element: ElementType<'_>) -> Result<OpenArray> {
        match self.place {
            Place::List(field) => self.open_list(field, len),
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
        match self.place {
            Place::Packed(field) => self.put_ints(field, ints),
            _ => ints.try_for_each(|int| self.int(int)),
        }
    }

    #[inline(always)]
    fn floats(&mut self, _array: &mut OpenArray, floats: &mut impl Iterator<Item = f64>) -> Result<()> {
        match self.place {
            Place::Packed(field) => self.put_floats(field, floats),
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
        // In a map, the entries are the nested messages.
        let is_nested = len > 0 || !matches!(self.place, Place::Map(_));
        if is_nested && self.depth > MAX_NESTING {
            return Err(Error::TooDeep.into());
        }
        let (Place::Single(field) | Place::Element(field) | Place::Map(field)) = self.place else {
            return match self.place {
                Place::Root => self.open(self.root, None, 0),
                _ => Err(self.refuse(VariantType::Dictionary)),
            };
        };
        let Kind::Message(index) = field.kind else { return Err(self.refuse(VariantType::Dictionary)) };
        let message = &self.tables.messages[index as usize];
        if let Place::Map(_) = self.place {
            return self.open(message, Some(field), 0);
        }
        self.put_tag(field)?;
        let length_at = self.out.len() as u32;
        self.out.put_bytes(&[0])?;
        self.open(message, None, length_at)
    }

    #[inline(always)]
    fn begin_key(&mut self, _dictionary: &mut OpenDictionary<'s>) -> Result<()> {
        match self.level.map {
            None => self.place = Place::Name,
            Some(map) => {
                self.begin_segment(0)?;
                self.put_tag(map)?;
                self.out.put_bytes(&[0])?;
                self.place = Place::Key(self.level.message.entry().0);
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
            self.place = Place::Single(level.message.entry().1);
            return Ok(());
        }
        let (message, last) = (level.message, level.last);
        self.begin_segment(last.into())?;
        self.place = match message.fields.get(usize::from(last)) {
            None => Place::Unknown,
            Some(field) => match field.label {
                Label::Implicit | Label::Explicit | Label::Required => Place::Single(field),
                Label::Repeated | Label::Packed => Place::List(field),
                Label::Map => Place::Map(field),
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
        self.place = dictionary.place;
        self.depth -= 1;
        if dictionary.length_at > 0 {
            self.out.close(dictionary.length_at as usize, 1)?;
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
        match self.place {
            Place::List(field) if matches!(field.kind, Kind::String | Kind::Enum(_)) => {
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

impl MessageEncoder<'_> {
    /// Numbers of a packed list.
    #[inline(always)]
    fn put_ints(&mut self, field: &Field, ints: &mut impl Iterator<Item = i64>) -> Result<()> {
        let kind = field.kind;
        if let Kind::Float | Kind::Double = kind {
            return self.put_floats(field, &mut ints.map(|int| int as f64));
        }
        if !kind.takes_numbers() {
            return ints.next().map_or(Ok(()), |_| Err(self.refuse(VariantType::Int)));
        }
        let zigzags = self.wire.packs_in_zigzag(kind);
        let class = kind.class();
        ints.try_for_each(|int| {
            if !self.takes(kind, int) {
                return Err(self.out_of_range(int));
            }
            match class {
                Class::Fixed32 => self.out.put_bytes(&(int as u32).to_le_bytes()),
                Class::Fixed64 => self.out.put_bytes(&int.to_le_bytes()),
                _ if zigzags => self.out.put_varint(zigzag(int)),
                _ => self.out.put_varint(int as u64),
            }
        })
    }

    #[inline(always)]
    fn put_floats(&mut self, field: &Field, floats: &mut impl Iterator<Item = f64>) -> Result<()> {
        match field.kind {
            Kind::Double => floats.try_for_each(|float| self.out.put_bytes(&float.to_le_bytes())),
            Kind::Float => {
                floats.try_for_each(|float| self.out.put_bytes(&narrow_keeping_nan(float).to_le_bytes()))
            }
            _ => floats.next().map_or(Ok(()), |_| Err(self.refuse(VariantType::Float))),
        }
    }
}
