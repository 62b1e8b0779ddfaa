//! Containers without what they hold: their heads, judged as in decoding, and where the values in them end.

use std::ops::Range;

use super::Decoder;
use crate::dialect::Dialect;
use crate::encoder::{EncodeOptions, Measure};
use crate::error::{Error, ErrorKind, Locate, Oddity, Result, Step};
use crate::events::{ElementType, Lanes, Precision, Sink, Source, Text};
use crate::findings::SpanKind;
use crate::format::{self, ContainerKind, Shape, VariantType};
use crate::lanes;
use crate::limits::{Limit, Limits, Strictness};
use crate::skim::Skimmer;

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
        let mut decoder = Self::at_start(D::default(), bytes, Strictness::Strict, limits);
        (decoder.at, decoder.depth) = (at, depth);
        decoder
    }

    /// The same, as the engine reads.
    pub(crate) fn lenient(self) -> Self {
        Self { strictness: Strictness::Lenient, ..self }
    }

    /// The header of the value that starts here.
    #[inline]
    pub(crate) fn header_here(&mut self) -> Result<(u32, VariantType)> {
        let at = self.at;
        if self.depth > self.max_depth() {
            return Err(self.too_deep());
        }
        let header = self.u32()?;
        let id = (header & format::TYPE_MASK) as u8;
        let ty = D::type_of(id).ok_or_else(|| self.error_at(at, D::unknown_type(id)))?;
        if let Err(error) = self.budget.value(ty) {
            // Decoding looks at the bits first.
            self.odd(header & !D::header_mask(ty) != 0, at, Oddity::HeaderBits)?;
            return Err(error.at(at));
        }
        Ok((if D::HAS_FLAGS { header } else { header & D::header_mask(ty) }, ty))
    }

    /// What stands before the values that the value here holds. Stays where the first of them starts.
    pub(crate) fn head(&mut self) -> Result<Head<'a>> {
        let at = self.at;
        let (header, ty) = self.header_here()?;
        let precision = Self::precision(header);
        let mut head = Head { count: 0, first: 0, precision, declared: [ElementType::Untyped; 2] };
        match ty.shape() {
            Shape::Array => {
                head.declared[0] = self.element_type(self.kind(header, format::KIND_SHIFT))?;
                head.count = self.container_count(4)?;
            }
            Shape::Dictionary => {
                head.declared = [
                    self.element_type(self.kind(header, format::KIND_SHIFT))?,
                    self.element_type(self.kind(header, format::VALUE_KIND_SHIFT))?,
                ];
                head.count = self.container_count(8)?;
                let limit = self.budget.limits.max_dictionary_entries;
                if head.count as u64 > limit {
                    let kind = ErrorKind::LimitExceeded(Limit::DictionaryEntries, limit);
                    return Err(self.error_at(at + 4, kind));
                }
            }
            // One without a class has no count.
            Shape::Object if header & format::FLAG_OBJECT_AS_ID == 0 && !self.name()?.is_empty() => {
                head.count = self.property_count()?;
            }
            Shape::Packed(lane, per_element) => {
                let element = per_element * lane.width(precision == Precision::Double);
                head.count = self.count(element)?;
            }
            Shape::PackedStrings => {
                let start = self.at;
                let count = self.u32_of(SpanKind::Count)? as i32;
                self.odd(count < 0, start, Oddity::NegativeCount)?;
                head.count = match usize::try_from(count) {
                    Ok(count) if count <= self.left() / 4 => count,
                    _ => {
                        let kind = ErrorKind::BadCount { count: count.into(), left: self.left() };
                        return Err(self.error_at(start, kind));
                    }
                };
            }
            _ => {}
        }
        head.first = self.at;
        Ok(head)
    }

    /// Pours elements of a list of this type, of which the first starts here, as an Array. They cost what one value does.
    pub(crate) fn decode_slice<S: Sink>(
        &mut self,
        sink: &mut S,
        (list, precision): (VariantType, Precision),
        declared: ElementType<'_>,
        indexes: Range<usize>,
    ) -> Result<()> {
        let at = self.at;
        self.budget.array(indexes.len(), declared).at(at)?;
        let mut array = sink.begin_array(indexes.len(), declared).at(at)?;
        if list.shape() == Shape::Array {
            self.decode_elements(sink, &mut array, &declared, indexes)?;
            return sink.end_array(array).at(at);
        }
        for index in indexes {
            let at = self.at;
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

    /// Pours the keys of entries, or the names of properties, of which the first starts here, as an Array. They cost what one value does.
    pub(crate) fn decode_keys<S: Sink>(
        &mut self,
        sink: &mut S,
        are_names: bool,
        declared: ElementType<'_>,
        count: usize,
    ) -> Result<()> {
        let at = self.at;
        self.budget.array(count, declared).at(at)?;
        let mut array = sink.begin_array(count, declared).at(at)?;
        for index in 0..count {
            let at = self.at;
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

    fn kind(&self, header: u32, shift: u32) -> ContainerKind {
        if D::HAS_FLAGS { ContainerKind::of(header, shift) } else { ContainerKind::Untyped }
    }

    /// Passes over the value that starts here. Where that fails, it is judged as in decoding.
    #[inline]
    pub(crate) fn pass(&mut self) -> Result<()> {
        let mut skimmer = Skimmer::<D>::new(self.bytes, self.at);
        if skimmer.skip_all().is_some() {
            self.at = skimmer.position();
            return Ok(());
        }
        self.write_into(&mut Measure::counting(EncodeOptions::default()))
    }

    /// Goes on to where a value is known to end.
    pub(crate) fn jump(&mut self, end: usize) {
        self.at = end;
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

    /// The int whose header has been read.
    #[inline]
    pub(crate) fn int_here(&mut self, header: u32) -> Result<i64> {
        if header & format::FLAG_64 != 0 {
            self.u64().map(|int| int as i64)
        } else {
            self.u32().map(|int| (int as i32).into())
        }
    }

    /// The text of the String or StringName whose header has been read.
    pub(crate) fn text_here(&mut self) -> Result<D::Text<'a>> {
        let at = self.at;
        let bytes = self.counted_bytes(false)?;
        self.text(bytes, at)
    }

    /// Pours the element of a PackedStringArray that starts here as a String.
    pub(crate) fn decode_string<S: Sink>(&mut self, sink: &mut S) -> Result<()> {
        let at = self.at;
        self.budget.value(VariantType::String).at(at)?;
        let text = self.string_here()?;
        sink.text(VariantType::String, Text::Utf8(&text)).at(at)
    }

    /// The element of a PackedStringArray that starts here.
    pub(crate) fn string_here(&mut self) -> Result<D::Text<'a>> {
        let at = self.at;
        let bytes = self.terminated_bytes()?;
        self.text(bytes, at)
    }

    /// Pours the name of the property that starts here as a StringName.
    pub(crate) fn decode_name<S: Sink>(&mut self, sink: &mut S) -> Result<()> {
        let at = self.at;
        self.budget.value(VariantType::StringName).at(at)?;
        let name = self.name()?;
        sink.text(VariantType::StringName, name.into()).at(at)
    }

    /// So many bytes from `at` on.
    pub(crate) fn bytes_at(bytes: &'a [u8], at: usize, count: usize) -> Result<&'a [u8]> {
        bytes.get(at..).and_then(|rest| rest.get(..count)).ok_or_else(|| {
            let left = bytes.len().saturating_sub(at);
            Error::new(ErrorKind::UnexpectedEnd { needed: count, left }).at(at)
        })
    }

    /// Pours the element of a packed array of type `packed` that starts here.
    pub(crate) fn decode_packed_element<S: Sink>(
        &mut self,
        sink: &mut S,
        packed: VariantType,
        precision: Precision,
    ) -> Result<()> {
        match packed {
            VariantType::PackedByteArray => {
                let [byte] = self.array()?;
                sink.int(byte.into())
            }
            VariantType::PackedInt32Array => {
                let int = i32::from_le_bytes(self.array()?);
                sink.int(int.into())
            }
            VariantType::PackedInt64Array => {
                let int = i64::from_le_bytes(self.array()?);
                sink.int(int)
            }
            VariantType::PackedFloat32Array => {
                let float = f32::from_le_bytes(self.array()?);
                sink.float(lanes::widen_quieting_nan(float))
            }
            VariantType::PackedFloat64Array => {
                let float = f64::from_le_bytes(self.array()?);
                sink.float(float)
            }
            VariantType::PackedVector2Array => self.decode_lanes(sink, VariantType::Vector2, precision),
            VariantType::PackedVector3Array => self.decode_lanes(sink, VariantType::Vector3, precision),
            VariantType::PackedColorArray => self.decode_lanes(sink, VariantType::Color, precision),
            _ => self.decode_lanes(sink, VariantType::Vector4, precision),
        }
    }

    fn decode_lanes<S: Sink>(&mut self, sink: &mut S, ty: VariantType, precision: Precision) -> Result<()> {
        let Shape::Fixed(lane, count) = ty.shape() else { unreachable!("{ty} has no fixed components") };
        let le = self.take(count * lane.width(precision == Precision::Double))?;
        sink.fixed(ty, Lanes { precision, le })
    }
}
