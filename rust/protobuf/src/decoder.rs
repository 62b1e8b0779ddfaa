//! Bytes of a message → events.

use std::ops::Range;

use variant_codec::format::{BOM, MAX_BYTES, MAX_DEPTH};
use variant_codec::{
    Budget, ElementType, EncodeOptions as CodecOptions, Error as CodecError, ErrorKind, Lanes, Limit, Limits,
    Manner, Measure, Precision, Result, Sink, Source, Step, Text, Value, ValueBuilder, VariantType,
};

use crate::error::{Error, Oddity};
use crate::reader::{Reader, Record, odd, range};
use crate::schema::{
    Default as FieldDefault, EnumTable, Field, Kind, Label, Message, MessageTable, NONE, Tables,
};
use crate::wire::{Class, LONGEST_VARINT, Wire, narrow, order_of, put_varint, start_of, unzigzag, widen};
use crate::{MAX_NESTING, UNKNOWN_KEY};

/// Which fields are shown with their default where the message does not have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Defaults {
    /// None.
    Omit,
    /// Those that do not tell absence from the default, lists and maps among them.
    #[default]
    Implicit,
    /// Those with presence as well, but for messages and members of oneofs.
    All,
}

/// How messages are read.
#[derive(Clone, Debug)]
pub struct DecodeOptions {
    /// The wire.
    pub wire: Wire,
    /// The strict manner takes only what an encoder writes, the engine's takes what official implementations take.
    pub manner: Manner,
    /// How much is accepted.
    pub limits: Limits,
    /// What is shown of absent fields.
    pub defaults: Defaults,
    /// Whether enums are given by name, where the number has one.
    pub enum_names: bool,
    /// Whether the names of fields are StringNames.
    pub string_name_keys: bool,
    /// Whether fields that the schema does not know are kept, under [`UNKNOWN_KEY`].
    pub keep_unknown: bool,
}

impl Default for DecodeOptions {
    fn default() -> Self {
        Self {
            wire: Wire::Protobuf,
            manner: Manner::Engine,
            limits: Limits::default(),
            defaults: Defaults::Implicit,
            enum_names: false,
            string_name_keys: false,
            keep_unknown: false,
        }
    }
}

impl Message {
    /// Reads a message.
    ///
    /// # Errors
    /// What is wrong with the bytes, with offset and path.
    pub fn decode(&self, bytes: &[u8], options: &DecodeOptions) -> Result<Value> {
        let mut builder = ValueBuilder::default();
        MessageDecoder::new(self, bytes, options).pour(&mut builder)?;
        Ok(builder.into_value())
    }
}

/// Reads one message out of a buffer.
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

/// What is kept from message to message.
#[derive(Debug, Default)]
struct Memory {
    /// Records of known fields, of all levels.
    found: Vec<Found>,
    /// Unknown fields, of all levels.
    unknown: Vec<u8>,
    /// Entries of maps, of all levels.
    entries: Vec<Entry>,
    /// Elements of a packed array.
    elements: Vec<u8>,
    /// Members of oneofs.
    members: Vec<Member>,
}

/// A record of a known field.
#[derive(Clone, Copy, Debug)]
struct Found {
    value: u64,
    /// Where its tag is.
    at: u32,
    /// The field's rank, or [`NONE`] for what another member of its oneof has replaced.
    rank: u16,
    class: Class,
}

/// An entry of a map.
#[derive(Clone, Debug)]
struct Entry {
    /// What is compared first: a number, or the start of a text.
    order: u64,
    key: u64,
    at: u32,
    /// The records of its value.
    value: Range<u32>,
}

/// What is known of a oneof, from its end on.
#[derive(Clone, Copy, Debug, Default)]
struct Member {
    rank: Option<u16>,
    /// Whether another member stands in front of it.
    is_closed: bool,
}

/// A value behind a tag, or an element of a packed list.
#[derive(Clone, Copy, Debug)]
enum Number {
    Int(i64),
    Float(f64),
    Bool(bool),
}

/// Puts a place on an error of the budget or of the sink, which know none.
#[inline(always)]
fn located<T>(at: usize, result: Result<T>) -> Result<T> {
    result.map_err(|error| error.at(at))
}

impl<'a> MessageDecoder<'a> {
    /// A reader of the message that `bytes` are.
    pub fn new(message: &'a Message, bytes: &'a [u8], options: &'a DecodeOptions) -> Self {
        Self {
            tables: &message.schema.0,
            root: message.table(),
            bytes,
            options,
            strict: options.manner == Manner::Strict,
            budget: Budget::new(&options.limits),
            memory: Memory::default(),
        }
    }

    fn enumeration(&self, index: u32) -> &'a EnumTable {
        &self.tables.enums[index as usize]
    }

    fn message(&self, index: u32) -> &'a MessageTable {
        &self.tables.messages[index as usize]
    }

    /// Refuses, in the strict manner, what no encoder writes.
    #[inline(always)]
    fn odd(&self, is_odd: bool, at: usize, oddity: Oddity) -> Result<()> {
        if is_odd && self.strict { Err(odd(oddity, at)) } else { Ok(()) }
    }

    /// Whether a value may lie at this level.
    #[inline(always)]
    fn check_depth(&self, depth: u32, at: usize) -> Result<()> {
        let limit = self.budget.limits.max_depth.min(MAX_DEPTH);
        if depth <= limit {
            return Ok(());
        }
        Err(CodecError::new(match limit {
            MAX_DEPTH => ErrorKind::TooDeep,
            _ => ErrorKind::LimitExceeded(Limit::Depth, limit.into()),
        })
        .at(at))
    }

    #[inline(always)]
    fn reader(&self, range: Range<usize>) -> Reader<'a> {
        Reader::new(&self.bytes[..range.end], range.start, self.options.wire, self.strict)
    }

    /// Notes the records of a message, and keeps what is unknown.
    #[inline(always)]
    fn scan(&mut self, message: &'a MessageTable, range: Range<usize>, level: u32) -> Result<()> {
        let mut reader = self.reader(range);
        let mut last = None;
        while !reader.is_at_end() {
            let at = reader.at;
            let Record { number, class, value } = reader.record()?;
            let rank = message.rank_of(number);
            let field = message.fields.get(usize::from(rank));
            match field {
                Some(field) if field.classes & class.bit() != 0 => {
                    if self.strict {
                        self.check_order(field, rank, last, at)?;
                        last = Some(rank);
                    }
                    if let Kind::Enum(_) | Kind::Message(_) = field.kind
                        && self.has_foreign_enum(field, class, value, at, level)?
                    {
                        self.add_unknown(at..reader.at);
                        continue;
                    }
                    self.memory.found.push(Found { value, at: at as u32, rank, class });
                }
                _ => {
                    let oddity = if field.is_some() { Oddity::WireType } else { Oddity::UnknownField };
                    self.odd(true, at, oddity)?;
                    if class == Class::StartGroup {
                        reader.skip_group(number, level + 1)?;
                    }
                    self.add_unknown(at..reader.at);
                }
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn add_unknown(&mut self, range: Range<usize>) {
        if self.options.keep_unknown {
            self.memory.unknown.extend_from_slice(&self.bytes[range]);
        }
    }

    /// Strictly, fields come by number, and only lists and maps again.
    fn check_order(&self, field: &Field, rank: u16, last: Option<u16>, at: usize) -> Result<()> {
        self.odd(last.is_some_and(|last| rank < last), at, Oddity::Order)?;
        let may_repeat = matches!(field.label, Label::Repeated | Label::Map);
        self.odd(last == Some(rank) && !may_repeat, at, Oddity::Repeated)
    }

    /// Whether a record goes to the unknown ones because of a number that is none of its enum's. Of a packed list, only
    /// such elements do.
    #[inline(never)]
    fn has_foreign_enum(
        &mut self,
        field: &'a Field,
        class: Class,
        value: u64,
        at: usize,
        level: u32,
    ) -> Result<bool> {
        let index = match field.kind {
            Kind::Enum(index) => index,
            Kind::Message(index) if field.label == Label::Map => {
                return self.has_foreign_value(self.message(index), range(value), at, level);
            }
            _ => return Ok(false),
        };
        let names = self.enumeration(index);
        if !names.is_closed {
            return Ok(false);
        }
        if class != Class::Bytes {
            let foreign = !names.takes(value as i32);
            self.odd(foreign, at, Oddity::Range)?;
            return Ok(foreign);
        }
        let zigzags = self.options.wire.packs_in_zigzag(field.kind);
        let mut reader = self.reader(range(value));
        while !reader.is_at_end() {
            let element_at = reader.at;
            let raw = reader.varint(LONGEST_VARINT)?;
            let number = if zigzags { unzigzag(raw) } else { raw as i64 };
            if !names.takes(number as i32) {
                self.odd(true, element_at, Oddity::Range)?;
                self.add_unknown_number(field, number);
            }
        }
        Ok(false)
    }

    /// Keeps an element of a list as a record of its own.
    fn add_unknown_number(&mut self, field: &Field, number: i64) {
        if !self.options.keep_unknown {
            return;
        }
        let (class, magnitude) = match self.options.wire {
            Wire::Compact if number < 0 => (Class::Negative, number.unsigned_abs()),
            _ => (Class::Varint, number as u64),
        };
        let tag = self.options.wire.tag(field.tag, class).to_le_bytes();
        self.memory.unknown.extend_from_slice(&tag[..usize::from(field.tag.len)]);
        let mut room = [0; LONGEST_VARINT];
        let len = put_varint(&mut room, magnitude);
        self.memory.unknown.extend_from_slice(&room[..len]);
    }

    /// Whether the value of a map's entry is a number that is none of its enum's.
    fn has_foreign_value(
        &mut self,
        entry: &'a MessageTable,
        range: Range<usize>,
        at: usize,
        level: u32,
    ) -> Result<bool> {
        let Kind::Enum(index) = entry.entry().1.kind else { return Ok(false) };
        let names = self.enumeration(index);
        if !names.is_closed {
            return Ok(false);
        }
        let mut reader = self.reader(range);
        let mut foreign = false;
        while !reader.is_at_end() {
            let record = reader.record()?;
            if record.class == Class::StartGroup {
                reader.skip_group(record.number, level + 2)?;
            }
            if record.number == 2 && entry.entry().1.classes & record.class.bit() != 0 {
                foreign = !names.takes(record.value as i32);
            }
        }
        self.odd(foreign, at, Oddity::Range)?;
        Ok(foreign)
    }

    /// Puts the records from `first` on in the order of their fields; of a oneof, those of its last member stay.
    #[inline(always)]
    fn settle(&mut self, message: &'a MessageTable, first: usize, level: u32) -> Result<()> {
        if !message.oneofs.is_empty() {
            self.settle_oneofs(message, first, level)?;
        }
        let found = &mut self.memory.found[first..];
        if !found.is_sorted_by_key(|found| found.rank) {
            found.sort_unstable_by_key(|found| (found.rank, found.at));
        }
        let left = found.iter().rev().take_while(|found| found.rank == NONE).count();
        self.memory.found.truncate(self.memory.found.len() - left);
        Ok(())
    }

    #[inline(never)]
    fn settle_oneofs(&mut self, message: &'a MessageTable, first: usize, level: u32) -> Result<()> {
        self.memory.members.clear();
        self.memory.members.resize(message.oneofs.len(), Member::default());
        for index in (first..self.memory.found.len()).rev() {
            let found = self.memory.found[index];
            let field = &message.fields[usize::from(found.rank)];
            let Some(oneof) = field.oneof else { continue };
            let member = &mut self.memory.members[usize::from(oneof)];
            match member.rank {
                None => member.rank = Some(found.rank),
                Some(rank) => {
                    member.is_closed |= rank != found.rank;
                    if member.is_closed {
                        self.odd(true, found.at as usize, Oddity::Repeated)?;
                        self.memory.found[index].rank = NONE;
                        // It may have used what is noted of oneofs, which is needed here.
                        let members = std::mem::take(&mut self.memory.members);
                        self.check_replaced(field, found, level)?;
                        self.memory.members = members;
                    }
                }
            }
        }
        Ok(())
    }

    /// What a later value replaces must be as good.
    #[cold]
    #[inline(never)]
    fn check_replaced(&mut self, field: &'a Field, found: Found, level: u32) -> Result<()> {
        match field.kind {
            Kind::String => self.utf8(&self.bytes[range(found.value)], found.at as usize).map(|_| ()),
            Kind::Message(index) if field.label != Label::Map => {
                let first = self.memory.found.len();
                self.memory.found.push(found);
                let mut measure = Measure::counting(CodecOptions::default());
                self.pour_message(&mut measure, self.message(index), first..first + 1, 0, level + 1)?;
                self.memory.found.truncate(first);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn utf8(&self, bytes: &'a [u8], at: usize) -> Result<&'a str> {
        simdutf8::basic::from_utf8(bytes).map_err(|_| CodecError::new(ErrorKind::InvalidUtf8).at(at))
    }

    /// The ranks of the fields that are always shown, and for each one whether it is.
    #[inline(always)]
    fn always(&self, message: &'a MessageTable) -> &'a [u16] {
        match self.options.defaults {
            Defaults::Omit => &[],
            Defaults::Implicit => &message.always[0],
            Defaults::All => &message.always[1],
        }
    }

    /// Pours the message whose pieces are these records, or all bytes where there are none.
    #[inline(never)]
    fn pour_message<S: Sink>(
        &mut self,
        sink: &mut S,
        message: &'a MessageTable,
        pieces: Range<usize>,
        depth: u32,
        level: u32,
    ) -> Result<()> {
        let (first, unknown) = (self.memory.found.len(), self.memory.unknown.len());
        let at = self.memory.found.get(pieces.start).map_or(0, |found| found.at as usize);
        if level > MAX_NESTING {
            return Err(CodecError::foreign(Error::TooDeep).at(at));
        }
        self.check_depth(depth, at)?;
        if level == 0 {
            self.scan(message, 0..self.bytes.len(), level)?;
        }
        for index in pieces {
            let piece = range(self.memory.found[index].value);
            self.scan(message, piece, level)?;
        }
        self.settle(message, first, level)?;
        let always = self.always(message);
        let found = &self.memory.found[first..];
        if self.strict && message.required > 0 {
            let present = |field: &Field| {
                let rank = message.rank_of(field.number);
                found.binary_search_by_key(&rank, |found| found.rank).is_ok()
            };
            if let Some(field) = message.fields.iter().find(|field| field.is_required() && !present(field)) {
                let (message, field) = (message.name.to_string(), field.name.to_string());
                return Err(CodecError::foreign(Error::Missing { message, field }).at(at));
            }
        }
        let has_unknown = self.memory.unknown.len() > unknown;
        let count = self.count_fields(always, first) + usize::from(has_unknown);
        located(at, self.budget.value(VariantType::Dictionary))?;
        located(at, self.budget.dictionary(count))?;
        if count > 0 {
            self.check_depth(depth + 1, at)?;
        }
        let mut dictionary =
            located(at, sink.begin_dictionary(count, ElementType::Untyped, ElementType::Untyped))?;
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
            located(key_at, self.pour_key(sink, &mut dictionary, &field.name))?;
            self.pour_field(sink, field, start..next, depth + 1, level)
                .and_then(|()| sink.end_entry(&mut dictionary))
                .map_err(|error| error.at(key_at).inside(Step::text_key(&field.name)))?;
        }
        self.memory.found.truncate(first);
        if has_unknown {
            located(at, self.pour_key(sink, &mut dictionary, UNKNOWN_KEY))?;
            let bytes = self.memory.unknown.len() - unknown;
            located(at, self.charge_packed(VariantType::PackedByteArray, bytes, bytes))?;
            let le = &self.memory.unknown[unknown..];
            located(
                at,
                sink.packed(VariantType::PackedByteArray, Lanes { precision: Precision::Single, le }),
            )?;
            located(at, sink.end_entry(&mut dictionary))?;
            self.memory.unknown.truncate(unknown);
        }
        located(at, sink.end_dictionary(dictionary))
    }

    /// How many fields are shown.
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

    /// The key of an entry, the name of a field.
    #[inline(always)]
    fn pour_key<S: Sink>(&mut self, sink: &mut S, dictionary: &mut S::Dictionary, name: &str) -> Result<()> {
        let ty = if self.options.string_name_keys { VariantType::StringName } else { VariantType::String };
        self.budget.value(ty)?;
        if ty == VariantType::StringName {
            self.budget.name()?;
        }
        self.budget.text(name.len())?;
        sink.begin_key(dictionary)?;
        if !sink.raw_text(ty, name.as_bytes())? {
            sink.text(ty, name.into())?;
        }
        sink.begin_value(dictionary)
    }

    /// The value of a field with these records.
    #[inline(always)]
    fn pour_field<S: Sink>(
        &mut self,
        sink: &mut S,
        field: &'a Field,
        records: Range<usize>,
        depth: u32,
        level: u32,
    ) -> Result<()> {
        match field.label {
            Label::Map => self.pour_map(sink, field, records, depth, level),
            Label::Repeated | Label::Packed => self.pour_list(sink, field, records, depth, level),
            _ if records.is_empty() => self.pour_default(sink, field, depth, level),
            _ => self.pour_single(sink, field, records, depth, level),
        }
    }

    /// The last of these records, or the message that all of them make.
    #[inline(always)]
    fn pour_single<S: Sink>(
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
            return self.pour_message(sink, self.message(index), records, depth, level + 1);
        }
        for index in records.start..records.end - 1 {
            self.check_replaced(field, self.memory.found[index], level)?;
        }
        if self.strict && field.label == Label::Implicit {
            let zero =
                if let Class::Bytes = found.class { range(found.value).is_empty() } else { found.value == 0 };
            self.odd(zero, at, Oddity::Default)?;
        }
        match field.kind {
            Kind::String => self.pour_text(sink, &self.bytes[range(found.value)], at),
            Kind::Bytes => {
                let le = &self.bytes[range(found.value)];
                located(at, self.charge_packed(VariantType::PackedByteArray, le.len(), le.len()))?;
                sink.packed(VariantType::PackedByteArray, Lanes { precision: Precision::Single, le })
            }
            kind => {
                let number = self.number(kind, found, at)?;
                located(at, self.pour_number(sink, kind, number))
            }
        }
    }

    /// What a single record says.
    #[inline(always)]
    fn number(&self, kind: Kind, found: Found, at: usize) -> Result<Number> {
        let raw = found.value;
        // Compact numbers have their sign already.
        let zigzags = self.options.wire == Wire::Protobuf && matches!(kind, Kind::Sint32 | Kind::Sint64);
        if self.strict && self.options.wire == Wire::Compact {
            let form = match kind {
                Kind::Bool => found.class == Class::Varint,
                _ if kind.is_signed_varint() => (found.class == Class::Negative) != ((raw as i64) < 0),
                _ => found.class == Class::Negative,
            };
            self.odd(form, at, Oddity::Form)?;
        }
        self.number_of(kind, raw, zigzags, at)
    }

    /// The number of this kind that is spelled so.
    #[inline(always)]
    fn number_of(&self, kind: Kind, raw: u64, zigzags: bool, at: usize) -> Result<Number> {
        let wide = if zigzags { unzigzag(raw) } else { raw as i64 };
        let int = match kind {
            Kind::Double => return Ok(Number::Float(f64::from_bits(raw))),
            Kind::Float => return Ok(Number::Float(widen(raw as u32))),
            Kind::Bool => {
                self.odd(raw > 1, at, Oddity::Range)?;
                return Ok(Number::Bool(raw != 0));
            }
            Kind::Int32 | Kind::Enum(_) => (wide as i32).into(),
            // Halved after it is cut to 32 bits, as official implementations do.
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
    fn pour_number<S: Sink>(&mut self, sink: &mut S, kind: Kind, number: Number) -> Result<()> {
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

    /// A text out of the input.
    #[inline(always)]
    fn pour_text<S: Sink>(&mut self, sink: &mut S, bytes: &'a [u8], at: usize) -> Result<()> {
        located(at, self.budget.value(VariantType::String))?;
        if self.may_be_raw(bytes) && located(at, sink.raw_text(VariantType::String, bytes))? {
            return located(at, self.budget.text(bytes.len()));
        }
        located(at, self.budget.text(bytes.len()))?;
        let text = self.utf8(bytes, at)?;
        located(at, sink.text(VariantType::String, text.into()))
    }

    /// Whether a sink may look for itself whether these bytes are text.
    #[inline(always)]
    fn may_be_raw(&self, bytes: &[u8]) -> bool {
        bytes.first() != BOM.as_bytes().first() && self.budget.allows_text(bytes.len())
    }

    /// Charges a packed array, which is a value.
    #[inline(always)]
    fn charge_packed(&mut self, ty: VariantType, elements: usize, bytes: usize) -> Result<()> {
        self.budget.value(ty)?;
        self.budget.packed(elements, bytes)
    }

    /// What an absent field holds.
    #[inline(never)]
    fn pour_default<S: Sink>(
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
            (FieldDefault::Float(float), kind) => self.pour_number(sink, kind, Number::Float(*float)),
            (FieldDefault::Int(int), Kind::Bool) => {
                self.pour_number(sink, Kind::Bool, Number::Bool(*int != 0))
            }
            (FieldDefault::Int(int), kind) => self.pour_number(sink, kind, Number::Int(*int)),
            // The value of a map's entry that has none.
            (FieldDefault::None, Kind::Message(index)) => {
                let end = self.memory.found.len();
                self.pour_message(sink, self.message(index), end..end, depth, level + 1)
            }
            (FieldDefault::None, _) => unreachable!("{} has a default", field.name),
        }
    }

    /// The type of array for a list.
    fn array_type(&self, kind: Kind) -> VariantType {
        use VariantType as T;
        match kind {
            Kind::Double => T::PackedFloat64Array,
            Kind::Float => T::PackedFloat32Array,
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => T::PackedInt32Array,
            Kind::Enum(_) if self.options.enum_names => T::PackedStringArray,
            Kind::Enum(_) => T::PackedInt32Array,
            Kind::String => T::PackedStringArray,
            Kind::Bool | Kind::Bytes | Kind::Message(_) => T::Array,
            _ => T::PackedInt64Array,
        }
    }

    /// All records of a list.
    #[inline(always)]
    fn pour_list<S: Sink>(
        &mut self,
        sink: &mut S,
        field: &'a Field,
        records: Range<usize>,
        depth: u32,
        level: u32,
    ) -> Result<()> {
        let at = self.memory.found.get(records.start).map_or(0, |found| found.at as usize);
        match (self.array_type(field.kind), field.kind) {
            (VariantType::Array, Kind::Message(index)) => {
                self.pour_messages(sink, self.message(index), records, depth, level)
            }
            (VariantType::Array, Kind::Bytes) => self.pour_byte_arrays(sink, records, depth),
            (VariantType::PackedStringArray, Kind::String) => self.pour_strings(sink, records),
            (ty, _) => {
                let count = self.count_numbers(field, records.clone())?;
                match ty {
                    VariantType::Array => self.pour_bools(sink, field, records, count, depth),
                    VariantType::PackedStringArray => {
                        self.pour_enum_names(sink, field, records, count, at, depth)
                    }
                    ty => self.pour_numbers(sink, field, records, count, ty, at),
                }
            }
        }
    }

    fn pour_messages<S: Sink>(
        &mut self,
        sink: &mut S,
        message: &'a MessageTable,
        records: Range<usize>,
        depth: u32,
        level: u32,
    ) -> Result<()> {
        let mut array =
            self.begin_array(sink, records.clone(), records.len(), VariantType::Dictionary, depth)?;
        for (index, record) in records.enumerate() {
            sink.begin_element(&mut array)?;
            self.pour_message(sink, message, record..record + 1, depth + 1, level + 1)
                .and_then(|()| sink.end_element(&mut array))
                .map_err(|error| error.inside(Step::Index(index)))?;
        }
        sink.end_array(array)
    }

    fn pour_byte_arrays<S: Sink>(&mut self, sink: &mut S, records: Range<usize>, depth: u32) -> Result<()> {
        let ty = VariantType::PackedByteArray;
        let mut array = self.begin_array(sink, records.clone(), records.len(), ty, depth)?;
        for record in records {
            let found = self.memory.found[record];
            let le = &self.bytes[range(found.value)];
            located(found.at as usize, self.charge_packed(ty, le.len(), le.len()))?;
            sink.begin_element(&mut array)?;
            sink.packed(ty, Lanes { precision: Precision::Single, le })?;
            sink.end_element(&mut array)?;
        }
        sink.end_array(array)
    }

    /// Opens an Array of so many elements, which come from these records.
    fn begin_array<S: Sink>(
        &mut self,
        sink: &mut S,
        records: Range<usize>,
        count: usize,
        ty: VariantType,
        depth: u32,
    ) -> Result<S::Array> {
        let at = self.memory.found.get(records.start).map_or(0, |found| found.at as usize);
        if count > 0 {
            self.check_depth(depth + 1, at)?;
        }
        let element = if ty == VariantType::Nil { ElementType::Untyped } else { ElementType::Builtin(ty) };
        located(at, self.budget.value(VariantType::Array))?;
        located(at, self.budget.array(count))?;
        located(at, sink.begin_array(count, element))
    }

    fn pour_strings<S: Sink>(&mut self, sink: &mut S, records: Range<usize>) -> Result<()> {
        self.budget.value(VariantType::PackedStringArray)?;
        self.budget.strings(records.len())?;
        let mut strings = sink.begin_strings(records.len())?;
        for (index, record) in records.enumerate() {
            let found = self.memory.found[record];
            let (bytes, at) = (&self.bytes[range(found.value)], found.at as usize);
            self.pour_string(sink, &mut strings, bytes)
                .map_err(|error| error.at(at).inside(Step::Index(index)))?;
        }
        sink.end_strings(strings)
    }

    #[inline(always)]
    fn pour_string<S: Sink>(
        &mut self,
        sink: &mut S,
        strings: &mut S::Strings,
        bytes: &'a [u8],
    ) -> Result<()> {
        if self.may_be_raw(bytes) && sink.raw_string(strings, bytes)? {
            return self.budget.text(bytes.len());
        }
        self.budget.text(bytes.len())?;
        let text = simdutf8::basic::from_utf8(bytes).map_err(|_| ErrorKind::InvalidUtf8)?;
        sink.string(strings, text.into())
    }

    /// How many elements a list of numbers has. Elements that are varints are seen to end.
    fn count_numbers(&self, field: &Field, records: Range<usize>) -> Result<usize> {
        let mut count = 0;
        if self.strict && field.label == Label::Packed && records.len() > 1 {
            return Err(odd(Oddity::Repeated, self.memory.found[records.start + 1].at as usize));
        }
        for record in records {
            let found = self.memory.found[record];
            let at = found.at as usize;
            self.odd((found.class == Class::Bytes) != (field.label == Label::Packed), at, Oddity::Packing)?;
            if found.class != Class::Bytes {
                count += 1;
                continue;
            }
            let range = range(found.value);
            self.odd(range.is_empty(), at, Oddity::Packing)?;
            let width = match field.kind.class() {
                Class::Fixed64 => 8,
                Class::Fixed32 => 4,
                _ => {
                    count += self.count_varints(field, range)?;
                    continue;
                }
            };
            if !range.len().is_multiple_of(width) {
                let needed = range.len().next_multiple_of(width) - range.len();
                return Err(CodecError::new(ErrorKind::UnexpectedEnd { needed, left: 0 }).at(range.end));
            }
            count += range.len() / width;
        }
        Ok(count)
    }

    fn count_varints(&self, field: &Field, range: Range<usize>) -> Result<usize> {
        let closed = match field.kind {
            Kind::Enum(index) => Some(self.enumeration(index)).filter(|names| names.is_closed),
            _ => None,
        };
        let bytes = &self.bytes[range.clone()];
        let Some(names) = closed else {
            // Few enough at once to be counted in a byte.
            let ends = |bytes: &[u8]| bytes.iter().map(|byte| u8::from(*byte < 0x80)).sum::<u8>();
            return Ok(bytes.chunks(128).map(|bytes| usize::from(ends(bytes))).sum());
        };
        let mut reader = self.reader(range);
        let mut count = 0;
        let zigzags = self.options.wire.packs_in_zigzag(field.kind);
        while !reader.is_at_end() {
            let raw = reader.varint(LONGEST_VARINT)?;
            count += usize::from(names.takes(if zigzags { unzigzag(raw) } else { raw as i64 } as i32));
        }
        Ok(count)
    }

    /// Calls `take` with each element of a list.
    #[inline(never)]
    fn each_number(
        &self,
        field: &Field,
        records: Range<usize>,
        take: impl FnMut(Number) -> Result<()>,
    ) -> Result<()> {
        self.each_number_as(field.kind, field, records, take)
    }

    /// The same where the field's kind may be known to the compiler.
    #[inline(always)]
    fn each_number_as(
        &self,
        kind: Kind,
        field: &Field,
        records: Range<usize>,
        mut take: impl FnMut(Number) -> Result<()>,
    ) -> Result<()> {
        let zigzags = self.options.wire.packs_in_zigzag(field.kind);
        let closed = match kind {
            Kind::Enum(index) => Some(self.enumeration(index)).filter(|names| names.is_closed),
            _ => None,
        };
        for record in records {
            let found = self.memory.found[record];
            if found.class != Class::Bytes {
                take(self.number(kind, found, found.at as usize)?)?;
                continue;
            }
            let range = range(found.value);
            match kind.class() {
                Class::Fixed64 => {
                    for le in self.bytes[range].as_chunks().0 {
                        take(self.number_of(kind, u64::from_le_bytes(*le), false, 0)?)?;
                    }
                }
                Class::Fixed32 => {
                    for le in self.bytes[range].as_chunks().0 {
                        take(self.number_of(kind, u32::from_le_bytes(*le).into(), false, 0)?)?;
                    }
                }
                _ => {
                    let mut reader = self.reader(range);
                    while !reader.is_at_end() {
                        let at = reader.at;
                        let raw = reader.varint(LONGEST_VARINT)?;
                        let number = self.number_of(kind, raw, zigzags, at)?;
                        if let (Some(names), Number::Int(int)) = (closed, number)
                            && !names.takes(int as i32)
                        {
                            continue;
                        }
                        take(number)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A list of numbers as a packed array.
    #[inline(never)]
    fn pour_numbers<S: Sink>(
        &mut self,
        sink: &mut S,
        field: &'a Field,
        records: Range<usize>,
        count: usize,
        ty: VariantType,
        at: usize,
    ) -> Result<()> {
        use VariantType as T;

        let width = if matches!(ty, T::PackedInt32Array | T::PackedFloat32Array) { 4 } else { 8 };
        let size = count.saturating_mul(width);
        located(at, self.charge_packed(ty, count, size))?;
        let lanes = |le| Lanes { precision: Precision::Single, le };
        let is_fixed = matches!(field.kind.class(), Class::Fixed32 | Class::Fixed64);
        if let (true, &[found]) =
            (is_fixed && field.kind != Kind::Fixed32, &self.memory.found[records.clone()])
            && found.class == Class::Bytes
        {
            return located(at, sink.packed(ty, lanes(&self.bytes[range(found.value)])));
        }
        let mut elements = std::mem::take(&mut self.memory.elements);
        elements.clear();
        elements.try_reserve(size).map_err(|_| CodecError::new(ErrorKind::OutOfMemory(size)).at(at))?;
        elements.resize(size, 0);
        self.read_numbers(field, records, width, &mut elements)?;
        let poured = located(at, sink.packed(ty, lanes(&elements)));
        self.memory.elements = elements;
        poured
    }

    /// The elements of a list, four or eight bytes each.
    #[inline(never)]
    fn read_numbers(
        &self,
        field: &Field,
        records: Range<usize>,
        width: usize,
        elements: &mut [u8],
    ) -> Result<()> {
        match width {
            4 => self.fill(field, records, elements.as_chunks_mut().0, |number| match number {
                Number::Float(float) => narrow(float).to_le_bytes(),
                Number::Int(int) => (int as i32).to_le_bytes(),
                Number::Bool(bool) => i32::from(bool).to_le_bytes(),
            }),
            _ => self.fill(field, records, elements.as_chunks_mut().0, |number| match number {
                Number::Float(float) => float.to_le_bytes(),
                Number::Int(int) => int.to_le_bytes(),
                Number::Bool(bool) => i64::from(bool).to_le_bytes(),
            }),
        }
    }

    /// Fills as many places as there are elements.
    #[inline(always)]
    fn fill<const N: usize>(
        &self,
        field: &Field,
        records: Range<usize>,
        places: &mut [[u8; N]],
        spell: impl Fn(Number) -> [u8; N],
    ) -> Result<()> {
        let mut places = places.iter_mut();
        let put = |number| {
            if let Some(place) = places.next() {
                *place = spell(number);
            }
            Ok(())
        };
        // A loop for each kind that is common.
        match field.kind {
            Kind::Int32 => self.each_number_as(Kind::Int32, field, records, put),
            Kind::Sint32 => self.each_number_as(Kind::Sint32, field, records, put),
            Kind::Uint32 => self.each_number_as(Kind::Uint32, field, records, put),
            Kind::Int64 => self.each_number_as(Kind::Int64, field, records, put),
            kind => self.each_number_as(kind, field, records, put),
        }
    }

    fn pour_bools<S: Sink>(
        &mut self,
        sink: &mut S,
        field: &'a Field,
        records: Range<usize>,
        count: usize,
        depth: u32,
    ) -> Result<()> {
        let mut array = self.begin_array(sink, records.clone(), count, VariantType::Bool, depth)?;
        (0..count).try_for_each(|_| self.budget.value(VariantType::Bool))?;
        self.each_number(field, records, |number| {
            sink.begin_element(&mut array)?;
            sink.bool(matches!(number, Number::Bool(true)))?;
            sink.end_element(&mut array)
        })?;
        sink.end_array(array)
    }

    /// A list of enums by name, or an Array where some have none.
    fn pour_enum_names<S: Sink>(
        &mut self,
        sink: &mut S,
        field: &'a Field,
        records: Range<usize>,
        count: usize,
        at: usize,
        depth: u32,
    ) -> Result<()> {
        let Kind::Enum(index) = field.kind else { unreachable!("{} is an enum", field.name) };
        let names = self.enumeration(index);
        let name = |number| match number {
            Number::Int(int) => names.name_of(int as i32),
            _ => None,
        };
        let (mut have_names, mut texts) = (true, Vec::new());
        self.each_number(field, records.clone(), |number| {
            match name(number) {
                Some(name) => texts.push(name),
                None => have_names = false,
            }
            Ok(())
        })?;
        if have_names {
            located(at, self.budget.value(VariantType::PackedStringArray))?;
            located(at, self.budget.strings(count))?;
            texts.iter().try_for_each(|text| self.budget.text(text.len()))?;
            let mut strings = sink.begin_strings(count)?;
            texts.iter().try_for_each(|text| sink.string(&mut strings, Text::Utf8(text)))?;
            return sink.end_strings(strings);
        }
        let mut array = self.begin_array(sink, records.clone(), count, VariantType::Nil, depth)?;
        let mut numbers = Vec::new();
        self.each_number(field, records, |number| {
            numbers.push(number);
            Ok(())
        })?;
        for number in numbers {
            sink.begin_element(&mut array)?;
            located(at, self.pour_number(sink, field.kind, number))?;
            sink.end_element(&mut array)?;
        }
        sink.end_array(array)
    }

    /// A map as a Dictionary whose entries are sorted by key.
    #[inline(never)]
    fn pour_map<S: Sink>(
        &mut self,
        sink: &mut S,
        field: &'a Field,
        records: Range<usize>,
        depth: u32,
        level: u32,
    ) -> Result<()> {
        let Kind::Message(index) = field.kind else { unreachable!("a map's entries are messages") };
        let table = self.message(index);
        let (first, first_entry) = (self.memory.found.len(), self.memory.entries.len());
        let at = self.memory.found.get(records.start).map_or(0, |found| found.at as usize);
        for record in records {
            self.add_entry(table, record, level + 1)?;
        }
        self.sort_entries(table, first_entry, level + 1)?;
        let count = self.memory.entries.len() - first_entry;
        located(at, self.budget.value(VariantType::Dictionary))?;
        located(at, self.budget.dictionary(count))?;
        if count > 0 {
            self.check_depth(depth + 1, at)?;
        }
        let (key, value) = table.entry();
        let mut dictionary =
            located(at, sink.begin_dictionary(count, ElementType::Untyped, ElementType::Untyped))?;
        for index in first_entry..first_entry + count {
            let entry = self.memory.entries[index].clone();
            let at = entry.at as usize;
            located(at, sink.begin_key(&mut dictionary))?;
            match key.kind {
                Kind::String => self.pour_text(sink, &self.bytes[range(entry.key)], at)?,
                Kind::Bool => located(at, self.pour_number(sink, key.kind, Number::Bool(entry.key != 0)))?,
                kind => located(at, self.pour_number(sink, kind, Number::Int(entry.key as i64)))?,
            }
            located(at, sink.begin_value(&mut dictionary))?;
            let records = entry.value.start as usize..entry.value.end as usize;
            let poured = if records.is_empty() {
                self.pour_default(sink, value, depth + 1, level + 1)
            } else {
                self.pour_single(sink, value, records, depth + 1, level + 1)
            };
            poured.map_err(|error| error.at(at).inside(self.step_of(key.kind, &entry)))?;
            located(at, sink.end_entry(&mut dictionary))?;
        }
        self.memory.entries.truncate(first_entry);
        self.memory.found.truncate(first);
        located(at, sink.end_dictionary(dictionary))
    }

    /// Reads the key of an entry, and notes where its value is.
    fn add_entry(&mut self, table: &'a MessageTable, record: usize, level: u32) -> Result<()> {
        let (first, unknown) = (self.memory.found.len(), self.memory.unknown.len());
        let found = self.memory.found[record];
        let at = found.at as usize;
        if level > MAX_NESTING {
            return Err(CodecError::foreign(Error::TooDeep).at(at));
        }
        self.scan(table, range(found.value), level)?;
        // What is unknown in an entry is lost, as everywhere.
        self.memory.unknown.truncate(unknown);
        self.settle(table, first, level)?;
        let end = self.memory.found.len();
        let value = first + self.memory.found[first..].partition_point(|found| found.rank == 0);
        self.odd((value, end) != (first + 1, first + 2), at, Oddity::Map)?;
        let key = table.entry().0;
        for index in first..value.saturating_sub(1) {
            self.check_replaced(key, self.memory.found[index], level)?;
        }
        let key = match self.memory.found[first..value].last() {
            None => 0,
            Some(found) => match key.kind {
                Kind::String => found.value,
                kind => match self.number(kind, *found, at)? {
                    Number::Int(int) => int as u64,
                    Number::Bool(bool) => bool.into(),
                    Number::Float(_) => unreachable!("a float is no key"),
                },
            },
        };
        let order = match table.entry().0.kind {
            Kind::String => start_of(&self.bytes[range(key)]),
            kind => order_of(kind, key as i64),
        };
        self.memory.entries.push(Entry { order, key, at: found.at, value: value as u32..end as u32 });
        Ok(())
    }

    /// Sorts entries by key. Of those with the same key, the last one stays.
    fn sort_entries(&mut self, table: &'a MessageTable, first: usize, level: u32) -> Result<()> {
        let bytes = self.bytes;
        let (key, value) = table.entry();
        let text = |entry: &Entry| if key.kind == Kind::String { &bytes[range(entry.key)] } else { &[] };
        let compare = |a: &Entry, b: &Entry| a.order.cmp(&b.order).then_with(|| text(a).cmp(text(b)));
        let entries = &mut self.memory.entries[first..];
        let Some(index) = entries.windows(2).position(|pair| compare(&pair[0], &pair[1]).is_ge()) else {
            return Ok(());
        };
        if self.strict {
            return Err(odd(Oddity::Map, entries[index + 1].at as usize));
        }
        entries.sort_unstable_by(|a, b| compare(a, b).then(a.at.cmp(&b.at)));
        let mut kept = first;
        for index in first..self.memory.entries.len() {
            let entry = self.memory.entries[index].clone();
            let next = self.memory.entries.get(index + 1);
            if next.is_some_and(|next| compare(&entry, next).is_eq()) {
                for record in entry.value {
                    self.check_replaced(value, self.memory.found[record as usize], level)?;
                }
            } else {
                self.memory.entries[kept] = entry;
                kept += 1;
            }
        }
        self.memory.entries.truncate(kept);
        Ok(())
    }

    /// Names the value at a map's key.
    #[cold]
    fn step_of(&self, kind: Kind, entry: &Entry) -> Step {
        match kind {
            Kind::String => Step::text_key(&String::from_utf8_lossy(&self.bytes[range(entry.key)])),
            Kind::Bool => Step::Key((entry.key != 0).to_string()),
            _ => Step::int_key(entry.key as i64),
        }
    }
}

impl Source for MessageDecoder<'_> {
    fn pour<S: Sink>(&mut self, sink: &mut S) -> Result<()> {
        let limits = self.budget.limits;
        if self.bytes.len() > limits.max_bytes.min(MAX_BYTES) {
            return Err(
                CodecError::new(ErrorKind::LimitExceeded(Limit::Bytes, limits.max_bytes as u64)).at(0)
            );
        }
        self.pour_message(sink, self.root, 0..0, 0, 0)
    }
}
