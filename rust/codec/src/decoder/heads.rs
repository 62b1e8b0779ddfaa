//! Reads the heads of containers, validated as in decoding, and finds the ends of nested values.

use std::ops::Range;

use super::Decoder;
use crate::encoder::{EncodeOptions, Measure};
use crate::error::{Error, Locate, Result, Step};
use crate::events::{ElementType, Sink, Source, Text};
use crate::format::{Lane, MAX_KEY_DEPTH, Shape, VariantType};
use crate::lanes::Precision;
use crate::limits::{Limits, Strictness};
use crate::skim::Skimmer;
use crate::wire::dialect::Dialect;
use crate::wire::header::Header;

/// The head of a value: the data before its nested values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head<'a> {
    /// The number of elements, entries or properties; 0 for other values.
    pub count: usize,
    /// The offset of the first element, entry or property.
    pub first: usize,
    /// The precision of components in a packed array.
    pub precision: Precision,
    /// The declared types: of an Array's elements, or of a Dictionary's keys and values.
    pub declared: [ElementType<'a>; 2],
}

impl<'a, D: Dialect> Decoder<'a, D> {
    /// A strict decoder at offset `at` and nesting level `depth`.
    #[inline]
    pub(crate) fn starting_at(bytes: &'a [u8], at: usize, depth: u32, limits: &'a Limits) -> Self {
        let mut decoder = Self::at_start(D::default(), bytes, Strictness::Strict, limits);
        decoder.cursor.jump(at);
        decoder.depth = depth;
        decoder
    }

    /// This decoder, set up to read a key. It charges nested keys, and limits how deeply containers may be
    /// nested.
    pub(crate) fn in_key(mut self) -> Self {
        self.in_key = true;
        self.max_container_depth = self.depth + MAX_KEY_DEPTH;
        self
    }

    pub(crate) fn lenient(self) -> Self {
        Self { strictness: Strictness::Lenient, ..self }
    }

    /// Reads the header of the value that starts here.
    #[inline]
    pub(crate) fn header_here(&mut self) -> Result<Header> {
        let at = self.position();
        self.check_depth()?;
        let bits = self.u32()?;
        let header = self.header_of(bits, at)?;
        self.check_header_bits(bits, header.ty, at)?;
        self.budget.value(header.ty).at(at)?;
        Ok(header)
    }

    /// Reads the head of the value that starts here. Stops at the first value inside it.
    pub(crate) fn head(&mut self) -> Result<Head<'a>> {
        let header = self.header_here()?;
        let untyped = ElementType::Untyped;
        let (declared, count) = match header.ty.shape() {
            Shape::Array => {
                let (element, count) = self.array_head(header)?;
                ([element, untyped], count)
            }
            Shape::Dictionary => self.dictionary_head(header)?,
            // An object without a class has no count.
            Shape::Object if !header.is_object_id() && !self.name()?.is_empty() => {
                ([untyped; 2], self.signed_count(8)?)
            }
            Shape::Packed(..) => ([untyped; 2], self.count(header.ty.lanes_bytes(header.precision()))?),
            Shape::PackedStrings => ([untyped; 2], self.signed_count(4)?),
            _ => ([untyped; 2], 0),
        };
        Ok(Head { count, first: self.position(), precision: header.precision(), declared })
    }

    /// Writes elements of a list as an Array. The first element starts here. The limits apply to all elements
    /// together.
    pub(crate) fn decode_slice<S: Sink>(
        &mut self,
        sink: &mut S,
        (list, precision): (VariantType, Precision),
        declared: ElementType<'_>,
        indexes: Range<usize>,
    ) -> Result<()> {
        let at = self.position();
        self.budget.array(indexes.len(), declared).at(at)?;
        let mut array = sink.begin_array(indexes.len(), declared).at(at)?;
        if list.shape() == Shape::Array {
            self.decode_elements(sink, &mut array, &declared, indexes)?;
            return sink.end_array(array).at(at);
        }
        for index in indexes {
            let at = self.position();
            sink.begin_element(&mut array)?;
            let written = if list.shape() == Shape::PackedStrings {
                self.decode_string(sink)
            } else {
                self.budget.value(list).at(at)?;
                self.decode_packed_element(sink, list, precision)
            };
            written.map_err(|error| error.inside(Step::Index(index)))?;
            sink.end_element(&mut array).at(at)?;
        }
        sink.end_array(array).at(at)
    }

    /// Writes keys of entries, or names of properties, as an Array. The first key or name starts here. The
    /// limits apply to all of them together.
    pub(crate) fn decode_keys<S: Sink>(
        &mut self,
        sink: &mut S,
        are_names: bool,
        declared: ElementType<'_>,
        count: usize,
    ) -> Result<()> {
        let at = self.position();
        self.budget.array(count, declared).at(at)?;
        let mut array = sink.begin_array(count, declared).at(at)?;
        for index in 0..count {
            let at = self.position();
            let inside = |error: Error| error.inside(Step::KeyAt(index));
            sink.begin_element(&mut array)?;
            let written = if are_names {
                self.decode_name(sink)
            } else {
                self.odd_misfit("Dictionary's keys", &declared).and_then(|()| self.write_into(sink))
            };
            written.map_err(inside)?;
            sink.end_element(&mut array).at(at)?;
            let key_at = at;
            let skipped = self.skip_value();
            skipped.map_err(|error| match are_names {
                true => inside(error),
                false => error.inside(self.step_of_key(key_at, index)),
            })?;
        }
        sink.end_array(array).at(at)
    }

    /// Skips the value that starts here. If that fails, decodes the value to find the error.
    #[inline]
    pub(crate) fn skip_value(&mut self) -> Result<()> {
        let mut skimmer = Skimmer::<D>::at(self.cursor);
        if skimmer.skip_all().is_some() {
            self.cursor.jump(skimmer.position());
            return Ok(());
        }
        self.skip_by_reading()
    }

    #[cold]
    #[inline(never)]
    fn skip_by_reading(&mut self) -> Result<()> {
        self.write_into(&mut Measure::counting(EncodeOptions::default()))
    }

    pub(crate) fn jump(&mut self, end: usize) {
        self.cursor.jump(end);
    }

    /// Skips the length-prefixed text that starts here.
    #[inline]
    pub(crate) fn skip_text(&mut self) -> Result<()> {
        self.counted_bytes(true).map(drop)
    }

    /// Reads the name of the property that starts here. Stops at its value.
    pub(crate) fn property_name(&mut self) -> Result<&'a str> {
        self.name()
    }

    /// Reads the text of the String or StringName whose header has been read.
    pub(crate) fn text_here(&mut self) -> Result<D::Text<'a>> {
        let at = self.position();
        let bytes = self.counted_bytes(false)?;
        self.text(bytes, at)
    }

    /// Writes, as a String, the element of a PackedStringArray that starts here.
    pub(crate) fn decode_string<S: Sink>(&mut self, sink: &mut S) -> Result<()> {
        let at = self.position();
        self.budget.value(VariantType::String).at(at)?;
        let text = self.string_here()?;
        sink.text(VariantType::String, Text::Utf8(&text)).at(at)
    }

    /// Reads the element of a PackedStringArray that starts here.
    pub(crate) fn string_here(&mut self) -> Result<D::Text<'a>> {
        let at = self.position();
        let bytes = self.terminated_bytes()?;
        self.text(bytes, at)
    }

    /// Writes, as a StringName, the name of the property that starts here.
    pub(crate) fn decode_name<S: Sink>(&mut self, sink: &mut S) -> Result<()> {
        let at = self.position();
        self.budget.value(VariantType::StringName).at(at)?;
        let name = self.name()?;
        sink.text(VariantType::StringName, name.into()).at(at)
    }

    /// Writes the element that starts here, in a packed array of type `packed`.
    pub(crate) fn decode_packed_element<S: Sink>(
        &mut self,
        sink: &mut S,
        packed: VariantType,
        precision: Precision,
    ) -> Result<()> {
        let element = packed.element();
        match (packed.shape(), element) {
            (Shape::Packed(Lane::Byte, _), _) => {
                let byte = self.cursor.u8().ok_or_else(|| self.cursor.end_fault(1))?;
                sink.int(byte.into())
            }
            (Shape::Packed(lane, _), VariantType::Int) => sink.int(self.int(lane == Lane::Int64)?),
            (Shape::Packed(lane, _), VariantType::Float) => sink.float(self.float(lane == Lane::Float64)?),
            _ => self.decode_fixed(sink, element, precision),
        }
    }
}
