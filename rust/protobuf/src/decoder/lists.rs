//! Decodes repeated fields.

use std::ops::Range;

use variant_codec::error::{Locate, Step};
use variant_codec::limits::Budget;
use variant_codec::stream::{ElementType, Lanes, Precision, Sink, Text};
use variant_codec::{Error as CodecError, ErrorKind, Result, VariantType};

use super::{MessageDecoder, Number};
use crate::error::Oddity;
use crate::floats::narrow_keeping_nan;
use crate::kind::{Class, Kind};
use crate::reader::{odd, range};
use crate::schema::{Field, Label, MessageTable};
use crate::varint::{LONGEST_VARINT, unzigzag};

impl<'a> MessageDecoder<'a> {
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

    #[inline(always)]
    pub(super) fn decode_list<S: Sink>(
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
                let message = self.message(index);
                match &message.components {
                    Some(components) => {
                        self.decode_list_of_components(sink, message, components, records, depth, level)
                    }
                    None => self.decode_messages(sink, message, records, depth, level),
                }
            }
            (VariantType::Array, Kind::Bytes) => self.decode_byte_arrays(sink, records, depth),
            (VariantType::PackedStringArray, Kind::String) => self.decode_strings(sink, records),
            (ty, _) => {
                let count = self.count_numbers(field, records.clone())?;
                match ty {
                    VariantType::Array => self.decode_bools(sink, field, records, count, depth),
                    VariantType::PackedStringArray => {
                        self.decode_enum_names(sink, field, records, count, at, depth)
                    }
                    ty => self.decode_numbers(sink, field, records, count, ty, at),
                }
            }
        }
    }

    fn decode_messages<S: Sink>(
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
            self.decode_message(sink, message, record..record + 1, depth + 1, level + 1)
                .and_then(|()| sink.end_element(&mut array))
                .map_err(|error| error.inside(Step::Index(index)))?;
        }
        sink.end_array(array)
    }

    fn decode_byte_arrays<S: Sink>(&mut self, sink: &mut S, records: Range<usize>, depth: u32) -> Result<()> {
        let ty = VariantType::PackedByteArray;
        let mut array = self.begin_array(sink, records.clone(), records.len(), ty, depth)?;
        for record in records {
            let found = self.memory.found[record];
            let le = &self.bytes[range(found.value)];
            self.charge_packed(ty, le.len(), le.len()).at(found.at as usize)?;
            sink.begin_element(&mut array)?;
            sink.packed(ty, Lanes { precision: Precision::Single, le })?;
            sink.end_element(&mut array)?;
        }
        sink.end_array(array)
    }

    /// Opens an Array of `count` elements from these records.
    pub(super) fn begin_array<S: Sink>(
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
        self.budget.value(VariantType::Array).at(at)?;
        self.budget.array(count, element).at(at)?;
        sink.begin_array(count, element).at(at)
    }

    fn decode_strings<S: Sink>(&mut self, sink: &mut S, records: Range<usize>) -> Result<()> {
        self.budget.value(VariantType::PackedStringArray)?;
        self.budget.strings(records.len())?;
        let mut strings = sink.begin_strings(records.len())?;
        for (index, record) in records.enumerate() {
            let found = self.memory.found[record];
            let (bytes, at) = (&self.bytes[range(found.value)], found.at as usize);
            self.decode_string(sink, &mut strings, bytes)
                .map_err(|error| error.at(at).inside(Step::Index(index)))?;
        }
        sink.end_strings(strings)
    }

    #[inline(always)]
    fn decode_string<S: Sink>(
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

    /// Returns the number of elements in a list of numbers. Checks the packing and the length of fixed-width
    /// elements.
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
            // A chunk has few enough bytes to count in a `u8`.
            let ends = |bytes: &[u8]| bytes.iter().map(|byte| u8::from(*byte < 0x80)).sum::<u8>();
            return Ok(bytes.chunks(128).map(|bytes| usize::from(ends(bytes))).sum());
        };
        let mut reader = self.reader(range);
        let mut count = 0;
        let zigzags = self.options.wire.packs_in_zigzag(field.kind);
        while !reader.is_at_end() {
            let raw = reader.varint(LONGEST_VARINT)?;
            count += usize::from(names.accepts(if zigzags { unzigzag(raw) } else { raw as i64 } as i32));
        }
        Ok(count)
    }

    #[inline(never)]
    fn each_number(
        &self,
        field: &Field,
        records: Range<usize>,
        take: impl FnMut(Number) -> Result<()>,
    ) -> Result<()> {
        self.each_number_as(field.kind, field, records, take)
    }

    /// Calls `take` with each element. Inlined, so that `kind` can be a constant.
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
                            && !names.accepts(int as i32)
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

    /// Writes a list of numbers as a packed array.
    #[inline(never)]
    fn decode_numbers<S: Sink>(
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
        self.charge_packed(ty, count, size).at(at)?;
        let lanes = |le| Lanes { precision: Precision::Single, le };
        let is_fixed = matches!(field.kind.class(), Class::Fixed32 | Class::Fixed64);
        if let (true, &[found]) =
            (is_fixed && field.kind != Kind::Fixed32, &self.memory.found[records.clone()])
            && found.class == Class::Bytes
        {
            return sink.packed(ty, lanes(&self.bytes[range(found.value)])).at(at);
        }
        let mut elements = std::mem::take(&mut self.memory.elements);
        elements.clear();
        elements.reserve(size, &mut self.budget).at(at)?;
        elements.resize(size, 0);
        self.read_numbers(field, records, width, &mut elements)?;
        let written = sink.packed(ty, lanes(&elements)).at(at);
        self.memory.elements = elements;
        written
    }

    /// Reads the elements of a list into `elements`, with `width` bytes each: four or eight.
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
                Number::Float(float) => narrow_keeping_nan(float).to_le_bytes(),
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
        // Each common kind gets its own loop, in which `kind` is a constant.
        match field.kind {
            Kind::Int32 => self.each_number_as(Kind::Int32, field, records, put),
            Kind::Sint32 => self.each_number_as(Kind::Sint32, field, records, put),
            Kind::Uint32 => self.each_number_as(Kind::Uint32, field, records, put),
            Kind::Int64 => self.each_number_as(Kind::Int64, field, records, put),
            kind => self.each_number_as(kind, field, records, put),
        }
    }

    fn decode_bools<S: Sink>(
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

    /// Writes a list of enum names, or an Array of names and numbers if some numbers have no name.
    fn decode_enum_names<S: Sink>(
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
        let reserve = |bytes: usize, budget: &mut Budget<'_>| budget.working(bytes).at(at);
        reserve(count * size_of::<&str>(), &mut self.budget)?;
        texts.try_reserve_exact(count).map_err(|_| ErrorKind::OutOfMemory(count * size_of::<&str>()))?;
        self.each_number(field, records.clone(), |number| {
            match name(number) {
                Some(name) => texts.push(name),
                None => have_names = false,
            }
            Ok(())
        })?;
        if have_names {
            self.budget.value(VariantType::PackedStringArray).at(at)?;
            self.budget.strings(count).at(at)?;
            texts.iter().try_for_each(|text| self.budget.text(text.len()))?;
            let mut strings = sink.begin_strings(count)?;
            texts.iter().try_for_each(|text| sink.string(&mut strings, Text::Utf8(text)))?;
            return sink.end_strings(strings);
        }
        let mut array = self.begin_array(sink, records.clone(), count, VariantType::Nil, depth)?;
        let mut numbers = Vec::new();
        reserve(count * size_of::<Number>(), &mut self.budget)?;
        numbers.try_reserve_exact(count).map_err(|_| ErrorKind::OutOfMemory(count * size_of::<Number>()))?;
        self.each_number(field, records, |number| {
            numbers.push(number);
            Ok(())
        })?;
        for number in numbers {
            sink.begin_element(&mut array)?;
            self.decode_number(sink, field.kind, number).at(at)?;
            sink.end_element(&mut array)?;
        }
        sink.end_array(array)
    }
}
