//! Containers without what they hold: their heads, judged as in decoding, and where the values in them end.

use std::ops::Range;

use super::Decoder;
use crate::dialect::Dialect;
use crate::encoder::{EncodeOptions, Measure};
use crate::error::{Error, Locate, Oddity, Result, Step};
use crate::events::{ElementType, Precision, Sink, Source, Text};
use crate::format::{Lane, Shape, VariantType};
use crate::limits::{Limits, Strictness};
use crate::skim::Skimmer;
use crate::wire::Header;

/// What stands before the values that a value holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head<'a> {
    /// How many elements, entries or properties there are; 0 where it holds none.
    pub count: usize,
    /// Where the first of them starts.
    pub first: usize,
    /// The components of elements in a packed array.
    pub precision: Precision,
    /// The declared types: of the elements of an Array, or of the keys and values of a Dictionary.
    pub declared: [ElementType<'a>; 2],
}

impl<'a, D: Dialect> Decoder<'a, D> {
    /// A strict reader of what starts at `at`, so many levels deep.
    #[inline]
    pub(crate) fn starting_at(bytes: &'a [u8], at: usize, depth: u32, limits: &'a Limits) -> Self {
        let mut decoder = Self::at_start(D::default(), bytes, Strictness::Strict, limits, 0);
        decoder.cursor.jump(at);
        decoder.part = Some(at);
        decoder.depth = depth;
        decoder
    }

    /// The same, as the engine reads.
    pub(crate) fn lenient(self) -> Self {
        Self { strictness: Strictness::Lenient, ..self }
    }

    /// The header of the value that starts here.
    #[inline]
    pub(crate) fn header_here(&mut self) -> Result<Header> {
        let at = self.position();
        if self.depth > self.max_depth() {
            return Err(self.too_deep());
        }
        let bits = self.u32()?;
        let header = self.header_of(bits, at)?;
        if let Err(error) = self.budget.value(header.ty) {
            // Decoding looks at the bits first.
            self.odd(bits & !D::header_mask(header.ty) != 0, at, Oddity::HeaderBits)?;
            return Err(error.at(at));
        }
        Ok(header)
    }

    /// What stands before the values that the value here holds. Stays where the first of them starts.
    pub(crate) fn head(&mut self) -> Result<Head<'a>> {
        let header = self.header_here()?;
        let at = self.position();
        let untyped = ElementType::Untyped;
        let (declared, count) = match header.ty.shape() {
            Shape::Array => {
                let (element, count) = self.array_head(header)?;
                ([element, untyped], count)
            }
            Shape::Dictionary => {
                let (declared, count) = self.dictionary_head(header)?;
                self.budget.limits.check_entries(count).at(at)?;
                (declared, count)
            }
            // One without a class has no count.
            Shape::Object if !header.is_object_id() && !self.name()?.is_empty() => {
                ([untyped; 2], self.signed_count(8)?)
            }
            Shape::Packed(..) => ([untyped; 2], self.count(header.ty.lanes_bytes(header.precision()))?),
            Shape::PackedStrings => ([untyped; 2], self.signed_count(4)?),
            _ => ([untyped; 2], 0),
        };
        Ok(Head { count, first: self.position(), precision: header.precision(), declared })
    }

    /// Writes elements of a list of this type, of which the first starts here, as an Array. They cost what one value does.
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

    /// Writes the keys of entries, or the names of properties, of which the first starts here, as an Array. They cost what one value does.
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
            let passed = self.pass();
            passed.map_err(|error| match are_names {
                true => inside(error),
                false => error.inside(self.step_of_key(key_at, index)),
            })?;
        }
        sink.end_array(array).at(at)
    }

    /// Passes over the value that starts here. Where that fails, it is judged as in decoding.
    #[inline]
    pub(crate) fn pass(&mut self) -> Result<()> {
        let mut skimmer = Skimmer::<D>::at(self.cursor);
        if skimmer.skip_all().is_some() {
            self.cursor.jump(skimmer.position());
            return Ok(());
        }
        self.pass_by_reading()
    }

    #[cold]
    #[inline(never)]
    fn pass_by_reading(&mut self) -> Result<()> {
        self.write_into(&mut Measure::counting(EncodeOptions::default()))
    }

    /// Goes on to where a value is known to end.
    pub(crate) fn jump(&mut self, end: usize) {
        self.cursor.jump(end);
    }

    /// Passes over the counted text that starts here.
    #[inline]
    pub(crate) fn pass_text(&mut self) -> Result<()> {
        self.counted_bytes(true).map(drop)
    }

    /// The name of the property that starts here; stays where its value starts.
    pub(crate) fn property_name(&mut self) -> Result<&'a str> {
        self.name()
    }

    /// The text of the String or StringName whose header has been read.
    pub(crate) fn text_here(&mut self) -> Result<D::Text<'a>> {
        let at = self.position();
        let bytes = self.counted_bytes(false)?;
        self.text(bytes, at)
    }

    /// Writes the element of a PackedStringArray that starts here as a String.
    pub(crate) fn decode_string<S: Sink>(&mut self, sink: &mut S) -> Result<()> {
        let at = self.position();
        self.budget.value(VariantType::String).at(at)?;
        let text = self.string_here()?;
        sink.text(VariantType::String, Text::Utf8(&text)).at(at)
    }

    /// The element of a PackedStringArray that starts here.
    pub(crate) fn string_here(&mut self) -> Result<D::Text<'a>> {
        let at = self.position();
        let bytes = self.terminated_bytes()?;
        self.text(bytes, at)
    }

    /// Writes the name of the property that starts here as a StringName.
    pub(crate) fn decode_name<S: Sink>(&mut self, sink: &mut S) -> Result<()> {
        let at = self.position();
        self.budget.value(VariantType::StringName).at(at)?;
        let name = self.name()?;
        sink.text(VariantType::StringName, name.into()).at(at)
    }

    /// Writes the element of a packed array of type `packed` that starts here.
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
