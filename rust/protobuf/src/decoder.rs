//! Decodes the bytes of a message into events.

mod components;
mod lists;
mod maps;
mod scan;

use std::ops::Range;

use variant_codec::error::{Locate, Step};
use variant_codec::format::{BOM, MAX_BYTES};
use variant_codec::limits::{Budget, Limit, Spent};
use variant_codec::stream::{ElementType, Lanes, Precision, Sink, Source, Text, ValueBuilder};
use variant_codec::{Error as CodecError, ErrorKind, Limits, Result, Strictness, Value, VariantType};

use crate::charged::Charged;
use crate::error::{Error, Oddity};
use crate::floats::widen_keeping_nan;
use crate::kind::{Class, Kind};
use crate::reader::{Group, Reader, odd, range};
use crate::schema::{
    Default as FieldDefault, EnumTable, Field, Label, Message, MessageTable, NONE, Tables, UNKNOWN_KEY,
};
use crate::varint::unzigzag;
use crate::wire::{MAX_NESTING, Wire};

/// The absent fields that are decoded as their default.
///
/// ```
/// use variant_codec::Value;
/// use variant_protobuf::{DecodeOptions, Defaults, Schema};
///
/// let file = "syntax = \"proto3\"; message Player { string name = 1; int32 hp = 2; }";
/// let schema = Schema::compile("game.proto", |name| (name == "game.proto").then(|| file.to_owned()))?;
/// let player = schema.message("Player")?;
/// let options = DecodeOptions { defaults: Defaults::Omit, ..DecodeOptions::default() };
/// assert_eq!(player.decode(b"\x10\x07", &options)?, Value::from_iter([("hp", 7)]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Defaults {
    /// No absent fields.
    Omit,
    /// Fields without presence, including lists and maps.
    #[default]
    Implicit,
    /// Fields with presence as well, except messages and members of oneofs.
    All,
}

/// Options for decoding messages.
///
/// ```
/// use variant_protobuf::{DecodeOptions, Schema, Strictness};
///
/// let file = "syntax = \"proto3\"; message Player { string name = 1; int32 hp = 2; }";
/// let schema = Schema::compile("game.proto", |name| (name == "game.proto").then(|| file.to_owned()))?;
/// let player = schema.message("Player")?;
/// let strict = DecodeOptions { strictness: Strictness::Strict, ..DecodeOptions::default() };
/// // The fields are out of order.
/// assert!(player.decode(b"\x10\x07\x0a\x03Ada", &strict).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DecodeOptions {
    /// The wire format.
    pub wire: Wire,
    /// The strictness. Strict decoding accepts only bytes that an encoder writes. Lenient decoding accepts
    /// all bytes that official implementations accept.
    pub strictness: Strictness,
    /// The limits.
    pub limits: Limits,
    /// The absent fields that are decoded as their default.
    pub defaults: Defaults,
    /// Whether enums are decoded as names. Numbers without a name stay ints.
    pub enum_names: bool,
    /// Whether field names are decoded as StringNames.
    pub string_name_keys: bool,
    /// Whether unknown fields are kept, under [`UNKNOWN_KEY`].
    pub keep_unknown: bool,
}

impl Default for DecodeOptions {
    fn default() -> Self {
        Self {
            wire: Wire::Protobuf,
            strictness: Strictness::Lenient,
            limits: Limits::default(),
            defaults: Defaults::Implicit,
            enum_names: false,
            string_name_keys: false,
            keep_unknown: false,
        }
    }
}

impl Message {
    /// Decodes a message.
    ///
    /// # Errors
    /// Fails if the bytes are invalid or exceed a limit. The error has the offset and the path.
    pub fn decode(&self, bytes: &[u8], options: &DecodeOptions) -> Result<Value> {
        let mut builder = ValueBuilder::default();
        MessageDecoder::new(self, bytes, options).write_into(&mut builder)?;
        Ok(builder.into_value())
    }
}

/// Decodes one message.
///
/// ```
/// use variant_codec::Value;
/// use variant_protobuf::{DecodeOptions, MessageDecoder, Schema};
///
/// let file = "syntax = \"proto3\"; message Player { string name = 1; int32 hp = 2; }";
/// let schema = Schema::compile("game.proto", |name| (name == "game.proto").then(|| file.to_owned()))?;
/// let player = schema.message("Player")?;
/// // The same message as Godot's bytes, without a value in between.
/// use variant_codec::stream::{Encoder, Source};
///
/// let options = DecodeOptions::default();
/// let mut encoder = Encoder::new(Vec::new(), variant_codec::EncodeOptions::default());
/// MessageDecoder::new(&player, b"\x0a\x03Ada\x10\x07", &options).write_into(&mut encoder)?;
/// let value = Value::from_iter([("name", Value::from("Ada")), ("hp", 7.into())]);
/// assert_eq!(encoder.into_output(), value.encode()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MessageDecoder<'a> {
    tables: &'a Tables,
    root: &'a MessageTable,
    bytes: &'a [u8],
    options: &'a DecodeOptions,
    strict: bool,
    budget: Budget<'a>,
    memory: Memory,
}

/// Buffers that are reused from message to message.
#[derive(Debug, Default)]
struct Memory {
    /// Records of known fields, of all levels.
    found: Charged<FieldRecord>,
    /// Unknown fields, of all levels.
    unknown: Charged<u8>,
    /// Entries of maps, of all levels.
    entries: Charged<Entry>,
    /// Elements of a packed array.
    elements: Charged<u8>,
    /// Members of oneofs.
    members: Charged<Member>,
    /// Groups of known fields and the groups in them, of all levels.
    groups: Charged<Group>,
}

/// A record of a known field.
#[derive(Clone, Copy, Debug)]
struct FieldRecord {
    /// The value of the record; for a group, its index in [`Memory::groups`].
    value: u64,
    /// The offset of its tag.
    at: u32,
    /// The field's rank, or [`NONE`] if another member of its oneof has replaced it.
    rank: u16,
    class: Class,
}

#[derive(Clone, Debug)]
struct Entry {
    /// The first sort key: a number, or the start of a text.
    order: u64,
    key: u64,
    at: u32,
    /// The range of its value's records.
    value: Range<u32>,
}

/// The state of a oneof while its records are scanned backwards.
#[derive(Clone, Copy, Debug, Default)]
struct Member {
    /// The number of the last member.
    number: Option<u32>,
    /// Whether a record of another member precedes the records of the last member.
    is_closed: bool,
}

/// The start of a message's records, groups and unknown fields in [`Memory`].
#[derive(Clone, Copy, Debug)]
struct Gathered {
    first: usize,
    first_group: usize,
    unknown: usize,
}

/// A number or bool: a single value, or an element of a list.
#[derive(Clone, Copy, Debug)]
enum Number {
    Int(i64),
    Float(f64),
    Bool(bool),
}

impl<'a> MessageDecoder<'a> {
    /// A decoder of the message in `bytes`.
    pub fn new(message: &'a Message, bytes: &'a [u8], options: &'a DecodeOptions) -> Self {
        Self {
            tables: &message.schema.0,
            root: message.table(),
            bytes,
            options,
            strict: options.strictness == Strictness::Strict,
            budget: Budget::new(&options.limits),
            memory: Memory::default(),
        }
    }

    /// This decoder for other bytes, with a fresh budget. Keeps its buffers.
    pub fn with_bytes(self, bytes: &'a [u8]) -> Self {
        Self { bytes, budget: Budget::new(self.budget.limits), ..self }
    }

    /// This decoder, with limits partly used up by other values.
    pub fn after(self, spent: Spent) -> Self {
        Self { budget: Budget::after(spent, self.budget.limits), ..self }
    }

    /// The part of the limits used up so far, including this message.
    pub fn spent(&self) -> Spent {
        self.budget.spent()
    }

    fn enumeration(&self, index: u32) -> &'a EnumTable {
        &self.tables.enums[index as usize]
    }

    fn message(&self, index: u32) -> &'a MessageTable {
        &self.tables.messages[index as usize]
    }

    /// Fails in strict mode if `is_odd`.
    #[inline(always)]
    fn odd(&self, is_odd: bool, at: usize, oddity: Oddity) -> Result<()> {
        if is_odd && self.strict { Err(odd(oddity, at)) } else { Ok(()) }
    }

    #[inline(always)]
    fn check_depth(&self, depth: u32, at: usize) -> Result<()> {
        let limits = self.budget.limits;
        if depth <= limits.deepest() {
            Ok(())
        } else {
            Err(CodecError::new(limits.exceeded(Limit::Depth)).at(at))
        }
    }

    #[inline(always)]
    fn reader(&self, range: Range<usize>) -> Reader<'a> {
        Reader::new(&self.bytes[..range.end], range.start, self.options.wire, self.strict)
    }

    fn utf8(&self, bytes: &'a [u8], at: usize) -> Result<&'a str> {
        simdutf8::basic::from_utf8(bytes).map_err(|_| CodecError::new(ErrorKind::InvalidUtf8).at(at))
    }

    /// The ranks of the fields that are decoded even if absent.
    #[inline(always)]
    fn always(&self, message: &'a MessageTable) -> &'a [u16] {
        match self.options.defaults {
            Defaults::Omit => &[],
            Defaults::Implicit => &message.always[0],
            Defaults::All => &message.always[1],
        }
    }

    /// Writes the message merged from the records `pieces` or, at level 0, from all bytes.
    #[inline(never)]
    fn decode_message<S: Sink>(
        &mut self,
        sink: &mut S,
        message: &'a MessageTable,
        pieces: Range<usize>,
        depth: u32,
        level: u32,
    ) -> Result<()> {
        let at = self.memory.found.get(pieces.start).map_or(0, |found| found.at as usize);
        if let Some(components) = &message.components {
            let value = self.components(message, components, pieces, depth, level)?;
            self.budget.value(components.ty).at(at)?;
            return sink.fixed(components.ty, value.lanes()).at(at);
        }
        let Gathered { first, first_group, unknown } = self.gather(message, pieces, depth, level)?;
        let always = self.always(message);
        let has_unknown = self.memory.unknown.len() > unknown;
        let count = self.count_fields(always, first) + usize::from(has_unknown);
        self.budget.value(VariantType::Dictionary).at(at)?;
        self.budget.dictionary(count).at(at)?;
        if count > 0 {
            self.check_depth(depth + 1, at)?;
        }
        let mut dictionary =
            sink.begin_dictionary(count, ElementType::Untyped, ElementType::Untyped).at(at)?;
        let (mut next, mut default) = (first, 0);
        loop {
            let found = self.memory.found.get(next).map_or(NONE, |found| found.rank);
            let rank = found.min(always.get(default).copied().unwrap_or(NONE));
            let Some(field) = message.fields.get(usize::from(rank)) else { break };
            let start = next;
            while self.memory.found.get(next).is_some_and(|found| found.rank == rank) {
                next += 1;
            }
            default += usize::from(always.get(default) == Some(&rank));
            let key_at = self.memory.found.get(start).map_or(at, |found| found.at as usize);
            self.decode_key(sink, &mut dictionary, &field.name).at(key_at)?;
            self.decode_field(sink, field, start..next, depth + 1, level)
                .and_then(|()| sink.end_entry(&mut dictionary))
                .map_err(|error| error.at(key_at).inside(Step::text_key(&field.name)))?;
        }
        self.memory.found.truncate(first);
        self.memory.groups.truncate(first_group);
        if has_unknown {
            self.decode_unknown(sink, &mut dictionary, unknown, at)?;
        }
        sink.end_dictionary(dictionary).at(at)
    }

    /// Finds the records of the message merged from the records `pieces` or, at level 0, from all bytes.
    #[inline(always)]
    fn gather(
        &mut self,
        message: &'a MessageTable,
        pieces: Range<usize>,
        depth: u32,
        level: u32,
    ) -> Result<Gathered> {
        let (first, unknown) = (self.memory.found.len(), self.memory.unknown.len());
        let first_group = self.memory.groups.len();
        let at = self.memory.found.get(pieces.start).map_or(0, |found| found.at as usize);
        if level > MAX_NESTING {
            return Err(CodecError::other(Error::TooDeep).at(at));
        }
        self.check_depth(depth, at)?;
        if level == 0 {
            self.scan(message, 0..self.bytes.len(), None, level)?;
        }
        for index in pieces {
            let (piece, groups) = self.contents(self.memory.found[index]);
            self.scan(message, piece, groups, level)?;
        }
        self.settle(message, first, level)?;
        self.check_required(message, first, at)?;
        Ok(Gathered { first, first_group, unknown })
    }

    /// The range of a message's bytes and, for a group, the index of the first group in it.
    #[inline(always)]
    fn contents(&self, found: FieldRecord) -> (Range<usize>, Option<usize>) {
        match found.class {
            Class::StartGroup => {
                let index = found.value as usize;
                let Group { start, end, .. } = self.memory.groups[index];
                (start as usize..end as usize, Some(index + 1))
            }
            _ => (range(found.value), None),
        }
    }

    /// Fails in strict mode if a required field is missing. The message's records start at `first`.
    #[inline(always)]
    fn check_required(&self, message: &MessageTable, first: usize, at: usize) -> Result<()> {
        if !self.strict || message.required == 0 {
            return Ok(());
        }
        let found = &self.memory.found[first..];
        let present = |field: &Field| {
            let rank = message.rank_of(field.number);
            found.binary_search_by_key(&rank, |found| found.rank).is_ok()
        };
        match message.fields.iter().find(|field| field.is_required() && !present(field)) {
            Some(field) => {
                let (message, field) = (message.name.to_string(), field.name.to_string());
                Err(CodecError::other(Error::Missing { message, field }).at(at))
            }
            None => Ok(()),
        }
    }

    /// Writes the unknown fields from `first` on as an entry of the message, and drops them.
    #[inline(never)]
    fn decode_unknown<S: Sink>(
        &mut self,
        sink: &mut S,
        dictionary: &mut S::Dictionary,
        first: usize,
        at: usize,
    ) -> Result<()> {
        self.decode_key(sink, dictionary, UNKNOWN_KEY).at(at)?;
        let bytes = self.memory.unknown.len() - first;
        self.charge_packed(VariantType::PackedByteArray, bytes, bytes).at(at)?;
        let le = &self.memory.unknown[first..];
        sink.packed(VariantType::PackedByteArray, Lanes { precision: Precision::Single, le }).at(at)?;
        sink.end_entry(dictionary).at(at)?;
        self.memory.unknown.truncate(first);
        Ok(())
    }

    /// The number of fields in the Dictionary.
    #[inline(always)]
    fn count_fields(&self, always: &[u16], first: usize) -> usize {
        let found = &self.memory.found[first..];
        let mut count = always.len();
        let (mut last, mut default) = (NONE, 0);
        for found in found {
            if found.rank == last {
                continue;
            }
            last = found.rank;
            while always.get(default).is_some_and(|rank| *rank < last) {
                default += 1;
            }
            count += usize::from(always.get(default) != Some(&last));
        }
        count
    }

    #[inline(always)]
    fn decode_key<S: Sink>(
        &mut self,
        sink: &mut S,
        dictionary: &mut S::Dictionary,
        name: &str,
    ) -> Result<()> {
        let ty = if self.options.string_name_keys { VariantType::StringName } else { VariantType::String };
        self.budget.value(ty)?;
        if ty == VariantType::StringName {
            self.budget.name(name.as_bytes())?;
        }
        self.budget.text(name.len())?;
        sink.begin_key(dictionary)?;
        if !sink.raw_text(ty, name.as_bytes())? {
            sink.text(ty, name.into())?;
        }
        sink.begin_value(dictionary)
    }

    #[inline(always)]
    fn decode_field<S: Sink>(
        &mut self,
        sink: &mut S,
        field: &'a Field,
        records: Range<usize>,
        depth: u32,
        level: u32,
    ) -> Result<()> {
        match field.label {
            Label::Map => self.decode_map(sink, field, records, depth, level),
            Label::Repeated | Label::Packed => self.decode_list(sink, field, records, depth, level),
            _ if records.is_empty() => self.decode_default(sink, field, depth, level),
            _ => self.decode_single(sink, field, records, depth, level),
        }
    }

    /// Writes the last of these records, or the message merged from all of them.
    #[inline(always)]
    fn decode_single<S: Sink>(
        &mut self,
        sink: &mut S,
        field: &'a Field,
        records: Range<usize>,
        depth: u32,
        level: u32,
    ) -> Result<()> {
        let found = self.memory.found[records.end - 1];
        let at = found.at as usize;
        if let Kind::Message(index) = field.kind {
            return self.decode_message(sink, self.message(index), records, depth, level + 1);
        }
        self.check_last(field, records, level)?;
        match field.kind {
            Kind::String => self.decode_text(sink, &self.bytes[range(found.value)], at),
            Kind::Bytes => {
                let le = &self.bytes[range(found.value)];
                self.charge_packed(VariantType::PackedByteArray, le.len(), le.len()).at(at)?;
                sink.packed(VariantType::PackedByteArray, Lanes { precision: Precision::Single, le })
            }
            kind => {
                let number = self.number(kind, found, at)?;
                self.decode_number(sink, kind, number).at(at)
            }
        }
    }

    /// Checks the records that the last of `records` replaces, and that it is written at all.
    #[inline(always)]
    fn check_last(&mut self, field: &'a Field, records: Range<usize>, level: u32) -> Result<()> {
        let found = self.memory.found[records.end - 1];
        for index in records.start..records.end - 1 {
            self.check_replaced(field, self.memory.found[index], level)?;
        }
        if self.strict && field.label == Label::Implicit {
            let zero =
                if let Class::Bytes = found.class { range(found.value).is_empty() } else { found.value == 0 };
            self.odd(zero, found.at as usize, Oddity::Default)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn number(&self, kind: Kind, found: FieldRecord, at: usize) -> Result<Number> {
        let raw = found.value;
        // The reader has already applied the sign of numbers in this crate's wire format.
        let zigzags = self.options.wire == Wire::Protobuf && matches!(kind, Kind::Sint32 | Kind::Sint64);
        if self.strict && self.options.wire == Wire::Own {
            let form = match kind {
                Kind::Bool => found.class == Class::Varint,
                _ if kind.is_signed_varint() => (found.class == Class::Negative) != ((raw as i64) < 0),
                _ => found.class == Class::Negative,
            };
            self.odd(form, at, Oddity::Form)?;
        }
        self.number_of(kind, raw, zigzags, at)
    }

    /// Decodes the wire form of a number of this kind.
    #[inline(always)]
    fn number_of(&self, kind: Kind, raw: u64, zigzags: bool, at: usize) -> Result<Number> {
        let wide = if zigzags { unzigzag(raw) } else { raw as i64 };
        let int = match kind {
            Kind::Double => return Ok(Number::Float(f64::from_bits(raw))),
            Kind::Float => return Ok(Number::Float(widen_keeping_nan(raw as u32))),
            Kind::Bool => {
                self.odd(raw > 1, at, Oddity::Range)?;
                return Ok(Number::Bool(raw != 0));
            }
            Kind::Int32 | Kind::Enum(_) => (wide as i32).into(),
            // The number is truncated to 32 bits before zigzag decoding, as in official implementations.
            Kind::Sint32 if zigzags => (unzigzag(u64::from(raw as u32)) as i32).into(),
            Kind::Sint32 => (wide as i32).into(),
            Kind::Sfixed32 => return Ok(Number::Int((raw as i32).into())),
            Kind::Uint32 => (raw as u32).into(),
            _ => return Ok(Number::Int(wide)),
        };
        self.odd(int != wide, at, Oddity::Range)?;
        Ok(Number::Int(int))
    }

    #[inline(always)]
    fn decode_number<S: Sink>(&mut self, sink: &mut S, kind: Kind, number: Number) -> Result<()> {
        match number {
            Number::Int(int) => {
                if let Kind::Enum(index) = kind
                    && self.options.enum_names
                    && let Some(name) = self.enumeration(index).name_of(int as i32)
                {
                    self.budget.value(VariantType::String)?;
                    self.budget.text(name.len())?;
                    return sink.text(VariantType::String, name.into());
                }
                self.budget.value(VariantType::Int)?;
                sink.int(int)
            }
            Number::Float(float) => {
                self.budget.value(VariantType::Float)?;
                sink.float(float)
            }
            Number::Bool(bool) => {
                self.budget.value(VariantType::Bool)?;
                sink.bool(bool)
            }
        }
    }

    #[inline(always)]
    fn decode_text<S: Sink>(&mut self, sink: &mut S, bytes: &'a [u8], at: usize) -> Result<()> {
        self.budget.value(VariantType::String).at(at)?;
        if self.may_be_raw(bytes) && sink.raw_text(VariantType::String, bytes).at(at)? {
            return self.budget.text(bytes.len()).at(at);
        }
        self.budget.text(bytes.len()).at(at)?;
        let text = self.utf8(bytes, at)?;
        sink.text(VariantType::String, text.into()).at(at)
    }

    /// Whether the sink may check by itself that these bytes are UTF-8.
    #[inline(always)]
    fn may_be_raw(&self, bytes: &[u8]) -> bool {
        bytes.first() != BOM.as_bytes().first() && self.budget.allows_text(bytes.len())
    }

    #[inline(always)]
    fn charge_packed(&mut self, ty: VariantType, elements: usize, bytes: usize) -> Result<()> {
        self.budget.value(ty)?;
        self.budget.packed(elements, bytes)
    }

    #[inline(never)]
    fn decode_default<S: Sink>(
        &mut self,
        sink: &mut S,
        field: &'a Field,
        depth: u32,
        level: u32,
    ) -> Result<()> {
        match (&field.default, field.kind) {
            (FieldDefault::Text(text), _) => {
                self.budget.value(VariantType::String)?;
                self.budget.text(text.len())?;
                sink.text(VariantType::String, Text::Utf8(text))
            }
            (FieldDefault::Bytes(le), _) => {
                self.charge_packed(VariantType::PackedByteArray, le.len(), le.len())?;
                sink.packed(VariantType::PackedByteArray, Lanes { precision: Precision::Single, le })
            }
            (FieldDefault::Float(float), kind) => self.decode_number(sink, kind, Number::Float(*float)),
            (FieldDefault::Int(int), Kind::Bool) => {
                self.decode_number(sink, Kind::Bool, Number::Bool(*int != 0))
            }
            (FieldDefault::Int(int), kind) => self.decode_number(sink, kind, Number::Int(*int)),
            // A map entry without a value is decoded with an empty message.
            (FieldDefault::None, Kind::Message(index)) => {
                let end = self.memory.found.len();
                self.decode_message(sink, self.message(index), end..end, depth, level + 1)
            }
            (FieldDefault::None, _) => unreachable!("{} has a default", field.name),
        }
    }
}

impl Source for MessageDecoder<'_> {
    fn write_into<S: Sink>(&mut self, sink: &mut S) -> Result<()> {
        let limits = self.budget.limits;
        if self.bytes.len() > limits.max_bytes.min(MAX_BYTES) {
            return Err(CodecError::new(limits.exceeded(Limit::Bytes)).at(0));
        }
        // An earlier error may have left records behind.
        self.memory.found.restart();
        self.memory.unknown.restart();
        self.memory.entries.restart();
        self.memory.elements.restart();
        self.memory.members.restart();
        self.memory.groups.restart();
        self.decode_message(sink, self.root, 0..0, 0, 0)
    }
}
